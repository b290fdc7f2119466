"""A ``.proto`` file as a syntax tree of frozen nodes, names derived from its names, and options merged into one."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum as _Enum
from enum import StrEnum
from typing import Final, TypeAlias

from counterfoil.schema.texts import Pointer, Position

# A ``.proto`` file as a syntax tree of frozen nodes, with positions and without interpretation.
#
# Type names stay as written; :mod:`~counterfoil.schema.languages.protobuf.read.symbols` resolves them. Every node has
# its ``position`` in the text and its ``pointer``: the names from the file to it (``("Outer", "Inner", "field")``),
# ``""`` for the file. Nodes are never changed, so that files are shared between schemas and threads.
#
# Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.

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
class ScalarLiteral:
    """One literal: ``text`` is a string's content with its escapes resolved, and any other literal as written."""

    kind: ValueKind
    text: str


@dataclass(frozen=True, slots=True)
class AggregateEntry:
    """One ``name: value`` of an aggregate; ``name`` keeps the brackets of an extension, ``[a.b]``."""

    name: str
    value: OptionValue


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value in braces, in text format; a name may occur several times."""

    entries: tuple[AggregateEntry, ...]


@dataclass(frozen=True, slots=True)
class ListValue:
    """A value in brackets."""

    items: tuple[OptionValue, ...]


OptionValue = ScalarLiteral | Aggregate | ListValue


@dataclass(frozen=True, slots=True)
class ProtoOption:
    """One option of a file, type, field, constant, service, method or extension range.

    ``name`` is as written without spaces: ``deprecated``, ``(my.opt)``, ``(my.opt).sub.(other).x``,
    ``features.field_presence``.
    """

    name: str
    value: OptionValue
    position: Position = START
    pointer: Pointer = ()


@dataclass(frozen=True, slots=True)
class ProtoMapType:
    """The two types of a map field, as written."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field, of a message, oneof or extend block.

    ``type`` is as written (``int32``, ``.a.b.C``, ``map<string, C>``; ``group`` for a group). ``options`` are in the
    order written, but ``default`` and ``json_name`` are the last. ``group`` is the body of a group, whose name is the
    field's ``name`` as written; ``map`` has the types of a map, and is None for other fields.
    """

    label: Label | None
    type: str
    name: str
    number: int
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    trailing_doc: str = ""
    group: ProtoMessage | None = None
    map: ProtoMapType | None = None


@dataclass(frozen=True, slots=True)
class ProtoOneOf:
    """A oneof: at most one of its fields is set. ``fields`` holds its groups too."""

    name: str
    fields: tuple[ProtoField, ...]
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoRange:
    """Numbers from ``start`` to ``end``, both included; ``is_max`` if the end was written as ``max``."""

    start: int
    end: int
    is_max: bool = False


def bounds(value: int | ProtoRange) -> tuple[int, int]:
    """Return the first and the last number."""
    return (value.start, value.end) if isinstance(value, ProtoRange) else (value, value)


@dataclass(frozen=True, slots=True)
class Reserved:
    """One ``reserved`` statement: single numbers, ranges and names, in the order written.

    ``has_bare_names`` is true if names are written without quotes, as in files of an edition.
    """

    values: tuple[int | ProtoRange | str, ...]
    position: Position = START
    pointer: Pointer = ()
    has_bare_names: bool = False


@dataclass(frozen=True, slots=True)
class ExtensionRange:
    """One ``extensions`` statement: the numbers that extensions may use, in the order written."""

    values: tuple[int | ProtoRange, ...]
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()


@dataclass(frozen=True, slots=True)
class EnumConstant:
    """One symbol of an enum and its number."""

    name: str
    number: int
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    trailing_doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """An enum; ``visibility`` is ``export``, ``local`` or empty (edition 2024)."""

    name: str
    constants: tuple[EnumConstant, ...]
    options: tuple[ProtoOption, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""
    visibility: str = ""


@dataclass(frozen=True, slots=True)
class Extend:
    """One ``extend`` block; ``extendee`` is the name of the extended message, as written."""

    extendee: str
    fields: tuple[ProtoField, ...]
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoMessage:
    """A message, or the body of a group.

    ``fields`` holds the fields outside oneofs, including groups; ``all_fields`` those and the oneofs' in the order
    written. ``visibility`` is as in :class:`ProtoEnum`. ``empty_statement`` is the place of the first one in a
    group's body.
    """

    name: str
    fields: tuple[ProtoField, ...] = ()
    oneofs: tuple[ProtoOneOf, ...] = ()
    messages: tuple[ProtoMessage, ...] = ()
    enums: tuple[ProtoEnum, ...] = ()
    extends: tuple[Extend, ...] = ()
    options: tuple[ProtoOption, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    extensions: tuple[ExtensionRange, ...] = ()
    all_fields: tuple[ProtoField, ...] = ()
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
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Service:
    """A service and its methods."""

    name: str
    rpcs: tuple[Rpc, ...]
    options: tuple[ProtoOption, ...] = ()
    position: Position = START
    pointer: Pointer = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ProtoImport:
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
    imports: tuple[ProtoImport, ...] = ()
    options: tuple[ProtoOption, ...] = ()
    messages: tuple[ProtoMessage, ...] = ()
    enums: tuple[ProtoEnum, ...] = ()
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


# Names that a descriptor derives from the names of a file.
#
# Source: the Protocol Buffers language guide, "JSON Mapping" and "Maps"; the names that ``protoc`` gives.


def json_name_of(name: str) -> str:
    """Return the JSON name of a field without the option ``json_name``: camel case.

    >>> json_name_of("foo_bar_2")
    'fooBar2'
    """
    first, *others = name.split("_")
    return first + "".join(_capitalize(part) for part in others)


def map_entry_name(name: str) -> str:
    """Return the name of the message of a map field's entries.

    >>> map_entry_name("by_name")
    'ByNameEntry'
    """
    return "".join(_capitalize(part) for part in name.split("_")) + "Entry"


def synthetic_oneof_name(name: str, taken: Container[str]) -> str:
    """Return the name of the synthetic oneof of a field that is optional in proto3."""
    found = name if name.startswith("_") else f"_{name}"
    while found in taken:
        found = f"X{found}"
    return found


def _capitalize(part: str) -> str:
    return part[:1].upper() + part[1:]


# Merging of options that set fields of one extension, ``(o).s = "x"`` and ``(o).n = 1``, into one value in braces.
#
# Source: the Protocol Buffers language guide, "Custom Options": both spellings mean the same.

_PART: Final = re.compile(r"\([^)]*\)|[^.()]+")

_Assignment: TypeAlias = "tuple[Sequence[str], OptionValue]"
"""An assignment: the steps to a field, none for the message itself, and the value."""


def merge_options(options: Iterable[ProtoOption]) -> list[ProtoOption]:
    """Return the options, with those of one extension merged into one, at the place of the first.

    An extension that a single option sets stays as it is written, and so does one whose options cannot be merged: it is
    set as a whole more than once, or a field is set in a value that is not a message.
    """
    by_extension: dict[str, list[ProtoOption]] = {}
    for option in options:
        name = _steps(option)[0] if option.name.startswith("(") else option.name
        by_extension.setdefault(name, []).append(option)
    return [option for name, group in by_extension.items() for option in _merged(name, group)]


def _merged(name: str, options: list[ProtoOption]) -> list[ProtoOption]:
    assignments = [(_steps(option)[1:], option.value) for option in options]
    value = _message(assignments) if name.startswith("(") and len(options) > 1 else None
    return options if value is None else [ProtoOption(name, value, options[0].position, options[0].pointer)]


def _message(assignments: Sequence[_Assignment]) -> Aggregate | None:
    """Return one message with all assignments; None if they cannot be merged."""
    whole = [value for steps, value in assignments if not steps]
    if len(whole) > 1 or not all(isinstance(value, Aggregate) for value in whole):
        return None
    inner_by_name: dict[str, list[_Assignment]] = {}
    for value in whole:
        for entry in value.entries if isinstance(value, Aggregate) else ():
            inner_by_name.setdefault(entry.name, []).append(((), entry.value))
    for steps, value in assignments:
        if steps:
            inner_by_name.setdefault(_entry_name(steps[0]), []).append((steps[1:], value))
    entries: list[AggregateEntry] = []
    for name, inner in inner_by_name.items():
        if any(steps for steps, _ in inner):
            message = _message(inner)
            if message is None:
                return None
            entries.append(AggregateEntry(name, message))
        else:
            entries += (AggregateEntry(name, value) for _, value in inner)
    return Aggregate(tuple(entries))


def _steps(option: ProtoOption) -> list[str]:
    return _PART.findall(option.name)


def _entry_name(step: str) -> str:
    """Return a step as the name of an entry, in which an extension is in brackets."""
    return f"[{step[1:-1]}]" if step.startswith("(") else step
