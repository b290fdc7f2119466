"""The parts of a regular expression of ECMA 262 as values, and their spelling for packages with another dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final, TypeAlias

import regex

# The parts of a regular expression, as values; and what the escapes of ECMA 262 for sets of characters stand for.
#
# Source: ECMA 262, "RegExp (Regular Expression) Objects", with the flag ``u``, as JSON Schema recommends.

LAST_CODE_POINT: Final = 0x10FFFF

Span: TypeAlias = tuple[int, int]
"""The first and the last code point of a part of a set."""


@dataclass(frozen=True, slots=True)
class UnicodeProperty:
    r"""The characters with a property of Unicode, ``\p{…}``, or without it, ``\P{…}``."""

    name: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set, or with ``is_negated`` one that is not of it."""

    items: tuple[Span | UnicodeProperty, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class PatternSequence:
    """Parts, one after the other."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several expressions; an earlier one is tried first."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class NumberedGroup:
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
class BoundaryAssertion:
    r"""A place in the text: ``^`` its start, ``$`` its end, ``b`` the edge of a word, ``B`` any other place."""

    kind: str


@dataclass(frozen=True, slots=True)
class BackReference:
    """What a group matched last; several numbers for groups of one name, of which at most one takes part."""

    numbers: tuple[int, ...]


Expression: TypeAlias = (
    Characters
    | PatternSequence
    | Alternatives
    | NumberedGroup
    | Repeated
    | Atomic
    | Look
    | BoundaryAssertion
    | BackReference
)

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
        case PatternSequence(parts=parts) | Alternatives(options=parts):
            return parts
        case NumberedGroup(part=part) | Repeated(part=part) | Look(part=part) | Atomic(part=part):
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


# The names of Unicode's properties that ECMA 262 knows.
#
# Source: ECMA 262, tables "Non-binary Unicode property aliases", "Binary Unicode property aliases" and the values of
# General_Category in Unicode's PropertyValueAliases. A name is exact: neither its case nor its underscores may differ.

_CATEGORIES: Final = """
Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl Currency_Symbol Sc
Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf Initial_Punctuation
Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol Sm
Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter Lo
Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co Punctuation P punct
Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt Unassigned Cn
Uppercase_Letter Lu
"""
_BINARY: Final = """
ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable
CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL
Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep
Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres
Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex
IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control
Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn
Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI Sentence_Terminal STerm
Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS
White_Space space XID_Continue XIDC XID_Start XIDS
"""
_NAMES: Final = frozenset((*_CATEGORIES.split(), *_BINARY.split()))
_VALUES: Final = frozenset(_CATEGORIES.split())
_FULL_NAMES: Final = {"IDC": "ID_Continue", "VS": "Variation_Selector"}
"""The names that the package ``regex`` reads as those of other properties."""

_OF_SCRIPT: Final = frozenset(("Script", "sc", "Script_Extensions", "scx"))
_LONGEST_NAME: Final = 100
"""A bound for the lengths of the names of scripts; longer texts are none, and are not remembered."""
_SCRIPT: Final = re.compile(r"[A-Z][a-z]+(?:_[A-Z][a-z]+)*|Nko|SignWriting|Phags_Pa")


def is_property(text: str) -> bool:
    r"""Return whether ``\p{text}`` is a set of characters in ECMA 262.

    >>> is_property("Lu"), is_property("Script=Greek"), is_property("Greek"), is_property("lu")
    (True, True, False, False)
    """
    name, equals, value = text.partition("=")
    if not equals:
        return name in _NAMES
    if name in {"General_Category", "gc"}:
        return value in _VALUES
    return name in _OF_SCRIPT and len(value) <= _LONGEST_NAME and _is_script(value)


@lru_cache(maxsize=256)
def _is_script(value: str) -> bool:
    if not _SCRIPT.fullmatch(value):
        return False
    try:
        regex.compile(rf"\p{{Script={value}}}", regex.VERSION0, cache_pattern=False)
    except regex.error:
        return False
    return True


def full_name(name: str) -> str:
    """Return the name of a property for the package ``regex``."""
    return _FULL_NAMES.get(name, name)


@lru_cache(maxsize=64)
def spans_of(name: str) -> tuple[Span, ...]:
    """Return the code points that have a property, as spans in ascending order.

    >>> spans_of("ASCII_Hex_Digit")
    ((48, 57), (65, 70), (97, 102))
    """
    every = "".join(map(chr, range(LAST_CODE_POINT + 1)))
    found = regex.compile(rf"\p{{{full_name(name)}}}+", regex.VERSION0, cache_pattern=False).finditer(every)
    return tuple((each.start(), each.end() - 1) for each in found)


# Regular expressions of ECMA 262 as texts for other packages, so that each of them finds what ECMA 262 says.
#
# The packages differ in what ``\d``, ``\w``, ``\s``, ``.``, ``$`` and ``\b`` mean, in escapes, and in their versions of
# Unicode. So sets are written with their members, places by what is around them, and groups without names; the members
# of Unicode's properties are those that the package ``regex`` knows.


class PatternDialect(Enum):
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
_END_BY_DIALECT: Final = {
    PatternDialect.REGEX: r"\Z",
    PatternDialect.RE: f"(?!{_ANYTHING})",
    PatternDialect.RUST: "$",
    PatternDialect.JAVA: r"\z",
}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|")
_NEVER_BY_DIALECT: Final = {
    PatternDialect.REGEX: "(?!)",
    PatternDialect.RE: "(?!)",
    PatternDialect.RUST: r"[^\s\S]",
    PatternDialect.JAVA: "(?!)",
}
_HIGHEST_PLAIN: Final = 0x7E


def spell(expression: Expression, dialect: PatternDialect) -> str:
    r"""Return an expression as a text for a package.

    >>> from counterfoil.schema.patterns.reading import read_expression
    >>> spell(read_expression(r"^\d+$"), PatternDialect.REGEX)
    '^[0-9]+\\Z'
    """
    match expression:
        case Characters():
            return _characters(expression, dialect)
        case PatternSequence(parts=parts):
            return "".join(_within(part, dialect) for part in parts)
        case Alternatives(options=options):
            return "|".join(spell(option, dialect) for option in options)
        case NumberedGroup(part=part):
            return f"({spell(part, dialect)})"
        case Repeated(part=part, is_lazy=is_lazy):
            return f"{_atom(part, dialect)}{_counts(expression)}{'?' if is_lazy else ''}"
        case Atomic(part=part):
            return f"(?>{spell(part, dialect)})"
        case Look(part=part, is_behind=is_behind, is_negated=is_negated):
            return f"(?{'<' if is_behind else ''}{'!' if is_negated else '='}{spell(part, dialect)})"
        case BoundaryAssertion(kind=kind):
            return _place(kind, dialect)
        case BackReference(numbers=numbers):
            return rf"(?:\{numbers[0]})"


def _within(part: Expression, dialect: PatternDialect) -> str:
    """Return a part of a sequence."""
    text = spell(part, dialect)
    return f"(?:{text})" if isinstance(part, Alternatives) else text


def _atom(part: Expression, dialect: PatternDialect) -> str:
    """Return a part that a repetition stands behind."""
    text = spell(part, dialect)
    return text if isinstance(part, Characters | NumberedGroup) else f"(?:{text})"


def _counts(repeated: Repeated) -> str:
    least, most = repeated.least, repeated.most
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
    if short is not None:
        return short
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _place(kind: str, dialect: PatternDialect) -> str:
    if kind == "^":
        return "^"
    if kind == "$":
        return _END_BY_DIALECT[dialect]
    if kind == "b":
        return _EDGE
    return _NO_EDGE


def _characters(characters: Characters, dialect: PatternDialect) -> str:
    items, is_negated = characters.items, characters.is_negated
    if not items:
        return _ANYTHING if is_negated else _NEVER_BY_DIALECT[dialect]
    if items == ((0, LAST_CODE_POINT),):
        return _NEVER_BY_DIALECT[dialect] if is_negated else _ANYTHING
    if len(items) == 1 and not is_negated and not isinstance(items[0], UnicodeProperty) and items[0][0] == items[0][1]:
        return _outside(items[0][0])
    text = "".join(_item(item, dialect) for item in items)
    return f"[{'^' if is_negated else ''}{text}]"


def _item(item: Span | UnicodeProperty, dialect: PatternDialect) -> str:
    if not isinstance(item, UnicodeProperty):
        return _span(item)
    if dialect is PatternDialect.REGEX:
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
