from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.http.answers import V1, check_consumed, negotiate
from counterfoil.registry.http.request import decode_segment, parse_integer, parse_json, read_body, rewrite
from counterfoil.registry.store.committing import MAX_BATCH, Committer
from counterfoil.schema.caches import RecentValues
from counterfoil.schema.errors import (
    BadRequest,
    CounterfoilError,
    MissingBody,
    NotAcceptable,
    NotFound,
    RequestTooLarge,
    StoreUnavailable,
    UnsupportedMediaType,
)
from strategies.registry.driver import InProcessRegistry


@pytest.mark.parametrize(
    ("path", "query", "rewritten"),
    [
        ("/contexts/c/subjects/foo", "", ("/subjects/:.c:foo", "")),
        ("/contexts/.c/subjects/foo/versions/1", "a=b", ("/subjects/:.c:foo/versions/1", "a=b")),
        ("/contexts/:.c:/subjects/:.d:foo", "", ("/subjects/:.d:foo", "")),
        ("/contexts/c/subjects/%3A.d%3Afoo", "", ("/subjects/%3A.d%3Afoo", "")),
        ("/contexts/c/subjects/a%2Fb", "", ("/subjects/:.c:a%2Fb", "")),
        ("/contexts/c/subjects", "", ("/subjects", "subjectPrefix=%3A.c%3A")),
        ("/contexts/c/subjects", "subjectPrefix=%3A%2A%3Ax", ("/subjects", "subjectPrefix=%3A%2A%3Ax")),
        ("/contexts/c/schemas", "subjectPrefix=a&b=", ("/schemas", "b=&subjectPrefix=%3A.c%3Aa")),
        ("/contexts/c/schemas/ids/1/subjects", "subject=s", ("/schemas/ids/1/subjects", "subject=%3A.c%3As")),
        ("/contexts/c/schemas/guids/x", "", ("/schemas/guids/x", "")),
        ("/contexts/c/config", "", ("/config/:.c:", "")),
        ("/contexts/c/mode/foo", "", ("/mode/:.c:foo", "")),
        ("/contexts/c/compatibility/subjects/s/versions", "", ("/compatibility/subjects/:.c:s/versions", "")),
        ("/contexts/c/subjects/subjects/versions", "", ("/subjects/:.c:subjects/versions", "")),
        ("/contexts/./subjects/foo", "", ("/subjects/:.:foo", "")),
        ("/contexts/c", "", ("/contexts/:.c:", "")),
        ("/contexts/c/contexts", "", ("/contexts", "")),
        ("/contexts", "x=y", ("/contexts", "x=y")),
        ("/subjects/contexts/versions", "", ("/subjects/contexts/versions", "")),
    ],
)
def test_contexts_move_from_the_path_into_names(path: str, query: str, rewritten: tuple[str, str]) -> None:
    assert rewrite(path, query) == rewritten


@pytest.mark.parametrize("path", ["/contexts/a:b/subjects", "/contexts/%ff/subjects", "/contexts/%01/subjects"])
def test_contexts_that_cannot_be(path: str) -> None:
    with pytest.raises(BadRequest):
        rewrite(path, "")


def test_segments_are_decoded_once() -> None:
    assert decode_segment("a%2Fb%20%C3%BC+%253A") == "a/b ü+%3A"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", V1),
        ("*/*", V1),
        ("application/*", V1),
        ("application/json", "application/json"),
        ("application/json;q=0.5, application/vnd.schemaregistry.v1+json", V1),
        (f"application/json, {V1};q=0.4", "application/json"),
        (f"{V1};q=0, */*", "application/vnd.schemaregistry+json"),
        ("APPLICATION/JSON", "application/json"),
        ("*", V1),
        ("*/subtypes-do-not-count-here", V1),
        ("text/html, image/gif, *; q=.2", V1),
        ("*;q=0.1, application/json", "application/json"),
    ],
)
def test_the_answers_type(accept: str, chosen: str) -> None:
    assert negotiate(accept) == chosen


