"""The translation of a schema's text to the tree of nodes that is compared, keyword by keyword."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare.nodes import (
    ANYTHING,
    ArraySchema,
    BooleanSchema,
    CombinationSchema,
    ConditionSchema,
    ConstantSchema,
    Criterion,
    EmptySchema,
    EnumSchema,
    NegationSchema,
    Node,
    NothingSchema,
    NullSchema,
    NumericSchema,
    ObjectSchema,
    ReferenceSchema,
    Rest,
    Site,
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.document import Base, Draft, ReferenceResolver
from counterfoil.schema.languages.jsonschema.json_values import Number, is_number, print_exact
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.texts import Pointer

# The division of one schema's keywords into nodes.
#
# A type takes the keywords of its kind; keywords of another kind, or without a type, become a node of their own.

_TEXT = frozenset({"minLength", "maxLength", "pattern"})
_NUMBER = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_OBJECT = frozenset(
    {"properties", "required", "minProperties", "maxProperties", "patternProperties", "additionalProperties"}
)
_ARRAY = frozenset({"items", "minItems", "maxItems", "uniqueItems"})
_DRAFT_4: dict[type[Node], frozenset[str]] = {
    TextSchema: _TEXT | {"format"},
    NumericSchema: _NUMBER,
    ObjectSchema: _OBJECT | {"dependencies"},
    ArraySchema: _ARRAY | {"additionalItems"},
    ConditionSchema: frozenset(),
}
_DRAFT_6 = _DRAFT_4 | {
    ObjectSchema: _DRAFT_4[ObjectSchema] | {"propertyNames"},
    ArraySchema: _DRAFT_4[ArraySchema] | {"contains"},
}
_DRAFT_7 = _DRAFT_6 | {ConditionSchema: frozenset({"if", "then", "else"})}
_MODERN: dict[type[Node], frozenset[str]] = {
    TextSchema: _TEXT,
    NumericSchema: _NUMBER,
    ObjectSchema: _OBJECT | {"propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"},
    ArraySchema: _ARRAY | {"prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems"},
    ConditionSchema: frozenset({"if"}),
}
_GROUPS_BY_DRAFT: Final = {
    Draft.DRAFT_4: _DRAFT_4,
    Draft.DRAFT_6: _DRAFT_6,
    Draft.DRAFT_7: _DRAFT_7,
    Draft.DRAFT_2019_09: _MODERN,
    Draft.DRAFT_2020_12: _MODERN,
}
"""The keywords that form a node of each kind, by draft."""

KEYWORDS_BY_KIND: Final[Mapping[type[Node], frozenset[str]]] = {
    kind: frozenset().union(*(groups[kind] for groups in _GROUPS_BY_DRAFT.values()))
    for kind in (TextSchema, NumericSchema, ObjectSchema, ArraySchema, ConditionSchema)
}
"""The keywords that form a node of each kind, in any draft."""

Location: TypeAlias = "tuple[str, Pointer]"
"""A document's name, and a JSON Pointer into it."""


class ReferenceTrail(NamedTuple):
    """The places of the references that led to a schema, the last one first.

    Only those in later drafts are kept: in the others, a place has one node whatever led to it.
    """

    place: Location
    before: ReferenceTrail | None

    def has(self, place: Location) -> bool:
        """Return whether a reference to ``place`` is among them."""
        trail: ReferenceTrail | None = self
        while trail is not None:
            if trail.place == place:
                return True
            trail = trail.before
        return False


class Translation(Protocol):
    """The translation of the schemas inside a schema."""

    def below(self, value: Json, around: SchemaKeywords, *steps: str | int) -> Node:
        """Return the node of the schema ``value``, which is at ``steps`` in ``around``."""

    def meant(self, text: str, around: SchemaKeywords, *, is_dynamic: bool) -> Node:
        """Return the node that the reference ``text`` leads to."""


