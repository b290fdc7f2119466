"""``counterfoil bridge status``: what is known about a bridge, named by its file or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from counterfoil.converter.bridge.file import load_bridge_file
from counterfoil.converter.kafka.cluster import named_cluster
from counterfoil.converter.monitoring.history import read_history
from counterfoil.converter.monitoring.status import BridgeStatusReport, KnownRun
from counterfoil.converter.monitoring.topic import latest_state
from counterfoil.converter.reports import give, parse_forms
from counterfoil.converter.run.checkpoint import Checkpoint, default_folder
from counterfoil.schema.errors import BridgeNotFound, CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.schema.exit_codes import ExitCode
    from counterfoil.schema.rest.bridges import BridgeStatus
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess


def show_status(
    *,
    bridge: str,
    registry: RegistryAccess,
    kafka: KafkaAccess | None,
    checkpoint: Path | None,
    progress_topic: str | None,
    formats: Sequence[str],
) -> ExitCode:
    """Run ``bridge status``: print what is known about a bridge, named by its file or by its name."""
    forms = parse_forms(formats)
    file = Path(bridge)
    declared = load_bridge_file(file) if file.is_file() else None
    name = bridge if declared is None else declared.name
    topic = progress_topic or (declared.progress_topic if declared is not None else None)
    folder = checkpoint or (default_folder(file, declared.name) if declared is not None else None)
    if topic is None and folder is None and registry.url is None:
        raise click.UsageError(
            f"there is no file {bridge}, so it is taken for the name of a bridge; say where its status is: --registry, "
            "--progress-topic or --checkpoint"
        )
    cluster = named_cluster(kafka) if progress_topic or (topic and kafka) else None
    run = _known_run(name, cluster, topic, folder)
    stored, unread = (None, "") if registry.url is None else _stored(name, registry, is_only_source=run is None)
    report = BridgeStatusReport(name, run, stored, unread)
    give(forms, lines=report.lines, document=report.as_json)
    return report.exit_code


def _known_run(name: str, cluster: Cluster | None, topic: str | None, folder: Path | None) -> KnownRun | None:
    """Return the latest state that the topic of progress or the checkpoint has."""
    run = None
    if topic is not None and cluster is not None:
        state = latest_state(cluster, topic, bridge=name)
        run = None if state is None else KnownRun(state, f"topic {topic}")
    if folder is not None:
        history = read_history(folder)
        if history and (run is None or history[-1].ts >= run.state.ts):
            run = KnownRun(history[-1], f"checkpoint {folder}", Checkpoint(folder).has_driver())
    return run


def _stored(name: str, access: RegistryAccess, *, is_only_source: bool) -> tuple[BridgeStatus | None, str]:
    """Return what the registry has stored about a bridge, and a sentence if it cannot be read.

    If nothing else is known, the error is raised.
    """
    from counterfoil.sdk import operations

    try:
        with access.open() as client:
            return client.call(operations.bridge(name)), ""
    except BridgeNotFound:
        return None, ""
    except CounterfoilError as failure:
        if is_only_source:
            raise
        return None, str(failure)