@pytest.mark.parametrize(
    "accept", ["text/html", "text/*", "application/json;q=0", "application/json;q=x", "*;q=0", "*json", "nonsense"]
)
def test_types_that_cannot_be_answered(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiate(accept)


def test_the_bodys_type() -> None:
    check_consumed("")
    check_consumed("application/octet-stream")
    with pytest.raises(UnsupportedMediaType, match="text/plain"):
        check_consumed("text/plain; charset=utf-8")


@pytest.mark.parametrize("text", ["", "x", "1e3", "1.0", "²", "٣", "2147483648", "9" * 5000, "+", "- 1"])
def test_what_is_no_integer_is_no_page(text: str) -> None:
    with pytest.raises(NotFound):
        parse_integer(text, "limit")


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers_are_read(number: int) -> None:
    assert parse_integer(str(number), "limit") == number


def test_bodies_are_read_leniently() -> None:
    assert parse_json(b'{"a":NaN}')["a"] != parse_json(b'{"a":NaN}')["a"]
    assert parse_json(b'{"a":1} and more') == {"a": 1}
    assert parse_json(b'\xef\xbb\xbf{"a":1}') == {"a": 1}
    for empty in (b"", b" \n", b"null"):
        with pytest.raises(MissingBody):
            parse_json(empty)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_bodies_are_read_in_the_encoding_that_they_are_written_in(encoding: str) -> None:
    assert parse_json('{"schema":"\u00e9\U0001f9fe"}'.encode(encoding)) == {"schema": "\u00e9\U0001f9fe"}
    with pytest.raises(MissingBody):
        parse_json("null".encode(encoding))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'\xff\xfe{\x00"', "not UTF-16"),
        ('{"a":"\ud83e"}'.encode("utf-16-le", "surrogatepass"), "not UTF-16-LE"),
        (b'\xff\xfe\x00\x00{\x00\x00\x00"', "not UTF-32"),
        ('{"a":'.encode("utf-16"), "not JSON"),
        ('{"a":"\\ud83e"}'.encode("utf-16"), "half of a surrogate pair"),
    ],
)
def test_bodies_in_no_encoding(body: bytes, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse_json(body)


def test_a_body_in_pieces_is_counted() -> None:
    def receive_from(pieces: list[bytes]):
        messages = [
            {"type": "http.request", "body": piece, "more_body": index < len(pieces) - 1}
            for index, piece in enumerate(pieces)
        ]

        async def receive():
            return messages.pop(0)

        return receive

    assert asyncio.run(read_body(receive_from([b"ab", b"c"]), max_bytes=3)) == b"abc"
    with pytest.raises(RequestTooLarge, match="2 bytes"):
        asyncio.run(read_body(receive_from([b"ab", b"c", b"never asked for"]), max_bytes=2))


def test_recent_values_stay_below_their_weight() -> None:
    kept: RecentValues[int, str] = RecentValues(10)
    for number in range(5):
        kept.put(number, str(number), weight=4)
        kept.get(0)
    assert [number for number in range(5) if kept.get(number)] == [0, 4]
    kept.put(9, "too large to keep", weight=11)
    assert kept.get(9) is None
    kept.put(1, "fits", weight=10)
    assert kept.get(1) == "fits"


class Recorder:
    """Transactions that remember what was done, and fail on demand."""

    def __init__(self, *, fails: bool = False) -> None:
        self.batches: list[list[object]] = []
        self.abandoned = 0
        self._fails = fails
        self.published = 0

    def begin(self) -> bool:
        self.batches.append([])
        return True

    def begin_patiently(self) -> None:
        raise AssertionError("nobody is in the way")

    def carry_out(self, plan):
        self.batches[-1].append(plan)
        return CounterfoilError("refused") if plan == "bad" else plan

    def commit(self) -> None:
        if self._fails:
            raise OSError("disk full")

    def publish(self) -> None:
        self.published += 1

    def abandon(self, error: Exception) -> Exception:
        self.abandoned += 1
        return StoreUnavailable(str(error))


def test_waiting_plans_share_transactions() -> None:
    async def main() -> None:
        recorder, announced = Recorder(), []
        committer = Committer(recorder, announce=announced.append)
        plans = [*range(150), "bad"]
        outcomes = await asyncio.gather(*(committer.commit(plan) for plan in plans), return_exceptions=True)
        await committer.close()
        assert [len(batch) for batch in recorder.batches] == [MAX_BATCH, MAX_BATCH, 151 - 2 * MAX_BATCH]
        assert recorder.published == 3
        assert outcomes[:-1] == list(range(150))
        assert str(outcomes[-1]) == "refused"
        assert announced == list(range(150))

    asyncio.run(main())


def test_a_failed_commit_is_returned_to_all_and_published_to_none() -> None:
    async def main() -> None:
        recorder, announced = Recorder(fails=True), []
        committer = Committer(recorder, announce=announced.append)
        outcomes = await asyncio.gather(*(committer.commit(plan) for plan in range(3)), return_exceptions=True)
        assert [str(outcome) for outcome in outcomes] == ["disk full"] * 3
        assert announced == []
        assert recorder.abandoned == 1
        await committer.close()

    asyncio.run(main())


def test_a_caller_who_leaves_does_not_stop_the_write() -> None:
    async def main() -> None:
        recorder, announced = Recorder(), []
        committer = Committer(recorder, announce=announced.append)
        caller = asyncio.create_task(committer.commit("plan"))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await committer.close()
        assert announced == ["plan"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("path", "body", "header"),
    [
        ("/config", {"compatibilityLevel": "FULL"}, "compatibilityLevel"),
        ("/config/orders-value", {"compatibilityLevel": "FULL"}, "compatibilityLevel"),
        ("/config/orders-value", {"compatability": "FULL", "alias": "a"}, "compatability"),
        ("/config/orders-value", {"compatibility": "FULL"}, None),
        ("/config/orders-value", {"a,b\n": 1, "é": 2}, "a%2Cb%0A, %C3%A9"),
        ("/config", {f"m{number}": 1 for number in range(12)}, ", ".join(f"m{n}" for n in range(10)) + ", and 2 more"),
        ("/config", {"compatibilityPolicy": "BOGUS"}, "compatibilityPolicy"),
        ("/config", {"compatibilityPolicy": None, "alias": ""}, None),
        ("/config", {"defaultMetadata": {"propertys": {"a": "b"}}}, "defaultMetadata.propertys"),
        ("/config", {"defaultMetadata": {"properties": {"any": "b"}, "tags": {"any": ["T"]}}}, None),
        (
            "/config",
            {"defaultRuleSet": {"domainRules": [{"name": "a", "type": "CEL", "mode": "WRITE", "kindd": "X"}]}},
            "defaultRuleSet.domainRules[0].kindd",
        ),
        ("/mode", {"mode": "READONLY", "forse": True}, "forse"),
        ("/mode/orders-value", {"mode": None, "force": True}, "force"),
        ("/mode/orders-value", "READONLY", None),
    ],
)
def test_a_header_names_members_of_settings_that_are_ignored(path, body, header):
    changed = asyncio.run(InProcessRegistry().put(path, body))
    assert changed.status == 200
    assert changed.headers.get("counterfoil-ignored") == header


@pytest.mark.parametrize(
    ("scope", "named"),
    [("", "The registry"), ("/:.shop:", "Context '.shop'"), ("/orders", "Subject 'orders'")],
)
def test_a_mode_that_takes_no_writes_is_that_of_what_is_named(scope, named):
    async def main() -> None:
        registry = InProcessRegistry()
        assert (await registry.put(f"/mode{scope}", {"mode": "READONLY"})).status == 200
        refused = await registry.put(f"/config{scope}", {"compatibility": "FULL"})
        assert json.loads(refused.body)["message"] == f"{named} is in READONLY mode: it takes no writes"

    asyncio.run(main())


def test_a_header_names_ignored_members_of_every_other_body():
    async def main() -> None:
        registry = InProcessRegistry()
        schema = {"schema": '"int"', "shema": 1, "metadata": {"sensitiv": []}, "references": []}
        kek = {"name": "k", "kmsType": "aws-kms", "kmsKeyId": "arn:aws:kms:1", "shred": True}
        asked = [
            ("POST", "/subjects/a/versions", schema, "shema, metadata.sensitiv"),
            ("POST", "/subjects/a", schema, "shema, metadata.sensitiv"),
            ("POST", "/subjects/a", schema, "shema, metadata.sensitiv"),  # no cached response is without it
            ("POST", "/compatibility/subjects/a/versions", schema, "shema, metadata.sensitiv"),
            ("POST", "/compatibility/subjects/a/versions/1", {"schema": '"int"', "references": [{"nam": 1}]}, None),
            ("POST", "/subjects/a/versions/1/tags", {"metadata": {}, "tagsToAd": []}, "tagsToAd"),
            ("POST", "/dek-registry/v1/keks", kek, "shred"),
            ("PUT", "/dek-registry/v1/keks/k", {"kmsPropz": {}, "kmsProps": {"any": "x"}}, "kmsPropz"),
        ]
        for method, path, body, header in asked:
            data = json.dumps(body).encode()
            reply = await registry.ask(method, path, data, {"Content-Type": "application/json"})
            assert (path, reply.headers.get("counterfoil-ignored")) == (path, header)
            assert reply.status == 200 or header is None

    asyncio.run(main())


RECORD_OF_X = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "X"}]})