class SchemaKeywords:
    """The keywords of one schema object, divided into nodes."""

    def __init__(
        self,
        translation: Translation,
        value: Mapping[str, Json],
        base: Base,
        site: Site,
        trail: ReferenceTrail,
    ) -> None:
        self._translation = translation
        self._value = value
        self.base = base
        self.site = site
        self.trail = trail
        self._draft = base.draft
        self._group_by_kind = _GROUPS_BY_DRAFT[base.draft]

    def node(self) -> Node:
        """Return the node of all keywords; if they form several, an allOf of them."""
        parts = self._references()
        if not parts or self._draft.is_modern:
            parts += [*self._typed_parts(), *self._untyped_parts()]
        if not parts:
            return EmptySchema(site=self.site)
        if len(parts) == 1:
            return parts[0]
        return CombinationSchema(site=self.site, criterion=Criterion.ALL_OF, branches=tuple(parts), is_synthetic=True)

    def _references(self) -> list[Node]:
        keywords = ("$ref", "$dynamicRef", "$recursiveRef") if self._draft.is_modern else ("$ref",)
        texts = [(keyword, self._value[keyword]) for keyword in keywords if isinstance(self._value.get(keyword), str)]
        return [self._reference(keyword, text) for keyword, text in texts]

    def _reference(self, keyword: str, text: str) -> Node:
        return ReferenceSchema(
            site=self.site,
            keyword=keyword,
            text=f"{keyword} {text}",
            find=lambda: self._translation.meant(text, self, is_dynamic=keyword != "$ref"),
        )

    def _untyped_parts(self) -> list[Node]:
        value = self._value
        parts: list[Node] = []
        if isinstance(value.get("enum"), list):
            parts.append(EnumSchema(site=self.site, values=frozenset(map(value_text, value["enum"]))))
        if "const" in value and self._draft is not Draft.DRAFT_4:
            parts.append(ConstantSchema(site=self.site, value=value_text(value["const"])))
        if "not" in value:
            parts.append(NegationSchema(site=self.site, refused=self._below("not")))
        return parts + self._combinations()

    def _typed_parts(self) -> list[Node]:
        named = self._value.get("type")
        if isinstance(named, list):
            branches = [node for name in named if (node := self._typed(name)) is not None]
            parts: list[Node] = [
                CombinationSchema(site=self.site, criterion=Criterion.ANY_OF, branches=tuple(branches))
            ]
        else:
            node = self._typed(named)
            branches = parts = [] if node is None else [node]
        return parts + self._sniffed({type(branch) for branch in branches})

    def _sniffed(self, taken: set[type[Node]]) -> list[Node]:
        """Return a node for each group of keywords that no type has taken."""
        present = set(self._value)
        if self._draft.is_modern:
            present -= {name for name in ("properties", "patternProperties") if not self._value.get(name)}
        makers: dict[type[Node], Callable[[], Node]] = {
            ArraySchema: self._array,
            ObjectSchema: self._object,
            NumericSchema: lambda: self._number(is_integer=False),
            TextSchema: self._text,
            ConditionSchema: self._condition,
        }
        groups = self._group_by_kind
        return [make() for kind, make in makers.items() if kind not in taken and present & groups[kind]]

    def _typed(self, name: Json) -> Node | None:
        makers: dict[str, Callable[[], Node]] = {
            "string": self._text,
            "number": lambda: self._number(is_integer=False),
            "integer": lambda: self._number(is_integer=True),
            "object": self._object,
            "array": self._array,
            "boolean": lambda: BooleanSchema(site=self.site),
            "null": lambda: NullSchema(site=self.site),
        }
        maker = makers.get(name) if isinstance(name, str) else None
        return maker() if maker else None

    def _combinations(self) -> list[Node]:
        found: list[Node] = []
        for criterion in Criterion:
            listed = self._value.get(criterion.value)
            if isinstance(listed, list):
                branches = [(index, self._below(criterion.value, index)) for index in range(len(listed))]
                if self._draft.is_modern:  # as in the reference: parts of one schema become branches
                    branches = [(index, part) for index, branch in branches for part in _spliced(branch)]
                indexes, parts = tuple(index for index, _ in branches), tuple(part for _, part in branches)
                found.append(CombinationSchema(site=self.site, criterion=criterion, branches=parts, indexes=indexes))
        return found

    def _below(self, *steps: str | int) -> Node:
        value: Json = self._value
        for step in steps:
            value = value[step]
        return self._translation.below(value, self, *steps)

    def _rest(self, keyword: str) -> Rest:
        value = self._value.get(keyword, True)
        if isinstance(value, bool):
            return Rest(is_allowed=value)
        return Rest(schema=self._below(keyword)) if isinstance(value, dict) else ANYTHING

    def _condition(self) -> Node:
        said = {keyword: self._value[keyword] for keyword in ("if", "then", "else") if keyword in self._value}
        return ConditionSchema(site=self.site, content=value_text(said))

    def _text(self) -> Node:
        pattern = self._value.get("pattern")
        return TextSchema(
            site=self.site,
            min_length=self._number_at("minLength"),
            max_length=self._number_at("maxLength"),
            pattern=pattern if isinstance(pattern, str) else None,
        )

    def _number(self, *, is_integer: bool) -> Node:
        return NumericSchema(
            site=self.site,
            is_integer=is_integer,
            minimum=self._number_at("minimum"),
            maximum=self._number_at("maximum"),
            exclusive_minimum=self._number_at("exclusiveMinimum"),
            exclusive_maximum=self._number_at("exclusiveMaximum"),
            multiple_of=self._number_at("multipleOf"),
        )

    def _object(self) -> Node:
        needed_names, needed_schemas = self._dependencies()
        return ObjectSchema(
            site=self.site,
            properties=self._schemas_at("properties"),
            required=frozenset(self._names(self._value.get("required"))),
            patterns=self._schemas_at("patternProperties"),
            additional=self._rest("additionalProperties"),
            unevaluated=self._rest("unevaluatedProperties") if self._draft.is_modern else ANYTHING,
            needed_names=needed_names,
            needed_schemas=needed_schemas,
            min_properties=self._number_at("minProperties"),
            max_properties=self._number_at("maxProperties"),
        )

    def _array(self) -> Node:
        items, listed, additional = self._items()
        contains = "contains" in self._value and self._draft.is_modern
        return ArraySchema(
            site=self.site,
            items=items,
            tuple_items=listed,
            additional=additional,
            unevaluated=self._rest("unevaluatedItems") if self._draft.is_modern else ANYTHING,
            min_items=self._number_at("minItems"),
            max_items=self._number_at("maxItems"),
            has_unique_items=self._value.get("uniqueItems") is True,
            min_contains=self._number_at("minContains", default=1) if contains else None,
            max_contains=self._number_at("maxContains") if contains else None,
        )

    def _items(self) -> tuple[Node | None, tuple[Node, ...] | None, Rest]:
        if self._draft.is_modern:
            return self._modern_items()
        items = self._value.get("items")
        additional = self._rest("additionalItems")
        if isinstance(items, list):
            return None, tuple(self._below("items", index) for index in range(len(items))), additional
        return (None if items is None else self._below("items")), None, additional

    def _modern_items(self) -> tuple[Node | None, tuple[Node, ...] | None, Rest]:
        listed = self._value.get("prefixItems")
        if isinstance(listed, list):
            nodes = tuple(self._below("prefixItems", index) for index in range(len(listed)))
            return None, nodes, self._rest("items")
        items = self._value.get("items", True)
        if isinstance(items, bool):
            return None, None, Rest(is_allowed=items)
        return self._below("items"), None, ANYTHING

    def _dependencies(self) -> tuple[dict[str, frozenset[str]], dict[str, Node]]:
        names: dict[str, frozenset[str]] = {}
        schemas: dict[str, Node] = {}
        keywords = ("dependentRequired", "dependentSchemas") if self._draft.is_modern else ("dependencies",)
        for keyword in keywords:
            listed = self._value.get(keyword)
            for name, value in listed.items() if isinstance(listed, dict) else ():
                if isinstance(value, list):
                    names[name] = frozenset(self._names(value))
                else:
                    schemas[name] = self._below(keyword, name)
        return names, schemas

    def _schemas_at(self, keyword: str) -> dict[str, Node]:
        listed = self._value.get(keyword)
        return {name: self._below(keyword, name) for name in listed} if isinstance(listed, dict) else {}

    def _number_at(self, keyword: str, default: int | None = None) -> Number | None:
        value = self._value.get(keyword, default)
        return value if is_number(value) else None

    def _names(self, value: Json) -> Iterable[str]:
        return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _spliced(branch: Node) -> tuple[Node, ...]:
    return branch.branches if isinstance(branch, CombinationSchema) and branch.is_synthetic else (branch,)


