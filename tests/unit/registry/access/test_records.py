"""Users, tokens, bindings and roles in the store: requests to a registry whose store demands credentials."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.identities.hashes import karapace_hash
from counterfoil.registry.access.records import TOKENS
from counterfoil.registry.store.memory import MemoryStorage
from strategies.access.world import BOB, ROOT, World, in_world
from strategies.registry.driver import InProcessRegistry
from strategies.registry.waiting import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from counterfoil.registry.store.protocol import StorageRecord


def test_a_store_that_requires_credentials_has_an_administrator() -> None:
    async def story(world: World) -> None:
        assert (await world.ask("GET", "/subjects", None)).code == 401
        assert (await world.ask("GET", "/subjects", "root:guess")).code == 401
        assert (await world.ask("GET", "/subjects", "nobody:guess")).code == 401
        found = await world.done("GET", "/auth/v1/whoami")
        assert (found["principal"], found["method"], found["rights"][0]["on"]) == ("User:root", "password", "registry")
        assert "ALTER_ACCESS" in found["rights"][0]["operations"]
        users = await world.done("GET", "/auth/v1/users")
        assert [(user["name"], user["disabled"]) for user in users] == [("root", False)]
        assert "hash" not in users[0]

    in_world(story)


@pytest.mark.slow
def test_users_have_the_rights_of_their_bindings_at_once() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        assert await world.register("pay.a", BOB) is None
        assert await world.register("other", BOB) == 40301
        bindings = await world.done("GET", "/auth/v1/bindings")
        [of_bob] = [each for each in bindings if each["to"] == "User:bob"]
        assert (of_bob["by"], of_bob["ts"] > 0) == ("User:root", True)
        [of_root] = [each for each in bindings if each["to"] == "User:root"]
        assert of_root["by"] == "User:whoever owns the store"
        denial = {"to": "User:*", "deny": ["WRITE"], "on": "pay.a"}
        made = await world.done("POST", "/auth/v1/bindings", body=denial)
        assert await world.register("pay.a", BOB) == 40301
        await world.done("DELETE", f"/auth/v1/bindings/{made['id']}")
        assert await world.register("pay.a", BOB) is None
        changed = {"to": "User:bob", "allow": "reader", "on": "pay.*"}
        place, revision = f"/auth/v1/bindings/{of_bob['id']}", of_bob["revision"]
        assert (await world.ask("PUT", place, ROOT, changed, If_Match=str(revision + 1000))).code == 412
        assert (await world.ask("PUT", place, ROOT, changed, If_Match=f'"{revision}"')).status == 200
        assert (await world.ask("DELETE", place, ROOT, If_Match=str(revision))).code == 412
        assert await world.register("pay.b", BOB) == 40301
        assert (await world.ask("GET", "/subjects", BOB)).json == ["pay.a"]
        await world.done("PUT", "/auth/v1/users/bob", body={"disabled": True})
        assert (await world.ask("GET", "/subjects", BOB)).code == 401
        await world.done("PUT", "/auth/v1/users/bob", body={"disabled": False, "password": "another one"})
        assert (await world.ask("GET", "/subjects", BOB)).code == 401
        assert (await world.ask("GET", "/subjects", "bob:another one")).status == 200
        await world.done("DELETE", "/auth/v1/users/bob")
        assert (await world.ask("GET", "/subjects", "bob:another one")).code == 401
        assert [each["to"] for each in await world.done("GET", "/auth/v1/bindings")] == ["User:root"]

    in_world(story)


@pytest.mark.slow
def test_who_may_grant_gives_nothing_that_it_does_not_have() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "owner", "on": "pay.*"}, {"deny": "DELETE", "on": "pay.ledger"})
        await world.add("eve:a password of eve")

        async def grant(**rule: Any) -> int | None:
            return (await world.ask("POST", "/auth/v1/bindings", BOB, {"to": "User:eve"} | rule)).code

        assert await grant(allow="developer", on="pay.*") is None
        assert await grant(allow=["DELETE"], on="pay.a*") is None
        assert await grant(allow=["DELETE"], on="pay.*") == 40301  # the ledger is not bob's to delete
        assert await grant(allow=["PURGE"], on="pay.a") == 40301
        assert await grant(allow="reader", on="p*") == 40301
        assert await grant(allow="reader", on="registry") == 40301
        assert await grant(allow="admin", on="pay.a") == 40301
        assert await grant(deny="reader", on="pay.a") == 40301
        assert (await world.ask("GET", "/auth/v1/bindings", BOB)).code == 40301
        [of_root] = [each for each in await world.done("GET", "/auth/v1/bindings") if each["to"] == "User:root"]
        assert (await world.ask("DELETE", f"/auth/v1/bindings/{of_root['id']}", BOB)).code == 40301
        taken = {"to": "User:bob", "allow": "reader", "on": "pay.*"}
        assert (await world.ask("PUT", f"/auth/v1/bindings/{of_root['id']}", BOB, taken)).code == 40301
        assert await world.register("pay.a", "eve:a password of eve") is None
        assert await grant(to="User:ANONYMOUS", allow="reader", on="pay.a") == 40301
        assert await grant(to="Group:any", allow="reader", on=":*:pay.*") == 40301
        assert await grant(allow="reader", on="context:.") == 40301
        assert await grant(allow="reader", on="pay.*-value") is None
        assert await grant(allow="reader", on="*pay.") == 40301
        token = await world.done(
            "POST", "/auth/v1/tokens", BOB, {"name": "x", "scopes": [{"role": "owner", "on": "pay.a*"}]}
        )
        for on, code in (("pay.ab", None), ("pay.*", 40301), ("pay.b", 40301)):
            rule = {"to": "User:eve", "allow": "reader", "on": on}
            assert (await world.ask("POST", "/auth/v1/bindings", token["token"], rule)).code == code

    in_world(story)


def test_rules_of_others_are_as_if_absent() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "owner", "on": "pay.*"})
        body = {"to": "User:bob", "allow": "reader", "on": "pay.a"}
        for method, sent in (("PUT", body), ("DELETE", None)):
            found = [await world.ask(method, f"/auth/v1/bindings/{name}", BOB, sent) for name in ("admin-root", "none")]
            assert [each.code for each in found] == [40301, 40301]
            assert found[0].body == found[1].body

    in_world(story)


@pytest.mark.slow
def test_nobody_is_locked_out() -> None:
    async def story(world: World) -> None:
        [binding] = await world.done("GET", "/auth/v1/bindings")
        place = f"/auth/v1/bindings/{binding['id']}"
        denial = {"to": "User:*", "deny": "ALTER_ACCESS", "on": "registry"}
        for method, path, body in (
            ("DELETE", "/auth/v1/users/root", None),
            ("PUT", "/auth/v1/users/root", {"disabled": True}),
            ("DELETE", place, None),
            ("PUT", place, {"to": "User:root", "allow": "reader", "on": "registry"}),
            ("POST", "/auth/v1/bindings", denial),
        ):
            assert (await world.ask(method, path, ROOT, body)).code == 40950, (method, path)
        await world.add(BOB, {"allow": "admin", "on": "registry"})
        both = [world.ask("DELETE", "/auth/v1/users/root", BOB), world.ask("DELETE", "/auth/v1/users/bob")]
        assert min([(await each).status for each in both]) == 204
        left = [who for who in (ROOT, BOB) if (await world.ask("GET", "/auth/v1/users", who)).status == 200]
        assert len(left) == 1

    in_world(story)


def test_an_administrator_is_somebody_who_can_call() -> None:
    async def story(world: World) -> None:
        await world.done("PUT", "/auth/v1/services/ci", body={})
        for principal in ("Group:nobody-is-in-it", "User:never-stored", "Service:ci", "User:ANONYMOUS"):
            await world.done("POST", "/auth/v1/bindings", body={"to": principal, "allow": "admin", "on": "registry"})
        limited = {"owner": "Service:ci", "name": "limited", "scopes": [{"role": "reader", "on": "registry"}]}
        await world.done("POST", "/auth/v1/tokens", body=limited)
        assert (await world.ask("DELETE", "/auth/v1/users/root")).code == 40950
        made = await world.done("POST", "/auth/v1/tokens", body={"owner": "Service:ci", "name": "whole"})
        await world.done("DELETE", "/auth/v1/users/root")
        for method, path, body in (
            ("DELETE", f"/auth/v1/tokens/{made['id']}", None),
            ("PUT", "/auth/v1/services/ci", {"disabled": True}),
            ("DELETE", "/auth/v1/services/ci", None),
        ):
            assert (await world.ask(method, path, made["token"], body)).code == 40950, (method, path)

    in_world(story)


def test_an_administrator_of_the_file_may_be_a_user_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "access.yaml"
    path.write_text(
        "admins: [User:root]\n"
        "issuers: [{issuer: 'https://login.example', audience: x, prefix: sso-, jwks_file: keys.json}]\n"
    )
    (tmp_path / "keys.json").write_text('{"keys": []}')

    async def story(world: World) -> None:
        denial = {"to": "User:*", "deny": "ALTER_ACCESS", "on": "registry"}
        made = await world.done("POST", "/auth/v1/bindings", body=denial)
        assert (await world.ask("PUT", "/auth/v1/users/root", ROOT, {"disabled": True})).code == 40950
        assert (await world.ask("DELETE", "/auth/v1/users/root")).code == 40950
        assert (await world.ask("PUT", "/auth/v1/users/sso-eve", ROOT, {"password": "long enough"})).code == 40950
        denial = {"to": "User:root", "deny": "READ", "on": "registry"}
        assert (await world.ask("POST", "/auth/v1/bindings", ROOT, denial)).code == 40950
        group = {"to": "Group:sso-platform", "allow": "admin", "on": "registry"}
        await world.done("POST", "/auth/v1/bindings", body=group)
        assert (await world.ask("DELETE", "/auth/v1/users/root")).code == 40950  # everybody in the group is denied it
        await world.done("DELETE", f"/auth/v1/bindings/{made['id']}")
        await world.done("DELETE", "/auth/v1/users/root")  # its members are known to the issuer

    in_world(story, auth_file=str(path))


def test_anonymous_callers_have_the_rules_by_their_name() -> None:
    async def story(world: World) -> None:
        await world.register("open.a", ROOT)
        assert (await world.ask("GET", "/subjects/open.a/versions/1", None)).code == 401
        rule = {"to": "User:ANONYMOUS", "allow": "reader", "on": "open.*"}
        made = await world.done("POST", "/auth/v1/bindings", body=rule)
        assert (await world.ask("GET", "/subjects/open.a/versions/1", None)).status == 200
        assert (await world.ask("GET", "/subjects/other/versions/1", None)).code == 40301
        assert (await world.ask("GET", "/subjects", "root:guess")).code == 401
        await world.done("DELETE", f"/auth/v1/bindings/{made['id']}")
        assert (await world.ask("GET", "/subjects/open.a/versions/1", None)).code == 401

    in_world(story)


def test_a_weak_hash_is_replaced_at_the_next_login() -> None:
    async def story(world: World) -> None:
        password = b"a password of bob"
        digest = hashlib.pbkdf2_hmac("sha256", password, b"a salt of bob", 5000)
        weak = karapace_hash("sha256", "a salt of bob", base64.b64encode(digest).decode()).text
        await world.done("PUT", "/auth/v1/users/bob", body={"hash": weak})
        assert (await world.ask("GET", "/subjects", "bob:guess")).code == 401
        assert (await world.ask("GET", "/subjects", BOB)).status == 200
        user = await world.server.administration.user("bob")
        async with asyncio.timeout(300):
            while user.hash == weak:
                await asyncio.sleep(0.01)
                user = await world.server.administration.user("bob")
        assert user.hash.startswith("$argon2id$")
        assert user.hash not in repr(user)
        assert (await world.ask("GET", "/subjects", BOB)).status == 200
        both = {"hash": weak, "password": "long enough"}
        for body in (both, {"hash": "secret"}, {"hash": "{SHA}x"}, {"password": ""}):
            reply = await world.ask("PUT", "/auth/v1/users/bob", ROOT, body)
            assert reply.code == 42250
            assert not [value for value in body.values() if value and value in reply.text]

    in_world(story)


@pytest.mark.slow
def test_tokens() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        scope = {"role": "reader", "on": "pay.*"}
        made = await world.done("POST", "/auth/v1/tokens", BOB, {"name": "ci", "scopes": [scope], "days": 7})
        token = made["token"]
        assert await world.register("pay.a", token) == 40301
        assert (await world.ask("GET", "/subjects", token)).status == 200
        for user in ("token", "bob"):
            assert (await world.ask("GET", "/subjects", f"{user}:{token}")).status == 200
        assert (await world.ask("GET", "/subjects", f"root:{token}")).code == 401
        assert (await world.ask("GET", "/subjects", token[:-1] + ("a" if token[-1] != "a" else "b"))).code == 401
        found = await world.done("GET", "/auth/v1/whoami", token)
        assert (found["method"], found["scopes"][0]["on"]) == ("token", "pay.*")
        too_much = {"name": "more", "scopes": [{"role": "admin", "on": "registry"}]}
        assert (await world.ask("POST", "/auth/v1/tokens", BOB, too_much)).code == 40301
        assert (await world.ask("POST", "/auth/v1/tokens", token, {"name": "more"})).code == 40301
        other = {"name": "x", "owner": "User:root"}
        assert (await world.ask("POST", "/auth/v1/tokens", BOB, other)).code == 40301
        assert (await world.ask("POST", "/auth/v1/tokens", BOB, {"name": "x", "days": 366})).code == 42250
        [shown] = await world.done("GET", "/auth/v1/tokens", BOB)
        assert shown["id"] == made["id"]
        assert not {"digest", "token"} & set(shown)
        whole = await world.done("POST", "/auth/v1/tokens", BOB, {"name": "whole"})
        assert await world.register("pay.a", whole["token"]) is None
        await world.done("PUT", "/auth/v1/users/bob", body={"disabled": True})
        assert (await world.ask("GET", "/subjects", whole["token"])).code == 401
        await world.done("PUT", "/auth/v1/users/bob", body={"disabled": False})
        assert (await world.ask("GET", "/subjects", whole["token"])).status == 200
        await world.done("DELETE", f"/auth/v1/tokens/{whole['id']}", BOB)
        assert (await world.ask("GET", "/subjects", whole["token"])).code == 401

        async def are_noted() -> bool:
            return all("lastUsed" in each for each in await world.done("GET", "/auth/v1/tokens"))

        await until(are_noted)  # the hour of a use is stored beside the request

    in_world(story)


class _Meanwhile(MemoryStorage):
    """A storage in which something happens after a token was read."""

    happens: Callable[[], Awaitable[Any]] | None = None

    async def records(self, kind: str, prefix: tuple[str, ...] = ()) -> Sequence[StorageRecord]:
        found = await super().records(kind, prefix)
        if kind == TOKENS.name and prefix and self.happens is not None:
            happens, self.happens = self.happens, None
            await happens()
        return found


def test_a_use_is_stored_although_its_token_is_revoked_meanwhile() -> None:
    storage = _Meanwhile()

    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        made = await world.done("POST", "/auth/v1/tokens", BOB, {"name": "ci"})
        storage.happens = partial(world.done, "DELETE", f"/auth/v1/tokens/{made['id']}", BOB)
        assert (await world.ask("GET", "/subjects", made["token"])).status == 200

        async def is_noted() -> bool:
            return all("lastUsed" in each for each in await world.done("GET", "/auth/v1/tokens"))

        await until(is_noted)
        assert storage.happens is None
        assert (await world.ask("GET", "/subjects", made["token"])).code == 401

    in_world(story, storage=storage)


def test_a_revoked_token_keeps_the_hour_of_its_last_use() -> None:
    async def story(world: World) -> None:
        made = await world.done("POST", "/auth/v1/tokens", body={"name": "ci"})
        assert (await world.ask("GET", "/subjects", made["token"])).status == 200

        async def used() -> list[bool]:
            return ["lastUsed" in each for each in await world.done("GET", "/auth/v1/tokens")]

        async def is_noted() -> bool:
            return await used() == [True]

        await until(is_noted)
        await world.done("DELETE", f"/auth/v1/tokens/{made['id']}")
        assert await used() == [True]

    in_world(story)


def test_services_and_roles() -> None:
    async def story(world: World) -> None:
        await world.done("PUT", "/auth/v1/services/ci", body={"description": "builds"})
        await world.done("PUT", "/auth/v1/roles/registrar", body={"operations": ["WRITE"]})
        rule = {"to": "Service:ci", "allow": "registrar", "on": "pay.*"}
        await world.done("POST", "/auth/v1/bindings", body=rule)
        made = await world.done("POST", "/auth/v1/tokens", body={"name": "ci", "owner": "Service:ci"})
        assert await world.register("pay.a", made["token"]) is None
        assert (await world.ask("DELETE", "/auth/v1/roles/registrar")).code == 40950
        assert (await world.ask("PUT", "/auth/v1/roles/reader", ROOT, {"operations": ["WRITE"]})).code == 42250
        await world.done("PUT", "/auth/v1/roles/registrar", body={"operations": ["READ"]})
        assert await world.register("pay.b", made["token"]) == 40301
        roles = [role["name"] for role in await world.done("GET", "/auth/v1/roles")]
        assert {"reader", "admin", "registrar"} <= set(roles)
        await world.done("DELETE", "/auth/v1/services/ci")
        assert (await world.ask("GET", "/subjects", made["token"])).code == 401
        await world.done("DELETE", "/auth/v1/roles/registrar")

    in_world(story)


@pytest.mark.slow
def test_questions_agree_with_what_is_answered() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"}, {"deny": "WRITE", "on": "pay.ledger"})
        await world.done("PUT", "/config/pay.a", body={"alias": "pay.ledger"})

        async def can(who: str, **question: Any) -> Any:
            return await world.done("POST", "/auth/v1/can", who, question)

        assert (await can(BOB, operation="WRITE", resource="pay.b"))["allowed"]
        denied = await can(BOB, operation="WRITE", resource="pay.ledger")
        assert (denied["allowed"], denied["rule"]["text"]) == (False, "deny WRITE to User:bob on pay.ledger")
        assert denied["near"][0]["text"] == "allow READ, WRITE to User:bob on pay.*"
        found = await can(ROOT, principal="User:bob", request="PUT /config/pay.b")
        assert (found["allowed"], found["needs"][0]["operation"]) == (False, "ALTER_CONFIGS")
        of_alias = await can(ROOT, principal="User:bob", request="POST /subjects/pay.a/versions")
        assert (of_alias["allowed"], of_alias["needs"][0]["resource"]) == (False, "Subject: pay.ledger")
        purge = await can(ROOT, principal="User:bob", request="DELETE /contexts/c/subjects/x?permanent=true")
        assert [need["operation"] for need in purge["needs"]] == ["DELETE", "PURGE"]
        assert purge["needs"][0]["resource"] == "Subject: :.c:x"
        await world.done("PUT", "/config/pay.hidden", body={"alias": "secret.s"})
        of_hidden = await can(BOB, request="GET /subjects/pay.hidden/versions")
        assert (of_hidden["allowed"], of_hidden["needs"][0]["resource"]) == (False, "Subject: pay.hidden")
        assert "secret" not in json.dumps(of_hidden)
        asked = {"operation": "WRITE", "resource": "pay.b"}
        found = await world.done("POST", "/auth/v1/who-can", body=asked)
        by_principal = {each["principal"]: each["rule"] for each in found}
        assert set(by_principal) == {"User:root", "User:bob"}
        assert by_principal["User:bob"]["text"] == "allow READ, WRITE to User:bob on pay.*"
        assert by_principal["User:bob"]["source"].startswith("binding ")
        assert (await world.ask("POST", "/auth/v1/who-can", BOB, asked)).code == 40301
        assert (await world.ask("POST", "/auth/v1/who-can", ROOT, {"operation": "FLY", "resource": "a"})).code == 400
        question = {"principal": "User:root", "operation": "READ", "resource": "pay.a"}
        assert (await world.ask("POST", "/auth/v1/can", BOB, question)).code == 40301
        for wrong in ({"operation": "FLY", "resource": "a"}, {"request": "PUT"}, {"operation": "READ"}, {}):
            assert (await world.ask("POST", "/auth/v1/can", BOB, wrong)).code == 400

    in_world(story)


def test_records_about_access_are_in_no_feed_of_others() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": ["READ", "DESCRIBE_ACCESS"], "on": "registry"})
        page = await world.done("GET", "/changes", BOB)
        assert page["changes"] == []
        assert (await world.done("GET", "/changes"))["changes"]

    in_world(story)


@pytest.mark.slow
def test_what_cannot_be_stored_is_refused_by_name() -> None:
    async def story(world: World) -> None:
        for method, path, body, code in (
            ("PUT", "/auth/v1/users/ANONYMOUS", {"password": "long enough"}, 42250),
            ("PUT", "/auth/v1/users/a%3Ab", {"password": "long enough"}, 42250),
            ("PUT", "/auth/v1/users/new", {"disabled": False}, 42250),
            ("PUT", "/auth/v1/users/new", {"password": "cfr_x"}, 42250),
            ("PUT", "/auth/v1/users/new", {"password": "x", "rights": "all"}, 400),
            ("POST", "/auth/v1/bindings", {"to": "bob", "allow": "reader", "on": "a"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "pilot", "on": "a"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": [], "on": "a"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "reader", "on": "context:a"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "on": "a"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "reader", "on": "a\u0000"}, 42250),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "reader", "on": "\ud800"}, 400),
            ("POST", "/auth/v1/bindings", {"to": "User:\ud800", "allow": "reader", "on": "a"}, 400),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "\ud800", "on": "a"}, 400),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": ["READ"] * 1001, "on": "a"}, 400),
            ("POST", "/auth/v1/bindings", {"to": "User:bob", "allow": "reader", "on": "a" * 2001}, 400),
            ("PUT", "/auth/v1/services/ci", {"description": "\ud800"}, 400),
            ("PUT", "/auth/v1/services/ci", {"description": "a\u0000b"}, 42250),
            ("PUT", "/auth/v1/services/%FF", {}, 400),
            ("PUT", "/auth/v1/services/%00", {}, 400),
            ("PUT", "/auth/v1/roles/mine", {"operations": ["FLY"]}, 42250),
            ("PUT", "/auth/v1/users/new", {"password": "\ud800"}, 400),
            ("PUT", "/auth/v1/users/" + "n" * 257, {"password": "long enough"}, 42250),
            ("POST", "/auth/v1/tokens", {"name": "x", "days": 10**400}, 400),
            ("POST", "/auth/v1/tokens", {"name": "\ud800"}, 400),
            ("POST", "/auth/v1/can", {"request": "GET /subjects/%FF/versions"}, 400),
            ("POST", "/auth/v1/can", {"request": "GET /subjects/%zz/versions/\ud800"}, 400),
            ("POST", "/auth/v1/can", {"principal": "User:\ud800", "operation": "READ", "resource": "a"}, 400),
            ("POST", "/auth/v1/tokens", {"name": "x", "owner": "User:nobody"}, 42250),
            ("POST", "/auth/v1/tokens", {"name": "x", "scopes": [{"on": "a"}]}, 42250),
            ("DELETE", "/auth/v1/tokens/none", None, 40450),
            ("DELETE", "/auth/v1/users/none", None, 40450),
        ):
            reply = await world.ask(method, path, ROOT, body)
            assert (reply.code or reply.status) == code, (method, path, body, reply.text)
        for revision in ("9" * 5000, "\u00b2", "-1", "x"):
            reply = await world.ask("DELETE", "/auth/v1/bindings/admin-root", ROOT, If_Match=revision)
            assert reply.code == 400, (revision, reply.text)

    in_world(story)


def test_a_token_sees_itself_alone() -> None:
    async def story(world: World) -> None:
        await world.add(BOB, {"allow": "developer", "on": "pay.*"})
        one, other = [await world.done("POST", "/auth/v1/tokens", BOB, {"name": name}) for name in ("one", "other")]
        assert [each["id"] for each in await world.done("GET", "/auth/v1/tokens", one["token"])] == [one["id"]]
        assert {each["id"] for each in await world.done("GET", "/auth/v1/tokens", BOB)} == {one["id"], other["id"]}
        for who, place in ((one["token"], one["id"]), (one["token"], other["id"]), (BOB, "none")):
            assert (await world.ask("DELETE", f"/auth/v1/tokens/{place}", who)).code == 40301

    in_world(story)


def test_without_authentication_there_is_nothing_to_change() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        found = (await registry.get("/auth/v1/whoami")).json
        assert (found["principal"], found["method"]) == ("User:ANONYMOUS", "none")
        assert (await registry.get("/auth/v1/users")).code == 40450
        assert (await registry.put("/auth/v1/users/a", {"password": "long enough"})).code == 40450

    asyncio.run(story())
