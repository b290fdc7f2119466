"""Protobuf messages in Java: the fields of each type as a ``Layout``, and the message indexes of each writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.protobuf.descriptor import FieldDescriptor

from counterfoil.converter.engines.java.source import ENGINE, JavaClass, block, quoted, signed
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.converter.messages.protobuf import PooledSchema, pack
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, is_map
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import MessageType, NumberedField
from counterfoil.schema.plans.tree import ArrayType, Leaf, MapType, Node, RecordType
from counterfoil.schema.plans.types import split_null
from counterfoil.schema.wire import encode_message_indexes, id_prefix
from counterfoil.sdk.errors import IncompatibleReader
from counterfoil.sdk.serde.protobuf.codec import ProtobufCodec
from counterfoil.sdk.serde.protobuf.message_types import path_of

_KIND_BY_TYPE: Final = {
    getattr(FieldDescriptor, f"TYPE_{word}"): word
    for word in (
        *("INT32", "INT64", "UINT32", "UINT64", "SINT32", "SINT64", "BOOL", "ENUM", "FIXED32", "SFIXED32", "FLOAT"),
        *("FIXED64", "SFIXED64", "DOUBLE", "STRING", "BYTES", "MESSAGE", "GROUP"),
    )
}
_FORM_BY_WORD: Final = {"timestamp-nanos": "NANOS", "duration-nanos": "DURATION", "date": "DATE"}


class Layouts:
    """Writes the types of the messages of one schema as constants; those of a source, or of a target."""

    def __init__(self, java: JavaClass, schema: PooledSchema, *, is_source: bool) -> None:
        self._java = java
        self._schema = schema
        self._is_source = is_source
        self._name_by_message: dict[str, str] = {}

    def root(self) -> str:
        """Return the name of the layout of the schema's first message."""
        parsed = self._schema.parsed
        message = parsed.types.types_of(parsed.file).message(parsed.file.messages[0])
        return self._layout(self._schema.descriptor, message, self._schema.tree)

    def _layout(self, descriptor: AnyDescriptor, message: MessageType | None, node: Node | None) -> str:
        key = f"{descriptor.full_name} {isinstance(node, RecordType)}"
        if key in self._name_by_message:
            return self._name_by_message[key]
        if descriptor.GetOptions().message_set_wire_format or descriptor.file.pool.FindAllExtensions(descriptor):
            raise EngineCannot(ENGINE, field="", why=f"the message {descriptor.full_name} has extensions")
        name = self._name_by_message[key] = self._new(descriptor)
        nodes = {member.number: member.type for member in node.fields} if isinstance(node, RecordType) else {}
        fields = sorted(descriptor.fields, key=lambda field: field.number)
        spelt = [
            self._member(field, message.fields.get(field.number) if message else None, nodes.get(field.number), fields)
            for field in fields
        ]
        self._java.fill(name, "Member", spelt)
        if _needs_settling(fields) if self._is_source else not self._is_free(descriptor, set()):
            self._java.static(f"{name}.isSettled = false;")
        return name

    def _new(self, descriptor: AnyDescriptor) -> str:
        """Return the name of a new layout, one of the source or one of the target."""
        name = self._java.fresh("L")
        self._java.member(f"static final Layout {name} = new Layout({quoted(descriptor.full_name)})")
        return name

    def _member(self, field: AnyField, type_: NumberedField | None, node: Node | None, beside: list[AnyField]) -> str:
        checks = type_ is None or type_.features.checks_utf8
        flags = {
            "REPEATED": field.is_repeated,
            "PACKED": type_ is not None and type_.is_packed,
            "MAP": is_map(field),
            "PRESENCE": field.has_presence,
            "REQUIRED": field.is_required,
            "UNCHECKED": not checks,
        }
        form = _form_of(field, _item_of(node))
        return self._spelt(field, flags, form) + self._inside(field, type_, node) + _others(field, beside)

    def _spelt(self, field: AnyField, flags: Mapping[str, bool], form: str | None) -> str:
        words = " | ".join(f"Member.{word}" for word, is_set in flags.items() if is_set) or "0"
        kind = f"Member.{_KIND_BY_TYPE[field.type]}"
        return f"new Member({quoted(field.name)}, {field.number}, {kind}, {words}, {f'Member.{form}' if form else '0'})"

    def _inside(self, field: AnyField, type_: NumberedField | None, node: Node | None) -> str:
        """Return the calls that add the type of a message or an enum."""
        if field.enum_type is not None:
            return f".of({self._symbols(field)})"
        if field.message_type is None:
            return ""
        if is_map(field):
            return f".of({self._entry(field, type_, node)})"
        message = type_.holds.message if type_ is not None else None
        return f".of({self._layout(field.message_type, message, _item_of(node))})"

    def _entry(self, field: AnyField, type_: NumberedField | None, node: Node | None) -> str:
        """Return the layout of a map's entries, whose parts have no presence."""
        descriptor = field.message_type
        if descriptor.full_name in self._name_by_message:
            return self._name_by_message[descriptor.full_name]
        name = self._name_by_message[descriptor.full_name] = self._new(descriptor)
        value_node = _item_of(node)
        held = type_.holds.value if type_ is not None else None
        unchecked = {"UNCHECKED": type_ is not None and not type_.features.checks_utf8}
        key, value = (descriptor.fields_by_name[word] for word in ("key", "value"))
        form = _form_of(value, value_node)
        inside = ""
        if value.enum_type is not None:
            inside = f".of({self._symbols(value)})"
        elif value.message_type is not None:
            inside = f".of({self._layout(value.message_type, held.message if held else None, value_node)})"
        self._java.fill(
            name, "Member", [self._spelt(key, unchecked, None), self._spelt(value, unchecked, form) + inside]
        )
        return name

    def _symbols(self, field: AnyField) -> str:
        enum = field.enum_type
        first: dict[int, str] = {}
        for symbol in enum.values:
            first.setdefault(symbol.number, symbol.name)
        numbers = sorted(first)
        all_ = [(symbol.name, symbol.number) for symbol in enum.values]
        parts = (
            "true" if enum.is_closed else "false",
            self._java.integers(numbers),
            self._java.several([first[number].encode() for number in numbers]),
            self._java.several([name.encode() for name, _ in all_]),
            self._java.integers([number for _, number in all_]),
        )
        return self._java.constant("Symbols", f"new Symbols({', '.join(parts)})")

    def _is_free(self, descriptor: AnyDescriptor, seen: set[str]) -> bool:
        """Return whether every value of the plan's types can be written as the message."""
        if descriptor.full_name in seen:
            return True
        seen.add(descriptor.full_name)
        if descriptor.full_name.startswith("google.") or any(len(one.fields) > 1 for one in descriptor.oneofs):
            return False
        for field in descriptor.fields:
            if is_map(field) and field.message_type.fields_by_name["key"].type != FieldDescriptor.TYPE_STRING:
                return False
            if field.message_type is not None and not self._is_free(field.message_type, seen):
                return False
        return True


