"""The types of a schema, for comparisons: messages, fields, enums, and the numbers and defaults of a type."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import Final

from counterfoil.schema.languages.protobuf.read.symbols import (
    SCALARS,
    DeclaredType,
    EnumType,
    Features,
    FileWithImports,
    Symbol,
    SymbolTable,
    features_of,
    import_pointer,
    with_options,
)
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Label,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoImport,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ScalarLiteral,
)
from counterfoil.schema.texts import Pointer

# The types of a schema, for comparisons: messages with their fields by number, and the types of fields.
#
# Built once for a schema and file by file: an imported file is processed when a field uses one of its types.

ENTRY_KEY: Final = 1
ENTRY_VALUE: Final = 2
"""The field number of the value of a map's entry; :data:`ENTRY_KEY` is that of the key."""

UNPACKABLE: Final = frozenset({"string", "bytes"})
"""The scalar types whose repeated fields are never packed."""


@dataclass(eq=False)
class MessageType(DeclaredType):
    """A message: its names, its fields by number, and the types inside it.

    ``local_name`` is the full name without the package, ``parent`` the outer message, ``index`` its index among the
    messages of its level. Of two fields with one number, only the last one is in ``fields``.
    """

    node: ProtoMessage
    file: ProtoFile
    full_name: str
    local_name: str
    features: Features
    types: FileTypes
    parent: MessageType | None = None
    index: int = 0
    messages: dict[str, MessageType] = field(default_factory=dict)
    enums: dict[str, EnumType] = field(default_factory=dict)

    @property
    def is_in_own_file(self) -> bool:
        """Whether the schema's own file declares it, and not an import."""
        return self.types is self.types.index.root

    @cached_property
    def fields(self) -> dict[int, NumberedField]:
        """Every field by its number, including groups and the fields of oneofs."""
        found = {each.number: self.field_of(each, None) for each in self.node.fields}
        for oneof in self.node.oneofs:
            found.update((each.number, self.field_of(each, oneof)) for each in oneof.fields)
        return dict(sorted(found.items()))

    @cached_property
    def oneofs(self) -> Mapping[str, ProtoOneOf]:
        """The oneofs by name."""
        return {oneof.name: oneof for oneof in self.node.oneofs}

    @cached_property
    def is_map_entry(self) -> bool:
        """Whether the message has the option ``map_entry``."""
        return any(option.name == "map_entry" and _is_true(option) for option in self.node.options)

    @cached_property
    def is_message_set(self) -> bool:
        """Whether its extensions are written as the items of a message set, an encoding of the first version."""
        return any(option.name == "message_set_wire_format" and _is_true(option) for option in self.node.options)

    def field_of(self, node: ProtoField, oneof: ProtoOneOf | None) -> NumberedField:
        """Return the field that a node of the message declares."""
        features = with_options(self.features, node.options) if node.options else self.features
        return NumberedField(node, self.types, self.full_name, oneof, features)


@dataclass(frozen=True, slots=True)
class FieldValueType:
    """The type of a field: a scalar by its name, a message, an enum, or a map; only ``name`` if it is not known."""

    name: str
    scalar: str | None = None
    message: MessageType | None = None
    enum: EnumType | None = None
    key: FieldValueType | None = None
    value: FieldValueType | None = None

    @property
    def is_map(self) -> bool:
        """Whether it is a map, written as ``map<…>`` or as a message with the option ``map_entry``."""
        return self.key is not None

    @property
    def local_name(self) -> str:
        """The name without the package."""
        return self.message.local_name if self.message else self.name.removeprefix(".")

    @property
    def words(self) -> str:
        """The type in words: ``int32``, ``enum Color``, ``message Item``, ``map<string, Item>``."""
        if self.key is not None and self.value is not None:
            return f"map<{self.key.words}, {self.value.words}>"
        if self.enum is not None:
            return f"enum {self.enum.local_name}"
        return self.scalar or f"message {self.message.local_name if self.message else self.name}"


