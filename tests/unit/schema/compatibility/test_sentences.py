"""Sentences: the two sides are called what the place calls them, and names out of schemas are left alone."""

from __future__ import annotations

import pytest

from counterfoil.schema.compatibility.rules import Sentence, SideNames

NAMES = SideNames("this schema", "the earlier one", "this schema's", "the earlier schema's")
AWKWARD = ("the reader", "The writer", "this one's", "the reader's", "{name}", "{", "%s", "", "Order", "a/b~c.d[]<e>")


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_is_never_taken_for_a_side(name: str):
    sentence = Sentence.of("The reader lacks {name}, which the writer's record has", {"name": name})
    assert sentence.render(NAMES) == f"This schema lacks {name}, which the earlier schema's record has"


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_at_the_start_keeps_its_letters(name: str):
    sentence = Sentence.of("{name} is not what the reader expects", {"name": name})
    assert sentence.render(NAMES, is_start=False) == f"{name} is not what this schema expects"


def test_a_sentence_inside_another_names_the_same_sides():
    inner = Sentence.of("The reader expects {type}", {"type": "the writer"})
    outer = Sentence.of("The reader has no branch: {why}", {"why": inner})
    assert outer.render(NAMES) == "This schema has no branch: this schema expects the writer"
    assert str(outer) == "The reader has no branch: the reader expects the writer"


def test_a_list_of_names_is_one_fact():
    sentence = Sentence.of("The reader lacks {symbols}", {"symbols": ("A", "B")})
    assert str(sentence) == "The reader lacks A, B"
    assert sentence.fact("symbols") == ("A", "B")
    assert sentence.fact("nothing") is None
