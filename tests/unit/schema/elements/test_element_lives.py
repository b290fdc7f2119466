"""The lives of elements through versions: the judge asks each version for each element."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.elements import element_facts, element_lives, find_elements, rows_with_since
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.rest.inspection import ElementKind, ElementRow

FIELDS = st.lists(
    st.builds(
        lambda path, type_, doc, line: ElementRow(
            path, ElementKind.FIELD, type_, doc=doc, line=line, pointer=f"/{line}"
        ),
        st.sampled_from("abc"),
        st.sampled_from(["int", "long"]),
        st.sampled_from(["", "x"]),
        st.integers(1, 3),
    ),
    max_size=4,
    unique_by=lambda row: row.path,
)
HISTORIES = st.lists(FIELDS, max_size=6).map(
    lambda versions: [(2 * number + 1, tuple(rows)) for number, rows in enumerate(versions)]
)


@given(HISTORIES)
def test_each_element_of_each_version_is_in_one_life(history: list[tuple[int, tuple[ElementRow, ...]]]):
    lives = element_lives(history)
    last = history[-1][0] if history else 0
    for version, rows in history:
        alive = [life for life in lives if life.since <= version <= (life.until or last)]
        assert sorted(map(_key, rows)) == sorted(_key(life.row) for life in alive)


@given(HISTORIES)
def test_a_life_begins_and_ends_where_its_facts_do(history: list[tuple[int, tuple[ElementRow, ...]]]):
    numbers = [version for version, _ in history]
    rows_by_version = {version: {row.path: row for row in rows} for version, rows in history}
    for life in element_lives(history):
        first, after = numbers.index(life.since), numbers.index(life.until) + 1 if life.until else len(numbers)
        for beyond in ([first - 1] if first else []) + ([after] if after < len(numbers) else []):
            other = rows_by_version[numbers[beyond]].get(life.row.path)
            assert other is None or element_facts(other) != element_facts(life.row)
        assert (life.until is None) == (after == len(numbers))


@given(HISTORIES)
def test_since_is_the_version_since_which_there_is_no_gap(history: list[tuple[int, tuple[ElementRow, ...]]]):
    rows = rows_with_since(history)
    assert [replace(row, since=None) for row in rows] == [*(history[-1][1] if history else ())]
    for row in rows:
        expected = None
        for version, earlier in reversed(history):
            if row.path not in {each.path for each in earlier}:
                break
            expected = version
        assert row.since == expected


@given(HISTORIES)
def test_the_open_lives_are_the_rows_of_the_last_version(history: list[tuple[int, tuple[ElementRow, ...]]]):
    open_lives = [life.row for life in element_lives(history) if life.until is None]
    assert sorted(open_lives, key=lambda row: row.path) == sorted(rows_with_since(history), key=lambda row: row.path)


def _key(row: ElementRow) -> str:
    return f"{row.path} {row.type} {row.doc}"


def _version(fields: str) -> tuple[ElementRow, ...]:
    return find_elements(parse_schema(f'{{"type": "record", "name": "A", "fields": [{fields}]}}'))


def test_a_change_of_a_fact_begins_a_life_and_a_moved_field_does_not():
    a, documented = '{"name": "a", "type": "int"}', '{"name": "a", "type": "int", "doc": "x"}'
    b = '{"name": "b", "type": "int"}'
    history = [(1, _version(a)), (2, _version(f"{b}, {a}")), (4, _version(f"{b}, {documented}")), (5, _version(b))]
    lives = [(life.row.path, life.row.doc, life.since, life.until, life.row.since) for life in element_lives(history)]
    assert lives == [("a", "", 1, 2, 1), ("b", "", 2, None, 2), ("a", "x", 4, 4, 1)]


def test_two_elements_with_one_path_have_their_own_lives():
    row = ElementRow("a", ElementKind.FIELD, "int")
    lives = element_lives([(1, (row, replace(row, type="long"))), (2, (row,))])
    assert [(life.row.type, life.until) for life in lives] == [("int", None), ("long", 1)]
