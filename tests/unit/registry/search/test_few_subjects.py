"""A subject that is left out before it is unpacked has no hit of the query."""

from __future__ import annotations

from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st

from counterfoil.registry.search.lives import NOT_INDEXED, IndexedSubject, VersionFacts, folded_document
from counterfoil.registry.search.matching import FoundRow, QueryMatcher
from counterfoil.registry.search.questions import SearchExtent, SearchQuestion, read_query
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.search_index import HitKind
from counterfoil.schema.searchable import SearchFact

TEXTS = st.text(alphabet='abK_-. "\\\n/1éß\u212a', max_size=12)
FACTS = st.builds(
    SearchFact,
    st.sampled_from([HitKind.ELEMENT, HitKind.DOC, HitKind.TAG, HitKind.PROPERTY, HitKind.SYMBOL]),
    TEXTS,
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=2).map(tuple),
)


def made_of(facts: list[SearchFact]) -> IndexedSubject:
    history = SubjectHistory(1, (VersionEntry(1, 1, UUID(int=1), deleted=False, ts=0),))
    return NOT_INDEXED.with_versions(history, [VersionFacts(1, "AVRO", facts)])


@given(st.lists(FACTS, max_size=4), TEXTS.filter(bool), TEXTS)
@example([SearchFact(HitKind.DOC, "an order_id, as typed")], "s", "orderid")
@example([SearchFact(HitKind.ELEMENT, "\u212a", "\u212a")], "s", "k")
@example([SearchFact(HitKind.TAG, "a+b")], "s", "a+b")
def test_a_subject_with_a_hit_is_not_left_out(facts: list[SearchFact], name: str, q: str):
    found, subject = made_of(facts), QualifiedSubject(".", name)
    folded = folded_document(found.packed())
    for query in {q, name, *(fact.text for fact in facts), *(fact.path for fact in facts)}:
        matcher = QueryMatcher(read_query(query), SearchQuestion(query, within=SearchExtent.ANY))
        rows = [FoundRow.of(row) for row in found.rows(subject)]
        hits = [row for row in rows if matcher.tier(row.role, row.text) is not None and matcher.fits(row)]
        assert not hits or folded is None or matcher.may_fit(folded, name)
        kept = IndexedSubject.unpacked(found.packed(), keeps=matcher.may_match)
        assert set(hits) <= {FoundRow.of(row) for row in kept.rows(subject)}


def test_a_subject_without_the_words_is_left_out():
    folded = folded_document(made_of([SearchFact(HitKind.ELEMENT, "customer_email", "customer_email")]).packed())
    assert folded is not None

    def may_fit(query: str) -> bool:
        return QueryMatcher(read_query(query), SearchQuestion(query)).may_fit(folded, "orders-value")

    assert (may_fit("customerEmail"), may_fit("orders mail"), may_fit("email address")) == (True, True, False)


def test_characters_beyond_ascii_are_not_judged():
    assert folded_document(made_of([SearchFact(HitKind.ELEMENT, "Größe", "Größe")]).packed()) is None
