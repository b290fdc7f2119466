"""The units that names of fields end, or begin, in: ``weight_g`` and ``weight_kg`` hold other numbers of one thing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_FEWEST_LETTERS: Final = 2
_CURRENCIES: Final = ("usd", "eur", "gbp", "jpy", "chf", "cny", "inr", "cad", "aud", "sek", "nok", "dkk", "pln", "brl")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of ``dimension``; ``size`` is how many of the smallest unit it has, None if no factor leads to others."""

    dimension: str
    size: float | None


def _units() -> dict[str, Unit]:
    sizes: dict[str, dict[str, float | None]] = {
        "time": {
            "ns nano nanos nanosecond nanoseconds": 1e-6,
            "us micro micros microsecond microseconds usec usecs": 1e-3,
            "ms milli millis millisecond milliseconds msec msecs": 1.0,
            "s sec secs second seconds": 1000.0,
            "min mins minute minutes": 60_000.0,
            "h hr hrs hour hours": 3_600_000.0,
            "day days": 86_400_000.0,
            "week weeks": 604_800_000.0,
        },
        "length": {
            "mm millimeter millimeters millimetre millimetres": 0.001,
            "cm centimeter centimeters centimetre centimetres": 0.01,
            "m meter meters metre metres": 1.0,
            "km kms kilometer kilometers kilometre kilometres": 1000.0,
            "inch inches": 0.0254,
            "ft foot feet": 0.3048,
            "yd yard yards": 0.9144,
            "mi mile miles": 1609.344,
        },
        "mass": {
            "mg milligram milligrams": 0.001,
            "g gram grams gramme grammes": 1.0,
            "kg kgs kilo kilos kilogram kilograms": 1000.0,
            "t ton tons tonne tonnes": 1_000_000.0,
            "oz ounce ounces": 28.349523125,
            "lb lbs pound pounds": 453.59237,
        },
        "volume": {
            "ml milliliter milliliters millilitre millilitres": 1.0,
            "cl": 10.0,
            "l liter liters litre litres": 1000.0,
        },
        "money": {"cent cents penny pence minor": 1.0, "major": 100.0},
        "share": {"ratio fraction": 100.0, "pct percent percentage": 1.0, "bps": 0.01, "permille": 0.1},
        "data": {
            "byte bytes": 1.0,
            "kb": 1000.0,
            "kib": 1024.0,
            "mb": 1e6,
            "mib": 1024.0**2,
            "gb": 1e9,
            "gib": 1024.0**3,
            "bit bits": 0.125,
        },
        "energy": {"wh": 1.0, "kwh": 1000.0, "mwh": 1e6},
        "power": {"w watt watts": 1.0, "kw kilowatt kilowatts": 1000.0},
        "frequency": {"hz": 1.0, "khz": 1000.0, "mhz": 1e6, "ghz": 1e9},
        "speed": {"kmh kph": 1.0, "mph": 1.609344},
        "angle": {"deg degree degrees": None, "rad radian radians": None},
        "temperature": {"celsius": None, "fahrenheit": None, "kelvin": None, "c": None, "f": None, "k": None},
        "currency": dict.fromkeys(_CURRENCIES),
    }
    return {
        word: Unit(dimension, size)
        for dimension, by_words in sizes.items()
        for words, size in by_words.items()
        for word in words.split()
    }


_UNITS: Final[Mapping[str, Unit]] = _units()
_MAJOR: Final = Unit("money", 100.0)
_IN_FRONT: Final = frozenset(
    {
        *("ns", "nanos", "us", "micros", "ms", "millis", "milliseconds", "secs", "seconds", "minutes", "hours"),
        *("mm", "cm", "km", "meters", "metres", "miles", "mg", "grams", "kg", "lbs", "ml", "cents", "bytes", "kb"),
        *("usd", "eur", "gbp", "celsius", "fahrenheit"),
    }
)
"""The units with which names begin; others are words of their own there, as in ``min_price``."""
_ALONE_NO_UNIT: Final = frozenset(["c", "f", "k", "t", "l", "w"])
"""Letters that are units only beside another unit of their dimension, as in ``temp_c`` and ``temp_f``."""


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake case or camel case, in lower case."""
    return [word.lower() for word in _WORDS.findall(name)]


def stem_of(words: list[str]) -> list[str]:
    """Return the words without the unit at the end, or at the beginning.

    >>> stem_of(["weight", "kg"]), stem_of(["ms", "elapsed"])
    (['weight'], ['elapsed'])
    """
    if len(words) > 1 and words[-1] in _UNITS:
        return words[:-1]
    return words[1:] if len(words) > 1 and words[0] in _IN_FRONT else words


def units_of(source: str, target: str) -> tuple[Unit | None, Unit | None]:
    """Return the units of two fields by their names.

    >>> units_of("weight_g", "weightKg") == (Unit("mass", 1.0), Unit("mass", 1000.0))
    True
    """
    words = _unit_word(source), _unit_word(target)
    if None in words and _ALONE_NO_UNIT & set(words):
        return None, None
    if words != (None, None):
        left, right = (None if word is None else _UNITS[word] for word in words)
        return left, right
    return _joined_units(source, target)


def _unit_word(name: str) -> str | None:
    words = words_of(name)
    if words and words[-1] in _UNITS:
        return words[-1]
    return words[0] if len(words) > 1 and words[0] in _IN_FRONT else None


def _joined_units(source: str, target: str) -> tuple[Unit | None, Unit | None]:
    """Return the units that two names, each one word, differ in, such as ``weightg`` and ``weightkg``."""
    names = source.lower(), target.lower()
    pairs = enumerate(zip(*names, strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(map(len, names)))
    rests = [name[shared:] for name in names]
    units = [_UNITS.get(rest) for rest in rests]
    if not shared or not all(unit is not None or not rest for unit, rest in zip(units, rests, strict=True)):
        return None, None
    if not all(rests) and max(map(len, rests)) < _FEWEST_LETTERS:  # a plural
        return None, None
    return units[0], units[1]


def differ_in_unit(source: str, target: str) -> bool:
    """Return whether two names have other units, or only one of them has one, so that a copy may be wrong.

    >>> differ_in_unit("weight_g", "weight_kg"), differ_in_unit("weight_g", "weight"), differ_in_unit("a_g", "b_grams")
    (True, True, False)
    """
    left, right = units_of(source, target)
    if left is None or right is None:
        return left is not right
    return left != right or left.size is None


def factor_between_names(source: str, target: str) -> float | None:
    """Return the factor from the unit of one name to that of the other; None where names say none.

    A name without a unit beside cents is that of an amount in whole units of the currency.

    >>> factor_between_names("ts_ms", "ts_us"), factor_between_names("amount_cents", "amount")
    (1000.0, 0.01)
    """
    left, right = units_of(source, target)
    if left is None and right is not None and right.dimension == "money":
        left = _MAJOR
    if right is None and left is not None and left.dimension == "money":
        right = _MAJOR
    if left is None or right is None or left.dimension != right.dimension or left == right:
        return None
    return None if left.size is None or right.size is None else left.size / right.size
