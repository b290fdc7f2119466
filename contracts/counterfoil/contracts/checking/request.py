"""How one schema file is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterfoil.contracts.generated_code import GeneratedCode
from counterfoil.contracts.languages import subject_in_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy


@dataclass(frozen=True, slots=True)
class EarlierSubjects:
    """The subjects that files had in a baseline, in which the project was ``project``."""

    project: Project | None
    is_by_path: bool = False
    """Whether subjects are those of the files' names, as they are now."""

    def of(self, earlier: ReadSchema) -> tuple[str, ...]:
        """Return the subjects of an earlier version of a file; none where they are not known."""
        if self.project is None or not self.project.schemas:
            own = subject_in_name(earlier.path)
            return () if own is None else (own,)
        mapping = self.project.mapping(earlier.path, name=earlier.schema.name if earlier.schema else None)
        return () if mapping is None else tuple(each.name for each in mapping.subjects)


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The level and policy of a file, and what else determines its check, as for :func:`..check.check_files`.

    ``needs_subject``: a file without a subject is no answer. ``rivals`` are the other files that have a subject of this
    one, by subject. ``subjects`` returns the names of its subjects, and ``earlier_subjects`` those that it had before.
    ``is_first`` is false for a check against a further subject, in which the file itself is not judged again.
    """

    level: CompatibilityLevel
    policy: CompatibilityPolicy
    confirm: int = 0
    needs_subject: bool = False
    topics: Topics | None = None
    owner: str = ""
    subject: str | None = None
    generated_code: GeneratedCode = GeneratedCode.NONE
    rivals: Mapping[str, Sequence[str]] = field(default_factory=dict)
    subjects: Callable[[], tuple[str, ...]] = tuple
    earlier_subjects: EarlierSubjects | None = None
    is_first: bool = True
