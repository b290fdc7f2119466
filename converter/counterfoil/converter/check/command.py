"""``counterfoil bridge check``: the topics are inspected, and the engine is tried on sampled records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.bridge.resolve import resolve_with
from counterfoil.converter.check.ids import id_findings
from counterfoil.converter.check.preflight import Check, facts_of, inspect, plan_findings, state_findings
from counterfoil.converter.check.report import CheckReport, check_group
from counterfoil.converter.check.sampling import frame_of, sample, try_out
from counterfoil.converter.engines.choice import choose_engine
from counterfoil.converter.engines.keyed import key_converter
from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.reports import WITH_JUNIT, failures_as_cases, give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, begun_plan, default_folder
from counterfoil.converter.spark.start import short_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pyspark.sql import SparkSession

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.check.preflight import Finding
    from counterfoil.converter.check.sampling import Sampled
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess

_PREFIX: Final = "counterfoil-check-"


def check_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    engine: str,
    jars: Path | None,
    master: str | None,
    formats: Sequence[str],
    sample: int,
    seed: int,
    unknown_ids: str,
    checkpoint: Path | None,
) -> ExitCode:
    """Run ``bridge check``: try the plan on sampled records."""
    forms = parse_forms(formats, WITH_JUNIT)
    declared = load_bridge_file(file)
    with failures_as_cases(forms, check_group(declared.name)):
        state = Checkpoint(checkpoint or default_folder(file, declared.name))
        resolved = resolve_with(declared, registry, lambda: begun_plan(file, declared.name, checkpoint))
        with registry.open() as client:
            report = check_with(
                resolved,
                named_cluster(kafka),
                lambda: short_session(master=master, jars=jars, prefix=_PREFIX),
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
    look_up: Callable[[Sequence[Sampled]], list[Finding]] = lambda _taken: [],
) -> CheckReport:
    """Inspect the topics and, if they can be read, try the engine on a sample in a ``session``, which ends then.

    ``checkpoint`` is that of the next run, and ``look_up`` returns what a run would do at the schema ids of sampled
    records that the bridge does not know.
    """
    from counterfoil.converter.check.throughput import measure

    file, conversion, keys = resolved.file, resolved.conversion(), resolved.key_conversion()
    choice = choose_engine(engine, conversion, keys)
    findings = [*inspect(file, cluster, checkpoint), *plan_findings(resolved), *state_findings(resolved, checkpoint)]
    trial = throughput = None
    if not any(finding.check is Check.RIGHTS for finding in findings):
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
    return CheckReport(file.name, facts, choice.why, findings, trial, throughput)