def value_text(value: Json) -> str:
    """Return a text that is the same for equal values, whatever the order of their keys."""
    return print_exact(value, sort_keys=True)


# The translation of a schema's text to the tree of nodes that is compared.
#
# Drafts 4 to 7 and the later drafts have different keywords for some things, and the reference has a separate reader
# for each group; both become the nodes of :mod:`~counterfoil.schema.languages.jsonschema.compare.nodes`.

_TREES: WeakKeyDictionary[JsonSchema, Node] = WeakKeyDictionary()


def node_of(schema: JsonSchema) -> Node:
    """Return the tree of a schema, which is built once for each.

    References in it are resolved on first use; one that cannot be resolved then raises ``UnresolvedReference``.
    """
    node = _TREES.get(schema)
    if node is None:
        translation = _Translation(schema.resolver)
        node = translation.translate(schema.document, schema.base, ReferenceTrail(("", ()), None))
        node = _TREES.setdefault(schema, node)
    return node


class _Translation:
    """The translation of one schema; references that are not resolved yet keep it in memory."""

    def __init__(self, resolver: ReferenceResolver) -> None:
        self._resolver = resolver
        self._node_by_place: dict[tuple[Location, bool], Node] = {}

    def translate(self, value: Json, base: Base, trail: ReferenceTrail) -> Node:
        """Return the node of the schema ``value``; ``trail`` has the places of the references that led here."""
        site = Site(base.document, base.pointer, value)
        if not isinstance(value, dict):
            return NothingSchema(site=site) if value is False else EmptySchema(site=site)
        node = SchemaKeywords(self, value, base, site, trail).node()
        if isinstance(title := value.get("title"), str):
            node.title = title
        if isinstance(description := value.get("description"), str):
            node.description = description
        if "default" in value:
            node.default, node.has_default = value["default"], True
        if isinstance(connect_type := value.get("connect.type"), str):
            node.connect_type = connect_type
        if not base.draft.is_modern:
            node.source = value
            if isinstance(identity := value.get(base.draft.id_keyword), str):
                node.identity = identity
        return node

    def below(self, value: Json, around: SchemaKeywords, *steps: str | int) -> Node:
        """Return the node of the schema ``value``, which is at ``steps`` in ``around``."""
        base = self._resolver.enter(value, around.base.below(*steps))
        return self.translate(value, base, around.trail)

    def meant(self, text: str, around: SchemaKeywords, *, is_dynamic: bool) -> Node:
        """Return the node that a reference leads to.

        In later drafts a recursive schema has two nodes, as in the reference: one for a reference from outside, one
        for a reference inside itself.
        """
        resolve = self._resolver.resolve_dynamic if is_dynamic else self._resolver.resolve
        value, base = resolve(text, around.base)
        place = (base.document, base.pointer)
        key = (place, base.draft.is_modern and around.trail.has(place))
        node = self._node_by_place.get(key)
        if node is None:
            trail = ReferenceTrail(place, around.trail) if base.draft.is_modern else around.trail
            node = self.translate(value, base, trail)
            node = self._node_by_place.setdefault(key, node)  # the same node for all threads
        return node
