"""The search over every kind of store: what is found, in which order, and how the index follows what is written."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.search.namesakes import MAX_NAMESAKES
from counterfoil.registry.search.questions import SearchExtent
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.fingerprint import md5_fingerprint, rabin_fingerprint, sha256_fingerprint
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.rest.search_index import HitKind
from counterfoil.schema.wire import frame
from strategies.search.indexed import Indexed, indexed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.schema.rest.search_index import SearchResult

CUSTOMER = {
    "type": "record",
    "name": "Customer",
    "fields": [
        {
            "name": "email",
            "type": ["null", "string"],
            "default": None,
            "doc": "The customer_id, as typed.",
            "confluent:tags": ["PII"],
        }
    ],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "An order of the shop.",
    "fields": [
        {"name": "customer", "type": CUSTOMER},
        {"name": "status", "type": {"type": "enum", "name": "Status", "symbols": ["NEW", "PAID"]}},
    ],
}
PRICED = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {
            "name": "unit_price",
            "default": "",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        }
    ],
}


@pytest.fixture(params=["parts", "scan"])
def run_search(store_url: str, request: pytest.FixtureRequest) -> Callable[[Any], None]:
    """Run a coroutine function with a registry and its index, with and without an index of parts of names."""

    def run(behaviour: Callable[[Indexed], Awaitable[None]]) -> None:
        async def main() -> None:
            async with indexed(store_url, uses_parts=None if request.param == "parts" else False) as opened:
                await behaviour(opened)

        asyncio.run(main())

    return run


def shown(result: SearchResult) -> list[tuple[str, str, str, str]]:
    return [(hit.kind.value, hit.subject, hit.text, hit.path) for hit in result.hits]


async def shop(opened: Indexed) -> None:
    await opened.register("orders-value", json.dumps(ORDER), metadata={"properties": {"owner": "checkout"}})
    await opened.register("orders-value", json.dumps(PRICED), metadata={"properties": {"owner": "checkout"}})
    await opened.register(":.eu:crm-value", json.dumps(ORDER))
    await opened.follow()


def test_what_each_query_finds(run_search: Callable[[Any], None]):
    order, crm = "orders-value", ":.eu:crm-value"
    email = ("element", crm, "email", "customer.email")
    doc = ("doc", crm, "The customer_id, as typed.", "customer.email")
    tag = ("tag", crm, "PII", "customer.email")
    price = ("element", order, "unit_price", "unit_price")
    types = [("element", order, "Order", "shop.Order"), ("element", crm, "Order", "shop.Order")]
    subject = ("subject", order, order, "")
    owner = ("property", order, "owner=checkout", "")
    expected: dict[str, list[tuple[str, str, str, str]]] = {
        "email": [email],
        "EMAIL": [email],
        "customer email": [email, doc],
        "customer_email": [email, doc],
        "customerEmail": [email, doc],
        "customer-phone": [],
        "order_nothing": [],
        "unitPrice": [price],
        "unit-price": [price],
        "nit": [price],
        "it": [],
        "order": [*types, subject, ("doc", crm, "An order of the shop.", "shop.Order")],
        "tag:pii": [tag],
        "email tag:PII": [email],
        "type:decimal": [price],
        "decimal(10,2)": [price],
        "doc:typed": [doc],
        "customerid": [doc],
        "customer_id": [doc],
        "symbol:paid": [("symbol", crm, "PAID", "shop.Status.PAID")],
        "prop:owner": [owner],
        "prop:checkout price": [price],
        "prop:nobody price": [],
        "subject:crm email": [email],
        "subject:orders": [subject],
        "field:price": [price],
        "field:order": types,
        "lang:avro price": [price],
        "lang:json price": [],
        "lang:avro": [subject, ("subject", crm, "crm-value", "")],
        "is:deleted": [],
        "": [],
        "nothing-like-it": [],
    }

    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        found = {query: shown(await opened.search(query)) for query in expected}
        assert found == expected
        assert [hit.subject for hit in (await opened.search("order", context=".eu")).hits] == [crm, crm]
        assert shown(await opened.search("order", kind=HitKind.SUBJECT)) == [subject]

    run_search(behaviour)


def test_the_facts_of_a_hit(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        [latest, gone] = (await opened.search("email", within=SearchExtent.ANY)).hits
        assert (latest.subject, latest.version, latest.since, latest.until) == (":.eu:crm-value", 1, 1, None)
        assert (gone.subject, gone.version, gone.since, gone.until) == ("orders-value", 1, 1, 1)
        assert (gone.type, gone.tags, gone.schema_type) == ("null | string", ("PII",), "AVRO")
        [price] = (await opened.search("price")).hits
        assert (price.version, price.since, price.marks) == (2, 2, ((5, 10),))
        result = await opened.search("order")
        assert result.counts == ("1 subject", "2 elements in 2 subjects", "1 text in 1 subject")
        assert (result.index.state, result.index.indexed, result.index.last) == ("current", 3, 3)
        assert (await opened.search("emial")).nearest == ("email",)
        assert (await opened.search("lang:klingon")).unknown == ("lang:klingon",)

    run_search(behaviour)


def test_the_same_name_in_other_subjects(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        await opened.register("people", '{"type": "record", "name": "P", "fields": [{"name": "email", "type": "int"}]}')
        await opened.register("mails", '{"type": "record", "name": "P", "fields": [{"name": "emails", "type": "int"}]}')
        await opened.follow()
        element = await opened.registry.get("/inspect/v1/subjects/people/elements?path=email")
        crm = {"subject": ":.eu:crm-value", "version": 1, "path": "customer.email", "type": "null | string"}
        assert element.json["elsewhere"] == [crm]
        page = await opened.registry.get("/ui/subjects/people/elements?path=email")
        assert "customer.email" in page.text.partition("The same name elsewhere")[2]
        registry = await opened.registry.get("/inspect/v1")
        assert (registry.json["index"]["state"], registry.json["index"]["indexed"]) == ("current", 5)

    run_search(behaviour)


def test_ids_guids_fingerprints_and_frames(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        parsed: Any = parse_schema(json.dumps(ORDER))
        rabin = rabin_fingerprint(parsed)
        queries = [
            *(rabin.hex(), rabin[::-1].hex(), md5_fingerprint(parsed).hex(), sha256_fingerprint(parsed).hex()),
            await _guid(opened),
            "1",
        ]
        for query in queries:
            found = {(hit.subject, hit.version) for hit in (await opened.search(query)).hits}
            wanted = {("orders-value", 1), (":.eu:crm-value", 1)}
            assert found == (wanted if query != await _guid(opened) else {("orders-value", 1)}), query
        for query in (frame(4711, b"abc").hex(), "AAAAEmdhYmM=", "00 00 00 12 67"):
            assert [(hit.kind, hit.text) for hit in (await opened.search(query)).hits] == [(HitKind.BYTES, "4711")]

    run_search(behaviour)


async def _guid(opened: Indexed) -> str:
    reply = await opened.registry.get("/subjects/orders-value/versions/1")
    return str(reply.json["guid"])


def test_deletions(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        await opened.registry.delete("/subjects/orders-value/versions/2")
        await opened.follow()
        assert shown(await opened.search("price")) == []
        assert shown(await opened.search("price", within=SearchExtent.ANY)) == []
        assert shown(await opened.search("price is:deleted")) == [
            ("element", "orders-value", "unit_price", "unit_price")
        ]
        assert len((await opened.search("email")).hits) == 2
        await opened.registry.delete("/subjects/orders-value")
        await opened.follow()
        assert len((await opened.search("email")).hits) == 1
        assert [hit.subject for hit in (await opened.search("is:deleted")).hits] == ["orders-value"]
        await opened.registry.delete("/subjects/orders-value?permanent=true")
        await opened.follow()
        assert shown(await opened.search("is:deleted")) == []
        assert shown(await opened.search("orders is:deleted")) == []

    run_search(behaviour)


def test_pages_are_parts_of_the_whole(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        fields = [{"name": f"code_{number}", "type": "int"} for number in range(3)]
        for number in range(12):
            schema = {"type": "record", "name": "Code", "fields": [*fields, {"name": "code", "type": "int"}]}
            await opened.register(f"codes-{number:02}", json.dumps({**schema, "doc": f"The code {number}."}))
        await opened.follow()
        for query in ("code", "code codes-0", "code type:int"):
            whole = await opened.search(query, limit=200)
            assert not whole.next
            paged, after = [], ""
            while True:
                page = await opened.search(query, limit=7, after=after)
                paged += page.hits
                after = page.next
                assert len(page.hits) == 7 or not after
                if not after:
                    break
            assert paged == list(whole.hits)
            assert len(whole.hits) == len(set(whole.hits)) >= 12

    run_search(behaviour)


def test_topics_of_associations(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        body = {
            "resourceName": "purchases",
            "resourceNamespace": "lkc1",
            "resourceId": "lkc1:purchases",
            "resourceType": "topic",
            "associations": [{"subject": "orders-value", "associationType": "value", "lifecycle": "WEAK"}],
        }
        reply = await opened.registry.post("/associations", body)
        assert reply.status == 200, reply.text
        await opened.follow()
        assert shown(await opened.search("purchases")) == [("topic", "orders-value", "purchases", "")]
        assert [hit.text for hit in (await opened.search("topic:purchases price")).hits] == ["unit_price"]
        assert shown(await opened.search("topic:purchases email")) == []
        await opened.registry.delete("/associations/resources/lkc1:purchases?resourceType=topic&cascadeLifecycle=false")
        await opened.follow()
        assert shown(await opened.search("purchases")) == []

    run_search(behaviour)


HOSTILE = [
    '"',
    '""" OR NEAR(a b)',
    "email* OR folded:x",
    "%",
    "_",
    "%%%%",
    "a%b_c\\",
    "'; DROP TABLE state; --",
    "\x00",
    "a\x00b",
    "\ud800",
    "\u202eliame",
    "x" * 1_000_000,
    "(" * 1000,
    "tag:" * 300,
    " ".join(f"w{number}" for number in range(2000)),
    ":::::",
    "subject:",
    "is:deleted is:deleted lang:avro lang:json",
    "doc:\"a b\" 'c':* & !d | <-> e",
    "99999999999999999999",
    "0" * 64,
    "\u0130\u00df\ufb01",
]