@dataclass(eq=False)
class NumberedField:
    """A field of a message, with the features that apply to it.

    ``types`` are those of its file, ``scope`` the full name in which its type is resolved: of its message, or, for an
    extension, of the message or package that contains the ``extend`` block.
    """

    node: ProtoField
    types: FileTypes
    scope: str
    oneof: ProtoOneOf | None
    features: Features
    is_extension: bool = False

    @property
    def number(self) -> int:
        """Its number on the wire."""
        return self.node.number

    @property
    def name(self) -> str:
        """Its name; for a group, that of its message in lower case, as in the runtime."""
        return self.node.name.lower() if self.node.group is not None else self.node.name

    @property
    def oneof_name(self) -> str | None:
        """The name of its oneof; None if it is in none."""
        return self.oneof.name if self.oneof else None

    @property
    def pointer(self) -> Pointer:
        """Its pointer in the file that declares it."""
        return self.node.pointer

    @cached_property
    def holds(self) -> FieldValueType:
        """The type of its values."""
        return self.types.held(self.node, self.scope)

    @property
    def is_repeated(self) -> bool:
        """Whether it is repeated; a map is, too."""
        return self.node.label is Label.REPEATED or self.node.map is not None

    @property
    def is_required(self) -> bool:
        """Whether the runtime refuses a message without it."""
        if self.node.label is Label.REQUIRED:
            return True
        return self.features.presence == "LEGACY_REQUIRED" and self.oneof is None and not self.is_repeated

    @property
    def has_presence(self) -> bool:
        """Whether an unset field can be distinguished from one that is set to its default."""
        if self.is_repeated:
            return False
        if self.oneof is not None or self.node.label is Label.OPTIONAL or self.is_required:
            return True
        return self.features.presence != "IMPLICIT" or self.holds.message is not None

    @property
    def is_packed(self) -> bool:
        """Whether its values are written as one block of bytes."""
        holds = self.holds
        if not self.is_repeated or holds.is_map or holds.message or holds.scalar in UNPACKABLE:
            return False
        written = self.option("packed")
        return self.features.is_packed if written is None else written == "true"

    @property
    def is_delimited(self) -> bool:
        """Whether its messages are encoded as groups, with start and end tags."""
        return self.node.group is not None or (
            self.features.is_delimited and self.holds.message is not None and not self.holds.is_map
        )

    def option(self, name: str) -> str | None:
        """Return the text of one of its scalar options; None if it is not written."""
        for option in self.node.options:
            if option.name == name and isinstance(option.value, ScalarLiteral):
                return option.value.text
        return None


class FileTypes:
    """The types that one file declares, and the resolution of its names."""

    def __init__(self, file: ProtoFile, index: TypeIndex) -> None:
        self.file = file
        self.index = index
        self.symbols = SymbolTable(file, index.imports)
        self.messages: dict[str, MessageType] = {}
        self.enums: dict[str, EnumType] = {}
        self._message_by_node: dict[int, MessageType] = {}
        self._message_by_local_name: dict[str, MessageType] = {}
        self._enum_by_node: dict[int, EnumType] = {}
        features = features_of(file)
        self._extends = [(extend, file.package, features) for extend in file.extends]
        self.enums = {each.name: self._enum(each, "", features) for each in file.enums}
        for number, node in enumerate(file.messages):
            self.messages[node.name] = self._message(node, None, features, number)

    def message(self, node: ProtoMessage) -> MessageType | None:
        """Return the message of a node of this file; None for a node of another file."""
        return self._message_by_node.get(id(node))

    def enum(self, node: ProtoEnum) -> EnumType | None:
        """Return the enum of a node of this file; None for a node of another file."""
        return self._enum_by_node.get(id(node))

    def message_by_local_name(self, local_name: str) -> MessageType | None:
        """Return the message with this name without the package; None if there is none."""
        return self._message_by_local_name.get(local_name)

    def all_messages(self) -> Iterator[MessageType]:
        """Return every message of the file, each before those inside it."""
        return iter(self._message_by_node.values())

    def all_enums(self) -> Iterator[EnumType]:
        """Return every enum of the file."""
        return iter(self._enum_by_node.values())

    def held(self, node: ProtoField, scope: str) -> FieldValueType:
        """Return the type of a field inside ``scope``, a full name."""
        if node.map is not None:
            return FieldValueType(
                node.type, key=self._named(node.map.key, scope), value=self._named(node.map.value, scope)
            )
        if node.group is not None:
            return FieldValueType(node.group.name, message=self.message(node.group))
        return _as_map(self.held_plainly(node, scope))

    def held_plainly(self, node: ProtoField, scope: str) -> FieldValueType:
        """Return the type of a field of a named type; a message with the option ``map_entry`` is not a map here."""
        return self._named(node.type, scope)

    def extensions(self) -> Iterator[tuple[str, NumberedField]]:
        """Yield every extension that the file declares, with the full name of the message that it extends."""
        for extend, scope, features in self._extends:
            extendee = self.symbols.resolve(extend.extendee, scope) or self.index.find(extend.extendee, scope)
            for node in extend.fields:
                name = extendee.full_name if extendee else extend.extendee.removeprefix(".")
                of_field = with_options(features, node.options)
                yield name, NumberedField(node, self, scope, None, of_field, is_extension=True)

    def _named(self, name: str, scope: str) -> FieldValueType:
        if name in SCALARS:
            return FieldValueType(name, scalar=name)
        symbol = self.symbols.resolve(name, scope) or self.index.find(name, scope)
        if symbol is None:
            return FieldValueType(name)
        types = self if symbol.file is self.file else self.index.types_of(symbol.file)
        if isinstance(symbol.node, ProtoMessage):
            return FieldValueType(name, message=types.message(symbol.node))
        return FieldValueType(name, enum=types.enum(symbol.node))

    def _message(self, node: ProtoMessage, parent: MessageType | None, around: Features, number: int) -> MessageType:
        local = f"{parent.local_name}.{node.name}" if parent else node.name
        features = with_options(around, node.options) if node.options else around
        message = MessageType(node, self.file, self.file.package_prefix + local, local, features, self, parent, number)
        self._message_by_node[id(node)] = message
        self._message_by_local_name.setdefault(local, message)
        self._extends += [(extend, message.full_name, features) for extend in node.extends]
        message.enums = {each.name: self._enum(each, f"{local}.", features) for each in node.enums}
        for index, nested in enumerate(node.messages):
            message.messages[nested.name] = self._message(nested, message, features, index)
        for index, group in enumerate(each.group for each in node.all_fields if each.group is not None):
            self._message(group, message, features, len(node.messages) + index)
        return message

    def _enum(self, node: ProtoEnum, prefix: str, around: Features) -> EnumType:
        features = with_options(around, node.options) if node.options else around
        local = prefix + node.name
        full = self.file.package_prefix + local
        enum = EnumType(
            node,
            self.file,
            full,
            local,
            is_closed=features.has_closed_enums,
            allows_json=features.allows_json,
            is_in_own_file=self.file is self.index.file,
        )
        self._enum_by_node[id(node)] = enum
        return enum


