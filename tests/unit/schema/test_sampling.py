"""Which offsets a sample consists of, and how they are read."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.sampling import (
    Strategy,
    choose_offsets,
    read_duration_ms,
    read_moment_ms,
    share_at_most,
    turns_of,
)

BOUNDS = st.dictionaries(
    st.integers(0, 8),
    st.tuples(st.integers(0, 10_000), st.integers(0, 5_000)).map(lambda each: (each[0], each[0] + each[1])),
    max_size=5,
)


def offsets_of(ranges):
    return [offset for first, end in ranges for offset in range(first, end)]


@given(BOUNDS, st.sampled_from(Strategy), st.integers(1, 3_000), st.integers(0, 5))
def test_a_sample_has_offsets_of_the_topic_at_most_as_many_as_allowed_and_is_the_same_again(
    bounds, strategy, limit, seed
):
    chosen = choose_offsets(bounds, strategy, limit=limit, seed=seed)
    assert chosen == choose_offsets(bounds, strategy, limit=limit, seed=seed)
    for number, ranges in chosen.items():
        first, end = bounds[number]
        assert all(first <= low < high <= end for low, high in ranges)
        assert all(before[1] <= after[0] for before, after in pairwise(ranges))
    total = sum(end - first for first, end in bounds.values())
    if strategy is Strategy.ALL:
        assert sum(end - first for ranges in chosen.values() for first, end in ranges) == total
    elif strategy is not Strategy.SPREAD:
        assert sum(end - first for ranges in chosen.values() for first, end in ranges) == min(limit, total)


@given(BOUNDS, st.sampled_from(Strategy), st.integers(1, 3_000))
def test_turns_read_every_offset_of_a_sample_once_and_no_other(bounds, strategy, limit):
    chosen = choose_offsets(bounds, strategy, limit=limit)
    read = {number: [] for number in chosen}
    for turn in turns_of(chosen):
        for number, (first, end) in turn.spans.items():
            read[number] += [offset for offset in range(first, end) if turn.takes(number, offset)]
    assert read == {number: offsets_of(ranges) for number, ranges in chosen.items()}


def test_newest_and_oldest_share_the_limit_among_partitions():
    bounds = {0: (0, 100), 1: (10, 12), 2: (5, 5), 3: (0, 100)}
    assert choose_offsets(bounds, Strategy.NEWEST, limit=10) == {0: ((96, 100),), 1: ((10, 12),), 3: ((96, 100),)}
    assert choose_offsets(bounds, Strategy.OLDEST, limit=10) == {0: ((0, 4),), 1: ((10, 12),), 3: ((0, 4),)}


def test_a_spread_sample_has_the_oldest_and_the_newest_of_every_partition():
    chosen = choose_offsets({0: (0, 1_000), 1: (500, 900)}, Strategy.SPREAD, limit=100, seed=3)
    for number, (first, end) in {0: (0, 1_000), 1: (500, 900)}.items():
        assert chosen[number][0][0] == first
        assert chosen[number][-1][1] == end


def test_random_offsets_are_spread_evenly_over_partitions_of_different_sizes():
    chosen = choose_offsets({0: (0, 9_000), 1: (0, 1_000)}, Strategy.RANDOM, limit=1_000, seed=1)
    of_the_small = len(offsets_of(chosen[1]))
    assert 60 < of_the_small < 140
    assert chosen != choose_offsets({0: (0, 9_000), 1: (0, 1_000)}, Strategy.RANDOM, limit=1_000, seed=2)


def test_the_rule_of_three_and_the_limit_for_samples_with_failures():
    assert share_at_most(0, 300) == pytest.approx(0.01)
    assert share_at_most(0, 2) == 1.0
    assert share_at_most(0, 0) == 1.0
    assert 0.1 < share_at_most(10, 100) < 0.2
    assert share_at_most(100, 100) == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "36", "yesterday", "2026-13-01", "-3h", "1.5h"])
def test_other_texts_are_no_moments(text):
    with pytest.raises(ValueError):  # noqa: PT011 - the commands name the text
        read_moment_ms(text, now_s=0)


@pytest.mark.parametrize("text", ["", "P", "PT", "PT0S", "P1Y", "P1M", "1h", "PT1.5H"])
def test_other_texts_are_no_durations(text):
    with pytest.raises(ValueError):  # noqa: PT011 - likewise
        read_duration_ms(text)
