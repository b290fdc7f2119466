"""The functions of the sub-commands of ``counterfoil bridge``; each returns the exit code of the process."""

from __future__ import annotations

import signal
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.reports import give, parse_forms
from counterfoil.schema.counting import counted
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.check.preflight import Finding
    from counterfoil.converter.check.sampling import TrialReport
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.run.reporting import RunReports
    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.evolution import ConversionPlan, Loss
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.suggestions.suggest import Suggestion
    from counterfoil.sdk import Registry
    from counterfoil.sdk.registry_options import RegistryAccess


def show_plan(
    *,
    file: Path,
    registry: RegistryAccess,
    formats: Sequence[str],
    source_schema: Path | None,
    target_schema: Path | None,
    suggest: bool,
    samples: Sequence[str],
    bootstrap_servers: str | None,
) -> ExitCode:
    """Run ``bridge plan``: print how every target field is filled."""
    from counterfoil.converter.sketch.samples import load_samples
    from counterfoil.schema.suggestions.suggest import suggest_rules

    forms = parse_forms(formats)
    declared = load_bridge_file(file)
    if (source_schema is None) != (target_schema is None):
        raise click.UsageError("--source-schema and --target-schema go together")
    if source_schema is not None and target_schema is not None:
        from counterfoil.schema.evolution import derive_both_ways, with_message

        both = derive_both_ways(
            with_message(_schema_file(source_schema), declared.source_message),
            with_message(_schema_file(target_schema), declared.target_message),
            declared.rules,
        )
        plan, losses = both.there, both.losses
        problems = tuple(str(problem) for problem in plan.problems)
        facts, keys = [f"from {source_schema} to {target_schema}"], None
    else:
        resolved = _resolved(declared, registry)
        plan, problems, losses, facts = resolved.plan, resolved.problems, resolved.losses, _identity_lines(resolved)
        keys = resolved.keys
    counted_values = load_samples(samples, declared, registry=registry, bootstrap_servers=bootstrap_servers)
    suggest = suggest or bool(samples)
    suggestions = suggest_rules(plan, declared.rules, counted_values) if suggest else []
    give(
        forms,
        lines=lambda: [
            f"bridge {declared.name}",
            *facts,
            *_plan_lines(plan),
            *_loss_lines(losses),
            *_key_lines(declared, keys),
            *_problem_lines(plan, problems, declared),
            *_suggestion_lines(suggestions),
        ],
        document=lambda: (
            _plan_document(declared, plan, problems)
            | {"losses": [asdict(loss) for loss in losses]}
            | ({} if keys is None else {"keys": _plan_document(keys.file, keys.plan, keys.problems)})
            | ({"suggestions": [asdict(each) for each in suggestions]} if suggest else {})
        ),
    )
    return ExitCode.BROKEN if problems else ExitCode.OK


def _schema_file(path: Path) -> ParsedSchema:
    """Return the schema in a file; its language is that of the suffix, and Avro for other suffixes."""
    from counterfoil.schema.formats.table import language_of_file
    from counterfoil.schema.parsing import parse_schema

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as refusal:
        raise BridgeError(f"The schema {path} cannot be read: {refusal}") from None
    return parse_schema(text, language_of_file(path.name))


def _resolved(declared: BridgeFile, access: RegistryAccess) -> ResolvedBridge:
    from counterfoil.converter.bridge.resolve import resolve

    with access.open() as registry:
        return resolve(declared, registry)


def _key_conversion(resolved: ResolvedBridge) -> Conversion | None:
    return None if resolved.keys is None else resolved.keys.conversion()


def _cluster(bootstrap_servers: str | None) -> Cluster:
    from counterfoil.converter.kafka.cluster import Cluster

    if not bootstrap_servers:
        raise click.UsageError("which Kafka cluster? --bootstrap-servers or COUNTERFOIL_BOOTSTRAP_SERVERS")
    return Cluster(bootstrap_servers)


def _identity_lines(resolved: ResolvedBridge) -> list[str]:
    file = resolved.file
    versions = ", ".join(f"{version} (id {each})" for each, version in sorted(resolved.version_by_id.items()))
    return [
        f"from {file.source_topic}, subject {file.source_subject}, versions {versions}",
        (
            f"to {file.target_topic}, subject {file.target_subject}, version {resolved.target_version} "
            f"(id {resolved.target_id})"
        ),
    ]


def _plan_lines(plan: ConversionPlan) -> Iterator[str]:
    rows = [(row.target or "-", row.how, row.source, row.note) for row in plan.rows()]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[3]]).rstrip()


