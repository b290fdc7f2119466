from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.contexts import (
    GLOBAL_LEVEL,
    TOP_LEVEL,
    QualifiedSubject,
    SubjectPrefix,
    parse_prefix,
    parse_subject,
)


@pytest.mark.parametrize(
    ("text", "context", "name", "printed"),
    [
        ("foo", ".", "foo", "foo"),
        (":.:foo", ".", "foo", "foo"),
        (":.ctx:foo", ".ctx", "foo", ":.ctx:foo"),
        (":.ctx:a:b", ".ctx", "a:b", ":.ctx:a:b"),
        (":.ctx:", ".ctx", "", ":.ctx:"),
        (":.ctx", ".ctx", "", ":.ctx:"),
        (":foo", ".", ":foo", ":foo"),
        ("", ".", "", ""),
    ],
)
def test_names_and_how_they_are_printed(text: str, context: str, name: str, printed: str) -> None:
    subject = parse_subject(text)
    assert (subject.context, subject.name, str(subject)) == (context, name, printed)


def test_a_plain_name_is_one_of_the_context_that_it_is_used_in() -> None:
    assert parse_subject("foo", context=".c") == QualifiedSubject(".c", "foo")
    assert parse_subject(":.:foo", context=".c") == QualifiedSubject(".", "foo")


def test_levels_above_subjects() -> None:
    assert parse_subject(":.:") == TOP_LEVEL
    assert parse_subject(":.__GLOBAL:") == GLOBAL_LEVEL
    assert TOP_LEVEL.is_context
    assert GLOBAL_LEVEL.is_global
    assert not parse_subject("x").is_context


def test_prefixes() -> None:
    assert parse_prefix(":*:a") == SubjectPrefix(None, "a")
    assert parse_prefix("") == SubjectPrefix(".", "")
    assert parse_prefix(":.c:a") == SubjectPrefix(".c", "a")


@given(st.from_regex(r"\.[a-z]{0,3}", fullmatch=True), st.text(max_size=6))
def test_what_is_printed_is_read_back(context: str, name: str) -> None:
    subject = QualifiedSubject(context, name)
    if context != "." or not name.startswith(":."):
        assert parse_subject(str(subject)) == subject
