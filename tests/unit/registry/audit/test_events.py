"""What the audit of a store has: changes, what was done to access, keys that were given out, refused requests."""

from __future__ import annotations

import asyncio
import hmac
import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.records import AUDIT_KEYS, USERS
from counterfoil.registry.audit.events import AuditEvent, EventKind, EventPlace
from counterfoil.registry.audit.file import canonical
from counterfoil.registry.audit.recording import AuditRecords, EqualEvents
from counterfoil.registry.http.envelope import CONNECTION
from counterfoil.registry.keys.records import KEK_KIND
from counterfoil.registry.keys.services import open_kms
from counterfoil.registry.store.memory import MemoryStorage
from counterfoil.registry.store.writes import NO_REQUEST, RecordEvents, Requester, StoragePlan
from counterfoil.schema.errors import StoreUnavailable
from counterfoil.schema.sketch import PartSketch, TopicSketch
from counterfoil.schema.sketch.document import sketch_document
from strategies.access.world import BOB, ROOT, World, in_world
from strategies.bridges.stories import OLD, SUBJECT, proposed
from strategies.contracts.stories import LINK, promise, schema
from strategies.registry.driver import InProcessRegistry
from strategies.registry.keys import LOCAL

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.registry.store.changes import WrittenChanges

EVENTS = "/audit/v1/events"
KEKS = "/dek-registry/v1/keks"
_EVER = 2**40


async def asked(world: World, query: str = "") -> list[dict[str, Any]]:
    """The events, read in pages of three."""
    await world.audit.write_minute()
    found: list[dict[str, Any]] = []
    after, more = "0", True
    while more:
        page = await world.done("GET", f"{EVENTS}?limit=3&after={after}{query}")
        found += page["events"]
        assert page["next"] == after or page["events"] or page["more"] is False
        after, more = page["next"], page["more"]
    return found


def told(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(each["event"], each.get("caller", {}).get("principal"), each.get("resource")) for each in events]


def test_changes_of_access_are_events_with_their_author_and_without_secrets() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        await world.done("PUT", "/auth/v1/users/bob", body={"disabled": True})
        await world.done("PUT", "/auth/v1/services/ci", body={})
        token = await world.done("POST", "/auth/v1/tokens", body={"owner": "Service:ci", "name": "deploy", "days": 3})
        await world.done("PUT", "/auth/v1/roles/taggers", body={"operations": ["WRITE"]})
        assert (await world.ask("DELETE", "/auth/v1/users/nobody")).status == 404
        await world.done("DELETE", "/auth/v1/services/ci")
        await world.done("DELETE", "/auth/v1/users/bob")
        found = await asked(world)
        binding = next(each for each in found if each["event"] == "access.changed" and "pay.*" in each["detail"])
        root, of_bob = "User:root", binding["resource"]
        assert told(found) == [
            ("user.created", None, "auth-user root"),
            ("access.changed", None, "auth-binding admin-root"),
            ("policy.changed", None, "auth-policy policy"),
            ("user.created", root, "auth-user bob"),
            ("access.changed", root, of_bob),
            ("user.changed", root, "auth-user bob"),
            ("service.created", root, "auth-service ci"),
            ("token.created", root, f"auth-token {token['id']}"),
            ("access.changed", root, "auth-role taggers"),
            ("service.deleted", root, "auth-service ci"),
            ("token.revoked", root, f"auth-token {token['id']}"),
            ("user.deleted", root, "auth-user bob"),
            ("access.changed", root, of_bob),
        ]
        assert binding["detail"] == "allow developer to User:bob on pay.*"
        assert binding["action"] == "POST /auth/v1/bindings"
        assert (binding["caller"]["method"], binding["outcome"]) == ("password", "success")
        assert found[5]["detail"] == "disabled"
        assert found[7]["detail"].startswith("deploy of Service:ci until 2")
        written = str(found)
        for secret in (token["token"], "a password of bob", "the first password", "argon2"):
            assert secret not in written

    in_world(story)


