"""The search for a value that shows one difference, confirmed by another project's validator, and its description."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import chain, islice
from typing import Final

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility import OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.findings import (
    BEYOND_LIMITS,
    Confirmation,
    Difference,
    NoWitness,
    Sentence,
    Witness,
)
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.compare.rule_table import CONTENT_MISREAD, FORMAT_MISREAD
from counterfoil.schema.languages.jsonschema.json_values import print_exact
from counterfoil.schema.languages.jsonschema.schema import JsonSchema, check_validity
from counterfoil.schema.languages.jsonschema.sound.misreadings import (
    VALUES_A_PLACE,
    JsonMisreading,
    Meanings,
    find_misreadings,
)
from counterfoil.schema.languages.jsonschema.validator import (
    SchemaValidator,
    ValidationFailure,
    ValidatorRefuses,
    validator_name,
)
from counterfoil.schema.languages.jsonschema.values.samples import MAX_BUILT, MAX_VARIATIONS, Sampler, Step
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.paths import Step as SchemaStep
from counterfoil.schema.paths import StepKind
from counterfoil.schema.texts import excerpt

# The place in a value that a difference concerns, and whether a validation failure comes from it.
#
# A difference has the path by which the comparison reached it in both schemas: ``#/properties/a/items`` leads to the
# items of property ``a``, while ``#/allOf/1`` stays at the same value.

_BRANCHES: Final = frozenset({"allOf", "anyOf", "oneOf"})
_IN_PLACE: Final = frozenset({"not", "if", "then", "else"})
_ANY_NAME: Final = frozenset({"additionalProperties", "unevaluatedProperties"})
_ANY_ITEM: Final = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
_NAMED_IN_PLACE: Final = frozenset({"dependencies", "dependentRequired", "dependentSchemas"})
_OF_COMBINATIONS: Final = frozenset({"oneOf", "anyOf", "allOf", "not", "if", "dependencies", "dependentSchemas"})
_OF_NAMES: Final = frozenset(
    {"additionalProperties", "unevaluatedProperties", "required", "propertyNames", *_NAMED_IN_PLACE}
)
_OF_ITEMS: Final = frozenset({"additionalItems", "unevaluatedItems", "items", "minItems", "maxItems", "contains"})


NO_KEYWORD: Final = "None"
"""The keyword of a failure at the schema ``false``, whose path lacks the last step of the place."""


class ValuePlace:
    """The place in a value that a difference concerns.

    ``steps`` lead to it from the root; ``keyword`` is the keyword at the end of the path, or None if it ends in a
    schema.
    """

    def __init__(self, steps: tuple[Step, ...], keyword: str | None) -> None:
        self.steps = steps
        self.keyword = keyword

    def explains(self, failure: ValidationFailure) -> bool:
        """Return whether a failure is exactly at the difference: at this place, with this keyword."""
        if self.keyword is None:
            return self._is_at(failure.path) or (failure.keyword == NO_KEYWORD and self._is_at((*failure.path, None)))
        return failure.keyword == self.keyword and self._is_at(failure.path)

    def is_near(self, failure: ValidationFailure) -> bool:
        """Return whether a failure may come from the difference: at this place, inside it, or at a value around it.

        Around it, only keywords that apply schemas or limits to the inside count.
        """
        path = failure.path
        if self._starts(path[: len(self.steps)]) and len(path) >= len(self.steps):
            return True
        if not self._starts(path):
            return False
        return failure.keyword in _OF_COMBINATIONS or (
            len(path) + 1 == len(self.steps) and failure.keyword in _OF_NAMES | _OF_ITEMS
        )

    def _is_at(self, path: tuple[Step, ...]) -> bool:
        return len(path) == len(self.steps) and self._starts(path)

    def _starts(self, path: tuple[Step, ...]) -> bool:
        pairs = zip(path, self.steps, strict=False)
        return len(path) <= len(self.steps) and all(None in (step, taken) or step == taken for taken, step in pairs)


def place_of(difference: Difference) -> ValuePlace:
    """Return the place of a difference's path; if it has none, the place of its steps in the reader."""
    if difference.steps is not None:
        return _read(difference.steps)
    steps = (each for each in difference.reader_path if each.kind is not StepKind.BRANCH)
    return ValuePlace(tuple(_in_value(each) for each in steps), None)


