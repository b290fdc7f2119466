"""The neutral description of a model: what schemas and conversions are made of, whatever kind of class it is.

A description is a graph, since classes may contain themselves: a class is one node, which may occur often.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterfoil.sdk.serde.models.markers import AvroType, TypeName


class ModelKind(StrEnum):
    """The kinds of classes that are models."""

    DATACLASS = "dataclass"
    STRUCT = "msgspec.Struct"
    ATTRS = "attrs class"
    PYDANTIC = "pydantic model"
    TYPED_DICT = "TypedDict"


class NoDefault(Enum):
    """The default of a field without one."""

    NO_DEFAULT = "no default"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT


@dataclass(eq=False, slots=True)
class AnyNode:
    """Any value: ``Any`` or ``object``."""


@dataclass(eq=False, slots=True)
class ScalarNode:
    """A value of one Python type. ``limits`` are keywords of JSON schemas, such as ``minimum``."""

    python: type
    avro: AvroType | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class LiteralNode:
    """One of several values, all of the type ``python``; ``name`` is made of the field's name."""

    python: type
    values: tuple[Any, ...]
    name: str


@dataclass(eq=False, slots=True)
class EnumNode:
    """A member of an Enum. ``symbols`` are the members' names in Avro, in the order of declaration."""

    python: type[Enum]
    name: TypeName
    doc: str | None
    symbols: Mapping[str, Enum]

    @property
    def symbol_attribute(self) -> str:
        """The attribute of a member that has its symbol."""
        return "_value_" if all(symbol == member.value for symbol, member in self.symbols.items()) else "_name_"


@dataclass(eq=False, slots=True)
class ListNode:
    """Items of one type, as a ``python``: list, tuple, set or frozenset."""

    items: Node
    python: type
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class MapNode:
    """A dict with text keys and values of one type."""

    values: Node
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class UnionNode:
    """One of several types, in the order written; None is the scalar ``NoneType``."""

    branches: Sequence[Node]

    @property
    def not_null(self) -> list[Node]:
        """The branches other than None."""
        return [branch for branch in self.branches if not is_null(branch)]

    @property
    def is_optional(self) -> bool:
        """Whether None is one of the branches."""
        return len(self.not_null) < len(self.branches)


@dataclass(eq=False, slots=True)
class FieldNode:
    """A field of a model.

    ``attribute`` is its name in Python, ``name`` the one in messages, ``argument`` the one that the constructor takes.
    ``default`` is a constant that schemas may have; ``is_optional`` says that the constructor does not need the field.
    ``may_be_absent``: a key that a ``TypedDict`` need not have. The type then has null for its absence, which
    ``is_null_absence`` tells from a null of the annotation.
    """

    attribute: str
    name: str
    argument: str
    type: Node
    default: Any = NO_DEFAULT
    is_optional: bool = False
    may_be_absent: bool = False
    is_null_absence: bool = False
    aliases: tuple[str, ...] = ()
    doc: str | None = None


@dataclass(eq=False, slots=True)
class ModelNode:
    """A class with fields. ``tag`` is the property and value by which msgspec distinguishes Structs in JSON."""

    python: type
    kind: ModelKind
    name: TypeName
    doc: str | None
    fields: list[FieldNode] = field(default_factory=list)
    tag: tuple[str, Any] | None = None


@dataclass(eq=False, slots=True)
class RootNode:
    """A ``RootModel`` of pydantic, whose values are in messages what its attribute ``root`` is."""

    python: type
    root: Node


Node: TypeAlias = AnyNode | ScalarNode | LiteralNode | EnumNode | ListNode | MapNode | UnionNode | ModelNode | RootNode


def is_null(node: Node) -> bool:
    """Return whether the only value is None."""
    return isinstance(node, ScalarNode) and node.python is type(None)


def models_in(node: Node) -> list[ModelNode]:
    """Return the models directly in a type: itself, or the branches of a union."""
    return [each for each in _branches(node) if isinstance(each, ModelNode)]


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield every node of a description, once."""
    found: dict[int, Node] = {}
    rest = [root]
    while rest:
        node = rest.pop()
        if id(node) not in found:
            found[id(node)] = node
            yield node
            rest.extend(reversed(_children(node)))


def _branches(node: Node) -> Sequence[Node]:
    return node.branches if isinstance(node, UnionNode) else (node,)


def _children(node: Node) -> list[Node]:
    match node:
        case ListNode(items=inner) | MapNode(values=inner):
            return [inner]
        case UnionNode(branches=branches):
            return [*branches]
        case RootNode(root=root):
            return [root]
        case ModelNode(fields=fields):
            return [one.type for one in fields]
        case _:
            return []