def test_a_denial_is_an_event_even_if_the_response_says_something_else() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "reader", "on": "pay.*"})
        made = await world.done("POST", "/subjects/other/versions", body={"schema": '"string"'})
        for path in ("/subjects/other/versions/1", f"/schemas/ids/{made['id']}"):
            assert (await world.ask("GET", path, BOB)).status == 404
        assert (await world.ask("GET", "/subjects/pay.absent/versions/1", BOB)).status == 404
        association = {"subject": "other", "associationType": "value", "lifecycle": "WEAK", "opType": "CREATE"}
        item = {"resourceName": "topic", "resourceNamespace": "-", "resourceId": "id-1", "associations": [association]}
        batch = await world.ask("POST", "/associations:batchMutate", BOB, {"requests": [item]})
        assert (batch.status, batch.json["results"][0]["error"]["error_code"]) == (207, 40301)
        found = [each for each in await asked(world) if each["event"] == "access.denied"]
        assert [(each["action"], each["status"], each.get("resource")) for each in found] == [
            ("GET /subjects/{subject}/versions/{version}", 404, "Subject: other"),
            ("GET /schemas/ids/{id}", 404, None),
            ("POST /associations:batchMutate", 207, "Subject: other"),
        ]
        assert {each["outcome"] for each in found} == {"denied"}

    in_world(story, denied_reads="404")


OF_A_GROUP = """
admins: [User:root]
groups: {payments: [User:bob]}
rules:
  - {deny: [DELETE], to: Group:payments, on: pay.ledger}
"""


def test_a_denial_names_the_rule_and_the_group_that_it_is_for(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(OF_A_GROUP)

    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "owner", "on": "pay.*"})
        await world.register("pay.ledger", BOB)
        for subject in ("pay.ledger", "other"):
            assert (await world.ask("DELETE", f"/subjects/{subject}", BOB)).code == 40301
        of_group, without = [each for each in await asked(world) if each["event"] == "access.denied"]
        assert (of_group["rule"], of_group["group"]) == (f"{file}:5", "Group:payments")
        assert {"rule", "group"}.isdisjoint(without)

    in_world(story, auth_file=str(file))


PROXIED = """
admins: [User:root]
proxy: {addresses: [10.0.0.1/32], prefix: "proxy:", user_header: x-forwarded-user, secret_header: x-secret,
  secret_file: secret}
"""


