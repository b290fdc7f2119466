"""``counterfoil bridge prepare``: the archive from which Spark starts faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.converter.spark.archive import archive_file
from counterfoil.converter.spark.prepare import write_archive
from counterfoil.converter.spark.session import connector_settings
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from pathlib import Path


def prepare_spark(*, jars: Path | None) -> ExitCode:
    """Run ``bridge prepare``: write the archive of Spark's classes."""
    settings = connector_settings(jars)
    archive = archive_file()
    write_archive(archive, settings)
    click.echo(f"wrote {archive} ({archive.stat().st_size / 1e6:.0f} MB), from which Spark starts from now on")
    return ExitCode.OK
