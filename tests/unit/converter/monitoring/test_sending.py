"""What sends the states of a run over the network, and what becomes of them where nobody answers."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from counterfoil.converter.errors import BrokerUnreachable
from counterfoil.converter.monitoring.records import BackgroundReports, RegistryReports
from counterfoil.converter.run.snapshot import PartitionPosition, RunSnapshot, RunState
from counterfoil.schema.errors import CounterfoilError, ReporterReplaced

if TYPE_CHECKING:
    from collections.abc import Callable

STATE = RunSnapshot(
    bridge="b",
    plan_hash="f" * 64,
    engine="java",
    job="host:1",
    started_ts=1,
    ts=1,
    batches=1,
    converted=4,
    tombstones=1,
    dead_letters={"too-large": 2},
    rate_per_s=5.5,
    partitions=(PartitionPosition(0, 0, 10, 10), PartitionPosition(1, 5, 7, 8)),
)


class Ends:
    is_away = False

    def __call__(self) -> dict[int, tuple[int, int]]:
        if self.is_away:
            raise BrokerUnreachable("broker", reason="away")
        return {0: (0, 9), 1: (5, 30)}


class Registry:
    """What receives the reports: ``answer`` is called with each."""

    def __init__(self, answer: Callable[[dict[str, Any]], None] = lambda _body: None) -> None:
        self.received: list[dict[str, Any]] = []
        self._answer = answer

    def send(self, operation: Any) -> None:
        assert operation.path == "/bridges/v1/b/progress"
        self.received.append(json.loads(operation.body))
        self._answer(self.received[-1])


def at(position: int) -> RunSnapshot:
    return replace(STATE, partitions=(PartitionPosition(0, 0, position, 200),))


def test_a_state_is_reported_with_positions_present_ends_and_counts() -> None:
    registry = Registry()
    reports = BackgroundReports([RegistryReports(registry.send, epoch=3, say=[].append)], Ends())
    reports(STATE)
    reports.close()
    (only,) = registry.received
    assert only["partitions"] == [
        {"partition": 0, "position": 10, "end": 10},
        {"partition": 1, "position": 7, "end": 30},
    ]
    assert (only["epoch"], only["planHash"], only["ratePerS"]) == (3, "f" * 64, 5.5)
    assert (only["converted"], only["tombstones"], only["deadLetters"]) == (4, 1, {"too-large": 2})


def test_a_slow_registry_delays_no_batch_and_receives_the_latest_report() -> None:
    is_waiting, may_go_on = threading.Event(), threading.Event()

    def slow(_body: dict[str, Any]) -> None:
        is_waiting.set()
        assert may_go_on.wait(60)

    registry = Registry(slow)
    reports = BackgroundReports([RegistryReports(registry.send, epoch=3, say=[].append)], Ends())
    reports(at(0))
    assert is_waiting.wait(60)
    for position in range(100):
        reports(at(position))
    may_go_on.set()
    reports.close()
    assert [body["partitions"][0]["position"] for body in registry.received] == [0, 99]


def test_a_run_without_batches_is_reported_again() -> None:
    twice = threading.Event()
    registry = Registry(lambda _body: twice.set() if len(registry.received) > 1 else None)
    reports = BackgroundReports([RegistryReports(registry.send, epoch=1, say=[].append)], Ends(), period_s=0.01)
    reports(STATE)
    assert twice.wait(60)
    reports.close()
    assert registry.received[0]["partitions"] == registry.received[1]["partitions"]


def test_a_registry_that_is_away_is_printed_once_and_ends_nothing() -> None:
    def refuse(_body: dict[str, Any]) -> None:
        raise CounterfoilError("no connection")

    lines: list[str] = []
    reports = RegistryReports(Registry(refuse).send, epoch=3, say=lines.append)
    for position in range(3):
        reports(at(position))
    assert lines == ["the registry does not take reports of progress, and the run goes on: no connection"]
    assert not reports.is_replaced


def test_a_later_driver_is_noticed() -> None:
    def replaced(_body: dict[str, Any]) -> None:
        raise ReporterReplaced("start 4 has reported")

    reports = RegistryReports(Registry(replaced).send, epoch=3, say=[].append)
    reports(STATE)
    assert reports.is_replaced


def test_while_the_broker_is_away_only_the_end_is_reported() -> None:
    received: list[RunSnapshot] = []
    ends = Ends()
    ends.is_away = True
    reports = BackgroundReports([received.append], ends)
    reports(STATE)
    reports.close()
    assert received == []
    reports = BackgroundReports([received.append], ends)
    reports(replace(STATE, state=RunState.FAILED, error="the broker is away"))
    reports.close()
    assert [each.state for each in received] == [RunState.FAILED]
