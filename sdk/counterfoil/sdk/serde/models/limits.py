"""The limits of values that pydantic, msgspec and annotated-types write into ``Annotated``, by their attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
class Limits:
    """Keywords of JSON schemas, and how many digits a Decimal has: in all, and behind the point."""

    keywords: Mapping[str, Any]
    digits: int | None
    places: int | None


def limits_in(markers: Iterable[Any], python: type) -> Limits:
    """Return the limits that markers set for values of a type."""
    keywords: dict[str, Any] = {}
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
    return Limits(keywords, digits, places)


def _set_by(marker: Any, attribute: str, otherwise: Any) -> Any:
    if callable(marker) or isinstance(marker, str):
        return otherwise
    value = getattr(marker, attribute, None)
    return otherwise if value is None else value
