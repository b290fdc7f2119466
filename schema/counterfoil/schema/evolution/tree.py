"""The types that plans are derived on, whatever the language of the schemas: a tree that each language is read into.

A node compares by identity, since types may contain themselves. :mod:`.languages` reads the trees.

The values of a type are its *base values*:

=====================  =================================================================================================
``Leaf``               a number, text, bytes or boolean; the number or text of a logical type
``Record``             a dict with every field; None for a field that is not set
``Array``, ``Map``     a list; a dict from texts
``Union``              the value of a branch, or None; with ``is_tagged``, a pair of the branch's index and the value
``Opaque``             whatever the language's codec returns; it can only be copied
=====================  =================================================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.evolution.model import Scalar


class NotPlannable(Exception):
    """A schema whose values have no tree; ``problem`` is a sentence."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Kind(StrEnum):
    """The kinds of types with parts, and of null. The kind of a leaf is the base of its scalar."""

    NULL = "null"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    UNION = "union"
    OPAQUE = "opaque"


class NoDefault:
    """The type of ``NO_DEFAULT``, since None is a default, too."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault()


@dataclass(eq=False, slots=True)
class Null:
    """The type of null alone."""

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return Kind.NULL


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
class Array:
    """A list whose items all have one type."""

    items: Node

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return Kind.ARRAY


@dataclass(eq=False, slots=True)
class Map:
    """A map from texts to values of one type. ``key`` is the scalar type whose values the texts are."""

    values: Node
    key: str = "string"

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return Kind.MAP


@dataclass(eq=False, slots=True)
class Union:
    """One of several types. ``tests``, one for each branch of a tagged union, belong to the language.

    Without tests the data itself says the branch of a value of a tagged union.
    """

    branches: Sequence[Node]
    is_tagged: bool = False
    tests: Sequence[Any] = ()

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return Kind.UNION

    @property
    def tells_branch(self) -> bool:
        """Whether the data says which branch a value is of, so that equal values of two branches differ."""
        return self.is_tagged and all(test is None for test in self.tests)


@dataclass(eq=False, slots=True)
class Field:
    """A field of a record.

    ``default`` is a JSON value, or ``NO_DEFAULT``. ``number`` identifies the field on Protobuf's wire, ``oneof`` is the
    name of its oneof. ``may_be_absent`` is whether None stands for a field that is left out, and ``has_null`` whether
    null is a value of its own besides.
    """

    name: str
    type: Node
    default: Any = NO_DEFAULT
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
class Record:
    """A record. ``dropped`` is a sentence about what values may have besides the fields, which no plan copies.

    ``demands`` is what a JSON schema demands of an object besides its fields.
    """

    name: str
    full_name: str = ""
    fields: Sequence[Field] = field(default_factory=list)
    dropped: str | None = None
    demands: Demands | None = None

    @property
    def kind(self) -> str:
        """The kind of the type."""
        return Kind.RECORD


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
        return Kind.OPAQUE


Node: TypeAlias = Null | Leaf | Array | Map | Union | Record | Opaque


def nullable(node: Node) -> Node:
    """Return the type with null, if it does not have null yet."""
    if isinstance(node, Null):
        return node
    if isinstance(node, Union):
        if any(isinstance(branch, Null) for branch in node.branches):
            return node
        return Union((Null(), *node.branches), node.is_tagged, (None, *node.tests))
    return Union((Null(), node))


def branch_of(union: Union, value: Any) -> Node | None:
    """Return the branch of a value other than null of a union without tags, as far as its parts matter.

    None for one of several types without parts.
    """
    branches = [branch for branch in union.branches if not isinstance(branch, Null)]
    if isinstance(value, dict):
        branches = [branch for branch in branches if isinstance(branch, Record | Map)]
    elif isinstance(value, list):
        branches = [branch for branch in branches if isinstance(branch, Array)]
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
        if isinstance(node, Record):
            if node.dropped is not None:
                found[node.dropped] = None
            waiting += [member.type for member in node.fields]
        elif isinstance(node, Union):
            waiting += node.branches
        elif isinstance(node, Array):
            waiting.append(node.items)
        elif isinstance(node, Map):
            waiting.append(node.values)
    return tuple(found)


def tree_text(root: Node) -> str:
    """Return a text that is equal for types with the same fields, names, numbers, defaults and scalars."""
    return json.dumps(_Writer().write(root), sort_keys=True, default=str)


class _Writer:
    """Writes a tree as JSON, each record once."""

    def __init__(self) -> None:
        self._number_by_record: dict[int, int] = {}

    def write(self, node: Node) -> Any:
        if isinstance(node, Record):
            return self._record(node)
        if isinstance(node, Union):
            return {"union": [self.write(branch) for branch in node.branches], "tagged": node.is_tagged}
        if isinstance(node, Array):
            return {"array": self.write(node.items)}
        if isinstance(node, Map):
            return {"map": self.write(node.values), "key": node.key}
        if isinstance(node, Opaque):
            return {"opaque": node.text}
        if not isinstance(node, Leaf):
            return None
        return {"leaf": {name: fact for name, fact in asdict(node.scalar).items() if name != "is_wide"}}

    def _record(self, node: Record) -> Any:
        if id(node) in self._number_by_record:
            return {"again": self._number_by_record[id(node)]}
        self._number_by_record[id(node)] = len(self._number_by_record)
        return {"record": node.full_name, "fields": [self._field(member) for member in node.fields]}

    def _field(self, member: Field) -> Any:
        default = {"default": member.default} if member.has_default else {}
        facts = [member.name, member.number, member.oneof, member.may_be_absent, member.has_null]
        return {"field": facts, "type": self.write(member.type), **default}
