"""What a caller finds is what it would find in a registry that has only the subjects that it may read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import Rights, Visible
from counterfoil.registry.access.rules import AccessRule, allow, deny, parse_pattern
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion
from counterfoil.registry.search.searching import Searching
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.search_index import SearchResult
from strategies.access.visible import play, reader, registered
from strategies.search.indexed import Indexed, indexed

READ = [AccessOperation.READ]


def record(name: str, *fields: str, **facts: str) -> str:
    typed = [{"name": field, "type": "string", "doc": f"The {field} of {name}."} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": typed, **facts})


SUBJECTS = {
    "own-orders": record("Order", "customer_email", "id"),
    "own-people": record("Person", "email", "id"),
    "own": record("Own", "email_of_own"),
    "secret-orders": record("SecretOrder", "customer_email", "hidden_email", "id"),
    "secret": record("Secret", "emaill", "id"),
    ":.eu:own-crm": record("Crm", "email", "tel"),
    ":.eu:secret-crm": record("SecretCrm", "email", "hidden_tel"),
}
RULES: dict[str, list[AccessRule]] = {
    "prefix": [allow("User:a", READ, parse_pattern("own*"))],
    "name": [allow("User:a", READ, parse_pattern("own"))],
    "context": [allow("User:a", READ, parse_pattern("context:.eu"))],
    "all but some": [
        *(allow("User:a", READ, parse_pattern(each)) for each in ("*", ":.eu:*")),
        *(deny("User:a", READ, parse_pattern(each)) for each in ("secret*", ":.eu:secret*")),
    ],
    "glob": [allow("User:a", READ, parse_pattern("*-orders"))],
    "nothing": [],
    "describe alone": [allow("User:a", [AccessOperation.DESCRIBE], parse_pattern("*"))],
}
QUERIES = [
    *("email", "emai", "e", "id", "order", "secret", "hidden", "hiddn", "emailx", "customer email", "own", "crm"),
    *("secret_email", "orders-hidden-tel", "customerEmai"),
    *("type:string", "doc:secretorder", "doc:email", "subject:secret email", "lang:avro", "tel", "secretorders", "xyz"),
]


async def fill(opened: Indexed, subjects: dict[str, str]) -> None:
    for subject, schema in subjects.items():
        await opened.register(subject, schema)
    await opened.follow()


def shown(result: SearchResult) -> Any:
    return result.hits, result.counts, set(result.nearest), result.next, result.unknown


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("few", [0, 300])
def test_hidden_subjects_change_nothing(name: str, few: int):
    async def main() -> None:
        visible = Visible(Rights(RULES[name], {"User:a"}), AccessOperation.READ)
        known = {each: text for each, text in SUBJECTS.items() if visible.shows(parse_subject(each))}
        async with indexed("sqlite://") as whole, indexed("sqlite://") as part:
            await fill(whole, SUBJECTS)
            await fill(part, known)
            search = Searching(whole.storage, whole.index, few_subjects=few).search
            alone = Searching(part.storage, part.index, few_subjects=few).search
            for query in QUERIES:
                for within in SearchExtent:
                    for limit in (2, 50):
                        question = SearchQuestion(query, within=within, limit=limit)
                        found = await search(question, visible=visible)
                        assert shown(found) == shown(await alone(question, visible=visible)), query
                        everything = await part.cases.search.search(question)
                        assert shown(found)[0] == shown(everything)[0], query
                        assert found.next == everything.next, query
                        if not few and found.next:  # many subjects, of which no more are read than are shown
                            assert all("+" in count for count in found.counts), query
                        else:
                            assert shown(found) == shown(everything), query

    asyncio.run(main())


def test_ids_and_guids_of_hidden_subjects():
    async def main() -> None:
        visible = Visible(Rights(RULES["prefix"], {"User:a"}), AccessOperation.READ)
        async with indexed("sqlite://") as opened:
            await fill(opened, {"secret": '"string"', "other": '"int"'})
            guid = (await opened.registry.get("/subjects/secret/versions/1")).json["guid"]
            for query in ("1", guid, guid.replace("-", "")):
                assert (await opened.search(query)).hits
                assert not (await opened.search(query, visible=visible)).hits
            await opened.register("own-too", '"string"')
            for query in ("1", guid):
                assert [hit.subject for hit in (await opened.search(query, visible=visible)).hits] == ["own-too"]

    asyncio.run(main())


def test_elements_of_hidden_subjects_are_not_named_elsewhere():
    async def main() -> None:
        subject = parse_subject("elsewhere")
        for name, rules in RULES.items():
            visible = Visible(Rights(rules, {"User:a"}), AccessOperation.READ)
            known = {each: text for each, text in SUBJECTS.items() if visible.shows(parse_subject(each))}
            async with indexed("sqlite://") as whole, indexed("sqlite://") as part:
                await fill(whole, SUBJECTS)
                await fill(part, known)
                for path in ("id", "email", "hidden_email"):
                    found = await whole.cases.search.namesakes(subject, path, visible=visible)
                    assert found == await part.cases.search.namesakes(subject, path), (name, path)
                    assert {each.subject for each in found} <= set(known)

    asyncio.run(main())


def test_names_by_prefix_without_an_index():
    async def story(registry: Any) -> None:
        await registered(registry, "own-orders", "orders", "own-people", "secret")
        reply = await registry.send("GET", "/inspect/v1/search?q=o", "alice")
        assert [hit["subject"] for hit in reply.json["hits"]] == ["own-orders", "own-people"]
        assert reply.json["index"]["state"] == "off"
        everything = await registry.send("GET", "/inspect/v1/search?q=", "admin")
        assert everything.json["hits"] == []

    play(story, reader("own*"))


def test_elements_of_references_belong_to_their_own_subject():
    async def main() -> None:
        async with indexed("sqlite://") as opened:
            await opened.register("place", record("Place", "street"))
            using = {"type": "record", "name": "Ride", "fields": [{"name": "to", "type": "Place"}]}
            reference = {"name": "Place", "subject": "place", "version": 1}
            await opened.register("ride", json.dumps(using), references=[reference])
            await opened.follow()
            assert {hit.subject for hit in (await opened.search("street")).hits} == {"place"}
            assert [hit.text for hit in (await opened.search("subject:ride type:place")).hits] == ["to"]

    asyncio.run(main())
