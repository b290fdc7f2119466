"""The table of languages: how the bytes of each become base values of plans and back, and walks over such values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans import ConversionError, FailureCode, shown

# The table of languages: how the bytes of each become base values of plans, and base values bytes.
#
# A schema is *packed* to be sent to another process. A language is loaded when one of its schemas occurs.

Packed: TypeAlias = tuple[SchemaType, Datum]
"""The language of a schema, and its content in a form that can be pickled."""


def pack(schema: ParsedSchema) -> Packed:
    """Return a schema in a form that can be pickled; equal for schemas with equal meaning."""
    return schema.schema_type, _load(schema.schema_type, "pack")(schema)


def reading_problem(source: ParsedSchema, writer: ParsedSchema) -> str | None:
    """Return why messages of a writer cannot be read as values of ``source``; None if they can."""
    if writer.schema_type is not source.schema_type:
        return f"it is {writer.schema_type}, and not {source.schema_type}"
    problem: str | None = _load(source.schema_type, "reading_problem")(source, writer)
    return problem


def make_reader(source: Packed, writer_by_id: Mapping[int, Packed]) -> Callable[[int, bytes, int], Datum]:
    """Return a function ``(schema_id, data, offset)`` that reads a body as a base value of ``source``.

    It raises ``ConversionError`` with ``undecodable`` or ``trailing-bytes``.
    """
    contents = {schema_id: content for schema_id, (_, content) in writer_by_id.items()}
    reader: Callable[[int, bytes, int], Datum] = _load(source[0], "make_reader")(source[1], contents)
    return reader


def make_writer(target: Packed, target_id: int | None) -> Callable[[Datum], bytes]:
    """Return a function that writes a base value of ``target``, framed with its schema id; JSON also without a frame.

    It raises ``ConversionError`` with ``unencodable``.
    """
    writer: Callable[[Datum], bytes] = _load(target[0], "make_writer")(target[1], target_id)
    return writer


def _load(schema_type: SchemaType, name: str) -> Datum:
    return getattr(import_module(f"counterfoil.converter.messages.{language_for(schema_type).folder}"), name)


# Walks over values along a tree: functions of types, and the place of a value that does not fit.


class TypeTurns:
    """The functions of types, each made once: types may contain themselves."""

    def __init__(self) -> None:
        self._turn_by_key: dict[object, Callable[[Datum], Datum]] = {}

    def once(self, key: object, make: Callable[[], Callable[[Datum], Datum]]) -> Callable[[Datum], Datum]:
        """Return the function of a type, made by ``make`` the first time."""
        known = self._turn_by_key.get(key)
        if known is not None:
            return known

        def later(value: object) -> Datum:
            return self._turn_by_key[key](value)

        self._turn_by_key[key] = later
        made = self._turn_by_key[key] = make()
        return made


class ValueMisfit(Exception):
    """A value that does not fit; the place is completed by the callers, from the inside to the outside."""

    def __init__(self, problem: str, code: FailureCode = FailureCode.UNDECODABLE) -> None:
        super().__init__(problem)
        self.problem = problem
        self.code = code
        self.path = ""

    def under(self, step: str) -> ValueMisfit:
        """Return the same error for the value that contains this one at ``step``: a name, ``[]`` or ``{}``."""
        joint = "." if self.path and self.path[0] not in "[{" else ""
        self.path = f"{step}{joint}{self.path}"
        return self

    def as_error(self) -> ConversionError:
        """Return the error for the whole record."""
        return ConversionError(self.code, self.path, self.problem)


def expected(words: str, value: object) -> ValueMisfit:
    """Return the error of a value that is not what ``words`` describe."""
    return ValueMisfit(f"expected {words}; got {shown(value)}")


def each_item(turn: Callable[[Datum], Datum], values: Datum) -> list[Datum]:
    """Return the items of an array, each turned."""
    try:
        return [turn(value) for value in values]
    except ValueMisfit as misfit:
        raise misfit.under("[]") from None


def each_value(turn: Callable[[Datum], Datum], values: Datum) -> dict[str, Datum]:
    """Return a map with each value turned."""
    try:
        return {key: turn(value) for key, value in values.items()}
    except ValueMisfit as misfit:
        raise misfit.under("{}") from None
