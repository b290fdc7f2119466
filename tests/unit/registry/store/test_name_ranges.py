"""Prefixes as ranges of names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.registry.store.name_ranges import above

TEXTS = st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from("a\ud7ff\ue000\U0010ffff"), max_size=6)


@given(TEXTS, TEXTS, TEXTS)
def test_a_name_is_in_the_range_if_it_begins_so(prefix: str, name: str, rest: str) -> None:
    for candidate in (name, prefix + rest, prefix):
        high = above(prefix)
        assert (prefix <= candidate and (high is None or candidate < high)) == candidate.startswith(prefix)
    if (high := above(prefix)) is not None:
        high.encode()
