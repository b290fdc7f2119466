"""A caller who may read few subjects finds what they have, however many names and texts others have."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.access.resources import AccessOperation
from counterfoil.registry.access.rights import Rights, Visible
from counterfoil.registry.access.rules import allow, parse_pattern
from counterfoil.registry.search.lives import LifeState, posting, posting_read, postings_packed, postings_unpacked
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion
from counterfoil.registry.search.rows import MAX_CANDIDATES
from counterfoil.registry.search.searching import Searching
from strategies.search.indexed import Indexed, indexed
from strategies.search.plain_scan import scan

READ = [AccessOperation.READ]
QUERIES = ("code", "cod", "co", "zz_code", "code zz", "the", "doc:the", "type:string", "own", "code own", "xyzzy")


def record(name: str, fields: list[str], doc: str) -> str:
    typed = [{"name": field, "type": "string", "doc": doc.format(field)} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": typed})


async def fill(opened: Indexed, *, own: int, hidden: int) -> dict[str, str]:
    """Register subjects that a caller may read, and one with very many names before theirs; return the former."""
    texts = {
        f"own-{number:03}": record("Own", [f"zz_code_{number}", "the_code", "code"], f"The {{}} of own {number}.")
        for number in range(own)
    }
    others = {
        f"hidden-{number}": record("Hidden", [f"aa_code_{number}_{each}" for each in range(900)], "A the {}.")
        for number in range(hidden)
    }
    for subject, text in (*others.items(), *texts.items()):
        await opened.register(subject, text)
    await opened.follow()
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("few", [0, 500])
def test_very_many_names_of_others_hide_nothing(few: int):
    async def main() -> None:
        visible = Visible(Rights([allow("User:a", READ, parse_pattern("own-*"))], {"User:a"}), AccessOperation.READ)
        assert MAX_CANDIDATES < 3 * 900
        async with indexed("sqlite://") as whole, indexed("sqlite://") as part:
            texts = await fill(whole, own=30, hidden=3)
            await fill(part, own=30, hidden=0)
            search = Searching(whole.storage, whole.index, few_subjects=few).search
            for query in QUERIES:
                for within in SearchExtent:
                    after = ""
                    while True:
                        question = SearchQuestion(query, within=within, limit=20, after=after)
                        found = await search(question, visible=visible)
                        alone = await part.cases.search.search(question)
                        assert (found.hits, found.counts, found.next) == (alone.hits, alone.counts, alone.next), query
                        after = found.next
                        if not after:
                            break
            hits = (await search(SearchQuestion("code", limit=200), visible=visible)).hits
            elements = {(hit.kind.value, hit.subject, hit.path, hit.text) for hit in hits if hit.kind.value != "doc"}
            assert elements == {each[1:] for each in scan(texts, "code")}

    asyncio.run(main())


@pytest.mark.slow
def test_all_that_match_a_common_word_are_in_order():
    async def main() -> None:
        async with indexed("sqlite://") as opened, indexed("sqlite://", uses_parts=False) as scanned:
            for each in (opened, scanned):
                await fill(each, own=3, hidden=3)
            names = sorted(
                [f"aacode{number}{each}" for number in range(3) for each in range(900)]
                + [f"zzcode{number}" for number in range(3)]
                + ["thecode"] * 3
            )
            found: list[str] = []
            after = ""
            while True:
                page = await opened.search("field:code", limit=200, after=after)
                assert page.hits == (await scanned.search("field:code", limit=200, after=after)).hits
                found += [hit.text.replace("_", "") for hit in page.hits if hit.text != "code"]
                after = page.next
                if not after:
                    break
            assert found == names

    asyncio.run(main())


@given(st.lists(st.tuples(st.integers(0, 2**60), st.sampled_from(LifeState))))
def test_postings_are_read_as_they_were_written(given_postings: list[tuple[int, LifeState]]):
    packed = postings_packed(posting(*each) for each in given_postings)
    assert sorted(given_postings) == [posting_read(each) for each in postings_unpacked(packed)]
    assert len(packed) == 8 * len(given_postings)
