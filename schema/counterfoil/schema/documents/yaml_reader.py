"""Parsing of YAML text as nodes with positions, with PyYAML, for the documents that users write.

A scalar has its meaning in YAML 1.2 (core schema). PyYAML reads YAML 1.1, in which ``yes`` is a boolean and ``0755`` is
octal; if the two versions differ, the scalar is unclear, and the code that needs its value raises an error. Dates are
texts. Keys are texts as they are written, so that ``null:`` and ``on:`` are words.

Source: YAML 1.2.2, chapter 10.3 (core schema); YAML 1.1, types bool, int, float and null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import yaml

from counterfoil.schema.datum import Json
from counterfoil.schema.documents import (
    CONFLICT,
    InvalidDocument,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    YamlKind,
    conflict_in,
    mistake_of,
)
from counterfoil.schema.texts import Position

MAX_CHARACTERS: Final = 1024 * 1024
MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 32

_RESOLVER: Final[Json] = yaml.SafeLoader("")
_MAX_KEPT_LENGTH: Final = 40
_LOADERS: Final[tuple[Json, ...]] = (*([yaml.CSafeLoader] if yaml.__with_libyaml__ else []), yaml.SafeLoader)
"""The parsers: first the one in C, about ten times faster, which not every build of PyYAML has."""

_SCALAR: Final[Json] = yaml.ScalarEvent  # found faster than as an attribute of the module
_TAG: Final = "tag:yaml.org,2002:"
_KIND_BY_TAG: Final = {
    f"{_TAG}{kind.value}": kind for kind in (YamlKind.INTEGER, YamlKind.NUMBER, YamlKind.BOOLEAN, YamlKind.NULL)
}
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (YamlKind.NULL, None)),
    **dict.fromkeys(("true", "True", "TRUE"), (YamlKind.BOOLEAN, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (YamlKind.BOOLEAN, False)),
}
_STARTS: Final = frozenset([*(_RESOLVER.yaml_implicit_resolvers), *(word[:1] for word in _WORDS), *"-+.0123456789"])
"""What a plain scalar that is no text begins with, in either version; the empty text for an empty one."""
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER: Final = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII
)


def read_yaml(text: str, *, aliases: bool = True) -> Node | None:
    """Return the root of the one document in ``text``; None if there are only comments.

    Raises ``InvalidDocument``, also for a key that is twice in a mapping, for a document that is too large or too deep,
    and, unless ``aliases`` is true, for an alias.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidDocument(f"the document has {len(text)} characters; expected at most {MAX_CHARACTERS}")
    if (conflict := conflict_in(text)) is not None:
        raise InvalidDocument(CONFLICT, conflict)
    try:
        return _read(text, aliases=aliases)
    except yaml.MarkedYAMLError as mistake:
        raise mistake_of(mistake) from None
    except yaml.reader.ReaderError as mistake:
        raise InvalidDocument(f"not YAML: {mistake.reason}", _position_at(text, mistake.position)) from None


def _read(text: str, *, aliases: bool) -> Node | None:
    """Return the root. Where the parser in C refuses, the one in Python does, with the message and the place."""
    *faster, last = _LOADERS
    for loader in faster:
        with suppress(yaml.YAMLError):
            return _Conversion(_events(text, loader), aliases=aliases).document()
    return _Conversion(_events(text, last), aliases=aliases).document()


def _events(text: str, loader: Json) -> Iterator[Json]:
    """Return the events of ``text``, as ``yaml.parse`` yields them, without a call of Python for each."""
    return iter(loader(text).get_event, None)