def test_events_have_the_address_of_the_client_of_a_listed_proxy(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text(PROXIED)
    (tmp_path / "secret").write_text("0123456789abcdef")

    async def story(world: World) -> None:
        app = world.registry.app
        connection = SimpleNamespace(known_caller=None)
        for peer, client in (("10.0.0.1", "192.0.2.7"), ("10.0.0.2", "10.0.0.2")):

            async def from_peer(scope: Any, receive: Any, send: Any, peer: str = peer) -> None:
                await app({**scope, "client": (peer, 1), CONNECTION: connection}, receive, send)

            world.registry.app = from_peer
            connection.known_caller = None
            for _ in range(3):
                assert (await world.ask("GET", "/contexts", x_forwarded_for="192.0.2.7")).status == 200
            assert (connection.known_caller.header is None) == (peer != client)  # others share a proxy's connections
            assert (await world.ask("GET", "/subjects", None, x_forwarded_for="192.0.2.7")).status == 401
            failed = [each for each in await asked(world) if each["event"] == "auth.failed"]
            assert failed[-1]["from"] == client

    in_world(story, auth_file=str(file))


@pytest.mark.slow
def test_changes_and_events_are_one_list_that_can_be_searched() -> None:
    async def story(world: World) -> None:
        begun = (await asked(world))[-1]["seq"]
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        await world.register("pay.a", BOB)
        assert await world.register("other", BOB) == 40301
        for _ in range(5):
            assert (await world.ask("GET", "/subjects", "bob:guess")).code == 401
        await world.done("PUT", "/config/pay.a", body={"compatibility": "NONE"})
        found = [each for each in await asked(world) if EventPlace(*map(int, each["seq"].split("."))) > _place(begun)]
        assert told(found) == [
            ("user.created", "User:root", "auth-user bob"),
            ("access.changed", "User:root", found[1]["resource"]),
            ("schema.register", "User:bob", "pay.a"),
            ("settings.change", "User:root", "pay.a"),
            ("access.denied", "User:bob", "Subject: other"),
            ("auth.failed", None, None),
        ]
        registered, denied, failed = found[2], found[4], found[5]
        assert (registered["version"], registered["seq"]) == (1, str(registered["change"]))
        assert (denied["status"], denied["operation"], denied["count"]) == (403, "WRITE", 1)
        assert (failed["count"], failed["reason"], failed["status"]) == (5, "wrong", 401)
        assert "bob" not in str(failed)
        for query, expected in (
            ("&event=schema.register", [2]),
            ("&event=schema.register&event=access.denied", [2, 4]),
            ("&caller=User:bob", [2, 4]),
            ("&subject=pay.a", [2, 3]),
            ("&subject=other", [4]),
            ("&outcome=denied", [4]),
            ("&outcome=failed", [5]),
            ("&until=2020-01-01", []),
            ("&since=2099-01-01T00:00:00%2B02:00", []),
            ("&since=2020-01-01&caller=User:bob", [2, 4]),
        ):
            assert await asked(world, query) == [found[each] for each in expected], query
        for query in ("event=nonsense", "after=x", "after=1.", "after=-1", "since=soon", "outcome=good", "limit=0"):
            assert (await world.ask("GET", f"{EVENTS}?{query}")).status == 400, query
        assert (await world.ask("GET", EVENTS, "bob:a password of bob")).code == 40301

    in_world(story)


def _place(text: str) -> EventPlace:
    return EventPlace(*map(int, text.split(".")))


def test_writes_of_every_part_of_the_api_name_their_author() -> None:
    async def story(world: World) -> None:
        await world.done("POST", f"/subjects/{SUBJECT}/versions", body={"schema": OLD})
        await world.done("PUT", f"/config/{SUBJECT}", body={"incompatibleVersions": "BRIDGED"})
        await world.done("POST", "/bridges/v1?register=true", body=proposed())
        await world.done("PUT", "/contracts/v1/applications/shop", body={})
        await world.done("PUT", "/contracts/v1/environments/live", body={})
        await world.done("POST", "/dek-registry/v1/keks", body={"name": "k", **LOCAL})
        await world.done("POST", "/dek-registry/v1/keks/k/test", body={})
        await world.done("POST", "/dek-registry/v1/keks/k/deks", body={"subject": "s"})
        found = [each for each in await asked(world) if "change" in each or each["event"].startswith("key.")]
        [bridge] = [each for each in found if each["event"] == "bridge.change"]
        assert (bridge["subject"], bridge["context"]) == (SUBJECT, ".")
        assert {each["caller"]["principal"] for each in found} == {"User:root"}
        assert list(dict.fromkeys(each["event"] for each in found)) == [
            "schema.register",
            "settings.change",
            "bridge.change",
            "contract.change",
            "kek.change",
            "dek.change",
            "key.tested",
            "key.revealed",
        ]
        [tested] = [each for each in found if each["event"] == "key.tested"]
        [revealed] = [each for each in found if each["event"] == "key.revealed"]
        assert (tested["resource"], tested["caller"]["principal"]) == ("Kek: k", "User:root")
        assert (revealed["resource"], revealed["subject"]) == ("Kek: k", "s")

    in_world(story, wrapping=open_kms({"LOCAL_SECRET": "s3cret"}, brought=()))


def test_who_has_audit_on_a_context_sees_its_events_alone() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "auditor", "on": "context:.c"})
        assert (await world.ask("GET", EVENTS, "bob:a password of bob")).json["events"] == []
        for subject in (":.c:s", ":.d:s", "s"):
            await world.register(subject, ROOT)
        await world.done("PUT", "/config/:.c:", body={"compatibility": "NONE"})
        await world.done("PUT", "/config/:.d:", body={"compatibility": "NONE"})
        await world.done("PUT", "/config", body={"compatibility": "NONE"})
        for subject in (":.c:s", ":.d:s", "s"):
            assert await world.register(subject, BOB) == 40301
        await world.audit.write_minute()
        found = (await world.done("GET", f"{EVENTS}?limit=1000", BOB))["events"]
        assert told(found) == [
            ("schema.register", "User:root", ":.c:s"),
            ("settings.change", "User:root", ":.c:"),
            ("access.denied", "User:bob", "Subject: :.c:s"),
        ]
        assert {each["context"] for each in found} == {".c"}
        assert told((await world.done("GET", f"{EVENTS}?event=settings.change", BOB))["events"]) == told(found)[1:2]
        everything = await asked(world)
        assert {"context": "."}.items() <= next(each for each in everything if each.get("resource") == "s").items()

    in_world(story)


