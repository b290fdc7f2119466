"""Formulas: arithmetic over fields, with the position of every error; paths of fields in formulas and rules.

Paths of rules have field names, the elements of arrays and maps, and branches of unions, in the text form of
:mod:`counterfoil.schema.paths`::

    path   = first { "." name | branch }                    # a source field
    target = first { "." name | branch | "[]" | "{}" }      # a target field
    first  = name | branch
    branch = "<" the name of a type ">"
    name   = plain | quoted
    plain  = characters other than . [ { < that do not begin with a quote
    quoted = a JSON string, such as "a.b"

Formulas are arithmetic over fields::

    sum     = product { ("+" | "-") product }
    product = unary { ("*" | "/") unary }
    unary   = "-" unary | atom
    atom    = number | path | call | "(" sum ")"
    call    = ("round" | "floor" | "ceil" | "abs") "(" sum ")"
    path    = name { "." name }
    name    = letter or "_", then letters, digits and "_"; any other name is a JSON string, such as "user-id"

A whole number without point or exponent is a long, every other number a double. ``+ - *`` of two longs is a long, and
``overflow`` beyond 64 bits; everything else is a double. ``/`` is always a double. ``round`` (half to even), ``floor``
and ``ceil`` return a double. No result is NaN or infinite: that is ``overflow``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from counterfoil.schema.paths import ITEMS, VALUES, InvalidPath, Step, StepKind, branch, member, parse_path, print_path
from counterfoil.schema.plans import ExpressionError

# Paths of rules: field names and the elements of arrays and maps, in the text form of :mod:`counterfoil.schema.paths`.

Path: TypeAlias = tuple[str, ...]
"""Names of fields; ``[]`` and ``{}`` are the elements of an array and of a map, a ``BranchSegment`` is a branch."""


class BranchSegment(str):  # noqa: SLOT000 - the index and the shapes are attributes
    """The segment of a path into a branch of a union: the branch's name. It equals no name of a field.

    ``place`` is the branch's index in its union, once the path was found in a schema; ``shapes`` are the classes of its
    values, where values of the union are no pairs with the index.
    """

    place: int = -1
    shapes: tuple[str, ...] = ()

    @classmethod
    def found(cls, name: str, index: int, shapes: Iterable[str] = ()) -> BranchSegment:
        """Return the segment of a branch that a schema has."""
        made = cls(name)
        made.place, made.shapes = index, tuple(shapes)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BranchSegment) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(("<>", str(self)))


_PATH_NAME: Final = r'("([^"\\]|\\.)*"|[^".\[{<][^.\[{<]*)'
_PATH_BRANCH: Final = r'<("([^"\\]|\\.)*"|[^"<>][^<>]*)>'
SOURCE_PATH_PATTERN: Final = rf"({_PATH_NAME}|{_PATH_BRANCH})({_PATH_BRANCH}|\.{_PATH_NAME})*"
TARGET_PATH_PATTERN: Final = rf"({_PATH_NAME}|{_PATH_BRANCH})({_PATH_BRANCH}|\[\]|\{{\}}|\.{_PATH_NAME})*"
"""The paths as regular expressions, for editors."""
_WORD: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ELEMENTS: Final = {"[]": ITEMS, "{}": VALUES}
_WORD_BY_ELEMENT: Final = {step: word for word, step in _ELEMENTS.items()}


def source_path(text: str) -> Path:
    """Return the names in the path of a source field; raise ``InvalidPath`` for another text.

    >>> source_path('rider."home.town"')
    ('rider', 'home.town')
    """
    path = target_path(text)
    if _ELEMENTS.keys() & set(path):
        raise InvalidPath(text, 0, "names of fields, separated by dots, and <branches>")
    return path


def target_path(text: str) -> Path:
    """Return the segments of the path of a target field; raise ``InvalidPath`` for another text.

    >>> target_path("stops[].zip-code")
    ('stops', '[]', 'zip-code')
    """
    steps = parse_path(text)
    if not steps or steps[0].kind not in {StepKind.MEMBER, StepKind.BRANCH}:
        raise InvalidPath(text, 0, "the name of a field, or a <branch>")
    return tuple(_segment(step, text) for step in steps)


def _segment(step: Step, text: str) -> str:
    if step in _WORD_BY_ELEMENT:
        return _WORD_BY_ELEMENT[step]
    if step.kind is StepKind.BRANCH and step.name:
        return BranchSegment(step.name)
    if step.kind is not StepKind.MEMBER or step.name in _ELEMENTS:
        raise InvalidPath(text, 0, "names of fields, <branches>, [] and {}")
    return step.name


def spell(path: Iterable[str]) -> str:
    """Return the text of a path, with quotes where a name needs them.

    >>> spell(("stops", "[]", "zip.code"))
    'stops[]."zip.code"'
    """
    return print_path(tuple(map(_step, path)))


def _step(segment: str) -> Step:
    if isinstance(segment, BranchSegment):
        return branch(segment)
    return _ELEMENTS.get(segment) or member(segment)


def has_inner_scope(path: Path) -> bool:
    """Return whether source paths of a rule for a target path start at an item, a value of a map, or a branch."""
    return any(segment in _ELEMENTS or isinstance(segment, BranchSegment) for segment in path)


def spell_in_formula(path: Iterable[str]) -> str:
    """Return the text of a source path in a formula, where names that are no words need quotes.

    >>> spell_in_formula(("ride", "user-id"))
    'ride."user-id"'
    """
    return ".".join(name if _WORD.fullmatch(name) else json.dumps(name, ensure_ascii=False) for name in path)


# Formulas: a grammar of arithmetic over fields, with the position of every error.

FUNCTIONS: Final = ("round", "floor", "ceil", "abs")
MAX_DEPTH: Final = 50
MAX_LENGTH: Final = 2000
_LONG_MAX: Final = 2**63 - 1
_FORMULA_NAME: Final = r'(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")'
_TOKEN: Final = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>{_FORMULA_NAME}(?:\.{_FORMULA_NAME})*)"
    r"|(?P<sign>[-+*/()])"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: an ``int`` (long) or a ``float`` (double)."""

    value: int | float


