"""The parts of a regular expression, as values; and what the escapes of ECMA 262 for sets of characters stand for.

Source: ECMA 262, "RegExp (Regular Expression) Objects", with the flag ``u``, as JSON Schema recommends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

LAST_CODE_POINT: Final = 0x10FFFF

Span: TypeAlias = tuple[int, int]
"""The first and the last code point of a part of a set."""


@dataclass(frozen=True, slots=True)
class Property:
    r"""The characters with a property of Unicode, ``\p{…}``, or without it, ``\P{…}``."""

    name: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set, or with ``is_negated`` one that is not of it."""

    items: tuple[Span | Property, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts, one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several expressions; an earlier one is tried first."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A part with a number, counted from 1, to which back-references refer."""

    number: int
    part: Expression


@dataclass(frozen=True, slots=True)
class Repeated:
    """A part that occurs several times; ``most`` None: as often as it likes."""

    part: Expression
    least: int
    most: int | None
    is_lazy: bool = False


@dataclass(frozen=True, slots=True)
class Atomic:
    """A part whose first match is the only one that is tried; Java has it, and ECMA 262 has not."""

    part: Expression


@dataclass(frozen=True, slots=True)
class Look:
    """A part that must match, or must not match, after a place or before it, without moving the place."""

    part: Expression
    is_behind: bool
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Place:
    r"""A place in the text: ``^`` its start, ``$`` its end, ``b`` the edge of a word, ``B`` any other place."""

    kind: str


@dataclass(frozen=True, slots=True)
class BackReference:
    """What a group matched last; several numbers for groups of one name, of which at most one takes part."""

    numbers: tuple[int, ...]


Expression: TypeAlias = Characters | Sequence | Choice | Group | Repeated | Atomic | Look | Place | BackReference

DIGITS: Final[tuple[Span, ...]] = ((0x30, 0x39),)
WORD: Final[tuple[Span, ...]] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACES: Final[tuple[Span, ...]] = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
LINE_ENDS: Final[tuple[Span, ...]] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
ANYTHING: Final = Characters(((0, LAST_CODE_POINT),))
SETS: Final[dict[str, tuple[Span, ...]]] = {"d": DIGITS, "w": WORD, "s": SPACES}
"""The sets of ``\\d``, ``\\w`` and ``\\s``, in ascending order."""


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions that an expression is made of."""
    match expression:
        case Sequence(parts=parts) | Choice(options=parts):
            return parts
        case Group(part=part) | Repeated(part=part) | Look(part=part) | Atomic(part=part):
            return (part,)
        case _:
            return ()


def complement(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the code points that are in none of ``spans``, which ascend.

    >>> complement(((0x30, 0x39),))
    ((0, 47), (58, 1114111))
    """
    found, begin = [], 0
    for first, last in spans:
        if first > begin:
            found.append((begin, first - 1))
        begin = last + 1
    if begin <= LAST_CODE_POINT:
        found.append((begin, LAST_CODE_POINT))
    return tuple(found)
