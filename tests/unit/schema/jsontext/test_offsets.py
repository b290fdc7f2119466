"""The offsets of values by pointer: the judge is the decoder of the standard library."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.json_offsets import JsonOffsets
from counterfoil.schema.jsontext import TextIndex, locate
from counterfoil.schema.texts import Position, print_pointer
from strategies.cases.json_places import json_places
from strategies.json_schema.schemas import json_values

if TYPE_CHECKING:
    from typing import Any

MOST_BYTES_A_CHARACTER = 200
SPELLINGS = st.fixed_dictionaries({"indent": st.sampled_from([None, 0, 3]), "ensure_ascii": st.booleans()})


@given(json_values, SPELLINGS)
def test_each_value_is_at_the_offset_that_the_decoder_finds(value: Any, spelling: dict[str, Any]):
    text = json.dumps(value, **spelling)
    offsets, places = JsonOffsets(text), json_places(text)
    for pointer, offset in places.items():
        assert offsets.find(pointer) == offset
        line = text.count("\n", 0, offset) + 1
        assert locate(text, (*pointer, "no", 1)) == Position(line, offset - text.rfind("\n", 0, offset))
    found = {offsets.first_between(offset, offset + 1) for offset in places.values()}
    assert found == {print_pointer(pointer) for pointer in places}


def test_of_two_equal_keys_the_last_one_counts_with_what_is_in_it():
    index = TextIndex('{"a": {"b": 1, "c": 2}, "a": {"b": 3}}')
    assert index.locate(("a", "b")) == Position(1, 36)
    assert index.locate(("a", "c")) == index.locate(("a",)) == Position(1, 30)


def test_what_is_no_json_has_no_places():
    assert locate('{"a": 1', ("a",)) is None
    assert locate("", ()) is None
    assert locate('/* c */ {"a": // d\n 1}', ("a",)) == Position(2, 2)


@pytest.mark.slow
def test_deep_values_take_no_memory_for_each_level():
    """A pointer as a whole for each of the values took eight bytes for each level, 1.5 kB for each number."""
    text = "[" * 190 + ",".join("1" for _ in range(20_000)) + "]" * 190
    tracemalloc.start()
    try:
        assert locate(text, (0,) * 189 + (3,)) == Position(1, 197)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < MOST_BYTES_A_CHARACTER * len(text)
