"""The order of Java's hash sets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.jsontext.java import java_hash, java_hash_order


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("id", 3355),
        ("name", 3373707),
        ("Aa", 2112),
        ("BB", 2112),
        ("polygenelubricants", 0x80000000),  # the well-known one, whose hash is Java's least int
        ("\U0001f600", 31 * 0xD83D + 0xDE00),  # two UTF-16 units
    ],
)
def test_hash_codes(text: str, code: int):
    assert java_hash(text) == code


def test_texts_with_one_hash_keep_the_order_in_which_they_came():
    assert java_hash_order(["Aa", "BB"]) == ["Aa", "BB"]
    assert java_hash_order(["BB", "Aa"]) == ["BB", "Aa"]


def test_more_texts_have_more_buckets():
    assert java_hash_order("ap") == ["p", "a"]  # 112 is 0 modulo 16, 97 is 1
    letters = [chr(ord("a") + number) for number in range(26)]
    assert java_hash_order(letters) == letters  # from 25 texts on there are 64 buckets, and 97 is 33 modulo 64


@given(st.lists(st.text(max_size=5)))
def test_each_text_comes_back_once(texts: list[str]):
    assert sorted(java_hash_order(texts)) == sorted(set(texts))
