"""Examples of a JSON schema: drawn from the choices that a schema leaves, and confirmed by an evaluation of it.

Each choice between types and between branches of ``oneOf``, ``anyOf`` and the like is one of
:mod:`counterfoil.schema.languages.jsonschema.values`, which also has a value where a drawn one does not fit. What a
contract promises is a second schema, which must hold as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.generate import DOUBLE_BITS, UNKNOWN_SYMBOL, USUAL, ExampleChoices, ExampleShape
from counterfoil.schema.agreements import FieldPromise, Promise
from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.json_values import TYPES, plain
from counterfoil.schema.languages.jsonschema.values.containers import Arrays, Objects
from counterfoil.schema.languages.jsonschema.values.scalars import NumberRange, spelled, step_of
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.values.state import ValueState
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import StepKind

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema
    from counterfoil.schema.languages.jsonschema.view.facts import Literal


_MAX_STEPS: Final = 200_000
_MAX_WAYS: Final = 16
_MAX_DEPTH: Final = 8
_MAX_MORE: Final = 3
_MAX_WHOLE: Final = 2**53


class JsonExamples:
    """Makes values of one schema."""

    def __init__(self, schema: JsonSchema, promise: Promise | None) -> None:
        self._literals: list[Literal] = [(root_of(schema), True)]
        if promise is not None and promise.fields:
            promised = parse_schema(json.dumps(promised_schema(promise.fields)), SchemaType.JSON)
            self._literals.append((root_of(cast("JsonSchema", promised)), True))
        self._solver = Solver(Evaluator(_MAX_STEPS), trusts_unknown=True)

    def make(self, choices: ExampleChoices, shape: ExampleShape = USUAL) -> Json:
        """Return a value; a shape that leaves out has no property that is not required.

        Raises ``NoExample``.
        """
        self._solver.evaluator.refill(_MAX_STEPS)
        try:
            return _as_program(_Making(choices, self._solver, shape).value(self._literals, 0))
        except (OutOfSteps, RecursionError, ArithmeticError):
            raise NoExample("no value of an acceptable size was found for the JSON schema") from None


class _Making:
    def __init__(self, choices: ExampleChoices, solver: Solver, shape: ExampleShape) -> None:
        self._choices = choices
        self._solver = solver
        self._shape = shape

    def value(self, literals: Sequence[Literal], depth: int) -> Json:
        """Return a value for which all literals hold."""
        if depth < _MAX_DEPTH:
            found = (state for kind in TYPES for state in islice(self._solver.ways(literals, kind), _MAX_WAYS))
            states = [state for state in found if state.listed is None or any(True for _ in state.listed_values())]
            if states:
                state = states[0] if len(states) == 1 else self._choices.one_of(self._in_order(states))
                made = self._of_state(state, literals, depth)
                if made and self._solver.is_found(literals, made[0]):
                    return made[0]
        smallest = self._solver.value(literals)
        if not smallest:
            raise NoExample("no value was found for the JSON schema")
        return smallest[0]

    def _in_order(self, states: list[ValueState]) -> list[ValueState]:
        """Return the states with null first, and without all others if everything possible is left out."""
        nulls = [state for state in states if state.kind == "null"]
        return (
            nulls if nulls and self._shape.leaves_out else [*nulls, *(each for each in states if each.kind != "null")]
        )

    def _of_state(self, state: ValueState, literals: Sequence[Literal], depth: int) -> list[Json]:
        """Return a list of one value, which may not fit, or an empty list."""
        if state.listed is not None or state.kind in ("null", "boolean"):
            listed = [*map(plain, state.listed_values())]
            fitting = [value for value in listed if self._solver.is_found(literals, value)]
            if self._shape.has_unknown_symbols and UNKNOWN_SYMBOL in fitting:
                return [UNKNOWN_SYMBOL]
            return [self._choices.one_of(fitting)] if fitting else []
        match state.kind:
            case "number":
                return self._number(state)
            case "string":
                return [self._text(state, literals)]
            case "array":
                return self._array(state, depth)
        return self._object(state, depth)

    def _number(self, state: ValueState) -> list[Json]:
        between, step = NumberRange(state.facts), step_of(state.facts)
        if step is not None:
            least, most = between.multiples(step)
            first = -_MAX_WHOLE if least is None else least
            last = max(first, _MAX_WHOLE) if most is None else most
            return [*spelled(self._choices.integer(min(first, last), last) * step, with_fraction=False)]
        low, high = (None if each is None else float(each) for each in (between.low, between.high))
        found = self._choices.real(low, high, bits=DOUBLE_BITS)
        return [Decimal(repr(found)) if math.isfinite(found) else 0]

    def _text(self, state: ValueState, literals: Sequence[Literal]) -> str:
        patterns = [each.pattern for each in state.facts if each.pattern is not None]
        if patterns:
            return self._choices.matching(patterns[0])
        format_ = next((word for schema, holds in literals if holds and (word := _format_of(schema))), None)
        if format_ in _FORMATS:
            return _FORMATS[format_](self._choices)
        least = max((int(each.min_length) for each in state.facts if each.min_length is not None), default=0)
        most = min((int(each.max_length) for each in state.facts if each.max_length is not None), default=None)
        return self._choices.text(least=least, most=None if most is None else max(least, most))

    def _array(self, state: ValueState, depth: int) -> list[Json]:
        arrays = Arrays(self._solver, state)
        smallest = arrays.smallest()
        if smallest is None or self._shape.leaves_out:
            return [] if smallest is None else [smallest]
        size = self._choices.integer(len(smallest), len(smallest) + max(1, _MAX_MORE - depth))
        size = size if arrays.most is None else min(size, arrays.most)
        made: list[Json] = []
        for index in range(size):
            literals = arrays.item(min(index, arrays.behind))
            if self._solver.is_empty(literals):
                break
            made.append(self.value(literals, depth + 1))
        return [made]

    def _object(self, state: ValueState, depth: int) -> list[Json]:
        objects = Objects(self._solver, state)
        smallest = objects.smallest()
        if smallest is None:
            return []
        names = [*smallest, *(name for name in objects.declared if name not in smallest)]
        made: JsonObject = {}
        for name in names:
            literals = objects.property(name)
            if name not in smallest and (
                self._shape.leaves_out
                or not objects.may_be_called(name)
                or self._solver.is_empty(literals)
                or not self._choices.flag()
            ):
                continue
            made[name] = self.value(literals, depth + 1)
        if not names and not self._shape.leaves_out and any(each.additional or each.patterns for each in state.facts):
            made |= self._entries(objects, depth)
        return [made]

    def _entries(self, objects: Objects, depth: int) -> JsonObject:
        """Return properties of an object whose names are not declared: the entries of a map."""
        made = {}
        for _ in range(self._choices.integer(0, max(1, _MAX_MORE - depth))):
            name = self._choices.matching(objects.patterns[0]) if objects.patterns else self._choices.text()
            if objects.may_be_called(name) and not self._solver.is_empty(objects.property(name)):
                made[name] = self.value(objects.property(name), depth + 1)
        return made


def promised_schema(fields: Sequence[FieldPromise]) -> JsonObject:
    """Return the promises about fields as a JSON schema, which permits everything else."""
    root: JsonObject = {}
    for each in fields:
        place = root
        for step in each.path:
            if step.kind is StepKind.MEMBER:
                place["type"] = ["object", "null"]
                if step is each.path[-1] and each.is_required:
                    place.setdefault("required", []).append(step.name)
                place = place.setdefault("properties", {}).setdefault(step.name, {})
            else:
                place = place.setdefault("items" if step.kind is StepKind.ITEM else "additionalProperties", {})
        place.update(_keywords(each))
    root.pop("type", None)
    return root


def _keywords(field: FieldPromise) -> Mapping[str, Json]:
    limits = field.range
    named = {
        "exclusiveMinimum" if limits.is_open_below else "minimum": limits.minimum,
        "exclusiveMaximum" if limits.is_open_above else "maximum": limits.maximum,
    }
    found: JsonObject = {name: limit for name, limit in named.items() if isinstance(limit, int | float)}
    if field.pattern is not None:
        found["pattern"] = field.pattern
    if field.enum is not None:
        found["enum"] = [each.value for each in field.enum] + ([] if field.is_required else [None])
    elif field.is_required:
        found["not"] = {"type": "null"}
    return found


def _format_of(schema: object) -> str | None:
    """Return the format that a schema, or one that it refers to, gives texts."""
    if not isinstance(schema, WrittenSchema):
        return None
    word = schema.keywords.get("format")
    if isinstance(word, str):
        return word
    return next((found for each in schema.referred if (found := _format_of(each))), None)


def _day(choices: ExampleChoices) -> str:
    return f"{choices.integer(1970, 2099):04}-{choices.integer(1, 12):02}-{choices.integer(1, 28):02}"


def _time(choices: ExampleChoices) -> str:
    return f"{choices.integer(0, 23):02}:{choices.integer(0, 59):02}:{choices.integer(0, 59):02}Z"


def _uuid(choices: ExampleChoices) -> str:
    digits = choices.data(least=16, most=16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


_FORMATS: Final[Mapping[str | None, Callable[[ExampleChoices], str]]] = {
    "date": _day,
    "time": _time,
    "date-time": lambda choices: f"{_day(choices)}T{_time(choices)}",
    "uuid": _uuid,
    "email": lambda choices: f"a{choices.integer(0, 999)}@example.org",
    "hostname": lambda choices: f"a{choices.integer(0, 999)}.example.org",
    "ipv4": lambda choices: ".".join(str(choices.integer(0, 255)) for _ in range(4)),
    "uri": lambda choices: f"https://example.org/{choices.integer(0, 999)}",
}
"""Texts of formats, which validators of messages do not check, but programs rely on."""


def _as_program(value: object) -> Json:
    """Return a value with the numbers of programs."""
    match value:
        case dict():
            return {key: _as_program(item) for key, item in value.items()}
        case list():
            return [_as_program(item) for item in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() and abs(value) < _MAX_WHOLE else float(value)
    return value
