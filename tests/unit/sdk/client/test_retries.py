"""How both clients try again: what is retried, how long they pause, when they give up. No test waits."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from counterfoil.schema.errors import InvalidSchema, NotFound, RegistryError
from counterfoil.schema.model import Schema
from counterfoil.sdk import AsyncRegistry, Registry, RegistrySettings, RegistryUnavailable, RetrySettings
from counterfoil.sdk.transport import Clock, NoReply, Reply

OK = Reply(200, {}, b'["AVRO"]')
LOST = NoReply("silence for 10 s")
UNSENT = NoReply("connection refused", was_sent=False)


def refusal(status, *, code=None, **headers):
    body = json.dumps({"error_code": code or status, "message": f"it said {status}"}).encode()
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


class FakeTime:
    """A clock that moves when somebody pauses, and when a transport takes its time."""

    def __init__(self):
        self.now_s = 0.0
        self.pauses = []
        self.clock = Clock(monotonic=lambda: self.now_s, wall=lambda: 1_000_000.0 + self.now_s, random=lambda: 1.0)

    def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now_s += seconds

    async def asleep(self, seconds):
        self.sleep(seconds)


class Scripted:
    """A transport that answers by a list of outcomes; the last one for ever."""

    def __init__(self, time, outcomes, *, takes_s=0.0):
        self.requests = []
        self._time = time
        self._outcomes = list(outcomes)
        self._takes_s = takes_s

    def send(self, request):
        self.requests.append(request)
        self._time.now_s += self._takes_s
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Reply):
            return outcome
        raise outcome

    async def asend(self, request):
        return self.send(request)

    def close(self):
        pass

    async def aclose(self):
        pass


@pytest.fixture(params=["sync", "async"])
def world(request):
    """``ask(outcomes, call)`` runs one call of the client against these outcomes; then look at the rest."""
    found = SimpleNamespace(time=FakeTime(), settings=RegistrySettings.of("http://one"), transport=None)

    def ask(*outcomes, call=lambda registry: registry.ping(), takes_s=0.0):
        found.transport = Scripted(found.time, outcomes, takes_s=takes_s)
        options = {"transport": found.transport, "clock": found.time.clock}
        if request.param == "sync":
            return call(Registry(found.settings, sleep=found.time.sleep, **options))
        return asyncio.run(call(AsyncRegistry(found.settings, sleep=found.time.asleep, **options)))

    found.ask = ask
    found.asked = lambda: [seen.url for seen in found.transport.requests]
    return found


@pytest.mark.parametrize("outcome", [LOST, UNSENT, *(refusal(status) for status in (408, 429, 500, 502, 503, 504))])
def test_what_may_pass_is_tried_again(world, outcome):
    world.ask(outcome, outcome, OK)
    assert len(world.transport.requests) == 3
    assert world.time.pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 501])
def test_a_plain_no_is_final(world, status):
    with pytest.raises(RegistryError, match=f"it said {status}"):
        world.ask(refusal(status), OK)
    assert len(world.transport.requests) == 1


def test_what_is_no_registry_is_final(world):
    with pytest.raises(RegistryUnavailable, match=r"server at http://one/.*text/html") as caught:
        world.ask(Reply(200, {"content-type": "text/html"}, b"<html>"), OK)
    assert (caught.value.url, caught.value.attempts, caught.value.retryable) == ("http://one/schemas/types", 1, True)


def test_giving_up_names_the_url_the_cause_and_the_count(world):
    with pytest.raises(RegistryUnavailable, match=r"http://one/subjects .*silence for 10 s \(4 attempts\)") as caught:
        world.ask(LOST, call=lambda registry: registry.subjects())
    assert (caught.value.url, caught.value.attempts) == ("http://one/subjects", 4)
    assert isinstance(caught.value.__cause__, NoReply)


def test_a_registry_that_keeps_failing_is_quoted(world):
    with pytest.raises(RegistryError, match="it said 503") as caught:
        world.ask(refusal(503, code=50301))
    assert (caught.value.status, caught.value.code) == (503, 50301)


def test_a_proxy_that_keeps_failing_is_no_registry(world):
    with pytest.raises(RegistryUnavailable, match="503"):
        world.ask(Reply(503, {"content-type": "text/html"}, b"<html>busy"))


def test_pauses_double_up_to_the_longest(world):
    retry = RetrySettings(retries=6, first_pause_s=1, max_pause_s=5, total_s=1000)
    world.settings = replace(world.settings, retry=retry)
    with pytest.raises(RegistryUnavailable):
        world.ask(LOST)
    assert world.time.pauses == [1, 2, 4, 5, 5, 5]


def test_pauses_are_a_random_part_of_that(world):
    world.time.clock = replace(world.time.clock, random=iter([0.5, 0.0, 0.25]).__next__)
    with pytest.raises(RegistryUnavailable):
        world.ask(LOST)
    assert world.time.pauses == [0.25, 0.0, 0.5]


@pytest.mark.slow
def test_very_many_retries_are_counted_without_overflow(world):
    retry = RetrySettings(retries=3000, first_pause_s=0.001, max_pause_s=0.001, total_s=1000)
    world.settings = replace(world.settings, retry=retry)
    with pytest.raises(RegistryUnavailable) as caught:
        world.ask(LOST)
    assert caught.value.attempts == 3001


def test_retries_may_be_none(world):
    world.settings = RegistrySettings.of("http://one", retries=0)
    with pytest.raises(RegistryUnavailable, match=r"\(1 attempt\)"):
        world.ask(LOST)
    assert world.time.pauses == []


def test_no_new_round_after_the_total_time(world):
    with pytest.raises(RegistryUnavailable) as caught:
        world.ask(LOST, takes_s=20.0)
    assert caught.value.attempts == 2  # at 20 s there is time for a pause and another try, at 40.5 s there is not


@pytest.mark.parametrize(
    ("header", "pause_s"),
    [("3", 3.0), ("0", 0.0), ("Mon, 12 Jan 1970 13:46:47 GMT", 7.0), ("Mon, 12 Jan 1970 13:46:00 GMT", 0.0)],
)
def test_the_registry_may_say_when_to_come_back(world, header, pause_s):
    world.ask(refusal(429, retry_after=header), OK)
    assert world.time.pauses == [pause_s]


@pytest.mark.parametrize("header", ["soon", "-1", "²", "", "Mon, 99 Foo"])
def test_an_unreadable_wish_is_no_wish(world, header):
    world.ask(refusal(503, retry_after=header), OK)
    assert world.time.pauses == [0.5]


def test_a_wish_beyond_the_total_time_ends_it_at_once(world):
    with pytest.raises(RegistryError, match="it said 429"):
        world.ask(refusal(429, retry_after="3600"), OK)
    assert world.time.pauses == []


# --- what must not be repeated -------------------------------------------------------------------------------------


def test_a_registration_is_repeated(world):
    found = world.ask(LOST, Reply(200, {}, b'{"id": 3}'), call=lambda registry: registry.register("s", Schema("x")))
    assert found.id == 3
    first, second = world.transport.requests
    assert (first.method, first.body) == (second.method, second.body)


@pytest.mark.parametrize("outcome", [LOST, refusal(500), refusal(503)])
def test_a_deletion_that_may_have_happened_is_not_repeated(world, outcome):
    with pytest.raises((RegistryUnavailable, RegistryError)):
        world.ask(outcome, Reply(200, {}, b"[1]"), call=lambda registry: registry.delete_subject("s"))
    assert len(world.transport.requests) == 1


@pytest.mark.parametrize("outcome", [UNSENT, refusal(429)])
def test_a_deletion_that_did_not_happen_is_tried_again(world, outcome):
    assert world.ask(outcome, Reply(200, {}, b"[1]"), call=lambda registry: registry.delete_subject("s")) == (1,)


# --- several URLs --------------------------------------------------------------------------------------------------


def test_urls_are_tried_in_order_before_any_pause(world):
    world.settings = RegistrySettings.of("http://one/base/,http://two")
    world.ask(UNSENT, OK)
    assert world.asked() == ["http://one/base/schemas/types", "http://two/schemas/types"]
    assert world.time.pauses == []


def test_a_round_that_fails_is_followed_by_a_pause(world):
    world.settings = RegistrySettings.of("http://one,http://two")
    world.ask(UNSENT, refusal(503), LOST, OK)
    assert world.asked() == [
        "http://one/schemas/types",
        "http://two/schemas/types",
        "http://one/schemas/types",
        "http://two/schemas/types",
    ]
    assert world.time.pauses == [0.5]


def test_the_url_that_answered_is_asked_first_from_then_on(world):
    world.settings = RegistrySettings.of("http://one,http://two,http://three")

    def call(registry):
        first = registry.ping()
        if first is None:  # sync: it has run
            return registry.ping()

        async def both():
            await first
            await registry.ping()

        return both()

    world.ask(UNSENT, OK, OK, call=call)
    assert world.asked() == ["http://one/schemas/types", "http://two/schemas/types", "http://two/schemas/types"]


# --- headers -------------------------------------------------------------------------------------------------------


def test_every_request_says_who_asks_and_what_it_reads(world):
    world.settings = replace(RegistrySettings.of("http://u:p@one"), headers={"X-Tenant": "t", "User-Agent": "mine"})
    world.ask(Reply(200, {}, b'{"id": 3}'), call=lambda registry: registry.register("s", Schema("x")))
    sent = world.transport.requests[0]
    assert sent.headers["Accept"].startswith("application/vnd.schemaregistry.v1+json")
    assert sent.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
    assert sent.headers["Authorization"] == "Basic dTpw"
    assert (sent.headers["X-Tenant"], sent.headers["User-Agent"]) == ("t", "mine")


def test_the_user_agent_is_ours_and_a_get_has_no_content_type(world):
    world.ask(OK)
    sent = world.transport.requests[0]
    assert sent.headers["User-Agent"].startswith("counterfoil/")
    assert "Content-Type" not in sent.headers


@pytest.mark.parametrize(
    ("code", "kind"), [(42201, InvalidSchema), (404, NotFound)], ids=["coded", "the status as code"]
)
def test_errors_are_the_registrys_classes(world, code, kind):
    with pytest.raises(kind) as caught:
        world.ask(refusal(code // 100 if code > 999 else code, code=code))
    assert caught.value.code == code


# --- what keeps a client from flooding a registry that fails ---------------------------------------------------------


def sync_client(time, outcomes, **retry):
    transport = Scripted(time, outcomes)
    settings = replace(RegistrySettings.of("http://one"), retry=RetrySettings(**retry))
    return transport, Registry(settings, transport=transport, clock=time.clock, sleep=time.sleep)


def failures(registry, count):
    """What each of so many calls raises, as its text."""
    texts = []
    for _ in range(count):
        with pytest.raises(RegistryUnavailable) as caught:
            registry.ping()
        texts.append(str(caught.value))
    return texts


def test_after_calls_without_an_answer_no_request_is_sent_for_a_while():
    time = FakeTime()
    transport, registry = sync_client(time, [LOST], retries=1, breaker_failures=3, breaker_pause_s=10.0)
    texts = failures(registry, 5)
    assert len(transport.requests) == 3 * 2
    assert texts[3] == texts[4]
    assert "http://one/schemas/types: the last 3 calls were not answered; the next one is sent in 10.0 s" in texts[4]
    time.now_s += 10
    failures(registry, 1)
    assert len(transport.requests) == 4 * 2  # one call tries
    assert "No request was sent" in failures(registry, 1)[0]
    time.now_s += 10
    transport._outcomes = [OK]
    for _ in range(3):
        registry.ping()
    assert len(transport.requests) == 4 * 2 + 3


def test_a_refusal_is_an_answer():
    transport, registry = sync_client(FakeTime(), [refusal(404)], breaker_failures=2)
    for _ in range(5):
        with pytest.raises(NotFound):
            registry.ping()
    assert len(transport.requests) == 5


def test_the_breaker_can_be_off():
    transport, registry = sync_client(FakeTime(), [LOST], retries=0, breaker_failures=0)
    failures(registry, 20)
    assert len(transport.requests) == 20


def test_all_calls_share_a_budget_of_retries():
    transport, registry = sync_client(FakeTime(), [LOST], retries=3, budget=7, breaker_failures=0)
    failures(registry, 4)
    assert len(transport.requests) == 4 + 7
    transport._outcomes = [OK]
    for _ in range(10):
        registry.ping()
    transport.requests.clear()
    transport._outcomes = [LOST]
    failures(registry, 1)
    assert len(transport.requests) == 1 + 2  # ten answers gave two rounds back
