"""``counterfoil check``: whether a change of schemas is allowed. It runs on pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.judging import CONFIRMED, generated_code_option, judging_options
from counterfoil.contracts.cli.options import fail_on_option
from counterfoil.contracts.cli.output import output_options

if TYPE_CHECKING:
    from counterfoil.contracts.cli.judging import Judging
    from counterfoil.contracts.cli.output import ReportWriter
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.sketch import TopicSketch
    from counterfoil.sdk.registry_options import RegistryAccess

_STORED = "registry"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@judging_options
@fail_on_option
@click.option(
    "--confirm",
    default=CONFIRMED,
    type=click.IntRange(0, 10_000),
    metavar="N",
    help=f"Try so many generated records when the verdict is compatible. Default: {CONFIRMED}.",
)
@generated_code_option
@click.option("--allow-empty", is_flag=True, help="Exit 0, not 4, when nothing was to check.")
@click.option(
    "--allow-unmapped",
    is_flag=True,
    help="Exit 0, not 4, when nothing names a file's subject.",
)
@click.option(
    "--sketch",
    "sketches",
    multiple=True,
    metavar="FILE|registry",
    help="Count the records that trigger a finding, by a sketch, or by all that the registry stores. Repeatable.",
)
@click.option(
    "--ignore-untriggered",
    is_flag=True,
    help="With --sketch: what no record triggers is a notice.",
)
@output_options()
def check(
    judging: Judging,
    fail_on: str | None,
    confirm: int,
    generated_code: str,
    allow_empty: bool,
    allow_unmapped: bool,
    sketches: tuple[str, ...],
    ignore_untriggered: bool,
    writer: ReportWriter,
) -> ExitCode:
    """Check schema files against their earlier versions: Avro (.avsc), Protobuf (.proto), JSON Schema (.schema.json).

    PATHS are files and folders; without any, the current folder. Each finding has its place in the file and, where one
    was found, a record that proves it. More: docs/check.md.

    Exit codes: 0 compatible, 1 broken, 2 usage, 4 nothing was checked or, against a registry, not every file, 11
    registry unreachable, 12 registry refused, 14 a file or git ref is missing.
    """
    from counterfoil.contracts.model import FailOn
    from counterfoil.contracts.reports.check import CheckForms
    from counterfoil.contracts.verdict import exit_code_of

    topics = _topics(sketches, None if judging.offline else judging.registry, ignores_untriggered=ignore_untriggered)
    comparison, report = judging.run(
        confirm=confirm, topics=topics, allow_unmapped=allow_unmapped, generated_code=generated_code
    )
    severity = FailOn(fail_on) if fail_on else None
    code = exit_code_of(report, fail_on=severity, is_empty_fine=allow_empty)
    writer.write(CheckForms(report, code, severity), prefix=comparison.scope.prefix)
    return code


def _topics(paths: tuple[str, ...], registry: RegistryAccess | None, *, ignores_untriggered: bool) -> Topics | None:
    """Return the sketches in these files, and those of the registry if it is named; None without one."""
    if not paths:
        if ignores_untriggered:
            raise click.UsageError("--ignore-untriggered needs a sketch of the topic: --sketch FILE")
        return None
    from pathlib import Path

    from counterfoil.contracts.errors import PreconditionFailed
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.schema.sketch import InvalidSketch, read_sketch

    found = []
    for path in paths:
        if path == _STORED:
            found += _stored_sketches(registry)
            continue
        try:
            found.append(read_sketch(Path(path).read_text(encoding="utf-8")))
        except (InvalidSketch, UnicodeDecodeError) as error:
            problem = error.problem if isinstance(error, InvalidSketch) else f"it is not UTF-8 ({error.reason})"
            raise PreconditionFailed(f"{path} is no sketch of a topic: {problem}") from None
    return Topics(tuple(found), ignores_untriggered)


def _stored_sketches(access: RegistryAccess | None) -> list[TopicSketch]:
    """Return all sketches that the registry stores."""
    from counterfoil.schema.sketch.document import sketch_of
    from counterfoil.sdk import operations

    if access is None:
        raise click.UsageError(f"--sketch {_STORED} sends requests to a registry; expected no --offline")
    with access.open() as registry:
        subjects = registry.call(operations.sketched_subjects())
        return [sketch_of(registry.call(operations.sketch(subject))) for subject in subjects]