def test_messages_say_what_is_meant():
    async def main() -> None:
        registry = InProcessRegistry()
        for each in ('"int"', '"long"'):
            await registry.register("s", each)
        await registry.ask("DELETE", "/subjects/s/versions/1", None, {})

        async def said(method: str, path: str, body: object = None, media_type: str = "application/json") -> str:
            data = None if body is None else json.dumps(body).encode()
            reply = await registry.ask(method, path, data, {"Content-Type": media_type} if data else {})
            assert 400 <= reply.status < 500
            return str(reply.json["message"])

        def refers(**reference: object) -> dict[str, object]:
            return {"schema": RECORD_OF_X, "references": [reference]}

        asked = "/subjects/t/versions"
        assert "names no subject" in await said("POST", asked, refers(name="X", version=-1))
        assert "has no name" in await said("POST", asked, refers(subject="s", version=2))
        unknown = await said("POST", asked, refers(name="X", subject="nope", version=-1))
        assert unknown.endswith(
            "to the latest version of subject 'nope' cannot be resolved: the subject has no versions"
        )
        assert (await said("POST", asked, refers(name="X", subject="s", version=7))).endswith("it has the versions 2")
        for path in ("/subjects/s/versions/1", "/subjects/s/versions/1/schema"):
            assert await said("GET", path) == "Version 1 of subject 's' not found: it is soft-deleted"
        assert "it is soft-deleted" in await said("POST", "/compatibility/subjects/s/versions/1", {"schema": '"int"'})
        assert await said("GET", "/subjects/s/versions/7") == "Version 7 of subject 's' not found"
        await registry.ask("DELETE", "/subjects/s", None, {})
        gone = "Subject 's' not found: all of its versions are soft-deleted"
        assert await said("GET", "/subjects/s/versions/latest") == await said("GET", "/subjects/s/versions") == gone
        latest = await said("GET", "/subjects/s/versions/latest?deleted=true")
        assert latest == "The latest version (-1) of subject 's' not found: all of its versions are soft-deleted"
        assert "all of its versions are soft-deleted" in await said("POST", asked, refers(name="X", subject="s"))
        assert "Content-Type 'text/plain'" in await said("POST", asked, {"schema": '"int"'}, "text/plain")

    asyncio.run(main())


