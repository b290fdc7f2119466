"""The Avro type tree that all other parts use, the names of its types, and a cache of nodes that most schemas have."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.datum import Json
    from counterfoil.schema.texts import Pointer


# The Avro type tree that all other parts use.
#
# A node compares by identity, since schemas may be recursive: a record that contains itself is one node that occurs
# twice. Named types are shared: every use of ``ns.Item`` in one schema is the same :class:`AvroRecord` object.
#
# Source: Apache Avro 1.12 specification, "Schema Declaration" and "Logical Types".


class AvroKind(StrEnum):
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


WORD_BY_KIND: Final = {kind: kind.value for kind in AvroKind}
"""The word for each kind: a plain ``str``, whose lookup is faster than an enum's ``value``."""
PRIMITIVE_KINDS: Final = frozenset(
    {
        AvroKind.NULL,
        AvroKind.BOOLEAN,
        AvroKind.INT,
        AvroKind.LONG,
        AvroKind.FLOAT,
        AvroKind.DOUBLE,
        AvroKind.BYTES,
        AvroKind.STRING,
    }
)


PROMOTIONS: Final = frozenset(
    {
        (AvroKind.INT, AvroKind.LONG),
        (AvroKind.INT, AvroKind.FLOAT),
        (AvroKind.INT, AvroKind.DOUBLE),
        (AvroKind.LONG, AvroKind.FLOAT),
        (AvroKind.LONG, AvroKind.DOUBLE),
        (AvroKind.FLOAT, AvroKind.DOUBLE),
        (AvroKind.STRING, AvroKind.BYTES),
        (AvroKind.BYTES, AvroKind.STRING),
    }
)
"""Pairs of a writer's and a reader's kind between which a decoder converts."""


