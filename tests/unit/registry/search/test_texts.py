"""Folding, matching and marking names, and the words of documentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.search.texts import (
    Closeness,
    closeness,
    contains,
    fold,
    marks_in,
    storable,
    trigrams,
    words_of_doc,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("customer_email", "customeremail"),
        ("Customer.E-Mail", "customeremail"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("e\u0301", "é"),
        ("__", "__"),
        ("a\x00b\ud800", "a\ufffdb\ufffd"),
        ("", ""),
    ],
)
def test_folding(text: str, folded: str):
    assert fold(text) == folded


@given(st.text(max_size=40))
def test_what_is_folded_can_be_stored_and_stays(text: str):
    folded = fold(text)
    assert storable(folded).encode() == folded.encode()
    assert bool(folded) == bool(text)
    if text.isascii():
        assert fold(text.upper()) == folded


@pytest.mark.parametrize(
    ("name", "word", "found"),
    [
        ("email", "email", Closeness.EXACT),
        ("emailaddress", "email", Closeness.BEGINNING),
        ("customeremail", "email", Closeness.INSIDE),
        ("customeremail", "em", None),
        ("email", "em", Closeness.BEGINNING),
        ("email", "mails", None),
        ("", "a", None),
    ],
)
def test_closeness(name: str, word: str, found: Closeness | None):
    assert closeness(name, word) is found
    assert contains(name, word) == (found is not None)


def test_trigrams():
    assert trigrams("abcabc") == ["abc", "bca", "cab"]
    assert trigrams("ab") == []


def test_words_of_documentation():
    assert words_of_doc("The customer_id, as typed (NOT trimmed).") == [
        *("the", "customer", "id", "as", "typed", "not", "trimmed"),
        "customerid",
    ]
    assert words_of_doc("…?!") == []


@pytest.mark.parametrize(
    ("text", "words", "marks"),
    [
        ("customerEmail", ["email"], ((8, 13),)),
        ("customer_e_mail", ["email"], ((9, 15),)),
        ("ababab", ["ab", "ba"], ((0, 6),)),
        ("Straße", ["strasse"], ((0, 6),)),
        ("nothing", ["x"], ()),
    ],
)
def test_marks(text: str, words: list[str], marks: tuple[tuple[int, int], ...]):
    assert marks_in(text, words) == marks


@given(st.text(max_size=30), st.text(min_size=1, max_size=5))
def test_marks_are_ranges_of_the_text(text: str, word: str):
    end = 0
    for first, last in marks_in(text, [fold(word)]):
        assert end <= first < last <= len(text)
        end = last
