"""``counterfoil bridge prepare``: the archive from which Spark starts faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.converter.spark.archive import archive_file
from counterfoil.converter.spark.prepare import write_archive
from counterfoil.converter.spark.session import connector_settings
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import print_json

if TYPE_CHECKING:
    from pathlib import Path


def prepare_spark(*, jars: Path | None, as_json: bool) -> ExitCode:
    """Run ``bridge prepare``: write the archive of Spark's classes."""
    settings = connector_settings(jars)
    archive = archive_file()
    write_archive(archive, settings)
    if as_json:
        print_json({"archive": str(archive), "bytes": archive.stat().st_size})
        return ExitCode.OK
    click.echo(f"wrote {archive} ({archive.stat().st_size / 1e6:.0f} MB), from which Spark starts from now on")
    return ExitCode.OK