def _in_value(step: SchemaStep) -> Step:
    if step.kind is StepKind.MEMBER:
        return step.name
    return int(step.name) if step.kind is StepKind.ITEM and step.name else None


def _read(tokens: Sequence[str]) -> ValuePlace:
    steps: list[Step] = []
    rest = tokens
    while rest:
        name, rest = rest[0], rest[1:]
        if name == "required" or (name in _NAMED_IN_PLACE and len(rest) < 2):  # noqa: PLR2004  # a name and what follows
            return ValuePlace(tuple(steps), name)
        if name in _BRANCHES or name in _NAMED_IN_PLACE:
            rest = rest[1:]
        elif name in ("properties", "patternProperties"):
            steps.append(rest[0] if rest and name == "properties" else None)
            rest = rest[1:]
        elif name in ("items", "prefixItems") and rest and rest[0].isdigit():
            steps.append(int(rest[0]))
            rest = rest[1:]
        elif name in _ANY_ITEM or (name in _ANY_NAME and rest):
            steps.append(None)
        elif name not in _IN_PLACE:
            return ValuePlace(tuple(steps), name)
    return ValuePlace(tuple(steps), None)


# The descriptions of the place and the reason of a failure.

_WORDS_BY_KEYWORD: Final = {
    "type": "the reader expects {limit}",
    "enum": "the value is none of {limit}",
    "const": "the value is not {limit}",
    "minimum": "the number is beyond the minimum {limit}",
    "maximum": "the number is beyond the maximum {limit}",
    "exclusiveMinimum": "the number is not above {limit}",
    "exclusiveMaximum": "the number is not below {limit}",
    "multipleOf": "the number is no multiple of {limit}",
    "minLength": "the string is shorter than {limit}",
    "maxLength": "the string is longer than {limit}",
    "pattern": "the string does not match {limit}",
    "minItems": "the array has fewer items than {limit}",
    "maxItems": "the array has more items than {limit}",
    "uniqueItems": "two items are equal",
    "contains": "no item, or not the right number of them, is as the reader asks",
    "items": "the item may not be there",
    "additionalItems": "there are more items than the reader knows",
    "unevaluatedItems": "there are more items than the reader knows",
    "required": "a property that the reader requires is not there",
    "minProperties": "the object has fewer properties than {limit}",
    "maxProperties": "the object has more properties than {limit}",
    "additionalProperties": "the reader does not allow a property that it does not know",
    "unevaluatedProperties": "the reader does not allow a property that it does not know",
    "propertyNames": "the name of a property is not as the reader asks",
    "dependencies": "a property is there without another that the reader asks for with it",
    "dependentRequired": "a property is there without another that the reader asks for with it",
    "not": "the value is as the reader says that it must not be",
    "anyOf": "the value fits no branch of the reader's anyOf",
    "oneOf": "the value does not fit exactly one branch of the reader's oneOf",
}


def step_in_words(failure: ValidationFailure) -> Sentence:
    """Return the place of a failure and its reason: ``property a, item 0: the string is longer than 5``."""
    way = way_in_words(failure.path)
    reason = "nothing is valid there" if failure.limit is False else _WORDS_BY_KEYWORD.get(failure.keyword)
    if failure.keyword in ("additionalProperties", "unevaluatedProperties", "uniqueItems", "items", "additionalItems"):
        reason = _WORDS_BY_KEYWORD[failure.keyword]
    template = reason or "the reader's {keyword} is not kept"
    facts = {"way": way, "keyword": failure.keyword, "limit": _shown(failure.limit)}
    return Sentence.of(f"{{way}}: {template}" if way else template, facts)


