"""What contracts, verdicts, usage and migrations show, and to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.access.resources import AccessOperation
from strategies.access.visible import ADMIN, ALICE, play, reader, registered
from strategies.contracts.stories import LINK, expectation, promise, schema
from strategies.languages.marked_schemas import enum

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry, Reply


def test_the_text_of_another_teams_contract_is_not_told_to_who_publishes_the_same_name() -> None:
    base = "/contracts/v1"

    async def publish(registry: InProcessRegistry, caller: str, application: str, unit: str) -> Reply:
        contract = {"content": promise(unit=unit), "schemas": {LINK: {"schema": enum("Mark0")}}}
        body = {"application": application, "version": "1", "contracts": [contract]}
        return await registry.send("POST", f"{base}/publish", caller, body)

    async def story(registry: InProcessRegistry) -> None:
        assert (await publish(registry, ADMIN, "theirs", "USD.cent")).status == 200
        reply = await publish(registry, ALICE, "mine", "EUR.cent")
        assert (reply.status, "USD.cent" in reply.text) == (409, False)
        assert "USD.cent" in (await publish(registry, ADMIN, "mine", "EUR.cent")).text
        assert (await registry.send("GET", f"{base}/contracts/orders/versions/2.1.0", ALICE)).status == 403
        assert (await registry.send("GET", f"{base}/contracts", ALICE)).json == []

    play(story, reader("application:mine", AccessOperation.WRITE), reader("orders*", AccessOperation.WRITE))


def test_reasons_that_the_caller_may_not_read_are_counted() -> None:
    base = "/contracts/v1"

    async def story(registry: InProcessRegistry) -> None:
        promised = {"content": promise(), "schemas": {LINK: {"schema": schema()}}}
        for application, contract in (("shop", promised), ("billing", {"content": expectation("total")})):
            body = {"application": application, "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{base}/publish", ADMIN, body)).status == 200
        check = {"subject": "orders-value", "schema": {"schema": schema(total=None)}}
        whole = (await registry.send("POST", f"{base}/check", ADMIN, check)).json
        assert (whole["deployable"], whole["reasons"][0]["consumer"]) == (False, "billing")
        reply = await registry.send("POST", f"{base}/check", ALICE, check)
        assert (reply.json["deployable"], reply.json["reasons"], "billing" in reply.text) == (False, [], False)
        assert reply.json["notices"][0].endswith("more are about what User:alice may not read")
        assert (await registry.send("GET", f"{base}/subjects/orders-value/consumers", ALICE)).json == []

    play(story, reader("orders-value"))


BASE = "/contracts/v1"


async def two_contracts(registry: InProcessRegistry) -> None:
    """Publish a contract of another team, and let the caller's application read it before it exists."""
    content, schemas = promise(subject="secret"), {LINK: {"schema": schema()}}
    publications = (
        (ALICE, "mine", {"content": expectation("total")}),
        (ADMIN, "theirs", {"content": content, "schemas": schemas}),
    )
    for caller, application, contract in publications:
        body = {"application": application, "version": "1", "contracts": [contract]}
        reply = await registry.send("POST", f"{BASE}/publish", caller, body)
        assert reply.status == 200, reply.text


@pytest.mark.parametrize("readable", [False, True])
def test_no_verdict_shows_the_fields_of_what_the_caller_may_not_read(*, readable: bool) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        for name, fits in (("total", True), ("no_such_field", False)):
            body: dict[str, Any] = {"application": "mine", "contract": {"content": expectation(name)}}
            reply = await registry.send("POST", f"{BASE}/check", ALICE, body)
            if readable:
                assert (reply.status, reply.json["deployable"]) == (200, fits), reply.text
            else:
                assert (reply.code, "secret" in reply.text) == (40301, False), reply.text
        body = {"application": "mine", "version": "2", "contracts": [{"content": expectation("total")}]}
        published = await registry.send("POST", f"{BASE}/publish", ALICE, body)
        assert published.status == (200 if readable else 403)

    play(story, reader("application:mine", AccessOperation.WRITE), *([reader("secret")] if readable else []))


@pytest.mark.parametrize("readable", [False, True])
def test_to_read_a_contract_gives_no_right_to_it(*, readable: bool) -> None:
    """Anybody could publish that an application reads a contract of others."""

    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        await registry.send("PUT", f"{BASE}/environments/live", ADMIN, {})
        results = [{"check": "decode", "outcome": "passed", "records": 1}]
        verified = {"contract": "orders", "contractVersion": "2.1.0", "environment": "live", "results": results}
        allowed = 200 if readable else 403
        made = await registry.send("POST", f"{BASE}/verifications", ADMIN, verified)
        one = f"{BASE}/verifications/{made.json['id']}"
        for method, path, body in (
            ("GET", f"{BASE}/contracts/orders", None),
            ("GET", one, None),
            ("POST", f"{BASE}/verifications", verified),
        ):
            assert (await registry.send(method, path, ALICE, body)).status == allowed, path
        for path in (f"{BASE}/contracts", f"{BASE}/verifications"):
            assert bool((await registry.send("GET", path, ALICE)).json) == readable, path
        badge = f"{BASE}/badges/orders.svg?environment=live"
        assert (await registry.send("GET", badge, ALICE)).status == 403

    own = (reader("application:mine", AccessOperation.WRITE), reader("environment:live"))
    play(story, *own, *([reader("secret")] if readable else []))


