"""The tree of the normalised text: full type names, and a fixed order of elements whose order has no meaning.

Messages, enums, services, methods and extend blocks keep their order: message indexes depend on that of messages.

Source: texts recorded from Confluent Schema Registry 8.5 with ``normalize=true``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.print.merged_options import merge_options
from counterfoil.schema.formats.protobuf.print.printing import merged_entries, spelled_options
from counterfoil.schema.formats.protobuf.read.ast import (
    Aggregate,
    Entry,
    ListValue,
    MapType,
    Option,
    Range,
    Reserved,
    Scalar,
    ValueKind,
    bounds,
)
from counterfoil.schema.formats.protobuf.read.literals import parse_int
from counterfoil.schema.formats.protobuf.read.symbols import SCALARS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.formats.protobuf.read.ast import (
        Enum,
        Extend,
        ExtensionRange,
        Field,
        Message,
        OneOf,
        OptionValue,
        ProtoFile,
        Service,
    )
    from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable

_EXACT_INTEGERS: Final = 2**63
_DEFAULT: Final = "default"
_FLOATS: Final = ("float", "double")
_NEGATIVE_ZEROS: Final = ("-0", "-0.0")


def normalize_file(file: ProtoFile, symbols: SymbolTable) -> ProtoFile:
    """Return the tree whose canonical text is the normalised text of ``file``."""
    return _Normalizer(file, symbols).file()


class _Normalizer:
    """The normalisation of one file."""

    def __init__(self, file: ProtoFile, symbols: SymbolTable) -> None:
        self._file = file
        self._symbols = symbols

    def file(self) -> ProtoFile:
        file = self._file
        scope = file.package
        prefix = file.package_prefix
        return replace(
            file,
            syntax=None if file.syntax == "proto2" else file.syntax,
            imports=tuple(sorted(file.imports, key=lambda item: item.path)),
            options=self._options(file.options, scope),
            messages=tuple(self._message(each, prefix + each.name) for each in file.messages),
            enums=tuple(self._enum(each, scope) for each in file.enums),
            extends=tuple(self._extend(each, scope) for each in file.extends),
            services=tuple(self._service(each, scope) for each in file.services),
        )

    def _message(self, message: Message, scope: str) -> Message:
        oneofs = [self._oneof(each, scope) for each in message.oneofs if each.fields]
        return replace(
            message,
            fields=self._fields(message.fields, scope),
            oneofs=tuple(sorted(oneofs, key=lambda oneof: oneof.fields[0].number)),
            messages=tuple(self._message(each, f"{scope}.{each.name}") for each in message.messages),
            enums=tuple(self._enum(each, scope) for each in message.enums),
            extends=tuple(self._extend(each, scope) for each in message.extends),
            options=self._options(message.options, scope),
            reserved=_reserved(message.reserved),
            extensions=self._extensions(message.extensions, scope),
        )

    def _oneof(self, oneof: OneOf, scope: str) -> OneOf:
        return replace(oneof, fields=self._fields(oneof.fields, scope), options=self._options(oneof.options, scope))

    def _fields(self, fields: Iterable[Field], scope: str) -> tuple[Field, ...]:
        return tuple(sorted((self._field(each, scope) for each in fields), key=lambda field: field.number))

    def _field(self, field: Field, scope: str) -> Field:
        if field.type in SCALARS and not field.options:
            return field
        group = None if field.group is None else self._message(field.group, f"{scope}.{field.name}".lstrip("."))
        options = self._options(map(partial(_with_plain_default, field), spelled_options(field)), scope)
        map_type = field.map
        if map_type is None:
            return replace(field, type=self._symbols.absolute(field.type, scope), options=options, group=group)
        key, value = self._symbols.absolute(map_type.key, scope), self._symbols.absolute(map_type.value, scope)
        return replace(field, type=f"map<{key}, {value}>", map=MapType(key, value), options=options)

    def _enum(self, enum: Enum, scope: str) -> Enum:
        constants = [replace(each, options=self._options(each.options, scope)) for each in enum.constants]
        return replace(
            enum,
            constants=tuple(sorted(constants, key=lambda constant: (constant.number, constant.name))),
            options=self._options(enum.options, scope),
            reserved=_reserved(enum.reserved),
        )

    def _extensions(self, statements: Iterable[ExtensionRange], scope: str) -> tuple[ExtensionRange, ...]:
        """Return one statement per value, in the order of their starts."""
        normalized = [replace(each, options=self._options(each.options, scope)) for each in statements]
        values = [(value, statement) for statement in normalized for value in statement.values]
        values.sort(key=lambda pair: bounds(pair[0]))
        return tuple(replace(statement, values=(value,)) for value, statement in values)

    def _extend(self, extend: Extend, scope: str) -> Extend:
        return replace(
            extend, extendee=self._symbols.absolute(extend.extendee, scope), fields=self._fields(extend.fields, scope)
        )

    def _service(self, service: Service, scope: str) -> Service:
        rpcs = (
            replace(
                rpc,
                request=self._symbols.absolute(rpc.request, scope),
                response=self._symbols.absolute(rpc.response, scope),
                options=self._options(rpc.options, scope),
            )
            for rpc in service.rpcs
        )
        return replace(service, rpcs=tuple(rpcs), options=self._options(service.options, scope))

    def _options(self, options: Iterable[Option], scope: str) -> tuple[Option, ...]:
        plain = (
            replace(option, name=self._option_name(option.name, scope), value=_option_value(option))
            for option in options
        )
        merged = (replace(option, value=_value(option.value)) for option in merge_options(plain))
        return tuple(sorted(merged, key=lambda option: option.name.lstrip("(")))

    def _option_name(self, name: str, scope: str) -> str:
        """Return the option's name with the full name of its extension, without a leading dot."""
        if not name.startswith("("):
            return name
        extension, _, rest = name[1:].partition(")")
        found = self._symbols.resolve_extension(extension, scope)
        return name if found is None else f"({found}){rest}"


