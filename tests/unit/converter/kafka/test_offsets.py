from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.kafka.offsets import OffsetSet

NUMBERS = st.lists(st.integers(0, 60))


def made_of(numbers: list[int]) -> OffsetSet:
    found = OffsetSet()
    for number in numbers:
        found.add(number)
    return found


@given(NUMBERS)
def test_it_is_a_set(numbers: list[int]):
    found = OffsetSet()
    plain: set[int] = set()
    for number in numbers:
        assert found.add(number) is (number not in plain)
        plain.add(number)
    assert len(found) == len(plain)
    assert {number for number in range(-1, 62) if number in found} == plain


@given(NUMBERS)
def test_intervals_are_ascending_and_apart(numbers: list[int]):
    runs = list(made_of(numbers))
    assert all(first <= last for first, last in runs)
    assert all(later[0] > earlier[1] + 1 for earlier, later in itertools.pairwise(runs))
    assert [number for first, last in runs for number in range(first, last + 1)] == sorted(set(numbers))


@given(NUMBERS)
def test_order_of_adding_does_not_matter(numbers: list[int]):
    assert made_of(numbers) == made_of(sorted(numbers)) == made_of(numbers[::-1])


@pytest.mark.slow
def test_a_million_in_a_row_are_one_interval():
    assert list(made_of(list(range(1_000_000)))) == [(0, 999_999)]
