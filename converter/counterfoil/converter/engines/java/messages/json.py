"""JSON texts in Java: the types that are read and written, and the limits beyond types that are checked meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Final

from counterfoil.converter.engines.java.messages.json_tests import JsonTests, pattern_of, size_of
from counterfoil.converter.engines.java.messages.operations import constant
from counterfoil.converter.engines.java.source import ENGINE, JavaClass, block, joined, quoted, signed
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.facts import ANYTHING, ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.jsonschema.view.written import root_of
from counterfoil.schema.plans.jsonschema import layers_of, test_of, tree_of
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NullType,
    Opaque,
    RecordField,
    RecordType,
    UnionType,
)
from counterfoil.schema.plans.types import WHOLE, describe, range_of, split_null, value_of_json
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.serde.json.text import path_text

# The limits of JSON schemas beyond their types that Java checks while it walks a value, and the refusal of others.
#
# What is refused here is judged by the schema as a whole (:mod:`.json_tests`).

_TYPED = ("types", "values", "scalars", "counts_fractions", "marks_contained", "all_of", "min_contains")
"""What the types of a tree hold, or what says nothing of values."""
_OF_OBJECTS = ("properties", "required", "additional", "unevaluated_properties")
_OF_CHOICES = ("any_of", "one_of")
_LIMITS = ("minimum", "maximum", "min_length", "max_length", "min_items", "max_items", "pattern")
_SOMETIMES = ("multiple_of", "has_unique_items", "min_properties", "max_properties")
"""Keywords that Java checks for some types."""
_KNOWN = frozenset((*_TYPED, *_OF_OBJECTS, *_OF_CHOICES, *_LIMITS, *_SOMETIMES, "items"))
_KEYWORD_BY_FACT = {
    "patterns": "patternProperties",
    "names": "propertyNames",
    "needed_names": "dependentRequired",
    "needed_schemas": "dependentSchemas",
    "prefix": "prefixItems",
    "max_contains": "maxContains",
    "unevaluated_items": "unevaluatedItems",
    "refused": "not",
    "condition": "if",
    "consequence": "then",
    "alternative": "else",
    "is_opaque": "that is not known",
}
_COMPARED = frozenset({"boolean", "string", "enum", *WHOLE})
"""The kinds of items that Java compares."""


@dataclass(frozen=True)
class JsonTypeLimits:
    """The limits of one type as calls in Java, and the schemas of its parts.

    ``in_choice`` is whether the type is a branch: a violation there would be one of the choice as a whole.
    """

    spelt: str
    facts: tuple[KeywordFacts, ...]
    in_choice: bool = False

    def inner(self, where: str) -> ConstrainedSchema:
        """Return the schema of items or values."""
        for each in self.facts:
            found = each.items or each.additional
            if found is not None and not found.facts.is_false:
                return found
        raise EngineCannot(ENGINE, field=where, why="an array or a map without one schema of its parts")

    def property(self, name: str) -> ConstrainedSchema:
        """Return the schema of a property."""
        return next(each.properties[name] for each in self.facts if name in each.properties)

    def branch(self, node: UnionType, index: int) -> ConstrainedSchema:
        """Return the schema of a branch."""
        return test_of(node, index) or ANYTHING


def limits_of(node: Node, schema: ConstrainedSchema, where: str) -> JsonTypeLimits:
    """Return the limits of a type that a schema describes. Raises ``EngineCannot`` for keywords that Java lacks."""
    _, inner = split_null(node)
    if schema.accepts_everything:
        return JsonTypeLimits("", ())
    layers = [layer.facts for layer in layers_of(schema)]
    constrained = [each for each in layers if _says_something(each)]
    if len(constrained) > 1:
        raise EngineCannot(ENGINE, field=where, why="several JSON schemas that apply to one value")
    for each in constrained:
        _check(each, inner, where)
    spelt = "".join(_spelt(each, inner, where) for each in constrained)
    choices = [one for each in constrained for one in (each.any_of or each.one_of or ())]
    if choices and inner is not None and not isinstance(inner, UnionType):
        if spelt:
            raise EngineCannot(ENGINE, field=where, why="limits beside a choice")
        return _of_only_choice(inner, choices, where)
    return JsonTypeLimits(spelt, tuple(constrained))


def _of_only_choice(inner: Node, choices: list[ConstrainedSchema], where: str) -> JsonTypeLimits:
    """Return the limits of the one branch beside null."""
    others = [each for each in choices if all(one.facts.types != frozenset({"null"}) for one in layers_of(each))]
    if len(others) != 1:
        raise EngineCannot(ENGINE, field=where, why="a choice between conditions")
    return replace(limits_of(inner, others[0], where), in_choice=True)


def _says_something(facts: KeywordFacts) -> bool:
    return replace(facts, all_of=()) != KeywordFacts(
        counts_fractions=facts.counts_fractions, marks_contained=facts.marks_contained
    )


def _check(facts: KeywordFacts, inner: Node | None, where: str) -> None:
    """Refuse keywords that neither the types of the tree nor the limits hold."""
    plain = KeywordFacts()
    for name in KeywordFacts.__slots__:
        if name not in _KNOWN and getattr(facts, name) != getattr(plain, name):
            keyword = _KEYWORD_BY_FACT.get(name, name)
            raise EngineCannot(ENGINE, field=where, why=f"the keyword {keyword} of JSON Schema")
    for why in (*_unchecked_values(facts, inner), *_unchecked_parts(facts, inner)):
        raise EngineCannot(ENGINE, field=where, why=why)


def _unchecked_values(facts: KeywordFacts, inner: Node | None) -> Iterator[str]:
    """Yield the keywords about numbers, items and entries that Java does not check."""
    is_whole = isinstance(inner, Leaf) and inner.kind in WHOLE
    is_listed = inner is None or is_whole or (isinstance(inner, Leaf) and inner.kind == "enum")
    if facts.values is not None and not is_listed:
        yield "a list of values that are neither texts nor whole numbers"
    if facts.multiple_of is not None and not (is_whole and facts.multiple_of == int(facts.multiple_of)):
        yield "multipleOf of other than whole numbers"
    if facts.has_unique_items and isinstance(inner, ArrayType) and inner.items.kind not in _COMPARED:
        yield "uniqueItems of items that are neither texts nor whole numbers"
    if (facts.min_properties, facts.max_properties) != (None, None) and isinstance(inner, RecordType | UnionType):
        yield "a number of properties of an object that declares its own"


def _unchecked_parts(facts: KeywordFacts, inner: Node | None) -> Iterator[str]:
    """Yield the keywords about the parts of a value that Java does not check."""
    if facts.properties and not isinstance(inner, RecordType):
        yield "properties in a choice"
    closed = (facts.additional, facts.unevaluated_properties)
    if isinstance(inner, RecordType) and any(
        each is not None and not each.facts.is_false and not each.accepts_everything for each in closed
    ):
        return  # what the plan writes are declared properties only
    if facts.unevaluated_properties is not None and not isinstance(inner, RecordType):
        yield "the keyword unevaluatedProperties of JSON Schema"
    if facts.required - set(facts.properties) and isinstance(inner, (RecordType, MapType)):
        yield "a required property that is not declared"
    if facts.items is not None and not isinstance(inner, ArrayType):
        yield "the items of a value of several types"


def _spelt(facts: KeywordFacts, inner: Node | None, where: str) -> str:
    """Return the limits that concern values of a type as calls in Java."""
    spelt = ""
    if facts.minimum is not None or facts.maximum is not None:
        spelt += f".between({_limit(facts.minimum)}, {_limit(facts.maximum)})"
    lengths, counts = (facts.min_length, facts.max_length), (facts.min_items, facts.max_items)
    entries = (facts.min_properties, facts.max_properties)
    if isinstance(inner, UnionType) and (lengths, counts, facts.pattern) != ((None, None), (None, None), None):
        raise EngineCannot(ENGINE, field=where, why="sizes or a pattern in a choice between several types")
    sizes = counts if isinstance(inner, ArrayType) else entries if isinstance(inner, MapType) else (None, None)
    sizes = lengths if isinstance(inner, Leaf) else sizes
    if sizes != (None, None):
        spelt += f".sized({size_of(sizes[0])}, {size_of(sizes[1])})"
    if facts.pattern is not None and isinstance(inner, Leaf):
        spelt += f".matching({pattern_of(facts.pattern, where)})"
    if facts.multiple_of is not None:
        spelt += f".multipleOf({quoted(str(int(facts.multiple_of)))})"
    if facts.values is not None and isinstance(inner, Leaf) and inner.kind in WHOLE:
        numbers = ",".join(str(int(value)) for value in facts.values if value is not None)
        spelt += f".oneOf({joined(numbers)})"
    if facts.has_unique_items and isinstance(inner, ArrayType):
        spelt += ".unique()"
    return spelt


def _limit(limit: Datum) -> str:
    if limit is None:
        return "null"
    return f"new JsonLimit({quoted(str(limit[0]))}, {'true' if limit[1] else 'false'})"


# JSON texts in Java: the types that are read as ``JsonType``, and those that are written as ``JsonForm``.
#
# A value that is written must be valid. The types of a tree hold most of a schema; limits of numbers, texts and arrays
# are checked on the way through a value. A value whose schema has other keywords is judged by it as a whole.

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
        accepts_null = is_nullable and (has_null or isinstance(inner, UnionType))
        made = self._spelt(inner if inner is not None else NullType(), where, is_nullable=accepts_null)
        name = self._java.fresh("J")
        self._java.member(f"static final JsonType {name} = {made}")
        if isinstance(inner, RecordType):
            self._filled(name, inner, where)
        return name

    def _spelt(self, node: Node, where: str, *, is_nullable: bool) -> str:
        words = quoted(describe(node))

        def made(kind: str) -> str:
            return f"new JsonType(JsonType.{kind}, {'true' if is_nullable else 'false'}, {words})"

        if isinstance(node, RecordType):
            return made("RECORD")
        if isinstance(node, ArrayType):
            return f"{made('ARRAY')}.of({self.name(node.items, f'{where}[]', has_null=True)})"
        if isinstance(node, MapType):
            return f"{made('MAP')}.of({self.name(node.values, f'{where}{{}}', has_null=True)})"
        if isinstance(node, UnionType):
            if node.is_tagged:
                raise EngineCannot(ENGINE, field=where, why="a choice whose branches only the schema distinguishes")
            branches = (self.name(branch, where, has_null=True) for branch in node.branches if branch.kind != "null")
            return f"{made('UNION')}.of(new JsonType[] {{{', '.join(branches)}}})"
        if isinstance(node, Opaque):
            return made("ANY")
        return self._leaf(node, made) if isinstance(node, Leaf) else made("NULL")

    def _leaf(self, node: Leaf, made: Datum) -> str:
        scalar = node.scalar
        if scalar.base in WHOLE:
            low, high = range_of(scalar)
            bits = high.bit_length() + int(low < 0)
            return f"{made('WHOLE')}.within({bits}, {'true' if low < 0 else 'false'})"
        kind = made(_LEAF_BY_BASE[scalar.base])
        if scalar.base == "enum":
            return f"{kind}.among({self._java.several([symbol.encode() for symbol in node.symbols])})"
        return str(kind)

    def _filled(self, name: str, node: RecordType, where: str) -> None:
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

    def _absent(self, member: RecordField, where: str) -> str:
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

    def name(self, node: Node, schema: ConstrainedSchema, where: str) -> tuple[str, bool]:
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

    def _limited(self, node: Node, schema: ConstrainedSchema, where: str) -> tuple[str, bool]:
        _, inner = split_null(node)
        limits = limits_of(node, schema, where)
        made, is_limited = self._spelt(inner, limits, where)
        is_limited = is_limited or bool(limits.spelt)
        name = self._java.fresh("J")
        ends = f"{limits.spelt}{'.limited()' if is_limited else ''}{'.choice()' if limits.in_choice else ''}"
        self._java.member(f"static final JsonForm {name} = {made}{ends}")
        if isinstance(inner, RecordType):
            is_limited = self._filled(name, inner, limits, where) or is_limited
        return name, is_limited

    def _tested(self, node: Node, schema: ConstrainedSchema, where: str) -> str:
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
        if isinstance(inner, RecordType):
            self._fill(name, inner, where, lambda member, inside: self._plain(member.type, inside))
            if inner.fields:
                self._java.static(f"{name}.keyed({self._java.words([member.name for member in inner.fields])});")
        return name

    def _plain_form(self, node: Node | None, where: str) -> str:
        if isinstance(node, RecordType):
            return "new JsonForm(JsonForm.RECORD)"
        if isinstance(node, ArrayType):
            return f"new JsonForm(JsonForm.ARRAY).of({self._plain(node.items, f'{where}[]')})"
        if isinstance(node, MapType):
            return f"new JsonForm(JsonForm.MAP).of({self._plain(node.values, f'{where}{{}}')})"
        if isinstance(node, UnionType):
            _refuse_tagged(node, where)
            names = [self._plain(branch, where) for branch in node.branches if branch.kind != "null"]
            return _union_of(names)
        return "new JsonForm(JsonForm.PLAIN)"

    def _spelt(self, node: Node | None, limits: JsonTypeLimits, where: str) -> tuple[str, bool]:
        if isinstance(node, RecordType):
            return "new JsonForm(JsonForm.RECORD)", False
        if isinstance(node, ArrayType):
            items, is_limited = self.name(node.items, limits.inner(where), f"{where}[]")
            return f"new JsonForm(JsonForm.ARRAY).of({items})", is_limited
        if isinstance(node, MapType):
            values, is_limited = self.name(node.values, limits.inner(where), f"{where}{{}}")
            return f"new JsonForm(JsonForm.MAP).of({values})", is_limited
        if isinstance(node, UnionType):
            return self._union(node, limits, where)
        return "new JsonForm(JsonForm.PLAIN)", False

    def _union(self, node: UnionType, limits: JsonTypeLimits, where: str) -> tuple[str, bool]:
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

    def _filled(self, name: str, node: RecordType, limits: JsonTypeLimits, where: str) -> bool:
        limited: list[bool] = []

        def form(member: RecordField, inside: str) -> str:
            made, below = self.name(member.type, limits.property(member.name), inside)
            limited.append(below)
            return made

        self._fill(name, node, where, form)
        if any(limited):
            self._java.static(f"{name}.limited();")
        return any(limited)

    def _fill(self, name: str, node: RecordType, where: str, form: Callable[[RecordField, str], str]) -> None:
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


def _refuse_tagged(node: UnionType, where: str) -> None:
    if node.is_tagged:
        raise EngineCannot(ENGINE, field=where, why="a choice whose branches only the schema distinguishes")


def _step(name: str) -> str:
    """Return a name as the validator writes it: without an empty one, and a whole number of Rust as an index."""
    if _WHOLE.fullmatch(name) and int(name) < 1 << 64:
        return path_text([int(name)])
    return path_text([name]) if name else ""
