"""A Python module with Hypothesis strategies for the values of a contract, which needs nothing of this project.

Its values are those that deserializers return: dicts, and Python's types for dates, decimals and the like.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.generate import ExampleLimits, whole_limits
from counterfoil.schema.agreements import ValueRange
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, member
from counterfoil.schema.patterns.matching import spelled_pattern
from counterfoil.schema.patterns.syntax import PatternDialect
from counterfoil.schema.plans.notation import INT_RANGE, LONG_RANGE, UINT32_RANGE, UINT64_RANGE
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NotPlannable,
    NullType,
    Opaque,
    RecordField,
    RecordType,
    UnionType,
    tree_of,
)

if TYPE_CHECKING:
    from counterfoil.contracts.generate.library import FoundContract


_WHOLE_LIMITS: Final = {"int": INT_RANGE, "long": LONG_RANGE, "uint32": UINT32_RANGE, "uint64": UINT64_RANGE}
_JSON: Final = "st.none() | st.booleans() | st.integers(-100, 100) | st.text(TEXT, max_size=8)"
_UTC: Final = "timezones=st.just(UTC)"
_MOMENTS: Final = {
    "date": "st.dates()",
    "full-date": "st.dates().map(str)",
    "date-time": f"st.datetimes({_UTC}).map(datetime.isoformat)",
    "time-millis": "st.times().map(to_millis)",
    "time-micros": "st.times()",
    "timestamp-millis": f"st.datetimes(FIRST, LAST, {_UTC}).map(to_millis)",
    "timestamp-micros": f"st.datetimes(FIRST, LAST, {_UTC})",
    "local-timestamp-millis": "st.datetimes(FIRST, LAST).map(to_millis)",
    "local-timestamp-micros": "st.datetimes(FIRST, LAST)",
}
_PROTOBUF_MOMENTS: Final = {
    "timestamp-nanos": f"st.datetimes(FIRST, LAST, {_UTC})",
    "duration-nanos": "st.timedeltas(timedelta(days=-3_000_000), timedelta(days=3_000_000))",
}
_HEAD: Final = '''"""Hypothesis strategies for {id} {version}, topic {topic}.

Written by `counterfoil generate strategy`; the file may be changed and kept.
"""
'''
_RULES: Final = "# These rules of the contract are not part of it; from_contract() of the test kit keeps them:"
_IMPORTS: Final = (
    ("datetime", ("UTC", "datetime", "timedelta")),
    ("decimal", ("Decimal",)),
)
_PARTS: Final = {
    "TEXT": 'TEXT = st.characters(exclude_categories=["Cs"])',
    "FIRST": "FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 30)",
    "to_millis": '''

def to_millis(moment):
    """Return a time without its microseconds."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

