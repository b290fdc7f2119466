"""The types that plans are derived on, in any language, and the table of languages, which makes them of schemas."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from counterfoil.schema.plans.model import BuildRecord, Op, Scalar


# The types that plans are derived on, whatever the language of the schemas: a tree that each language is read into.
#
# A node compares by identity, since types may contain themselves. :func:`tree_of` reads the tree of a schema.
#
# The values of a type are its *base values*:
#
# =====================  ===============================================================================================
# ``Leaf``               a number, text, bytes or boolean; the number or text of a logical type
# ``RecordType``         a dict with every field; None for a field that is not set
# ``ArrayType``          a list
# ``MapType``            a dict from texts
# ``UnionType``          the value of a branch, or None; with ``is_tagged``, a pair of the branch's index and the value
# ``Opaque``             whatever the language's codec returns; it can only be copied
# =====================  ===============================================================================================


class NotPlannable(Exception):
    """A schema whose values have no tree; ``problem`` is a sentence."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class TypeKind(StrEnum):
    """The kinds of types with parts, and of null. The kind of a leaf is the base of its scalar."""

    NULL = "null"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"
    OPAQUE = "opaque"


class NoFieldDefault:
    """The type of ``NO_DEFAULT``, since None is a default, too."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoFieldDefault()


@dataclass(eq=False, slots=True)
class NullType:
    """The type of null alone."""

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.NULL


@dataclass(eq=False, slots=True)
class Leaf:
    """A type without parts; ``name`` and ``full_name`` are those of an enum or a fixed type, or empty.

    ``default`` is the symbol that a reader uses for one that it does not know.
    """

    scalar: Scalar
    name: str = ""
    full_name: str = ""
    default: str | None = None

    @property
    def kind(self) -> str:
        """The base of the scalar, such as ``long`` or ``enum``."""
        return self.scalar.base

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of an enum."""
        return self.scalar.symbols


@dataclass(eq=False, slots=True)
class ArrayType:
    """A list whose items all have one type."""

    items: Node

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.ARRAY


@dataclass(eq=False, slots=True)
class MapType:
    """A map from texts to values of one type. ``key`` is the scalar type whose values the texts are."""

    values: Node
    key: str = "string"

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.MAP


@dataclass(eq=False, slots=True)
class UnionType:
    """One of several types. ``tests``, one for each branch of a tagged union, belong to the language.

    Without tests the data itself says the branch of a value of a tagged union. ``labels`` are further names of the
    branches, one for each, such as their numbers in ``oneOf``.
    """

    branches: Sequence[Node]
    is_tagged: bool = False
    tests: Sequence[Datum] = ()
    labels: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.UNION

    @property
    def tells_branch(self) -> bool:
        """Whether the data says which branch a value is of, so that equal values of two branches differ."""
        return self.is_tagged and all(test is None for test in self.tests)


@dataclass(eq=False, slots=True)
class RecordField:
    """A field of a record.

    ``default`` is a JSON value, or ``NO_DEFAULT``. ``number`` identifies the field on Protobuf's wire, ``oneof`` is the
    name of its oneof. ``may_be_absent`` is whether None stands for a field that is left out, and ``has_null`` whether
    null is a value of its own besides.
    """

    name: str
    type: Node
    default: Datum = NO_DEFAULT
    aliases: Sequence[str] = ()
    number: int | None = None
    oneof: str | None = None
    may_be_absent: bool = False
    has_null: bool = True

    @property
    def has_default(self) -> bool:
        """Whether the field has a default."""
        return self.default is not NO_DEFAULT


@dataclass(frozen=True, slots=True)
class Demands:
    """What a JSON schema demands of the properties of an object, whatever their values are.

    ``undeclared`` are required names that no property has, ``refused`` the names of properties that ``propertyNames``
    refuses, ``needed`` the names that another one needs. An object has at least ``least`` and at most ``most`` of them.
    """

    undeclared: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()
    needed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    least: int = 0
    most: int | None = None


@dataclass(eq=False, slots=True)
class RecordType:
    """A record. ``dropped`` is a sentence about what values may have besides the fields, which no plan copies.

    ``demands`` is what a JSON schema demands of an object besides its fields.
    """

    name: str
    full_name: str = ""
    fields: Sequence[RecordField] = field(default_factory=list)
    dropped: str | None = None
    demands: Demands | None = None

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.RECORD


