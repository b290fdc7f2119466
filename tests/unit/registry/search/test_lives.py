"""What the index has of a subject does not depend on the way in which its versions came."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.search.lives import (
    NOT_INDEXED,
    HitRole,
    IndexedSubject,
    LifeState,
    VersionFacts,
    scope_key,
    subject_of,
)
from counterfoil.registry.subjects.versions import SubjectHistory, VersionEntry
from counterfoil.schema.contexts import QualifiedSubject
from counterfoil.schema.rest.search_index import HitKind
from counterfoil.schema.searchable import SearchFact

SUBJECT = QualifiedSubject(".eu", "orders")
FACTS = st.lists(
    st.builds(
        SearchFact,
        st.sampled_from([HitKind.ELEMENT, HitKind.DOC, HitKind.TAG]),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["", "x.a"]),
        st.sampled_from(["int", "long"]),
    ),
    max_size=4,
)
VERSIONS = st.lists(
    st.tuples(FACTS, st.booleans(), st.integers(1, 3), st.sampled_from(["AVRO", "JSON"])), min_size=1, max_size=7
)


def made_of(versions: list[tuple[list[SearchFact], bool, int, str]]) -> tuple[SubjectHistory, list[VersionFacts]]:
    entries, facts, number = [], [], 0
    for found, is_deleted, gap, language in versions:
        number += gap
        entries.append(VersionEntry(number, number, UUID(int=number), is_deleted, 0))
        facts.append(VersionFacts(number, language, found))
    return SubjectHistory(1, tuple(entries)), facts


@given(VERSIONS, st.data())
def test_one_version_after_the_other_is_as_all_at_once(
    versions: list[tuple[list[SearchFact], bool, int, str]], data: st.DataObject
):
    history, facts = made_of(versions)
    whole = NOT_INDEXED.with_versions(history, facts)
    stepwise, done = NOT_INDEXED, 0
    while done < len(facts):
        until = data.draw(st.integers(done + 1, len(facts)))
        part = SubjectHistory(1, history.entries[:until])
        after = stepwise.with_versions(part, facts[done:until])
        new, old = after.differences(stepwise, SUBJECT)
        assert {*stepwise.rows(SUBJECT)} - {*old} | {*new} == {*after.rows(SUBJECT)}
        stepwise = IndexedSubject.unpacked(after.packed())
        assert stepwise == after
        assert stepwise.is_beginning_of(history)
        done = until
    assert stepwise == whole


@given(VERSIONS)
def test_a_fact_is_in_exactly_the_versions_of_its_lives(versions: list[tuple[list[SearchFact], bool, int, str]]):
    history, facts = made_of(versions)
    found = NOT_INDEXED.with_versions(history, facts)
    for version, language, present in facts:
        alive = {
            (life.fact, life.language)
            for life in found.lives
            if life.since <= version and (life.until is None or version <= life.until)
        }
        assert alive == {(fact, language) for fact in present}
    latest = history.latest
    for life in found.lives:
        state = found.state_of(life.since, life.until)
        inside = [each for each in history.entries if life.since <= each.version <= (life.until or found.last)]
        if latest is not None and latest in inside:
            assert state is LifeState.LATEST
        else:
            assert state is (LifeState.EARLIER if any(not each.deleted for each in inside) else LifeState.DELETED)


def test_another_beginning_is_not_a_beginning():
    history, facts = made_of([([], False, 1, "AVRO"), ([], False, 1, "AVRO")])
    found = NOT_INDEXED.with_versions(history, facts)
    assert found.is_beginning_of(history)
    assert not found.is_beginning_of(SubjectHistory(1, history.entries[:1]))
    assert not found.is_beginning_of(SubjectHistory(1, history.entries[1:]))
    assert not NOT_INDEXED.is_beginning_of(history)


def test_rows_of_a_subject():
    history, facts = made_of([([SearchFact(HitKind.ELEMENT, "a", "a", "int")], False, 1, "AVRO")])
    rows = list(NOT_INDEXED.with_versions(history, facts).rows(SUBJECT))
    assert [(row.word.role, row.word.text) for row in rows] == [
        (HitRole.SUBJECT, "orders"),
        (HitRole.ELEMENT, "a"),
        (HitRole.TYPE, "int"),
    ]
    assert {subject_of(row.scope) for row in rows} == {SUBJECT}
    assert scope_key(SUBJECT) == ".eu\x1forders"
