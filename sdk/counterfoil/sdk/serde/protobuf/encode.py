"""Encoders: functions from a message, or a dict, to bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isinf
from operator import index as as_index
from typing import Final, NoReturn, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import EncodeError as RuntimeEncodeError
from google.protobuf.message import Message

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, AnyField, AnyMessage, MessageClass, is_map
from counterfoil.sdk.errors import EncodeError
from counterfoil.sdk.serde import misfit, placed
from counterfoil.sdk.serde.codec import is_rounded
from counterfoil.sdk.serde.protobuf.message_types import NAME_BY_TYPE, class_of
from counterfoil.sdk.serde.protobuf.well_known import ANY, CONVERSION_BY_NAME, NULLABLE, WRAPPERS

# Messages filled from dicts, with the place of a value that does not fit.
#
# Keys are the names of fields, or their JSON names, or ``[full.name]`` for an extension. None leaves a field unset.

Fill: TypeAlias = "Callable[[Datum, Datum], None]"
"""Fills a message from a value. Raises ``EncodeError`` with the path inside the message."""
Check: TypeAlias = "Callable[[Datum], Datum]"
"""Returns the value for a scalar field. Raises ``EncodeError``; the runtime may refuse the value still."""

_TYPE_URL: Final = "@type"
_URL_PREFIX: Final = "type.googleapis.com/"
_INTEGERS: Final = frozenset(
    (
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    )
)


_REAL_SIZE: Final = {FieldDescriptor.CPPTYPE_FLOAT: 4, FieldDescriptor.CPPTYPE_DOUBLE: 8}


class DictWriter:
    """Fills messages of one pool. The functions are built once per message type.

    ``exact`` refuses numbers that a float or double would have only rounded.
    """

    def __init__(self, *, exact: bool = True) -> None:
        self._is_exact = exact
        self._fills: dict[str, Fill] = {}

    def fill(self, descriptor: AnyDescriptor) -> Fill:
        """Return the function that fills messages of the type."""
        found = self._fills.get(descriptor.full_name)
        return found if found is not None else self._fills.setdefault(descriptor.full_name, self._build(descriptor))

    def _build(self, descriptor: AnyDescriptor) -> Fill:
        from_fields = self._from_fields(descriptor)
        convert = self._conversion(descriptor)
        class_ = class_of(descriptor)
        expected = _expected(descriptor)

        def fill(message: AnyMessage, value: object) -> None:
            if value.__class__ is class_:
                message.CopyFrom(value)
            elif isinstance(value, Message) and value.DESCRIPTOR.full_name == descriptor.full_name:  # of another pool
                message.MergeFromString(value.SerializePartialToString())
                message.SetInParent()
            elif convert is not None and _converted(convert, message, value):
                pass
            elif isinstance(value, Mapping):
                from_fields(message, value)
            else:
                raise misfit(expected, value)

        return fill

    def _conversion(self, descriptor: AnyDescriptor) -> Callable[[AnyMessage, Datum], bool] | None:
        if descriptor.full_name in WRAPPERS:
            check = self._check_of(descriptor.fields_by_name["value"])

            def wrap(message: AnyMessage, value: object) -> bool:
                if isinstance(value, Mapping):
                    return False
                message.value = check(value)
                message.SetInParent()
                return True

            return wrap
        if descriptor.full_name == ANY:
            return self._fill_any
        known = CONVERSION_BY_NAME.get(descriptor.full_name)
        return None if known is None else known.write

    def _from_fields(self, descriptor: AnyDescriptor) -> Callable[[AnyMessage, Mapping[Datum, Datum]], None]:
        puts: dict[object, Fill] = {}
        union_by_key: dict[object, str] = {}
        for field in descriptor.fields:
            put = self._put(field)
            for key in (field.json_name, field.name):
                puts[key] = put
                if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
                    union_by_key[key] = field.containing_oneof.name

        def fill(message: AnyMessage, value: Mapping[object, object]) -> None:
            message.SetInParent()
            chosen: dict[str, Datum] = {}
            for key, item in value.items():
                put = puts.get(key) or self._put_extension(descriptor, key, puts)
                try:
                    put(message, item)
                except EncodeError as error:
                    raise placed(error, str(key)) from None
                if key in union_by_key and item is not None:
                    other = chosen.setdefault(union_by_key[key], key)
                    if other != key:
                        expected = f"one field of the oneof {union_by_key[key]}"
                        raise EncodeError(
                            f"expected {expected}; got {other} and {key}", expected=expected, got=f"{other} and {key}"
                        )

        return fill

    def _put_extension(self, descriptor: AnyDescriptor, key: object, puts: dict[object, Fill]) -> Fill:
        if isinstance(key, str) and key.startswith("[") and key.endswith("]"):
            try:
                field = descriptor.file.pool.FindExtensionByName(key[1:-1])
            except KeyError:
                field = None
            if field is not None and field.containing_type.full_name == descriptor.full_name:
                return puts.setdefault(key, self._put(field))
        names = ", ".join(field.name for field in descriptor.fields)
        expected = (
            f"a field of {descriptor.full_name}: {names}" if names else f"no field: {descriptor.full_name} has none"
        )
        raise EncodeError(f"{key!r}: expected {expected}", path=str(key), expected=expected, got=repr(key))

    def _put(self, field: AnyField) -> Fill:
        if is_map(field):
            return self._put_map(field)
        if field.is_repeated:
            return self._put_items(field)
        get = _getter(field)
        if field.message_type is not None:
            is_nullable = field.message_type.full_name == NULLABLE

            def put_message(message: AnyMessage, value: object) -> None:
                if value is not None or is_nullable:
                    self.fill(field.message_type)(get(message), value)

            return put_message
        check, assign = self._check_of(field), _setter(field)

        def put(message: AnyMessage, value: object) -> None:
            if value is None:
                return
            checked = check(value)
            try:
                assign(message, checked)
            except (TypeError, ValueError) as error:
                raise misfit(_described(field), value) from error

        return put

    def _put_items(self, field: AnyField) -> Fill:
        get, check = _getter(field), self._check_of(field)

        def put(message: AnyMessage, value: object) -> None:
            if value is None:
                return
            if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
                raise misfit(f"a list of {_described(field)}", value)
            items = get(message)
            for index, item in enumerate(value):
                try:
                    if field.message_type is not None:
                        self.fill(field.message_type)(items.add(), item)
                    else:
                        items.append(check(item))
                except EncodeError as error:
                    raise placed(error, f"[{index}]") from None
                except (TypeError, ValueError):
                    raise placed(misfit(_described(field), item), f"[{index}]") from None

        return put

    def _put_map(self, field: AnyField) -> Fill:
        get = _getter(field)
        parts = field.message_type.fields_by_name
        key_field, value_field = parts["key"], parts["value"]
        check_key, check_value = self._check_of(key_field), self._check_of(value_field)

        def put(message: AnyMessage, value: object) -> None:
            if value is None:
                return
            if not isinstance(value, Mapping):
                raise misfit("a dict", value)
            entries = get(message)
            for key, item in value.items():
                try:
                    if value_field.message_type is not None:
                        self.fill(value_field.message_type)(_entry(entries, check_key(key), key, key_field), item)
                    else:
                        entries[check_key(key)] = check_value(item)
                except EncodeError as error:
                    raise placed(error, f"[{key!r}]") from None
                except (TypeError, ValueError):
                    expected = f"{_described(value_field)} at a key of {_described(key_field)}"
                    raise placed(misfit(expected, item), f"[{key!r}]") from None

        return put

    def _check_of(self, field: AnyField) -> Check:
        check = _check_of(field)
        if not self._is_exact or field.cpp_type not in _REAL_SIZE:
            return check
        size = _REAL_SIZE[field.cpp_type]

        def check_exactly(value: object) -> float:
            number: float = check(value)
            if value.__class__ is not float and is_rounded(value, size):
                raise misfit(f"{_described(field)} without rounding; allow_rounding=True rounds it", value)
            return number

        return check_exactly

    def _fill_any(self, message: AnyMessage, value: object) -> bool:
        if isinstance(value, Message):
            message.type_url = f"{_URL_PREFIX}{value.DESCRIPTOR.full_name}"
            message.value = value.SerializeToString(deterministic=True)
            return True
        if not isinstance(value, Mapping) or _TYPE_URL not in value:
            return False
        url, rest = value[_TYPE_URL], {key: item for key, item in value.items() if key != _TYPE_URL}
        inner = _packed_type(message, url)
        if inner is None:
            if not isinstance(url, str) or rest.keys() != {"value"} or not isinstance(rest["value"], bytes):
                raise placed(misfit("the URL of a message type that the schema knows", url), _TYPE_URL)
            message.type_url, message.value = url, rest["value"]
            return True
        content = class_of(inner)()
        convert = self._conversion(inner)
        self.fill(inner)(content, rest["value"] if convert is not None and rest.keys() == {"value"} else rest)
        message.type_url = url
        message.value = content.SerializeToString(deterministic=True)
        return True


def _expected(descriptor: AnyDescriptor) -> str:
    known = CONVERSION_BY_NAME.get(descriptor.full_name)
    return f"a dict or a message of {descriptor.full_name}" if known is None else known.expected


def _converted(convert: Callable[[AnyMessage, Datum], bool], message: AnyMessage, value: object) -> bool:
    try:
        return convert(message, value)
    except (TypeError, ValueError, OverflowError) as error:
        raise misfit(f"a value of {message.DESCRIPTOR.full_name} ({error})", value) from error


def _packed_type(message: AnyMessage, url: object) -> AnyDescriptor | None:
    try:
        return message.DESCRIPTOR.file.pool.FindMessageTypeByName(str(url).rpartition("/")[2])
    except KeyError:
        return None


def _entry(entries: Datum, checked: Datum, key: object, field: AnyField) -> AnyMessage:
    try:
        return entries[checked]
    except (TypeError, ValueError):
        raise misfit(f"a key of {_described(field)}", key) from None


def _getter(field: AnyField) -> Callable[[AnyMessage], Datum]:
    name = field.name
    if field.is_extension:
        return lambda message: message.Extensions[field]
    return lambda message: getattr(message, name)


def _setter(field: AnyField) -> Callable[[AnyMessage, Datum], None]:
    name = field.name
    if field.is_extension:
        return lambda message, value: message.Extensions.__setitem__(field, value)
    return lambda message, value: setattr(message, name, value)


def _check_of(field: AnyField) -> Check:
    """Return the check of a scalar's value, which refuses values that the runtime would convert."""
    kind = field.cpp_type
    if kind in _INTEGERS:
        return lambda value: value if value.__class__ is int else _whole_number(field, value)
    if kind in _REAL_SIZE:
        return lambda value: _number(field, value)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return lambda value: _enum_number(field, value)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return lambda value: _of_class(field, value, bool)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return lambda value: (
            bytes(value) if isinstance(value, (bytearray, memoryview)) else _of_class(field, value, bytes)
        )
    return lambda value: _of_class(field, value, str)


