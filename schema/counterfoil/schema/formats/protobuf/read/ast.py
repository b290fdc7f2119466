"""A ``.proto`` file as a syntax tree of frozen nodes, with positions and without interpretation.

Type names stay as written; :mod:`~counterfoil.schema.formats.protobuf.read.symbols` resolves them. Every node has its
``position`` in the text and its ``pointer``: the names from the file to it (``("Outer", "Inner", "field")``),
``""`` for the file. Nodes are never changed, so that files are shared between schemas and threads.

Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum as _Enum
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from counterfoil.schema.pointer import Pointer

MAX_TAG: Final = 536_870_911
"""The largest field number (2^29 - 1), the value of ``max`` in the ranges of a message."""

SPECIAL_OPTIONS: Final = ("default", "json_name")
"""The names that are written among a field's options but are not options."""

START: Final = Position(1, 1)
"""The position of the start of a text."""


class Label(StrEnum):
    """The label of a field: how often it occurs."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    REPEATED = "repeated"


class ImportKind(StrEnum):
    """The kind of an import; the value is the keyword, empty for a plain import."""

    PLAIN = ""
    PUBLIC = "public"
    WEAK = "weak"
    OPTION = "option"


class ValueKind(_Enum):
    """The kind of literal of an option's value."""

    STRING = "string"
    BOOLEAN = "boolean"
    NUMBER = "number"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class Scalar:
    """One literal: ``text`` is a string's content with its escapes resolved, and any other literal as written."""

    kind: ValueKind
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``name: value`` of an aggregate; ``name`` keeps the brackets of an extension, ``[a.b]``."""

    name: str
    value: OptionValue


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value in braces, in text format; a name may occur several times."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ListValue:
    """A value in brackets."""

    items: tuple[OptionValue, ...]


OptionValue = Scalar | Aggregate | ListValue


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a file, type, field, constant, service, method or extension range.

    ``name`` is as written without spaces: ``deprecated``, ``(my.opt)``, ``(my.opt).sub.(other).x``,
    ``features.field_presence``.
    """

    name: str
    value: OptionValue
    position: Position = START
    pointer: Pointer = ()


@dataclass(frozen=True, slots=True)
class MapType:
    """The two types of a map field, as written."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field, of a message, oneof or extend block.

    ``type`` is as written (``int32``, ``.a.b.C``, ``map<string, C>``; ``group`` for a group). ``options`` are in the
    order written, but ``default`` and ``json_name`` are the last. ``group`` is the body of a group, whose name is the
    field's ``name`` as written; ``map`` has the types of a map, and is None for other fields.
    """

    label: Label | None
    type: str
    name: str
    number: int
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    trailing_doc: str = ""
    group: Message | None = None
    map: MapType | None = None


@dataclass(frozen=True, slots=True)
class OneOf:
    """A oneof: at most one of its fields is set. ``fields`` holds its groups too."""

    name: str
    fields: tuple[Field, ...]
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``start`` to ``end``, both included; ``is_max`` if the end was written as ``max``."""

    start: int
    end: int
    is_max: bool = False


def bounds(value: int | Range) -> tuple[int, int]:
    """Return the first and the last number."""
    return (value.start, value.end) if isinstance(value, Range) else (value, value)


@dataclass(frozen=True, slots=True)
class Reserved:
    """One ``reserved`` statement: single numbers, ranges and names, in the order written.

    ``has_bare_names`` is true if names are written without quotes, as in files of an edition.
    """

    values: tuple[int | Range | str, ...]
    position: Position = START
    pointer: Pointer = ()
    has_bare_names: bool = False


@dataclass(frozen=True, slots=True)
class ExtensionRange:
    """One ``extensions`` statement: the numbers that extensions may use, in the order written."""

    values: tuple[int | Range, ...]
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()


@dataclass(frozen=True, slots=True)
class EnumConstant:
    """One symbol of an enum and its number."""

    name: str
    number: int
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    trailing_doc: str = ""


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum; ``visibility`` is ``export``, ``local`` or empty (edition 2024)."""

    name: str
    constants: tuple[EnumConstant, ...]
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    visibility: str = ""


@dataclass(frozen=True, slots=True)
class Extend:
    """One ``extend`` block; ``extendee`` is the name of the extended message, as written."""

    extendee: str
    fields: tuple[Field, ...]
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message, or the body of a group.

    ``fields`` holds the fields outside oneofs, including groups; ``all_fields`` those and the oneofs' in the order
    written. ``visibility`` is as in :class:`Enum`. ``empty_statement`` is the place of the first one in a group's body.
    """

    name: str
    fields: tuple[Field, ...] = ()
    oneofs: tuple[OneOf, ...] = ()
    messages: tuple[Message, ...] = ()
    enums: tuple[Enum, ...] = ()
    extends: tuple[Extend, ...] = ()
    options: tuple[Option, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    extensions: tuple[ExtensionRange, ...] = ()
    all_fields: tuple[Field, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    visibility: str = ""
    empty_statement: Position | None = None


@dataclass(frozen=True, slots=True)
class Rpc:
    """One method of a service; ``request`` and ``response`` are message names as written."""

    name: str
    request: str
    response: str
    request_streaming: bool = False
    response_streaming: bool = False
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A service and its methods."""

    name: str
    rpcs: tuple[Rpc, ...]
    options: tuple[Option, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """One imported file, by its path."""

    path: str
    kind: ImportKind = ImportKind.PLAIN
    position: Position = START
    pointer: Pointer = ()


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """A whole file. ``syntax`` is ``proto2``, ``proto3``, or None if the line is missing, which means proto2.

    ``edition`` is ``2023`` or ``2024`` for a file of an edition (``syntax`` is None then). ``package`` is ``""`` if
    there is none; ``path`` is the path under which other files import this one, ``""`` for the schema itself.
    ``package_position`` is the position of the package statement.
    """

    path: str = ""
    syntax: str | None = None
    edition: str | None = None
    package: str = ""
    imports: tuple[Import, ...] = ()
    options: tuple[Option, ...] = ()
    messages: tuple[Message, ...] = ()
    enums: tuple[Enum, ...] = ()
    extends: tuple[Extend, ...] = ()
    services: tuple[Service, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    package_position: Position | None = None

    @property
    def is_proto3(self) -> bool:
        """Whether the file's syntax is proto3."""
        return self.syntax == "proto3"

    @property
    def package_prefix(self) -> str:
        """The prefix of a top-level name in its full name: ``a.b.``, or empty."""
        return f"{self.package}." if self.package else ""
