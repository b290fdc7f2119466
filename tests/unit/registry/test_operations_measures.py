"""What operators are given: when the store is lost and back, how much is stored, and log lines without secrets."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.identity import AccessState, CallerIdentity, IssuerState
from counterfoil.registry.access.rights import CALLER, Caller
from counterfoil.registry.logs import masked_query
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.protocol import StoreContact, StoreTotals
from counterfoil.registry.telemetry import Counting, Gauges, Telemetry
from counterfoil.schema.errors import InvalidSchema, StoreTimeout, StoreUnavailable
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def lines() -> Iterator[list[logging.LogRecord]]:
    """What is logged."""
    found: list[logging.LogRecord] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(record)

    logger, handler = logging.getLogger("counterfoil.registry"), Collecting()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


# --- the store


def test_the_loss_of_the_store_is_logged_once_and_so_is_its_return(lines: list[logging.LogRecord]) -> None:
    clock, losses = Clock(), []
    contact = StoreContact(lambda: losses.append(1), clock_s=clock)
    contact.note_reached()
    assert (contact.lost_for_s, lines) == (None, [])
    for number in range(5):
        contact.note_lost(StoreUnavailable(f"The cable is out {number}"))
        clock.now_s += 2
    assert (contact.lost_for_s, losses, str(contact.error)) == (10, [1], "The cable is out 4")
    contact.note_reached()
    contact.note_reached()
    said = [(line.levelname, line.getMessage()) for line in lines]
    assert said == [("ERROR", "the store is lost"), ("INFO", "the store is back")]
    assert (vars(lines[0])["cause"], vars(lines[1])["lost_for_s"]) == ("The cable is out 0", 10)


def test_refused_writes_are_logged_once(lines: list[logging.LogRecord]) -> None:
    contact = StoreContact()
    for failure in (None, InvalidSchema("no"), StoreTimeout("The disk is full"), StoreTimeout("again"), None, None):
        contact.note_write(failure)
    assert [line.getMessage() for line in lines] == ["the store does not take writes", "the store takes writes again"]
    assert vars(lines[0])["cause"] == "The disk is full"


# --- how much is stored


class Slow(MemoryStorage):
    """A storage whose counting takes ``takes_s``."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.takes_s = 0.0
        self.counted = 0

    async def totals(self) -> StoreTotals:
        self.counted += 1
        self.clock.now_s += self.takes_s
        return StoreTotals(self.counted, self.counted)


def test_what_is_quickly_counted_is_counted_each_time() -> None:
    async def main() -> None:
        storage = MemoryStorage()
        clock = Clock()
        registry, counting = InProcessRegistry(storage), Counting(storage, clock_s=clock)
        assert counting.totals is None
        await registry.register("s", '"int"')
        await counting.refresh()
        assert counting.totals == StoreTotals(1, 1)
        await registry.register("t", '"int"')
        await registry.put("/config", {"compatibility": "NONE"})
        await registry.register("s", '"long"')
        await counting.refresh()
        assert counting.totals == StoreTotals(2, 3)
        await registry.delete("/subjects/t")

    asyncio.run(main())


def test_what_takes_long_to_count_is_counted_seldom() -> None:
    async def main() -> None:
        clock = Clock()
        storage = Slow(clock)
        storage.takes_s = 2.0
        counting = Counting(storage, clock_s=clock)
        for _ in range(20):
            await counting.refresh()
            clock.now_s += 15
        assert storage.counted == 2  # in 300 s, as 1 % of the time is 200 s for each
        storage.contact.note_lost(StoreUnavailable("It is away"))
        clock.now_s += 1000
        await counting.refresh()
        assert storage.counted == 2

    asyncio.run(main())


# --- gauges of several processes


class Board:
    """What other processes show."""

    def __init__(self, *others: bytes) -> None:
        self._others = list(others)

    def show(self, measures: bytes) -> None:
        self.shown = measures

    def others(self) -> list[bytes]:
        return self._others


def test_gauges_of_processes_are_put_together_by_what_they_mean() -> None:
    shown = []
    for gauges in (Gauges(store_up=False, pool_in_use=2, cache_bytes=5, subjects=9), None):
        board = Board()
        other = Telemetry(board=board)
        if gauges is not None:
            other.read_gauges(lambda gauges=gauges: gauges)
        other.count_stale_answer()
        other.show()
        shown.append(board.shown)
    telemetry = Telemetry(board=Board(*shown), begun_with=shown[0])
    telemetry.read_gauges(lambda: Gauges(store_up=True, pool_in_use=1, cache_bytes=7, subjects=4, versions=6))
    measures = telemetry.exposition().decode().splitlines()
    for line in (
        "counterfoil_store_up 0.0",
        "counterfoil_pool_connections_in_use 3.0",
        "counterfoil_cache_bytes 12.0",
        "counterfoil_subjects 4.0",
        "counterfoil_versions 6.0",
        "counterfoil_stale_answers_total 3.0",
    ):
        assert line in measures, measures