def _of_class(field: AnyField, value: object, class_: type) -> Datum:
    if isinstance(value, class_):
        return value
    raise misfit(_described(field), value)


def _whole_number(field: AnyField, value: Datum) -> int:
    if isinstance(value, bool):
        raise misfit(_described(field), value)
    try:
        return as_index(value)
    except TypeError:
        raise misfit(_described(field), value) from None


def _number(field: AnyField, value: Datum) -> float:
    try:
        if isinstance(value, (bool, str, bytes)):
            raise misfit(_described(field), value)
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise misfit(_described(field), value) from None
    is_single = field.cpp_type == FieldDescriptor.CPPTYPE_FLOAT
    if is_single and abs(number) >= _TOO_LARGE_FOR_FLOAT and not isinf(number):
        raise misfit(_described(field), value)
    return number


_TOO_LARGE_FOR_FLOAT: Final = 2.0**128 - 2.0**103
"""The smallest number that is rounded to an infinite float of 32 bits."""


def _enum_number(field: AnyField, value: object) -> int:
    if isinstance(value, str):
        # Names of symbols are ASCII; Google's runtime ends with a SystemError for texts that UTF-8 cannot have.
        found = field.enum_type.values_by_name.get(value) if value.isascii() else None
        if found is None:
            raise misfit(_described(field), value)
        return int(found.number)
    number = _whole_number(field, value)
    if field.enum_type.is_closed and number not in field.enum_type.values_by_number:
        raise misfit(_described(field), value)
    return number


