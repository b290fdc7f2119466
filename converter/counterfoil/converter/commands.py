"""The functions of the sub-commands of ``counterfoil bridge``; each returns the exit code of the process."""

from __future__ import annotations

import signal
import tempfile
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.errors import BridgeError
from counterfoil.converter.reports import failures_as_cases, give, parse_forms
from counterfoil.schema.counting import counted
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.check.report import CheckReport
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.monitoring.display import Display
    from counterfoil.converter.spark.start import SessionStart
    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.evolution import ConversionPlan, Loss
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.suggestions.suggest import Suggestion
    from counterfoil.sdk.registry_options import RegistryAccess

_FORMS: Final = ("text", "json", "junit")


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
    from counterfoil.converter.kafka.cluster import named_cluster

    return named_cluster(bootstrap_servers)


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


def prepare_spark(*, jars: Path | None) -> ExitCode:
    """Run ``bridge prepare``: write the archive of Spark's classes."""
    from counterfoil.converter.spark.archive import archive_file
    from counterfoil.converter.spark.prepare import write_archive
    from counterfoil.converter.spark.session import connector_settings

    settings = connector_settings(jars)
    archive = archive_file()
    write_archive(archive, settings)
    click.echo(f"wrote {archive} ({archive.stat().st_size / 1e6:.0f} MB), from which Spark starts from now on")
    return ExitCode.OK


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
    from counterfoil.converter.check.report import check_group

    forms = parse_forms(formats, _FORMS)
    declared = load_bridge_file(file)
    with failures_as_cases(forms, check_group(declared.name)):
        resolved = _resolved(declared, registry)
        report = _checked(
            resolved, _cluster(bootstrap_servers), engine=engine, jars=jars, master=master, size=sample, seed=seed
        )
    give(forms, lines=report.lines, document=report.as_json, suite=report.suite)
    return report.exit_code


def _checked(
    resolved: ResolvedBridge,
    cluster: Cluster,
    *,
    engine: str,
    jars: Path | None,
    master: str | None,
    size: int,
    seed: int,
) -> CheckReport:
    """Inspect the topics and, if they can be read, try the engine on a sample."""
    from counterfoil.converter.check.preflight import Check, facts_of, inspect
    from counterfoil.converter.check.report import CheckReport
    from counterfoil.converter.check.sampling import frame_of, sample, try_out
    from counterfoil.converter.check.throughput import measure
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.engines.keyed import key_converter
    from counterfoil.converter.engines.reference import ReferenceEngine
    from counterfoil.converter.spark.session import start_session

    file, conversion, keys = resolved.file, resolved.conversion(), _key_conversion(resolved)
    choice = choose_engine(engine, conversion, keys)
    findings = inspect(file, cluster, None)
    trial = throughput = None
    if not any(finding.check is Check.RIGHTS for finding in findings):
        taken = list(sample(cluster, file.source_topic, size=size, seed=seed))
        target = facts_of(file.target_topic, cluster)
        offsets = sum(end - first for first, end in cluster.watermarks(file.source_topic).values())
        with tempfile.TemporaryDirectory(prefix="counterfoil-check-") as folder:
            spark = start_session(master=master, jars=jars, log_file=Path(folder) / "spark.log")
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
            spark.stop()
    facts = [*_identity_lines(resolved), f"complete, plan {resolved.plan.hash[:16]}"]
    return CheckReport(file.name, facts, choice.why, findings, trial, throughput)


def run_bridge(
    *,
    file: Path,
    jars: Path | None,
    master: str | None,
    real_time: bool,
    progress: str,
    progress_topic: str | None,
    **options: Any,
) -> ExitCode:
    """Run ``bridge run``: convert from Kafka to Kafka. Spark starts while plan and topics are checked."""
    from counterfoil.converter.monitoring.display import ProgressForm, display_of
    from counterfoil.converter.spark.java import check_java
    from counterfoil.converter.spark.session import connector_settings, refuse_real_time
    from counterfoil.converter.spark.start import starting

    declared = load_bridge_file(file)
    if progress_topic is not None:
        if progress_topic in {declared.source_topic, declared.target_topic, declared.dead_letter_topic}:
            raise click.UsageError("--progress-topic must be a topic of its own")
        declared = replace(declared, progress_topic=progress_topic)
    if real_time:
        refuse_real_time()
    check_java()
    connector_settings(jars)
    with starting(master=master, jars=jars) as start, display_of(ProgressForm(progress)) as display:
        return _run_with(start, declared, display, file=file, **options)


