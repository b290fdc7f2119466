"""``counterfoil check``, and the options that determine what is compared and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from counterfoil.contracts.cli.options import (
    ReportWriter,
    Waiting,
    chain,
    chosen_project,
    defects_on_stderr,
    fail_on_option,
    output_options,
    parse_subjects,
    project_option,
    registry_in,
    shown_address,
)
from counterfoil.schema.datum import Datum
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.options import THE_REGISTRY, RegistryAccess, environment_option, registry_options

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import ComparedSides, ComparisonRequest
    from counterfoil.contracts.check.consumers import ConsumerRequest
    from counterfoil.contracts.check.topics import SketchedTopics
    from counterfoil.contracts.findings import CheckReport
    from counterfoil.schema.rest.verdicts import Approvals
    from counterfoil.schema.sketch import TopicSketch


# The options that determine what is compared and how it is judged, and the run that they ask for.

_Command = TypeVar("_Command", bound="Callable[..., object]")

LEVELS: Final = (
    "NONE",
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
)
GATES: Final = ("strict", "consumers", "observe")
POLICIES: Final = ("STRICT", "LENIENT", "LOGICAL", "SOUND", "WIRE", "WIRE_JSON")
_GENERATED_CODE: Final = ("none", "package", "file")
CONFIRMED: Final = 100
"""How many generated records are written and read by default."""


class JudgingOptions(NamedTuple):
    """The values of the options of :func:`judging_options`."""

    paths: tuple[str, ...]
    against: str | None
    level: str | None
    policy: str | None
    subjects: tuple[str, ...]
    registry: RegistryAccess
    config: str | None
    offline: bool
    staged: bool
    consumers: tuple[str, ...]
    gate: str | None
    recorded: str | None
    environment: str | None

    def run(
        self,
        *,
        confirm: int = CONFIRMED,
        topics: SketchedTopics | None = None,
        allow_unmapped: bool = False,
        generated_code: str = "none",
    ) -> tuple[ComparedSides, CheckReport]:
        """Check the files, and return the comparison and its report, to which the project's approvals are applied."""
        from counterfoil.contracts.baselines.choose import open_comparison
        from counterfoil.contracts.check.check import CheckQuestion, run_check
        from counterfoil.contracts.check.file import GeneratedCode
        from counterfoil.contracts.findings import CheckGate
        from counterfoil.schema.compatibility import parse_level, parse_policy

        comparison = open_comparison(self._request())
        question = CheckQuestion(
            comparison,
            level=parse_level(self.level) if self.level else None,
            policy=parse_policy(self.policy) if self.policy else None,
            confirm=confirm,
            allow_unmapped=allow_unmapped,
            topics=topics,
            generated_code=GeneratedCode(generated_code),
            consumers=self.consumers,
            gate=CheckGate(self.gate) if self.gate else None,
            recorded=self._recorded(),
            judge_live=self._judge_live(comparison),
            registered=self._registered(comparison),
        )
        if CheckGate.CONSUMERS in question.gates and not question.has_consumers:
            raise click.UsageError(
                "the gate consumers needs them: --consumers DIR, or consumers with globs in counterfoil.yaml"
            )
        with defects_on_stderr(), Waiting("checking schemas"):
            return comparison, run_check(question)

    def _registered(self, comparison: ComparedSides) -> Callable[[], tuple[Approvals, str] | None] | None:
        """Return the function that requests the approvals of the registry that is given or compared with, if any.

        Other registries have none.
        """
        project = comparison.project
        is_named = comparison.request.is_against_registry
        named = project.settings.registry if project is not None and is_named else None
        url = self.registry.url or named
        if self.offline or not url:
            return None

        def request() -> tuple[Approvals, str] | None:
            from counterfoil.schema.errors import NotFound
            from counterfoil.sdk import operations
            from counterfoil.sdk.errors import UnexpectedReply

            with self.registry.at(url).open() as client:
                try:
                    return client.call(operations.approvals()), shown_address(url)
                except (NotFound, UnexpectedReply) as refusal:
                    if refusal.status != HTTPStatus.NOT_FOUND:
                        raise
                    return None

        return request

    def _judge_live(self, comparison: ComparedSides) -> Callable[[CheckReport, ConsumerRequest], CheckReport] | None:
        """Return the function that adds what breaks for the versions that are live in the given environment."""
        environment = self.environment
        if environment is None:
            return None
        if self.offline:
            raise click.UsageError("--environment needs a registry; expected no --offline")

        def judge(report: CheckReport, agreements: ConsumerRequest) -> CheckReport:
            from counterfoil.contracts.deploy.live import LiveRequest, check_live

            named = (each.reading.agreement for each in agreements.after.files.values())
            access = registry_in(environment, named, given=self.registry, project=comparison.project)
            given = parse_subjects(self.subjects)
            subjects = {comparison.scope.relative(path): subject for path, subject in given.items()}
            with access.open() as client:
                label = shown_address(access.url or "")
                return check_live(report, LiveRequest(agreements, environment, client, label, subjects))

        return judge

    def _recorded(self) -> Callable[[str], Sequence[Datum]]:
        """Return the function from a topic to its recorded values. Raises ``InputNotFound`` without such a folder."""
        if self.recorded is None:
            return lambda _: ()
        from counterfoil.contracts.check.migrated_values import RecordedTopics

        return RecordedTopics(self.recorded).values

    def _request(self) -> ComparisonRequest:
        from counterfoil.contracts.baselines.choose import ComparisonRequest, NamedRegistry

        url = self.registry.url
        is_used = bool(url) and not self.offline
        return ComparisonRequest(
            current=".",
            paths=self.paths,
            against=self.against,
            subjects=parse_subjects(self.subjects),
            registry=self.registry.open if is_used else None,
            registry_label=shown_address(url) if url else "registry",
            is_staged=self.staged,
            is_transitive=self.level.endswith("_TRANSITIVE") if self.level else None,
            project=lambda top: chosen_project(self.config, top=top),
            registry_at=None
            if self.offline
            else lambda address: NamedRegistry(shown_address(address), self.registry.at(address).open),
        )


