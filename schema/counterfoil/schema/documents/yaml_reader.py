"""Parsing of YAML text as nodes with positions, with PyYAML, for the documents that users write.

A scalar has its meaning in YAML 1.2 (core schema). PyYAML reads YAML 1.1, in which ``yes`` is a boolean and ``0755`` is
octal; if the two versions differ, the scalar is unclear, and the code that needs its value raises an error. Dates are
texts. Keys are texts as they are written, so that ``null:`` and ``on:`` are words.

Source: YAML 1.2.2, chapter 10.3 (core schema); YAML 1.1, types bool, int, float and null.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from counterfoil.schema.documents.nodes import InvalidDocument, Kind, ListNode, MappingNode, Node, ScalarNode
from counterfoil.schema.position import Position

MAX_CHARACTERS: Final = 1_000_000
MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 32

_TAG: Final = "tag:yaml.org,2002:"
_KIND_BY_TAG: Final = {f"{_TAG}{kind.value}": kind for kind in (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.NULL)}
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (Kind.NULL, None)),
    **dict.fromkeys(("true", "True", "TRUE"), (Kind.BOOLEAN, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (Kind.BOOLEAN, False)),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_NUMBER: Final = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", re.ASCII
)


def read_yaml(text: str) -> Node | None:
    """Return the root of the one document in ``text``; None if there are only comments.

    Raises ``InvalidDocument``, also for a key that is twice in a mapping, and for a document that is too large or too
    deep.
    """
    if len(text) > MAX_CHARACTERS:
        raise InvalidDocument(f"the document has {len(text)} characters; expected at most {MAX_CHARACTERS}")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as mistake:
        mark = mistake.problem_mark or mistake.context_mark
        problem = "a tab; expected spaces" if "'\\t'" in str(mistake.problem) else mistake.problem
        raise InvalidDocument(f"not YAML: {problem}", _position(mark) if mark else None) from None
    except yaml.reader.ReaderError as mistake:
        raise InvalidDocument(f"not YAML: {mistake.reason}", _position_at(text, mistake.position)) from None
    except RecursionError:
        raise InvalidDocument(f"nested too deeply; expected at most {MAX_DEPTH} levels") from None
    return None if root is None else _Conversion().node(root, MAX_DEPTH)


def _position(mark: yaml.Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)


def _position_at(text: str, offset: int) -> Position:
    before = text[:offset]
    return Position(before.count("\n") + 1, offset - before.rfind("\n"))


class _Conversion:
    """The conversion of PyYAML's nodes. An alias counts at each use, which limits what a short text can expand to."""

    def __init__(self) -> None:
        self._count = 0
        self._open: set[int] = set()
        self._loader = yaml.SafeLoader("")

    def node(self, given: yaml.Node, depth: int) -> Node:
        """Return the converted node with its content, which may have at most ``depth`` levels."""
        position = _position(given.start_mark)
        self._count += 1
        if self._count > MAX_NODES:
            raise InvalidDocument(f"more than {MAX_NODES} values, each alias counted as what it stands for", position)
        if depth < 0:
            raise InvalidDocument(f"nested too deeply; expected at most {MAX_DEPTH} levels", position)
        if isinstance(given, yaml.ScalarNode):
            return self._scalar(given, position)
        if id(given) in self._open:
            raise InvalidDocument("an alias inside of what it stands for; expected no cycles", position)
        self._open.add(id(given))
        try:
            if isinstance(given, yaml.MappingNode):
                return self._mapping(given, position, depth)
            if isinstance(given, yaml.SequenceNode):
                return ListNode(position, tuple(self.node(item, depth - 1) for item in given.value))
        finally:
            self._open.discard(id(given))
        raise AssertionError("YAML has scalars, sequences and mappings")

    def _mapping(self, given: yaml.MappingNode, position: Position, depth: int) -> MappingNode:
        entries: dict[str, Node] = {}
        positions: dict[str, Position] = {}
        for key_node, value_node in given.value:
            place = _position(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                raise InvalidDocument("a key must be a plain word", place)
            key = key_node.value
            if key in entries:
                raise InvalidDocument(
                    f"{key} stands here a second time; the first is in line {positions[key].line}", place
                )
            entries[key], positions[key] = self.node(value_node, depth - 1), place
        return MappingNode(position, entries, positions)

    def _scalar(self, given: yaml.ScalarNode, position: Position) -> ScalarNode:
        text = given.value
        older = self._older_meaning(given, position)
        implied = self._loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call] # not in the stubs
        if given.style is not None or given.tag != implied:
            return ScalarNode(position, text, *older)  # in quotes, or with a tag: both versions are equal
        newer = _newer_meaning(text, position)
        if older == newer or _shown(older) == _shown(newer):
            return ScalarNode(position, text, *newer)
        meanings = f"{_shown(older)} in YAML 1.1, {_shown(newer)} in YAML 1.2"
        return ScalarNode(position, text, Kind.UNCLEAR, None, meanings)

    def _older_meaning(self, given: yaml.ScalarNode, position: Position) -> tuple[Kind, Any]:
        kind = _KIND_BY_TAG.get(given.tag, Kind.TEXT)
        if kind is Kind.TEXT:
            return kind, given.value
        try:
            return kind, self._loader.construct_object(given)
        except (ValueError, KeyError, yaml.YAMLError):
            raise InvalidDocument(f"{given.value!r} is no value of the type {kind.value}", position) from None


def _newer_meaning(text: str, position: Position) -> tuple[Kind, Any]:
    if text in _WORDS:
        return _WORDS[text]
    try:
        if _INTEGER.fullmatch(text):
            return Kind.INTEGER, int(text, 0) if text[:2] in {"0o", "0x"} else int(text)
        if _NUMBER.fullmatch(text):
            return Kind.NUMBER, float(re.sub(r"\.(?=[iInN])", "", text))
    except ValueError:
        raise InvalidDocument(f"{text[:20]}… is too long for a number", position) from None
    return Kind.TEXT, text


def _shown(meaning: tuple[Kind, Any]) -> str:
    kind, value = meaning
    match kind:
        case Kind.TEXT:
            return f"the text {value!r}"
        case Kind.BOOLEAN:
            return str(value).lower()
        case _:
            return str(value)
