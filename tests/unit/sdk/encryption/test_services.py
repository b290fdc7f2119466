"""The key management service of encrypted data, and keys that are shared by event loops, threads and processes."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import sys
import threading
from typing import Any

import pytest

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed, MissingExtra
from counterfoil.schema.rest.keys import Kek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import (
    AsyncDeserializer,
    AsyncSerializer,
    AvroDeserializer,
    AvroSerializer,
    RegistryUnavailable,
    SerializationContext,
    operations,
)
from counterfoil.sdk.encryption.executors import FieldEncryption
from counterfoil.sdk.errors import KeyRefused, KeyUnavailable, RuleError
from counterfoil.sdk.serde.rules.settings import Rules
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply, Reply
from strategies.encryption.world import ANNA, CTX, DAY_S, DEADLINE_S, Vault, World


@pytest.fixture
def world() -> World:
    return World()


# --- the key management service


@pytest.mark.parametrize(
    ("failure", "kind", "is_retryable"),
    [
        (KeyServiceUnavailable("silence for 10 s"), KeyUnavailable, True),
        (KeyAccessDenied("not you"), KeyRefused, False),
        (KeyWrapFailed("no such key"), KeyRefused, False),
    ],
)
def test_a_service_that_fails(world: World, *, failure: Exception, kind: type, is_retryable: bool) -> None:
    data = world.with_rule().written()
    world.vault.failure = failure
    deserialize = world.deserializer()
    error = world.failure(deserialize, data, CTX)
    assert type(error) is kind
    assert (error.retryable, error.kek, error.subject) == (is_retryable, "pii", "people-value")
    assert str(failure) in error.problem
    writing = World().with_rule()
    writing.vault.failure = failure
    error = writing.failure(writing.serializer(), ANNA, CTX)
    assert (type(error), error.kek, error.subject) == (kind, "pii", "people-value")
    assert writing.deks() == ()
    calls = len(world.vault.calls)
    for _ in range(20):  # not every message waits for the service
        assert type(world.failure(deserialize, data, CTX)) is kind
    assert len(world.vault.calls) == calls


def test_a_service_that_fails_in_its_own_way(world: World) -> None:
    data = world.with_rule().written()
    world.vault.failure = ValueError(f"{Vault.secret} is not valid")
    error = world.failure(world.deserializer(), data, CTX)
    assert isinstance(error, KeyRefused)
    assert error.problem.endswith("cannot be used: its service failed with ValueError")


def test_the_missing_package_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    data = world.with_rule().written()
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
    with pytest.raises((MissingExtra, RuleError), match=r'pip install "counterfoil\[crypto\]"'):
        world.deserializer()(data, CTX)


def test_the_schema_decides_what_a_reader_without_the_key_sees(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    world.vault.failure = KeyAccessDenied("not you")
    assert world.deserializer()(data, CTX) == world.bare(data)


def test_a_key_that_another_secret_wrapped(world: World) -> None:
    data = world.with_rule().written()
    world.vault.secret = "another"
    assert isinstance(world.failure(world.deserializer(), data, CTX), KeyRefused)


def test_alternate_ids_are_tried(world: World) -> None:
    data = world.with_rule().written()

    class Moved(Vault):
        def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
            if key_id == "one":
                raise KeyServiceUnavailable("this region is away")
            return super().unwrap("one", wrapped)

    world.vault = Moved()
    deserialize = world.deserializer(**{"encrypt.alternate.kms.key.ids": "elsewhere"})
    assert deserialize(data, CTX) == ANNA


def test_a_shared_key_is_unwrapped_by_the_registry(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_SECRET", "the registry's")
    world = World().with_rule(kms_type="local-kms")
    world.registry.call(operations.create_kek(Kek("pii", "local-kms", "one", shared=True)))
    data = world.written()
    monkeypatch.delenv("LOCAL_SECRET")
    assert world.deserializer()(data, CTX) == ANNA
    assert world.vault.calls == []


def test_a_shared_key_that_the_registry_cannot_wrap(world: World) -> None:
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one", shared=True)))
    error = world.failure(world.serializer(), ANNA, CTX)
    assert isinstance(error, KeyRefused)
    assert "The registry refuses the AES256_GCM key" in error.problem


def test_a_registry_that_is_away_is_no_failure_of_a_rule(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    deserialize = world.deserializer()
    world.registry.schema_by_id(1)
    world.memory.answer_next(NoReply("away"))
    with pytest.raises(RegistryUnavailable):
        deserialize(data, CTX)
    assert deserialize(data, CTX) == ANNA


def test_a_registry_that_denies_a_key(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE").written()
    deserialize = world.deserializer()
    world.registry.schema_by_id(1)
    world.memory.answer_next(Reply(403, {}, b'{"error_code": 40301, "message": "not you"}'))
    assert deserialize(data, CTX) == world.bare(data)


def test_an_older_registry_takes_keys_at_the_older_path(world: World) -> None:
    """405 for the path with the subject: the key is sent to the one without it."""
    world.with_rule()
    world.registry.call(operations.create_kek(Kek("pii", "acme-kms", "one")))
    serialize = world.serializer()
    refused = Reply(405, {}, b'{"error_code": 405, "message": "HTTP 405 Method Not Allowed"}')
    send = world.memory.send

    class Older(InMemoryRegistry):
        def send(self, request: Any) -> Reply:
            world.memory.requests.append(request)
            return refused if request.method == "POST" and request.url.endswith("/deks/people-value") else send(request)

    serialize = AvroSerializer(Older().client(retries=0), register="latest", rules=world.rules())
    assert world.deserializer()(serialize(ANNA, CTX), CTX) == ANNA


# --- event loops, threads, processes


@pytest.mark.parametrize("days", ["0", "1"])
def test_an_asynchronous_registry(world: World, days: str) -> None:
    world.with_rule(dek_expiry_days=days)

    async def whole() -> list[Any]:
        registry = world.memory.async_client(retries=0)
        serialize = AsyncSerializer(AvroSerializer(registry, register="latest", rules=world.rules()))
        messages = [await serialize(ANNA, CTX)]
        world.offset_s = 1.5 * DAY_S
        messages.append(await serialize(ANNA, CTX))
        deserialize = AsyncDeserializer(AvroDeserializer(registry, rules=world.rules()))
        return [await deserialize(data, CTX) for data in messages]

    assert asyncio.run(whole()) == [ANNA, ANNA]
    assert world.deks() == ((1, 2) if days == "1" else (1,))


def test_an_asynchronous_registry_and_a_service_that_is_away(world: World) -> None:
    data = world.with_rule(on_failure="ERROR,NONE", dek_expiry_days="1").written()
    world.vault.failure = KeyServiceUnavailable("away")

    async def read() -> Any:
        registry = world.memory.async_client(retries=0)
        return await AsyncDeserializer(AvroDeserializer(registry, rules=world.rules()))(data, CTX)

    assert asyncio.run(read()) == world.bare(data)


def test_eight_threads_share_the_keys(world: World) -> None:
    world.with_rule(dek_expiry_days="1")
    serialize, deserialize = world.serializer(), world.deserializer()
    results: list[Any] = []

    def use(number: int) -> None:
        for _ in range(50):
            value = {**ANNA, "id": number, "name": f"n{number}"}
            results.append(deserialize(serialize(value, CTX), CTX) == value)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 400
    assert world.deks() == (1,)
    assert world.vault.calls == ["wrap", "unwrap", "unwrap"]


def test_a_slow_service_delays_the_messages_of_its_key_alone(world: World) -> None:
    world.with_rule()
    world.registry.register("others-value", world.registry.version("people-value").schema)
    begun, goes_on = threading.Event(), threading.Event()
    serialize = world.serializer()
    serialize(ANNA, SerializationContext("others"))

    class Slow(Vault):
        def wrap(self, key_id: str, plain: bytes) -> bytes:
            begun.set()
            assert goes_on.wait(DEADLINE_S)
            return super().wrap(key_id, plain)

    world.vault.wrap = Slow().wrap  # type: ignore[method-assign]
    waiting = threading.Thread(target=serialize, args=(ANNA, CTX))
    waiting.start()
    assert begun.wait(DEADLINE_S), "waited for the request of the key"
    for _ in range(10):
        assert serialize(ANNA, SerializationContext("others"))
    goes_on.set()
    waiting.join()
    assert world.deserializer()(serialize(ANNA, CTX), CTX) == ANNA


def test_a_forked_process_opens_services_of_its_own_and_draws_other_nonces(world: World) -> None:
    world.with_rule()
    serialize, deserialize = world.serializer(), world.deserializer()
    deserialize(serialize(ANNA, CTX), CTX)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            data = serialize(ANNA, CTX)
            os.write(writer, data if deserialize(data, CTX) == ANNA else b"wrong")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    ours = serialize(ANNA, CTX)
    assert deserialize(theirs, CTX) == ANNA
    assert theirs != ours


def test_a_pickled_executor_has_no_keys(world: World) -> None:
    executor = FieldEncryption()
    rules = Rules(conf={"secret": "s"}, executors={"ENCRYPT": executor})
    world.with_rule(kms_type="local-kms")
    AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    copied = pickle.loads(pickle.dumps(executor))
    fresh = Rules(conf={"secret": "s"}, executors={"ENCRYPT": copied})
    data = AvroSerializer(world.registry, register="latest", rules=fresh)(ANNA, CTX)
    assert AvroDeserializer(world.registry, rules=rules)(data, CTX) == ANNA


def test_closed_rules_close_their_services(world: World) -> None:
    world.with_rule()
    rules = world.rules()
    AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    rules.close()
    assert world.vault.calls[-1] == "close"


def test_nothing_secret_is_shown(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.with_rule(kms_type="local-kms")
    rules = Rules(conf={"secret": "very-s3cret"}, executors={"ENCRYPT": FieldEncryption()})
    with caplog.at_level(logging.DEBUG):
        AvroSerializer(world.registry, register="latest", rules=rules)(ANNA, CTX)
    shown = world.registry.call(
        operations.dek("pii", "people-value", 1, algorithm="AES256_GCM", visibility=Visibility.ACTIVE)
    )
    assert "very-s3cret" not in caplog.text + repr(rules) + repr(shown) + repr(world.kek())
