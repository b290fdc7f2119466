"""Whatever is sent, the registry answers for the sender's mistake, and never with a 5xx."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.registry.driver import MEDIA_TYPE, InProcessRegistry, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BODY_PATHS = [
    ("POST", "/subjects/s/versions"),
    ("POST", "/subjects/s"),
    ("POST", "/compatibility/subjects/s/versions"),
    ("POST", "/compatibility/subjects/s/versions/latest"),
    ("PUT", "/config/s"),
    ("PUT", "/mode/s"),
    ("POST", "/"),
]
DEEP = 10_000


def run(story: Callable[[InProcessRegistry], Awaitable[None]], **options: Any) -> None:
    asyncio.run(story(InProcessRegistry(**options)))


def well_formed(reply: Reply) -> bool:
    """Whether an error has the API's body, and no 5xx."""
    if reply.status == 200:
        return True
    return 400 <= reply.status < 500 and reply.json.keys() == {"error_code", "message"} and bool(reply.json["message"])


@pytest.mark.parametrize(("method", "path"), BODY_PATHS)
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"5",
        b'"x"',
        b"{'schema': 1}",
        b"\xff\xfe\x00",
        b'{"schema":"\xff"}',
        b'{"schema":"\\ud800","compatibility":"\\ud800","mode":"\\ud800","metadata":{"properties":{"\\udfff":"x"}}}',
        b'{"schema":"\\u0000","compatibility":"\\u0000","mode":"\\u0000","alias":"\\u0000"}',
        b"[" * DEEP + b"]" * DEEP,
        b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        b'{"schema":"\\"int\\"","id":' + b"9" * 5000 + b"}",
        b'{"schema":"\\"int\\"","id":1e999,"version":-1e999}',
        b'{"schema":"\\"int\\"","id":NaN,"version":Infinity}',
        b'{"schema":"\\"int\\"","version":99999999999}',
        b'{"schema":"\\"int\\"","references":[{"name":1,"subject":2,"version":"x"}]}',
        b'{"schema":"\\"int\\"","references":[{}]}',
        b'{"schema":"\\"int\\"","references":[null]}',
        b'{"schema":"\\"int\\"","metadata":{"properties":{"a":null,"b":[1]}}}',
        b'{"schema":"\\"int\\"","ruleSet":{"domainRules":[null]}}',
        b'{"schema":"\\"int\\"","ruleSet":{"domainRules":[{"kind":"x"}]}}',
        b'{"schema":"\\"int\\"","schemaType":"' + b"x" * 100_000 + b'"}',
        b'{"compatibility":{},"mode":{},"schema":{}}',
        b'{"normalize":"maybe","mode":true,"schema":true}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_malformed_bodies_are_the_senders_mistake(method: str, path: str, body: bytes) -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.ask(method, path, body, {"Content-Type": MEDIA_TYPE})
        assert well_formed(reply), reply

    run(story)