def way_in_words(path: Sequence[str | int]) -> str:
    """Return the description of a place in a value: ``property a, item 0``."""
    return ", ".join(f"item {step}" if isinstance(step, int) else f"property {step}" for step in path)


def value_text(value: object) -> str:
    """Return a value as JSON text, with exact numbers."""
    return print_exact(value)


def _shown(value: object) -> str:
    return excerpt(print_exact(value) if isinstance(value, dict | list | Decimal | str) else json.dumps(value))


# Smaller variants of a value: without a property, without an item, or with a simpler part.

_MAX_DEPTH: Final = 20


def smaller(value: object, depth: int = 0) -> Iterator[Json]:
    """Yield variants of a value with one thing removed, the largest removals first.

    >>> [*smaller({"a": [1]})]
    [{}, {'a': []}]
    """
    if depth > _MAX_DEPTH:
        return
    match value:
        case dict():
            yield from ({key: item for key, item in value.items() if key != cut} for cut in value)
            for key, item in value.items():
                yield from ({**value, key: less} for less in smaller(item, depth + 1))
        case list():
            yield from ([*value[:cut], *value[cut + 1 :]] for cut in range(len(value)))
            for index, item in enumerate(value):
                yield from ([*value[:index], less, *value[index + 1 :]] for less in smaller(item, depth + 1))


# The search for a value that shows one difference, built from both schemas and confirmed by another validator.
#
# Values that the writer's schema accepts are varied along the difference's path, the most promising ones first. Each is
# validated with the reader's schema and, if that refuses it because of this difference, with the writer's, which must
# accept it. The value found is then made as small as possible.

MAX_TRIED: Final = 240
"""The largest number of values that are tried for one difference."""

MAX_FURTHER: Final = 40
"""The largest number of further values after one that may come from the difference, for one that certainly does."""

MAX_LOOKS: Final = 80_000
"""The largest number of evaluated schemas for all values together; a schema that is used twice counts twice."""

MAX_LOOKS_A_VALUE: Final = 4_000
"""The largest number of schemas that may be evaluated for one value; with more, the slower validator is not called."""

MAX_REFUSALS: Final = 5
"""The largest number of values about which the validator cannot decide, before the search ends."""

USUAL_SIZE: Final = 100_000
"""The number of characters of both schemas up to which the limits apply; for larger ones fewer values are tried."""

MAX_SHRINKINGS: Final = 40

_STEPS_A_LOOK: Final = 30
"""The steps of a schema that a validator evaluates."""
_STEPS_A_VALUE: Final = 100

MISREADINGS: Final = frozenset({FORMAT_MISREAD.id, CONTENT_MISREAD.id})
"""The rules of differences in values that both sides accept."""
_CACHE_CHARS: Final = 100_000
"""The characters of the schemas whose validators are cached for the search for the next difference."""


