"""The nodes of a document: scalars, lists and mappings, each with its position."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.position import Position


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


class Kind(Enum):
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

    ``value`` is None for ``Kind.NULL`` and for ``Kind.UNCLEAR``; ``meanings`` describes the interpretations of an
    unclear one.
    """

    position: Position
    text: str
    kind: Kind
    value: str | int | float | bool | None
    meanings: str = ""


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    position: Position
    items: tuple[Node, ...]

    @property
    def kind(self) -> Kind:
        """The kind of the node."""
        return Kind.LIST


@dataclass(frozen=True, slots=True)
class MappingNode:
    """A mapping; its keys are texts, as they are written, and ``key_positions`` has the position of each."""

    position: Position
    entries: Mapping[str, Node]
    key_positions: Mapping[str, Position]

    @property
    def kind(self) -> Kind:
        """The kind of the node."""
        return Kind.MAPPING


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def plain_value(node: Node) -> Any:
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
    if node.kind is Kind.UNCLEAR:
        raise InvalidDocument(
            f"{node.text} has two meanings: {node.meanings}; write the one that is meant", node.position
        )
    return node
