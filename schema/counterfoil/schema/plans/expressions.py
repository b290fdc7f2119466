"""Formulas: typed expressions over fields, with the position of every error.

::

    formula = "if" formula "then" formula "else" formula | either
    either  = both { "or" both }
    both    = test { "and" test }
    test    = "not" test | sum [ ("=" | "!=" | "<" | "<=" | ">" | ">=") sum | "is" [ "not" ] "null" ]
    sum     = product { ("+" | "-") product }
    product = unary { ("*" | "/") unary }
    unary   = "-" unary | atom
    atom    = number | text | "true" | "false" | "null" | path | call | "(" formula ")"
    call    = function "(" formula { "," formula } ")"
    path    = name { "." name }
    name    = letter or "_", then letters, digits and "_"; any other name is a JSON string, such as "user-id"
    text    = "'" characters "'", in which two quotes are one

A whole number without point or exponent is a long, every other number a double. ``+ - *`` of two longs is a long, and
``overflow`` beyond 64 bits; everything else is a double. ``/`` is always a double. ``round`` (half to even), ``floor``
and ``ceil`` return a double. No result is NaN or infinite: that is ``overflow``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from counterfoil.schema.paths import InvalidPath
from counterfoil.schema.plans import ExpressionError
from counterfoil.schema.plans.formulas import source_path

NUMBER_FUNCTIONS: Final = ("round", "floor", "ceil", "abs")
MAX_DEPTH: Final = 50
MAX_LENGTH: Final = 2000
MAX_OPERATORS: Final = 250
MAX_WIDTH: Final = 1_000
MAX_PLACE: Final = 2**31 - 1
"""The largest width of a padded text, and the longest text in a call."""
_LONG_MAX: Final = 2**63 - 1
_FORMULA_NAME: Final = r'(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*")'
_TOKEN: Final = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>{_FORMULA_NAME}(?:\.{_FORMULA_NAME})*)"
    r"|(?P<text>'(?:[^']|'')*')"
    r"|(?P<sign><=|>=|!=|[-+*/(),=<>])"
)
_WORDS: Final = frozenset({"if", "then", "else", "and", "or", "not", "is", "null", "true", "false"})
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_OPERAND: Final = "a number, a text, a field, a function or ("
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class ArgumentKind(Enum):
    """What an argument of a function is: a value, or a constant of a kind."""

    VALUE = "a formula"
    VALUES = "a formula, and any number of others"
    TEXT = "a text in single quotes that is not empty"
    ANY_TEXT = "a text in single quotes"
    CHARACTER = "one character in single quotes"
    PLACE = "a whole number"
    COUNT = "a whole number from 0"
    WIDTH = f"a whole number from 0 to {MAX_WIDTH}"
    VARIABLE = "the name of an environment variable in single quotes"


_VALUE: Final = ArgumentKind.VALUE
TEXT_FUNCTIONS: Final[Mapping[str, tuple[ArgumentKind, ...]]] = {
    "lower": (_VALUE,),
    "upper": (_VALUE,),
    "trim": (_VALUE,),
    "length": (_VALUE,),
    "replace": (_VALUE, ArgumentKind.TEXT, ArgumentKind.ANY_TEXT),
    "substring": (_VALUE, ArgumentKind.PLACE, ArgumentKind.COUNT),
    "pad_left": (_VALUE, ArgumentKind.WIDTH, ArgumentKind.CHARACTER),
    "pad_right": (_VALUE, ArgumentKind.WIDTH, ArgumentKind.CHARACTER),
    "split": (_VALUE, ArgumentKind.TEXT, ArgumentKind.PLACE),
    "mask": (_VALUE, ArgumentKind.COUNT),
    "hash": (_VALUE, ArgumentKind.VARIABLE),
    "concat": (ArgumentKind.VALUES,),
    "coalesce": (ArgumentKind.VALUES,),
}
"""The functions of texts and of any values, with their arguments."""
_OPTIONAL: Final = frozenset({"substring"})
"""The functions whose last argument may be left out."""
FUNCTIONS: Final = (*NUMBER_FUNCTIONS, *TEXT_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written: an ``int`` (long) or a ``float`` (double)."""

    value: int | float


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text as written."""

    value: str


@dataclass(frozen=True, slots=True)
class WrittenTruth:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, slots=True)
class WrittenNull:
    """``null``."""


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
    """One of ``NUMBER_FUNCTIONS`` applied to one number."""

    function: str
    of: Expression


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values with ``= != < <= > >=`` between them."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Combination:
    """Two conditions with ``and`` or ``or`` between them."""

    word: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negation:
    """``not`` before a condition."""

    of: Expression


@dataclass(frozen=True, slots=True)
class NullTest:
    """``is null`` behind a value, or ``is not null``."""

    of: Expression
    is_not: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """``if … then … else``."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One of ``TEXT_FUNCTIONS``: the values that it is applied to, and its constants."""

    function: str
    values: tuple[Expression, ...]
    constants: tuple[str | int, ...] = ()


