"""JSON schemas as trees, and JSON values as base values of these trees, and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from decimal import Decimal
from importlib import import_module
from typing import Final, cast

from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.json_values import plain
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.plans.model import Scalar
from counterfoil.schema.plans.notation import INT_RANGE, LONG_RANGE, UINT64_RANGE
from counterfoil.schema.plans.tree import (
    NO_DEFAULT,
    ArrayType,
    Demands,
    Leaf,
    MapType,
    Node,
    NullType,
    Opaque,
    RecordField,
    RecordType,
    TargetLimits,
    UnionType,
    branch_of,
    nullable,
    tree_text,
)
from counterfoil.schema.plans.types import NoValue, shape_of, split_null, value_of_json

# JSON schemas as trees.
#
# ==============================  ====================================================================================
# object with ``properties``      a record; properties that are not declared are dropped, even where they are allowed
# object of one other schema      a map
# array of one schema             an array
# ``integer``                     a long of 64 bits; an int, or an unsigned long, where the limits of the schema say so
# ``number``                      a whole number of any size, or a double
# ``string``                      text; with ``enum`` or ``const`` an enum; with ``format`` ``date-time`` or ``date``,
#                                 or ``contentEncoding`` ``base64``, a form that other languages have a type for
# ``null`` among the types        a nullable type; so is a property that may be left out and has no default
# several types, ``oneOf``        a union; the branch of a value is the first that accepts it
# anything else                   a type whose values can only be copied to an equal one
# ==============================  ====================================================================================
#
# Limits, patterns, conditions and the like are no part of a tree: each written value is validated.

_UNCHECKED: Final = frozenset(
    {
        *("pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum"),
        *("exclusiveMaximum", "multipleOf", "uniqueItems", "minItems", "maxItems", "minProperties"),
        *("maxProperties", "contains", "not", "if", "propertyNames", "dependentRequired"),
        *("dependentSchemas", "dependencies", "patternProperties"),
    }
)
"""The keywords that a tree does not have; a range of numbers only chooses their type."""
_BY_NAME: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES: Final = frozenset({"enum", "const", "default", "examples"})
_STEPS_A_NAME: Final = 1_000
_ANY: Final = Opaque("any JSON value", "json: true")
_BOOLEAN: Final = Scalar("boolean", "boolean")
_NUMBER: Final = Scalar("number", "number")
_LONG: Final = Scalar("long", "long")
_STRING: Final = Scalar("string", "string")
_SCALAR_BY_FORMAT: Final = {"date-time": Scalar("date-time", "string"), "date": Scalar("full-date", "string")}
_BASE64: Final = Scalar("base64", "string")
_DROPPED: Final = "properties that the source's schema does not declare are dropped"


def tree_of(schema: JsonSchema) -> Node:
    """Return the type of the whole document."""
    return _Reader().node(root_of(schema), schema.name or "")


def meaning_of(schema: JsonSchema) -> str:
    """Return the tree as text, and the constraints of the schema without notes such as titles."""
    return f"json {tree_text(tree_of(schema))} {root_of(schema).text or schema.normalized()}"


def base_function(schema: JsonSchema) -> None:
    """Return None: the codecs of messages make base values."""
    del schema


def decoded_function(schema: JsonSchema) -> None:
    """Return None: the codecs of messages take base values."""
    del schema


class _Reader:
    """Reads the schemas of one document; a schema that is used twice for objects is one record."""

    def __init__(self) -> None:
        self._records: dict[ConstrainedSchema, RecordType] = {}
        self._open: set[ConstrainedSchema] = set()

    def node(self, schema: ConstrainedSchema, name: str) -> Node:
        """Return the type of the values of a schema; ``name`` is for a record without a title."""
        if schema.accepts_everything:
            return _ANY
        layers = layers_of(schema)
        if schema in self._open and self._known(layers) is None:
            return _opaque(schema, "a type that contains itself")
        self._open.add(schema)
        try:
            return self._read(schema, layers, name)
        finally:
            self._open.discard(schema)

    def _read(self, schema: ConstrainedSchema, layers: list[ConstrainedSchema], name: str) -> Node:
        facts = [layer.facts for layer in layers]
        if any(each.is_false or each.is_opaque for each in facts):
            return _opaque(schema, "values that a plan cannot tell")
        values = next((each.values for each in facts if each.values is not None), None)
        if values is not None:
            return _listed(schema, values, name)
        types = _types(facts)
        choices = [branches for each in facts for branches in (each.any_of, each.one_of) if branches is not None]
        has_types = any(_tells_more(branch) for branches in choices for branch in branches)
        if len(choices) == 1 and (has_types or not types) and not any(each.properties or each.items for each in facts):
            return self._choice(schema, choices[0], name)
        if has_types:
            return _opaque(schema, "a choice between several types beside other keywords")
        if not types:
            return _opaque(schema, "a type that the schema does not name")
        nodes = [self._of_type(word, schema, layers, name) for word in sorted(types - {"null"})]
        tests = [ConstrainedSchema(KeywordFacts(types=frozenset({word}))) for word in sorted(types - {"null"})]
        made = _union(nodes, tests, sorted(types - {"null"})) or NullType()
        return nullable(made) if "null" in types else made

    def _choice(self, schema: ConstrainedSchema, branches: Sequence[ConstrainedSchema], name: str) -> Node:
        """Return the type of ``anyOf`` or ``oneOf``; null among the branches makes the type nullable."""
        nodes: list[Node] = []
        tests: list[ConstrainedSchema] = []
        numbers: list[str] = []
        has_null = False
        for number, branch in enumerate(branches):
            branch_null, inner = split_null(self.node(branch, name))
            has_null = has_null or branch_null
            if inner is None:
                continue
            if isinstance(inner, UnionType):
                return _opaque(schema, "a choice between choices")
            nodes.append(inner)
            tests.append(branch)
            numbers.append(str(number))
        made = _union(nodes, tests, numbers)
        if made is None:
            return NullType() if has_null else _opaque(schema, "no value")
        return nullable(made) if has_null else made

    def _of_type(self, word: str, schema: ConstrainedSchema, layers: list[ConstrainedSchema], name: str) -> Node:
        facts = [layer.facts for layer in layers]
        if word == "object":
            return self._object(schema, layers, name)
        if word == "array":
            items = next((each.items for each in facts if each.items is not None), None)
            if items is None or any(each.prefix for each in facts):
                return _opaque(schema, "an array without one type of items")
            return ArrayType(self.node(items, name))
        if word == "string":
            return Leaf(_text_scalar(layers))
        if word == "integer":
            return Leaf(_whole_scalar(facts))
        return Leaf(_NUMBER if word == "number" else _BOOLEAN)

    def _object(self, schema: ConstrainedSchema, layers: list[ConstrainedSchema], name: str) -> Node:
        facts = [layer.facts for layer in layers]
        properties: dict[str, ConstrainedSchema] = {}
        for each in facts:
            for key, inner in each.properties.items():
                properties.setdefault(key, inner)
        patterns = [inner for each in facts for inner in each.patterns.values()]
        rest = [each.additional for each in facts if each.additional is not None and not each.additional.facts.is_false]
        if not properties:
            others = [*patterns, *rest]
            if len(others) != 1 or others[0].accepts_everything:
                return _opaque(schema, "an object without declared properties")
            return MapType(self.node(others[0], name))
        known = self._known(layers)
        if known is not None:
            return known
        title = _note(layers, "title")
        made = self._records[schema] = RecordType(str(title or name or "object"), str(title or name))
        is_closed = not patterns and any(
            each is not None and each.facts.is_false
            for one in facts
            for each in (one.additional, one.unevaluated_properties)
        )
        made.dropped = None if is_closed else _DROPPED
        required = frozenset[str]().union(*(each.required for each in facts))
        made.fields = [self._field(key, inner, is_required=key in required) for key, inner in properties.items()]
        made.demands = _demands(facts, required, properties)
        return made

    def _known(self, layers: list[ConstrainedSchema]) -> RecordType | None:
        """Return the record of one of the schemas, if the others describe no more of the object."""
        for layer in layers:
            if layer in self._records:
                others = (each.facts for each in layers if each not in layers_of(layer))
                if not any(each.properties or each.patterns or each.additional or each.required for each in others):
                    return self._records[layer]
        return None

    def _field(self, name: str, schema: ConstrainedSchema, *, is_required: bool) -> RecordField:
        node = self.node(schema, name)
        has_null = split_null(node)[0]
        default = _default(layers_of(schema), node)
        if is_required:
            return RecordField(name, node, default, has_null=has_null)
        made = node if default is not NO_DEFAULT else nullable(node)
        return RecordField(name, made, default, may_be_absent=default is NO_DEFAULT, has_null=has_null)


def _demands(facts: Sequence[KeywordFacts], required: frozenset[str], declared: Iterable[str]) -> Demands:
    """Return what schemas that apply together demand of the properties of an object."""
    names = [each.names for each in facts if each.names is not None]
    needed: dict[str, frozenset[str]] = {}
    for each in facts:
        for name, others in each.needed_names.items():
            needed[name] = needed.get(name, frozenset()) | others
    limits = [int(each.max_properties) for each in facts if each.max_properties is not None]
    return Demands(
        undeclared=tuple(sorted(required.difference(declared))),
        refused=frozenset(name for name in declared if any(_refuses(each, name) for each in names)),
        needed=needed,
        least=max((int(each.min_properties or 0) for each in facts), default=0),
        most=min(limits, default=None),
    )


def _refuses(names: ConstrainedSchema, name: str) -> bool:
    try:
        return Evaluator(_STEPS_A_NAME).accepts(names, name) is False
    except OutOfSteps:
        return False


def layers_of(schema: ConstrainedSchema) -> list[ConstrainedSchema]:
    """Return the schema, and those that always apply with it: by reference, and by ``allOf``."""
    if not schema.facts.all_of:
        return [schema]  # most schemas; a shortcut for speed
    found: dict[ConstrainedSchema, None] = {}
    waiting = deque([schema])
    while waiting:
        each = waiting.popleft()
        if each not in found:
            found[each] = None
            waiting += each.facts.all_of
    return list(found)


def _types(facts: Iterable[KeywordFacts]) -> frozenset[str]:
    """Return the types that all schemas have in common; those that other keywords suggest, if no schema names one."""
    found: frozenset[str] | None = None
    for each in facts:
        if each.types is None:
            continue
        types = each.types | {"integer"} if "number" in each.types else each.types
        found = types if found is None else found & types
    if found is None:
        has_properties = any(each.properties for each in facts)
        found = frozenset({"object"}) if has_properties else frozenset()
    return found - {"integer"} if "number" in found else found


def _tells_more(schema: ConstrainedSchema) -> bool:
    """Return whether a branch has properties or types of its own, and not only conditions."""
    if schema.accepts_everything:
        return False
    return any(
        each.properties or each.types is not None or each.values is not None or each.items is not None
        for each in (layer.facts for layer in layers_of(schema))
    )


def _union(nodes: Sequence[Node], tests: Sequence[ConstrainedSchema], labels: Sequence[str]) -> Node | None:
    """Return the type of values of several types; it is tagged where the values alone do not tell the branch."""
    if len(nodes) <= 1:
        return nodes[0] if nodes else None
    shapes = [shape_of(node) for node in nodes]
    is_tagged = (
        None in shapes
        or len(set(shapes)) < len(shapes)
        or {"integer", "real"} <= {shape.value for shape in shapes if shape is not None}
    )
    return UnionType(tuple(nodes), is_tagged, tuple(tests), tuple(labels))


def _listed(schema: ConstrainedSchema, values: Sequence[object], name: str) -> Node:
    """Return the type of ``enum`` and ``const``."""
    others = [plain(value) for value in values if value is not None]
    made: Node
    if not others:
        made = NullType() if values else _opaque(schema, "no value")
    elif all(isinstance(value, str) for value in others):
        made = Leaf(Scalar("enum", "enum", tuple(dict.fromkeys(others))), name, name)
    elif all(isinstance(value, bool) for value in others):
        made = Leaf(_BOOLEAN)
    elif all(isinstance(value, int) and not isinstance(value, bool) for value in others):
        is_long = all(LONG_RANGE[0] <= value <= LONG_RANGE[1] for value in others)
        made = Leaf(_LONG if is_long else _NUMBER)
    elif all(isinstance(value, (int, Decimal)) and not isinstance(value, bool) for value in others):
        made = Leaf(_NUMBER)
    else:
        made = _opaque(schema, "one of several JSON values")
    return nullable(made) if len(others) < len(values) else made


def _text_scalar(layers: Iterable[ConstrainedSchema]) -> Scalar:
    if str(_note(layers, "contentEncoding")).lower() == "base64":
        return _BASE64
    return _SCALAR_BY_FORMAT.get(str(_note(layers, "format")), _STRING)


def _whole_scalar(facts: Iterable[KeywordFacts]) -> Scalar:
    """Return the smallest type of whole numbers that has every value within the limits."""
    lows = [each.minimum[0] for each in facts if each.minimum is not None]
    highs = [each.maximum[0] for each in facts if each.maximum is not None]
    if lows and highs:
        low, high = max(lows), min(highs)
        if INT_RANGE[0] <= low and high <= INT_RANGE[1]:
            return Scalar("int", "int")
        if low >= 0 and LONG_RANGE[1] < high <= UINT64_RANGE[1]:
            return Scalar("uint64", "uint64")
    return _LONG


def _note(layers: Iterable[ConstrainedSchema], keyword: str) -> Datum:
    """Return the value of an annotation, the nearest first; None if there is none."""
    for layer in layers:
        if isinstance(layer, WrittenSchema) and keyword in layer.keywords:
            return layer.keywords[keyword]
    return None


def _default(layers: Iterable[ConstrainedSchema], node: Node) -> Datum:
    """Return the default of a property, if it is a value of its type."""
    for layer in layers:
        if isinstance(layer, WrittenSchema) and "default" in layer.keywords:
            default = _as_floats(plain(layer.keywords["default"]))
            try:
                value_of_json(node, default)
            except NoValue:
                return NO_DEFAULT
            return default
    return NO_DEFAULT


def _as_floats(value: object) -> Datum:
    """Return a JSON value with numbers that have a fraction as floats."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    return {key: _as_floats(item) for key, item in value.items()} if isinstance(value, dict) else value


