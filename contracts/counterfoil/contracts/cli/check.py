"""``counterfoil check``: whether a change of schemas is allowed. It runs on pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterfoil.contracts.cli.options import (
    Output,
    output_options,
    parse_outputs,
    parse_subjects,
    shown_address,
    text_style,
    write_outputs,
)
from counterfoil.sdk.registry_options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import Comparison, Request
    from counterfoil.contracts.model import CheckReport
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.sketch import TopicSketch
    from counterfoil.sdk.registry_options import RegistryAccess

_LEVELS = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
_FAIL_ON = ("error", "warning", "never")
_CONFIRMED = 100
_STORED = "registry"
_POLICIES = ("STRICT", "LENIENT", "LOGICAL", "SOUND", "WIRE", "WIRE_JSON")


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "--against",
    metavar="BASE",
    help="What to compare with: a git ref, a file, a folder, 'registry' or SUBJECT@VERSION. "
    "Default: the merge base with the default branch.",
)
@click.option(
    "--level",
    type=click.Choice(_LEVELS, case_sensitive=False),
    help="The compatibility that a change must keep. Default: the registry's level, else BACKWARD.",
)
@click.option(
    "--policy",
    type=click.Choice(_POLICIES, case_sensitive=False),
    help="Which differences are breaking. Default: the registry's policy, else STRICT.",
)
@click.option(
    "--subject",
    "subjects",
    multiple=True,
    metavar="FILE=SUBJECT",
    help="The subject of a file. Default: the file's name, without suffix, if it ends in -key or -value. Repeatable.",
)
@registry_options(THE_REGISTRY)
@click.option(
    "--fail-on",
    type=click.Choice(_FAIL_ON),
    default=_FAIL_ON[0],
    show_default=True,
    help="The lowest severity that causes exit code 1.",
)
@click.option(
    "--confirm",
    default=_CONFIRMED,
    show_default=True,
    type=click.IntRange(0, 10_000),
    help="How many generated records to write, read and compare when the verdict is compatible; 0 for none.",
)
@click.option("--allow-empty", is_flag=True, help="Exit 0, not 4, when there was nothing to check.")
@click.option(
    "--allow-unmapped",
    is_flag=True,
    help="Against a registry: do not end in exit code 4 when files could not be judged, because nothing names "
    "their subject, the registry does not have it, or its versions cannot be read.",
)
@click.option(
    "--sketch",
    "sketches",
    multiple=True,
    metavar="FILE|registry",
    help="A sketch of a topic ('counterfoil sketch'): each finding gets the number of records that trigger it. It is "
    "for the files of its subjects, or of a record with the same name. The word registry: all sketches that the "
    "registry stores. Repeatable.",
)
@click.option(
    "--ignore-untriggered",
    is_flag=True,
    help="With --sketch: a finding that no record of the topic triggers is a notice.",
)
@click.option("--offline", is_flag=True, help="Do not send requests to a registry.")
@output_options
def check(
    paths: tuple[str, ...],
    against: str | None,
    level: str | None,
    policy: str | None,
    subjects: tuple[str, ...],
    registry: RegistryAccess,
    fail_on: str,
    confirm: int,
    allow_empty: bool,
    allow_unmapped: bool,
    sketches: tuple[str, ...],
    ignore_untriggered: bool,
    offline: bool,
    formats: tuple[str, ...],
    no_color: bool,
    quiet: bool,
    verbose: int,
) -> ExitCode:
    """Check the schema files in PATHS against their earlier versions.

    Schema files are Avro (.avsc), Protobuf (.proto) and JSON Schema (.schema.json, .jsonschema, and .json when the
    file is named in PATHS). PATHS are files and folders; without any, the current folder. The report has every file and
    every finding with its place in the file and, where one was found, a record that the failing reader cannot read. No
    file is changed, and without a registry nothing is fetched.

    Exit codes: 0 compatible, 1 broken, 2 usage, 4 nothing was checked or, against a registry, not every file, 11
    registry unreachable, 12 registry refused, 14 a file or git ref is missing.
    """
    from counterfoil.contracts.model import FailOn
    from counterfoil.contracts.verdict import exit_code_of

    outputs = parse_outputs(formats)
    topics = _topics(sketches, None if offline else registry, ignores_untriggered=ignore_untriggered)
    request = _request(
        paths,
        against=against,
        level=level,
        subjects=parse_subjects(subjects),
        registry=None if offline else registry,
    )
    comparison, report = _judge(request, level, policy, confirm, topics, allow_unmapped=allow_unmapped)
    code = exit_code_of(report, fail_on=FailOn(fail_on), is_empty_fine=allow_empty)

    def as_text(output: Output) -> str:
        from counterfoil.contracts.reports.text import text_report

        prefix = comparison.scope.prefix
        style = text_style(output, no_color=no_color, quiet=quiet, verbose=verbose, prefix=prefix)
        return text_report(report, exit_code=code, style=style)

    def as_json(_: Output) -> str:
        from counterfoil.contracts.reports.json import json_report

        return json_report(report, exit_code=code)

    write_outputs(outputs, {"text": as_text, "json": as_json})
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


def _judge(
    request: Request,
    level: str | None,
    policy: str | None,
    confirm: int,
    topics: Topics | None,
    *,
    allow_unmapped: bool,
) -> tuple[Comparison, CheckReport]:
    from counterfoil.contracts.baselines.choose import open_comparison
    from counterfoil.contracts.check import check_files
    from counterfoil.contracts.cli.defects import defects_on_stderr
    from counterfoil.schema.compatibility.levels import parse_level
    from counterfoil.schema.compatibility.policies import parse_policy

    comparison = open_comparison(request)
    with defects_on_stderr():
        report = check_files(
            comparison.head,
            comparison.selected,
            baseline=comparison.baseline,
            level=parse_level(level) if level else None,
            policy=parse_policy(policy) if policy else None,
            confirm=confirm,
            allow_unmapped=allow_unmapped,
            topics=topics,
        )
    return comparison, report


def _request(
    paths: tuple[str, ...],
    *,
    against: str | None,
    level: str | None,
    subjects: dict[str, str],
    registry: RegistryAccess | None,
) -> Request:
    from counterfoil.contracts.baselines.choose import Request

    url = registry.url if registry else None
    return Request(
        current=".",
        paths=paths,
        against=against,
        subjects=subjects,
        registry=registry.open if registry and url else None,
        registry_label=shown_address(url) if url else "registry",
        is_transitive=bool(level and level.endswith("_TRANSITIVE")),
    )
