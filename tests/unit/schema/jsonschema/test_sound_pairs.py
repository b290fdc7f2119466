"""SOUND on generated pairs of schemas of every draft, with every keyword, judged by two validators that are not ours.

COUNTERFOIL_DIFFERENTIAL_PAIRS says how many pairs; ``make differential`` asks about 20,000.
"""

from __future__ import annotations

import json
import os
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import jsonschema
import jsonschema_rs
import pytest

from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.schema import parse_json_schema
from counterfoil.schema.languages.jsonschema.sound.policy import decide
from counterfoil.schema.parsed import Validation
from strategies.json_schema.evolutions import evolutions, widenings
from strategies.json_schema.guesses import Guesser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.languages.jsonschema.schema import JsonSchema
    from counterfoil.schema.languages.jsonschema.sound.policy import InclusionDecision

SEEDS = range(4)
COUNT = int(os.environ.get("COUNTERFOIL_DIFFERENTIAL_PAIRS") or 200) // len(SEEDS)
GUESSES = 60
VALIDATOR_BY_DRAFT: dict[Draft, Any] = {
    Draft.DRAFT_4: jsonschema.Draft4Validator,
    Draft.DRAFT_6: jsonschema.Draft6Validator,
    Draft.DRAFT_7: jsonschema.Draft7Validator,
    Draft.DRAFT_2019_09: jsonschema.Draft201909Validator,
    Draft.DRAFT_2020_12: jsonschema.Draft202012Validator,
}


class Judge:
    """Two validators for a writer and a reader."""

    def __init__(self, writer: dict[str, Any], reader: dict[str, Any], draft: Draft) -> None:
        in_python = VALIDATOR_BY_DRAFT[draft]
        self._in_python = [in_python(exact(one)) for one in (writer, reader)]
        try:
            self._in_rust = [jsonschema_rs.validator_for(one, validate_formats=False) for one in (writer, reader)]
        except ValueError:  # a schema that this one does not take
            self._in_rust = []

    def votes(self, value: Any) -> Iterator[bool]:
        """What each validator says: whether the writer's schema accepts ``value`` and the reader's does not."""
        for writer, reader in [self._in_rust] if self._in_rust else []:
            yield writer.is_valid(value) and not reader.is_valid(value)
        writer, reader = self._in_python
        try:
            yield writer.is_valid(exact(value)) and not reader.is_valid(exact(value))
        except (RecursionError, TypeError):  # what it cannot judge, such as ``items: true`` beside unevaluatedItems
            yield False

    def breaks(self, value: Any) -> bool:
        """Whether both say so."""
        return all(self.votes(value))


def exact(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_float=Decimal)


def parsed(document: dict[str, Any]) -> JsonSchema:
    return parse_json_schema(json.dumps(document), validation=Validation.LENIENT)


def broken(rng: random.Random, writer: dict[str, Any], reader: dict[str, Any], judge: Judge) -> Any:
    """A value that breaks a pair, out of many guesses; None where none is found."""
    old, new = Guesser(rng, writer), Guesser(rng, reader)
    for _ in range(GUESSES // 3):
        for value in (old.value(writer), new.value(reader), old.changed(old.value(writer))):
            if judge.breaks(value):
                return value
    return None


def witnesses(decision: InclusionDecision) -> list[Any]:
    values = [value for reason in decision.reasons for value in reason.values][:3]
    return json.loads(json.dumps(values, default=float))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_called_compatible_is_broken_by_no_value(seed: int):
    rng = random.Random(seed)
    unfounded = unbroken = 0
    for writer, reader in evolutions(rng, COUNT):
        decision = decide(parsed(reader), parsed(writer))
        judge = Judge(writer, reader, parsed(writer).draft)
        for value in witnesses(decision):
            is_spelt = parsed(writer).draft is Draft.DRAFT_4 and ".0" in json.dumps(value)
            in_2019 = parsed(writer).draft is Draft.DRAFT_2019_09 and "contains" in json.dumps([writer, reader])
            assert is_spelt or in_2019 or any(judge.votes(value)), (value, writer, reader)
        if not decision.is_refuted:
            value = broken(rng, writer, reader, judge)
            assert value is None or not decision.is_proved, (value, writer, reader)
            unbroken += value is None
            unfounded += value is None and not decision.is_proved
    assert unfounded <= 0.05 * unbroken


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_widenings_are_compatible(seed: int):
    refused = []
    for writer, reader in widenings(random.Random(100 + seed), COUNT):
        decision = decide(parsed(reader), parsed(writer))
        judge = Judge(writer, reader, parsed(writer).draft)
        is_wider = not any(judge.breaks(value) for value in witnesses(decision))
        refused += [(writer, reader)] if is_wider and not decision.is_proved else []
    assert len(refused) <= 0.02 * COUNT, refused[:3]