def test_encryption_keys_are_compared_by_a_key_of_the_store() -> None:
    """Each change of a key is one event, and says whether its content is one that it had before."""

    async def story(world: World) -> None:
        kek, deks = f"{KEKS}/k", f"{KEKS}/k/deks"
        await world.done("POST", KEKS, body={"name": "k", **LOCAL, "shared": False, "doc": ""})
        await world.done("PUT", kek, body={"doc": "one"})
        await world.done("PUT", kek, body={"doc": ""})
        for version, material in ((1, "b25l"), (2, "b25l"), (3, "dHdv")):
            body = {"subject": ":.c:s", "version": version, "encryptedKeyMaterial": material}
            await world.done("POST", deks, body=body)
        await world.done("DELETE", f"{deks}/%3A.c%3As/versions/1")
        await world.done("DELETE", f"{deks}/%3A.c%3As/versions/1?permanent=true")
        found = [each for each in await asked(world) if each["event"] in {"kek.change", "dek.change"}]
        assert [each["resource"].split()[0] for each in found] == ["kek"] * 3 + ["dek"] * 5
        made, other, back, first, equal, differing, deleted, gone = found
        assert "before" not in made
        assert (other["before"], other["after"]) == (made["after"], back["before"])
        assert made["after"] == back["after"] != other["after"]
        assert first["after"] == equal["after"] != differing["after"]
        assert (deleted["before"], gone["before"], "after" in gone) == (first["after"], deleted["after"], False)
        assert {(each["subject"], each["context"]) for each in found[3:]} == {(":.c:s", ".c")}
        [stored] = await world.storage.records(AUDIT_KEYS.name)
        [held] = await world.storage.records(KEK_KIND)
        lasting = {name: value for name, value in held.document.items() if name not in {"ts", "dekCount"}}
        key = bytes.fromhex(stored.document["key"])
        assert back["after"] == hmac.new(key, canonical(lasting), "sha256").hexdigest()
        changes = (await world.done("GET", "/changes?limit=500"))["changes"]
        documents = [each["document"] for each in changes if each["kind"] == "record-changed"]
        assert {"kind": "kek", "key": ["k"]} in documents
        assert {tuple(each) for each in documents} == {("kind", "key")}
        assert stored.document["key"] not in str(found) + str(changes)

    in_world(story, wrapping=open_kms({"LOCAL_SECRET": "s3cret"}, brought=()))


def test_a_store_without_authentication_has_the_key_as_well() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        audit = AuditRecords(storage)
        registry = InProcessRegistry(storage, audit=audit)
        for name in ("one", "two"):
            made = await registry.post(KEKS, {"name": name, "kmsType": "test", "kmsKeyId": "k"})
            assert made.status == 200, made.text
        [stored] = await storage.records(AUDIT_KEYS.name)
        assert len(bytes.fromhex(stored.document["key"])) == 32
        found = [each.document or {} for each in await storage.changes(0, 100)]
        assert [each["kind"] for each in found] == ["audit-key", "kek", "kek"]
        assert found[1]["after"] == found[2]["after"]  # their names are in their keys

    asyncio.run(story())


