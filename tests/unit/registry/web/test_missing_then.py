"""Pages of an earlier moment name what is not known of it, and claim nothing about that."""

from __future__ import annotations

import asyncio
import json

import pytest

from strategies.registry.driver import InProcessRegistry

READERS, REFERRERS = "readers", "versions that refer to it"
SUBJECT = ("aliases", "topics", "contracts, bridges and keys", "the owner", READERS, REFERRERS, "refusals")
NAMED = {
    "/ui/subjects": (),
    "/ui/subjects/a": SUBJECT,
    "/ui/subjects/a?tab=readers": SUBJECT,
    "/ui/subjects/a?tab=references": SUBJECT,
    "/ui/subjects/a?tab=changes": SUBJECT,
    "/ui/subjects/a?tab=refusals": SUBJECT,
    "/ui/subjects/a/versions/1": ("other versions with the same schema", REFERRERS),
    "/ui/subjects/a/versions/1?view=source": ("other versions with the same schema", REFERRERS),
    "/ui/subjects/a/versions/1?view=raw": ("other versions with the same schema", REFERRERS),
    "/ui/subjects/a/elements?path=x": (READERS, "the owner", "the same name elsewhere"),
    "/ui/subjects/a/versions/1/references?direction=both": (REFERRERS,),
    "/ui/compare?from=a@1&to=a@2": (READERS,),
    "/ui/compare?from=a@1&to=a@2&view=inline": (READERS,),
    "/ui/try?subject=a": (READERS,),
}
CLAIMS = ("No contract", "In no other subject", "No refused registration", "<h3>What refers to it")


def record(*names: str) -> str:
    fields = [{"name": name, "type": "string", "default": ""} for name in names]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


@pytest.mark.parametrize("path", NAMED)
def test_what_is_not_known_is_named(path: str) -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        for text in (record("x"), record("x", "y"), record("x", "y", "z")):
            assert (await registry.register("a", text)).status == 200
        earlier, now = [await registry.get(f"{path}{'&' if '?' in path else '?'}{more}") for more in ("as_of=2", "")]
        assert (earlier.status, now.status) == (200, 200), earlier.text
        named = f"Not known for an earlier moment: {', '.join(NAMED[path])}." if NAMED[path] else ""
        assert named in earlier.text
        assert ("Not known for an earlier moment:" in earlier.text) == bool(named)
        assert "Not known" not in now.text
        assert [each for each in CLAIMS if each in earlier.text] == []
        assert "<span>Index" not in earlier.text
        assert "Index: off" in now.text

    asyncio.run(story())


def test_what_refers_to_a_version_is_refused_for_an_earlier_moment() -> None:
    async def story() -> None:
        registry = InProcessRegistry()
        await registry.register("a", record("x"))
        reply = await registry.get("/ui/subjects/a/versions/1/references?direction=in&as_of=1")
        assert (reply.status, reply.code) == (400, 400)
        assert "What referred to version 1" in reply.text

    asyncio.run(story())
