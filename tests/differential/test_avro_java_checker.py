"""Apache Avro's own checker for Java, which Confluent's registry asks: the same verdicts, types, places and order."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

from java_oracle import ask_java
from pairs import COUNT, pairs, parsed_pairs

from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.policies import find_differences


@cache
def answers() -> tuple[dict[str, Any], ...]:
    return tuple(ask_java(pairs()))


@cache
def ours() -> tuple[list[tuple[str, str]], ...]:
    """Error types and paths; an ambiguous field has no type."""
    return tuple([(each.error_type, each.path) for each in find_differences(*pair)] for pair in parsed_pairs())


def test_what_java_finds_is_found_in_the_same_places_and_order():
    assert len(answers()) == COUNT
    wrong = [
        (pair, theirs, mine)
        for pair, theirs, mine in zip(pairs(), answers(), ours(), strict=True)
        if "threw" not in theirs and [(each[0], each[1]) for each in theirs.get("found", [["UNREAD", ""]])] != mine
    ]
    assert wrong == []


def test_java_throws_for_ambiguous_fields_and_for_nothing_else():
    """The one place where the two differ in form: what is an exception there is a difference without a type here."""
    ambiguous = [
        [each.rule for each in find_differences(*pair)] == [rules.AMBIGUOUS_ALIAS.id] for pair in parsed_pairs()
    ]
    assert ["threw" in theirs for theirs in answers()] == ambiguous


def test_the_pairs_are_worth_asking_about():
    """Both verdicts often, and every rule of the reference many times."""
    types = Counter(error_type for found in ours() for error_type, _ in found)
    assert set(types) == {rule.error_type for rule in rules.RULES}
    assert min(types.values()) >= COUNT // 200
    assert COUNT // 4 < sum(found == [] for found in ours()) < 3 * COUNT // 4