Expression: TypeAlias = (
    Number | WrittenText | WrittenTruth | WrittenNull | FieldValue | Negate | Binary | Call | Comparison | Combination
    | Negation | NullTest | Choice | FunctionCall
)  # fmt: skip


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


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the formulas that a formula is made of, from left to right."""
    match expression:
        case Binary() | Comparison() | Combination():
            return expression.left, expression.right
        case Negate() | Call() | Negation() | NullTest():
            return (expression.of,)
        case Choice():
            return expression.condition, expression.then, expression.otherwise
        case FunctionCall():
            return expression.values
    return ()


def paths_of(expression: Expression) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the fields that a formula reads, from left to right."""
    if isinstance(expression, FieldValue):
        yield expression.path
    for part in parts_of(expression):
        yield from paths_of(part)


def is_arithmetic(expression: Expression) -> bool:
    """Return whether a formula has only numbers, fields, and arithmetic over them."""
    is_one = isinstance(expression, Number | FieldValue | Negate | Binary | Call)
    return is_one and all(map(is_arithmetic, parts_of(expression)))


def result_of(expression: Expression, kind_by_path: Mapping[tuple[str, ...], str]) -> str:
    """Return the type of the result of arithmetic, ``long`` or ``double``; ``kind_by_path`` has those of the fields."""
    if isinstance(expression, Number):
        return "long" if isinstance(expression.value, int) else "double"
    if isinstance(expression, FieldValue):
        return kind_by_path[expression.path]
    if isinstance(expression, Binary):
        parts = {result_of(expression.left, kind_by_path), result_of(expression.right, kind_by_path)}
        return "long" if parts == {"long"} and expression.sign != "/" else "double"
    if isinstance(expression, Call) and expression.function != "abs":
        return "double"
    return result_of(parts_of(expression)[0], kind_by_path)


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
                f"{text[place]!r} has no meaning",
                position=place + 1,
                expected="a number, a text in single quotes, a field, an operator or ( )",
            )
        kind = "word" if match[0] in _WORDS else match.lastgroup
        found.append(_Token(kind, match[0], place + 1))
        place = match.end()
    found.append(_Token("end", "", len(text) + 1))
    return found