def test_hostile_queries_are_answered(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        await shop(opened)
        for query in HOSTILE:
            for within in SearchExtent:
                result = await opened.search(query, within=within)
                assert len(result.query) <= 1000
        with pytest.raises(BadRequest, match="'next' of the page before"):
            await opened.search("email", after="no cursor")

    run_search(behaviour)


def test_hostile_names_are_found(run_search: Callable[[Any], None]):
    async def behaviour(opened: Indexed) -> None:
        names = ["50%", "a'b", 'q"uote', "\u202eevil", "x\x00y", "back\\slash", "über_Größe"]
        properties = {name: {"type": "string", "description": f"about {name}"} for name in names}
        await opened.register("odd", json.dumps({"type": "object", "properties": properties}), schemaType="JSON")
        await opened.follow()
        queries = ["50%", "a'b", "uote", "evil", "x\ufffdy", "\\slash", "ÜBERGRÖSSE"]
        for query, name in zip(queries, names, strict=True):
            elements = [hit for hit in (await opened.search(query)).hits if hit.kind is HitKind.ELEMENT]
            assert [hit.text for hit in elements] == [name.replace("\x00", "\ufffd")], query

    run_search(behaviour)


def test_an_element_names_those_of_its_name_in_other_subjects(run_search: Callable[[Any], None]):
    """The same name in the latest versions; not an alias, not an earlier version, not another case."""

    def record(*fields: dict[str, Any]) -> str:
        return json.dumps({"type": "record", "name": "R", "fields": list(fields)})

    async def story(opened: Indexed) -> None:
        async def elsewhere(path: str) -> list[tuple[Any, ...]]:
            page = (await opened.registry.get(f"/inspect/v1/subjects/own/elements?path={path}")).json
            return [tuple(each.values()) for each in page.get("elsewhere", [])]

        email = {"name": "email", "type": "string"}
        nested = {"name": "customer", "type": {"type": "record", "name": "C", "fields": [email]}}
        await opened.registry.put("/config", {"compatibility": "NONE"})
        for subject, text in (
            ("own", record(email, nested)),
            ("gone", record(email)),
            ("gone", record({"name": "other", "type": "string"})),
            ("alias", record({"name": "mail", "type": "string", "aliases": ["email"]})),
            ("case", record({"name": "eMail", "type": "string"})),
            ("b", record(email, nested)),
            (":.eu:far", record(nested)),
        ):
            await opened.register(subject, text)
        assert await elsewhere("email") == []  # the index has not followed
        await opened.follow()
        expected = [
            ("b", 1, "email", "string"),
            ("b", 1, "customer.email", "string"),
            (":.eu:far", 1, "customer.email", "string"),
        ]
        assert await elsewhere("email") == await elsewhere("customer.email") == expected
        assert (await opened.registry.get("/inspect/v1")).json["index"]["state"] == "current"
        for number in range(150):
            await opened.register(f"more{number:03}", record(email))
        await opened.follow()
        assert [each[0] for each in await elsewhere("email")][-1] == "more047"
        assert len(await elsewhere("email")) == MAX_NAMESAKES

    run_search(story)
