from __future__ import annotations

import json
import threading
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from counterfoil.converter.errors import BrokerUnreachable
from counterfoil.converter.run.progress import Totals
from counterfoil.converter.run.reporting import RunReports
from counterfoil.schema.errors import CounterfoilError, ReporterReplaced

if TYPE_CHECKING:
    from collections.abc import Callable

BRIDGE: Any = SimpleNamespace(file=SimpleNamespace(name="b", source_topic="in"), plan=SimpleNamespace(hash="f" * 64))


class Cluster:
    is_away = False

    def watermarks(self, topic: str) -> dict[int, tuple[int, int]]:
        if self.is_away:
            raise BrokerUnreachable("broker", reason="away")
        return {"in": {0: (0, 10), 1: (5, 30)}}[topic]


class Registry:
    """What receives the reports: ``answer`` is called with each."""

    def __init__(self, answer: Callable[[dict[str, Any]], None] = lambda _body: None) -> None:
        self.received: list[dict[str, Any]] = []
        self._answer = answer

    def send(self, operation: Any) -> None:
        assert operation.path == "/bridges/v1/b/progress"
        self.received.append(json.loads(operation.body))
        self._answer(self.received[-1])


def reports_to(registry: Registry, lines: list[str] | None = None, cluster: Any = None) -> RunReports:
    say = [].append if lines is None else lines.append
    return RunReports(BRIDGE, cluster or Cluster(), registry.send, epoch=3, say=say)


def test_a_batch_is_reported_with_positions_ends_and_counts() -> None:
    registry = Registry()
    reports = reports_to(registry)
    reports.start({1: 7})
    reports.batch({0: 10}, Totals(converted=4, tombstones=1, dead_by_code=Counter({"too-large": 2})), rate_per_s=5.5)
    reports.close()
    last = registry.received[-1]
    assert last["partitions"] == [
        {"partition": 0, "position": 10, "end": 10},
        {"partition": 1, "position": 7, "end": 30},
    ]
    assert (last["epoch"], last["planHash"], last["ratePerS"]) == (3, "f" * 64, 5.5)
    assert (last["converted"], last["tombstones"], last["deadLetters"]) == (4, 1, {"too-large": 2})


def test_a_slow_registry_delays_no_batch_and_receives_the_latest_report() -> None:
    is_waiting, may_go_on = threading.Event(), threading.Event()

    def slow(_body: dict[str, Any]) -> None:
        is_waiting.set()
        assert may_go_on.wait(60)

    registry = Registry(slow)
    reports = reports_to(registry)
    reports.start({})
    assert is_waiting.wait(60)
    for position in range(100):
        reports.batch({0: position}, Totals(), rate_per_s=0)
    may_go_on.set()
    reports.close()
    assert [body["partitions"][0]["position"] for body in registry.received] == [0, 99]


def test_a_registry_that_is_away_is_printed_once_and_ends_nothing() -> None:
    def refuse(_body: dict[str, Any]) -> None:
        raise CounterfoilError("no connection")

    lines: list[str] = []
    registry = Registry(refuse)
    reports = reports_to(registry, lines)
    for position in range(3):
        reports.batch({0: position}, Totals(), rate_per_s=0)
    reports.close()
    assert registry.received[-1]["partitions"][0]["position"] == 2
    assert lines == ["the registry does not take reports of progress, and the run goes on: no connection"]
    assert not reports.is_replaced


def test_a_later_driver_is_noticed() -> None:
    def replaced(_body: dict[str, Any]) -> None:
        raise ReporterReplaced("start 4 has reported")

    reports = reports_to(Registry(replaced))
    reports.start({})
    reports.close()
    assert reports.is_replaced


def test_while_the_broker_is_away_nothing_is_reported() -> None:
    cluster, registry = Cluster(), Registry()
    reports = reports_to(registry, cluster=cluster)
    cluster.is_away = True
    reports.start({})
    cluster.is_away = False
    reports.batch({0: 1}, Totals(), rate_per_s=0)
    reports.close()
    assert [body["partitions"][0]["position"] for body in registry.received] == [1]