def _key_lines(declared: BridgeFile, keys: ResolvedBridge | None) -> list[str]:
    """Return the plan of keys, where they are converted."""
    warning = declared.key_warning()
    if warning is None:
        return []
    if keys is None:
        return ["keys: their plan needs the registry"]
    own = (*_identity_lines(keys), *_plan_lines(keys.plan), *_loss_lines(keys.losses))
    return ["keys:", *(f"  {line}" for line in own), f"note: {warning}"]


def _problem_lines(plan: ConversionPlan, problems: Sequence[str], declared: BridgeFile) -> list[str]:
    """Return the notes, and the problems, those of rules with the place of the rule in the file."""
    places = {
        str(each): f" (line {place.line}, column {place.column})"
        for each in plan.problems
        if (place := declared.positions.get(each.field)) is not None
    }
    notes = [f"note: {note}" for note in plan.notes]
    if problems:
        return [
            *notes,
            f"NOT COMPLETE: {len(problems)} open",
            *(f"  {problem}{places.get(problem, '')}" for problem in problems),
        ]
    return [*notes, f"complete, plan {plan.hash[:16]}"]


def _suggestion_lines(suggestions: Sequence[Suggestion]) -> list[str]:
    """Return the suggestions as YAML comments, to be copied under ``fields``."""
    return ["# suggestions for fields:", *(f"#   {each}" for each in suggestions)] if suggestions else []


def _loss_lines(losses: Sequence[Loss]) -> list[str]:
    return (
        [f"{counted(len(losses), 'field')} not kept there and back:", *(f"  {loss}" for loss in losses)]
        if losses
        else []
    )


def _plan_document(declared: BridgeFile, plan: ConversionPlan, problems: Sequence[str]) -> dict[str, Any]:
    return {
        "bridge": declared.name,
        "hash": plan.hash,
        "complete": not problems,
        "rows": [asdict(row) for row in plan.rows()],
        "dropped": list(plan.dropped),
        "lossy": list(plan.lossy),
        "notes": list(plan.notes),
        "problems": list(problems),
    }


def check_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    bootstrap_servers: str | None,
    engine: str,
    jars: Path | None,
    master: str | None,
    formats: Sequence[str],
    sample: int,
    seed: int,
) -> ExitCode:
    """Run ``bridge check``: try the plan on sampled records."""
    from counterfoil.converter.check.preflight import Severity, inspect
    from counterfoil.converter.check.sampling import sample as take_sample
    from counterfoil.converter.check.sampling import try_out
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.engines.keyed import key_converter
    from counterfoil.converter.engines.reference import ReferenceEngine
    from counterfoil.converter.spark.session import start_session

    forms = parse_forms(formats)
    resolved = _resolved(load_bridge_file(file), registry)
    conversion = resolved.conversion()
    keys = _key_conversion(resolved)
    choice = choose_engine(engine, conversion, keys)
    cluster = _cluster(bootstrap_servers)
    findings = inspect(resolved.file, cluster, None)
    with tempfile.TemporaryDirectory(prefix="counterfoil-check-") as folder:
        taken = list(take_sample(cluster, resolved.file.source_topic, size=sample, seed=seed))
        spark = start_session(master=master, jars=jars, log_file=Path(folder) / "spark.log")
        trial = try_out(
            taken,
            engine=choice.engine,
            reference=ReferenceEngine(conversion).convert_value,
            spark=spark,
            keys=None if keys is None else key_converter(ReferenceEngine(keys)),
        )
        spark.stop()
    give(
        forms,
        lines=lambda: [*_check_lines(resolved, findings, trial), choice.why],
        document=lambda: {**_check_document(findings, trial), "engine": choice.why},
    )
    if trial.disagreements or any(finding.severity is Severity.ERROR for finding in findings):
        return ExitCode.BROKEN
    return ExitCode.OK if trial.records else ExitCode.CANNOT_SAY


def _check_lines(resolved: ResolvedBridge, findings: Sequence[Finding], trial: TrialReport) -> list[str]:
    ids = ", ".join(f"id {each}: {count:,}" for each, count in sorted(trial.by_writer_id.items()))
    return [
        f"bridge {resolved.file.name}",
        *_identity_lines(resolved),
        f"complete, plan {resolved.plan.hash[:16]}",
        *(str(finding) for finding in findings),
        *trial.lines(),
        *([f"records by schema id: {ids}"] if ids else []),
    ]


def _check_document(findings: Sequence[Finding], trial: TrialReport) -> dict[str, Any]:
    return {"findings": [asdict(finding) for finding in findings], "trial": trial.as_json()}


