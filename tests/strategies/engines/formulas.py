"""Random formulas beside their meaning: each is a text, and a function of plain Python that computes its result.

The functions are written from the page about rules. They use none of the project's code.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

SECRET_NAME: Final = "COUNTERFOIL_TEST_SALT"
SECRET: Final = "pepper é"
Meaning: TypeAlias = "Callable[[dict[str, Any]], Any]"

LETTERS: Final = "aZ09 \t.,'-_:*ßİıΣσςǅǆﬁŉΐᾳﬀÅåé\u0301\u0345\u00ad\u200d\u0391\u0392😀𐐀𐐨ꭰᏸ"
FIELDS: Final = {
    "long": ("n", "big", "maybe"),
    "double": ("km", "rate"),
    "text": ("name", "note", "colour"),
    "boolean": ("flag", "sure"),
    "moment": ("at", "seen"),
}


class Failed(Exception):
    """A formula without a result; its argument is the code."""


@dataclass(frozen=True)
class Made:
    """A formula: its text, and its meaning. ``leaves`` and ``compute`` are set for arithmetic."""

    text: str
    meaning: Meaning
    leaves: tuple[Meaning, ...] = ()
    compute: Callable[[list[Any]], Any] | None = None


def texts(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.choice([0, 1, 2, 3, 5, 9, 40])))


def records(rng: random.Random) -> dict[str, Any]:
    """Return a record with a value for every field, special ones among them."""
    doubles = [0.0, -0.0, 2.5, -1e-9, 1e300, 5e-324, float("nan"), float("inf"), rng.uniform(-1e6, 1e6)]
    longs = [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, rng.randrange(-(10**6), 10**6)]
    return {
        "n": rng.choice([0, 7, -(2**31), 2**31 - 1]),
        "big": rng.choice(longs),
        "maybe": rng.choice([None, *longs]),
        "km": rng.choice(doubles),
        "rate": rng.choice([None, 0.1, *doubles]),
        "name": texts(rng),
        "note": rng.choice([None, texts(rng)]),
        "colour": rng.choice(["RED", "Blue"]),
        "flag": rng.random() < 0.5,
        "sure": rng.choice([None, True, False]),
        "at": rng.choice([0, -1, 1700000000000, -62135596800000]),
        "seen": rng.choice([None, 0, 1700000000000]),
    }


def formula(rng: random.Random, kind: str, depth: int) -> Made:
    """Return a formula whose result is of a kind."""
    if depth <= 0 or rng.random() < 0.2:
        return _leaf(rng, kind)
    if kind == "moment":
        return _choice(rng, kind, depth) if rng.random() < 0.5 else _coalesced(rng, kind, depth)
    makers: dict[str, list[Callable[[random.Random, str, int], Made]]] = {
        "long": [_arithmetic, _length, _choice, _coalesced],
        "double": [_arithmetic, _arithmetic, _choice, _coalesced],
        "text": [_text, _text, _split, _joined, _choice, _coalesced],
        "boolean": [_compared, _compared, _combined, _negated, _null_test, _choice],
    }
    return rng.choice(makers[kind])(rng, kind, depth)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first(given: list[Any]) -> Any:
    return given[0]


def _leaf(rng: random.Random, kind: str) -> Made:
    if kind == "moment" or rng.random() < 0.7:
        name = rng.choice(FIELDS[kind])
        leaves: tuple[Meaning, ...] = (lambda record: record[name],)
        meaning = leaves[0] if kind != "double" else (lambda record: _finite(record[name]))
        return Made(name, meaning, leaves, _first)
    drawn: dict[str, Callable[[], Any]] = {
        "long": lambda: rng.choice([0, 1, 3, 10**6]),
        "double": lambda: rng.choice([0.5, 1.5e2, 3.0]),
        "text": lambda: texts(rng)[:5],
        "boolean": lambda: rng.random() < 0.5,
    }
    value = drawn[kind]()
    spelt = _quoted(value) if kind == "text" else str(value).lower()
    return Made(spelt, lambda _: value, (), lambda _: value)


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise Failed("not-a-number")
    return value


# -- numbers


def _operand(made: Made) -> Made:
    """Return a formula as an operand: arithmetic as it is, anything else as one value."""
    return made if made.compute is not None else Made(made.text, made.meaning, (made.meaning,), _first)


def _arithmetic(rng: random.Random, kind: str, depth: int) -> Made:
    if rng.random() < 0.3:
        return _one_number(rng, kind, depth)
    sign = rng.choice("+-*" if kind == "long" else "+-*/")
    kinds = (
        ("long", "long")
        if kind == "long"
        else rng.choice([("double", "long"), ("long", "double"), ("double", "double")])
    )
    left, right = (_operand(formula(rng, each, depth - 1)) for each in kinds)
    count = len(left.leaves)

    def compute(given: list[Any]) -> Any:
        one, other = left.compute(given[:count]), right.compute(given[count:])  # type: ignore[misc]
        return _whole(_SIGNS[sign](one, other)) if kind == "long" else _real(sign, float(one), float(other))

    return _number(f"({left.text} {sign} {right.text})", left.leaves + right.leaves, compute)


_SIGNS: Final = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _one_number(rng: random.Random, kind: str, depth: int) -> Made:
    name = rng.choice(["-", "abs"] if kind == "long" else ["-", "abs", "round", "floor", "ceil"])
    inner = _operand(formula(rng, kind, depth - 1))
    text = f"(-({inner.text}))" if name == "-" else f"{name}({inner.text})"
    turn: dict[str, Callable[[Any], Any]] = {
        "-": operator.neg,
        "abs": abs,
        "round": lambda value: float(round(value)),
        "floor": lambda value: float(math.floor(value)),
        "ceil": lambda value: float(math.ceil(value)),
    }

    def compute(given: list[Any]) -> Any:
        made = turn[name](inner.compute(given))  # type: ignore[misc]
        return _whole(made) if kind == "long" else made

    return _number(text, inner.leaves, compute)


def _number(text: str, leaves: tuple[Meaning, ...], compute: Callable[[list[Any]], Any]) -> Made:
    def meaning(record: dict[str, Any]) -> Any:
        given: list[Any] = []
        is_null = False
        for leaf in leaves:
            value = leaf(record)
            is_null = is_null or value is None
            given.append(value if is_null else _finite(value))
        return None if is_null else compute(given)

    return Made(text, meaning, leaves, compute)


def _whole(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise Failed("overflow")
    return value


def _real(sign: str, left: float, right: float) -> float:
    if sign == "/" and right == 0:
        raise Failed("division-by-zero")
    made = left / right if sign == "/" else _SIGNS[sign](left, right)
    if not math.isfinite(made):
        raise Failed("overflow")
    return float(made)


# -- texts


def _length(rng: random.Random, _kind: str, depth: int) -> Made:
    inner = formula(rng, "text", depth - 1)
    return Made(f"length({inner.text})", _of(inner, len))


def _of(inner: Made, turn: Callable[[Any], Any]) -> Meaning:
    def meaning(record: dict[str, Any]) -> Any:
        value = inner.meaning(record)
        return None if value is None else turn(value)

    return meaning


def _text(rng: random.Random, _kind: str, depth: int) -> Made:
    inner = formula(rng, "text", depth - 1)
    old, new, fill = texts(rng)[:2] or "a", texts(rng)[:3], rng.choice(LETTERS)
    start, length, width, shown = rng.randrange(-5, 5), rng.randrange(6), rng.choice([0, 3, 12]), rng.randrange(4)
    calls: list[tuple[str, Callable[[str], str]]] = [
        ("lower({})", lambda text: text.lower()),
        ("upper({})", lambda text: text.upper()),
        ("trim({})", lambda text: text.strip(" \t\r\n")),
        (f"replace({{}}, {_quoted(old)}, {_quoted(new)})", lambda text: new.join(text.split(old))),
        (f"substring({{}}, {start})", lambda text: text[_from(text, start) :]),
        (f"substring({{}}, {start}, {length})", lambda text: text[_from(text, start) :][:length]),
        (f"pad_left({{}}, {width}, {_quoted(fill)})", lambda text: fill * (width - len(text)) + text),
        (f"pad_right({{}}, {width}, {_quoted(fill)})", lambda text: text + fill * (width - len(text))),
        (f"mask({{}}, {shown})", lambda text: _masked(text, shown)),
        (f"hash({{}}, '{SECRET_NAME}')", _hashed),
    ]
    spelt, turn = rng.choice(calls)
    return Made(spelt.replace("{}", inner.text, 1), _of(inner, turn))


def _from(text: str, start: int) -> int:
    return start if start >= 0 else max(0, len(text) + start)


def _masked(text: str, shown: int) -> str:
    return "*" * len(text) if len(text) <= shown else "*" * (len(text) - shown) + text[len(text) - shown :]


def _hashed(text: str) -> str:
    return hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest()


def _split(rng: random.Random, _kind: str, depth: int) -> Made:
    inner, separator, take = formula(rng, "text", depth - 1), rng.choice(LETTERS), rng.randrange(-3, 3)

    def piece(text: str) -> str:
        try:
            return text.split(separator)[take]
        except IndexError:
            raise Failed("split-missing") from None

    return Made(f"split({inner.text}, {_quoted(separator)}, {take})", _of(inner, piece))


def _joined(rng: random.Random, _kind: str, depth: int) -> Made:
    parts = [
        formula(rng, rng.choice(["text", "text", "long", "boolean"]), depth - 1) for _ in range(rng.randrange(1, 4))
    ]

    def meaning(record: dict[str, Any]) -> str | None:
        values = [part.meaning(record) for part in parts]
        spelt = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
        return None if None in values else "".join(spelt)

    return Made(f"concat({', '.join(part.text for part in parts)})", meaning)


# -- conditions


def _choice(rng: random.Random, kind: str, depth: int) -> Made:
    condition, then, otherwise = (formula(rng, each, depth - 1) for each in ("boolean", kind, kind))

    def meaning(record: dict[str, Any]) -> Any:
        found = condition.meaning(record)
        return None if found is None else (then if found else otherwise).meaning(record)

    return Made(f"(if {condition.text} then {then.text} else {otherwise.text})", meaning)


def _coalesced(rng: random.Random, kind: str, depth: int) -> Made:
    parts = [formula(rng, kind, depth - 1) for _ in range(rng.randrange(1, 4))]

    def meaning(record: dict[str, Any]) -> Any:
        return next((value for part in parts if (value := part.meaning(record)) is not None), None)

    return Made(f"coalesce({', '.join(part.text for part in parts)})", meaning)


_ORDER: Final = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def _compared(rng: random.Random, _kind: str, depth: int) -> Made:
    kinds = rng.choice(
        [
            ("long", "long"),
            ("long", "double"),
            ("double", "double"),
            ("text", "text"),
            ("moment", "moment"),
            ("boolean", "boolean"),
        ]
    )
    sign = rng.choice(["=", "!="] if kinds[0] == "boolean" else [*_ORDER])
    left, right = (formula(rng, each, depth - 1) for each in kinds)

    def meaning(record: dict[str, Any]) -> bool | None:
        one = left.meaning(record)
        if one is None:
            return None
        other = right.meaning(record)
        if other is None:
            return None
        if "double" in kinds:
            one, other = float(one), float(other)
        if kinds[0] == "text":
            one, other = [*map(ord, one)], [*map(ord, other)]
        return bool(_ORDER[sign](one, other))

    return Made(f"({left.text} {sign} {right.text})", meaning)


def _combined(rng: random.Random, _kind: str, depth: int) -> Made:
    word = rng.choice(["and", "or"])
    left, right = (formula(rng, "boolean", depth - 1) for _ in range(2))

    def meaning(record: dict[str, Any]) -> Any:
        one = left.meaning(record)
        return one if one is None or one is (word == "or") else right.meaning(record)

    return Made(f"({left.text} {word} {right.text})", meaning)


def _negated(rng: random.Random, _kind: str, depth: int) -> Made:
    inner = formula(rng, "boolean", depth - 1)
    return Made(f"(not {inner.text})", _of(inner, operator.not_))


def _null_test(rng: random.Random, _kind: str, depth: int) -> Made:
    inner = formula(rng, rng.choice(["long", "text", "double", "moment"]), depth - 1)
    is_not = rng.random() < 0.5
    return Made(
        f"({inner.text} is {'not ' if is_not else ''}null)",
        lambda record: (inner.meaning(record) is None) is not is_not,
    )