class TypeIndex:
    """The types of a schema's own file and, built at the first use, of the files that it imports."""

    def __init__(self, schema: FileWithImports) -> None:
        self.file = schema.file
        self.imports = schema.imports
        self._types_by_file: dict[int, FileTypes] = {}
        self._reference_by_file = {
            id(file): (schema.references[path].subject, schema.references[path].version)
            for path, file in schema.imports.items()
            if path in schema.references
        }
        self.root = self.types_of(schema.file)

    def types_of(self, file: ProtoFile) -> FileTypes:
        """Return the types that ``file`` declares."""
        known = self._types_by_file.get(id(file))
        if known is None:
            known = self._types_by_file[id(file)] = FileTypes(file, self)
        return known

    def find(self, name: str, scope: str) -> Symbol | None:
        """Return the type of ``name`` inside ``scope``, declared in any file of the schema; None if there is none."""
        return self._everywhere.resolve(name, scope)

    def message(self, name: str, scope: str) -> MessageType | None:
        """Return the message of ``name`` inside ``scope``, declared in any file; None if there is none."""
        symbol = self.root.symbols.resolve(name, scope) or self.find(name, scope)
        if symbol is None or not isinstance(symbol.node, ProtoMessage):
            return None
        return self.types_of(symbol.file).message(symbol.node)

    def reference(self, file: ProtoFile) -> tuple[str, int] | None:
        """Return the subject and version of an imported file; None for the schema's own file and built-in files."""
        return self._reference_by_file.get(id(file))

    @cached_property
    def uses(self) -> Uses:
        """The places at which the schema's own file uses imported types."""
        return Uses(self)

    @cached_property
    def _everywhere(self) -> SymbolTable:
        every = tuple(ProtoImport(path) for path in self.imports)
        return SymbolTable(ProtoFile(imports=every), self.imports)