''',
}
"""What strategies use, by the name that shows that they do."""


def strategy_text(found: FoundContract) -> str:
    """Return the module; its strategy of whole values is the last one. Raises ``PreconditionFailed``."""
    try:
        root = tree_of(found.examples.parsed)
    except NotPlannable as problem:
        raise PreconditionFailed(f"{found.path}: {problem.problem}") from None
    writer = _Writer(found)
    whole = writer.node(root, ())
    name = _name(found.topic)
    lines = writer.lines if whole == name else [*writer.lines, f"{name} = {whole}"]
    parts = [part for word, part in _PARTS.items() if _is_used(word, lines)]
    imports = []
    for module, names in _IMPORTS:
        used = [each for each in names if _is_used(each, [*parts, *lines])]
        imports += [f"from {module} import {', '.join(used)}"] if used else []
    rules = [each.implementation or "" for each in found.promise.quality if each.engine == "cel"]
    comments = [f"#   {line}" for rule in rules for line in rule.strip().splitlines()]
    head = _HEAD.format(id=found.id, version=found.contract.version, topic=found.topic)
    blocks = [
        [_RULES, *comments, ""] if rules else [],
        [*imports, ""] if imports else [],
        ["from hypothesis import strategies as st", "", *parts, *lines],
    ]
    return head + "\n" + "\n".join(line for block in blocks for line in block) + "\n"


def _is_used(word: str, lines: Sequence[str]) -> bool:
    return any(re.search(rf"\b{word}\b", line) for line in lines)


class _Writer:
    def __init__(self, found: FoundContract) -> None:
        self._limits = ExampleLimits(found.promise)
        language = found.examples.schema.schema_type
        self._is_json = language is SchemaType.JSON
        self._moments = _MOMENTS | (_PROTOBUF_MOMENTS if language is SchemaType.PROTOBUF else {})
        self._topic = _name(found.topic)
        self._open: dict[int, str] = {}
        self.lines: list[str] = []

    def node(self, node: Node, path: FieldPath) -> str:
        """Return the expression of a type; records become variables before it."""
        match node:
            case NullType():
                return "st.none()"
            case Leaf():
                return self._leaf(node, path)
            case ArrayType():
                return f"st.lists({self.node(node.items, (*path, ITEMS))}, max_size=3)"
            case MapType():
                return (
                    f"st.dictionaries(st.text(TEXT, max_size=8), {self.node(node.values, (*path, VALUES))}, max_size=3)"
                )
            case UnionType():
                required = self._limits.is_required(path)
                branches = [each for each in node.branches if not (required and isinstance(each, NullType))]
                return " | ".join(dict.fromkeys(self.node(each, path) for each in branches)) or "st.nothing()"
            case Opaque():
                return f"({_JSON})"
            case RecordType():
                return self._record(node, path)
        raise PreconditionFailed(f"there is no strategy for {node.kind}")

    def _record(self, record: RecordType, path: FieldPath) -> str:
        if id(record) in self._open:
            return f"st.deferred(lambda: {self._open[id(record)]})"
        name = self._topic if not path else self._free_name(record, path)
        self._open[id(record)] = name
        always: list[str] = []
        sometimes: list[str] = []
        oneofs: dict[str, list[str]] = {}
        for each in record.fields:
            inside = (*path, member(each.name))
            entry = f"{each.name!r}: {self._field(each, inside)}"
            if each.oneof is not None and _is_shared(record, each.oneof):
                oneofs.setdefault(each.oneof, []).append(f"st.fixed_dictionaries({{{entry}}})")
            else:
                (sometimes if each.may_be_absent and not self._limits.is_required(inside) else always).append(entry)
        del self._open[id(record)]
        text = _dictionaries(always, sometimes)
        for fields in oneofs.values():
            text = f"st.builds(lambda one, other: one | other, {text}, st.just({{}}) | {' | '.join(fields)})"
        self.lines.append(f"{name} = {text}")
        return name

    def _field(self, field: RecordField, path: FieldPath) -> str:
        if field.may_be_absent and not self._is_null_possible(field) and isinstance(field.type, UnionType):
            branches = [each for each in field.type.branches if not isinstance(each, NullType)]
            return " | ".join(self.node(each, path) for each in branches) or "st.nothing()"
        return self.node(field.type, path)

    def _is_null_possible(self, field: RecordField) -> bool:
        return self._is_json and field.has_null

    def _leaf(self, leaf: Leaf, path: FieldPath) -> str:
        listed = self._limits.listed(path)
        if leaf.symbols:
            return f"st.sampled_from({[each for each in leaf.symbols if listed is None or each in listed]!r})"
        if listed is not None:
            return f"st.sampled_from({[*listed]!r})"
        word, limits = leaf.scalar.word, self._limits.range(path)
        if word in _WHOLE_LIMITS:
            low, high = whole_limits(limits, *_WHOLE_LIMITS[word])
            return f"st.integers({low}, {high})"
        if word in ("float", "double", "number"):
            return _floats(limits, is_single=word == "float", is_finite=self._is_json)
        if word == "decimal" and leaf.scalar.precision is not None:
            scale, high = leaf.scalar.scale, 10**leaf.scalar.precision - 1
            low, high = whole_limits(limits, -high, high, scale=scale)
            return f"st.integers({low}, {high}).map(lambda unscaled: Decimal(unscaled).scaleb(-{scale}))"
        if word == "uuid":
            return "st.uuids().map(str)" if self._is_json else "st.uuids()"
        if word in self._moments:
            return self._moments[word]
        return self._base(leaf, path)

    def _base(self, leaf: Leaf, path: FieldPath) -> str:
        match leaf.scalar.base:
            case "boolean":
                return "st.booleans()"
            case "string":
                found = self._limits.at(path)
                if found is not None and found.pattern is not None:
                    return (
                        f"st.from_regex({_expression(found.pattern)!r}).filter(lambda text: not text.endswith('\\n'))"
                    )
                return "st.text(TEXT)"
            case "fixed":
                return f"st.binary(min_size={leaf.scalar.size}, max_size={leaf.scalar.size})"
            case "bytes":
                return "st.binary()"
            case "int" | "long" as base:
                return "st.integers({}, {})".format(*_WHOLE_LIMITS[base])
        raise PreconditionFailed(f"there is no strategy for values of the type {leaf.scalar.word}; use from_contract()")

    def _free_name(self, record: RecordType, path: FieldPath) -> str:
        name = _name(record.name or "_".join(step.name for step in path if step.name))
        taken = {line.partition(" = ")[0] for line in self.lines} | set(self._open.values()) | {self._topic}
        number = next(index for index in range(1, len(taken) + 2) if f"{name}{index if index > 1 else ''}" not in taken)
        return f"{name}{number if number > 1 else ''}"


def _dictionaries(always: list[str], sometimes: list[str]) -> str:
    lines = "".join(f"\n        {entry}," for entry in always)
    text = f"st.fixed_dictionaries(\n    {{{lines}\n    }}" if always else "st.fixed_dictionaries(\n    {}"
    if sometimes:
        text += ",\n    optional={" + "".join(f"\n        {entry}," for entry in sometimes) + "\n    }"
    return f"{text},\n)"


def _floats(limits: ValueRange | None, *, is_single: bool, is_finite: bool) -> str:
    options = ["width=32"] if is_single else []
    if limits is not None:
        for name, limit, is_open in (
            ("min_value", limits.minimum, limits.is_open_below),
            ("max_value", limits.maximum, limits.is_open_above),
        ):
            if isinstance(limit, int | float):
                options.append(f"{name}={float(limit)!r}")
                options += [f"exclude_{name[:3]}=True"] if is_open else []
    if limits is not None or is_finite:
        options += ["allow_nan=False", "allow_infinity=False"]
    return f"st.floats({', '.join(options)})"


def _is_shared(record: RecordType, oneof: str) -> bool:
    return sum(each.oneof == oneof for each in record.fields) > 1


def _name(text: str) -> str:
    """Return the name of a variable, in words with underscores."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text.rpartition("/")[2]).strip("_").lower() or "values"
    words = f"_{words}" if words[0].isdigit() else words
    return f"{words}_" if keyword.iskeyword(words) or words in {"st", "datetime"} else words


def _expression(pattern: str) -> str:
    """Return a pattern for Hypothesis, which reads it with the module ``re``, where sets have more members."""
    spelled = spelled_pattern(pattern, PatternDialect.RE) if "\\" in pattern else None
    return pattern if spelled is None else spelled.replace(r"(?![\s\S])", "$")
