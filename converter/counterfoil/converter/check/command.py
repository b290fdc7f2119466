"""``counterfoil bridge check``: topics, sampled records and their schema ids, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.converter.bridge import ResolvedBridge, load_bridge_file, resolve_with
from counterfoil.converter.check.preflight import (
    PreflightCheck,
    PreflightFinding,
    PreflightSeverity,
    facts_of,
    inspect,
    plan_findings,
    state_findings,
)
from counterfoil.converter.check.sampling import Sampled, Throughput, TrialReport, frame_of, sample, try_out
from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.engines.lookup import LookupOutcome
from counterfoil.converter.engines.protocol import KEY
from counterfoil.converter.engines.reference import ReferenceEngine, key_converter
from counterfoil.converter.kafka.cluster import Cluster, named_cluster
from counterfoil.converter.outputs import WITH_JUNIT, failures_as_cases, give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, begun_plan, checkpoint_of
from counterfoil.converter.run.writers import UnknownIds, WriterDecisions
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.start import short_session
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import Framing
from counterfoil.schema.reports.forms import Case, CaseOutcome, Suite
from counterfoil.schema.wire import ID_PREFIX_BYTES, MAGIC_ID
from counterfoil.sdk import Registry
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from counterfoil.sdk.commands.options import RegistryAccess


# Schema ids of sampled records that the bridge does not know: what the next run does at them.


def id_findings(
    bridge: ResolvedBridge, records: Sequence[Sampled], registry: Registry, *, policy: str
) -> list[PreflightFinding]:
    """Return findings about records whose ids the bridge does not know; they end a run, unless ``policy`` says not to.

    The ids are looked up as a run looks them up: in the registry, those of values, and those of keys if the bridge
    converts keys.
    """
    halves = [(bridge, "", [each.value for each in records])]
    if bridge.keys is not None:
        halves.append((bridge.keys, f"{KEY}: ", [each.key for each in records]))
    return [
        finding for half, name, data in halves for finding in _of_half(half, name, data, registry, UnknownIds(policy))
    ]


def _of_half(
    bridge: ResolvedBridge, name: str, data: Iterable[bytes | None], registry: Registry, policy: UnknownIds
) -> Iterator[PreflightFinding]:
    if bridge.file.source_framing is Framing.NONE:
        return
    decisions = WriterDecisions(bridge, registry, policy)
    for schema_id in sorted(set(_ids(data)) - set(bridge.writer_by_id)):
        decision = decisions.decide(schema_id)
        if decision.outcome is not LookupOutcome.CONVERT:
            severity = PreflightSeverity.ERROR if decision.outcome is LookupOutcome.STOP else PreflightSeverity.WARNING
            ends = "the next run ends at such a record: " if decision.outcome is LookupOutcome.STOP else ""
            yield PreflightFinding(severity, PreflightCheck.IDS, f"{ends}{name}{decision.text}")


def _ids(data: Iterable[bytes | None]) -> Iterator[int]:
    """Yield the ids of framed values."""
    for each in data:
        if each is not None and len(each) >= ID_PREFIX_BYTES and each[0] == MAGIC_ID:
            yield int.from_bytes(each[1:ID_PREFIX_BYTES])


# The result of ``bridge check`` as text, as JSON, and as test cases for build servers.


@dataclass(frozen=True)
class BridgeCheckReport:
    """Everything that was found before a run.

    ``facts`` are lines about the bridge, and ``engine`` is a sentence about the engine. ``trial`` is None if the topics
    do not permit to read records, and ``throughput`` if there were none.
    """

    bridge: str
    facts: Sequence[str]
    engine: str
    findings: Sequence[PreflightFinding]
    trial: TrialReport | None
    throughput: Throughput | None

    @property
    def exit_code(self) -> ExitCode:
        """BROKEN for an error or a disagreement of engines, CANNOT_SAY when no record was tried, or OK."""
        has_errors = any(finding.severity is PreflightSeverity.ERROR for finding in self.findings)
        if has_errors or (self.trial is not None and self.trial.disagreements):
            return ExitCode.BROKEN
        return ExitCode.OK if self.trial is not None and self.trial.records else ExitCode.CANNOT_SAY

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        shown = [f"bridge {self.bridge}", *self.facts, *(str(finding) for finding in self.findings)]
        if self.trial is None:
            return [*shown, "no records were tried", self.engine]
        ids = ", ".join(f"id {each}: {count:,}" for each, count in sorted(self.trial.by_writer_id.items()))
        shown += [*self.trial.lines(), *([f"records by schema id: {ids}"] if ids else []), self.engine]
        return [*shown, *([str(self.throughput)] if self.throughput is not None else [])]

    def as_json(self) -> JsonObject:
        """Return the report as a JSON object."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "trial": None if self.trial is None else self.trial.as_json(),
            "throughput": None if self.throughput is None else self.throughput.as_json(),
            "engine": self.engine,
        }

    def suite(self) -> Suite:
        """Return one test case for each check."""
        group = check_group(self.bridge)
        cases = [Case("plan", group), *(self._finding_case(check, group) for check in PreflightCheck)]
        return Suite(group, (*cases, *self._trial_cases(group)), (("engine", self.engine),))

    def _finding_case(self, check: PreflightCheck, group: str) -> Case:
        errors = [
            each.text for each in self.findings if each.check is check and each.severity is PreflightSeverity.ERROR
        ]
        warnings = [
            each.text for each in self.findings if each.check is check and each.severity is PreflightSeverity.WARNING
        ]
        if not errors:
            return Case(check, group, output="\n".join(warnings))
        return Case(
            check, group, CaseOutcome.BROKEN, kind=check, message=errors[0], details="\n".join(errors),
            output="\n".join(warnings),
        )  # fmt: skip

    def _trial_cases(self, group: str) -> Iterator[Case]:
        trial = self.trial
        if trial is None or not trial.records:
            why = "the topics cannot be read" if trial is None else "the source has no records to try"
            for name in ("records are converted", "engines agree"):
                yield Case(name, group, CaseOutcome.NOT_RUN, kind="no-records", message=why)
            return
        yield Case("records are converted", group, output="\n".join(trial.lines()))
        if trial.disagreements:
            message = f"{trial.engine} and reference disagree about {len(trial.disagreements)} records"
            details = "\n".join(trial.disagreements)
            yield Case("engines agree", group, CaseOutcome.BROKEN, "disagreement", message, details)
        else:
            yield Case("engines agree", group)


