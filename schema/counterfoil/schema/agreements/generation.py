"""Generated base values of a schema: usual ones first, then the limits, then others. Equal on every call.

The promises of a contract about a field narrow its values; where there are none, the type has the limits.
Values of a JSON schema come from the search for values that fit it, since a tree has no constraints.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from itertools import chain, islice
from typing import Final

from counterfoil.schema.agreements import FieldPromise, ValueRange
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, member
from counterfoil.schema.patterns.samples import matching_strings
from counterfoil.schema.plans.jsonschema import NoValues, base_of_json, json_of_base
from counterfoil.schema.plans.model import Scalar
from counterfoil.schema.plans.notation import INT_RANGE, LONG_RANGE, UINT32_RANGE, UINT64_RANGE, nearest_float
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NotPlannable,
    NullType,
    Opaque,
    RecordType,
    UnionType,
    tree_of,
)
from counterfoil.schema.plans.types import split_null

_MAX_DEPTH: Final = 8
_BLOCK: Final = 7
_MAX_TEXTS: Final = 12
_TRIED: Final = 20
"""How many values of a JSON schema are looked at for each one that is wanted."""
_MOMENT: Final = datetime(2024, 5, 1, 12, 34, 56, 789_000, UTC)
_SECONDS: Final = int(_MOMENT.timestamp())
_UNIT_BY_SUFFIX: Final = {"millis": 10**3, "micros": 10**6, "nanos": 10**9}
_TEXTS: Final = ("text", "A", "", "é", "\U0001f600", "A" * 65)
_SEED: Final = 7
_FURTHER: Final = 24
"""How many numbers are chosen at random in a range."""
_WIDE: Final = 1_000_000
_JSON_NUMBERS: Final = frozenset({"int", "long", "uint64", "number"})
_RANGE_BY_WORD: Final = {"int": INT_RANGE, "long": LONG_RANGE, "uint32": UINT32_RANGE, "uint64": UINT64_RANGE}
_REALS: Final = (1.5, 0.0, -1.5, 0.1, 1e15, 1.7976931348623157e308)
_PRICES: Final = (0.07, 0.29, 19.99, 1.1, 4.35, 1.005)
"""Decimals that binary fractions do not hold: the hundredfold of 19.99 is 1998.9999999999998."""
_FLOATS: Final = (1.5, 0.0, -1.5, 0.25, 2.0**24, 3.4028234663852886e38)
_BYTES_AS_TEXT: Final = ("AB", "", "\x00", "\xff")
_TEXTS_BY_WORD: Final = {
    "uuid": ("6f1c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b", "00000000-0000-4000-8000-000000000000"),
    "date-time": ("2024-05-01T12:34:56.789Z", "1970-01-01T00:00:00Z"),
    "full-date": ("2024-05-01", "1970-01-01"),
    "base64": ("QUI=", "", "/w=="),
}


def generated(
    schema: ParsedSchema, count: int, promised: Callable[[FieldPath], FieldPromise | None] = lambda _: None
) -> Iterator[Datum]:
    """Yield ``count`` base values of a schema within the promises about each path. Raises ``NoValues``.

    Those of a JSON schema may be fewer, and are within the schema's own limits alone, except for numbers.
    """
    try:
        tree = tree_of(schema)
    except NotPlannable as problem:
        raise NoValues(problem.problem) from None
    if schema.schema_type is SchemaType.JSON:
        yield from islice(_json_values(schema, tree, count, promised), count)
        return
    made = _Values(promised)
    for number in range(count):
        yield made.value(tree, (), number, 0)


class _Values:
    """Makes the value with a number; each leaf counts through its own values."""

    def __init__(self, promised: Callable[[FieldPath], FieldPromise | None]) -> None:
        self._promised = promised
        self._leaves: dict[tuple[int, FieldPath], tuple[int, Sequence[Datum]]] = {}

    def value(self, node: Node, path: FieldPath, number: int, depth: int) -> Datum:
        if depth > _MAX_DEPTH:
            raise NoValues("the type has no value of limited size")
        match node:
            case Leaf():
                return self._leaf(node, path, number)
            case RecordType():
                return self._record(node, path, number, depth)
            case ArrayType():
                return self._several(node.items, (*path, ITEMS), number, depth)
            case MapType():
                values = self._several(node.values, (*path, VALUES), number, depth)
                return dict(zip(_keys(node.key), values, strict=False))
            case UnionType():
                return self._branch(node, path, number, depth)
            case Opaque():
                raise NoValues(f"no values are generated for {node.words}")
        return None

    def _leaf(self, node: Leaf, path: FieldPath, number: int) -> Datum:
        key = (id(node), path)
        if key not in self._leaves:
            self._leaves[key] = (len(self._leaves), _candidates(node, self._promised(path)))
        ordinal, found = self._leaves[key]
        index = number if number < len(found) else number + number // _BLOCK * ordinal
        return found[index % len(found)]

    def _record(self, node: RecordType, path: FieldPath, number: int, depth: int) -> dict[str, Datum]:
        oneofs = _oneofs(node)
        made: dict[str, Datum] = {}
        for each in node.fields:
            members = oneofs.get(each.oneof or "", [each.name])
            is_chosen = members[number % len(members)] == each.name
            inside, turn = (*path, member(each.name)), number // len(members)
            made[each.name] = self.value(each.type, inside, turn, depth + 1) if is_chosen else None
        return made

    def _several(self, node: Node, path: FieldPath, number: int, depth: int) -> list[Datum]:
        try:
            return [self.value(node, path, number + index, depth + 1) for index in range((number + 1) % 3)]
        except NoValues:
            return []  # an empty collection of a type without values is one

    def _branch(self, node: UnionType, path: FieldPath, number: int, depth: int) -> Datum:
        order = sorted(enumerate(node.branches), key=lambda each: isinstance(each[1], NullType))
        for offset in range(len(order)):
            index, branch = order[(number + offset) % len(order)]
            try:
                value = self.value(branch, path, number // len(order), depth + 1)
            except NoValues:
                continue
            return (index, value) if node.is_tagged and not isinstance(branch, NullType) else value
        raise NoValues("no branch of a union has a value of limited size")


def _oneofs(node: RecordType) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in node.fields:
        if each.oneof is not None:
            found.setdefault(each.oneof, []).append(each.name)
    return {name: members for name, members in found.items() if len(members) > 1}


def _keys(word: str) -> tuple[str, ...]:
    if word == "boolean":
        return "true", "false"
    return ("1", "2") if word in _RANGE_BY_WORD else ("key", "")


def _candidates(node: Leaf, promise: FieldPromise | None) -> Sequence[Datum]:
    """Return the values of a type without parts; at least one."""
    scalar = node.scalar
    limit, pattern = (ValueRange(), None) if promise is None else (promise.range, promise.pattern)
    listed = [each.value for each in (promise.enum or ())] if promise is not None else []
    if node.symbols:
        return [each for each in node.symbols if not listed or each in listed] or node.symbols
    if listed:
        return listed
    if scalar.base == "boolean":
        return True, False
    if scalar.word == "decimal":
        return _decimals(scalar, limit)
    if (unit := _UNIT_BY_SUFFIX.get(scalar.word.rpartition("-")[2])) is not None:
        return _moments(scalar.word, unit)
    if scalar.word == "date":
        return _SECONDS // 86_400, 0, 1, -1
    if scalar.base in {"bytes", "fixed"}:
        return _bytes(scalar)
    if scalar.base == "string":
        return _texts(scalar, pattern)
    return _numbers(scalar, limit)


def _numbers(scalar: Scalar, limit: ValueRange) -> Sequence[Datum]:
    """Return numbers within a limit: usual ones, its ends and their neighbours, then others, the same every time."""
    least, most = _RANGE_BY_WORD.get(scalar.word, (None, None))
    low, high = _ends(limit, scalar)
    further: Iterator[float]
    if least is not None and most is not None:
        usual: tuple[Datum, ...] = (1, 0, -1, least, most, low, high, *_beside(low, high, 1))
        further = wholes_between(low, high)
    else:
        usual = (*(_FLOATS if scalar.word == "float" else _REALS), low, high, *_PRICES, *_beside(low, high, 0.01))
        further = reals_between(low, high)
    made: dict[Datum, None] = {}
    for each in chain(usual, further):
        number = each if least is not None or each is None else _as_real(float(each), scalar)
        if number is not None and (low is None or number >= low) and (high is None or number <= high):
            made[number] = None
    fitting = [each for each in made if least is None or most is None or least <= each <= most]
    return fitting or [low if low is not None else high if high is not None else 0]


def _ends(limit: ValueRange, scalar: Scalar) -> tuple[Datum, Datum]:
    """Return the smallest and the largest number within a limit, None for one that is not limited."""
    low, high = (end if isinstance(end, int | float) else None for end in (limit.minimum, limit.maximum))
    if scalar.word in _RANGE_BY_WORD:
        least = None if low is None else math.floor(low) + 1 if limit.is_open_below else math.ceil(low)
        most = None if high is None else math.ceil(high) - 1 if limit.is_open_above else math.floor(high)
        return least, most
    if low is not None and limit.is_open_below:
        low = math.nextafter(low, math.inf)
    return low, math.nextafter(high, -math.inf) if high is not None and limit.is_open_above else high


def _beside(low: Datum, high: Datum, step: float) -> Iterator[Datum]:
    """Yield the numbers beside the ends of a range, inside it: by a step, and for real numbers the next ones."""
    for end, sign in ((low, 1), (high, -1)):
        if end is not None:
            yield end + sign * step
            if not isinstance(step, int):
                yield math.nextafter(end, sign * math.inf)


def _as_real(number: float, scalar: Scalar) -> float:
    return nearest_float(number) if scalar.word == "float" else number


def wholes_between(low: int | None, high: int | None) -> Iterator[int]:
    """Yield whole numbers of a range, and some beyond a small one; equal on every call."""
    first, last = _span(low, high)
    chooser = random.Random(_SEED)  # noqa: S311 - examples, not secrets
    smallest, largest = math.ceil(first), math.floor(last)
    for number in range(_FURTHER):
        yield chooser.randint(smallest, max(smallest, largest))
        yield smallest + chooser.randint(0, 10 ** (1 + number % 4))  # small ones, which a large range seldom gives


def reals_between(low: float | None, high: float | None) -> Iterator[float]:
    """Yield real numbers of a range, such as prices, most with two decimals; equal on every call.

    First those whose hundredfold, computed with binary fractions, is no whole number, as that of 0.07.
    """
    first, last = _span(low, high)
    chooser = random.Random(_SEED)  # noqa: S311 - examples, not secrets
    prices = [round(chooser.uniform(first, last), 2) for _ in range(_TRIED * _FURTHER)]
    yield from islice((each for each in prices if each * 100 != round(each * 100)), _FURTHER // 3)
    for number, each in enumerate(prices[:_FURTHER]):
        yield each
        if number % 3 == 0:
            yield round(chooser.uniform(first, last), 1 + number % 4)
            yield chooser.uniform(first, last)


def _span(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of a range, or a part of it that ends where it is not limited."""
    if low is None and high is None:
        return -_WIDE, _WIDE
    if low is None or high is None:
        return (high - _WIDE, high) if high is not None else ((low or 0), (low or 0) + _WIDE)
    return low, high


