"""With ``denied_reads`` 404 what a caller may not read is answered, byte for byte, as what is absent."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from strategies.access.callers import access
from strategies.registry.driver import InProcessRegistry, Reply

NAMED = (
    ("GET", "/subjects/{}/versions", None),
    ("GET", "/subjects/{}/versions/1", None),
    ("GET", "/subjects/{}/versions/latest/schema", None),
    ("GET", "/subjects/{}/versions/1/referencedby", None),
    ("GET", "/subjects/{}/metadata?key=a&value=b", None),
    ("POST", "/subjects/{}", {"schema": '"string"'}),
    ("GET", "/dek-registry/v1/keks/{}", None),
    ("GET", "/dek-registry/v1/keks/{}/deks/{}", None),
    ("GET", "/schemas/ids/{}", None),
    ("GET", "/schemas/ids/{}/schema", None),
    ("GET", "/schemas/ids/{}/versions", None),
    ("GET", "/schemas/guids/{}", None),
    ("GET", "/schemas/guids/{}/ids", None),
    ("GET", "/ui/subjects/{}", None),
    ("GET", "/ui/subjects/{}?tab=changes", None),
    ("GET", "/ui/subjects/{}?tab=refusals&as_of=1", None),
    ("GET", "/ui/subjects/{}/versions/1", None),
    ("GET", "/ui/subjects/{}/versions/latest?view=raw", None),
    ("GET", "/ui/subjects/{}/versions/1/references", None),
    ("GET", "/ui/subjects/{}/elements?path=x", None),
    ("GET", "/ui/subject?name={}&version=1", None),
    ("GET", "/ui/compare?from={}@1&to={}@latest", None),
    ("GET", "/ui/compare?from={}@1&to={}@latest&as_of=1", None),
    ("POST", "/ui/try", {"subject": "{}", "schema": '"int"'}),
    ("POST", "/ui/try?as_of=1", {"subject": "{}", "schema": '"int"'}),
    ("POST", "/ui/try", {"subject": "{}", "schema": "no schema"}),
    ("POST", "/ui/decode", {"text": "00", "subject": "{}"}),
    ("POST", "/ui/decode", {"text": "00", "reader": "{}@1"}),
    ("GET", "/ui/ids/{}", None),
    ("GET", "/ui/guids/{}", None),
)
HIDDEN_ANYWAY = ("/ui/ids/", "/ui/guids/")
"""Pages of what may not be known, which are as if it were absent whatever the setting is."""


def _with_name(body: Any, name: str) -> Any:
    return body and {key: value.replace("{}", name) if isinstance(value, str) else value for key, value in body.items()}


def _plain(reply: Reply, there: str, absent: str) -> str:
    """Return a response without the names in the requests, packed ones too, and without those of the callers."""
    text = re.sub(r"draft=[\w-]+", "draft", reply.text.replace(there, "*").replace(absent, "*"))
    return re.sub("User:(reader|admin)", "User", text)


async def seeded(**settings: Any) -> tuple[InProcessRegistry, dict[str, str]]:
    registry = InProcessRegistry(access=access(), **settings)
    made = (await registry.send("POST", "/subjects/foreign/versions", "admin", {"schema": '"string"'})).json
    await registry.send(
        "POST", "/dek-registry/v1/keks", "admin", {"name": "foreign", "kmsType": "test", "kmsKeyId": "k"}
    )
    await registry.send("PUT", "/config/own.alias", "admin", {"alias": "foreign"})
    return registry, {"ids": str(made["id"]), "guids": made["guid"]}


@pytest.mark.parametrize(("method", "path", "body"), NAMED)
def test_what_is_denied_is_as_if_absent(method: str, path: str, body: Any) -> None:
    async def story() -> None:
        registry, keys = await seeded(denied_reads="404")
        kind = path.removeprefix("/ui").split("/")[2 if not path.startswith("/ui") else 1]
        there = keys.get(kind, "foreign")
        absent = {"ids": "9", "guids": "0" * 8 + there[8:] if kind == "guids" else ""}.get(kind, "elsewhere")
        named = {"X_Request_Id": "one"}
        denied = await registry.send(method, path.replace("{}", there), "reader", _with_name(body, there), **named)
        missing = await registry.send(method, path.replace("{}", absent), "admin", _with_name(body, absent), **named)
        assert denied.status == missing.status
        assert _plain(denied, there, absent) == _plain(missing, there, absent)
        assert (await registry.send(method, path.replace("{}", there), "admin", _with_name(body, there))).status != 422
        usual, _ = await seeded()
        code = (await usual.send(method, path.replace("{}", there), "reader", _with_name(body, there))).code
        assert code == (40403 if path.startswith(HIDDEN_ANYWAY) else 40301)

    asyncio.run(story())


def test_an_alias_does_not_show_that_its_target_exists() -> None:
    async def story() -> None:
        registry, _ = await seeded(denied_reads="404")
        found = [await registry.send("GET", f"/subjects/own.{name}/versions", "reader") for name in ("alias", "none")]
        assert [each.code for each in found] == [40401, 40401]
        assert found[0].text == found[1].text.replace("own.none", "own.alias")

    asyncio.run(story())


def test_denied_writes_and_the_registry_stay_403() -> None:
    async def story() -> None:
        registry, _ = await seeded(denied_reads="404")
        for method, path, body in (
            ("POST", "/subjects/foreign/versions", {"schema": '"int"'}),
            ("DELETE", "/subjects/foreign", None),
            ("GET", "/config/foreign", None),
            ("GET", "/metrics", None),
            (
                "POST",
                "/subjects/own.s",
                {"schema": '"a"', "references": [{"name": "a", "subject": "foreign", "version": 1}]},
            ),
        ):
            assert (await registry.send(method, path, "reader", body)).code == 40301, path

    asyncio.run(story())