def search_for_witness(
    reader: JsonSchema, writer: JsonSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a value that ``writer`` accepts and ``reader`` refuses, or the number of tries and why none was found."""
    try:
        search = Search(reader, writer, steps or steps_for(reader, writer))
        if difference.rule in MISREADINGS:
            return search.for_misreading(difference)
        return search.for_difference(difference)
    except OutOfSteps:
        return NoWitness(0, BEYOND_LIMITS)
    except (RecursionError, InvalidSchema, ValidatorRefuses) as problem:
        return NoWitness(0, "the schemas are nested too deep" if isinstance(problem, RecursionError) else str(problem))


class _Side:
    """A schema with its validator; raises ``InvalidSchema`` and ``ValidatorRefuses``."""

    def __init__(self, schema: JsonSchema) -> None:
        check_validity(schema)  # a schema that was stored long ago may be invalid
        self.validator = SchemaValidator(schema)
        self.root = root_of(schema)


@cached_by_size(2 * _CACHE_CHARS, size_of=lambda _, schema: len(schema.text), keeps_large=True)
def _side_of(schema: JsonSchema) -> _Side:
    """Return a side, which is that of both directions of a comparison."""
    return _Side(schema)


@cached_by_size(_CACHE_CHARS, size_of=lambda _, reader, writer: len(reader.text) + len(writer.text), keeps_large=True)
def _sides_of(reader: JsonSchema, writer: JsonSchema) -> tuple[_Side, _Side]:
    if reader == writer:
        return _Side(reader), _Side(writer)  # what is the same place of two sides must not be one value
    return _side_of(reader), _side_of(writer)


class Search:
    """One search, with a validator for each side; raises ``InvalidSchema`` and ``ValidatorRefuses``."""

    def __init__(self, reader: JsonSchema, writer: JsonSchema, steps: Steps) -> None:
        self._steps = steps
        self._schemas = (reader, writer)
        reading, writing = _sides_of(reader, writer)
        self._reader, self._reader_root = reading.validator, reading.root
        self._writer, self._writer_root = writing.validator, writing.root
        self._tried = 0
        self._reason = ""
        self._refusals = 0
        self._evaluator = Evaluator(MAX_LOOKS, steps=steps)
        self._solver = Solver(self._evaluator, trusts_unknown=True)
        self._judged = Evaluator(MAX_LOOKS_A_VALUE, remembers=False)
        size = len(reader.text) + len(writer.text)
        self._share = min(1.0, USUAL_SIZE / size)

    def for_difference(self, difference: Difference) -> Witness | NoWitness:
        """Return a witness that certainly comes from ``difference``, or else one that may come from it."""
        place = place_of(difference)
        second: tuple[Json, ValidationFailure] | None = None
        left = max(1, int(MAX_TRIED * self._share))
        for value in self._values([place.steps, ()] if place.steps else [()]):
            if left == 0 or self._refusals > MAX_REFUSALS:
                break
            left -= 1
            failures = self._failures(value)
            exact, near = _first(failures, place.explains), _first(failures, place.is_near)
            if not (exact or (near and second is None)) or not self._is_written(value):
                continue
            if exact:
                return self._witness(value, exact, place.explains)
            if near:
                second, left = (value, near), min(left, MAX_FURTHER)
        if second:
            return self._witness(*second, place.is_near)
        return NoWitness(self._tried, self._reason or f"{validator_name()} accepts them under the reader's schema")

    def for_misreading(self, difference: Difference) -> Witness | NoWitness:
        """Return a value that both validators accept and that the reader misreads as in ``difference``."""
        for each in find_misreadings(*self._schemas):
            self._tried += 1
            if each.difference() == difference and self._is_written(each.value) and not self._failures(each.value):
                return _misread_witness(each)
        return NoWitness(self._tried, "no value that both schemas accept shows it")

    def for_confirmation(self, count: int) -> Confirmation:
        """Return how many of ``count`` values the reader accepts with the same meaning, up to the first that fails."""
        accepted = 0
        meanings = Meanings(*self._schemas)
        try:
            at_places = [islice(self._values([steps]), VALUES_A_PLACE) for steps in meanings.places]
            anywhere = self._values([()], variations=count)
            for made in islice(chain(*at_places, anywhere), max(1, int(count * 2 * self._share))):
                value = meanings.telling(made)
                self._tried += 1
                if not self._is_written(value):
                    continue
                self._bound(value, self._reader_root)
                failures = self._reader.failures(value)
                if failures:
                    return Confirmation(accepted, self._witness(value, failures[0], lambda _: True))
                misread = next(meanings.misreadings(value), None)
                if misread is not None:
                    return Confirmation(accepted, _misread_witness(misread))
                accepted += 1
                if accepted == count:
                    return Confirmation(accepted)
        except ValidatorRefuses as refused:
            return Confirmation(accepted, reason=str(refused))
        return Confirmation(accepted, reason=self._reason or "no more values of an acceptable size are found")

    def _values(self, ways: list[tuple[Step, ...]], *, variations: int = MAX_VARIATIONS) -> Iterator[Json]:
        for steps in ways:
            try:
                yield from Sampler(
                    self._solver, budget=max(20, int(MAX_BUILT * self._share)), variations=variations
                ).values([(self._writer_root, True)], [self._reader_root], steps)
            except OutOfSteps:
                self._reason = "the writer's values are too many to be tried"
        if not self._tried:
            self._reason = "no value of the writer's schema was found"

    def _failures(self, value: object) -> list[ValidationFailure]:
        """Return the failures of ``value`` for the reader; empty also if the validator cannot decide."""
        self._tried += 1
        try:
            self._bound(value, self._reader_root)
            return [] if self._reader.accepts(value) else self._reader.failures(value)
        except ValidatorRefuses as refused:
            self._refusals += 1
            self._reason = str(refused)
            return []

    def _bound(self, value: object, root: ConstrainedSchema) -> None:
        """Raise ``ValidatorRefuses`` if a validator would evaluate too many schemas for ``value``."""
        self._judged.refill(MAX_LOOKS_A_VALUE)
        try:
            self._judged.may_accept(root, value)
        except OutOfSteps:
            with suppress(OutOfSteps):
                self._evaluator.spend(MAX_LOOKS_A_VALUE)
            raise ValidatorRefuses("the schemas branch too much to be tried") from None
        finally:
            self._steps.spend(_STEPS_A_VALUE + _STEPS_A_LOOK * (MAX_LOOKS_A_VALUE - max(0, self._judged.left)))

    def _is_written(self, value: object) -> bool:
        try:
            self._bound(value, self._writer_root)
            return self._writer.accepts(value)
        except ValidatorRefuses as refused:
            self._reason = str(refused)
            return False

    def _witness(
        self, value: object, failure: ValidationFailure, is_meant: Callable[[ValidationFailure], bool]
    ) -> Witness:
        with suppress(OutOfSteps):
            value, failure = self._smallest(value, failure, is_meant)
        text = value_text(value)
        return Witness(
            datum_json=text,
            body=text.encode(),
            stop=step_in_words(failure),
            confirmed_by=f"{validator_name()}: {failure.message}",
        )

    def _smallest(
        self, value: object, failure: ValidationFailure, is_meant: Callable[[ValidationFailure], bool]
    ) -> tuple[Json, ValidationFailure]:
        """Return a smaller value with a failure that is meant, too."""
        most = int(MAX_SHRINKINGS * self._share)
        for _ in range(most):
            for less in islice(smaller(value), most):
                still = _first(self._failures(less), is_meant)
                if still and self._is_written(less):
                    value, failure = less, still
                    break
            else:
                return value, failure
        return value, failure


def _misread_witness(misread: JsonMisreading) -> Witness:
    text = value_text(misread.value)
    way = way_in_words(misread.path)
    return Witness(
        datum_json=text,
        body=text.encode(),
        stop=Sentence.of("{way}: {text}" if way else "{text}", {"way": way, "text": misread.text}),
        confirmed_by=f"{validator_name()}: accepted by both schemas; {misread.text}",
    )


def _first(
    failures: list[ValidationFailure], is_meant: Callable[[ValidationFailure], bool]
) -> ValidationFailure | None:
    """Return the first failure for which ``is_meant`` holds; one inside a combination only if there is no other."""
    return min(filter(is_meant, failures), key=lambda failure: failure.is_inner, default=None)


# Generated values of one schema, validated with the other by a validator of another project.


def confirm_compatible(reader: JsonSchema, writer: JsonSchema, count: int) -> Confirmation:
    """Return how many of ``count`` generated values of ``writer`` the reader accepts, up to the first that it refuses.

    Values at the limits of both schemas come first. Raises nothing for schemas that were parsed.
    """
    try:
        return Search(reader, writer, steps_for(reader, writer)).for_confirmation(count)
    except OutOfSteps:
        return Confirmation(0, reason=BEYOND_LIMITS)
    except (RecursionError, InvalidSchema, ValidatorRefuses) as problem:
        reason = "the schemas are nested too deep" if isinstance(problem, RecursionError) else str(problem)
        return Confirmation(0, reason=reason)