def _decimals(scalar: Scalar, limit: ValueRange) -> Sequence[str | bytes]:
    most = 10 ** (scalar.precision or 1) - 1
    low, high = _unscaled(limit.minimum, scalar.scale), _unscaled(limit.maximum, scalar.scale)
    prices = (_unscaled(each, scalar.scale) for each in ("0.07", "0.29", "19.99"))
    wanted = (1234, 0, 1, -1, most, -most, low, high, *prices, *_beside(low, high, 1))
    ends = (-most if low is None else max(low, -most), most if high is None else min(high, most))
    found = [
        each
        for each in (*wanted, *(wholes_between(*ends) if ends[0] <= ends[1] else ()))
        if each is not None and abs(each) <= most and (low is None or each >= low) and (high is None or each <= high)
    ]
    return [_twos_complement(each, scalar.size) for each in dict.fromkeys(found)] or [_twos_complement(0, scalar.size)]


def _unscaled(limit: float | str | None, scale: int) -> int | None:
    try:
        return None if limit is None else int(Decimal(str(limit)).scaleb(scale))
    except InvalidOperation:
        return None


def _twos_complement(unscaled: int, size: int | None) -> bytes:
    return unscaled.to_bytes(unscaled.bit_length() // 8 + 1 if size is None else size, "big", signed=True)


def _moments(word: str, unit: int) -> Sequence[int]:
    is_time = word.startswith("time-")
    seconds = _SECONDS % 86_400 if is_time else _SECONDS
    first = seconds * unit + 789 * unit // 1000
    return (first, 0, 1) if is_time else (first, 0, 1, -1)


def _bytes(scalar: Scalar) -> Sequence[bytes]:
    if scalar.size is not None:
        return [each * scalar.size for each in (b"A", b"\x00", b"\xff")]
    return [each.encode("latin-1") for each in _BYTES_AS_TEXT]


def _texts(scalar: Scalar, pattern: str | None) -> Sequence[str]:
    if pattern is not None and (found := matching_strings(pattern)):
        return found[:_MAX_TEXTS]
    return _TEXTS_BY_WORD.get(scalar.word, _TEXTS)


def _json_values(
    schema: Datum, tree: Node, count: int, promised: Callable[[FieldPath], FieldPromise | None]
) -> Iterator[Datum]:
    from counterfoil.schema.compatibility import OutOfSteps
    from counterfoil.schema.languages.jsonschema.values.samples import Sampler
    from counterfoil.schema.languages.jsonschema.values.solver import Solver
    from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
    from counterfoil.schema.languages.jsonschema.view.written import root_of

    root = root_of(schema)
    sampler = Sampler(Solver(Evaluator(_TRIED * 4000), trusts_unknown=True), variations=count)
    numbers = _JsonNumbers(promised)
    try:
        for turn, value in enumerate(islice(sampler.values([(root, True)], []), count * _TRIED)):
            base = base_of_json(tree, value)
            yield base
            other = numbers.value(tree, base, (), turn)
            if other != base and _is_accepted(root, _exact(json_of_base(tree, other))):
                yield other
    except OutOfSteps:
        return


def _is_accepted(root: ConstrainedSchema, value: object) -> bool:
    """Return whether a schema certainly accepts a value, by a limited number of steps."""
    from counterfoil.schema.compatibility import OutOfSteps
    from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator

    try:
        return Evaluator(_TRIED * 400).accepts(root, value) is True
    except OutOfSteps:
        return False


class _JsonNumbers:
    """Replaces the numbers of a value by others, which the schema need not accept."""

    def __init__(self, promised: Callable[[FieldPath], FieldPromise | None]) -> None:
        self._promised = promised
        self._known: dict[FieldPath, Sequence[Datum]] = {}

    def value(self, node: Node, value: Datum, path: FieldPath, turn: int) -> Datum:
        """Return a base value with the numbers of a turn."""
        _, inner = split_null(node)
        match inner:
            case RecordType() if value is not None:
                return {
                    each.name: self.value(each.type, value[each.name], (*path, member(each.name)), turn)
                    for each in inner.fields
                }
            case ArrayType() if value is not None:
                return [self.value(inner.items, each, (*path, ITEMS), turn + place) for place, each in enumerate(value)]
            case Leaf() if value is not None and inner.scalar.word in _JSON_NUMBERS:
                return self._number(inner, path, turn)
        return value

    def _number(self, node: Leaf, path: FieldPath, turn: int) -> Datum:
        if path not in self._known:
            promise = self._promised(path)
            self._known[path] = _numbers(node.scalar, ValueRange() if promise is None else promise.range)
        found = self._known[path]
        return found[turn % len(found)]


def _exact(value: object) -> Datum:
    """Return a JSON value with decimals instead of binary fractions, as a validator reads the text of it."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, dict):
        return {key: _exact(each) for key, each in value.items()}
    return [_exact(each) for each in value] if isinstance(value, list) else value
