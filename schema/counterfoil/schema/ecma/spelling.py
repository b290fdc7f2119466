r"""Regular expressions of ECMA 262 as texts for other packages, so that each of them finds what ECMA 262 says.

The packages differ in what ``\d``, ``\w``, ``\s``, ``.``, ``$`` and ``\b`` mean, in escapes, and in their versions of
Unicode. So sets are written with their members, places by what is around them, and groups without names; the members
of Unicode's properties are those that the package ``regex`` knows.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.ecma.names import full_name, spans_of
from counterfoil.schema.ecma.syntax import (
    LAST_CODE_POINT,
    Atomic,
    BackReference,
    Characters,
    Choice,
    Group,
    Look,
    Place,
    Property,
    Repeated,
    Sequence,
    complement,
)

if TYPE_CHECKING:
    from counterfoil.schema.ecma.syntax import Expression, Span


class Dialect(Enum):
    """For which package an expression is written."""

    REGEX = "regex"
    """The package ``regex`` of Python, with its flag ``VERSION0``."""
    RE = "re"
    """The module ``re`` of Python; the text means the same in ECMA 262."""
    RUST = "rust"
    """The crates ``regex`` and ``fancy-regex``, which jsonschema-rs uses."""
    JAVA = "java"
    """The package ``java.util.regex``."""


_ANYTHING: Final = r"[\s\S]"
_WORD: Final = "[0-9A-Z_a-z]"
_EDGE: Final = f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_NO_EDGE: Final = f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))"
_END_BY_DIALECT: Final = {Dialect.REGEX: r"\Z", Dialect.RE: f"(?!{_ANYTHING})", Dialect.RUST: "$", Dialect.JAVA: r"\z"}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|")
_NEVER_BY_DIALECT: Final = {
    Dialect.REGEX: "(?!)",
    Dialect.RE: "(?!)",
    Dialect.RUST: r"[^\s\S]",
    Dialect.JAVA: "(?!)",
}
_HIGHEST_PLAIN: Final = 0x7E


def spell(expression: Expression, dialect: Dialect) -> str:
    r"""Return an expression as a text for a package.

    >>> from counterfoil.schema.ecma.reading import read_expression
    >>> spell(read_expression(r"^\d+$"), Dialect.REGEX)
    '^[0-9]+\\Z'
    """
    match expression:
        case Characters():
            return _characters(expression, dialect)
        case Sequence(parts=parts):
            return "".join(_within(part, dialect) for part in parts)
        case Choice(options=options):
            return "|".join(spell(option, dialect) for option in options)
        case Group(part=part):
            return f"({spell(part, dialect)})"
        case Repeated(part=part, is_lazy=is_lazy):
            return f"{_atom(part, dialect)}{_counts(expression)}{'?' if is_lazy else ''}"
        case Atomic(part=part):
            return f"(?>{spell(part, dialect)})"
        case Look(part=part, is_behind=is_behind, is_negated=is_negated):
            return f"(?{'<' if is_behind else ''}{'!' if is_negated else '='}{spell(part, dialect)})"
        case Place(kind=kind):
            return _place(kind, dialect)
        case BackReference(numbers=numbers):
            return rf"(?:\{numbers[0]})"


def _within(part: Expression, dialect: Dialect) -> str:
    """Return a part of a sequence."""
    text = spell(part, dialect)
    return f"(?:{text})" if isinstance(part, Choice) else text


def _atom(part: Expression, dialect: Dialect) -> str:
    """Return a part that a repetition stands behind."""
    text = spell(part, dialect)
    return text if isinstance(part, Characters | Group) else f"(?:{text})"


def _counts(repeated: Repeated) -> str:
    least, most = repeated.least, repeated.most
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is not None:
        return short
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _place(kind: str, dialect: Dialect) -> str:
    if kind == "^":
        return "^"
    if kind == "$":
        return _END_BY_DIALECT[dialect]
    if kind == "b":
        return _EDGE
    return _NO_EDGE


def _characters(characters: Characters, dialect: Dialect) -> str:
    items, is_negated = characters.items, characters.is_negated
    if not items:
        return _ANYTHING if is_negated else _NEVER_BY_DIALECT[dialect]
    if items == ((0, LAST_CODE_POINT),):
        return _NEVER_BY_DIALECT[dialect] if is_negated else _ANYTHING
    if len(items) == 1 and not is_negated and not isinstance(items[0], Property) and items[0][0] == items[0][1]:
        return _outside(items[0][0])
    text = "".join(_item(item, dialect) for item in items)
    return f"[{'^' if is_negated else ''}{text}]"


def _item(item: Span | Property, dialect: Dialect) -> str:
    if not isinstance(item, Property):
        return _span(item)
    if dialect is Dialect.REGEX:
        return f"\\{'P' if item.is_negated else 'p'}{{{full_name(item.name)}}}"
    spans = spans_of(item.name)
    return "".join(map(_span, complement(spans) if item.is_negated else spans))


def _span(span: Span) -> str:
    first, last = span
    return _inside(first) if first == last else f"{_inside(first)}-{_inside(last)}"


def _outside(code_point: int) -> str:
    character = chr(code_point)
    return f"\\{character}" if character in _SYNTAX else _visible(code_point)


def _inside(code_point: int) -> str:
    """Return a member of a class: signs are operators there in some packages, so that each is written as its number."""
    character = chr(code_point)
    if code_point <= _HIGHEST_PLAIN and not character.isalnum() and character not in "_ ":
        return f"\\x{code_point:02x}"
    return _visible(code_point)


def _visible(code_point: int) -> str:
    character = chr(code_point)
    return f"\\x{code_point:02x}" if character.isascii() and not character.isprintable() else character
