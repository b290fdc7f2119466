"""The texts of a Protobuf schema: a syntax tree in one layout without comments, and the tree of the normalised text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from counterfoil.schema.languages.protobuf.read.symbols import SCALARS, SymbolTable
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    MAX_TAG,
    SPECIAL_OPTIONS,
    Aggregate,
    AggregateEntry,
    EnumConstant,
    Extend,
    ExtensionRange,
    ImportKind,
    ListValue,
    OptionValue,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoMapType,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ProtoRange,
    Reserved,
    Rpc,
    ScalarLiteral,
    Service,
    ValueKind,
    bounds,
    merge_options,
)
from counterfoil.schema.languages.protobuf.read.tokens import parse_int

# Printing of a syntax tree in one layout without comments, as registries store it.
#
# Comments and empty statements are not written. An empty line inside a message has the indentation of the message.
#
# Source: texts recorded from Confluent Schema Registry 8.5.

_STEP: Final = "  "
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WORD: Final = re.compile(r"[A-Za-z0-9_.+\-]+")
_ESCAPED: Final = re.compile('[\\\\"\x00-\x1f\x7f\udc80-\udcff]')
_SURROGATE_BASE: Final = 0xDC00
_DEFAULT_KINDS: Final = {
    "bool": ValueKind.BOOLEAN,
    "string": ValueKind.STRING,
    **dict.fromkeys(
        (
            *("bytes", "double", "float", "fixed32", "fixed64", "int32", "int64"),
            *("sfixed32", "sfixed64", "sint32", "sint64", "uint32", "uint64"),
        ),
        ValueKind.NUMBER,
    ),
}


def print_file(file: ProtoFile) -> str:
    """Return the canonical text of a file; it ends with one line end."""
    sections: list[list[str]] = [
        _head(file),
        list(_imports(file)),
        [f"option {text};\n" for text in map(print_option, file.options)],
        [*(_message(each, "") for each in file.messages), *(_enum(each, "") for each in file.enums)],
        [_extend(each, "") for each in file.extends],
        [_service(each) for each in file.services],
    ]
    head, *others = ("".join(section) for section in sections)
    return "\n".join((head, *(section for section in others if section)))


def print_option(option: ProtoOption) -> str:
    """Return ``name = value``, in several lines for a value in braces or brackets."""
    return f"{option.name} = {_value(option.value)}"


def spelled_options(field: ProtoField) -> Sequence[ProtoOption]:
    """Return the options of a field, its default with the kind of literal that the field's type has.

    The default is in quotes for a string, and for any other type if it is more than one word; a JSON name is in quotes.
    """
    return [_spelled(option, field) if option.name in SPECIAL_OPTIONS else option for option in field.options]


def merged_entries(aggregate: Aggregate) -> Sequence[AggregateEntry]:
    """Return the entries of a value in braces, those of one name as one list at the place of the first."""
    entries = aggregate.entries
    if len({entry.name for entry in entries}) == len(entries):
        return entries
    values: dict[str, list[OptionValue]] = {}
    for entry in entries:
        items = entry.value.items if isinstance(entry.value, ListValue) else (entry.value,)
        values.setdefault(entry.name, []).extend(items)
    counts = Counter(entry.name for entry in entries)
    first = {entry.name: entry for entry in reversed(entries)}
    return [
        first[name] if counts[name] == 1 else AggregateEntry(name, ListValue(tuple(items)))
        for name, items in values.items()
    ]


def escape(text: str) -> str:
    """Return the content of a string for the text between quotes; bytes that are not UTF-8 as octal escapes."""
    return _ESCAPED.sub(_escape_one, text)


def _escape_one(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _ESCAPES.get(character) or f"\\{code - _SURROGATE_BASE if code >= _SURROGATE_BASE else code:03o}"


def _spelled(option: ProtoOption, field: ProtoField) -> ProtoOption:
    if not isinstance(option.value, ScalarLiteral):
        return option
    kind = ValueKind.STRING
    if option.name != "json_name" and _WORD.fullmatch(option.value.text) is not None:
        kind = _DEFAULT_KINDS.get(field.type.rpartition(".")[2], ValueKind.WORD)
    return ProtoOption(option.name, ScalarLiteral(kind, option.value.text), option.position, option.pointer)


def _head(file: ProtoFile) -> list[str]:
    lines = []
    if file.edition:
        lines.append(f'edition = "{file.edition}";\n')
    elif file.syntax:
        lines.append(f'syntax = "{file.syntax}";\n')
    if file.package:
        lines.append(f"package {file.package};\n")
    return lines


def _imports(file: ProtoFile) -> Iterator[str]:
    for kind in (ImportKind.PLAIN, ImportKind.PUBLIC, ImportKind.WEAK, ImportKind.OPTION):
        word = f"{kind.value} " if kind.value else ""
        for item in file.imports:
            if item.kind is kind:
                yield f'import {word}"{escape(item.path)}";\n'


def _message(message: ProtoMessage, indent: str) -> str:
    visibility = f"{message.visibility} " if message.visibility else ""
    return f"{indent}{visibility}message {message.name} {_body(message, indent)}\n"


def _body(message: ProtoMessage, indent: str) -> str:
    """Return the body of a message with its braces; the opening brace is not indented."""
    inner = indent + _STEP
    groups = [field for field in message.fields if field.group is not None]
    plain = [field for field in message.fields if field.group is None] if groups else message.fields
    sections = (
        [_reserved(each, inner) for each in message.reserved],
        [_option_line(each, inner) for each in message.options],
        [_field(each, inner) for each in plain],
        [_oneof(each, inner) for each in message.oneofs],
        [_group(each, inner) for each in groups],
        [_extensions(each, inner) for each in message.extensions],
        [*(_message(each, inner) for each in message.messages), *(_enum(each, inner) for each in message.enums)],
        [_extend(each, inner) for each in message.extends],
    )
    return _braced(sections, indent)


def _braced(sections: Iterable[Sequence[str]], indent: str) -> str:
    content = f"{indent}\n".join("".join(section) for section in sections if section)
    return f"{{\n{content}{indent}}}" if content else "{}"


def _field(field: ProtoField, indent: str) -> str:
    label = f"{field.label.value} " if field.label is not None else ""
    options = field.options and _options(spelled_options(field), indent)
    return f"{indent}{label}{field.type} {field.name} = {field.number}{options or ''};\n"


def _group(field: ProtoField, indent: str) -> str:
    label = f"{field.label.value} " if field.label is not None else ""
    options = field.options and _options(spelled_options(field), indent)
    body = "{}" if field.group is None else _body(field.group, indent)
    return f"{indent}{label}group {field.name} = {field.number}{options or ''} {body}\n"


def _oneof(oneof: ProtoOneOf, indent: str) -> str:
    inner = indent + _STEP
    sections = (
        [_option_line(each, inner) for each in oneof.options],
        [_field(each, inner) for each in oneof.fields if each.group is None],
        [_group(each, inner) for each in oneof.fields if each.group is not None],
    )
    return f"{indent}oneof {oneof.name} {_braced(sections, indent)}\n"


def _enum(enum: ProtoEnum, indent: str) -> str:
    inner = indent + _STEP
    lines = [
        *(_reserved(each, inner) for each in enum.reserved),
        *(_option_line(each, inner) for each in enum.options),
        *(_constant(each, inner) for each in enum.constants),
    ]
    visibility = f"{enum.visibility} " if enum.visibility else ""
    return f"{indent}{visibility}enum {enum.name} {_braced([lines], indent)}\n"


def _constant(constant: EnumConstant, indent: str) -> str:
    options = constant.options and _options(constant.options, indent)
    return f"{indent}{constant.name} = {constant.number}{options or ''};\n"


def _extend(extend: Extend, indent: str) -> str:
    inner = indent + _STEP
    fields = [_field(each, inner) if each.group is None else _group(each, inner) for each in extend.fields]
    return f"{indent}extend {extend.extendee} {_braced([fields], indent)}\n"


def _service(service: Service) -> str:
    sections = (
        [_option_line(each, _STEP) for each in service.options],
        [_rpc(each, _STEP) for each in service.rpcs],
    )
    return f"service {service.name} {_braced(sections, '')}\n"


def _rpc(rpc: Rpc, indent: str) -> str:
    request = f"stream {rpc.request}" if rpc.request_streaming else rpc.request
    response = f"stream {rpc.response}" if rpc.response_streaming else rpc.response
    options = "".join(_option_line(each, indent + _STEP) for each in rpc.options)
    body = f" {{\n{options}{indent}}}" if options else ""
    return f"{indent}rpc {rpc.name} ({request}) returns ({response}){body};\n"


def _option_line(option: ProtoOption, indent: str) -> str:
    return f"{indent}option {_indented(print_option(option), indent)};\n"


def _options(options: Sequence[ProtoOption], indent: str) -> str:
    """Return the options in brackets after a space: one option in the same line, several in lines of their own."""
    texts = [print_option(option) for option in options]
    if len(texts) == 1:
        return f" [{_indented(texts[0], indent)}]"
    inner = indent + _STEP
    lines = ",\n".join(inner + _indented(text, inner) for text in texts)
    return f" [\n{lines}\n{indent}]"


def _indented(text: str, indent: str) -> str:
    return text.replace("\n", "\n" + indent) if "\n" in text else text


def _value(value: OptionValue) -> str:
    if isinstance(value, ScalarLiteral):
        return f'"{escape(value.text)}"' if value.kind is ValueKind.STRING else value.text
    if isinstance(value, Aggregate):
        return _lines("{", [f"{entry.name}: {_value(entry.value)}" for entry in merged_entries(value)], "}")
    return _lines("[", [_value(item) for item in value.items], "]")


def _lines(start: str, items: list[str], end: str) -> str:
    content = ",\n".join(_STEP + _indented(item, _STEP) for item in items)
    return f"{start}\n{content}\n{end}" if items else f"{start}\n{end}"


def _reserved(reserved: Reserved, indent: str) -> str:
    quote = "" if reserved.has_bare_names else '"'
    values = ", ".join(
        f"{quote}{escape(each)}{quote}" if isinstance(each, str) else _range(each) for each in reserved.values
    )
    return f"{indent}reserved {values};\n"


def _extensions(extensions: ExtensionRange, indent: str) -> str:
    values = ", ".join(map(_range, extensions.values))
    options = extensions.options and _options(extensions.options, indent)
    return f"{indent}extensions {values}{options or ''};\n"


def _range(value: int | ProtoRange) -> str:
    if not isinstance(value, ProtoRange):
        return str(value)
    is_max = value.is_max or value.end == MAX_TAG
    return f"{value.start} to {'max' if is_max else value.end}"


# The tree of the normalised text: full type names, and a fixed order of elements whose order has no meaning.
#
# Messages, enums, services, methods and extend blocks keep their order: message indexes depend on that of messages.
#
# Source: texts recorded from Confluent Schema Registry 8.5 with ``normalize=true``.

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

    def _message(self, message: ProtoMessage, scope: str) -> ProtoMessage:
        oneofs = [self._oneof(each, scope) for each in message.oneofs if each.fields]
        return replace(
            message,
            fields=self._fields(message.fields, scope),
            oneofs=tuple(sorted(oneofs, key=lambda oneof: oneof.fields[0].number)),
            messages=tuple(self._message(each, f"{scope}.{each.name}") for each in message.messages),
            enums=tuple(self._enum(each, scope) for each in message.enums),
            extends=tuple(self._extend(each, scope) for each in message.extends),
            options=self._options(message.options, scope),
            reserved=_normal_reserved(message.reserved),
            extensions=self._extensions(message.extensions, scope),
        )

    def _oneof(self, oneof: ProtoOneOf, scope: str) -> ProtoOneOf:
        return replace(oneof, fields=self._fields(oneof.fields, scope), options=self._options(oneof.options, scope))

    def _fields(self, fields: Iterable[ProtoField], scope: str) -> tuple[ProtoField, ...]:
        return tuple(sorted((self._field(each, scope) for each in fields), key=lambda field: field.number))

    def _field(self, field: ProtoField, scope: str) -> ProtoField:
        if field.type in SCALARS and not field.options:
            return field
        group = None if field.group is None else self._message(field.group, f"{scope}.{field.name}".lstrip("."))
        options = self._options(map(partial(_with_plain_default, field), spelled_options(field)), scope)
        map_type = field.map
        if map_type is None:
            return replace(field, type=self._symbols.absolute(field.type, scope), options=options, group=group)
        key, value = self._symbols.absolute(map_type.key, scope), self._symbols.absolute(map_type.value, scope)
        return replace(field, type=f"map<{key}, {value}>", map=ProtoMapType(key, value), options=options)

    def _enum(self, enum: ProtoEnum, scope: str) -> ProtoEnum:
        constants = [replace(each, options=self._options(each.options, scope)) for each in enum.constants]
        return replace(
            enum,
            constants=tuple(sorted(constants, key=lambda constant: (constant.number, constant.name))),
            options=self._options(enum.options, scope),
            reserved=_normal_reserved(enum.reserved),
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

    def _options(self, options: Iterable[ProtoOption], scope: str) -> tuple[ProtoOption, ...]:
        plain = (
            replace(option, name=self._option_name(option.name, scope), value=_option_value(option))
            for option in options
        )
        merged = (replace(option, value=_normal_value(option.value)) for option in merge_options(plain))
        return tuple(sorted(merged, key=lambda option: option.name.lstrip("(")))

    def _option_name(self, name: str, scope: str) -> str:
        """Return the option's name with the full name of its extension, without a leading dot."""
        if not name.startswith("("):
            return name
        extension, _, rest = name[1:].partition(")")
        found = self._symbols.resolve_extension(extension, scope)
        return name if found is None else f"({found}){rest}"