def test_an_application_is_seen_to_read_only_what_its_reporter_may_read() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "mine", "secret")
        same = {"schema": enum("Mark0")}
        made = [
            (await registry.send("POST", f"/subjects/{name}/versions", ADMIN, same)).json for name in ("mine", "secret")
        ]
        alone = await registry.send("POST", "/subjects/secret2/versions", ADMIN, {"schema": enum("Mark9")})
        for read, stored in (
            ({"schemaId": made[0]["id"]}, 1),
            ({"schemaId": alone.json["id"]}, 0),
            ({"schemaId": 99}, 0),
        ):
            batch = {"application": "mine", "reads": [{**read, "messages": 1}]}
            reply = await registry.send("POST", f"{BASE}/usage", ALICE, batch)
            assert (reply.status, reply.json["stored"]) == (200, stored), reply.text
            if not stored:
                assert reply.json["notices"] == [f"the registry has no schema id {read['schemaId']}"]
        batch = {"application": "mine", "reads": [{"subject": "secret", "messages": 1}]}
        assert (await registry.send("POST", f"{BASE}/usage", ALICE, batch)).code == 40301
        uses = (await registry.send("GET", f"{BASE}/usage", ADMIN)).json
        assert [each["subject"] for each in uses] == ["mine"]

    play(story, reader("application:mine", AccessOperation.WRITE), reader("mine"))


@pytest.mark.parametrize("known", [False, True])
def test_a_refused_registration_names_the_consumers_that_its_sender_may_know(*, known: bool) -> None:
    subject = "orders-value"

    async def story(registry: InProcessRegistry) -> None:
        async def texts() -> tuple[str, str]:
            body = {"schema": schema(total=None)}
            refused = await registry.send("POST", f"/subjects/{subject}/versions", ALICE, body)
            path = f"/compatibility/subjects/{subject}/versions?verbose=true"
            tested = await registry.send("POST", path, ALICE, body)
            assert (refused.code, tested.json["is_compatible"]) == (40901, False), refused.text
            return refused.text, tested.text

        await registry.send("POST", f"/subjects/{subject}/versions", ADMIN, {"schema": schema()})
        policy = {"compatibilityPolicy": "CONSUMERS", "compatibility": "FULL"}
        await registry.send("PUT", f"/config/{subject}", ADMIN, policy)
        promised = {"content": promise(), "schemas": {LINK: {"schema": schema()}}}
        for application, contract in (("shop", promised), ("billing", {"content": expectation("total")})):
            body = {"application": application, "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
        for text in await texts():
            assert ("billing" in text) == known, text
            assert ("1 more are about applications that the caller may not know" in text) != known, text
            assert "the level decides" not in text
        batch = {"application": "unseen", "origin": "group", "reads": [{"subject": subject, "messages": 1}]}
        assert (await registry.send("POST", f"{BASE}/usage", ADMIN, batch)).json["stored"] == 1
        refused, _ = await texts()
        assert ("nothing is known of what unseen reads" in refused) == known, refused
        assert ("nothing is known of what 1 consumer reads" in refused) != known, refused

    applications = ("shop", "billing", "unseen")
    knows = [reader(f"application:{name}", AccessOperation.DESCRIBE) for name in applications] if known else []
    play(story, reader(subject, AccessOperation.WRITE), *knows)


def test_statistics_of_a_topic_name_no_subject_that_the_caller_may_not_know() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "t-value", "secret")
        path = f"{BASE}/topics/t/stats"
        ids = [
            (await registry.send("GET", f"/subjects/{name}/versions/1", ADMIN)).json["id"]
            for name in ("t-value", "secret")
        ]
        stats = {"records": 2, "schemas": [{"schemaId": each, "count": 1} for each in ids]}
        for reply in (
            await registry.send("POST", path, ALICE, stats),
            await registry.send("GET", path, ALICE),
            await registry.send("GET", f"{BASE}/topics", ALICE),
        ):
            [found] = reply.json if isinstance(reply.json, list) else [reply.json]
            assert [(each["schemaId"], each.get("subject")) for each in found["schemas"]] == [
                (ids[0], "t-value"),
                (ids[1], None),
            ]
        whole = (await registry.send("GET", path, ADMIN)).json["schemas"]
        assert [each["subject"] for each in whole] == ["t-value", "secret"]

    play(story, reader("t-value", AccessOperation.WRITE))