def _run_with(
    start: SessionStart,
    declared: BridgeFile,
    display: Display,
    *,
    file: Path,
    registry: RegistryAccess,
    bootstrap_servers: str | None,
    engine: str,
    checkpoint: Path | None,
    available_now: bool,
    interval_s: float,
    max_offsets_per_trigger: int,
    create_topics: bool,
    unknown_ids: str,
    force: bool,
    metrics_host: str,
    metrics_port: int | None,
) -> ExitCode:
    """Check plan and topics, and run the bridge in the session that is starting."""
    from counterfoil.converter.check.preflight import ready_topics
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.run.checkpoint import Checkpoint, Identity, default_folder
    from counterfoil.converter.run.writers import WriterService, decisions_for

    resolved = _resolved(declared, registry)
    writers = WriterService(display.say)
    conversion = replace(resolved.conversion(), lookup=writers.lookup)
    cluster = _cluster(bootstrap_servers)
    choice = choose_engine(engine, conversion, _key_conversion(resolved))
    folder = Checkpoint(checkpoint or default_folder(file, resolved.file.name))
    folder.check(Identity.of(resolved), force=force)
    for line in ready_topics(resolved.file, cluster, folder, create_target=create_topics):
        display.say(line)

    from counterfoil.converter.monitoring.observers import observers_of
    from counterfoil.converter.run.job import BridgeRun, RunSettings

    display.say(choice.why)
    stop = threading.Event()
    spark = start.session(folder.log_file)
    display.say(start.line())
    _stop_on_signals(stop, display.say)
    settings = RunSettings(
        checkpoint=folder,
        max_offsets_per_trigger=max_offsets_per_trigger,
        interval_s=None if available_now else interval_s,
        force=force,
    )
    metrics = None if metrics_port is None else (metrics_host, metrics_port)
    try:
        with (
            registry.open() as client,
            observers_of(
                resolved, cluster, client, display=display, folder=folder.folder, metrics=metrics
            ) as observers,
        ):
            writers.use(decisions_for(resolved, client, folder, policy=unknown_ids))
            run = BridgeRun(
                bridge=resolved,
                engine=choice.engine,
                cluster=cluster,
                settings=settings,
                say=display.say,
                stop=stop,
                on_batch=start.first_batch(display.say),
                listeners=observers.listeners,
                is_replaced=observers.is_replaced,
                writers=writers,
            )
            outcome = run.run(spark)
    finally:
        spark.stop()
    display.say(outcome.text)
    return outcome.exit_code


def _stop_on_signals(stop: threading.Event, say: Callable[[str], None]) -> None:
    """End the run after the current batch on SIGINT and SIGTERM; a second one ends the process at once."""

    def request(number: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say(f"{signal.Signals(number).name}: stopping after the current batch")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, request)


def replay_bridge(
    *, file: Path, registry: RegistryAccess, bootstrap_servers: str | None, formats: Sequence[str]
) -> ExitCode:
    """Run ``bridge replay``: convert the dead letters once more."""
    from counterfoil.converter.check.preflight import created_again
    from counterfoil.converter.engines.reference import ReferenceEngine
    from counterfoil.converter.errors import PreflightFailed
    from counterfoil.converter.kafka.groups import group_of
    from counterfoil.converter.run.replay import Replay

    forms = parse_forms(formats)
    resolved = _resolved(load_bridge_file(file), registry)
    reference = ReferenceEngine(resolved.conversion())
    cluster = _cluster(bootstrap_servers)
    group, letters = group_of(resolved.file.name), resolved.file.dead_letter_topic
    topics = (resolved.file.target_topic, letters)
    findings = [f"there is no topic {each}" for each in topics if cluster.partition_count(each) is None]
    if not findings:
        again = created_again(group, letters, cluster.committed(group, letters), cluster.watermarks(letters))
        findings = [each.text for each in again]
    if findings:
        raise PreflightFailed(findings)
    report = Replay(resolved.file, cluster, reference.convert_value, resolved.plan.hash).run()
    give(forms, lines=report.lines, document=report.as_json)
    return report.exit_code


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
    from counterfoil.converter.verify.verdict import verify_group
    from counterfoil.converter.verify.verification import Sample, Verification

    forms = parse_forms(formats, _FORMS)
    if sample != "all" and not sample.isdecimal():
        raise click.UsageError("--sample must be a number, or all")
    declared = load_bridge_file(file)
    with failures_as_cases(forms, verify_group(declared.name)):
        resolved = _resolved(declared, registry)
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
    give(forms, lines=report.lines, document=report.as_json, suite=report.suite)
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
