"""Sets of subjects: one, those of a context, or all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.contexts import QualifiedSubject


@dataclass(frozen=True, slots=True)
class Extent:
    """The subjects with a context and a name; None stands for every one."""

    context: str | None = None
    name: str | None = None

    @classmethod
    def of(cls, subject: QualifiedSubject) -> Extent:
        """Return the extent of one subject."""
        return cls(subject.context, subject.name)

    def __contains__(self, subject: QualifiedSubject) -> bool:
        return self.context in {None, subject.context} and self.name in {None, subject.name}
