"""What can carry tags, and a change to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from counterfoil.schema.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Mapping


class EntityKind(StrEnum):
    """What sort of thing, in the REST API's words."""

    RECORD = "sr_record"
    FIELD = "sr_field"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that can carry tags, by its ``path``: ``ns.Order``, ``ns.Order.id``, ``object.id``."""

    path: str
    kind: EntityKind

    @classmethod
    def named(cls, path: str, kind: str) -> Self:
        """Return the entity that a caller names; a leading dot says the same as none. ``InvalidSchema`` for another kind."""
        try:
            return cls(path.removeprefix("."), EntityKind(kind))
        except ValueError:
            kinds = " or ".join(EntityKind)
            raise InvalidSchema(f"The entity type {kind!r} of {path!r} cannot carry tags; expected {kinds}") from None


@dataclass(frozen=True, slots=True)
class TagEdit:
    """Tags to add and to remove, by entity; what is added comes first."""

    add: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)
    remove: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)

    def applied(self, entity: Entity, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags that ``entity`` carries afterwards, in the order in which they came."""
        kept = dict.fromkeys((*tags, *self.add.get(entity, ())))
        return tuple(tag for tag in kept if tag not in self.remove.get(entity, ()))

    @property
    def entities(self) -> frozenset[Entity]:
        """Everything that is named."""
        return frozenset({*self.add, *self.remove})
