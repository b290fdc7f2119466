"""The attributes of a declaration as its JSON object has them: defaults, logical types, and all others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext.reading import locate
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
    LogicalType,
)
from counterfoil.schema.texts import print_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from counterfoil.schema.datum import Json
    from counterfoil.schema.languages.avro.types import AvroField, AvroType
    from counterfoil.schema.texts import Pointer


# The attributes of a declaration, and how each is read from its JSON object.
#
# Source: Apache Avro 1.12 specification, "Schema Declaration"; what is tolerated (a doc that is not a string counts as
# none) is what the reference registry tolerates.

TYPE_ATTRIBUTES: Final = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "symbols", "size"}
)
"""The attributes of Avro in an object that declares a type; every other key is a property."""

ENUM_ATTRIBUTES: Final = TYPE_ATTRIBUTES | {"default"}
FIELD_ATTRIBUTES: Final = frozenset({"name", "type", "doc", "default", "order", "aliases"})

_ORDERS: Final = ("ascending", "descending", "ignore")
_MAX_FIXED_SIZE_BYTES: Final = 2**31 - 1
_COMPLEX_WORDS: Final = frozenset({"record", "error", "enum", "fixed", "array", "map"})
_SHOWN_CHARACTERS: Final = 60
_ONLY_TEXT: Final = frozenset({str})


class SchemaFault(Exception):
    """A fault in a schema, with its JSON Pointer; it becomes a ``SchemaParseError`` when its line is known."""

    def __init__(self, problem: str, pointer: Pointer, *, expected: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.pointer = pointer
        self.expected = expected

    def located(self, text: str) -> SchemaParseError:
        """Return the error to raise, with the position of the fault in ``text``."""
        place, path = locate(text, self.pointer), print_pointer(self.pointer)
        return SchemaParseError(self.problem, position=place, path=path, expected=self.expected)


def read_required(value: dict[str, Json], key: str, pointer: Pointer) -> Json:
    """Return a required attribute; ``pointer`` is that of the declaration."""
    if key not in value:
        raise SchemaFault(f"no {key!r} in {_declared(value)}", pointer, expected=f"an attribute {key!r}")
    return value[key]


def read_required_text(value: dict[str, Json], key: str, pointer: Pointer) -> str:
    """Return a required attribute that must be a string."""
    text = read_required(value, key, pointer)
    if not isinstance(text, str):
        raise SchemaFault(f"{show(text)} is no {key}", (*pointer, key), expected="a string")
    return text


def read_text(value: dict[str, Json], key: str) -> str | None:
    """Return an attribute that may be a string; anything else counts as absent."""
    text = value.get(key)
    return text if isinstance(text, str) else None


def read_texts(value: dict[str, Json], key: str, pointer: Pointer) -> list[str]:
    """Return an attribute that must be an array of strings if it is present; empty if it is absent."""
    texts = value.get(key, [])
    if not isinstance(texts, list) or not _ONLY_TEXT.issuperset(map(type, texts)):
        raise SchemaFault(f"{show(texts)} in {key!r}", (*pointer, key), expected="an array of strings")
    return texts


def read_properties(value: dict[str, Json], attributes: AbstractSet[str]) -> dict[str, Json]:
    """Return the properties, which are the keys not among ``attributes``, in the order written."""
    if value.keys() <= attributes:
        return {}  # a shortcut for speed
    return {key: item for key, item in value.items() if key not in attributes}


def read_order(value: dict[str, Json], pointer: Pointer) -> str | None:
    """Return a field's sort order in lower case, or None if it has none."""
    if "order" not in value:
        return None
    order = value["order"]
    if not isinstance(order, str) or order.lower() not in _ORDERS:
        raise SchemaFault(f"{show(order)} is no order", (*pointer, "order"), expected=" or ".join(_ORDERS))
    return order.lower()


def read_size(value: dict[str, Json], pointer: Pointer) -> int:
    """Return the size of a fixed in bytes."""
    size = read_required(value, "size", pointer)
    if type(size) is not int or not 0 <= size <= _MAX_FIXED_SIZE_BYTES:
        raise SchemaFault(f"{show(size)} is no size", (*pointer, "size"), expected="a whole number of bytes")
    return size


def read_enum_default(value: dict[str, Json], symbols: Sequence[str], pointer: Pointer) -> str | None:
    """Return the symbol that replaces unknown ones, or None."""
    default = read_text(value, "default")
    if default is not None and default not in symbols:
        raise SchemaFault(
            f"the default {show(default)} is no symbol", (*pointer, "default"), expected="one of the symbols"
        )
    return default


