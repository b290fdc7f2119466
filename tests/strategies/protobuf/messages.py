"""Messages of any type that the runtime knows, with values for every kind of field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import reject
from hypothesis import strategies as st

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.CPPTYPE_FLOAT: st.floats(width=32, allow_nan=False),
    FieldDescriptor.CPPTYPE_BOOL: st.booleans(),
}
DEEPEST = 3


@st.composite
def messages(draw: DrawFn, descriptor: Any) -> Any:
    """Draw a message of the type; required fields are set. A type that requires itself has none."""
    message = GetMessageClass(descriptor)()
    _fill(draw, message, DEEPEST)
    return message


def _fill(draw: DrawFn, message: Any, depth: int) -> None:
    if depth < -DEEPEST:
        reject()
    special = SPECIAL.get(message.DESCRIPTOR.full_name)
    if special is not None:
        special(draw, message)
        return
    extensions = message.DESCRIPTOR.file.pool.FindAllExtensions(message.DESCRIPTOR)
    for field in (*message.DESCRIPTOR.fields, *extensions):
        if field.is_required or (depth > 0 and draw(st.booleans())):
            _set(draw, message, field, depth)


def _set(draw: DrawFn, message: Any, field: Any, depth: int) -> None:
    def get() -> Any:
        return message.Extensions[field] if field.is_extension else getattr(message, field.name)

    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        parts = field.message_type.fields_by_name
        for _ in range(draw(st.integers(0, 2))):
            key = draw(_scalars(parts["key"]))
            if parts["value"].message_type is not None:
                _fill(draw, get()[key], depth - 1)
            else:
                get()[key] = draw(_scalars(parts["value"]))
    elif field.is_repeated:
        for _ in range(draw(st.integers(0, 2))):
            if field.message_type is not None:
                _fill(draw, get().add(), depth - 1)
            else:
                get().append(draw(_scalars(field)))
    elif field.message_type is not None:
        get().SetInParent()
        _fill(draw, get(), depth - 1)
    elif field.is_extension:
        message.Extensions[field] = draw(_scalars(field))
    else:
        setattr(message, field.name, draw(_scalars(field)))


def _scalars(field: Any) -> Any:
    if field.enum_type is not None:
        return st.sampled_from(sorted(field.enum_type.values_by_number))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return st.binary(max_size=8) if field.type == FieldDescriptor.TYPE_BYTES else TEXTS
    return SCALARS[field.cpp_type]


def _timestamp(draw: DrawFn, message: Any) -> None:
    message.seconds = draw(st.integers(-62135596800, 253402300799))
    message.nanos = draw(st.integers(0, 999_999)) * 1000


def _any(draw: DrawFn, message: Any) -> None:
    if draw(st.booleans()):
        message.type_url = "type.googleapis.com/nobody.Knows"
        message.value = draw(st.binary(max_size=5))


def _struct(draw: DrawFn, message: Any) -> None:
    message.update({draw(TEXTS): draw(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False))})
    if draw(st.booleans()):
        message["inner"] = {"list": [1, draw(TEXTS), None, {}]}


SPECIAL = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Any": _any,
    "google.protobuf.Struct": _struct,
}
