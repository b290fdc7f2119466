"""Everything that follows one run: its display, its history, its measures, and the reports over the network."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.converter.bridge.stored import stored_bridge
from counterfoil.converter.monitoring.background import BackgroundReports
from counterfoil.converter.monitoring.history import History
from counterfoil.converter.monitoring.registry import RegistryReports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.monitoring.display import Display
    from counterfoil.converter.run.watch import Listener
    from counterfoil.sdk import Registry


@dataclass(frozen=True, slots=True)
class Observers:
    """Who is called with each state of a run, and whether another driver has started the bridge later."""

    listeners: tuple[Listener, ...]
    is_replaced: Callable[[], bool]


@contextmanager
def observers_of(
    resolved: ResolvedBridge,
    cluster: Cluster,
    client: Registry,
    *,
    display: Display,
    folder: Path,
    metrics: tuple[str, int] | None,
) -> Iterator[Observers]:
    """Yield the observers of a run during the block.

    ``folder`` is that of the checkpoint; ``metrics`` are the host and port of the measures, a free port for 0.
    """
    listeners: list[Listener] = [History(folder, say=display.say), display.show]
    remote: list[Listener] = []
    registry = _registry_reports(resolved, client, display.say)
    if registry is not None:
        remote.append(registry)
    if resolved.file.progress_topic is not None:
        from counterfoil.converter.monitoring.topic import TopicReports

        remote.append(TopicReports(cluster.client_settings, resolved.file.progress_topic, say=display.say))
    with ExitStack() as stack:
        if metrics is not None:
            from counterfoil.converter.monitoring.measures import RunMeasures, serve_measures

            measures = RunMeasures()
            port, server = serve_measures(measures, host=metrics[0], port=metrics[1])
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            display.say(f"measures for Prometheus: http://{metrics[0]}:{port}/metrics")
            listeners.append(measures)
            remote.append(measures)
        if remote:
            background = BackgroundReports(remote, lambda: cluster.watermarks(resolved.file.source_topic))
            stack.callback(background.close)
            listeners.append(background)
        yield Observers(tuple(listeners), lambda: registry is not None and registry.is_replaced)


def _registry_reports(resolved: ResolvedBridge, client: Registry, say: Callable[[str], None]) -> RegistryReports | None:
    """Return what reports to the registry; None if it does not store the bridge."""
    stored = stored_bridge(client, resolved.file.name)
    if stored is None:
        return None
    if stored.bridge.plan_hash != resolved.plan.hash:
        say(
            f"warning: bridge {resolved.file.name} has the plan {stored.bridge.plan_hash[:16]} in the registry and "
            f"{resolved.plan.hash[:16]} in this run; the reports of this run do not count for its gates"
        )
    before = stored.reports.progress
    return RegistryReports(client.call, epoch=before.epoch + 1 if before is not None else 1, say=say)