def _option_value(option: ProtoOption) -> OptionValue:
    value = _normal_value(option.value)
    is_zero = isinstance(value, ScalarLiteral) and value.text == "-0" and option.name != _DEFAULT
    return ScalarLiteral(ValueKind.NUMBER, "0") if is_zero else value


def _normal_value(value: OptionValue) -> OptionValue:
    """Return the value with numbers in normal form, entries sorted by name, and lists of one item without brackets."""
    if isinstance(value, ScalarLiteral):
        return ScalarLiteral(value.kind, _number(value.text)) if value.kind is ValueKind.NUMBER else value
    if isinstance(value, Aggregate):
        entries = (AggregateEntry(entry.name, _normal_value(entry.value)) for entry in merged_entries(value))
        return Aggregate(tuple(sorted(entries, key=lambda entry: entry.name)))
    items = tuple(_normal_value(item) for item in value.items)
    return items[0] if len(items) == 1 else ListValue(items)


def _with_plain_default(field: ProtoField, option: ProtoOption) -> ProtoOption:
    """Return the option; a default that is a negative zero in the normal form of its type."""
    value = option.value
    if option.name != _DEFAULT or not isinstance(value, ScalarLiteral) or _number(value.text) not in _NEGATIVE_ZEROS:
        return option
    return replace(option, value=ScalarLiteral(value.kind, "-0" if field.type in _FLOATS else "0"))


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


def _normal_reserved(statements: Iterable[Reserved]) -> tuple[Reserved, ...]:
    """Return one statement per value: numbers first, by their start, then names."""
    values = [(value, statement) for statement in statements for value in statement.values]
    values.sort(key=lambda pair: _reserved_key(pair[0]))
    return tuple(replace(statement, values=(value,)) for value, statement in values)


def _reserved_key(value: int | ProtoRange | str) -> tuple[bool, int, int, str]:
    if isinstance(value, str):
        return True, 0, 0, value
    return False, *bounds(value), ""
