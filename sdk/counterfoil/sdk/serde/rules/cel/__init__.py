"""The reads and calls of an expression, and the parts of a message as its engine gets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

from counterfoil.schema.datum import Datum

# What an expression reads and calls, found from its tokens, and its text as the engines get it.
#
# A rule mostly reads a few fields of a message, and converting a whole message takes far longer than evaluating it.
# What is found may be more than an evaluation reads, and never less.
#
# The text of the engines differs in two ways. ``has(message.a.b)`` becomes a variable, since an engine that is given a
# plain map cannot know which fields of a Protobuf message are set. Functions that the engines do not have, or that
# differ between them, have other names, in which a dot is an underscore.

Parts: TypeAlias = "dict[str, Parts] | None"
"""The parts of a value that are read, by name; None for the whole value."""

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
    |(?P<text>[rRbB]{0,2}(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[uU]?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<other>&&|\|\||[<>=!]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN_TEXT: Final = re.compile(r"""(["'])([^"'\\]*)\1\Z""")
_NAMESPACES: Final = frozenset({"decimals"})


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class CelExpression:
    """An expression: its text for the engines, its reads and its calls.

    ``reads`` are the parts that it reads of each variable; ``presences`` are the paths of ``has()``, by the variable
    that stands for it: whether a path is there. ``calls`` are the names of the functions in ``text``.
    """

    source: str
    text: str
    reads: dict[str, Parts]
    presences: dict[str, tuple[str, ...]] = field(default_factory=dict)
    calls: frozenset[str] = frozenset()


def split_guard(source: str) -> tuple[str | None, str]:
    """Return the guard of ``guard ; expression``, None without one, and the expression."""
    position = 0
    for token in _tokens(source):
        if token.text == ";" and token.kind == "other":
            guard = source[:position]
            return (guard if guard.strip() else None), source[position + 1 :]
        position += len(token.text)
    return None, source


def read_expression(source: str, variables: Iterable[str], own_functions: Iterable[str]) -> CelExpression:
    """Return the reads of an expression in ``variables``; ``own_functions`` get other names in its text."""
    tokens = [token for token in _tokens(source) if token.kind != "space"]
    return _Reading(tokens, frozenset(variables), frozenset(own_functions)).read(source)


def function_alias(name: str) -> str:
    """Return the name of an own function in the text of the engines."""
    return f"own_{name.replace('.', '_')}"


class _Reading:
    def __init__(self, tokens: Sequence[_Token], variables: frozenset[str], own_functions: frozenset[str]) -> None:
        self._tokens = tokens
        self._variables = variables
        self._own_functions = own_functions
        self._reads: dict[str, Parts] = {}
        self._presences: dict[str, tuple[str, ...]] = {}
        self._calls: set[str] = set()

    def read(self, source: str) -> CelExpression:
        written: list[str] = []
        at = 0
        while at < len(self._tokens):
            text, at = self._read_at(at)
            written.append(text)
        return CelExpression(source, " ".join(written), self._reads, self._presences, frozenset(self._calls))

    def _read_at(self, at: int) -> tuple[str, int]:
        """Return the text for the tokens from ``at``, and the place of the next token."""
        token = self._tokens[at]
        if token.kind != "name":
            return token.text, at + 1
        if token.text == "has" and self._text(at + 1) == "(":
            path, end = self._path(at + 2)
            if len(path) > 1 and self._text(end) == ")":
                return self._presence(path), end + 1
        if self._is_called(at):
            return self._call(token.text), at + 1
        if token.text in _NAMESPACES and self._text(at + 1) == "." and self._is_called(at + 2):
            return self._call(f"{token.text}.{self._text(at + 2)}"), at + 3
        path, _ = self._path(at)
        if path:
            self._add(path)
        return token.text, at + 1

    def _call(self, name: str) -> str:
        written = function_alias(name) if name in self._own_functions else name
        self._calls.add(written)
        return written

    def _presence(self, path: tuple[str, ...]) -> str:
        name = f"has_{len(self._presences)}"
        self._presences[name] = path
        return name

    def _path(self, at: int) -> tuple[tuple[str, ...], int]:
        """Return the path that begins at a variable, empty if none does, and the place after it."""
        if self._kind(at) != "name" or self._text(at) not in self._variables or self._is_member(at):
            return (), at
        path = [self._text(at)]
        at += 1
        while True:
            if self._text(at) == "." and self._kind(at + 1) == "name" and not self._is_called(at + 1):
                path.append(self._text(at + 1))
                at += 2
                continue
            key = _PLAIN_TEXT.match(self._text(at + 1)) if self._text(at) == "[" and self._text(at + 2) == "]" else None
            if key is None:
                return tuple(path), at
            path.append(key[2])
            at += 3

    def _add(self, path: tuple[str, ...]) -> None:
        """Add a path to the reads of its variable."""
        if len(path) == 1:
            self._reads[path[0]] = None
            return
        parts = self._reads.setdefault(path[0], {})
        for name in path[1:-1]:
            if parts is None:
                return
            parts = parts.setdefault(name, {})
        if parts is not None:
            parts[path[-1]] = None

    def _is_member(self, at: int) -> bool:
        """Return whether a name is a field or method of the text before it, and no variable."""
        before = self._tokens[at - 2] if at > 1 else _Token("other", "")
        return (
            at > 0 and self._text(at - 1) == "." and (before.kind in ("name", "text") or before.text in (")", "]", "}"))
        )

    def _is_called(self, at: int) -> bool:
        return self._kind(at) == "name" and self._text(at + 1) == "("

    def _text(self, at: int) -> str:
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _kind(self, at: int) -> str:
        return self._tokens[at].kind if at < len(self._tokens) else ""


def _tokens(source: str) -> Iterable[_Token]:
    return (_Token(match.lastgroup or "other", match[0]) for match in _TOKEN.finditer(source))


# Values of messages as the engines get them: plain Python values, and only the parts that an expression reads.

_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_AS_THEY_ARE: Final = frozenset({str, int, float, bool, bytes, type(None), timedelta, Decimal})


class Unsupported(TypeError):
    """A value that has no type in CEL."""


def convert(value: object, parts: Parts = None) -> Datum:
    """Return a value, or the parts of it that are read, as dicts, lists and scalars.

    Raises ``Unsupported``.
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Mapping):
        if parts is None:
            return {key: convert(item) for key, item in value.items()}
        return {name: convert(value[name], inner) for name, inner in parts.items() if name in value}
    if hasattr(value, "DESCRIPTOR"):
        return convert_message(value, parts)
    if isinstance(value, (str, bytes)):
        return str(value.value) if isinstance(value, Enum) else value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str):  # noqa: PLR2004 - a branch of a union
        return convert(value[1], parts)
    if isinstance(value, Sequence):
        return [convert(item) for item in value]
    return _scalar(value)


def _scalar(value: object) -> Datum:
    match value:
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value
        case date():
            return value.toordinal() - _EPOCH_DAY
        case UUID():
            return str(value)
        case timedelta() | Decimal() | bool() | int() | float():
            return value
    with suppress(TypeError, ValueError):  # a class, or an array of several numbers, has these members as well
        if hasattr(value, "__index__"):
            return int(value)
        if hasattr(value, "__float__"):
            return float(value)
    raise Unsupported(f"a value of the type {type(value).__name__} has no type in CEL")


def is_present(value: object, path: Sequence[str]) -> bool:
    """Return whether a path leads to something: ``has()``."""
    for name in path:
        if hasattr(value, "DESCRIPTOR"):
            is_set, value = member(value, name)
            if not is_set:
                return False
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:
            return False
    return True


# Protobuf messages as CEL gets them.
#
# A field that is not set has its default, and a message that is not set is an empty one where fields of it are read. An
# enum is its number. Well-known types are the values that they stand for.
#
# Source: the language definition of CEL, "Protocol Buffer Data Conversion".

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _timestamp(message: Datum) -> datetime:
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _duration(message: Datum) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _decimal(message: Datum) -> Decimal:
    return Decimal(int.from_bytes(message.value, "big", signed=True)).scaleb(-message.scale)


_KINDS: Final = ("String", "Bytes", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "Bool")
_WRAPPERS: Final = frozenset(f"google.protobuf.{kind}Value" for kind in _KINDS)
_VALUE_BY_NAME: Final[dict[str, Callable[[Datum], Datum]]] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "confluent.type.Decimal": _decimal,
    **dict.fromkeys(_WRAPPERS, lambda message: message.value),
}


def convert_message(message: Datum, parts: Parts) -> Datum:
    """Return a message, or the parts of it that are read, as a dict; a well-known type as its value."""
    special = _VALUE_BY_NAME.get(message.DESCRIPTOR.full_name)
    if special is not None:
        return special(message)
    fields = message.DESCRIPTOR.fields_by_name
    if parts is None:
        return {field.name: _whole(message, field) for field in fields.values() if _is_there(message, field)}
    return {name: _part(message, fields[name], inner) for name, inner in parts.items() if name in fields}


def member(message: Datum, name: str) -> tuple[bool, Datum]:
    """Return whether a field is set, as ``has()`` defines it, and its value."""
    field = message.DESCRIPTOR.fields_by_name.get(name)
    if field is None:
        return False, None
    value = getattr(message, name)
    if field.has_presence:
        return message.HasField(name), value
    return (len(value) > 0 if field.is_repeated else value != field.default_value), value


def _is_there(message: Datum, field: Any) -> bool:
    return field.containing_oneof is None or message.HasField(field.name)


def _whole(message: object, field: object) -> Datum:
    return _part(message, field, None) if not _is_unset_message(message, field) else None


def _part(message: Datum, field: Any, parts: Parts) -> Datum:
    from google.protobuf.message_factory import GetMessageClass

    from counterfoil.schema.languages.protobuf.runtime import is_map

    if _is_unset_message(message, field):
        is_null = field.message_type.full_name in _WRAPPERS
        return None if is_null else convert(GetMessageClass(field.message_type)(), parts)
    value = getattr(message, field.name)
    if not field.is_repeated:
        return convert(value, parts)
    if is_map(field):
        return {key: convert(value[key]) for key in value}
    return [convert(item) for item in value]


def _is_unset_message(message: Datum, field: Any) -> bool:
    return field.message_type is not None and not field.is_repeated and not message.HasField(field.name)