def limits_of(schema: JsonSchema) -> TargetLimits:
    """Return the demands of a schema on values besides their types; what finds them is loaded when it is called."""
    limits: TargetLimits = import_module("counterfoil.schema.plans.json_limits").JsonLimits(schema)
    return limits


def reading_notes(schema: JsonSchema) -> tuple[str, ...]:
    """Return a sentence with the keywords of a source that no record is checked against, if it has some."""
    found: set[str] = set()
    waiting: list[Datum] = [schema.document, *schema.references.values()]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        if not isinstance(node, dict):
            continue
        found |= _UNCHECKED & node.keys()
        for keyword, value in node.items():
            if keyword in _BY_NAME and isinstance(value, dict):
                waiting += value.values()
            elif keyword not in _VALUES:
                waiting.append(value)
    if not found:
        return ()
    names = ", ".join(sorted(found))
    return (
        f"records of the source are not checked against {names}: types, required properties and lists of texts are",
    )


def _opaque(schema: ConstrainedSchema, words: str) -> Opaque:
    if schema.text is not None:
        return Opaque(words, f"json: {schema.text}")
    return Opaque(words, f"json: {schema.pointer}", is_known=False)


def test_of(union: UnionType, index: int) -> ConstrainedSchema:
    """Return the schema that accepts the values of a tagged union's branch."""
    return cast("ConstrainedSchema", union.tests[index])


