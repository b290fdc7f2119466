"""Documents that users write, as nodes with positions; reading them as typed values; mistakes in YAML."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from counterfoil.schema.datum import Json
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    import yaml


# The nodes of a document: scalars, lists and mappings, each with its position.


@dataclass(frozen=True, slots=True)
class Repair:
    """The only thing that can be meant instead of a word or scalar: ``before`` at ``position`` becomes ``after``.

    Both are without quotes; where the word is in quotes, it stays in them.
    """

    position: Position
    before: str
    after: str


class InvalidDocument(CounterfoilError):
    """A document cannot be read: ``problem`` is what is wrong and what would be right, ``position`` the place.

    ``repair`` is what is meant, where that is certain.
    """

    def __init__(self, problem: str, position: Position | None = None, *, repair: Repair | None = None) -> None:
        super().__init__(problem if position is None else f"{position}: {problem}")
        self.problem = problem
        self.position = position
        self.repair = repair


class YamlKind(Enum):
    """The kind of a node. The values are YAML's names."""

    TEXT = "str"
    INTEGER = "int"
    NUMBER = "float"
    BOOLEAN = "bool"
    NULL = "null"
    UNCLEAR = "unclear"
    """A scalar with different meanings in YAML 1.1 and YAML 1.2, such as ``yes`` or ``0755``."""
    LIST = "seq"
    MAPPING = "map"


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """A single value: ``text`` as it is written (without quotes), and ``value`` as it is interpreted.

    ``value`` is None for ``YamlKind.NULL`` and for ``YamlKind.UNCLEAR``; ``meanings`` describes the interpretations of
    an unclear one.
    """

    position: Position
    text: str
    kind: YamlKind
    value: str | int | float | bool | None
    meanings: str = ""


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    position: Position
    items: tuple[Node, ...]

    @property
    def kind(self) -> YamlKind:
        """The kind of the node."""
        return YamlKind.LIST


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; its keys are texts, as they are written, and ``key_positions`` has the position of each."""

    position: Position
    entries: Mapping[str, Node]
    key_positions: Mapping[str, Position]

    @property
    def kind(self) -> YamlKind:
        """The kind of the node."""
        return YamlKind.MAPPING


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def plain_value(node: Node) -> Json:
    """Return the node as dicts, lists and scalars; raise ``InvalidDocument`` for an unclear scalar."""
    match node:
        case MappingNode():
            return {key: plain_value(item) for key, item in node.entries.items()}
        case ListNode():
            return [plain_value(item) for item in node.items]
        case ScalarNode():
            return clear(node).value


def clear(node: ScalarNode) -> ScalarNode:
    """Return the scalar; raise ``InvalidDocument`` if it is unclear."""
    if node.kind is YamlKind.UNCLEAR:
        raise InvalidDocument(
            f"{node.text} has two meanings: {node.meanings}; write the one that is meant", node.position
        )
    return node


# Reading the nodes of a document: mappings with fixed keys, texts, choices, days, lists; errors have the place.

_Chosen = TypeVar("_Chosen", bound=StrEnum)
_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ADDRESS: Final = re.compile(r"https?://[^/\s]")


def block(node: Node, *, what: str, required: Iterable[str] = (), optional: Iterable[str] = ()) -> MappingNode:
    """Return ``node`` as a mapping with these keys and no others."""
    if not isinstance(node, MappingNode):
        raise refusal(f"{what} must be a mapping of names to values", node)
    known = [*required, *optional]
    for key, position in node.key_positions.items():
        if key not in known:
            meant = respelled(key, known, taken=node.entries)
            repair = None if meant is None else Repair(position, key, meant)
            raise InvalidDocument(f"{what} has no key {key}; {likely(key, known)}", position, repair=repair)
    for key in required:
        if key not in node.entries:
            raise refusal(f"{what} needs {key}", node)
    return node


def likely(key: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown key: the known one that is most similar, or else all of them."""
    names = sorted(known)
    near = get_close_matches(key, names, n=1)
    return f"did you mean {near[0]}?" if near else f"it takes {', '.join(names)}"


def respelled(word: str, known: Iterable[str], *, taken: Container[str] = ()) -> str | None:
    """Return the only one of ``known`` that ``word`` is but for letter case, hyphens and underscores; else None.

    One that is ``taken`` by another key does not count.

    >>> respelled("physical_name", ["name", "physicalName"])
    'physicalName'
    """
    meant = [each for each in dict.fromkeys(known) if _letters(each) == _letters(word)]
    return meant[0] if len(meant) == 1 and meant[0] not in taken else None


def _letters(word: str) -> str:
    return word.replace("-", "").replace("_", "").casefold()


def text_of(node: Node) -> str:
    """Return a scalar as it is written; an empty text for a list and a mapping."""
    return node.text if isinstance(node, ScalarNode) else ""


def words(node: Node, *, what: str) -> str:
    """Return a text that is not empty."""
    text = text_of(node)
    if not text.strip():
        raise refusal(f"{what} must be a text", node)
    return text


def items(node: Node, *, what: str) -> tuple[Node, ...]:
    """Return the items of a list."""
    if not isinstance(node, ListNode):
        raise refusal(f"{what} must be a list", node)
    return node.items


def flag(node: Node, *, what: str) -> bool:
    """Return true or false."""
    if not isinstance(node, ScalarNode) or not isinstance(node.value, bool):
        raise refusal(f"{what} must be true or false", node)
    return node.value