def test_who_has_audit_on_a_context_sees_what_is_about_its_subjects() -> None:
    """Of records: data encryption keys, contracts, sketches and associations."""

    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "auditor", "on": "context:.c"})
        await world.done("POST", KEKS, body={"name": "k", **LOCAL})
        for subject in (":.c:s", ":.d:s", "s"):
            await world.register(subject, ROOT)
            await world.done("POST", f"{KEKS}/k/deks", body={"subject": subject})
            sketch = sketch_document(TopicSketch("t", value=PartSketch({}), value_subject="s"))
            await world.done("PUT", f"/sketches/v1/subjects/{subject}", body=sketch)
            content = promise(contract=f"about {subject}", subject=subject)
            contract = {"content": content, "schemas": {LINK: {"schema": schema()}}}
            body = {"application": f"of {subject}", "version": "1", "contracts": [contract]}
            await world.done("POST", "/contracts/v1/publish", body=body)
        topic = {"resourceName": "s", "resourceNamespace": "x", "resourceId": "s", "resourceType": "topic"}
        of_value = {"subject": ":.c:s", "associationType": "value", "lifecycle": "WEAK"}
        await world.done("POST", "/associations", body={**topic, "associations": [of_value]})
        await world.audit.write_minute()
        found = (await world.done("GET", f"{EVENTS}?limit=1000", BOB))["events"]
        assert [(each["event"], each["resource"].split(" ")[0]) for each in found] == [
            ("schema.register", ":.c:s"),
            ("dek.change", "dek"),
            ("record.change", "sketch"),
            ("contract.change", "contract"),
            ("association.change", "association"),
            ("key.revealed", "Kek:"),
        ]
        assert {each["subject"] for each in found[1:]} == {":.c:s"}

    in_world(story, wrapping=open_kms({"LOCAL_SECRET": "s3cret"}, brought=()))


@pytest.mark.parametrize(
    "rules",
    [
        [{"allow": "auditor", "on": "s.*"}],  # of subjects it has no effect
        [{"allow": "auditor", "on": "kek:*"}],
        [{"allow": "reader", "on": "registry"}],
        [],
    ],
)
def test_who_has_audit_on_no_context_sees_no_events(rules: list[dict[str, Any]]) -> None:
    async def story(world: World) -> None:
        await world.add(BOB, *rules)
        assert (await world.ask("GET", EVENTS, BOB)).code == 40301

    in_world(story)


def test_a_denial_leaves_a_context_out() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": ["AUDIT"], "on": "context:*"}, {"deny": ["AUDIT"], "on": "context:.d"})
        for subject in (":.c:s", ":.d:s"):
            await world.register(subject, ROOT)
        assert [each["resource"] for each in (await world.done("GET", EVENTS, BOB))["events"]] == [":.c:s"]

    in_world(story)


@pytest.mark.slow
def test_records_about_access_are_compared_by_a_key_of_the_store() -> None:
    async def story(world: World) -> None:
        await world.add(BOB)
        for disabled in (True, False, True):
            await world.done("PUT", "/auth/v1/users/bob", body={"disabled": disabled})
        await world.done("DELETE", "/auth/v1/users/bob")
        found = [each for each in await asked(world) if each.get("resource") == "auth-user bob"]
        created, off, on, again, deleted = found
        assert "before" not in created
        assert "after" not in deleted
        for earlier, later in itertools.pairwise(found):
            assert later["before"] == earlier["after"]
        assert (off["after"], on["after"]) == (again["after"], created["after"])
        assert off["after"] != on["after"]
        assert all(len(each["after"]) == 64 for each in found[:-1])
        [stored] = await world.storage.records(AUDIT_KEYS.name)
        assert await world.storage.records(USERS.name, ("bob",)) == []
        key = bytes.fromhex(stored.document["key"])
        assert len(key) == 32
        [root] = await world.storage.records(USERS.name, ("root",))
        [made] = [each for each in await asked(world) if each.get("resource") == "auth-user root"]
        assert made["after"] == hmac.new(key, canonical(root.document), "sha256").hexdigest()
        assert stored.document["key"] not in str(await asked(world))

    in_world(story)


def test_listing_everything_is_an_event() -> None:
    async def story(world: World) -> None:
        await world.register("s", ROOT)
        for query in ("", "?subjectPrefix=:*:s", "?subjectPrefix=:*:&offset=1"):
            await world.done("GET", f"/schemas{query}")
        assert [each for each in await asked(world) if each["event"] == "registry.export"] == []
        for _ in range(3):
            await world.done("GET", "/schemas?subjectPrefix=:*:")
        [found] = [each for each in await asked(world) if each["event"] == "registry.export"]
        assert (found["resource"], found["count"], found["caller"]["principal"]) == ("Registry", 3, "User:root")

    in_world(story)


