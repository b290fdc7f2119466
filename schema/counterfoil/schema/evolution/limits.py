"""The demands of a target's schema besides types: a protocol for the languages that have such demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.model import BuildRecord, Op
    from counterfoil.schema.evolution.tree import Node

MayBeNull: TypeAlias = "Callable[[Op], bool]"
Place: TypeAlias = tuple[str, ...]
"""Names of fields from the root; ``[]`` and ``{}`` are the elements of an array and of a map."""


class TargetLimits(Protocol):
    """The demands of a target's schema on values, besides their types."""

    def refusal(self, place: Place, node: Node, value: Any) -> str | None:
        """Return the demand at ``place`` that a value of its type does not meet; None if none is known."""

    def refusal_of_all(self, place: Place, node: Node, op: Op) -> str | None:
        """Return the demand that no result of the operation meets; None if one may fit."""

    def refuses_record(self, place: Place, node: Node, op: BuildRecord, may_be_null: MayBeNull) -> bool:
        """Return whether certainly no record that the operation builds is valid, since its fields do not go together.

        ``may_be_null`` returns whether an operation may return null.
        """