def run_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    bootstrap_servers: str | None,
    engine: str,
    jars: Path | None,
    master: str | None,
    checkpoint: Path | None,
    available_now: bool,
    interval_s: float,
    max_offsets_per_trigger: int,
    create_topics: bool,
    force: bool,
) -> ExitCode:
    """Run ``bridge run``: convert from Kafka to Kafka."""
    from counterfoil.converter.check.preflight import ready_topics
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.run.checkpoint import Checkpoint
    from counterfoil.converter.spark.java import check_java
    from counterfoil.converter.spark.session import connector_settings

    resolved = _resolved(load_bridge_file(file), registry)
    conversion = resolved.conversion()
    cluster = _cluster(bootstrap_servers)
    check_java()
    connector_settings(jars)
    choice = choose_engine(engine, conversion, _key_conversion(resolved))
    folder = Checkpoint(checkpoint or file.parent / "checkpoints" / resolved.file.name)
    for line in ready_topics(resolved.file, cluster, folder, create_target=create_topics):
        click.echo(line)

    from counterfoil.converter.run.job import BridgeRun, RunSettings
    from counterfoil.converter.spark.session import start_session

    click.echo(choice.why)
    stop = threading.Event()
    spark = start_session(master=master, jars=jars, log_file=folder.log_file)
    _stop_on_signals(stop)
    settings = RunSettings(
        checkpoint=folder,
        max_offsets_per_trigger=max_offsets_per_trigger,
        interval_s=None if available_now else interval_s,
        force=force,
    )
    try:
        with registry.open() as client, _reports(resolved, cluster, client) as reports:
            run = BridgeRun(
                bridge=resolved,
                engine=choice.engine,
                cluster=cluster,
                settings=settings,
                say=click.echo,
                stop=stop,
                reports=reports,
            )
            outcome = run.run(spark)
    finally:
        spark.stop()
    click.echo(outcome.text)
    return outcome.exit_code


@contextmanager
def _reports(resolved: ResolvedBridge, cluster: Cluster, client: Registry) -> Iterator[RunReports | None]:
    """Yield what reports the progress to the registry during the block; None if it does not store the bridge."""
    from counterfoil.converter.run.reporting import RunReports, stored_bridge

    stored = stored_bridge(client, resolved.file.name)
    if stored is None:
        yield None
        return
    if stored.bridge.plan_hash != resolved.plan.hash:
        click.echo(
            f"warning: bridge {resolved.file.name} has the plan {stored.bridge.plan_hash[:16]} in the registry and "
            f"{resolved.plan.hash[:16]} in this run; the reports of this run do not count for its gates"
        )
    before = stored.reports.progress
    epoch = before.epoch + 1 if before is not None else 1
    reports = RunReports(resolved, cluster, client.call, epoch=epoch, say=click.echo)
    try:
        yield reports
    finally:
        reports.close()


def _stop_on_signals(stop: threading.Event) -> None:
    """End the run after the current batch on SIGINT and SIGTERM; a second one ends the process at once."""

    def request(number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        click.echo(f"{signal.Signals(number).name}: stopping after the current batch")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, request)


def verify_bridge(
    *,
    file: Path,
    registry: RegistryAccess,
    bootstrap_servers: str | None,
    formats: Sequence[str],
    sample: str,
    seed: int,
    checkpoint: Path | None,
) -> ExitCode:
    """Run ``bridge verify``: check that every source record was written once."""
    from counterfoil.converter.engines.keyed import key_converter
    from counterfoil.converter.engines.reference import ReferenceEngine
    from counterfoil.converter.verify.reporting import report_verification
    from counterfoil.converter.verify.verification import Sample, Verification

    forms = parse_forms(formats)
    if sample != "all" and not sample.isdecimal():
        raise click.UsageError("--sample must be a number, or all")
    resolved = _resolved(load_bridge_file(file), registry)
    reference, keys = ReferenceEngine(resolved.conversion()), _key_conversion(resolved)
    cluster = _cluster(bootstrap_servers)
    report = Verification(
        file=resolved.file,
        topics=cluster,
        recompute=lambda value: reference.convert_value(value).value,
        sample=Sample(size=None if sample == "all" else int(sample), seed=seed),
        ranges=_finished(checkpoint, resolved.file.source_topic) if checkpoint else None,
        convert_key=None if keys is None else key_converter(ReferenceEngine(keys)),
    ).run()
    give(forms, lines=report.lines, document=report.as_json)
    with registry.open() as client:
        report_verification(client, resolved, report)
    return report.exit_code


def _finished(folder: Path, topic: str) -> dict[int, tuple[int, int]]:
    """Return the source offsets whose batches are finished, by partition."""
    from counterfoil.converter.run.checkpoint import Checkpoint

    checkpoint = Checkpoint(folder)
    beginning, position = checkpoint.beginning(topic), checkpoint.position(topic)
    if beginning is None or position is None:
        raise BridgeError(f"The checkpoint {folder} has no batches of topic {topic}")
    return {partition: (beginning.get(partition, 0), end) for partition, end in position.items()}
