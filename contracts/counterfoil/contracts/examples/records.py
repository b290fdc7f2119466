"""Examples of whole records of a topic, with key and headers, that keep what its contract promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.conformance.record import RecordCheck, RecordParts
from counterfoil.contracts.constraints import MISSING, values_at
from counterfoil.contracts.errors import NoExample
from counterfoil.contracts.examples.choices import USUAL
from counterfoil.schema.paths import parse_path

if TYPE_CHECKING:
    from counterfoil.contracts.examples.choices import Choices, Shape
    from counterfoil.contracts.examples.examples import Examples
    from counterfoil.schema.agreements.model import Promise

_MAX_TRIES: Final = 200


@dataclass(frozen=True, slots=True)
class ExampleRecord:
    """A record: its value and its key in their JSON forms, and its headers.

    Without a schema of keys, ``key`` is a text, or None.
    """

    value: Any
    key: Any
    headers: tuple[tuple[str, str], ...]


class RecordExamples:
    """Examples of the records of a topic; ``key`` has the examples of keys, if they have a schema."""

    def __init__(self, promise: Promise, value: Examples, key: Examples | None) -> None:
        self._promise = promise
        self._value = value
        self._key = key
        self._check = RecordCheck(promise)

    def make(self, choices: Choices, shape: Shape = USUAL) -> ExampleRecord:
        """Return a record; one of the usual shape keeps every promise about it.

        Raises ``NoExample``, also if none of many tries keeps the rules.
        """
        for _ in range(_MAX_TRIES):
            record = self._made(choices, shape)
            if shape != USUAL or self._keeps(record):
                return record
        rules = ", ".join(each.id or each.type for each in self._promise.quality)
        raise NoExample(f"none of {_MAX_TRIES} values of {self._promise.topic} keeps its rules ({rules})")

    def _made(self, choices: Choices, shape: Shape) -> ExampleRecord:
        given = self._value.make(choices, shape)
        headers = [
            (each.name, choices.text() if each.pattern is None else choices.matching(each.pattern))
            for each in self._promise.headers
            if each.is_required or (not shape.leaves_out and choices.flag())
        ]
        return ExampleRecord(given, self._made_key(choices, given), tuple(headers))

    def _made_key(self, choices: Choices, given: Any) -> Any:
        promised = self._promise.key
        same: Any = MISSING
        if promised is not None and promised.field is not None:
            same = next(values_at(given, parse_path(promised.field)), MISSING)
        if self._key is None:
            return None if same is MISSING or same is None else str(same)
        made = self._key.make(choices)
        if same is MISSING or promised is None:
            return made
        if not isinstance(made, dict):
            return same
        name = (promised.field or "").rpartition(".")[2]
        return {**made, name: same} if name in made else made

    def _keeps(self, record: ExampleRecord) -> bool:
        value = self._value.decode(self._value.encode(self._value.value(record.value)))
        parts = RecordParts(value, headers=dict(record.headers), has_key=False)
        return not any(not each.is_warning for each in self._check.violations(parts))
