"""Hypothesis strategies for Avro schemas: texts, JSON values, and other spellings of them.

``avro_schemas()`` draws texts of any type, ``avro_records()`` texts of records, ``avro_documents()`` JSON values,
``shuffled(document)`` another spelling of one. ``avro_data`` draws data for them.
"""

from __future__ import annotations

import json
import string
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

Json = Any

INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
LATIN_1 = st.characters(max_codepoint=255)
FLOAT = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLE = st.floats(allow_nan=False, allow_infinity=False)
PROPERTIES = st.dictionaries(
    st.sampled_from(["x-a", "x-b", "connect.name"]),
    st.recursive(
        st.none() | st.booleans() | LONG | DOUBLE | TEXT,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
        max_leaves=3,
    ),
    max_size=2,
)
DEFAULT_BY_WORD = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": INT,
    "long": LONG,
    "float": FLOAT,
    "double": DOUBLE,
    "bytes": st.text(LATIN_1, max_size=8),
    "string": TEXT,
}
LOGICAL_TYPES = (
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "time-micros"),
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("string", "uuid"),
)
DEFAULT_BY_LOGICAL_TYPE = {
    "date": st.integers(-100_000, 100_000),
    "time-millis": st.integers(0, 86_399_999),
    "time-micros": st.integers(0, 86_399_999_999),
    "uuid": st.uuids().map(str),
}
TIMESTAMP = st.integers(0, 4_000_000_000_000)
DECIMAL = st.binary(min_size=1, max_size=1).map(lambda data: data.decode("latin-1"))

# Branches of one group have the same Python values, so that the value alone does not show the branch.
GROUP_BY_WORD = {
    "int": "number",
    "long": "number",
    "float": "number",
    "double": "number",
    "string": "text",
    "enum": "text",
    "bytes": "bytes",
    "fixed": "bytes",
    "record": "object",
    "map": "object",
}
ATTRIBUTES = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "symbols", "size", "default", "order"}
)


def avro_schemas(*, max_depth: int = 3, distinct_unions: bool = False) -> st.SearchStrategy[str]:
    """Return a strategy for texts of valid schemas; see :func:`avro_documents`."""
    return avro_documents(max_depth=max_depth, distinct_unions=distinct_unions).map(_dump)


def avro_records(*, max_depth: int = 3, distinct_unions: bool = False) -> st.SearchStrategy[str]:
    """Return a strategy for texts of valid schemas whose top-level type is a record."""
    return _documents(max_depth, distinct_unions=distinct_unions, only_record=True).map(_dump)


def avro_documents(*, max_depth: int = 3, distinct_unions: bool = False) -> st.SearchStrategy[Json]:
    """Return a strategy for valid schemas as JSON values.

    They have every kind, namespaces, names used again, recursion, defaults and logical types. With ``distinct_unions``
    no union has two branches with the same Python values.
    """
    return _documents(max_depth, distinct_unions=distinct_unions, only_record=False)


@st.composite
def shuffled(draw: st.DrawFn, document: Json) -> Json:
    """Return the same schema with the attributes of every declaration in another order; properties keep theirs."""
    if isinstance(document, list):
        return [draw(shuffled(item)) for item in document]
    if not isinstance(document, dict):
        return document
    properties = iter([key for key in document if key not in ATTRIBUTES])
    keys = [key if key in ATTRIBUTES else next(properties) for key in draw(st.permutations(list(document)))]
    inner = ("type", "fields", "items", "values")
    return {key: draw(shuffled(document[key])) if key in inner else document[key] for key in keys}


@st.composite
def _documents(draw: st.DrawFn, max_depth: int, *, distinct_unions: bool, only_record: bool) -> Json:
    drawing = _Drawing(draw, distinct_unions=distinct_unions)
    drawn = drawing.draw_record(max_depth, None) if only_record else drawing.draw_type(max_depth, None)
    return drawn.json


def _dump(document: Json) -> str:
    return json.dumps(document, ensure_ascii=False)


@dataclass(frozen=True)
class _Drawn:
    """A type: its JSON, its kind, its name among the branches of a union, and valid defaults if it can have any."""

    json: Json
    word: str
    name: str
    default: st.SearchStrategy[Json] | None = None
    is_logical: bool = False