def deep_schema(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"int"' + "}" * depth


@pytest.mark.parametrize(
    "schema",
    [
        deep_schema(DEEP),
        deep_schema(300),
        "[" * DEEP,
        '{"type":"record","name":"R","fields":[{"name":"f","type":"int","default":' + "9" * 5000 + "}]}",
        '{"type":"record","name":"R","fields":[{"name":"f","type":"int","p":1e999999}]}',
        '{"type":"fixed","name":"F","size":' + "9" * 400 + "}",
        '{"type":"fixed","name":"F","size":-1}',
        '{"type":"enum","name":"E","symbols":[]}',
        '{"type":"enum","name":"E","symbols":["A","A"]}',
        '{"type":"record","name":"R","fields":{}}',
        '{"type":"record","fields":[]}',
        '{"type":{"type":{"type":"int"}}}',
        '["int","int"]',
        '"Missing"',
        '{"type":"record","name":"\\u0000","fields":[]}',
        '{"type":"record","name":"R","doc":"\\ud800","fields":[]}',
        "null",
        "5",
        "int",
        '\ufeff"int"',
        '/* comment */ "int"',
        "\u0000",
    ],
    ids=lambda text: repr(text[:24]),
)
@pytest.mark.parametrize("normalize", ["false", "true"])
def test_odd_schemas_are_taken_or_refused(schema: str, normalize: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register("s", '{"type":"record","name":"R","fields":[]}')
        for path in (
            "/subjects/s/versions",
            "/subjects/s",
            "/compatibility/subjects/s/versions",
            "/subjects/t/versions",
        ):
            reply = await registry.post(f"{path}?normalize={normalize}&verbose=true", {"schema": schema})
            assert well_formed(reply), (path, reply)

    run(story)


@pytest.mark.parametrize(
    "path",
    [
        "/subjects/%00/versions",
        "/subjects/%ff/versions",
        "/subjects/%0A/versions",
        "/subjects/%7F/versions",
        "/subjects/%zz/versions",
        "/subjects/%/versions",
        "/subjects//versions",
        "/subjects/" + "x" * 50_000 + "/versions",
        "/contexts/%ff/subjects",
        "/contexts/a:b/subjects",
        "/contexts//subjects",
        "/schemas/ids/99999999999999999999",
        "/schemas/ids/-1",
        "/schemas/ids/1e3",
        "/schemas/ids/%D9%A3",
        "/schemas/guids/%F0%9F%92%A5",
        "/schemas/ids/1?subject=%ff",
        "/subjects?subjectPrefix=%00&offset=5&limit=7",
        "/subjects?offset=99999999999",
        "/subjects?limit=%C2%B2",
        "/schemas?lifecycle=FOO",
        "/subjects/s/versions/%D9%A3",
        "/subjects/s/metadata?key=%00&key=b&value=",
        "/../../etc/passwd",
        "//",
    ],
)
def test_odd_paths_are_the_senders_mistake(path: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        for method in ("GET", "HEAD", "DELETE", "POST", "PUT", "PATCH", "OPTIONS"):
            reply = await registry.ask(method, path, b'{"schema":"\\"int\\""}')
            assert reply.status < 500, (method, reply)
            is_bodiless = method == "HEAD" or (method == "OPTIONS" and reply.status == 204)
            assert is_bodiless or well_formed(reply), (method, reply)

    run(story)


def test_a_body_of_five_megabytes_is_taken_and_one_above_the_limit_is_refused() -> None:
    async def story(registry: InProcessRegistry) -> None:
        fields = ",".join(f'{{"name":"f{number}","type":"string","doc":"{"x" * 1000}"}}' for number in range(4800))
        schema = f'{{"type":"record","name":"R","fields":[{fields}]}}'
        assert 4_900_000 < len(schema) < 5_300_000
        reply = await registry.register("s", schema)
        assert reply.json["version"] == 1
        assert len((await registry.get("/subjects/s/versions/1/schema")).text) > 4_900_000
        body = json.dumps({"schema": "x" * 11_000_000}).encode()
        for headers in ({"Content-Length": str(len(body))}, {}):
            refused = await registry.ask("POST", "/subjects/s/versions", body, headers)
            assert (refused.status, refused.code) == (413, 413)

    run(story)


def test_the_limit_can_be_set() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.register("s", '"int"')).status == 200
        assert (await registry.register("s", '"int"' + " " * 200)).status == 413

    run(story, max_body_bytes=200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json;q=0"}, 406),
        ({"Accept": "*/*"}, 200),
        ({"Accept": "application/*;q=0.1"}, 200),
        ({"Accept": "text/html, application/json"}, 200),
        ({"Accept": "*"}, 200),
        ({"Accept": ";;;,,,"}, 406),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Content-Type": "APPLICATION/JSON"}, 200),
        ({}, 200),
    ],
)
def test_media_types_are_negotiated(headers: dict[str, str], status: int) -> None:
    async def story(registry: InProcessRegistry) -> None:
        reply = await registry.ask("POST", "/subjects/s/versions", b'{"schema":"\\"int\\""}', headers)
        assert reply.status == status
        assert well_formed(reply)

    run(story)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["schema", "schemaType", "references", "metadata", "ruleSet", "id", "version", "mode", "compatibility", "alias",
     "normalize", "defaultMetadata", "overrideRuleSet", "compatibilityPolicy", "propagateSchemaTags"]
)  # fmt: skip


@pytest.fixture(scope="module")
def registry() -> InProcessRegistry:
    """One registry for all examples: what the earlier ones stored is as good a state as any."""
    return InProcessRegistry()


@given(where=st.sampled_from(BODY_PATHS), body=st.dictionaries(names, json_values, max_size=4))
def test_any_json_is_answered(registry: InProcessRegistry, where: tuple[str, str], body: dict[str, Any]) -> None:
    method, path = where
    reply = asyncio.run(registry.ask(method, path, json.dumps(body).encode(), {}))
    assert well_formed(reply), reply