def _described(field: AnyField) -> str:
    if field.enum_type is not None:
        return f"a symbol of {field.enum_type.full_name}: {', '.join(list(field.enum_type.values_by_name)[:10])}"
    if field.message_type is not None:
        return f"a message of {field.message_type.full_name}"
    return NAME_BY_TYPE[field.type]


# Encoders for one schema.


def compile_encoder(
    descriptor: AnyDescriptor, class_: MessageClass | None = None, *, exact: bool = True
) -> Callable[..., bytes]:
    """Return a function ``(value, prefix)`` that returns the prefix and the bytes of a message.

    Values are messages of ``class_`` (by default the class of the descriptor), other messages of the same full name,
    and mappings from field names to values; with ``exact`` a number in these that would be rounded is an error. Raises
    ``EncodeError`` with path, expected and got.
    """
    class_ = class_of(descriptor) if class_ is None else class_
    serialize: Callable[[Datum], bytes] = class_.SerializeToString
    build = _builder(descriptor, class_, DictWriter(exact=exact))

    def encode(value: object, prefix: bytes = b"", /) -> bytes:
        message = value if type(value) is class_ else build(value)  # slower: value.__class__, which may be a field
        try:
            return prefix + serialize(message)
        except (RuntimeEncodeError, ValueError, TypeError) as error:
            _refuse(message, error)

    return encode


def _builder(descriptor: AnyDescriptor, class_: MessageClass, writer: DictWriter) -> Callable[[Datum], AnyMessage]:
    name = descriptor.full_name
    fill = writer.fill(class_.DESCRIPTOR)

    def build(value: object) -> AnyMessage:
        if isinstance(value, class_):
            return value
        if not isinstance(value, Mapping) and not _is_named(value, name):
            raise _in_words(misfit(f"a message of {name}, or a dict", value))
        message = class_()
        try:
            fill(message, value)
        except EncodeError as error:
            raise _in_words(error) from error.__cause__
        except RecursionError:
            raise EncodeError("The value is nested too deep: it may contain itself") from None
        return message

    return build


def _is_named(value: object, full_name: str) -> bool:
    return isinstance(value, Message) and value.DESCRIPTOR.full_name == full_name


def _in_words(error: EncodeError) -> EncodeError:
    error.problem = f"{error.path or 'The value'}: {error.problem}"
    return error


def _refuse(message: AnyMessage, error: Exception) -> NoReturn:
    missing = message.FindInitializationErrors()
    if missing:
        lacking = EncodeError("expected a value, since the field is required; got none", expected="a value", got="none")
        raise _in_words(placed(lacking, missing[0])) from error
    raise EncodeError(f"The message cannot be written: {error}") from error