def test_counts_of_callers_in_processes_are_added_up() -> None:
    def state(digest: str, age_s: float | None, *, is_valid: bool) -> AccessState:
        return AccessState(digest, is_valid, (IssuerState("https://i", age_s, 2),))

    states = [state("aa", 5.0, is_valid=True), state("aa", None, is_valid=True), state("bb", 7.0, is_valid=False)]
    shown = []
    for found in states[1:]:
        board = Board()
        telemetry = Telemetry(board=board)
        telemetry.read_gauges(lambda found=found: Gauges(store_up=True, access=found))
        telemetry.access.attempts["jwt", "wrong"] += 2
        telemetry.access.recalled_cell("jwt")[0] += 10
        telemetry.access.examined_headers += 3
        telemetry.access.denials["READ"] += 4
        telemetry.access.passwords.record(0.03)
        telemetry.show()
        shown.append(board.shown)
    whole = Telemetry(board=Board(*shown), begun_with=shown[0])
    whole.read_gauges(lambda: Gauges(store_up=True, access=states[0]))
    measures = whole.exposition().decode().splitlines()
    for line in (
        'counterfoil_auth_total{method="jwt",outcome="wrong"} 6.0',
        'counterfoil_auth_total{method="jwt",outcome="accepted"} 30.0',
        'counterfoil_auth_cache_total{hit="true"} 30.0',
        'counterfoil_auth_cache_total{hit="false"} 9.0',
        'counterfoil_denied_total{operation="READ"} 12.0',
        'counterfoil_password_seconds_bucket{le="0.025"} 0.0',
        'counterfoil_password_seconds_bucket{le="0.05"} 3.0',
        'counterfoil_jwks_age_seconds{issuer="https://i"} 7.0',
        'counterfoil_jwks_failures_total{issuer="https://i"} 6.0',
        "counterfoil_auth_file_valid 0.0",
        'counterfoil_rules_info{hash="aa"} 1.0',
        'counterfoil_rules_info{hash="bb"} 1.0',
    ):
        assert line in measures, "\n".join(measures)


def test_a_server_that_demands_no_credentials_has_no_measures_of_callers() -> None:
    telemetry = Telemetry()
    telemetry.read_gauges(lambda: Gauges(store_up=True))
    assert "counterfoil_auth" not in telemetry.exposition().decode()


# --- log lines


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ""),
        ("permanent=true&deleted", "permanent=true&deleted"),
        ("token=abc&normalize=true", "token=***&normalize=true"),
        ("Access_Token=abc", "Access_Token=***"),
        ("pass%77ord=abc&key=major&value=1", "pass%77ord=***&key=major&value=1"),
        ("apiKey=a%26b&auth=x&author=me", "apiKey=***&auth=***&author=me"),
        ("subject=postgresql://me:secret@db", "subject=postgresql://me:***@db"),
    ],
)
def test_a_query_is_logged_without_secrets(query: str, shown: str) -> None:
    assert masked_query(query) == shown


def test_a_request_line_has_caller_and_request(lines: list[logging.LogRecord]) -> None:
    async def main() -> None:
        registry = InProcessRegistry(log_requests=True)
        await registry.register("s", '"int"')
        await registry.ask(
            "DELETE", "/subjects/s?permanent=true&token=secret", headers={"Authorization": "Basic c2VjcmV0"}
        )
        known: Any = registry.app

        async def authenticated(scope: Any, receive: Any, send: Any) -> None:
            await known({**scope, CALLER: Caller.of(CallerIdentity("User:alice"), ())}, receive, send)

        registry.app = authenticated  # type: ignore[assignment]  # as the gate does
        await registry.get("/subjects")

    asyncio.run(main())
    assert [line.getMessage() for line in lines] == ["request"] * 3
    _, removal, listing = (vars(line) for line in lines)
    assert (removal["method"], removal["path"], removal["query"]) == (
        "DELETE",
        "/subjects/s",
        "permanent=true&token=***",
    )
    assert removal["client"].endswith(":1")
    assert (removal["principal"], removal["status"]) == ("-", 404)
    assert listing["principal"] == "User:alice"
    assert "secret" not in json.dumps([vars(line) for line in lines], default=str)
