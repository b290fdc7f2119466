"""Reading queries: words, prefixes, ids, guids, fingerprints and frames; nothing that is written raises."""

from __future__ import annotations

import base64
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.search.lives import HitRole, LifeState
from counterfoil.registry.search.matching import Rank
from counterfoil.registry.search.questions import MAX_QUERY_CHARS, MAX_WORDS, QueryWord, WordScope, read_query
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.model import SchemaType
from counterfoil.schema.wire import frame, guid_prefix

GUID = UUID("095d71cf-1255-6b9d-5e33-0ad575b3df5d")


def words(text: str) -> list[tuple[str, str]]:
    return [(each.scope.value, each.text) for each in read_query(text).words]


def test_words_and_prefixes():
    assert words("Customer_Email tag:PII field:e-mail") == [("", "customeremail"), ("tag", "pii"), ("field", "email")]
    assert words('doc:"as typed" "two words"') == [("doc", "as typed"), ("", "two words")]
    assert words("decimal(10,2) http://x") == [("type", "decimal(10,2)"), ("", "http://x")]
    assert words("a a A") == [("", "a")]
    query = read_query("lang:avro IS:deleted is:deleted x lang:nope")
    assert (query.language, query.is_deleted, query.unknown) == (SchemaType.AVRO, True, ("lang:nope",))
    assert read_query("subject:").unknown == ("subject:",)


def test_what_the_whole_query_may_be():
    assert read_query("4711").schema_id == 4711
    assert read_query("99999999999").schema_id is None
    assert read_query("4711 x").schema_id is None
    for text in ("id 4711", "id:4711", "ID: 4711", "schema id 4711"):
        assert read_query(text).schema_id == 4711
    assert read_query("grid 4711").schema_id is read_query("id x").schema_id is None
    assert read_query(f"guid {GUID}").guid == GUID
    assert read_query(str(GUID).upper()).guid == read_query(GUID.hex).guid == GUID
    for digits in (16, 32, 64):
        assert read_query("ab" * (digits // 2)).fingerprint == b"\xab" * 8
    assert read_query("ab" * 9).fingerprint == b""


def test_frames():
    by_id = frame(4711, b"abc")
    for text in (by_id.hex(), base64.b64encode(by_id).decode(), by_id.hex(" "), by_id[:5].hex().upper()):
        assert read_query(text).frame_id == 4711, text
    assert read_query(base64.b64encode(guid_prefix(GUID)).decode()).frame_id == GUID
    assert read_query("AAAA").frame_id is None
    assert read_query("000000").frame_id is None


def test_long_queries_are_cut_and_say_so():
    query = read_query(" ".join(f"w{number}" for number in range(MAX_WORDS + 2)))
    assert len(query.words) == MAX_WORDS
    assert query.unknown == (f"w{MAX_WORDS}", f"w{MAX_WORDS + 1}")
    assert read_query("x" * 10**6).unknown == ("…",)
    assert len(read_query("x" * 10**6).text) == MAX_QUERY_CHARS


@given(st.text(max_size=200))
def test_every_text_is_a_query(text: str):
    query = read_query(text)
    assert all(each.text and each.scope in WordScope for each in query.words)
    assert query.text.encode().decode() == query.text
    assert len(set(query.words)) == len(query.words)


STORABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
RANKS = st.builds(
    Rank,
    st.integers(0, 3),
    st.sampled_from(LifeState),
    st.sampled_from(HitRole),
    st.text(STORABLE, max_size=500),
    st.binary(max_size=16).map(bytes.hex),
    st.text(STORABLE, max_size=600),
    st.integers(0, 2**51),
)


@given(RANKS)
def test_a_cursor_is_the_rank(rank: Rank):
    assert Rank.read(rank.cursor) == rank


@given(
    st.one_of(st.text(max_size=60), st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()))
)
def test_other_texts_are_no_cursors(text: str):
    with pytest.raises(BadRequest, match="'next' of the page before"):
        Rank.read(text)


@pytest.mark.parametrize("changed", [{"folded": "\ud800"}, {"scope": "a\x00"}, {"word": "xyz"}, {"place": 2**70}])
def test_a_cursor_that_no_database_takes_is_none(changed: dict[str, Any]):
    rank = Rank(0, LifeState.LATEST, HitRole.ELEMENT, "a", "00ff", "b", 1)
    assert Rank.read(rank.cursor) == rank
    with pytest.raises(BadRequest, match="'next' of the page before"):
        Rank.read(rank._replace(**changed).cursor)


def test_equal_words_with_other_prefixes_are_different():
    assert read_query("a field:a").words == (QueryWord("a"), QueryWord("a", WordScope.FIELD))
