"""JSON texts in Java: the types that are read as ``JsonType``, and those that are written as ``JsonForm``.

A value that is written must be valid. The types of a tree hold most of a schema; limits of numbers, texts and arrays
are checked on the way through a value. A value whose schema has other keywords is judged by it as a whole.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.messages.constants import constant
from counterfoil.converter.engines.java.messages.json_limits import Limits, limits_of
from counterfoil.converter.engines.java.messages.json_tests import JsonTests
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import block, quoted, signed
from counterfoil.schema.evolution.languages.jsonschema import tree_of
from counterfoil.schema.evolution.tree import Array, Leaf, Map, Null, Opaque, Record, Union
from counterfoil.schema.evolution.types import WHOLE, describe, range_of, split_null, value_of_json
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.json_codec.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.evolution.tree import Field, Node
    from counterfoil.schema.formats.jsonschema.read.drafts import Draft
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

_WHOLE: Final = re.compile(r"\+?[0-9]{1,1000}")
_LEAF_BY_BASE: Final = {"boolean": "BOOLEAN", "string": "TEXT", "number": "NUMBER", "enum": "ENUM"}


def read_lines(java: JavaClass, source: JsonSchema, writer_by_id: Mapping[int, JsonSchema]) -> list[str]:
    """Return the statements that read the text ``b`` from ``p`` on, by its schema id."""
    name = _Types(java).name(tree_of(source), "", has_null=True)
    java.member("final JsonReader reader = new JsonReader()")
    known = [f"case {signed(each)}:" for each in sorted(writer_by_id)]
    read = f"return JsonSettling.value({name}, reader.read({name}, b, p));"
    return block("switch (id)", [*known, f"  {read}", "default:", "  return UNKNOWN;"])


def write_lines(java: JavaClass, target: JsonSchema) -> list[str]:
    """Return the statements that write the value ``made``."""
    forms = _Forms(java, target.draft)
    name = forms.name(tree_of(target), root_of(target), "")[0]
    java.member("final JsonWriter writer = new JsonWriter()")
    return [f"writer.write({name}, made, out);"]


def prefix_of(_target: JsonSchema, target_id: int) -> bytes:
    """Return the frame of a converted message."""
    return id_prefix(target_id)


class _Types:
    """Writes the types of values that are read as constants."""

    def __init__(self, java: JavaClass) -> None:
        self._java = java
        self._open: set[int] = set()

    def name(self, node: Node, where: str, *, has_null: bool) -> str:
        """Return the name of a type; without ``has_null``, null only stands for a property that is left out."""
        is_nullable, inner = split_null(node)
        accepts_null = is_nullable and (has_null or isinstance(inner, Union))
        made = self._spelt(inner if inner is not None else Null(), where, is_nullable=accepts_null)
        name = self._java.fresh("J")
        self._java.member(f"static final JsonType {name} = {made}")
        if isinstance(inner, Record):
            self._filled(name, inner, where)
        return name

    def _spelt(self, node: Node, where: str, *, is_nullable: bool) -> str:
        words = quoted(describe(node))

        def made(kind: str) -> str:
            return f"new JsonType(JsonType.{kind}, {'true' if is_nullable else 'false'}, {words})"

        if isinstance(node, Record):
            return made("RECORD")
        if isinstance(node, Array):
            return f"{made('ARRAY')}.of({self.name(node.items, f'{where}[]', has_null=True)})"
        if isinstance(node, Map):
            return f"{made('MAP')}.of({self.name(node.values, f'{where}{{}}', has_null=True)})"
        if isinstance(node, Union):
            if node.is_tagged:
                raise EngineCannot(ENGINE, field=where, why="a choice whose branches only the schema distinguishes")
            branches = (self.name(branch, where, has_null=True) for branch in node.branches if branch.kind != "null")
            return f"{made('UNION')}.of(new JsonType[] {{{', '.join(branches)}}})"
        if isinstance(node, Opaque):
            return made("ANY")
        return self._leaf(node, made) if isinstance(node, Leaf) else made("NULL")

    def _leaf(self, node: Leaf, made: Any) -> str:
        scalar = node.scalar
        if scalar.base in WHOLE:
            low, high = range_of(scalar)
            bits = high.bit_length() + int(low < 0)
            return f"{made('WHOLE')}.within({bits}, {'true' if low < 0 else 'false'})"
        kind = made(_LEAF_BY_BASE[scalar.base])
        if scalar.base == "enum":
            return f"{kind}.among({self._java.several([symbol.encode() for symbol in node.symbols])})"
        return str(kind)

    def _filled(self, name: str, node: Record, where: str) -> None:
        if id(node) in self._open:
            raise EngineCannot(ENGINE, field=where, why="a JSON object that contains itself")
        self._open.add(id(node))
        types, absent = [], []
        for member in node.fields:
            inside = f"{where}.{member.name}" if where else member.name
            types.append(self.name(member.type, inside, has_null=member.has_null))
            absent.append(self._absent(member, inside))
        self._open.discard(id(node))
        spelt = self._java.several([member.name.encode() for member in node.fields])
        parts = f"{spelt}, new JsonType[] {{{', '.join(types)}}}, new Object[] {{{', '.join(absent)}}}"
        self._java.static(f"{name}.fill({parts});")

    def _absent(self, member: Field, where: str) -> str:
        if member.may_be_absent:
            return "null"
        if not member.has_default:
            return "JsonType.REQUIRED"
        return constant(self._java, member.type, value_of_json(member.type, member.default), where)


class _Forms:
    """Writes the types of values that are written as constants."""

    def __init__(self, java: JavaClass, draft: Draft) -> None:
        self._java = java
        self._tests = JsonTests(java, draft)
        self._open: set[int] = set()

    def name(self, node: Node, schema: Schema, where: str) -> tuple[str, bool]:
        """Return the name of a type, and whether its values have limits.

        A type whose limits cannot be checked on the way is judged by its schema, with all of its parts.
        """
        known = self._tests.count
        try:
            with self._java.taken_back():
                return self._limited(node, schema, where)
        except EngineCannot as refusal:
            self._tests.forget(known)
            try:
                return self._tested(node, schema, where), True
            except EngineCannot as other:
                raise (other if refusal.field == where else refusal) from None

    def _limited(self, node: Node, schema: Schema, where: str) -> tuple[str, bool]:
        _, inner = split_null(node)
        limits = limits_of(node, schema, where)
        made, is_limited = self._spelt(inner, limits, where)
        is_limited = is_limited or bool(limits.spelt)
        name = self._java.fresh("J")
        ends = f"{limits.spelt}{'.limited()' if is_limited else ''}{'.choice()' if limits.in_choice else ''}"
        self._java.member(f"static final JsonForm {name} = {made}{ends}")
        if isinstance(inner, Record):
            is_limited = self._filled(name, inner, limits, where) or is_limited
        return name, is_limited

    def _tested(self, node: Node, schema: Schema, where: str) -> str:
        """Return the name of a type whose values are judged by their schema."""
        test = self._tests.name(schema, where)
        name = self._plain(node, where)
        self._java.static(f"{name}.tested({test}).limited();")
        return name

    def _plain(self, node: Node, where: str) -> str:
        """Return the name of a type without limits, which has the names of its properties."""
        _, inner = split_null(node)
        name = self._java.fresh("J")
        self._java.member(f"static final JsonForm {name} = {self._plain_form(inner, where)}")
        if isinstance(inner, Record):
            self._fill(name, inner, where, lambda member, inside: self._plain(member.type, inside))
            if inner.fields:
                self._java.static(f"{name}.keyed({self._java.words([member.name for member in inner.fields])});")
        return name

    def _plain_form(self, node: Node | None, where: str) -> str:
        if isinstance(node, Record):
            return "new JsonForm(JsonForm.RECORD)"
        if isinstance(node, Array):
            return f"new JsonForm(JsonForm.ARRAY).of({self._plain(node.items, f'{where}[]')})"
        if isinstance(node, Map):
            return f"new JsonForm(JsonForm.MAP).of({self._plain(node.values, f'{where}{{}}')})"
        if isinstance(node, Union):
            _refuse_tagged(node, where)
            names = [self._plain(branch, where) for branch in node.branches if branch.kind != "null"]
            return _union_of(names)
        return "new JsonForm(JsonForm.PLAIN)"

    def _spelt(self, node: Node | None, limits: Limits, where: str) -> tuple[str, bool]:
        if isinstance(node, Record):
            return "new JsonForm(JsonForm.RECORD)", False
        if isinstance(node, Array):
            items, is_limited = self.name(node.items, limits.inner(where), f"{where}[]")
            return f"new JsonForm(JsonForm.ARRAY).of({items})", is_limited
        if isinstance(node, Map):
            values, is_limited = self.name(node.values, limits.inner(where), f"{where}{{}}")
            return f"new JsonForm(JsonForm.MAP).of({values})", is_limited
        if isinstance(node, Union):
            return self._union(node, limits, where)
        return "new JsonForm(JsonForm.PLAIN)", False

    def _union(self, node: Union, limits: Limits, where: str) -> tuple[str, bool]:
        _refuse_tagged(node, where)
        names = []
        for index, branch in enumerate(node.branches):
            if branch.kind == "null":
                continue
            name, is_limited = self.name(branch, limits.branch(node, index), where)
            if is_limited:
                raise EngineCannot(ENGINE, field=where, why="limits in a choice between several types")
            names.append(name)
        return _union_of(names), False

    def _filled(self, name: str, node: Record, limits: Limits, where: str) -> bool:
        limited: list[bool] = []

        def form(member: Field, inside: str) -> str:
            made, below = self.name(member.type, limits.property(member.name), inside)
            limited.append(below)
            return made

        self._fill(name, node, where, form)
        if any(limited):
            self._java.static(f"{name}.limited();")
        return any(limited)

    def _fill(self, name: str, node: Record, where: str, form: Callable[[Field, str], str]) -> None:
        """Fill the type of an object with its properties, whose types ``form`` names."""
        if id(node) in self._open:
            raise EngineCannot(ENGINE, field=where, why="a JSON object that contains itself")
        self._open.add(id(node))
        try:
            forms = [form(each, f"{where}.{each.name}" if where else each.name) for each in node.fields]
        finally:
            self._open.discard(id(node))
        names = self._java.words([_step(member.name) for member in node.fields])
        written = self._java.several([f"{encode_basestring(member.name)}:".encode() for member in node.fields])
        nulls = ", ".join("true" if member.has_null else "false" for member in node.fields)
        parts = f"{names}, {written}, new JsonForm[] {{{', '.join(forms)}}}, new boolean[] {{{nulls}}}"
        self._java.static(f"{name}.fill({parts});")


def _union_of(names: Sequence[str]) -> str:
    return f"new JsonForm(JsonForm.UNION).of(new JsonForm[] {{{', '.join(names)}}})"


def _refuse_tagged(node: Union, where: str) -> None:
    if node.is_tagged:
        raise EngineCannot(ENGINE, field=where, why="a choice whose branches only the schema distinguishes")


def _step(name: str) -> str:
    """Return a name as the validator writes it: without an empty one, and a whole number of Rust as an index."""
    if _WHOLE.fullmatch(name) and int(name) < 1 << 64:
        return path_text([int(name)])
    return path_text([name]) if name else ""