class AvroNoDefault:
    """The type of ``NO_DEFAULT``, since None is Avro's ``null`` as a default."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = AvroNoDefault()


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
class AvroPrimitive(_Node):
    """One of the eight primitive types."""

    kind: AvroKind


@dataclass(eq=False, slots=True)
class AvroArray(_Node):
    """A list whose items all have one type."""

    items: AvroType

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.ARRAY


@dataclass(eq=False, slots=True)
class AvroMap(_Node):
    """A map from strings to values of one type."""

    values: AvroType

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.MAP


@dataclass(eq=False, slots=True)
class AvroUnion(_Node):
    """One of several types; branches are in the order written."""

    branches: Sequence[AvroType]

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.UNION


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
class AvroField:
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
class AvroRecord(_Named):
    """A record, or an ``error`` (``is_error``), which resolves like one. ``fields`` are in the order of declaration."""

    fields: Sequence[AvroField] = ()
    is_error: bool = False

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.RECORD


@dataclass(eq=False, slots=True)
class AvroEnum(_Named):
    """An enum. ``default`` is the symbol that a reader uses for an unknown one, as written, or None."""

    symbols: Sequence[str] = ()
    default: str | None = None

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.ENUM


@dataclass(eq=False, slots=True)
class AvroFixed(_Named):
    """A type of exactly ``size`` bytes."""

    size: int = 0

    @property
    def kind(self) -> AvroKind:
        """The kind of the type."""
        return AvroKind.FIXED


NamedType: TypeAlias = AvroRecord | AvroEnum | AvroFixed
AvroType: TypeAlias = AvroPrimitive | AvroArray | AvroMap | AvroUnion | AvroRecord | AvroEnum | AvroFixed


def branch_name(node: AvroType) -> str:
    """Return the name of a type among the branches of a union: its full name, or the kind of an unnamed type."""
    return node.full_name if isinstance(node, (AvroRecord, AvroEnum, AvroFixed)) else WORD_BY_KIND[node.kind]


# Avro names: the full name of a written name, and the validity of names.
#
# Source: Apache Avro 1.12 specification, "Names".

PRIMITIVE_NAMES: Final = frozenset(kind.value for kind in PRIMITIVE_KINDS)


def is_name(text: str) -> bool:
    """Return whether ``text`` is one simple name, without dots."""
    return text.isascii() and text.isidentifier()


def is_full_name(text: str) -> bool:
    """Return whether ``text`` consists of simple names joined by dots."""
    return all(map(is_name, text.split(".")))


def split_name(written: str, namespace: str | None) -> tuple[str, str | None]:
    """Return simple name and namespace of a written name; a dot in the name overrides ``namespace``.

    The namespace is None for the null namespace, never ``""``.
    """
    space, dot, name = written.rpartition(".")
    return name, (space if dot else namespace) or None


def full_name(written: str, namespace: str | None) -> str:
    """Return the full name of a written name inside ``namespace``."""
    name, space = split_name(written, namespace)
    return f"{space}.{name}" if space else name


# A cache of the nodes that most versions of most schemas have in common: unnamed types, and their fields.
#
# A thousand versions of one schema have mostly the same fields at the same places. Such nodes never change, and no code
# depends on their identity, so that schemas may share them; this saves time and memory.

MAX_SHARED: Final = 50_000

_FieldKey: TypeAlias = "tuple[str, str | tuple[str, ...], bool, Pointer]"
_Leaf: TypeAlias = AvroPrimitive | AvroArray | AvroUnion


class Leaves:
    """A cache of nodes by content and pointer.

    ``most`` is the largest number of nodes of a kind: 0 for texts whose pointers will change.
    """

    def __init__(self, *, most: int = MAX_SHARED) -> None:
        self._most = most
        self._primitives: dict[tuple[AvroKind, Pointer], AvroPrimitive] = {}
        self._arrays: dict[tuple[AvroKind, Pointer], AvroArray] = {}
        self._unions: dict[tuple[tuple[str, ...], Pointer], AvroUnion] = {}
        self._fields: dict[tuple[str, AvroType, bool], AvroField] = {}
        self._valid_fields: dict[_FieldKey, AvroField] = {}
        self._kept: set[AvroType] = set()

    def primitive(self, kind: AvroKind, pointer: Pointer) -> AvroPrimitive:
        """Return the primitive type without properties at ``pointer``."""
        found = self._primitives.get((kind, pointer))
        if found is None:
            found = AvroPrimitive(kind, pointer=pointer)
            if self._keeps(found):
                self._primitives[kind, pointer] = found
        return found

    def array(self, kind: AvroKind, pointer: Pointer) -> AvroArray:
        """Return the array of a primitive type, without properties, at ``pointer``."""
        found = self._arrays.get((kind, pointer))
        if found is None:
            found = AvroArray(self.primitive(kind, (*pointer, "items")), pointer=pointer)
            if self._keeps(found):
                self._arrays[kind, pointer] = found
        return found

    def union(self, words: tuple[str, ...], pointer: Pointer) -> AvroUnion | None:
        """Return the cached union of primitive types for ``words`` at ``pointer``, or None."""
        return self._unions.get((words, pointer))

    def keep_union(self, words: tuple[str, ...], union: AvroUnion) -> None:
        """Cache ``union``, which has only primitive types without properties."""
        if self._keeps(union):
            self._unions[words, union.pointer] = union

    def field(
        self, name: str, field_type: AvroType, pointer: Pointer, *, default: AvroNoDefault | None = NO_DEFAULT
    ) -> AvroField:
        """Return the field at ``pointer`` with a name and a type, and at most a null default.

        It is cached if its type is.
        """
        key = (name, field_type, default is None)
        found = self._fields.get(key)
        if found is None:
            found = AvroField(name, field_type, default, pointer=pointer)
            if field_type in self._kept and len(self._fields) < self._most:
                self._fields[key] = found
        return found

    def known_field(self, value: Json, pointer: Pointer) -> AvroField | None:
        """Return the cached valid field for a JSON object equal to ``value`` at ``pointer``, or None."""
        key = _key_of_field(value, pointer)
        return None if key is None else self._valid_fields.get(key)

    def keep_field(self, value: Json, field: AvroField) -> None:
        """Cache ``field``, which is valid and was read from ``value``, if its type is cached."""
        key = _key_of_field(value, field.pointer)
        if key is not None and field.type in self._kept and len(self._valid_fields) < self._most:
            self._valid_fields[key] = field

    def _keeps(self, leaf: _Leaf) -> bool:
        """Return whether there is room for another node; then it is counted as cached."""
        if len(self._kept) >= self._most:
            return False
        self._kept.add(leaf)
        return True


def _key_of_field(value: Json, pointer: Pointer) -> _FieldKey | None:
    """Return the cache key of a field with a name, a type of plain names, and at most a null default; else None."""
    if type(value) is not dict or value.get("default") is not None or len(value) != 2 + ("default" in value):
        return None
    name, written = value.get("name"), value.get("type")
    if type(name) is not str:
        return None
    if type(written) is list:
        words = tuple(written)
        return (name, words, "default" in value, pointer) if set(map(type, words)) == {str} else None
    return (name, written, "default" in value, pointer) if type(written) is str else None


SHARED: Final = Leaves()