def show(value: Json) -> str:
    """Return a value as text for a message: short, with JSON's words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and len(value) > _SHOWN_CHARACTERS:
        return f"{value[:_SHOWN_CHARACTERS]!r}…"
    return repr(value)


def _declared(value: dict[str, Json]) -> str:
    """Return the type word of a declaration for messages, or "the object" for a field."""
    word = value.get("type")
    return f"the {word}" if isinstance(word, str) and word in _COMPLEX_WORDS else "the object"


# Field defaults: whether a JSON value is valid as a value of a type.
#
# The rules are the reference registry's, a little wider than the specification's: a union's default may fit any branch,
# an enum's or fixed's may be any string.
#
# Source: Apache Avro 1.12 specification, "Complex Types", table of field default values.

_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63
_MAX_BYTE = 0xFF
_DESCRIPTION_BY_KIND: Final = {
    AvroKind.NULL: "null",
    AvroKind.BOOLEAN: "true or false",
    AvroKind.INT: "a whole number of 32 bits",
    AvroKind.LONG: "a whole number of 64 bits",
    AvroKind.FLOAT: "a number",
    AvroKind.DOUBLE: "a number",
    AvroKind.ARRAY: "an array whose items fit",
    AvroKind.MAP: "an object whose values fit",
    AvroKind.UNION: "a value of one of the branches",
    AvroKind.RECORD: "an object with a fitting value for every field that has no default of its own",
}


def fits_default(avro_type: AvroType, value: Json, *, unread: AbstractSet[str] = frozenset()) -> bool:
    """Return whether ``value`` is a valid default of ``avro_type``.

    ``unread`` are the full names of records whose fields are not read yet. No value fits those: a record with a default
    of its own type would be infinite.
    """
    if type(avro_type) is AvroPrimitive:
        return _fits_scalar(avro_type.kind, value)
    if isinstance(avro_type, AvroUnion):
        for branch in avro_type.branches:  # noqa: SIM110 - any() takes twice as long over two branches
            if fits_default(branch, value, unread=unread):
                return True
        return False
    if isinstance(avro_type, AvroArray):
        return isinstance(value, list) and all(fits_default(avro_type.items, item, unread=unread) for item in value)
    if isinstance(avro_type, AvroMap):
        return isinstance(value, dict) and all(
            fits_default(avro_type.values, item, unread=unread) for item in value.values()
        )
    if isinstance(avro_type, AvroRecord):
        return avro_type.full_name not in unread and _fits_record(avro_type, value, unread)
    return _fits_scalar(avro_type.kind, value)


def unfit_part(
    avro_type: AvroType, value: Json, *, unread: AbstractSet[str] = frozenset()
) -> tuple[tuple[str | int, ...], AvroType, Json]:
    """Return the innermost part of a default that does not fit: the steps to it, the type that it should have, itself.

    The default does not fit ``avro_type`` (:func:`fits_default`). A part of a union is not looked into, and a value
    that is missing from a record is a fault of the record.
    """
    inner: list[tuple[str | int, AvroType, Json]] = []
    if isinstance(avro_type, AvroArray) and isinstance(value, list):
        inner = [(index, avro_type.items, item) for index, item in enumerate(value)]
    elif isinstance(avro_type, AvroMap) and isinstance(value, dict):
        inner = [(key, avro_type.values, item) for key, item in value.items()]
    elif isinstance(avro_type, AvroRecord) and isinstance(value, dict) and avro_type.full_name not in unread:
        inner = [(each.name, each.type, value[each.name]) for each in avro_type.fields if each.name in value]
    for step, expected, part in inner:
        if not fits_default(expected, part, unread=unread):
            steps, *found = unfit_part(expected, part, unread=unread)
            return ((step, *steps), *found)
    return (), avro_type, value


def is_usable_default(avro_type: AvroType, value: Json, *, inside: AbstractSet[int] = frozenset()) -> bool:
    """Return whether a reader can use ``value``: for an enum one of its symbols, for a fixed a text of its size.

    ``inside`` are the ids of fields whose own default is being filled in: one that needs itself is infinite. The
    specification requires all this, the reference registry does not.
    """
    match avro_type:
        case AvroUnion():
            return any(is_usable_default(branch, value, inside=inside) for branch in avro_type.branches)
        case AvroArray():
            return isinstance(value, list) and all(
                is_usable_default(avro_type.items, item, inside=inside) for item in value
            )
        case AvroMap():
            return isinstance(value, dict) and all(
                is_usable_default(avro_type.values, item, inside=inside) for item in value.values()
            )
        case AvroRecord():
            return isinstance(value, dict) and all(_is_filled(member, value, inside) for member in avro_type.fields)
        case AvroEnum():
            return value in avro_type.symbols
        case AvroFixed():
            return isinstance(value, str) and len(value) == avro_type.size and _are_bytes(value)
    return _fits_scalar(avro_type.kind, value) and (avro_type.kind is not AvroKind.BYTES or _are_bytes(value))


def _is_filled(member: AvroField, value: Mapping[str, Json], inside: AbstractSet[int]) -> bool:
    """Return whether a field of a record gets a usable value from the record's default, or else from its own."""
    if member.name in value:
        return is_usable_default(member.type, value[member.name], inside=inside)
    if id(member) in inside:
        return False
    return is_usable_default(member.type, member.default, inside={*inside, id(member)})