def check_group(bridge: str) -> str:
    """Return the name under which build servers list the checks of a bridge."""
    return f"bridge check {bridge}"


# ``counterfoil bridge check``: the topics are inspected, and the engine is tried on sampled records.

_PREFIX: Final = "counterfoil-check-"


def check_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    engine: str,
    spark: SparkOptions,
    formats: Sequence[str],
    sample: int,
    seed: int,
    unknown_ids: str,
    checkpoint: Path | str | None,
) -> ExitCode:
    """Run ``bridge check``: try the plan on sampled records."""
    forms = parse_forms(formats, WITH_JUNIT)
    declared = load_bridge_file(file)
    with failures_as_cases(forms, check_group(declared.name)):
        found = checkpoint_of(file, declared.name, checkpoint)
        state = None if found.is_remote else found  # what is not on this machine is checked by the run
        resolved = resolve_with(declared, registry, lambda: None if state is None else begun_plan(state))
        with registry.open() as client:
            report = check_with(
                resolved,
                named_cluster(kafka),
                lambda: short_session(spark, prefix=_PREFIX),
                engine=engine,
                size=sample,
                seed=seed,
                checkpoint=state,
                look_up=lambda taken: id_findings(resolved, taken, client, policy=unknown_ids),
            )
    give(forms, lines=report.lines, document=report.as_json, suite=report.suite)
    return report.exit_code


def check_with(
    resolved: ResolvedBridge,
    cluster: Cluster,
    session: Callable[[], AbstractContextManager[SparkSession]],
    *,
    engine: str,
    size: int,
    seed: int,
    checkpoint: Checkpoint | None = None,
    look_up: Callable[[Sequence[Sampled]], list[PreflightFinding]] = lambda _taken: [],
) -> BridgeCheckReport:
    """Inspect the topics and, if they can be read, try the engine on a sample in a ``session``, which ends then.

    ``checkpoint`` is that of the next run, and ``look_up`` returns what a run would do at the schema ids of sampled
    records that the bridge does not know.
    """
    from counterfoil.converter.check.sampling import measure

    file, conversion, keys = resolved.file, resolved.conversion(), resolved.key_conversion()
    choice = choose_engine(engine, conversion, keys)
    findings = [*inspect(file, cluster, checkpoint), *plan_findings(resolved), *state_findings(resolved, checkpoint)]
    trial = throughput = None
    if not any(finding.check is PreflightCheck.RIGHTS for finding in findings):
        taken = list(sample(cluster, file.source_topic, size=size, seed=seed))
        findings = sorted([*findings, *look_up(taken)], key=lambda finding: finding.severity)
        target = facts_of(file.target_topic, cluster)
        offsets = sum(end - first for first, end in cluster.watermarks(file.source_topic).values())
        with session() as spark:
            frame = frame_of(taken, spark)
            trial = try_out(
                taken,
                frame,
                engine=choice.engine,
                reference=ReferenceEngine(conversion).convert_value,
                max_message_bytes=None if target is None else target.max_message_bytes,
                keys=None if keys is None else key_converter(ReferenceEngine(keys)),
            )
            if taken:
                throughput = measure(choice.engine, frame, size=len(taken), source_records=offsets)
    facts = [*resolved.lines(), f"complete, plan {resolved.plan.hash[:16]}"]
    return BridgeCheckReport(file.name, facts, choice.why, findings, trial, throughput)