class FieldIndex:
    """The fields of one record by their names, by their aliases, and by their numbers."""

    def __init__(self, record: RecordType) -> None:
        self.record = record
        self.by_name = {member.name: member for member in record.fields}
        self.by_alias: dict[str, RecordField] = {}
        self.by_number: dict[int, list[RecordField]] = {}
        for member in record.fields:
            for alias in member.aliases:
                self.by_alias.setdefault(alias, member)
            if member.number is not None:
                self.by_number.setdefault(member.number, []).append(member)


class FieldIndexes:
    """The indexes of complete records, each of which is made once."""

    def __init__(self) -> None:
        self._known: dict[int, FieldIndex] = {}

    def of(self, record: RecordType) -> FieldIndex:
        """Return the index of a record."""
        known = self._known.get(id(record))
        if known is None:
            known = self._known[id(record)] = FieldIndex(record)
        return known


@dataclass(eq=False, slots=True)
class Opaque:
    """A type whose values can only be copied to an equal type: one with the same ``text``. ``words`` describe it.

    Without ``is_known`` the text leaves something out, so that the type is equal to no other.
    """

    words: str
    text: str
    is_known: bool = True

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return TypeKind.OPAQUE


Node: TypeAlias = NullType | Leaf | ArrayType | MapType | UnionType | RecordType | Opaque


def nullable(node: Node) -> Node:
    """Return the type with null, if it does not have null yet."""
    if isinstance(node, NullType):
        return node
    if isinstance(node, UnionType):
        if any(isinstance(branch, NullType) for branch in node.branches):
            return node
        labels = ("null", *node.labels) if node.labels else ()
        return UnionType((NullType(), *node.branches), node.is_tagged, (None, *node.tests), labels)
    return UnionType((NullType(), node))


def branch_of(union: UnionType, value: object) -> Node | None:
    """Return the branch of a value other than null of a union without tags, as far as its parts matter.

    None for one of several types without parts.
    """
    branches = [branch for branch in union.branches if not isinstance(branch, NullType)]
    if isinstance(value, dict):
        branches = [branch for branch in branches if isinstance(branch, RecordType | MapType)]
    elif isinstance(value, list):
        branches = [branch for branch in branches if isinstance(branch, ArrayType)]
    return branches[0] if len(branches) == 1 else None