class Uses:
    """The places at which the own file of one schema uses imported types."""

    def __init__(self, index: TypeIndex) -> None:
        self._index = index

    def is_own(self, file: ProtoFile) -> bool:
        """Return whether it is the schema's own file."""
        return file is self._index.root.file

    def pointer_to(self, declared: MessageType | EnumType) -> Pointer:
        """Return the pointer of a type that the own file declares, else of the first field there that uses it.

        If no field does, it is the pointer for the outer type, and then that of the import.
        """
        if self.is_own(declared.file):
            return declared.pointer
        found = self._pointer_by_type.get(id(declared))
        if found is not None:
            return found
        parent = declared.parent if isinstance(declared, MessageType) else None
        return self.pointer_to_file(declared.file) if parent is None else self.pointer_to(parent)

    def pointer_to_file(self, file: ProtoFile) -> Pointer:
        """Return the pointer of the import that leads to a file; empty for the own file."""
        return self._pointer_by_file.get(id(file), ())

    @cached_property
    def _pointer_by_type(self) -> Mapping[int, Pointer]:
        found: dict[int, Pointer] = {}
        waiting = deque(self._used_by_own())
        while waiting:
            declared, pointer = waiting.popleft()
            if id(declared) in found or self.is_own(declared.file):
                continue
            found[id(declared)] = pointer
            inner = declared.fields.values() if isinstance(declared, MessageType) else ()
            waiting.extend((each, pointer) for field in inner for each in _declared_in(field.holds))
        return found

    def _used_by_own(self) -> Iterator[tuple[MessageType | EnumType, Pointer]]:
        """Yield the types that the own file uses, with pointers: of fields first, then extensions, then methods."""
        root = self._index.root
        fields = [each for message in root.all_messages() for each in message.fields.values()]
        for used in (*fields, *(extension for _, extension in root.extensions())):
            yield from ((each, used.pointer) for each in _declared_in(used.holds))
        for rpc in (rpc for service in root.file.services for rpc in service.rpcs):
            for name in (rpc.request, rpc.response):
                declared = self._index.message(name, root.file.package)
                if declared is not None:
                    yield declared, rpc.pointer

    @cached_property
    def _pointer_by_file(self) -> Mapping[int, Pointer]:
        found: dict[int, Pointer] = {}
        waiting = deque((item.path, import_pointer(item.path)) for item in self._index.root.file.imports)
        while waiting:
            path, pointer = waiting.popleft()
            file = self._index.imports.get(path)
            if file is not None and id(file) not in found:
                found[id(file)] = pointer
                waiting.extend((item.path, pointer) for item in file.imports)
        return found


def _declared_in(held: FieldValueType) -> Iterator[MessageType | EnumType]:
    for each in (held, held.key, held.value):
        if each is not None and each.message is not None:
            yield each.message
        elif each is not None and each.enum is not None:
            yield each.enum


def _as_map(held: FieldValueType) -> FieldValueType:
    """Return ``held`` as a map if its message has the option ``map_entry``; any other unchanged."""
    message = held.message
    if message is None or not message.is_map_entry or not {ENTRY_KEY, ENTRY_VALUE} <= message.fields.keys():
        return held
    key, value = (
        message.types.held_plainly(message.fields[number].node, message.full_name)
        for number in (ENTRY_KEY, ENTRY_VALUE)
    )
    return FieldValueType(held.name, message=message, key=key, value=value)


def _is_true(option: ProtoOption) -> bool:
    return isinstance(option.value, ScalarLiteral) and option.value.text == "true"


# Values of scalar fields: the numbers that a type holds, and the value of a field that is not set.

RANGE_BY_SCALAR: Final[Mapping[str, range]] = {
    "bool": range(2),
    "int32": range(-(1 << 31), 1 << 31),
    "sint32": range(-(1 << 31), 1 << 31),
    "sfixed32": range(-(1 << 31), 1 << 31),
    "uint32": range(1 << 32),
    "fixed32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63),
    "sint64": range(-(1 << 63), 1 << 63),
    "sfixed64": range(-(1 << 63), 1 << 63),
    "uint64": range(1 << 64),
    "fixed64": range(1 << 64),
}
"""The whole numbers that a scalar type holds; a bool counts as 0 and 1."""

ENUM_RANGE: Final = RANGE_BY_SCALAR["int32"]
"""The numbers that an open enum holds."""

TEXTS: Final = frozenset({"string", "bytes"})


def written_range(held: FieldValueType) -> range | None:
    """Return the numbers that a writer writes: of an enum, those from its lowest to its highest; None for no number."""
    if held.enum is None:
        return RANGE_BY_SCALAR.get(held.scalar or "")
    numbers = held.enum.names_by_number
    return range(min(numbers), max(numbers) + 1) if numbers else range(1)


def read_range(held: FieldValueType) -> range | None:
    """Return the numbers that a reader can hold unchanged; a closed enum has the range of an open one here."""
    return ENUM_RANGE if held.enum is not None else RANGE_BY_SCALAR.get(held.scalar or "")