def test_a_flood_of_refused_requests_is_a_few_rows() -> None:
    counted = EqualEvents()
    for number in range(5000):
        counted.add(AuditEvent(EventKind.AUTH_FAILED, {"from": f"10.0.{number // 250}.{number % 250}", "status": 401}))
        counted.add(AuditEvent(EventKind.ACCESS_DENIED, {"caller": {"principal": "User:a"}, "resource": "Subject: s"}))
    rows = counted.take()
    assert len(rows) <= 1002
    assert sum(each.facts["count"] for each in rows) == 10_000
    assert [each.facts["count"] for each in rows if each.kind is EventKind.ACCESS_DENIED] == [5000]
    assert counted.take() == []


def test_old_events_are_removed_and_that_is_an_event() -> None:
    async def story() -> None:
        storage = MemoryStorage()
        old = datetime.now(UTC) - timedelta(days=11)
        events = [AuditEvent(EventKind.KEY_TESTED, {}, old)] * 2500 + [AuditEvent(EventKind.KEY_TESTED)]
        await storage.commit(StoragePlan((), (RecordEvents(tuple(events)),)), by=NO_REQUEST)
        audit = AuditRecords(storage, keep_days=10)
        await audit.write_minute()
        found = await storage.audit_events(EventPlace(0), _EVER, 9999)
        assert [(each.event, each.facts.get("count")) for each in found] == [
            ("key.tested", None),
            ("audit.cut", 1000),
            ("audit.cut", 1000),
            ("audit.cut", 500),
        ]

    asyncio.run(story())


class Counting(MemoryStorage):
    """A storage that counts how many events are read."""

    events_read = 0

    async def audit_events(self, after: EventPlace, last_change: int, limit: int) -> Any:
        self.events_read += limit
        return await super().audit_events(after, last_change, limit)


def test_events_are_read_for_removal_only_when_one_is_old() -> None:
    async def story() -> None:
        storage = Counting()
        audit = AuditRecords(storage, keep_days=10)
        await storage.commit(StoragePlan((), (RecordEvents((AuditEvent(EventKind.KEY_TESTED),) * 50),)), by=NO_REQUEST)
        for _ in range(20):
            await audit.write_minute()
        assert storage.events_read == 1

    asyncio.run(story())


class AwayStorage(MemoryStorage):
    """A storage that refuses writes while it is away."""

    is_away = False

    async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().commit(plan, by=by)


def test_events_wait_for_a_store_that_is_away() -> None:
    async def story() -> None:
        storage = AwayStorage()
        audit = AuditRecords(storage)
        storage.is_away = True
        for _ in range(10_005):
            audit.record(AuditEvent(EventKind.KEY_TESTED))
        await audit.write()
        assert audit.failures == 1
        storage.is_away = False
        await audit.write()
        found = await storage.audit_events(EventPlace(0), _EVER, 99_999)
        assert len(found) == 10_001
        assert (found[-1].event, found[-1].facts) == ("audit.gap", {"lost": 5})

    asyncio.run(story())


def test_an_error_that_nobody_has_foreseen_ends_neither_the_task_nor_what_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(MemoryStorage):
        is_faulty = True

        async def commit(self, plan: StoragePlan, *, by: Requester) -> WrittenChanges:
            if self.is_faulty:
                self.is_faulty = False
                raise LookupError("no foreseen error")
            return await super().commit(plan, by=by)

    async def story() -> None:
        storage = Faulty()
        audit = AuditRecords(storage)
        audit.record(AuditEvent(EventKind.KEY_TESTED))
        running = asyncio.create_task(audit.run())
        async with asyncio.timeout(60):
            while not await storage.audit_events(EventPlace(0), _EVER, 9):
                assert not running.done()
                await asyncio.sleep(0.05)
        running.cancel()

    asyncio.run(story())
    assert "a write of audit events has failed" in caplog.text


@pytest.mark.parametrize("moment", ["2026-11-01", "2026-11-01T12:00", "2026-11-01T12:00:00.5Z"])
def test_times_of_a_question_are_iso_8601(moment: str) -> None:
    async def story(world: World) -> None:
        assert (await world.ask("GET", f"{EVENTS}?since={moment}")).status == 200

    in_world(story)
