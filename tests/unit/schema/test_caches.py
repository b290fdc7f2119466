"""Caches are bounded by bytes, whatever sizes callers choose."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.caches import cached_by_size, cached_if_short
from counterfoil.schema.jsontext.java import java_hash
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import outline
from counterfoil.schema.patterns.matching import compile_pattern
from counterfoil.schema.units import is_unit


def _counted(calls: list[str]):
    def function(text: str) -> str:
        calls.append(text)
        return text * 2

    return function


@given(st.lists(st.text("ab", max_size=12), max_size=60))
def test_a_cache_by_size_returns_what_the_function_returns(texts: list[str]):
    calls: list[str] = []
    cached = cached_by_size(40, size_of=lambda result, _: len(result))(_counted(calls))
    assert [cached(text) for text in texts] == [text * 2 for text in texts]
    assert set(calls) == set(texts)


def test_a_cache_by_size_removes_the_least_recently_used():
    calls: list[str] = []
    cached = cached_by_size(32, size_of=lambda result, _: len(result))(_counted(calls))
    for text in ("aaaa", "bbbb", "cccc", "dddd", "aaaa", "eeee", "bbbb", "aaaa"):
        cached(text)
    assert calls == ["aaaa", "bbbb", "cccc", "dddd", "eeee", "bbbb"]


def test_a_large_result_is_cached_alone_or_not_at_all():
    for keeps_large, most in ((True, 1), (False, 3)):
        calls: list[str] = []
        cached = cached_by_size(32, size_of=lambda result, _: len(result), keeps_large=keeps_large)(_counted(calls))
        for _ in range(3):
            cached("a" * 100)
        assert len(calls) == most


def test_keyword_arguments_are_part_of_the_key():
    @cached_by_size(100, size_of=lambda result, *_: len(result))
    def joined(one: str, other: str = "b") -> str:
        return one + other

    assert (joined("a"), joined("a", other="c"), joined("a", "d")) == ("ab", "ac", "ad")


def test_a_cache_of_short_arguments_calls_the_function_for_long_ones():
    calls: list[str] = []
    cached = cached_if_short(10, longest=3)(_counted(calls))
    for text in ("abc", "abc", "abcd", "abcd"):
        assert cached(text) == text * 2
    assert calls == ["abc", "abcd", "abcd"]


@pytest.mark.slow
def test_long_texts_do_not_stay():
    tracemalloc.start()
    try:
        for index in range(40):
            text = f"{index % 10}" * 400_000
            java_hash(text[:2_000])
            is_unit(text)
            outline(f'{{"title":"{text}"}}', SchemaType.JSON)
            del text
        assert tracemalloc.get_traced_memory()[0] < 12_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_compiled_patterns_do_not_stay():
    kept = [weakref.ref(compiled) for index in range(8) if (compiled := compile_pattern(f"[a-z]{{{19_000 + index}}}"))]
    del compiled
    gc.collect()
    assert len(kept) == 8
    assert sum(each() is not None for each in kept) <= 2