# JSON values as base values of their schema's tree, and back.


class NoValues(Exception):
    """There are no values of limited size, or none can be made; ``problem`` is a sentence."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def base_of_json(node: Node, value: Datum) -> Datum:
    """Return the base value of a JSON value: with every declared property, and no others. Raises ``NoValues``."""
    match node:
        case RecordType():
            given = value if isinstance(value, dict) else {}
            return {each.name: _property(each, given) for each in node.fields}
        case ArrayType():
            return [base_of_json(node.items, each) for each in value]
        case MapType():
            return {key: base_of_json(node.values, each) for key, each in value.items()}
        case UnionType() if node.is_tagged:
            raise NoValues("values of oneOf are not generated")
        case UnionType():
            inner = [each for each in node.branches if not isinstance(each, NullType)]
            return value if value is None or len(inner) != 1 else base_of_json(inner[0], value)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _property(field: RecordField, given: dict[str, Datum]) -> Datum:
    if field.name in given:
        value = given[field.name]
        return None if value is None else base_of_json(field.type, value)
    return field.default if field.has_default and not field.may_be_absent else None


def json_of_base(node: Node, value: Datum) -> Datum:
    """Return the JSON value of a base value: a property that is None, and cannot be null, is left out."""
    match node:
        case RecordType() if value is not None:
            return {
                each.name: json_of_base(each.type, value[each.name])
                for each in node.fields
                if value[each.name] is not None or (each.has_null and not each.may_be_absent)
            }
        case ArrayType() if value is not None:
            return [json_of_base(node.items, each) for each in value]
        case MapType() if value is not None:
            return {key: json_of_base(node.values, each) for key, each in value.items()}
        case UnionType() if value is not None:
            if node.is_tagged:
                return json_of_base(node.branches[value[0]], value[1])
            branch = branch_of(node, value)
            return value if branch is None else json_of_base(branch, value)
    return value
