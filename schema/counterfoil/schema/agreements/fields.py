"""Typed values of mappings that are valid under a standard, and our own properties in ``customProperties``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.agreements.model import Fault
from counterfoil.schema.documents.blocks import text_of
from counterfoil.schema.documents.nodes import InvalidDocument, Kind, ListNode, MappingNode, ScalarNode, plain_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.agreements.model import Scalar
    from counterfoil.schema.documents.nodes import Node
    from counterfoil.schema.position import Position

_Value = TypeVar("_Value")
INVALID_PROPERTY: Final = "property-invalid"
"""The rule about the values of our own properties."""


class Faults:
    """The mistakes that are found while a document is read."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def reading(self, read: Callable[[Node], _Value], node: Node, default: _Value) -> _Value:
        """Return what ``read`` makes of ``node``; where it refuses, add the mistake and return ``default``."""
        try:
            return read(node)
        except InvalidDocument as mistake:
            place = mistake.position or node.position
            self.found.append(Fault(INVALID_PROPERTY, mistake.problem, place, mistake.repair))
            return default

    def value(self, own: Mapping[str, Node], key: str, read: Callable[[Node], _Value], default: _Value) -> _Value:
        """Return one of the properties ``own``, as :meth:`reading` does; ``default`` without it."""
        return default if key not in own else self.reading(read, own[key], default)


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping whose values have the types that the standard says."""

    node: MappingNode

    @classmethod
    def of(cls, node: Node) -> Entry:
        """Return the entry of a node; an empty one if it is no mapping."""
        return cls(node if isinstance(node, MappingNode) else MappingNode(node.position, {}, {}))

    def get(self, key: str) -> Node | None:
        """Return a value; None without one, and for null."""
        found = self.node.entries.get(key)
        return None if found is None or found.kind is Kind.NULL else found

    def text(self, key: str) -> str | None:
        """Return a text; None without one."""
        found = self.get(key)
        return None if found is None else text_of(found) or None

    def flag(self, key: str) -> bool:
        """Return a boolean; False without one."""
        found = self.get(key)
        return isinstance(found, ScalarNode) and found.value is True

    def scalar(self, key: str) -> Scalar:
        """Return a scalar of any type; None without one."""
        found = self.get(key)
        return found.value if isinstance(found, ScalarNode) else None

    def limit(self, key: str) -> int | float | str | None:
        """Return a number or a text; None without one."""
        value = self.scalar(key)
        return None if isinstance(value, bool) else value

    def nodes(self, key: str) -> tuple[Node, ...]:
        """Return the items of a list; empty without one."""
        found = self.get(key)
        return found.items if isinstance(found, ListNode) else ()

    def entries(self, key: str) -> Iterator[Entry]:
        """Yield the mappings of a list."""
        return (Entry.of(each) for each in self.nodes(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of a list."""
        return tuple(text_of(each) for each in self.nodes(key))

    def custom(self) -> dict[str, Node]:
        """Return the values of ``customProperties`` by name; the first of each."""
        found: dict[str, Node] = {}
        for each in self.entries("customProperties"):
            value = each.get("value")
            if value is not None:
                found.setdefault(each.text("property") or "", value)
        return found

    @property
    def places(self) -> dict[str, Position]:
        """The places of the values by key."""
        return {key: node.position for key, node in self.node.entries.items()}

    def plain_at(self, key: str) -> object:
        """Return a value of any type as it would be in JSON."""
        return plain_value(self.node.entries[key])

    def plain(self, key: str) -> dict[str, object]:
        """Return a mapping as a dict; empty without one."""
        found = self.get(key)
        return dict(plain_value(found)) if isinstance(found, MappingNode) else {}
