"""Printing of a syntax tree in one layout without comments, as registries store it.

Comments and empty statements are not written. An empty line inside a message has the indentation of the message.

Source: texts recorded from Confluent Schema Registry 8.5.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.read.ast import (
    MAX_TAG,
    SPECIAL_OPTIONS,
    Aggregate,
    Entry,
    ImportKind,
    ListValue,
    Option,
    Range,
    Scalar,
    ValueKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import (
        Enum,
        EnumConstant,
        Extend,
        ExtensionRange,
        Field,
        Message,
        OneOf,
        OptionValue,
        ProtoFile,
        Reserved,
        Rpc,
        Service,
    )

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


def print_option(option: Option) -> str:
    """Return ``name = value``, in several lines for a value in braces or brackets."""
    return f"{option.name} = {_value(option.value)}"


def spelled_options(field: Field) -> Sequence[Option]:
    """Return the options of a field, its default with the kind of literal that the field's type has.

    The default is in quotes for a string, and for any other type if it is more than one word; a JSON name is in quotes.
    """
    return [_spelled(option, field) if option.name in SPECIAL_OPTIONS else option for option in field.options]


def merged_entries(aggregate: Aggregate) -> Sequence[Entry]:
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
        first[name] if counts[name] == 1 else Entry(name, ListValue(tuple(items))) for name, items in values.items()
    ]


def escape(text: str) -> str:
    """Return the content of a string for the text between quotes; bytes that are not UTF-8 as octal escapes."""
    return _ESCAPED.sub(_escape_one, text)


def _escape_one(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _ESCAPES.get(character) or f"\\{code - _SURROGATE_BASE if code >= _SURROGATE_BASE else code:03o}"


def _spelled(option: Option, field: Field) -> Option:
    if not isinstance(option.value, Scalar):
        return option
    kind = ValueKind.STRING
    if option.name != "json_name" and _WORD.fullmatch(option.value.text) is not None:
        kind = _DEFAULT_KINDS.get(field.type.rpartition(".")[2], ValueKind.WORD)
    return Option(option.name, Scalar(kind, option.value.text), option.position, option.pointer)


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


def _message(message: Message, indent: str) -> str:
    visibility = f"{message.visibility} " if message.visibility else ""
    return f"{indent}{visibility}message {message.name} {_body(message, indent)}\n"


def _body(message: Message, indent: str) -> str:
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


def _field(field: Field, indent: str) -> str:
    label = f"{field.label.value} " if field.label is not None else ""
    options = field.options and _options(spelled_options(field), indent)
    return f"{indent}{label}{field.type} {field.name} = {field.number}{options or ''};\n"


def _group(field: Field, indent: str) -> str:
    label = f"{field.label.value} " if field.label is not None else ""
    options = field.options and _options(spelled_options(field), indent)
    body = "{}" if field.group is None else _body(field.group, indent)
    return f"{indent}{label}group {field.name} = {field.number}{options or ''} {body}\n"


def _oneof(oneof: OneOf, indent: str) -> str:
    inner = indent + _STEP
    sections = (
        [_option_line(each, inner) for each in oneof.options],
        [_field(each, inner) for each in oneof.fields if each.group is None],
        [_group(each, inner) for each in oneof.fields if each.group is not None],
    )
    return f"{indent}oneof {oneof.name} {_braced(sections, indent)}\n"


def _enum(enum: Enum, indent: str) -> str:
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


def _option_line(option: Option, indent: str) -> str:
    return f"{indent}option {_indented(print_option(option), indent)};\n"


def _options(options: Sequence[Option], indent: str) -> str:
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
    if isinstance(value, Scalar):
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


def _range(value: int | Range) -> str:
    if not isinstance(value, Range):
        return str(value)
    is_max = value.is_max or value.end == MAX_TAG
    return f"{value.start} to {'max' if is_max else value.end}"
