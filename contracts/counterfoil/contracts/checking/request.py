"""How one schema file is checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.generated_code import GeneratedCode
from counterfoil.contracts.languages import subject_in_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.contracts.baseline import Baseline
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.topic_records import Topics
    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy


class Before(NamedTuple):
    """The files as they were, None where that is not known, and the project as it was."""

    files: Baseline | None
    project: Project | None


class EarlierSubjects:
    """The subjects that files had before; ``before`` is called when they are first needed."""

    def __init__(self, before: Callable[[], Before]) -> None:
        self._call = before

    @cached_property
    def _before(self) -> Before:
        return self._call()

    def of(self, path: str, earlier: ReadSchema | None = None) -> EarlierSubject | None:
        """Return the subjects of the file that the one at ``path`` comes from; None where they are not known.

        ``earlier`` is that file if it is known already.
        """
        files, project = self._before
        if earlier is None:
            history = files.history(path, is_transitive=False) if files is not None else ()
            if not history:
                return None
            earlier = history[0]
        names = _subjects_in(project, earlier)
        return EarlierSubject(earlier.path, earlier.label, names) if names else None


def _subjects_in(project: Project | None, earlier: ReadSchema) -> tuple[str, ...]:
    if project is None or not project.schemas:
        own = subject_in_name(earlier.path)
        return () if own is None else (own,)
    mapping = project.mapping(earlier.path, name=earlier.schema.name if earlier.schema else None)
    return () if mapping is None else tuple(each.name for each in mapping.subjects)


class EarlierSubject(NamedTuple):
    """The subjects of an earlier file, with its path and the name of the side that has it."""

    path: str
    label: str
    names: tuple[str, ...]

    def change_text(self, path: str, now: Sequence[str]) -> str:
        """Return the sentence that the file, now at ``path``, has other subjects ``now``; empty if it keeps its own."""
        if set(self.names) <= set(now):
            return ""
        was, is_now = (" and ".join(map(repr, each)) for each in (self.names, now))
        moved = f"; the file was {self.path}" if self.path != path else ""
        if not now:
            return f"this file has no subject now, and had {was}{moved}"
        return f"the subject of this file is {is_now} now, and was {was}{moved}"


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The level and policy of a file, and what else determines its check, as for :func:`..check.check_files`.

    ``needs_subject``: a file without a subject is no answer. ``rivals`` are the other files that have a subject of this
    one, by subject. ``subjects`` returns the names of its subjects, and ``earlier_subjects`` those that it had before.
    ``is_by_name``: nothing but the path says which subject it is. ``is_first`` is false for a check against a further
    subject, in which the file itself is not judged again.
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
    unmapped: Sequence[str] = ()
    subjects: Callable[[], tuple[str, ...]] = tuple
    earlier_subjects: EarlierSubjects | None = None
    is_first: bool = True
    is_by_name: bool = False