@pytest.mark.parametrize(
    ("field_type", "default", "said"),
    [
        ({"type": "array", "items": "int"}, [1, "x"], "/fields/0/default/1): 'x' is no default of 'int'"),
        ({"type": "array", "items": "int"}, {}, "/fields/0/default): an object is no default of 'array'"),
        (
            {"type": "map", "values": {"type": "array", "items": "int"}},
            {"k": [None]},
            "default/k/0): null is no default",
        ),
        ({"type": "array", "items": ["null", "int"]}, ["x"], "/fields/0/default/0): 'x' is no default of 'union'"),
        (
            {"type": "record", "name": "Q", "fields": [{"name": "b", "type": "int"}]},
            {"b": True},
            "/fields/0/default/b): true is no default of 'int'",
        ),
        (
            {"type": "record", "name": "Q", "fields": [{"name": "b", "type": "int"}]},
            {},
            "/fields/0/default): an object is no default of 'Q'",
        ),
    ],
)
def test_the_part_of_a_default_that_does_not_fit_is_named(field_type, default, said):
    text = {"type": "record", "name": "R", "fields": [{"name": "a", "type": field_type, "default": default}]}
    reply = asyncio.run(InProcessRegistry().register("s", text))
    assert reply.status == 422
    assert said in reply.json["message"]


