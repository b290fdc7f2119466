"""Refused registrations, on every store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from strategies.registry.driver import MEDIA_TYPE

if TYPE_CHECKING:
    from strategies.registry.driver import InProcessRegistry, Reply

INT, LONG, STRING = '"int"', '"long"', '"string"'


async def send(registry: InProcessRegistry, subject: str, text: str, request_id: str, **fields: Any) -> Reply:
    headers = {"Content-Type": MEDIA_TYPE, "X-Request-Id": request_id}
    body = json.dumps({"schema": text, **fields}).encode()
    return await registry.ask("POST", f"/subjects/{subject}/versions", body, headers)


def test_a_refusal_is_found_by_its_request_and_counted(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", INT)
        for number in range(3):
            assert (await send(registry, "a", STRING, f"first{number}")).status == 409
        assert (await send(registry, "a", "{", "second")).status == 422
        assert (await send(registry, "a", LONG, "accepted")).status == 200
        rows = (await registry.get("/inspect/v1/refusals")).json["refusals"]
        assert [(each["requestId"], each["errorCode"], each["count"]) for each in rows] == [
            ("second", 42201, 1),
            ("first2", 40901, 3),
        ]
        assert rows[1]["first"] <= rows[1]["last"]
        for number in range(3):
            found = (await registry.get(f"/inspect/v1/refusals/first{number}")).json
            assert (found["schema"], found["seq"], found["refusal"]["count"]) == (STRING, 1, 3)
            assert found["refusal"]["requestId"] == f"first{number}"
            assert "TYPE_MISMATCH" in found["messages"][0]
        for request_id in ("accepted", "none"):
            assert (await registry.get(f"/inspect/v1/refusals/{request_id}")).status == 404
        assert (await registry.get("/inspect/v1/subjects/a")).json["refusals"] == 2

    tell(story)


def test_refusals_of_one_subject_are_paged(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for subject in ("a", "b"):
            await registry.register(subject, INT)
            for number in range(5):
                text = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}"]})
                assert (await send(registry, subject, text, f"{subject}{number}")).status == 409
        await registry.put("/config/alias", {"alias": "b"})
        found, after = [], ""
        while True:
            page = (await registry.get(f"/inspect/v1/refusals?subject=b&limit=2&after={after}")).json
            found += [each["requestId"] for each in page["refusals"]]
            after = page.get("next", "")
            if not after:
                break
        assert found == ["b4", "b3", "b2", "b1", "b0"]
        assert len((await registry.get("/inspect/v1/refusals?subject=alias")).json["refusals"]) == 5
        assert (await registry.get("/inspect/v1/refusals?subject=c")).json == {"refusals": []}
        assert (await registry.get("/inspect/v1/refusals?after=x")).status == 400

    tell(story)


def test_a_large_text_is_kept_in_part(tell: Any) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("a", INT)
        text = json.dumps({"type": "record", "name": "R", "doc": "d" * 300_000, "fields": []})
        assert (await send(registry, "a", text, "large")).status == 409
        kept = (await registry.get("/inspect/v1/refusals/large")).json["schema"]
        assert kept.startswith(text[:4000])
        assert f"{len(text)} bytes in all, SHA-256" in kept
        assert len(kept) < 5000

    tell(story)
