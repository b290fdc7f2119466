"""Marks that a program may write beside its types: names and types of a schema, and limits of values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from counterfoil.schema.datum import Datum

# What a program may write beside its types, so that a schema says more than Python's types do.
#
# Markers stand in ``Annotated``. The markers of pydantic (``Field``) and msgspec (``Meta``) are read as well: their
# descriptions, limits and patterns.

C = TypeVar("C", bound=type)

_NOT_IN_NAMES: Final = re.compile(r"\W+", re.ASCII)
_NAMING: Final = "__counterfoil_type_name__"


@dataclass(frozen=True, slots=True)
class AvroType:
    """The Avro type of a field, where it is not the usual one of the Python type.

    ``word`` is a primitive or a logical type in Avro's spelling, or ``fixed``:

    =============  =====================================================================================
    Python         ``word``, the usual one first
    =============  =====================================================================================
    ``int``        ``long``, ``int``, ``timestamp-nanos``, ``local-timestamp-nanos``
    ``float``      ``double``, ``float``
    ``bytes``      ``bytes``, ``fixed`` (with ``name`` and ``size``)
    ``Decimal``    ``decimal`` (with ``precision``, ``scale``; a fixed with ``name`` and ``size``), ``big-decimal``
    ``UUID``       ``uuid`` (a string; a fixed with ``name``)
    ``date``       ``date``
    ``time``       ``time-micros``, ``time-millis``
    ``datetime``   ``timestamp-micros``, ``-millis``, ``-nanos``, and the same three with ``local-`` before them
    ``Duration``   ``duration`` (a fixed, named ``Duration`` unless ``name`` is given)
    =============  =====================================================================================
    """

    word: str
    precision: int | None = None
    scale: int = 0
    name: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ModelField:
    """How a field is written: its ``name`` in messages, earlier names (``aliases``), and its documentation."""

    name: str | None = None
    aliases: Sequence[str] = ()
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name that :func:`type_name` gives a class."""

    name: str
    namespace: str | None
    aliases: tuple[str, ...]


def type_name(full_name: str, *, aliases: Sequence[str] = ()) -> Callable[[C], C]:
    """Return a decorator that names a class, or an Enum, in schemas: ``@type_name("taxi.Ride")``.

    What is before the last dot is the namespace, which classes inside without one share. ``aliases`` are earlier names.
    """
    namespace, _, name = full_name.rpartition(".")

    def decorate(cls: C) -> C:
        setattr(cls, _NAMING, TypeName(name, namespace or None, tuple(aliases)))
        return cls

    return decorate


def name_of(cls: type) -> TypeName:
    """Return the name of a class in schemas; a subclass does not inherit it."""
    given = cls.__dict__.get(_NAMING)
    if isinstance(given, TypeName):
        return given
    return TypeName(_NOT_IN_NAMES.sub("_", cls.__name__).strip("_"), None, ())  # that of a generic class has brackets


# The limits of values that pydantic, msgspec and annotated-types write into ``Annotated``, by their attributes.

_NUMBERS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_TEXTS: Final = {"min_length": "minLength", "max_length": "maxLength", "pattern": "pattern"}
_ITEMS: Final = {"min_length": "minItems", "max_length": "maxItems"}
_ENTRIES: Final = {"min_length": "minProperties", "max_length": "maxProperties"}
_KEYWORDS_BY_TYPE: Final[Mapping[type, Mapping[str, str]]] = {
    int: _NUMBERS,
    float: _NUMBERS,
    str: _TEXTS,
    list: _ITEMS,
    tuple: _ITEMS,
    set: _ITEMS,
    frozenset: _ITEMS,
    dict: _ENTRIES,
}


@dataclass(frozen=True, slots=True)
class ValueLimits:
    """Keywords of JSON schemas, and how many digits a Decimal has: in all, and behind the point."""

    keywords: Mapping[str, Datum]
    digits: int | None
    places: int | None


def limits_in(markers: Iterable[object], python: type) -> ValueLimits:
    """Return the limits that markers set for values of a type."""
    keywords: dict[str, Datum] = {}
    digits: int | None = None
    places: int | None = None
    table = _KEYWORDS_BY_TYPE.get(python, {})
    for marker in markers:
        digits = _set_by(marker, "max_digits", digits)
        places = _set_by(marker, "decimal_places", places)
        for attribute, keyword in table.items():
            value = _set_by(marker, attribute, None)
            if isinstance(value, (int, float, str)):
                keywords[keyword] = value
    return ValueLimits(keywords, digits, places)


def _set_by(marker: object, attribute: str, otherwise: object) -> Datum:
    if callable(marker) or isinstance(marker, str):
        return otherwise
    value = getattr(marker, attribute, None)
    return otherwise if value is None else value
