"""``counterfoil bridge run``: from Kafka to Kafka, while the state of the run is displayed and reported.

Spark starts first, in a thread; the other modules are imported, and plan and topics are checked, meanwhile.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.converter.bridge import load_bridge_file, resolve_with
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.monitoring.observers import Display, ProgressForm, display_of
from counterfoil.converter.run.checkpoint import Checkpoint, CheckpointIdentity, begun_plan, checkpoint_of
from counterfoil.converter.run.package import JobPackage
from counterfoil.converter.spark.java import check_java
from counterfoil.converter.spark.options import SparkOptions
from counterfoil.converter.spark.session import connector_settings, is_submitted, refuse_connect, refuse_real_time
from counterfoil.converter.spark.start import SessionStart, starting
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.bridge import BridgeFile
from counterfoil.sdk.kafka import KafkaAccess

if TYPE_CHECKING:
    from counterfoil.converter.run.writers import ServiceAddress
    from counterfoil.sdk.commands.options import RegistryAccess


_SAME_REQUEST_S: Final = 2.0
"""A second SIGTERM within this time is the same request."""


def run_bridge(
    *,
    file: Path,
    spark: SparkOptions,
    real_time: bool,
    progress: str,
    progress_topic: str | None,
    checkpoint: Path | str | None,
    package: Path | None,
    **options: Any,
) -> ExitCode:
    """Run ``bridge run``: convert from Kafka to Kafka. Spark starts while plan and topics are checked."""
    declared = load_bridge_file(file)
    if progress_topic is not None:
        if progress_topic in {declared.source_topic, declared.target_topic, declared.dead_letter_topic}:
            raise click.UsageError("--progress-topic must be a topic of its own")
        declared = replace(declared, progress_topic=progress_topic)
    if real_time:
        refuse_real_time()
    folder = checkpoint_of(file, declared.name, checkpoint)
    folder.refuse_busy()
    refuse_connect(spark.master)
    check_java()
    if spark.jars is not None or not is_submitted():
        connector_settings(spark.jars)
    with display_of(ProgressForm(progress)) as display:
        signals = _StopSignals(display.say)
        with starting(spark) as start:
            return _run_with(
                start,
                declared,
                display,
                folder,
                signals,
                package=None if package is None else JobPackage(package),
                **options,
            )


def _run_with(
    start: SessionStart,
    declared: BridgeFile,
    display: Display,
    folder: Checkpoint,
    signals: _StopSignals,
    *,
    package: JobPackage | None,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    engine: str,
    available_now: bool,
    interval_s: float,
    max_offsets_per_trigger: int,
    create_topics: bool,
    unknown_ids: str,
    id_service: ServiceAddress | None,
    force: bool,
    metrics_host: str,
    metrics_port: int | None,
) -> ExitCode:
    """Check plan and topics, and run the bridge in the session that is starting."""
    from counterfoil.converter.check.preflight import ready_topics
    from counterfoil.converter.engines.choice import choose_engine
    from counterfoil.converter.run.writers import WriterService, decisions_for

    if folder.is_remote:
        folder.connect(start.started())
    if package is None:
        resolved = resolve_with(declared, registry, lambda: begun_plan(folder))
    else:
        resolved = package.resolve(declared)
    writers = WriterService(display.say, id_service)
    conversion, keys = replace(resolved.conversion(), lookup=writers.lookup), resolved.key_conversion()
    if keys is not None:
        keys = replace(keys, lookup=writers.key_lookup)
    cluster = named_cluster(kafka)
    choice = choose_engine(engine, conversion, keys)
    folder.check(CheckpointIdentity.of(resolved), force=force)
    ready = ready_topics(resolved.file, cluster, folder, create_target=create_topics, require=start.check)
    for line in (*ready, *resolved.kept_lines()):
        display.say(line)

    from counterfoil.converter.monitoring.observers import observers_of
    from counterfoil.converter.run.job import BridgeRun, RunSettings

    display.say(choice.why)
    spark = start.session(folder.log_file)
    display.say(start.line())
    if package is not None:
        package.add_classes(spark)
    signals.with_interrupts()
    if signals.stop.is_set():
        display.say("stopped on request before the first batch")
        return ExitCode.OK
    settings = RunSettings(
        checkpoint=folder,
        max_offsets_per_trigger=max_offsets_per_trigger,
        interval_s=None if available_now else interval_s,
        force=force,
    )
    metrics = None if metrics_port is None else (metrics_host, metrics_port)
    with (
        nullcontext() if package is not None and registry.url is None else registry.open() as client,
        observers_of(resolved, cluster, client, display=display, folder=folder.folder, metrics=metrics) as observers,
    ):
        writers.use(decisions_for(resolved, client, folder if package is None else None, policy=unknown_ids))
        run = BridgeRun(
            bridge=resolved,
            engine=choice.engine,
            cluster=cluster,
            settings=settings,
            say=display.say,
            stop=signals.stop,
            on_batch=start.first_batch(display.say),
            listeners=observers.listeners,
            is_replaced=observers.is_replaced,
            writers=writers,
        )
        outcome = run.run(spark)
    display.say(outcome.text)
    return outcome.exit_code


class _StopSignals:
    """Ends the run after the current batch on SIGTERM and, from ``with_interrupts`` on, on SIGINT.

    A second signal ends the process at once. SIGTERM may come twice for one request, from a service manager and from
    the Java of spark-submit.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.stop = threading.Event()
        self._say = say
        self._requested_s = 0.0
        signal.signal(signal.SIGTERM, self._request)

    def with_interrupts(self) -> None:
        """Take SIGINT as a request as well; before that, it ends the command at once."""
        signal.signal(signal.SIGINT, self._request)

    def _request(self, number: int, _frame: object) -> None:
        if self.stop.is_set():
            if number == signal.SIGTERM and time.monotonic() - self._requested_s < _SAME_REQUEST_S:
                return
            raise KeyboardInterrupt
        self._requested_s = time.monotonic()
        self.stop.set()
        self._say(f"{signal.Signals(number).name}: stopping after the current batch")