def _item_of(node: Node | None) -> Node | None:
    """Return the type of a value, of an array's items or a map's values, without null."""
    _, inner = (False, None) if node is None else split_null(node)
    if isinstance(inner, ArrayType | MapType):
        _, inner = split_null(inner.items if isinstance(inner, ArrayType) else inner.values)
    return inner


def _form_of(field: AnyField, node: Node | None) -> str | None:
    """Return what a message of a well-known type stands for."""
    if field.message_type is None or is_map(field) or not isinstance(node, Leaf):
        return None
    return _FORM_BY_WORD.get(node.scalar.word, "WRAPPED")


def _needs_settling(fields: list[AnyField]) -> bool:
    """Return whether a message that was read needs another look."""
    return any(
        field.is_repeated
        or field.is_required
        or field.message_type is not None
        or field.enum_type is not None
        or field.type == FieldDescriptor.TYPE_STRING
        for field in fields
    )


def _others(field: AnyField, beside: list[AnyField]) -> str:
    oneof = field.containing_oneof
    if oneof is None or len(oneof.fields) == 1:
        return ""
    places = [
        place
        for place, other in enumerate(beside)
        if other.containing_oneof is not None and other.containing_oneof.name == oneof.name and other.name != field.name
    ]
    return f".beside(new int[] {{{', '.join(map(str, places))}}})"


def read_lines(java: JavaClass, source: ProtobufSchema, writer_by_id: Mapping[int, ProtobufSchema]) -> list[str]:
    """Return the statements that read the message ``b`` from ``p`` on, by its schema id."""
    schema = PooledSchema(pack(source))
    layout = Layouts(java, schema, is_source=True).root()
    java.member("final WireReader reader = new WireReader()")
    cases = []
    for schema_id, writer in sorted(writer_by_id.items()):
        indexes = java.constant("MessageIndexes", _indexes(java, PooledSchema(pack(writer)), schema))
        read = f"reader.read({layout}, b, {indexes}.after(b, p))"
        cases += [f"case {signed(schema_id)}:"]
        cases += [f"  return Settling.message({layout}, {read});"]
    return block("switch (id)", [*cases, "default:", "  return UNKNOWN;"])


def write_lines(java: JavaClass, target: ProtobufSchema) -> list[str]:
    """Return the statements that write the record ``made``."""
    layout = Layouts(java, PooledSchema(pack(target)), is_source=False).root()
    java.member("final WireWriter writer = new WireWriter()")
    return [f"writer.write({layout}, (Object[]) made, out);"]


def prefix_of(target: ProtobufSchema, target_id: int) -> bytes:
    """Return the frame of a converted message."""
    return id_prefix(target_id) + encode_message_indexes(path_of(PooledSchema(pack(target)).descriptor))


def _indexes(java: JavaClass, writer: PooledSchema, source: PooledSchema) -> str:
    """Return the message indexes of a writer's messages that are read, and of those that cannot be."""
    name = source.tree.full_name
    found = writer.types.find(name)
    fields: dict[str, str] = {}
    for path in [] if found is None else (path_of(found), _declared_path(found)):
        try:
            ProtobufCodec(message=name).decoder(writer.types, source.types, encode_message_indexes(path))
            problem = ""
        except IncompatibleReader as error:
            problem = getattr(error, "path", "") or "."
        if any(each.full_name == name for each in writer.types.at(path)):
            fields[".".join(map(str, path))] = problem
    paths, problems = java.words(list(fields)), java.words(list(fields.values()))
    return f"new MessageIndexes({paths}, {problems})"


def _declared_path(descriptor: AnyDescriptor) -> tuple[int, ...]:
    """Return the message indexes of a type if entries of maps are not counted."""
    path: list[int] = []
    inner = descriptor
    while inner.containing_type is not None:
        declared = [each.full_name for each in inner.containing_type.nested_types if not each.GetOptions().map_entry]
        path.append(declared.index(inner.full_name))
        inner = inner.containing_type
    return (path_of(inner)[0], *reversed(path))
