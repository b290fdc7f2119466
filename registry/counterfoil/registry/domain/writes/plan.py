"""Write plans: guards and effects, carried out all or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.writes.author import UNKNOWN
from counterfoil.registry.domain.writes.effects import PutRecord, PutSettings, PutVersion
from counterfoil.registry.domain.writes.guards import RecordAt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.registry.domain.writes.author import Author
    from counterfoil.registry.domain.writes.effects import Effect
    from counterfoil.registry.domain.writes.guards import Guard
    from counterfoil.schema.rest.object_forms import Document

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Plan:
    """The guards of a write, which are all checked first, and its effects, in their order; ``author`` requested it."""

    guards: tuple[Guard, ...] = ()
    effects: tuple[Effect, ...] = ()
    author: Author = UNKNOWN

    @property
    def new_versions(self) -> tuple[PutVersion, ...]:
        """The versions that the plan stores."""
        return tuple(effect for effect in self.effects if isinstance(effect, PutVersion))

    @property
    def changes_terms(self) -> bool:
        """Whether config or modes are changed, or records on which registrations and deletions depend."""
        return any(
            isinstance(effect, PutSettings) or (isinstance(effect, PutRecord) and effect.is_term)
            for effect in self.effects
        )

    @property
    def changes_leased(self) -> bool:
        """Whether records are written that servers answer by under the lease of ids."""
        return any(isinstance(effect, PutRecord) and effect.is_leased for effect in self.effects)


def together(plans: Iterable[Plan]) -> Plan:
    """Return the plan that carries out all of ``plans`` or none: no effect of one makes a guard of another fail."""
    parts = tuple(plans)
    return Plan(
        tuple(guard for plan in parts for guard in plan.guards),
        tuple(effect for plan in parts for effect in plan.effects),
    )


def record_write(
    kind: str,
    key: tuple[str, ...],
    document: Document | None,
    *,
    revision: int,
    is_term: bool = False,
    for_audit: Mapping[str, str] = _NOTHING,
) -> Plan:
    """Return the plan that stores a record, or deletes it if ``document`` is None.

    ``revision`` is the one that was read, 0 if there was no such record. ``for_audit``: see :class:`PutRecord`.
    """
    return Plan((RecordAt(kind, key, revision),), (PutRecord(kind, key, document, is_term, for_audit=for_audit),))