def day(node: Node, *, what: str) -> date:
    """Return a day such as 2027-03-31."""
    text = text_of(node)
    if _DAY.fullmatch(text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    raise refusal(f"{what} must be a day such as 2027-03-31, not {text or 'this'}", node)


def address(node: Node, *, what: str) -> str:
    """Return the address of an HTTP server."""
    text = words(node, what=what)
    if not _ADDRESS.match(text):
        raise refusal(f"{what} must be an address that starts with http:// or https://, not {text!r}", node)
    return text


def choice(node: Node, choices: type[_Chosen], *, what: str, folded: bool = False) -> _Chosen:
    """Return the member of ``choices`` that is written; ``folded`` permits any letter case for names in capitals."""
    text = text_of(node).upper() if folded else text_of(node)
    names = [str(each) for each in choices]
    if text not in names:
        meant = respelled(text_of(node), names)
        raise InvalidDocument(
            f"{what} must be one of {', '.join(names)}, not {text_of(node) or 'this'}",
            node.position,
            repair=None if meant is None else Repair(node.position, text_of(node), meant),
        )
    return choices(text)


def refusal(problem: str, node: Node) -> InvalidDocument:
    """Return the error that ``problem`` is at the place of ``node``."""
    return InvalidDocument(problem, node.position)


# The nodes of a document as JSON, which is read many times faster than YAML. Positions are not kept.

_NOWHERE: Final = Position(1, 1)
_OTHER: Final = ""
"""The only key of the object that stands for a scalar which is no text; a mapping with this key is one of pairs."""
_PAIRS: Final = "pairs"


def node_json(node: Node) -> Json:
    """Return the JSON of a node: texts, lists and objects as they are; of other scalars their kind, text and value.

    >>> from counterfoil.schema.documents.yaml_reader import read_yaml
    >>> node_json(read_yaml("{a: [x, 1.50], b: yes}"))
    {'a': ['x', {'': ['float', '1.50', '1.5']}], 'b': {'': ['unclear', 'yes', None]}}
    """
    match node:
        case MappingNode() if _OTHER in node.entries:
            return {_OTHER: [_PAIRS, [[key, node_json(item)] for key, item in node.entries.items()]]}
        case MappingNode():
            return {key: node_json(item) for key, item in node.entries.items()}
        case ListNode():
            return [node_json(item) for item in node.items]
        case ScalarNode():
            if node.kind is YamlKind.TEXT:
                return node.text
            value = repr(node.value) if node.kind is YamlKind.NUMBER else node.value  # JSON has no infinity
            return {_OTHER: [node.kind.value, node.text, value]}


def node_of_json(document: Json) -> Node:
    """Return the node that :func:`node_json` has written.

    >>> node_json(node_of_json({"a": ["x"]}))
    {'a': ['x']}
    """
    if isinstance(document, str):
        return ScalarNode(_NOWHERE, document, YamlKind.TEXT, document)
    if isinstance(document, list):
        return ListNode(_NOWHERE, tuple(map(node_of_json, document)))
    if _OTHER not in document:
        return MappingNode(_NOWHERE, {key: node_of_json(each) for key, each in document.items()}, {})
    kind, *content = document[_OTHER]
    if kind == _PAIRS:
        return MappingNode(_NOWHERE, {key: node_of_json(each) for key, each in content[0]}, {})
    text, value = content
    is_number = kind == YamlKind.NUMBER.value
    return ScalarNode(_NOWHERE, text, YamlKind(kind), float(value) if is_number else value)


# What is wrong with a text that is not YAML, in the words of those who write it, and where.


class _MistakeWords(NamedTuple):
    """The words for a problem that PyYAML finds; ``is_around``: its place is where the part around it begins."""

    problem: re.Pattern[str]
    text: str
    is_around: bool = False


_MISTAKE_WORDS: Final = tuple(
    _MistakeWords(re.compile(pattern), *rest)
    for pattern, *rest in (
        (r"'\\t'", "a tab; expected spaces"),
        (r"expected <block end>", "this line is not indented as the entries to which it belongs"),
        (
            r"mapping values are not allowed",
            "a key is not expected here; indent it as the keys around it, or put a text with a colon in quotes",
        ),
        (r"could not find expected ':'", "a key without a colon", True),
        (r"unexpected end of stream", "the quotation mark here is not closed", True),
        (r"expected ',' or '(.)'", r"the bracket here is not closed; expected a comma or \1", True),
        (
            r"found unknown escape character",
            "a backslash in double quotes begins an escape; paths are written with /, and other texts in single quotes",
        ),
        (r"expected the node content, but found '<stream end>'", "the file ends where a value is expected"),
        (r"found character '(.)' that cannot start", r"a value cannot begin with \1; put it in quotes"),
        (r"expected '<document start>', but found '(.*)'", r"'\1' is not expected after the end of the document"),
    )
)
_CONFLICT_START: Final = re.compile(r"^<{7} ", re.MULTILINE)
_CONFLICT_END: Final = re.compile(r"^>{7} ", re.MULTILINE)
CONFLICT: Final = "the file has an unresolved conflict of a merge; keep one side"
"""The sentence about a text with the markers of git."""


def conflict_in(text: str) -> Position | None:
    """Return the place of the first marker of a conflict that git has left in a text of any language; else None."""
    start = _CONFLICT_START.search(text)
    if start is None or not _CONFLICT_END.search(text, start.end()):
        return None
    return Position(text.count("\n", 0, start.start()) + 1, 1)


def mistake_of(error: yaml.MarkedYAMLError) -> InvalidDocument:
    """Return the error about a text that PyYAML cannot read."""
    problem, mark = str(error.problem), error.problem_mark or error.context_mark
    for words in _MISTAKE_WORDS:
        if (found := words.problem.search(problem)) is not None:
            problem = found.expand(words.text)
            mark = (error.context_mark if words.is_around else None) or mark
            break
    return InvalidDocument(f"not YAML: {problem}", Position(mark.line + 1, mark.column + 1) if mark else None)