@dataclass(frozen=True, slots=True)
class FieldValue:
    """The source field at ``path``."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negate:
    """The negated number."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """One of ``+ - * /`` applied to ``left`` and ``right``."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """One of ``FUNCTIONS`` applied to one number."""

    function: str
    of: Expression


Expression: TypeAlias = Number | FieldValue | Negate | Binary | Call


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def parse_expression(text: str) -> Expression:
    """Parse a formula; raise ``ExpressionError`` with the position of the character that is wrong.

    >>> parse_expression("km / 1.609344")
    Binary(sign='/', left=FieldValue(path=('km',)), right=Number(value=1.609344))
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError("the formula goes on", position=MAX_LENGTH, expected=f"at most {MAX_LENGTH} characters")
    return _Parser(_tokens(text)).parse()


def paths_of(expression: Expression) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the fields that a formula reads, from left to right."""
    if isinstance(expression, FieldValue):
        yield expression.path
    elif isinstance(expression, Binary):
        yield from paths_of(expression.left)
        yield from paths_of(expression.right)
    elif isinstance(expression, (Negate, Call)):
        yield from paths_of(expression.of)


def result_of(expression: Expression, kind_by_path: dict[tuple[str, ...], str]) -> str:
    """Return the type of the formula's result, ``long`` or ``double``; ``kind_by_path`` has the types of the fields."""
    if isinstance(expression, Number):
        return "long" if isinstance(expression.value, int) else "double"
    if isinstance(expression, FieldValue):
        return kind_by_path[expression.path]
    if isinstance(expression, Binary):
        parts = {result_of(expression.left, kind_by_path), result_of(expression.right, kind_by_path)}
        return "long" if parts == {"long"} and expression.sign != "/" else "double"
    if isinstance(expression, Call) and expression.function != "abs":
        return "double"
    return result_of(expression.of, kind_by_path)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise ExpressionError(
                f"{text[place]!r} has no meaning", position=place + 1, expected="a number, a field, + - * / or ( )"
            )
        found.append(_Token(match.lastgroup, match[0], place + 1))
        place = match.end()
    found.append(_Token("end", "", len(text) + 1))
    return found


class _Parser:
    """A recursive descent parser over the tokens of one formula."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def parse(self) -> Expression:
        whole = self._sum()
        if self._peek().kind != "end":
            raise self._unexpected("+ - * / or the end")
        return whole

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _unexpected(self, expected: str) -> ExpressionError:
        token = self._peek()
        return ExpressionError(f"{token} stands", position=token.position, expected=expected)

    def _sum(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            token = self._peek()
            raise ExpressionError(
                "the formula goes deeper", position=token.position, expected=f"at most {MAX_DEPTH} levels"
            )
        left = self._product()
        while self._peek().text in {"+", "-"}:
            left = Binary(self._take().text, left, self._product())
        self._depth -= 1
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while self._peek().text in {"*", "/"}:
            left = Binary(self._take().text, left, self._unary())
        return left

    def _unary(self) -> Expression:
        signs = 0
        while self._peek().text == "-":
            self._take()
            signs += 1
        atom = self._atom()
        return Negate(atom) if signs % 2 else atom

    def _atom(self) -> Expression:
        token = self._peek()
        if token.kind == "number":
            return self._number()
        if token.kind == "name":
            return self._name()
        if token.text == "(":
            self._take()
            return self._closed()
        raise self._unexpected("a number, a field or (")

    def _closed(self) -> Expression:
        inner = self._sum()
        if self._peek().text != ")":
            raise self._unexpected(")")
        self._take()
        return inner

    def _name(self) -> Expression:
        token = self._take()
        if self._peek().text != "(":
            try:
                return FieldValue(source_path(token.text))
            except InvalidPath as invalid:
                raise ExpressionError(f"{token} is no name", position=token.position, expected=str(invalid)) from None
        if token.text not in FUNCTIONS:
            raise ExpressionError(
                f"{token.text!r} is no function", position=token.position, expected=f"one of {', '.join(FUNCTIONS)}"
            )
        self._take()
        return Call(token.text, self._closed())

    def _number(self) -> Number:
        token = self._take()
        if token.text.isdigit():
            whole = int(token.text)
            if whole > _LONG_MAX:
                raise ExpressionError(
                    f"{token} is beyond 64 bits", position=token.position, expected="a smaller number, or one with .0"
                )
            return Number(whole)
        value = float(token.text)
        if math.isinf(value):
            raise ExpressionError(f"{token} is beyond a double", position=token.position, expected="a smaller number")
        return Number(value)