def _option_value(option: Option) -> OptionValue:
    value = _value(option.value)
    is_zero = isinstance(value, Scalar) and value.text == "-0" and option.name != _DEFAULT
    return Scalar(ValueKind.NUMBER, "0") if is_zero else value


def _value(value: OptionValue) -> OptionValue:
    """Return the value with numbers in normal form, entries sorted by name, and lists of one item without brackets."""
    if isinstance(value, Scalar):
        return Scalar(value.kind, _number(value.text)) if value.kind is ValueKind.NUMBER else value
    if isinstance(value, Aggregate):
        entries = (Entry(entry.name, _value(entry.value)) for entry in merged_entries(value))
        return Aggregate(tuple(sorted(entries, key=lambda entry: entry.name)))
    items = tuple(_value(item) for item in value.items)
    return items[0] if len(items) == 1 else ListValue(items)


def _with_plain_default(field: Field, option: Option) -> Option:
    """Return the option; a default that is a negative zero in the normal form of its type."""
    value = option.value
    if option.name != _DEFAULT or not isinstance(value, Scalar) or _number(value.text) not in _NEGATIVE_ZEROS:
        return option
    return replace(option, value=Scalar(value.kind, "-0" if field.type in _FLOATS else "0"))


def _number(text: str) -> str:
    """Return the normal form of a number: decimal, without an exponent or fraction if it is whole; the sign is kept.

    A negative zero keeps its fraction: as the value of an option ``-0`` is 0.
    """
    magnitude = _magnitude(text.removeprefix("-"))
    if not text.startswith("-"):
        return magnitude
    return "-0.0" if magnitude == "0" and parse_int(text) is None else f"-{magnitude}"


def _magnitude(text: str) -> str:
    whole = parse_int(text)
    if whole is not None:
        return str(whole)
    try:
        value = float(text)
    except ValueError:
        return text
    if value.is_integer() and value < _EXACT_INTEGERS:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def _reserved(statements: Iterable[Reserved]) -> tuple[Reserved, ...]:
    """Return one statement per value: numbers first, by their start, then names."""
    values = [(value, statement) for statement in statements for value in statement.values]
    values.sort(key=lambda pair: _reserved_key(pair[0]))
    return tuple(replace(statement, values=(value,)) for value, statement in values)


def _reserved_key(value: int | Range | str) -> tuple[bool, int, int, str]:
    if isinstance(value, str):
        return True, 0, 0, value
    return False, *bounds(value), ""
