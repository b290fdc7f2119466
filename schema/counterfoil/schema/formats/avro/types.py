"""The Avro type tree that all other parts use.

A node compares by identity, since schemas may be recursive: a record that contains itself is one node that occurs
twice. Named types are shared: every use of ``ns.Item`` in one schema is the same :class:`Record` object.

Source: Apache Avro 1.12 specification, "Schema Declaration" and "Logical Types".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.pointer import Pointer


class Kind(StrEnum):
    """The fourteen kinds of Avro type; the value is the word in a schema text."""

    NULL = "null"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    BYTES = "bytes"
    STRING = "string"
    ARRAY = "array"
    MAP = "map"
    RECORD = "record"
    ENUM = "enum"
    FIXED = "fixed"
    UNION = "union"

    __hash__ = str.__hash__  # fits the equality of texts and is faster than an enum's hash, since kinds are often keys


WORD_BY_KIND: Final = {kind: kind.value for kind in Kind}
"""The word for each kind: a plain ``str``, whose lookup is faster than an enum's ``value``."""
PRIMITIVE_KINDS: Final = frozenset(
    {Kind.NULL, Kind.BOOLEAN, Kind.INT, Kind.LONG, Kind.FLOAT, Kind.DOUBLE, Kind.BYTES, Kind.STRING}
)


PROMOTIONS: Final = frozenset(
    {
        (Kind.INT, Kind.LONG),
        (Kind.INT, Kind.FLOAT),
        (Kind.INT, Kind.DOUBLE),
        (Kind.LONG, Kind.FLOAT),
        (Kind.LONG, Kind.DOUBLE),
        (Kind.FLOAT, Kind.DOUBLE),
        (Kind.STRING, Kind.BYTES),
        (Kind.BYTES, Kind.STRING),
    }
)
"""Pairs of a writer's and a reader's kind between which a decoder converts."""


class NoDefault:
    """The type of ``NO_DEFAULT``, since None is Avro's ``null`` as a default."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault()

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict of such."""


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A valid logical type; an annotation that the specification requires readers to ignore is not one.

    ``precision`` and ``scale`` count decimal digits and are set for ``decimal`` only.
    """

    name: str
    precision: int | None = None
    scale: int = 0


@dataclass(eq=False, slots=True, kw_only=True)
class _Node:
    """The attributes of every type: custom properties as written (including ``logicalType``), and its place.

    ``pointer`` is the JSON Pointer of the node in the text that declares it, empty for the root; it is also empty for
    a type of a reference.
    """

    properties: Mapping[str, Json] = field(default_factory=dict)
    logical_type: LogicalType | None = None
    pointer: Pointer = ()


@dataclass(eq=False, slots=True)
class Primitive(_Node):
    """One of the eight primitive types."""

    kind: Kind


@dataclass(eq=False, slots=True)
class Array(_Node):
    """A list whose items all have one type."""

    items: AvroType

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.ARRAY


@dataclass(eq=False, slots=True)
class Map(_Node):
    """A map from strings to values of one type."""

    values: AvroType

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.MAP


@dataclass(eq=False, slots=True)
class Union(_Node):
    """One of several types; branches are in the order written."""

    branches: Sequence[AvroType]

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.UNION


@dataclass(eq=False, slots=True)
class _Named(_Node):
    """A type with a name. ``aliases`` are full names, resolved against the type's own namespace."""

    name: str
    namespace: str | None = None
    aliases: Sequence[str] = ()
    doc: str | None = None

    @property
    def full_name(self) -> str:
        """Namespace and name joined by a dot; the bare name without a namespace."""
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


@dataclass(eq=False, slots=True)
class Field:
    """A field of a record. ``aliases`` are plain names; ``default`` is JSON as written, or ``NO_DEFAULT``.

    ``pointer`` is that of the field object, such as ``("fields", 3)``. ``written`` is a cache for printing: the
    field as JSON, if that is the same in every schema.
    """

    name: str
    type: AvroType
    default: Json = NO_DEFAULT
    doc: str | None = None
    order: str | None = None
    aliases: Sequence[str] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    pointer: Pointer = ()
    written: Mapping[str, Json] | None = field(default=None, init=False, repr=False)

    @property
    def is_plain(self) -> bool:
        """Whether the field is certainly the same everywhere: its types are primitive, and it has no alias."""
        return self.written is not None

    @property
    def has_default(self) -> bool:
        """Whether the field has a default, which a reader may use."""
        return self.default is not NO_DEFAULT


@dataclass(eq=False, slots=True)
class Record(_Named):
    """A record, or an ``error`` (``is_error``), which resolves like one. ``fields`` are in the order of declaration."""

    fields: Sequence[Field] = ()
    is_error: bool = False

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.RECORD


@dataclass(eq=False, slots=True)
class Enum(_Named):
    """An enum. ``default`` is the symbol that a reader uses for an unknown one, as written, or None."""

    symbols: Sequence[str] = ()
    default: str | None = None

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.ENUM


@dataclass(eq=False, slots=True)
class Fixed(_Named):
    """A type of exactly ``size`` bytes."""

    size: int = 0

    @property
    def kind(self) -> Kind:
        """The kind of the type."""
        return Kind.FIXED


NamedType: TypeAlias = Record | Enum | Fixed
AvroType: TypeAlias = Primitive | Array | Map | Union | Record | Enum | Fixed


def branch_name(node: AvroType) -> str:
    """Return the name of a type among the branches of a union: its full name, or the kind of an unnamed type."""
    return node.full_name if isinstance(node, (Record, Enum, Fixed)) else WORD_BY_KIND[node.kind]
