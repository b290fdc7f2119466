"""Field defaults: whether a JSON value is valid as a value of a type.

The rules are the reference registry's, a little wider than the specification's: a union's default may fit any branch,
an enum's or fixed's may be any string.

Source: Apache Avro 1.12 specification, "Complex Types", table of field default values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from counterfoil.schema.formats.avro.types import AvroType, Field, Json

_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63
_MAX_BYTE = 0xFF
_DESCRIPTION_BY_KIND: Final = {
    Kind.NULL: "null",
    Kind.BOOLEAN: "true or false",
    Kind.INT: "a whole number of 32 bits",
    Kind.LONG: "a whole number of 64 bits",
    Kind.FLOAT: "a number",
    Kind.DOUBLE: "a number",
    Kind.ARRAY: "an array whose items fit",
    Kind.MAP: "an object whose values fit",
    Kind.UNION: "a value of one of the branches",
    Kind.RECORD: "an object with a fitting value for every field that has no default of its own",
}


def fits_default(avro_type: AvroType, value: Json, *, unread: AbstractSet[str] = frozenset()) -> bool:
    """Return whether ``value`` is a valid default of ``avro_type``.

    ``unread`` are the full names of records whose fields are not read yet. No value fits those: a record with a default
    of its own type would be infinite.
    """
    if type(avro_type) is Primitive:
        return _fits_scalar(avro_type.kind, value)
    if isinstance(avro_type, Union):
        for branch in avro_type.branches:  # noqa: SIM110 - any() takes twice as long over two branches
            if fits_default(branch, value, unread=unread):
                return True
        return False
    if isinstance(avro_type, Array):
        return isinstance(value, list) and all(fits_default(avro_type.items, item, unread=unread) for item in value)
    if isinstance(avro_type, Map):
        return isinstance(value, dict) and all(
            fits_default(avro_type.values, item, unread=unread) for item in value.values()
        )
    if isinstance(avro_type, Record):
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
    if isinstance(avro_type, Array) and isinstance(value, list):
        inner = [(index, avro_type.items, item) for index, item in enumerate(value)]
    elif isinstance(avro_type, Map) and isinstance(value, dict):
        inner = [(key, avro_type.values, item) for key, item in value.items()]
    elif isinstance(avro_type, Record) and isinstance(value, dict) and avro_type.full_name not in unread:
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
        case Union():
            return any(is_usable_default(branch, value, inside=inside) for branch in avro_type.branches)
        case Array():
            return isinstance(value, list) and all(
                is_usable_default(avro_type.items, item, inside=inside) for item in value
            )
        case Map():
            return isinstance(value, dict) and all(
                is_usable_default(avro_type.values, item, inside=inside) for item in value.values()
            )
        case Record():
            return isinstance(value, dict) and all(_is_filled(member, value, inside) for member in avro_type.fields)
        case Enum():
            return value in avro_type.symbols
        case Fixed():
            return isinstance(value, str) and len(value) == avro_type.size and _are_bytes(value)
    return _fits_scalar(avro_type.kind, value) and (avro_type.kind is not Kind.BYTES or _are_bytes(value))


def _is_filled(member: Field, value: Mapping[str, Json], inside: AbstractSet[int]) -> bool:
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


def _fits_record(record: Record, value: Json, unread: AbstractSet[str]) -> bool:
    if not isinstance(value, dict):
        return False
    return all(
        fits_default(member.type, value[member.name], unread=unread) if member.name in value else member.has_default
        for member in record.fields
    )


def _fits_scalar(kind: Kind, value: Json) -> bool:
    match kind:
        case Kind.NULL:
            return value is None
        case Kind.BOOLEAN:
            return isinstance(value, bool)
        case Kind.INT:
            return type(value) is int and -_INT_LIMIT <= value < _INT_LIMIT
        case Kind.LONG:
            return type(value) is int and -_LONG_LIMIT <= value < _LONG_LIMIT
        case Kind.FLOAT | Kind.DOUBLE:
            return type(value) in (int, float)
        case _:
            return isinstance(value, str)