def contents_dropped(root: Node) -> tuple[str, ...]:
    """Return the sentences about what the values of a type may have, and no plan copies; each once."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, RecordType):
            if node.dropped is not None:
                found[node.dropped] = None
            waiting += [member.type for member in node.fields]
        elif isinstance(node, UnionType):
            waiting += node.branches
        elif isinstance(node, ArrayType):
            waiting.append(node.items)
        elif isinstance(node, MapType):
            waiting.append(node.values)
    return tuple(found)


def tree_text(root: Node) -> str:
    """Return a text that is equal for types with the same fields, names, numbers, defaults and scalars."""
    return json.dumps(_Writer().write(root), sort_keys=True, default=str)


class _Writer:
    """Writes a tree as JSON, each record once."""

    def __init__(self) -> None:
        self._number_by_record: dict[int, int] = {}

    def write(self, node: Node) -> Datum:
        if isinstance(node, RecordType):
            return self._record(node)
        if isinstance(node, UnionType):
            return {"union": [self.write(branch) for branch in node.branches], "tagged": node.is_tagged}
        if isinstance(node, ArrayType):
            return {"array": self.write(node.items)}
        if isinstance(node, MapType):
            return {"map": self.write(node.values), "key": node.key}
        if isinstance(node, Opaque):
            return {"opaque": node.text}
        if not isinstance(node, Leaf):
            return None
        return {"leaf": {name: fact for name, fact in asdict(node.scalar).items() if name != "is_wide"}}

    def _record(self, node: RecordType) -> Datum:
        if id(node) in self._number_by_record:
            return {"again": self._number_by_record[id(node)]}
        self._number_by_record[id(node)] = len(self._number_by_record)
        return {"record": node.full_name, "fields": [self._field(member) for member in node.fields]}

    def _field(self, member: RecordField) -> Datum:
        default = {"default": member.default} if member.has_default else {}
        facts = [member.name, member.number, member.oneof, member.may_be_absent, member.has_null]
        return {"field": facts, "type": self.write(member.type), **default}


# Which branches of two unions belong together: those of one name, else those that only one branch can be.
#
# The bytes of Avro say which branch a value is of, and two branches may have equal values. So branches are compared by
# what identifies them: the name of a record, an enum or a fixed type, and the kind of any other type.


def branch_pairs(source: UnionType, target: UnionType, *, by_names: bool = False) -> dict[int, int]:
    """Return the branch of the target for each branch of the source that belongs to one, both by their indexes.

    Branches belong together by their full names, then by their names without namespaces, then by their kinds and
    fields, where that leaves one choice on both sides; at last by their places, if one of them has no name of its own,
    as most branches of JSON schemas. Null belongs to none. With ``by_names``, fields and places do not count.
    """
    pairs: dict[int, int] = {}
    for key_of in (full_name_of, _short_name_of, _unnamed_outline if by_names else _outline):
        pairs |= _unique_pairs(key_of, _free(source, pairs), _free(target, pairs.values()))
    if not by_names:
        pairs |= _pairs_by_place(source, target, pairs)
    return pairs


def full_name_of(branch: Node) -> str | None:
    """Return the full name of a record, an enum or a fixed type; None for a type without a name."""
    return (branch.full_name or None) if isinstance(branch, RecordType | Leaf) else None


def belongs_by_name(source: Node, target: Node) -> bool:
    """Return whether two branches have the same name, with or without the namespace."""
    return _short_name_of(source) == _short_name_of(target) is not None


def renamed_branches(source: Node, target: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the branches of unions, at any depth of two equal types, that have another name on the other side."""
    waiting, seen = [(source, target)], set[tuple[int, int]]()
    while waiting:
        left, right = waiting.pop()
        if (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        match left, right:
            case RecordType(), RecordType():
                types = {member.name: member.type for member in right.fields}
                waiting += [(member.type, types[member.name]) for member in left.fields if member.name in types]
            case ArrayType(), ArrayType():
                waiting.append((left.items, right.items))
            case MapType(), MapType():
                waiting.append((left.values, right.values))
            case UnionType(), UnionType():
                pairs = branch_pairs(left, right) if left.is_tagged else {}
                places = pairs or dict(zip(_free(left, ()), _free(right, ()), strict=False))
                found = [(left.branches[index], right.branches[place]) for index, place in places.items()]
                has_others = sum(not isinstance(branch, NullType) for branch in left.branches) > 1
                yield from (pair for pair in found if has_others and is_renamed(*pair))
                waiting += found


def is_renamed(source: Node, target: Node) -> bool:
    """Return whether a branch with a name has another name on the other side."""
    return None not in (full_name_of(source), full_name_of(target)) and not belongs_by_name(source, target)


def _short_name_of(branch: Node) -> Hashable:
    return (branch.kind, branch.name) if isinstance(branch, RecordType | Leaf) and branch.name else None


def _outline(branch: Node) -> Hashable:
    """Return what a branch is, without what its parts are."""
    if isinstance(branch, RecordType):
        return branch.kind, frozenset(member.name for member in branch.fields)
    if isinstance(branch, Leaf):
        return branch.kind, branch.scalar
    return branch.kind, branch.text if isinstance(branch, Opaque) else ""


def _unnamed_outline(branch: Node) -> Hashable:
    return None if full_name_of(branch) else _outline(branch)


def _free(union: UnionType, taken: Iterable[int]) -> dict[int, Node]:
    known = frozenset(taken)
    return {
        index: branch
        for index, branch in enumerate(union.branches)
        if index not in known and not isinstance(branch, NullType)
    }


def _unique_pairs(
    key_of: Callable[[Node], Hashable], source: dict[int, Node], target: dict[int, Node]
) -> dict[int, int]:
    """Return the pairs of branches whose key no other branch of their sides has."""
    found = []
    for side in (source, target):
        key_by_id: dict[int, Hashable] = {}  # many branches may be one type
        for branch in side.values():
            if id(branch) not in key_by_id:
                key_by_id[id(branch)] = key_of(branch)
        keys = {index: key_by_id[id(branch)] for index, branch in side.items()}
        counts = Counter(keys.values())
        found.append({key: index for index, key in keys.items() if key is not None and counts[key] == 1})
    return {
        index: found[1][key]
        for key, index in found[0].items()
        if key in found[1] and source[index].kind == target[found[1][key]].kind
    }


def _pairs_by_place(source: UnionType, target: UnionType, pairs: dict[int, int]) -> dict[int, int]:
    """Return the pairs of further branches that have the same place besides null, and the same outline."""
    own, other = _free(source, pairs), _free(target, pairs.values())
    own_named, other_named = (_with_own_names(union) for union in (source, target))
    places = zip(_free(source, ()), _free(target, ()), strict=False)
    return {
        index: place
        for index, place in places
        if index in own
        and place in other
        and not (index in own_named and place in other_named)
        and (own[index] is other[place] or _outline(own[index]) == _outline(other[place]))
    }


def _with_own_names(union: UnionType) -> frozenset[int]:
    """Return the branches, by their indexes, that have a name which no other branch has."""
    names = [full_name_of(branch) for branch in union.branches]
    counts = Counter(names)
    return frozenset(index for index, name in enumerate(names) if name is not None and counts[name] == 1)


# How the schemas of each language become trees: by the module of this folder that is named as the language's own
# folder. A language is loaded when one of its schemas occurs; what it does not have, it does not need.


def tree_of(schema: ParsedSchema) -> Node:
    """Return the schema's top-level type as a new tree. Raises ``NotPlannable`` if it has none, or is too deep."""
    try:
        tree: Node = _load(schema, "tree_of")(schema)
    except RecursionError:
        raise NotPlannable("the types of the schema are nested too deep; flatten them") from None
    return tree


def with_message(schema: ParsedSchema, message: str | None) -> ParsedSchema:
    """Return a Protobuf schema of which the message with this full name is used; other schemas unchanged."""
    if message is None:
        return schema
    choose: Callable[[ParsedSchema, str], ParsedSchema] | None = _load(schema, "MessageOf")
    return schema if choose is None else choose(schema, message)


def meaning_of(schema: ParsedSchema) -> str:
    """Return a text that is equal for schemas whose values have the same meaning; a plan's hash is made of it."""
    text: str = _load(schema, "meaning_of")(schema)
    return text


def reading_notes(schema: ParsedSchema) -> tuple[str, ...]:
    """Return sentences about what of a source's schema is not checked when its records are read."""
    notes: Callable[[ParsedSchema], tuple[str, ...]] | None = _load(schema, "reading_notes")
    return () if notes is None else notes(schema)


def limits_of(schema: ParsedSchema) -> TargetLimits | None:
    """Return the demands of a target's schema on values besides their types; None if the types state all of them."""
    limits: Callable[[ParsedSchema], TargetLimits] | None = _load(schema, "limits_of")
    return None if limits is None else limits(schema)


def base_function(schema: ParsedSchema) -> Callable[[Datum], Datum] | None:
    """Return the function from values as the language's decoders return them to base values; None if they are equal."""
    function: Callable[[Datum], Datum] | None = _load(schema, "base_function")(schema)
    return function


def decoded_function(schema: ParsedSchema) -> Callable[[Datum], Datum] | None:
    """Return the function from base values to values that the language's encoders take; None if they are equal."""
    function: Callable[[Datum], Datum] | None = _load(schema, "decoded_function")(schema)
    return function


def _load(schema: ParsedSchema, name: str) -> Datum:
    """Return what the language's module has under a name, or None."""
    folder = language_for(schema.schema_type).folder
    return getattr(import_module(f"counterfoil.schema.plans.{folder}"), name, None)


# The demands of a target's schema besides types: a protocol for the languages that have such demands.

MayBeNull: TypeAlias = "Callable[[Op], bool]"
Place: TypeAlias = tuple[str, ...]
"""Names of fields from the root; ``[]`` and ``{}`` are the elements of an array and of a map."""


class TargetLimits(Protocol):
    """The demands of a target's schema on values, besides their types."""

    def refusal(self, place: Place, node: Node, value: object) -> str | None:
        """Return the demand at ``place`` that a value of its type does not meet; None if none is known."""

    def refusal_of_all(self, place: Place, node: Node, op: Op) -> str | None:
        """Return the demand that no result of the operation meets; None if one may fit."""

    def refuses_record(self, place: Place, node: Node, op: BuildRecord, may_be_null: MayBeNull) -> bool:
        """Return whether certainly no record that the operation builds is valid, since its fields do not go together.

        ``may_be_null`` returns whether an operation may return null.
        """