@dataclass
class _Drawing:
    """One schema that is being drawn.

    Types in ``closed`` may be used anywhere, those in ``opened`` where a value can end.
    """

    draw: st.DrawFn
    distinct_unions: bool
    closed: dict[str, _Drawn] = field(default_factory=dict)
    opened: dict[str, _Drawn] = field(default_factory=dict)
    count: int = 0

    def draw_type(self, depth: int, namespace: str | None) -> _Drawn:
        choices: list[Callable[[], _Drawn]] = [self._draw_primitive, self._draw_logical]
        if depth > 0:
            compound = [self.draw_record, self.draw_record, self._draw_union, self._draw_array, self._draw_map]
            choices += [partial(choice, depth, namespace) for choice in compound]
            choices += [lambda: self._draw_enum(namespace), lambda: self._draw_fixed(namespace)]
        if known := _visible(self.closed, namespace):
            choices.append(lambda: self._draw_name(known, namespace))
        return self.draw(st.sampled_from(choices))()

    def draw_record(self, depth: int, namespace: str | None) -> _Drawn:
        declared, space, full_name = self._draw_named("record", namespace)
        self.opened[full_name] = _Drawn(full_name, "record", full_name)
        names = self.draw(st.lists(st.sampled_from("abcdef"), max_size=4, unique=True))
        members = [self.draw_type(depth - 1, space) for _ in names]
        declared["fields"] = [self._draw_field(name, member) for name, member in zip(names, members, strict=True)]
        del self.opened[full_name]
        defaults = {
            name: member.default for name, member in zip(names, members, strict=True) if member.default is not None
        }
        whole = st.fixed_dictionaries(defaults) if len(defaults) == len(names) else None
        return self._close(_Drawn(declared, "record", full_name, whole))

    def _draw_field(self, name: str, member: _Drawn) -> Json:
        drawn = {"name": name, "type": member.json, **self._draw_doc()}
        if member.default is not None and self.draw(st.booleans()):
            drawn["default"] = self.draw(member.default)
        if self._is_rare():
            drawn["order"] = self.draw(st.sampled_from(["ascending", "descending", "ignore"]))
        if self._is_rare():
            drawn["aliases"] = self.draw(st.lists(st.sampled_from(["g1", "g2", "g3"]), max_size=2, unique=True))
        return {**drawn, **self._draw_properties()}

    def _draw_primitive(self) -> _Drawn:
        word = self.draw(st.sampled_from(sorted(DEFAULT_BY_WORD)))
        properties = self._draw_properties()
        written = {"type": word, **properties} if properties or self._is_rare() else word
        return _Drawn(written, word, word, DEFAULT_BY_WORD[word])

    def _draw_logical(self) -> _Drawn:
        if self.draw(st.integers(0, 3)) == 0:
            annotated = {"type": "bytes", **self._draw_decimal(12), **self._draw_properties()}
            return _Drawn(annotated, "bytes", "bytes", DECIMAL, is_logical=True)
        word, name = self.draw(st.sampled_from(LOGICAL_TYPES))
        annotated = {"type": word, "logicalType": name, **self._draw_properties()}
        return _Drawn(annotated, word, word, DEFAULT_BY_LOGICAL_TYPE.get(name, TIMESTAMP), is_logical=True)

    def _draw_array(self, depth: int, namespace: str | None) -> _Drawn:
        inner = self._draw_inner(depth, namespace)
        default = st.just([]) if inner.default is None else st.lists(inner.default, max_size=2)
        return _Drawn({"type": "array", "items": inner.json, **self._draw_properties()}, "array", "array", default)

    def _draw_map(self, depth: int, namespace: str | None) -> _Drawn:
        inner = self._draw_inner(depth, namespace)
        default = st.just({}) if inner.default is None else st.dictionaries(TEXT, inner.default, max_size=2)
        return _Drawn({"type": "map", "values": inner.json, **self._draw_properties()}, "map", "map", default)

    def _draw_inner(self, depth: int, namespace: str | None) -> _Drawn:
        """Return a type inside an array, a map or a nullable union, where a record that is still open may be used."""
        opened = _visible(self.opened, namespace)
        if opened and self.draw(st.integers(0, 3)) == 0:
            return self._draw_name(opened, namespace)
        return self.draw_type(depth - 1, namespace)

    def _draw_union(self, depth: int, namespace: str | None) -> _Drawn:
        branches = [_Drawn("null", "null", "null", st.none())] if self.draw(st.booleans()) else []
        seen = {"null"} if branches else set()
        for _ in range(self.draw(st.integers(1, 3))):
            closed = dict(self.closed)
            branch = self._draw_inner(depth, namespace) if branches else self.draw_type(depth - 1, namespace)
            keys = self._keys(branch)
            if branch.word != "union" and not keys & seen:
                seen |= keys
                branches.append(branch)
            else:
                self.closed = closed  # the declarations of the branch are not part of the schema
        if not branches:
            return _Drawn(["null"], "union", "union", st.none())
        return _Drawn([branch.json for branch in branches], "union", "union", branches[0].default)

    def _keys(self, branch: _Drawn) -> set[str]:
        """Return the keys of a branch that must be unique in one union."""
        if not self.distinct_unions:
            return {branch.name}
        return {branch.name, GROUP_BY_WORD.get(branch.word, branch.word)} | (
            {"logical"} if branch.is_logical else set()
        )

    def _draw_enum(self, namespace: str | None) -> _Drawn:
        declared, _, full_name = self._draw_named("enum", namespace)
        letters = st.sampled_from(string.ascii_uppercase)
        symbols = declared["symbols"] = self.draw(st.lists(letters, min_size=1, max_size=4, unique=True))
        if self.draw(st.booleans()):
            declared["default"] = self.draw(st.sampled_from(symbols))
        return self._close(_Drawn(declared, "enum", full_name, st.sampled_from(symbols)))

    def _draw_fixed(self, namespace: str | None) -> _Drawn:
        declared, _, full_name = self._draw_named("fixed", namespace)
        size = declared["size"] = self.draw(st.sampled_from([1, 4, 8, 16]))
        is_decimal = self.draw(st.booleans())
        if is_decimal:
            declared.update(self._draw_decimal(2 * size))
        default = st.text(LATIN_1, min_size=size, max_size=size) if not is_decimal else None
        return self._close(_Drawn(declared, "fixed", full_name, default, is_logical=is_decimal))

    def _draw_named(self, word: str, namespace: str | None) -> tuple[dict[str, Json], str | None, str]:
        """Return a new named type, the namespace inside it, and its full name."""
        self.count += 1
        declared: dict[str, Json] = {"type": word, "name": f"{word.title()}{self.count}", **self._draw_doc()}
        if self.draw(st.integers(0, 2)) == 0:
            namespace = self.draw(st.sampled_from(["a", "a.b", "org.acme"]))
            declared["namespace"] = namespace
        if self._is_rare():
            declared["aliases"] = self.draw(st.lists(st.sampled_from(["Was1", "z.Was2"]), max_size=2, unique=True))
        declared.update(self._draw_properties())
        full_name = f"{namespace}.{declared['name']}" if namespace else declared["name"]
        return declared, namespace, full_name

    def _close(self, drawn: _Drawn) -> _Drawn:
        self.closed[drawn.name] = drawn
        return drawn

    def _draw_name(self, known: dict[str, _Drawn], namespace: str | None) -> _Drawn:
        """Return a declared type, by its full name or, in its own namespace, by the short one."""
        full_name = self.draw(st.sampled_from(sorted(known)))
        space, _, short_name = full_name.rpartition(".")
        written = short_name if space == (namespace or "") and self.draw(st.booleans()) else full_name
        again = known[full_name]
        return _Drawn(written, again.word, full_name, again.default, is_logical=again.is_logical)

    def _draw_doc(self) -> dict[str, Json]:
        return {"doc": self.draw(TEXT)} if self._is_rare() else {}

    def _draw_decimal(self, most_digits: int) -> dict[str, Json]:
        precision = self.draw(st.integers(1, most_digits))
        return {"logicalType": "decimal", "precision": precision, "scale": self.draw(st.integers(0, precision))}

    def _draw_properties(self) -> dict[str, Json]:
        if not self._is_rare():
            return {}
        return self.draw(PROPERTIES)

    def _is_rare(self) -> bool:
        return self.draw(st.integers(0, 5)) == 0


def _visible(known: dict[str, _Drawn], namespace: str | None) -> dict[str, _Drawn]:
    """Return the types that can be named inside ``namespace``: a name without dots means that namespace there."""
    return {name: drawn for name, drawn in known.items() if namespace is None or "." in name}
