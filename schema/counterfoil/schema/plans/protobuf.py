"""Protobuf schemas as trees: the record is the first message of the file, or the one that a :class:`MessageOf` names.

==============================  ====================================================================================
field with presence             nullable: None while it is not set. A field of a oneof has presence
field without presence          has the default of its type
``repeated``, ``map``           an array, a map; empty by default
``uint32``, ``uint64``          whole numbers with ranges of their own
enum                            its symbols; a number without a symbol cannot be read
``Timestamp``, ``Duration``     nanoseconds; those of a ``Timestamp`` in the years 1 to 9999
wrappers                        the value, nullable
``google.type.Date``            a date
``Struct``, ``Any``, …          can only be copied to a field of the same type
==============================  ====================================================================================

Unknown fields are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.read.symbols import EnumType
from counterfoil.schema.languages.protobuf.read.syntax_tree import json_name_of
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import FieldValueType, MessageType, NumberedField
from counterfoil.schema.plans.model import Scalar
from counterfoil.schema.plans.tree import (
    NO_DEFAULT,
    ArrayType,
    Leaf,
    MapType,
    Node,
    NotPlannable,
    Opaque,
    RecordField,
    RecordType,
    nullable,
    tree_text,
)

_SCALAR_BY_WORD: Final[Mapping[str, Scalar]] = {
    **dict.fromkeys(("int32", "sint32", "sfixed32"), Scalar("int", "int")),
    **dict.fromkeys(("int64", "sint64", "sfixed64"), Scalar("long", "long")),
    **dict.fromkeys(("uint32", "fixed32"), Scalar("uint32", "long")),
    **dict.fromkeys(("uint64", "fixed64"), Scalar("uint64", "uint64")),
    "float": Scalar("float", "float"),
    "double": Scalar("double", "double"),
    "bool": Scalar("boolean", "boolean"),
    "string": Scalar("string", "string"),
    "bytes": Scalar("bytes", "bytes"),
}
_SCALAR_BY_MESSAGE: Final[Mapping[str, Scalar]] = {
    "google.protobuf.Timestamp": Scalar("timestamp-nanos", "long", is_wide=True),
    "google.protobuf.Duration": Scalar("duration-nanos", "long"),
    "google.type.Date": Scalar("date", "int"),
}
_WRAPPED: Final[Mapping[str, Scalar]] = {
    f"google.protobuf.{word}Value": _SCALAR_BY_WORD[word.lower()]
    for word in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
}
_OPAQUE: Final = frozenset(
    {
        *(f"google.protobuf.{name}" for name in ("Any", "Struct", "Value", "ListValue", "FieldMask")),
        "confluent.type.Decimal",
        "google.type.Decimal",
    }
)
_ZERO_BY_BASE: Final[Mapping[str, Datum]] = {
    **dict.fromkeys(("int", "long", "uint64"), 0),
    "float": 0.0,
    "double": 0.0,
    "boolean": False,
    "string": "",
    "bytes": "",
}
_DROPPED: Final = "fields that the source's messages do not declare are dropped"


class MessageOf(ProtobufSchema):
    """A Protobuf schema of which one message is used; ``message`` is its full name."""

    def __init__(self, schema: ProtobufSchema, message: str) -> None:
        super().__init__(schema.text, schema.file, imports=schema.imports, references=schema.references)
        self.message = message


def tree_of(schema: ProtobufSchema) -> Node:
    """Return the message of the schema. Raises ``NotPlannable`` if the file does not declare it, or has none."""
    own = schema.types.types_of(schema.file)
    wanted = schema.message if isinstance(schema, MessageOf) else None
    declared = {message.full_name: message for message in own.all_messages()}
    if not declared:
        raise NotPlannable("the Protobuf file has no message")
    if wanted is not None and wanted not in declared:
        near = get_close_matches(wanted, declared, n=1)
        meant = f"did you mean {near[0]}?" if near else f"it has {', '.join(declared)}"
        raise NotPlannable(f"the Protobuf file has no message {wanted}; {meant}")
    return _Reader().message(declared[wanted] if wanted is not None else next(iter(declared.values())))


def meaning_of(schema: ProtobufSchema) -> str:
    """Return the tree as text, with the number of every field."""
    return f"protobuf {tree_text(tree_of(schema))}"


def base_function(schema: ProtobufSchema) -> None:
    """Return None: the codecs of messages make base values."""
    del schema


def decoded_function(schema: ProtobufSchema) -> None:
    """Return None: the codecs of messages take base values."""
    del schema


class _Reader:
    """Reads the messages of one schema; a message that is used twice is one record."""

    def __init__(self) -> None:
        self._records: dict[str, RecordType] = {}

    def message(self, message: MessageType) -> RecordType:
        """Return the type of a message as a record, also of a well-known one."""
        known = self._records.get(message.full_name)
        if known is not None:
            return known
        name = message.local_name.rpartition(".")[2]
        made = self._records[message.full_name] = RecordType(name, message.full_name, dropped=_DROPPED)
        made.fields = [self._field(field) for field in message.fields.values()]
        return made

    def _field(self, field: NumberedField) -> RecordField:
        aliases = [name for name in {field.option("json_name") or json_name_of(field.name)} if name != field.name]
        node, default = self._type_and_default(field)
        return RecordField(
            field.name,
            node,
            default,
            tuple(aliases),
            number=field.number,
            oneof=field.oneof_name,
            may_be_absent=field.has_presence and not field.is_required,
            has_null=False,
        )

    def _type_and_default(self, field: NumberedField) -> tuple[Node, Datum]:
        held = field.holds
        if held.key is not None and held.value is not None:
            key = _SCALAR_BY_WORD[held.key.scalar or "string"]
            return MapType(self._type(held.value), key.word), {}
        node = self._type(held)
        if field.is_repeated:
            return ArrayType(node), []
        if field.is_required:
            return node, NO_DEFAULT
        if field.has_presence:
            return nullable(node), NO_DEFAULT
        return node, _zero(held, node)

    def _type(self, held: FieldValueType) -> Node:
        if held.scalar is not None:
            return Leaf(_SCALAR_BY_WORD[held.scalar])
        if held.enum is not None:
            return _enum(held.enum)
        if held.message is None:
            raise NotPlannable(f"the Protobuf type {held.name} is not known")
        name = held.message.full_name
        if name in _OPAQUE:
            return Opaque(f"message {name}", f"protobuf: {name}")
        if name in _WRAPPED:
            return Leaf(_WRAPPED[name])
        scalar = _SCALAR_BY_MESSAGE.get(name)
        return self.message(held.message) if scalar is None else Leaf(scalar)


def _enum(enum: EnumType) -> Leaf:
    number_by_name = {constant.name: constant.number for constant in enum.node.constants}
    scalar = Scalar("enum", "enum", tuple(number_by_name))
    return Leaf(scalar, enum.local_name, enum.full_name, numbers=tuple(number_by_name.values()))


def _zero(held: FieldValueType, node: Node) -> Datum:
    if held.enum is not None:
        return held.enum.first_name
    return _ZERO_BY_BASE[node.kind]