def is_inside(inner: range, outer: range) -> bool:
    """Return whether every number of ``inner`` is one of ``outer``; both count by one."""
    return outer.start <= inner.start and inner.stop <= outer.stop


def default_of(field: NumberedField) -> str | int | float | None:
    """Return the value of a singular scalar field that is not set: a number (that of an enum's symbol), or a text.

    None if it is unknown: a default that is no value of its type, or an enum without symbols.
    """
    held = field.holds
    written = field.option("default")
    if held.enum is not None:
        name = held.enum.first_name if written is None else written
        return next((each.number for each in held.enum.node.constants if each.name == name), None)
    if held.scalar in TEXTS:
        return written or ""
    if held.scalar == "bool":
        return int(written == "true")
    if written is None:
        return 0
    return _number(written)


def _number(text: str) -> str | int | float | None:
    """Return the number; the text itself for ``nan``, which does not equal itself; None if it is no number."""
    for parse in (_whole, _octal, float):
        try:
            found = parse(text)
        except ValueError:
            continue
        return text if isnan(found) else found
    return None


def _whole(text: str) -> int:
    return int(text, 0)


def _octal(text: str) -> int:
    """Return a whole number with a leading zero, as protoc reads it."""
    return int(text, 8)


# The strings of a field that are checked to be UTF-8 by a reader and not by its writer.
#
# A string of proto2 is not checked, one of proto3 is; in an edition the feature ``utf8_validation`` decides. A writer
# that does not check can write bytes that are not UTF-8; the parser of a reader that checks refuses the whole message.
#
# Source: the Protocol Buffers guide, "Feature settings for editions", and the behaviour of its runtime.

_STRING: Final = "string"
_VALUE: Final = "the string"
_KEYS: Final = "the keys"
_VALUES: Final = "the values"


def newly_checked_strings(reader: NumberedField, writer: NumberedField) -> str:
    """Return the strings of a field that the reader checks to be UTF-8 and the writer does not, in words; else empty.

    The fields of messages are not compared, except if the other side is a map: then the message is compared with its
    entries.
    """
    as_entries = reader.holds.is_map or writer.holds.is_map
    checked, written = (_checks_by_part(field, as_entries=as_entries) for field in (reader, writer))
    return " and ".join(part for part, is_checked in checked.items() if is_checked and not written.get(part, True))


def _checks_by_part(field: NumberedField, *, as_entries: bool) -> Mapping[str, bool]:
    """Return, by part of a field, whether its strings are checked; parts that hold no strings are left out."""
    holds, features = field.holds, field.features
    if not as_entries:
        return {_VALUE: features.checks_utf8} if _is_string(holds) else {}
    if holds.message is not None:
        entry = holds.message.fields
        parts = {_KEYS: entry.get(ENTRY_KEY), _VALUES: entry.get(ENTRY_VALUE)}
        return {part: inner.features.checks_utf8 for part, inner in parts.items() if inner and _is_string(inner.holds)}
    parts_of_map = {_KEYS: holds.key, _VALUES: holds.value}
    return {part: features.checks_utf8 for part, inner in parts_of_map.items() if inner and _is_string(inner)}


def _is_string(held: FieldValueType) -> bool:
    return held.scalar == _STRING


# Messages whose meaning is defined by their name: the well-known types and Google's common types.
#
# ``Timestamp`` and ``Duration`` have the same fields, and so do ``Date`` and ``TimeOfDay``: bytes of the one are read
# as the other without an error. The meaning of any other message is defined by its fields alone, and so is that of the
# wrappers of scalars, such as ``Int32Value``.
#
# Source: Protocol Buffers, "Well-Known Types"; the Google API common types.

_PACKAGES: Final = ("google.protobuf.", "google.type.")
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{scalar}Value"
    for scalar in ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
)


def mean_different_things(one: str, other: str) -> bool:
    """Return whether two messages, given by their full names, have different meanings.

    >>> mean_different_things("google.protobuf.Timestamp", "google.protobuf.Duration")
    True
    >>> mean_different_things("google.protobuf.Timestamp", "shop.Moment")
    False
    >>> mean_different_things("google.protobuf.Int32Value", "google.protobuf.Int64Value")
    False
    """
    return (
        one != other
        and one.startswith(_PACKAGES)
        and other.startswith(_PACKAGES)
        and not (one in _WRAPPERS and other in _WRAPPERS)
    )