def describe_default(avro_type: AvroType) -> str:
    """Return the description of a default of this type, for error messages."""
    return _DESCRIPTION_BY_KIND.get(avro_type.kind, "a string")


def _are_bytes(text: str) -> bool:
    """Return whether each character is one byte, as in the default of a bytes or fixed."""
    return all(ord(character) <= _MAX_BYTE for character in text)


def _fits_record(record: AvroRecord, value: Json, unread: AbstractSet[str]) -> bool:
    if not isinstance(value, dict):
        return False
    return all(
        fits_default(member.type, value[member.name], unread=unread) if member.name in value else member.has_default
        for member in record.fields
    )


def _fits_scalar(kind: AvroKind, value: Json) -> bool:
    match kind:
        case AvroKind.NULL:
            return value is None
        case AvroKind.BOOLEAN:
            return isinstance(value, bool)
        case AvroKind.INT:
            return type(value) is int and -_INT_LIMIT <= value < _INT_LIMIT
        case AvroKind.LONG:
            return type(value) is int and -_LONG_LIMIT <= value < _LONG_LIMIT
        case AvroKind.FLOAT | AvroKind.DOUBLE:
            return type(value) in (int, float)
        case _:
            return isinstance(value, str)


# Logical types: which annotations are valid, and what they mean.
#
# Source: Apache Avro 1.12 specification, "Logical Types": an implementation ignores an annotation that it does not know
# or that does not fit its type, and reads the underlying type.

_UUID_SIZE_BYTES = 16
_DURATION_SIZE_BYTES = 12

_KIND_BY_NAME: Final = {
    "date": AvroKind.INT,
    "time-millis": AvroKind.INT,
    "time-micros": AvroKind.LONG,
    "timestamp-millis": AvroKind.LONG,
    "timestamp-micros": AvroKind.LONG,
    "timestamp-nanos": AvroKind.LONG,
    "local-timestamp-millis": AvroKind.LONG,
    "local-timestamp-micros": AvroKind.LONG,
    "local-timestamp-nanos": AvroKind.LONG,
    "uuid": AvroKind.STRING,
}


LOGICAL_TYPE_NAMES: Final = frozenset({*_KIND_BY_NAME, "decimal", "duration"})
"""The logical types of the specification."""


def read_logical_type(properties: Mapping[str, Json], kind: AvroKind, *, size_bytes: int = 0) -> LogicalType | None:
    """Return the logical type of a type with ``properties``; None if there is none or it is not valid.

    ``size_bytes`` is the size of a fixed.
    """
    name = properties.get("logicalType")
    if not isinstance(name, str):
        return None
    if name == "decimal":
        return _read_decimal(properties, kind, size_bytes)
    if kind is AvroKind.FIXED:
        fits = {"uuid": _UUID_SIZE_BYTES, "duration": _DURATION_SIZE_BYTES}.get(name) == size_bytes
    else:
        fits = _KIND_BY_NAME.get(name) is kind
    return LogicalType(name) if fits else None


def max_precision(size_bytes: int) -> int:
    """Return the number of decimal digits that every two's-complement number of this size can represent."""
    return math.floor(math.log10(2) * (8 * size_bytes - 1)) if size_bytes > 0 else 0


def _read_decimal(properties: Mapping[str, Json], kind: AvroKind, size_bytes: int) -> LogicalType | None:
    precision = properties.get("precision")
    scale = properties.get("scale", 0)
    if kind not in (AvroKind.BYTES, AvroKind.FIXED) or type(precision) is not int or type(scale) is not int:
        return None
    if precision < 1 or not 0 <= scale <= precision:
        return None
    if kind is AvroKind.FIXED and precision > max_precision(size_bytes):
        return None
    return LogicalType("decimal", precision=precision, scale=scale)