def test_a_team_manages_the_migrations_of_its_contracts_and_sees_no_others() -> None:
    path = f"{BASE}/migrations"

    async def story(registry: InProcessRegistry) -> None:
        for name in ("mine", "secret"):
            contract = {"content": promise(contract=name, subject=name), "schemas": {LINK: {"schema": schema()}}}
            body = {"application": f"{name}-app", "version": "1", "contracts": [contract]}
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
            body = {"application": f"{name}-reader", "version": "1", "contracts": []}
            reads = expectation("total", contract="mine", name=f"{name}-reader", major="1")
            body["contracts"] = [{"content": reads}]
            assert (await registry.send("POST", f"{BASE}/publish", ADMIN, body)).status == 200
            await registry.send("PUT", f"{BASE}/environments/{name}-live", ADMIN, {})
            deployed = {"application": f"{name}-reader", "version": "1"}
            await registry.send("POST", f"{BASE}/environments/{name}-live/deployments", ADMIN, deployed)
            migration = {"contract": name, "from": "1", "to": "2", "bridge": "b", "application": "mine-app"}
            made = await registry.send("PUT", f"{path}/of-{name}", ALICE, migration)
            assert made.status == (200 if name == "mine" else 403), made.text
            await registry.send("PUT", f"{path}/of-{name}", ADMIN, migration)
        assert [each["id"] for each in (await registry.send("GET", path, ALICE)).json] == ["of-mine"]
        for more in ("", "/status"):
            assert (await registry.send("GET", f"{path}/of-mine{more}", ALICE)).status == 200
            denied = await registry.send("GET", f"{path}/of-secret{more}", ALICE)
            assert (denied.code, "secret-app" in denied.text) == (40301, False)
        taken = {"contract": "mine", "from": "1", "to": "2", "bridge": "b", "application": "mine-app"}
        reply = await registry.send("PUT", f"{path}/of-secret", ALICE, taken)
        assert (reply.code, "contract 'secret'" in reply.text) == (42260, False), reply.text
        status = (await registry.send("GET", f"{path}/of-mine/status", ALICE)).json
        assert [each["application"] for each in status["consumers"]] == ["mine-reader"]
        assert status["hindrances"] == ["User:alice may not read the bridge, so that it is not shown what is missing"]
        whole = (await registry.send("GET", f"{path}/of-mine/status", ADMIN)).json
        assert [each["application"] for each in whole["consumers"]] == ["mine-reader", "secret-reader"]

    play(
        story,
        reader("mine", AccessOperation.READ),
        reader("mine", AccessOperation.ALTER_CONFIGS),
        reader("application:mine*"),
    )


def test_a_resource_of_others_does_not_show_its_subject() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry, "secret", "mine")
        resource = {"resourceName": "r", "resourceNamespace": "x", "resourceId": "r", "resourceType": "topic"}
        association = {"associationType": "value", "lifecycle": "WEAK"}
        given = {**resource, "associations": [{**association, "subject": "secret"}]}
        assert (await registry.send("POST", "/associations", ADMIN, given)).status < 300
        own = {**association, "subject": "mine"}
        for method, path, body in (
            ("POST", "/associations", {**resource, "associations": [own]}),
            ("PUT", "/associations/resources/r", {"associations": [own]}),
            ("DELETE", "/associations/resources/r", None),
            (
                "POST",
                "/associations:batchMutate",
                {"requests": [{**resource, "associations": [{**own, "opType": "CREATE"}]}]},
            ),
        ):
            reply = await registry.send(method, path, ALICE, body)
            assert ("40301" in reply.text, "secret" in reply.text) == (True, False), (method, path, reply.text)
        named = await registry.send("POST", "/associations", ALICE, given)
        assert "on Subject: secret" in named.text

    play(story, reader("mine", AccessOperation.ALTER_CONFIGS))


def test_what_is_found_by_an_id_is_not_named_to_who_may_not_know_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await two_contracts(registry)
        live = f"{BASE}/environments/live"
        await registry.send("PUT", live, ADMIN, {})
        deployed = await registry.send("POST", f"{live}/deployments", ADMIN, {"application": "theirs", "version": "1"})
        one, version = f"{live}/deployments/{deployed.json['id']}", f"{BASE}/contracts/orders/versions/2.1.0"
        for method, path in (("GET", one), ("DELETE", one), ("GET", version), ("GET", f"{version}/diff?from=2.1.0")):
            reply = await registry.send(method, path, ALICE)
            assert (reply.code, "theirs" in reply.text) == (40301, False), (path, reply.text)

    play(story, reader("application:mine", AccessOperation.WRITE), reader("environment:live", AccessOperation.WRITE))