class _Parser:
    """A recursive descent parser over the tokens of one formula."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._operators = 0

    def parse(self) -> Expression:
        whole = self._formula()
        if self._peek().kind != "end":
            raise self._unexpected("an operator or the end")
        return whole

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _operator(self) -> str:
        """Take an operator, of which a formula has not too many: each is a level of what is made of it."""
        self._operators += 1
        if self._operators > MAX_OPERATORS:
            position, expected = self._peek().position, f"at most {MAX_OPERATORS} operators"
            raise ExpressionError("the formula goes on", position=position, expected=expected)
        return self._take().text

    def _is(self, *texts: str) -> bool:
        """Return whether the next token is one of the words or signs."""
        token = self._peek()
        return token.kind in {"word", "sign"} and token.text in texts

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self._unexpected(text)
        self._take()

    def _unexpected(self, expected: str) -> ExpressionError:
        token = self._peek()
        return ExpressionError(f"{token} stands", position=token.position, expected=expected)

    def _formula(self) -> Expression:
        self._deeper()
        made = self._choice() if self._is("if") else self._either()
        self._depth -= 1
        return made

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            position = self._peek().position
            raise ExpressionError("the formula goes deeper", position=position, expected=f"at most {MAX_DEPTH} levels")

    def _choice(self) -> Choice:
        self._take()
        condition = self._formula()
        self._expect("then")
        then = self._formula()
        self._expect("else")
        return Choice(condition, then, self._formula())

    def _either(self) -> Expression:
        left = self._both()
        while self._is("or"):
            left = Combination(self._operator(), left, self._both())
        return left

    def _both(self) -> Expression:
        left = self._test()
        while self._is("and"):
            left = Combination(self._operator(), left, self._test())
        return left

    def _test(self) -> Expression:
        negations = 0
        while self._is("not"):
            self._take()
            negations += 1
        made = self._comparison()
        return Negation(made) if negations % 2 else made

    def _comparison(self) -> Expression:
        left = self._sum()
        if self._is(*_COMPARISONS):
            return Comparison(self._take().text, left, self._sum())
        if not self._is("is"):
            return left
        self._take()
        is_not = self._is("not")
        if is_not:
            self._take()
        self._expect("null")
        return NullTest(left, is_not)

    def _sum(self) -> Expression:
        left = self._product()
        while self._is("+", "-"):
            left = Binary(self._operator(), left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while self._is("*", "/"):
            left = Binary(self._operator(), left, self._unary())
        return left

    def _unary(self) -> Expression:
        signs = 0
        while self._is("-"):
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
        if token.kind == "text":
            return WrittenText(self._take().text[1:-1].replace("''", "'"))
        if self._is("true", "false"):
            return WrittenTruth(self._take().text == "true")
        if self._is("null"):
            self._take()
            return WrittenNull()
        self._open()
        return self._closed()

    def _open(self) -> None:
        if not self._is("("):
            raise self._unexpected(_OPERAND)
        self._take()

    def _closed(self) -> Expression:
        inner = self._formula()
        self._expect(")")
        return inner

    def _name(self) -> Expression:
        token = self._take()
        if not self._is("("):
            try:
                return FieldValue(source_path(token.text))
            except InvalidPath as invalid:
                raise ExpressionError(f"{token} is no name", position=token.position, expected=str(invalid)) from None
        if token.text not in FUNCTIONS:
            raise ExpressionError(
                f"{token.text!r} is no function", position=token.position, expected=f"one of {', '.join(FUNCTIONS)}"
            )
        self._take()
        if token.text in NUMBER_FUNCTIONS:
            return Call(token.text, self._closed())
        return self._call(token)

    def _call(self, token: _Token) -> FunctionCall:
        """Return a call; what must be a constant is one, within its limits."""
        kinds, function = TEXT_FUNCTIONS[token.text], token.text
        values, constants = [self._formula()], list[str | int]()
        if kinds == (ArgumentKind.VALUES,):
            while self._is(","):
                self._take()
                values.append(self._formula())
        for number, kind in enumerate(kinds[1:], 1):
            if function in _OPTIONAL and number == len(kinds) - 1 and self._is(")"):
                break
            self._expect(",")
            constants.append(self._constant(kind))
        self._expect(")")
        return FunctionCall(function, tuple(values), tuple(constants))

    def _constant(self, kind: ArgumentKind) -> str | int:
        token = self._peek()
        value = constant_of(self._formula())
        if value is None or not _fits(kind, value):
            raise ExpressionError(f"{token} stands", position=token.position, expected=kind.value)
        return value

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


def constant_of(expression: Expression) -> str | int | None:
    """Return the text or the whole number that a formula writes; None for any other formula."""
    if isinstance(expression, WrittenText):
        return expression.value
    if isinstance(expression, Negate):
        inner = constant_of(expression.of)
        return -inner if isinstance(inner, int) else None
    return expression.value if isinstance(expression, Number) and isinstance(expression.value, int) else None


def _fits(kind: ArgumentKind, value: str | int) -> bool:
    if isinstance(value, int):
        least = {ArgumentKind.PLACE: -MAX_PLACE, ArgumentKind.COUNT: 0, ArgumentKind.WIDTH: 0}.get(kind)
        most = MAX_WIDTH if kind is ArgumentKind.WIDTH else MAX_PLACE
        return least is not None and least <= value <= most
    if kind is ArgumentKind.VARIABLE:
        return _VARIABLE.fullmatch(value) is not None
    least, most = {
        ArgumentKind.TEXT: (1, MAX_WIDTH), ArgumentKind.ANY_TEXT: (0, MAX_WIDTH), ArgumentKind.CHARACTER: (1, 1)
    }.get(kind, (1, 0))  # fmt: skip
    return least <= len(value) <= most
