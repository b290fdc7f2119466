"""Conversion of a file's options to those of descriptors: as fields, or uninterpreted if their extension is unknown.

The runtime's parser of the text format converts the values, so that enums, nested messages and extensions are the same
as for every other reader.

Source: ``google/protobuf/descriptor.proto``; the text format specification.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import UninterpretedOption
from google.protobuf.message import Error as MessageError

from counterfoil.schema.formats.protobuf.read.ast import SPECIAL_OPTIONS, Aggregate, ListValue, Scalar, ValueKind
from counterfoil.schema.formats.protobuf.read.literals import parse_int

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from google.protobuf.message import Message

    from counterfoil.schema.formats.protobuf.describe.option_messages import Described
    from counterfoil.schema.formats.protobuf.read.ast import Option, OptionValue
    from counterfoil.schema.formats.protobuf.read.symbols import SymbolTable

_PART: Final = re.compile(r"\(([^)]*)\)|([^.()]+)")
_UNSIGNED: Final = 2**64


class OptionWriter:
    """A writer of the options of one file; those that need an extension are written by :meth:`write_custom`.

    ``unknown`` are the options that could not be interpreted: no such option, or a value that does not fit.
    """

    def __init__(self, symbols: SymbolTable) -> None:
        self._symbols = symbols
        self._waiting: list[tuple[Described, Option, str]] = []
        self.unknown: list[Option] = []

    def write(self, proto: Described, options: Iterable[Option], scope: str) -> None:
        """Write ``options`` into ``proto.options``; defer those that need an extension."""
        for option in options:
            if option.name in SPECIAL_OPTIONS:
                continue
            if "(" in option.name or not _merge(proto.options, _snippet(option, None)):
                self._waiting.append((proto, option, scope))

    def write_custom(self, class_of: Callable[[str], type[Message]] | None) -> None:
        """Write the deferred options.

        ``class_of`` returns the class of an options message by full name, from a runtime with the file's extensions;
        without it, and for an unknown extension, an option is written as uninterpreted.
        """
        for proto, option, scope in self._waiting:
            snippet = _snippet(option, partial(self._symbols.resolve_extension, scope=scope))
            known = None if class_of is None or not snippet else class_of(proto.options.DESCRIPTOR.full_name)()
            if known is not None and _merge(known, snippet):
                proto.options.MergeFromString(known.SerializePartialToString())
                continue
            proto.options.uninterpreted_option.append(_uninterpreted(option))
            if known is not None or not snippet:
                self.unknown.append(option)
        self._waiting.clear()

    @property
    def has_custom(self) -> bool:
        """Whether there are deferred options."""
        return bool(self._waiting)


def _merge(message: Message, snippet: str) -> bool:
    """Merge ``snippet`` into ``message`` and return whether that succeeded; if not, the message is unchanged."""
    if not snippet:
        return False
    fresh = type(message)()
    try:
        text_format.Parse(snippet, fresh)
        message.MergeFrom(fresh)
    except (text_format.ParseError, MessageError, ValueError, TypeError, KeyError):
        return False
    return True


def _snippet(option: Option, resolve: Callable[[str], str | None] | None) -> str:
    """Return the option in text format, the parts of its name nested; empty if an extension is not known."""
    parts: list[str] = []
    for extension, plain in _PART.findall(option.name):
        if plain:
            parts.append(plain)
            continue
        found = resolve(extension) if resolve is not None else None
        if found is None:
            return ""
        parts.append(f"[{found}]")
    opening = "".join(f"{part} {{ " for part in parts[:-1])
    text = _text(option.value)
    text = "0" if text == "-0" else text  # protoc has no negative zero here, but has one inside braces
    return f"{opening}{parts[-1]}: {text}{' }' * (len(parts) - 1)}"


def _text(value: OptionValue) -> str:
    if isinstance(value, Aggregate):
        return "{ " + " ".join(f"{entry.name}: {_text(entry.value)}" for entry in value.entries) + " }"
    if isinstance(value, ListValue):
        return "[" + ", ".join(map(_text, value.items)) + "]"
    if value.kind is ValueKind.STRING:
        return f'"{escape_bytes(value.text)}"'
    whole = parse_int(value.text) if value.kind is ValueKind.NUMBER else None
    if whole is None:
        return value.text
    return f"-{-whole}" if value.text.startswith("-") else str(whole)


def escape_bytes(text: str) -> str:
    """Return the bytes of a string's content in ASCII, as C escapes them."""
    return "".join(map(_escape_byte, text.encode("utf-8", "surrogateescape")))


_SHORT_ESCAPES: Final = {ord(c): e for c, e in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ('"', '\\"'))}
_SHORT_ESCAPES.update({ord("'"): "\\'", ord("\\"): "\\\\"})
_PRINTABLE: Final = range(0x20, 0x7F)


def _escape_byte(byte: int) -> str:
    return _SHORT_ESCAPES.get(byte) or (chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}")


def _uninterpreted(option: Option) -> UninterpretedOption:
    found = UninterpretedOption()
    for extension, plain in _PART.findall(option.name):
        found.name.add(name_part=extension or plain, is_extension=bool(extension))
    value = option.value
    if not isinstance(value, Scalar):
        text = _text(value)
        found.aggregate_value = text[1:-1].strip() if isinstance(value, Aggregate) else text
    elif value.kind is ValueKind.STRING:
        found.string_value = value.text.encode("utf-8", "surrogateescape")
    elif value.kind is ValueKind.NUMBER:
        _write_number(found, value.text)
    else:
        found.identifier_value = value.text
    return found


def _write_number(option: UninterpretedOption, text: str) -> None:
    whole = parse_int(text)
    if whole is not None and 0 <= whole < _UNSIGNED and not text.startswith("-"):
        option.positive_int_value = whole
    elif whole is not None and -_UNSIGNED // 2 <= whole <= 0:
        option.negative_int_value = whole
    else:
        try:
            option.double_value = float(text)
        except ValueError:
            option.identifier_value = text