UNKNOWN_FILE = {"schema": '{"$ref":"missing.json"}', "schemaType": "JSON"}
UNKNOWN_TYPE = {"schema": 'syntax = "proto3"; message M { Missing x = 1; }', "schemaType": "PROTOBUF"}
BAD_NAME = {"schema": '{"type":"record","name":"1abc","fields":[]}'}


@pytest.mark.parametrize("body", [UNKNOWN_FILE, UNKNOWN_TYPE, BAD_NAME], ids=["JSON", "Protobuf", "Avro"])
def test_an_invalid_schema_is_refused_before_the_mode_as_in_a_look_up(body):
    async def main() -> None:
        registry = InProcessRegistry()
        await registry.put("/mode/s", {"mode": "READONLY"})
        await registry.put("/config/unchecked", {"validateNewSchemas": False})
        assert (await registry.post("/subjects/s/versions", body)).code == 42201
        assert (await registry.post("/subjects/t/versions", {**body, "id": 7})).code == 42201
        assert (await registry.post("/subjects/unchecked/versions", body)).code == 42201
        assert (await registry.post("/subjects/s", body)).code == 42201

    asyncio.run(main())


def test_the_number_of_a_tagged_version_is_checked_after_compatibility():
    async def main() -> None:
        registry = InProcessRegistry()
        texts = [f'syntax = "proto3"; message M {{ {kind} x = 1; }}' for kind in ("int32", "string")]
        for text in texts:
            body = {"schema": text, "schemaType": "PROTOBUF"}
            assert (await registry.post("/subjects/s/versions?force=true", body)).status == 200

        async def code(version: int, path: str, **more: object) -> int | None:
            tagged = {"schemaEntity": {"entityPath": path, "entityType": "sr_field"}, "tags": ["PII"]}
            reply = await registry.post(f"/subjects/s/versions/{version}/tags", {"tagsToAdd": [tagged], **more})
            return reply.code

        assert await code(1, "M.x", newVersion=9) == 40901
        assert await code(1, "M.nope", newVersion=9) == 42201  # an unknown place comes before both
        assert await code(2, "M.x", newVersion=9) == 42201
        await registry.put("/mode/s", {"mode": "READONLY"})
        assert await code(2, "M.x", newVersion=9) == 42201
        assert await code(2, "M.x") == 42205
        assert await code(2, "M.nope") == 42201

    asyncio.run(main())


def test_a_version_of_another_language_is_not_loaded_for_the_comparison():
    async def main() -> None:
        registry = InProcessRegistry()
        await registry.put("/mode/s", {"mode": "IMPORT"})
        assert (await registry.post("/subjects/s/versions", {**UNKNOWN_FILE, "id": 3, "version": 1})).status == 200
        await registry.put("/mode/s", {"mode": "READWRITE"})
        assert (await registry.post("/subjects/s/versions", {"schema": '"int"'})).code == 40901
        assert (await registry.post("/subjects/s/versions", {"schema": "{}", "schemaType": "JSON"})).code == 42201

    asyncio.run(main())
