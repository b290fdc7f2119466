"""Parsing of YAML text as nodes with positions, with PyYAML, for the documents that users write.

A scalar has its meaning in YAML 1.2 (core schema). PyYAML reads YAML 1.1, in which ``yes`` is a boolean and ``0755`` is
octal; if the two versions differ, the scalar is unclear, and the code that needs its value raises an error. Dates are
texts. Keys are texts as they are written, so that ``null:`` and ``on:`` are words.

Source: YAML 1.2.2, chapter 10.3 (core schema); YAML 1.1, types bool, int, float and null.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import yaml

from counterfoil.schema.documents.nodes import InvalidDocument, Kind, ListNode, MappingNode, Node, ScalarNode
from counterfoil.schema.position import Position

MAX_CHARACTERS: Final = 1_000_000
MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 32

_RESOLVER: Final = yaml.SafeLoader("")
_MAX_KEPT_LENGTH: Final = 40


@lru_cache(maxsize=10_000)
def _kept_tag(kind: Any, text: str | None, implicit: Any) -> str:
    return str(_RESOLVER.resolve(kind, text, implicit))  # type: ignore[no-untyped-call] # not in the stubs


def _tag(kind: Any, text: str | None, implicit: Any) -> str:
    """Return the tag that YAML 1.1 gives a node; those of short texts are kept, since the same ones occur often."""
    if text is not None and len(text) > _MAX_KEPT_LENGTH:
        return _kept_tag.__wrapped__(kind, text, implicit)
    return _kept_tag(kind, text, implicit)


_FAST: Final[Any] = (
    type("_FastLoader", (yaml.CSafeLoader,), {"resolve": staticmethod(_tag)}) if yaml.__with_libyaml__ else None
)
"""The loader in C, about ten times faster, which not every build of PyYAML has."""
_MAX_FAST_DEPTH: Final = 2000
"""The loader in C recurses without a limit, so that it gets no text that may be nested more deeply than this."""

_TAG: Final = "tag:yaml.org,2002:"
_KIND_BY_TAG: Final = {f"{_TAG}{kind.value}": kind for kind in (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN, Kind.NULL)}
_WORDS: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (Kind.NULL, None)),
    **dict.fromkeys(("true", "True", "TRUE"), (Kind.BOOLEAN, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (Kind.BOOLEAN, False)),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_CONFLICT_START: Final = re.compile(r"^<{7} ", re.MULTILINE)
_CONFLICT_END: Final = re.compile(r"^>{7} ", re.MULTILINE)
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
    conflict = _CONFLICT_START.search(text)
    if conflict is not None and _CONFLICT_END.search(text, conflict.end()):
        place = _position_at(text, conflict.start())
        raise InvalidDocument("the file has an unresolved conflict of a merge; keep one side", place)
    try:
        root = _compose(text)
    except yaml.MarkedYAMLError as mistake:
        mark = mistake.problem_mark or mistake.context_mark
        problem = "a tab; expected spaces" if "'\\t'" in str(mistake.problem) else mistake.problem
        raise InvalidDocument(f"not YAML: {problem}", _position(mark) if mark else None) from None
    except yaml.reader.ReaderError as mistake:
        raise InvalidDocument(f"not YAML: {mistake.reason}", _position_at(text, mistake.position)) from None
    except RecursionError:
        raise InvalidDocument(f"nested too deeply; expected at most {MAX_DEPTH} levels") from None
    return None if root is None else _Conversion().node(root, MAX_DEPTH)


def _compose(text: str) -> yaml.Node | None:
    """Return PyYAML's root. Where the loader in C refuses, the one in Python does, with the message and the place."""
    if _FAST is not None and _possible_depth(text) <= _MAX_FAST_DEPTH:
        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=_FAST)
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _possible_depth(text: str) -> int:
    """Return a number that the nesting does not exceed: blocks need columns, two for each, the others brackets."""
    return text.count("[") + text.count("{") + 2 * max(map(len, text.splitlines()), default=0)


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
        self._constructor = yaml.SafeLoader("")  # one for each document, since it keeps what it constructs

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
        implied = _tag(yaml.ScalarNode, text, (True, False))
        if given.style or given.tag != implied:  # plain: None, or "" from the loader in C
            return ScalarNode(position, text, *older)  # in quotes, with a tag: both equal
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
            return kind, self._constructor.construct_object(given)
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