def _position(mark: yaml.Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def _position_at(text: str, offset: int) -> Position:
    before = text[:offset]
    return Position(before.count("\n") + 1, offset - before.rfind("\n"))


class _Conversion:
    """The conversion of PyYAML's events. An alias counts at each use, which limits what a short text can expand to."""

    def __init__(self, events: Iterator[Json], *, aliases: bool) -> None:
        self._events = events
        self._aliases = aliases
        self._count = 0
        self._anchored: dict[str, _Anchored] = {}

    def document(self) -> Node | None:
        """Return the root of the only document."""
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        root = self._node(next(self._events), MAX_DEPTH)
        next(self._events)  # the end of the document
        following = next(self._events)
        if not isinstance(following, yaml.StreamEndEvent):
            raise InvalidDocument("not YAML: a second document; expected one", _position(following.start_mark))
        return root

    def _node(self, event: Json, depth: int) -> Node:
        """Return the node that begins with ``event``, which may have at most ``depth`` levels."""
        mark = event.start_mark
        position = Position(mark.line + 1, mark.column + 1)
        if type(event) is _SCALAR and event.anchor is None and depth >= 0:  # most nodes
            self._count += 1
            if self._count > MAX_NODES:
                raise _too_many(position)
            return _scalar(event, position)
        if type(event) is yaml.AliasEvent:
            return self._alias(str(event.anchor), position, depth)
        before = self._count
        self._add(1, position)
        if depth < 0:
            raise _too_deep(position)
        if event.anchor is None:
            return self._content(event, position, depth)
        if event.anchor in self._anchored:
            raise InvalidDocument(f"not YAML: a second anchor {event.anchor}", position)
        kept = self._anchored[event.anchor] = _Anchored(position)
        kept.node = self._content(event, position, depth)
        kept.count = self._count - before
        return kept.node

    def _content(self, event: Json, position: Position, depth: int) -> Node:
        if type(event) is yaml.ScalarEvent:
            return _scalar(event, position)
        if type(event) is yaml.MappingStartEvent:
            return self._mapping(position, depth)
        return ListNode(position, tuple(self._items(depth)))

    def _items(self, depth: int) -> Iterator[Node]:
        for event in self._events:
            if type(event) is yaml.SequenceEndEvent:
                return
            yield self._node(event, depth - 1)

    def _mapping(self, position: Position, depth: int) -> MappingNode:
        entries: dict[str, Node] = {}
        positions: dict[str, Position] = {}
        events = self._events
        for event in events:
            if type(event) is yaml.MappingEndEvent:
                break
            mark = event.start_mark
            place = Position(mark.line + 1, mark.column + 1)
            is_plain = type(event) is _SCALAR and event.anchor is None
            key = event.value if is_plain else self._text_of_key(event, place)
            if key in entries:
                raise InvalidDocument(f"{key} is here a second time; the first is in line {positions[key].line}", place)
            entries[key], positions[key] = self._node(next(events), depth - 1), place
        return MappingNode(position, entries, positions)

    def _text_of_key(self, event: Json, place: Position) -> str:
        """Return the text of a key that is an alias or has an anchor."""
        if isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            node = self._node(event, 0)
            if isinstance(node, ScalarNode):
                return node.text
        raise InvalidDocument("a key must be a plain word", place)

    def _alias(self, name: str, place: Position, depth: int) -> Node:
        if not self._aliases:
            raise InvalidDocument(f"an alias, *{name}; expected the value itself", place)
        kept = self._anchored.get(name)
        if kept is None:
            raise InvalidDocument(f"not YAML: found undefined alias {name!r}", place)
        if kept.node is None:
            raise InvalidDocument("an alias inside of what it stands for; expected no cycles", kept.position)
        self._add(kept.count, kept.position)
        if depth < _height(kept.node):
            raise _too_deep(kept.position)
        return kept.node

    def _add(self, count: int, position: Position) -> None:
        self._count += count
        if self._count > MAX_NODES:
            raise _too_many(position)


@dataclass(slots=True)
class _Anchored:
    """What an alias can stand for: the node, None until it ends, and how many values it has."""

    position: Position
    node: Node | None = None
    count: int = 0


def _too_many(position: Position) -> InvalidDocument:
    return InvalidDocument(f"more than {MAX_NODES} values, each alias counted as what it stands for", position)


def _too_deep(position: Position) -> InvalidDocument:
    return InvalidDocument(f"nested too deeply; expected at most {MAX_DEPTH} levels", position)


def _height(node: Node) -> int:
    match node:
        case MappingNode():
            return 1 + max(map(_height, node.entries.values()), default=-1)
        case ListNode():
            return 1 + max(map(_height, node.items), default=-1)
        case _:
            return 0


def _scalar(event: Json, position: Position) -> ScalarNode:
    text = event.value
    try:
        if event.tag is None and not event.style:  # plain: None, or "" from the parser in C
            if text[:1] not in _STARTS:
                return ScalarNode(position, text, YamlKind.TEXT, text)
            kept = len(text) <= _MAX_KEPT_LENGTH
            return ScalarNode(position, text, *(_kept_meaning if kept else _plain_meaning)(text))
        tag = event.tag
        if tag is None and not event.implicit[0]:
            return ScalarNode(position, text, YamlKind.TEXT, text)  # in quotes
        if tag in {None, "!"}:
            tag = _RESOLVER.resolve(yaml.ScalarNode, text, event.implicit)
        return ScalarNode(position, text, *_tagged_meaning(tag, text))  # in quotes, with a tag: equal in both versions
    except _NoValue as mistake:
        raise InvalidDocument(str(mistake), position) from None


class _NoValue(Exception):
    """A scalar without the value that its type needs."""


def _plain_meaning(text: str) -> tuple[YamlKind, Json, str]:
    """Return kind, value, and the meanings if there are two."""
    older = _tagged_meaning(_RESOLVER.resolve(yaml.ScalarNode, text, (True, False)), text)
    newer = _newer_meaning(text)
    if older == newer or _shown(older) == _shown(newer):
        return *newer, ""
    return YamlKind.UNCLEAR, None, f"{_shown(older)} in YAML 1.1, {_shown(newer)} in YAML 1.2"


_kept_meaning: Final = lru_cache(maxsize=10_000)(_plain_meaning)
"""The same, kept, since short texts occur often."""


def _tagged_meaning(tag: str, text: str) -> tuple[YamlKind, Json]:
    """Return the meaning in YAML 1.1."""
    kind = _KIND_BY_TAG.get(tag, YamlKind.TEXT)
    if kind is YamlKind.TEXT:
        return kind, text
    try:
        node = yaml.ScalarNode(tag, text)
        return kind, yaml.SafeLoader("").construct_object(node)
    except (ValueError, KeyError, yaml.YAMLError):
        raise _NoValue(f"{text!r} is no value of the type {kind.value}") from None


def _newer_meaning(text: str) -> tuple[YamlKind, Json]:
    if text in _WORDS:
        return _WORDS[text]
    try:
        if _INTEGER.fullmatch(text):
            return YamlKind.INTEGER, int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if _NUMBER.fullmatch(text):
            return YamlKind.NUMBER, float(re.sub(r"\.(?=[iInN])", "", text))
    except ValueError:
        raise _NoValue(f"{text[:20]}… is too long for a number") from None
    return YamlKind.TEXT, text


def _shown(meaning: tuple[YamlKind, Json]) -> str:
    kind, value = meaning
    match kind:
        case YamlKind.TEXT:
            return f"the text {value!r}"
        case YamlKind.BOOLEAN:
            return str(value).lower()
        case _:
            return str(value)
