"""The demands of a JSON schema on the values at a place of a plan's target: keywords, and formats.

Only what certainly holds at the place counts (``languages/jsonschema/view/evaluation.py``), so that a value which is
refused here makes each record with it invalid. A value is written as :func:`json_of` says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import (
    Certain,
    Evaluator,
    certain_beside,
    certain_of_item,
    certain_of_property,
)
from counterfoil.schema.languages.jsonschema.view.facts import (
    ANYTHING,
    ConstrainedSchema,
    KeywordFacts,
    Literal,
    listing,
)
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.plans.casts import UUID_TEXT
from counterfoil.schema.plans.jsonschema import layers_of
from counterfoil.schema.plans.model import (
    BuildRecord,
    Cast,
    Constant,
    Format,
    Join,
    Lookup,
    Op,
    RequireValue,
    Tag,
    ValueShape,
    Widen,
)
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    MayBeNull,
    Node,
    NullType,
    Place,
    RecordType,
    UnionType,
    branch_of,
)
from counterfoil.schema.plans.types import shape_of, split_null

_MAX_STEPS: Final = 20_000
_KEYWORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "types": ("type",),
    "values": ("enum", "const"),
    "minimum": ("minimum", "exclusiveMinimum"),
    "maximum": ("maximum", "exclusiveMaximum"),
    "multiple_of": ("multipleOf", "divisibleBy"),
    "min_length": ("minLength",),
    "max_length": ("maxLength",),
    "pattern": ("pattern",),
    "min_items": ("minItems",),
    "max_items": ("maxItems",),
    "has_unique_items": ("uniqueItems",),
    "min_properties": ("minProperties",),
    "max_properties": ("maxProperties",),
    "required": ("required",),
    "names": ("propertyNames",),
    "contains": ("contains",),
    "refused": ("not",),
    "any_of": ("anyOf",),
    "one_of": ("oneOf",),
}
"""The constraints that are named in messages, with their keywords."""
_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)


class JsonLimits:
    """The limits of one schema; what holds at a place is looked up once."""

    def __init__(self, schema: JsonSchema) -> None:
        self._certain_by_place: dict[Place, Certain] = {(): (root_of(schema),)}

    def refusal(self, place: Place, node: Node, value: object) -> str | None:
        """Return the demand at ``place`` that a value of its type does not meet; None if none is known."""
        written = exact(json_of(node, value))
        for schema in self._certain(place):
            if _refuses(schema, written):
                return _expected(schema, written)
            if isinstance(written, str) and (format_name := _broken_format(schema, written)):
                return f"a text of the format {format_name}"
        return None

    def refusal_of_all(self, place: Place, node: Node, op: Op) -> str | None:
        """Return the demand that no result of the operation meets; None if one may fit."""
        del node  # the operation says more
        possible = _results_of(op)
        if possible is None:
            return None
        certain = self._certain(place)
        if not self._is_empty([(possible, True), *((schema, True) for schema in certain)]):
            return None
        words = dict.fromkeys(word for schema in certain for word in _limits_in(schema))
        return f"what {', '.join(words)} permits" if words else "what the target's schema permits"

    def refuses_record(self, place: Place, node: Node, op: BuildRecord, may_be_null: MayBeNull) -> bool:
        """Return whether certainly no record that the operation builds is valid, since its fields do not go together.

        Only a schema with keywords that compare several fields is searched. ``may_be_null`` returns whether an
        operation may return null.
        """
        certain = self._certain(place)
        if not any(map(_compares_fields, certain)):
            return False
        built = _Values(may_be_null).built(op, node)
        return self._is_empty([(built, True), *((schema, True) for schema in certain)])

    @staticmethod
    def _is_empty(literals: Iterable[Literal]) -> bool:
        try:
            return Solver(Evaluator(_MAX_STEPS)).is_empty(literals)
        except (OutOfSteps, RecursionError):
            return False

    def _certain(self, place: Place) -> Certain:
        known = self._certain_by_place.get(place)
        if known is None:
            around = certain_beside(self._certain(place[:-1]))
            if place[-1] == "[]":
                known = certain_of_item(around, _SOME_ITEM)
            elif place[-1] == "{}":
                known = ()  # of which keyword an entry is a value, its name decides
            else:
                known = certain_of_property(around, place[-1])
            self._certain_by_place[place] = known
        return known


_SOME_ITEM: Final = 1_000_000
"""An index behind all of ``prefixItems``: the only items of an array that a plan builds."""


def json_of(node: Node, value: Datum) -> Datum:
    """Return a base value as it is written: a property that is None is left out, unless null is a value of it."""
    if value is None:
        return None
    if isinstance(node, UnionType):
        if node.is_tagged:
            return json_of(node.branches[value[0]], value[1])
        _, single = split_null(node)
        inner = branch_of(node, value) if isinstance(single, UnionType) else single
        return value if inner is None else json_of(inner, value)
    if isinstance(node, RecordType):
        members = [(member, value[member.name]) for member in node.fields if member.name in value]
        return {
            member.name: json_of(member.type, part) for member, part in members if part is not None or member.has_null
        }
    if isinstance(node, ArrayType):
        return [json_of(node.items, item) for item in value]
    if isinstance(node, MapType):
        return {key: json_of(node.values, item) for key, item in value.items()}
    return value


def exact(value: object) -> Datum:
    """Return a JSON value with the exact numbers of its text."""
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, list):
        return [exact(item) for item in value]
    return {key: exact(item) for key, item in value.items()} if isinstance(value, dict) else value


def _refuses(schema: ConstrainedSchema, value: object) -> bool:
    try:
        return Evaluator(_MAX_STEPS).accepts(schema, value) is False
    except (OutOfSteps, RecursionError):
        return False


def _expected(schema: ConstrainedSchema, value: object) -> str:
    """Return in words what a schema permits: the keywords that refuse the value."""
    words = dict.fromkeys(
        word
        for layer in layers_of(schema)
        for name in _KEYWORDS
        if _breaks(layer, name, value)
        for word in _written(layer, name)
    )
    return f"what {', '.join(words)} permits" if words else "what the target's schema permits"


def _breaks(schema: ConstrainedSchema, name: str, value: object) -> bool:
    facts = schema.facts
    alone = replace(KeywordFacts(counts_fractions=facts.counts_fractions), **{name: getattr(facts, name)})
    if name == "values":
        alone.scalars = facts.scalars
    return alone != KeywordFacts(counts_fractions=facts.counts_fractions) and _refuses(ConstrainedSchema(alone), value)


def _limits_in(schema: ConstrainedSchema) -> Iterable[str]:
    for layer in layers_of(schema):
        for name in _KEYWORDS:
            if name not in {"types", "required"}:
                yield from _written(layer, name)


def _written(schema: ConstrainedSchema, name: str) -> Iterable[str]:
    """Yield a constraint as it is written."""
    keywords = schema.keywords if isinstance(schema, WrittenSchema) else {}
    for word in _KEYWORDS[name]:
        if word in keywords:
            value = keywords[word]
            yield word if isinstance(value, dict | list | bool) else f"{word} {value}"


# --- formats


def _broken_format(schema: ConstrainedSchema, text: str) -> str:
    """Return the format that a text certainly does not have; empty if it has it, or that is unknown."""
    for layer in layers_of(schema):
        name = layer.keywords.get("format") if isinstance(layer, WrittenSchema) else None
        check = _FORMATS.get(name) if isinstance(name, str) else None
        if isinstance(name, str) and check is not None and not check(text):
            return name
    return ""


def _is_address(kind: type[IPv4Address | IPv6Address]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            kind(text)
        except AddressValueError:
            return False
        return True

    return check


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "uuid": lambda text: UUID_TEXT.fullmatch(text) is not None,
    "time": lambda text: _TIME.fullmatch(text) is not None,
    "email": lambda text: all(text.rpartition("@")),
    "idn-email": lambda text: all(text.rpartition("@")),
    "ipv4": _is_address(IPv4Address),
    "ipv6": _is_address(IPv6Address),
}
"""The formats that a text certainly has or has not; dates and points in time are types of their own."""


# --- what operations give


def _compares_fields(schema: ConstrainedSchema) -> bool:
    """Return whether a schema has keywords that are about several properties of an object."""
    facts = [layer.facts for layer in layers_of(schema)]
    return any(each.any_of or each.one_of or each.refused or each.condition or each.needed_schemas for each in facts)


class _Values:
    """Makes schemas that all values of an operation fit, with what ``may_be_null`` says of an operation."""

    def __init__(self, may_be_null: MayBeNull) -> None:
        self._may_be_null = may_be_null

    def built(self, op: BuildRecord, node: Node) -> ConstrainedSchema:
        """Return a schema of the objects that an operation builds: with these properties, and no others."""
        members = {member.name: member for member in node.fields} if isinstance(node, RecordType) else {}
        properties: dict[str, ConstrainedSchema] = {}
        required: set[str] = set()
        for name, part in op.fields:
            member = members[name]
            is_there = not self._may_be_null(part)
            if part == Constant(None) and not member.has_null:
                continue
            values = self.of(part, member.type)
            properties[name] = values if is_there else ConstrainedSchema(KeywordFacts(any_of=(values, listing([None]))))
            required |= {name} if is_there or member.has_null else set()
        facts = KeywordFacts(types=frozenset({"object"}), properties=properties, required=frozenset(required))
        facts.additional = ConstrainedSchema(KeywordFacts(is_false=True))
        return ConstrainedSchema(facts)

    def of(self, op: Op, node: Node) -> ConstrainedSchema:
        """Return a schema of the values of a field, other than null."""
        match op:
            case Constant():
                return listing([exact(json_of(node, op.value))])
            case Tag() if isinstance(node, UnionType):
                return self.of(op.of, node.branches[op.index])
            case RequireValue():
                return self.of(op.of, node)
            case Lookup() if op.otherwise is None or isinstance(op.otherwise, Constant):
                results = [*(result for _, result in op.table), *([op.otherwise.value] if op.otherwise else [])]
                return listing([exact(json_of(node, result)) for result in results])
            case BuildRecord() if isinstance(split_null(node)[1], RecordType):
                return self.built(op, split_null(node)[1] or node)
        known = _results_of(op)
        return _of_type(node) if known is None else known


def _of_type(node: Node) -> ConstrainedSchema:
    """Return a schema of the values that a type has when they are written."""
    if isinstance(node, UnionType):
        branches = [_of_type(branch) for branch in node.branches]
        return ANYTHING if ANYTHING in branches else ConstrainedSchema(KeywordFacts(any_of=tuple(branches)))
    if isinstance(node, Leaf) and node.symbols:
        return listing([*node.symbols])
    word = "null" if isinstance(node, NullType) else _TYPE_BY_SHAPE.get(shape_of(node))
    return ANYTHING if word is None else ConstrainedSchema(KeywordFacts(types=frozenset({word})))


_TYPE_BY_SHAPE: Final[Mapping[ValueShape | None, str]] = {
    ValueShape.BOOLEAN: "boolean",
    ValueShape.INTEGER: "integer",
    ValueShape.REAL: "number",
    ValueShape.TEXT: "string",
    ValueShape.LIST: "array",
    ValueShape.OBJECT: "object",
}


def _results_of(op: Op) -> ConstrainedSchema | None:
    """Return a schema that all results of an operation other than null fit; None if nothing is known of them."""
    match op:
        case Format():
            return _texts(op.pattern.width, op.pattern.width, _pattern_of(op))
        case Join():
            return _texts(len(op.separator) * (len(op.parts) - 1) + sum(map(_least_length, op.parts)))
        case Widen() if op.source.symbols and op.target.base == "string":
            return listing([*op.source.symbols])
        case Cast() if op.source.base == "boolean" and op.target.base == "string":
            return listing(["true", "false"])
        case Cast() if op.source.base == "boolean" and op.target.word in {"int", "long"}:
            return listing([0, 1])
    return None


def _texts(least: int, most: int | None = None, pattern: str | None = None) -> ConstrainedSchema:
    return ConstrainedSchema(
        KeywordFacts(types=frozenset({"string"}), min_length=least, max_length=most, pattern=pattern)
    )


def _least_length(op: Op) -> int:
    results = _results_of(op)
    if results is None:
        return 0
    values = results.facts.values
    return min(map(len, values)) if values else int(results.facts.min_length or 0)


def _pattern_of(op: Format) -> str:
    pieces = (f"[0-9]{{{len(each.letters)}}}" if each.letters else _escaped(each.text) for each in op.pattern.pieces)
    return f"^{''.join(pieces)}$"


def _escaped(text: str) -> str:
    """Return a pattern of ECMA 262 for a text."""
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text)
