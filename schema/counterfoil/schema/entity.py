"""The entities that can have tags, and changes of their tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Self

from counterfoil.schema.errors import InvalidSchema

if TYPE_CHECKING:
    from collections.abc import Mapping


class EntityKind(StrEnum):
    """The kind of an entity; the values are those of the REST API."""

    RECORD = "sr_record"
    FIELD = "sr_field"


@dataclass(frozen=True, slots=True)
class Entity:
    """An element of a schema that can have tags, by its ``path``: ``ns.Order``, ``ns.Order.id``, ``object.id``."""

    path: str
    kind: EntityKind

    @classmethod
    def named(cls, path: str, kind: str) -> Self:
        """Return the entity of a request; a leading dot is ignored. Raise ``InvalidSchema`` for an unknown kind."""
        try:
            return cls(path.removeprefix("."), EntityKind(kind))
        except ValueError:
            kinds = " or ".join(EntityKind)
            raise InvalidSchema(f"The entity type {kind!r} of {path!r} cannot carry tags; expected {kinds}") from None


@dataclass(frozen=True, slots=True)
class TagEdit:
    """Tags to add and to remove, by entity; tags are added first, then removed."""

    add: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)
    remove: Mapping[Entity, tuple[str, ...]] = field(default_factory=dict)

    def applied(self, entity: Entity, tags: tuple[str, ...]) -> tuple[str, ...]:
        """Return the tags of ``entity`` after the edit: ``tags``, then the added ones, without the removed ones."""
        kept = dict.fromkeys((*tags, *self.add.get(entity, ())))
        return tuple(tag for tag in kept if tag not in self.remove.get(entity, ()))

    @property
    def entities(self) -> frozenset[Entity]:
        """All entities of the edit."""
        return frozenset({*self.add, *self.remove})
