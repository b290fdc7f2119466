"""Subjects by their associations, for the listing of all schemas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.registry.service.associations.use_cases import Associations
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.associations import Association

NO_LIFECYCLE: Final = "NONE"
"""Among lifecycles: subjects without any association too."""


@dataclass(frozen=True, slots=True)
class AssociationFilter:
    """Which subjects are asked for, by their associations; an empty part asks nothing.

    What was found for a subject is remembered, for it is asked once for each of its versions.
    """

    associations: Associations
    types: frozenset[str]
    lifecycles: frozenset[str]
    resource_type: str
    _found: dict[QualifiedSubject, list[Association] | None] = field(default_factory=dict)

    async def find(self, subject: QualifiedSubject) -> list[Association] | None:
        """The associations of ``subject`` that are asked for; None when the subject is not."""
        if subject not in self._found:
            self._found[subject] = self._admitted(await self.associations.of_subject(subject))
        return self._found[subject]

    def _admitted(self, found: list[Association]) -> list[Association] | None:
        kept = [each for each in found if self._matches(each)]
        if kept or (NO_LIFECYCLE in self.lifecycles and not found):
            return kept
        return None

    def _matches(self, association: Association) -> bool:
        return (
            (not self.types or association.type in self.types)
            and (not self.lifecycles or association.lifecycle in self.lifecycles)
            and self.resource_type in {"", association.resource.type}
        )