def judging_options(command: _Command) -> _Command:
    """Add the options, and pass their values as one :class:`JudgingOptions`, with ``paths`` if there are any."""

    def with_judging(*arguments: Any, **given: Any) -> Any:
        chosen = {name: given.pop(name) for name in JudgingOptions._fields if name != "paths"}
        judging = JudgingOptions(paths=given.pop("paths", ()), **chosen)
        return command(*arguments, judging=judging, **given)

    decorated: Any = _OPTIONS(update_wrapper(with_judging, command))
    return decorated  # type: ignore[no-any-return]  # click's decorators return what they decorate


_OPTIONS: Final = chain(
    click.option(
        "--against",
        metavar="BASE",
        help="A git ref, a file, a folder, 'registry' or SUBJECT@VERSION. Default: the merge base.",
    ),
    click.option(
        "--level",
        type=click.Choice(LEVELS, case_sensitive=False),
        metavar="LEVEL",
        help="NONE, BACKWARD, FORWARD, FULL, or one of these with _TRANSITIVE. Default: the project's, the registry's, "
        "or BACKWARD.",
    ),
    click.option(
        "--policy",
        type=click.Choice(POLICIES, case_sensitive=False),
        metavar="POLICY",
        help=f"{', '.join(POLICIES[:-1])} or {POLICIES[-1]}. Default: the project's, the registry's, or STRICT.",
    ),
    click.option(
        "--subject",
        "subjects",
        multiple=True,
        metavar="FILE=SUBJECT",
        help="Default: the project's, else the file's name if it ends in -key or -value. Repeatable.",
    ),
    project_option,
    registry_options(THE_REGISTRY),
    click.option("--offline", is_flag=True, help="Do not send requests to a registry."),
    click.option(
        "--consumers",
        multiple=True,
        metavar="DIR",
        help="Check what the consumers in this folder, or product file (.odps.yaml), read. Repeatable.",
    ),
    click.option(
        "--gate",
        type=click.Choice(GATES),
        metavar="GATE",
        help="What fails: level and consumers (strict), consumers where there are any (consumers), nothing (observe).",
    ),
    click.option(
        "--recorded",
        metavar="DIR",
        help="Try a migration's converter on recorded records.",
    ),
    environment_option("Also check what breaks for the versions that are live there, as a registry knows them."),
    click.option("--staged", is_flag=True, help="Check the staged files, not the working tree."),
)
generated_code_option: Final = click.option(
    "--generated-code",
    type=click.Choice(_GENERATED_CODE),
    default=_GENERATED_CODE[0],
    metavar="SCOPE",
    help="Also what breaks generated code: none, package (names, types) or file (and moved files).",
)


# ``counterfoil check``: whether a change of schemas is allowed. It runs on pull requests.

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
    judging: JudgingOptions,
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
    was found, a record that proves it. More: https://github.com/counterfoil/counterfoil/blob/main/docs/check.md

    Exit codes: 0 compatible, 1 broken, 2 usage, 4 nothing was checked or, against a registry, not every file, 11
    registry unreachable, 12 registry refused, 14 a file or git ref is missing.
    """
    from counterfoil.contracts.check.check import exit_code_of
    from counterfoil.contracts.findings import FailOn
    from counterfoil.contracts.reports import CheckForms

    topics = _topics(sketches, None if judging.offline else judging.registry, ignores_untriggered=ignore_untriggered)
    comparison, report = judging.run(
        confirm=confirm, topics=topics, allow_unmapped=allow_unmapped, generated_code=generated_code
    )
    severity = FailOn(fail_on) if fail_on else None
    code = exit_code_of(report, fail_on=severity, is_empty_fine=allow_empty)
    writer.write(CheckForms(report, code, severity), prefix=comparison.scope.prefix)
    return code


def _topics(
    paths: tuple[str, ...], registry: RegistryAccess | None, *, ignores_untriggered: bool
) -> SketchedTopics | None:
    """Return the sketches in these files, and those of the registry if it is named; None without one."""
    if not paths:
        if ignores_untriggered:
            raise click.UsageError("--ignore-untriggered needs a sketch of the topic: --sketch FILE")
        return None
    from pathlib import Path

    from counterfoil.contracts.check.topics import SketchedTopics
    from counterfoil.contracts.errors import PreconditionFailed
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
    return SketchedTopics(tuple(found), ignores_untriggered)


def _stored_sketches(access: RegistryAccess | None) -> list[TopicSketch]:
    """Return all sketches that the registry stores."""
    from counterfoil.schema.sketch.document import sketch_of
    from counterfoil.sdk import operations

    if access is None:
        raise click.UsageError(f"--sketch {_STORED} sends requests to a registry; expected no --offline")
    with access.open() as registry:
        subjects = registry.call(operations.sketched_subjects())
        return [sketch_of(registry.call(operations.sketch(subject))) for subject in subjects]
