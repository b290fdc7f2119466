"""Each setting of requests has an effect that a user would notice: of their limits, their answers and what is known."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.schema.errors import StoreUnavailable
from strategies.registry.served import in_process, status_of

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry

SCHEMA = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(300)]})


def test_max_body_bytes_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> int:
        return (await registry.register("s", SCHEMA)).status

    assert in_process(story) == 200
    assert in_process(story, max_body_bytes=200) == 413


def test_request_timeout_s_has_an_effect() -> None:
    class Hanging(MemoryStorage):
        async def history(self, subject: Any) -> Any:
            await asyncio.Event().wait()
            return await super().history(subject)

    async def story(registry: InProcessRegistry) -> int:
        return (await registry.get("/subjects/s/versions")).status

    assert in_process(story, Hanging(), request_timeout_s=0.1) == 504


def test_gzip_min_bytes_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> str | None:
        await registry.register("s", SCHEMA)
        reply = await registry.ask("GET", "/schemas/ids/1", headers={"Accept-Encoding": "gzip"})
        return reply.headers.get("content-encoding")

    assert in_process(story) == "gzip"
    assert in_process(story, gzip_min_bytes=100_000) is None


def test_compat_version_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story)["version"] == 1
    assert in_process(story, compat_version="7") == {"id": 1}


def test_withhold_new_fields_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.register("s", '"int"')).json

    assert in_process(story, withhold_new_fields=True) == {"id": 1}


class CountingStorage(MemoryStorage):
    """A storage that counts how often a subject's versions are read."""

    read = 0

    async def history(self, subject: Any) -> Any:
        self.read += 1
        return await super().history(subject)


def reads_of_a_repetition(**settings: Any) -> int:
    storage = CountingStorage()

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        await registry.get("/subjects/s/versions/latest")
        before = storage.read
        await registry.get("/subjects/s/versions/latest")
        return storage.read - before

    return in_process(story, storage, **settings)


def test_cache_bytes_has_an_effect() -> None:
    assert reads_of_a_repetition() == 0
    assert reads_of_a_repetition(cache_bytes=0) > 0


def test_fast_lane_has_an_effect() -> None:
    assert reads_of_a_repetition(fast_lane=False) > 0


def test_log_requests_has_an_effect() -> None:
    lines: list[str] = []

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logger, handler = logging.getLogger("counterfoil.registry"), Collecting()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        assert status_of("GET", "/subjects") == 200
        assert lines == []
        assert status_of("GET", "/subjects", log_requests=True) == 200
        assert lines == ["request", "request"]
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def test_kafka_cluster_id_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> Any:
        return (await registry.get("/v1/metadata/id")).json["scope"]

    clusters = {"kafka-cluster": "", "schema-registry-cluster": "counterfoil"}
    assert in_process(story) == {"path": [], "clusters": clusters}
    named = {**clusters, "kafka-cluster": "lkc-1"}
    assert in_process(story, kafka_cluster_id="lkc-1") == {"path": [], "clusters": named}


async def create_kek(registry: InProcessRegistry, name: str, **fields: Any) -> int | None:
    kek = {"name": name, "kmsType": "hcvault", "kmsKeyId": "http://vault/transit/keys/k", **fields}
    reply = await registry.post("/dek-registry/v1/keks", kek)
    return reply.code or reply.status


def test_max_keys_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> list[int | None]:
        return [await create_kek(registry, name) for name in ("a", "b")]

    assert in_process(story) == [200, 200]
    assert in_process(story, max_keys=1) == [200, 40972]


def test_associations_has_an_effect() -> None:
    assert status_of("GET", "/associations/subjects/s") == 200
    assert status_of("GET", "/associations/subjects/s", associations=False) == 404


def test_kms_timeout_s_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> str:
        await create_kek(registry, "k", kmsKeyId=f"{url}/transit/keys/k", shared=True)
        return (await registry.ask("POST", "/dek-registry/v1/keks/k/test")).text

    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as environment:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        environment.setenv("VAULT_ADDR", url)
        environment.setenv("VAULT_TOKEN", "token")
        assert "did not answer within 0.2 s" in in_process(story, kms_timeout_s=0.2)


def test_stale_reads_s_has_an_effect() -> None:
    """What is read from memory, and when, is in ``faults/test_stale_reads.py``."""

    class Lost(MemoryStorage):
        async def catch_up(self) -> None:
            if self.contact.error is not None:
                raise self.contact.error

        def last_known(self) -> Any:
            return self

    async def story(registry: InProcessRegistry) -> int:
        await registry.register("s", '"int"')
        registry.app.storage.contact.note_lost(StoreUnavailable("It is away"))
        return (await registry.get("/subjects/s/versions/latest")).status

    assert in_process(story, Lost()) == 200
    assert in_process(story, Lost(), stale_reads_s=0) == 503


async def activity_of_a_reader(registry: InProcessRegistry) -> str:
    """Return the activity of a reader that was last seen ten days ago."""
    await registry.register("s-value", '"int"')
    seen = (datetime.now(UTC) - timedelta(days=10)).isoformat()
    batch = {"application": "a", "to": seen, "reads": [{"schemaId": 1, "paths": {"*": 1}}]}
    assert (await registry.post("/contracts/v1/usage", batch)).status == 200
    activity: str = (await registry.get("/contracts/v1/subjects/s-value/consumers")).json[0]["activity"]
    return activity


def test_usage_active_days_has_an_effect() -> None:
    assert in_process(activity_of_a_reader) == "stale"
    assert in_process(activity_of_a_reader, usage_active_days=11) == "active"


def test_usage_stale_days_has_an_effect() -> None:
    assert in_process(activity_of_a_reader, usage_stale_days=9) == "gone"


def test_webhook_networks_has_an_effect() -> None:
    """What is sent where is in ``test_webhook_deliveries.py``."""

    async def story(registry: InProcessRegistry) -> int:
        body = {"url": "http://127.0.0.1:9/in", "secret": f"whsec_{'QUJD' * 8}"}
        return (await registry.post("/contracts/v1/webhooks", body)).status

    assert in_process(story) == 422
    assert in_process(story, webhook_networks=("127.0.0.0/8",)) == 200
