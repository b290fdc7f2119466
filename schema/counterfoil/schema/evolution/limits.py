"""What a schema of a target demands of values besides their types: what a language that has such demands implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.evolution.model import BuildRecord, Op
    from counterfoil.schema.evolution.tree import Node

MayBeNull: TypeAlias = "Callable[[Op], bool]"
Place: TypeAlias = tuple[str, ...]
"""Names of fields from the root; ``[]`` and ``{}`` are the elements of an array and of a map."""


class Limits(Protocol):
    """What the schema of a target demands of values besides their types."""

    def refusal(self, place: Place, node: Node, value: Any) -> str | None:
        """Return what a value of the type at ``place`` must be and is not; None if it fits, or that is unknown."""

    def refusal_of_all(self, place: Place, node: Node, op: Op) -> str | None:
        """Return what no result of the operation is; None if one may fit."""

    def refuses_record(self, place: Place, node: Node, op: BuildRecord, may_be_null: MayBeNull) -> bool:
        """Return whether certainly no record that the operation builds is valid, since its fields do not go together.

        ``may_be_null`` returns whether an operation may return null.
        """
