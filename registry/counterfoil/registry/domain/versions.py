"""Version numbers in paths, and the history of a subject."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import (
    InvalidSchema,
    InvalidVersion,
    ReferenceExists,
    SubjectNotFound,
    VersionNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from counterfoil.schema.contexts import QualifiedSubject

MAX_VERSION: Final = 2**31 - 1
_LATEST_NUMBER = -1
_MAX_DIGITS = 10


def parse_version(text: str) -> int | None:
    """Return the version number that a path names, or None for the latest one (``latest`` in any case, or ``-1``).

    Raises ``InvalidVersion`` for anything that is neither nor a number from 1 to 2147483647.
    """
    word = text.strip()
    if word.lower() == "latest":
        return None
    digits = word.removeprefix("+") if word[:1] == "+" else word.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits.lstrip("0")) <= _MAX_DIGITS:
        number = -int(digits) if word.startswith("-") else int(digits)
        if number == _LATEST_NUMBER:
            return None
        if 1 <= number <= MAX_VERSION:
            return number
    raise InvalidVersion(
        f"The version {text[:80]!r} is not valid; expected a number from 1 to {MAX_VERSION}, 'latest' or -1"
    )


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One row of a subject's history: its number, the id and guid of its content, the time of storage (epoch ms)."""

    version: int
    schema_id: int
    guid: UUID
    deleted: bool
    ts: int


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """One version with a schema id."""

    subject: QualifiedSubject
    version: int
    schema_id: int
    deleted: bool
    ts: int


@dataclass(frozen=True, slots=True)
class History:
    """All versions of a subject in ascending order, including soft-deleted ones.

    ``revision`` changes with every write to the subject; 0 means that it has no rows.
    """

    revision: int = 0
    entries: tuple[VersionEntry, ...] = ()

    @property
    def active(self) -> tuple[VersionEntry, ...]:
        """The versions that are not deleted, ascending."""
        return tuple(entry for entry in self.entries if not entry.deleted)

    @property
    def latest(self) -> VersionEntry | None:
        """The highest active version."""
        return next((entry for entry in reversed(self.entries) if not entry.deleted), None)

    @property
    def next_version(self) -> int:
        """The number of the next version: one above the highest, soft-deleted ones included."""
        return self.entries[-1].version + 1 if self.entries else 1

    def entries_of(self, versions: Collection[int]) -> tuple[VersionEntry, ...]:
        """Return the existing ones of some versions, soft-deleted ones included."""
        return tuple(entry for entry in self.entries if entry.version in versions)

    def put(self, entry: VersionEntry) -> History:
        """Return the history with ``entry``, which replaces one of the same number."""
        if not self.entries or entry.version > self.entries[-1].version:
            return History(self.revision, (*self.entries, entry))
        others = [other for other in self.entries if other.version != entry.version]
        return History(self.revision, tuple(sorted([*others, entry], key=lambda each: each.version)))

    def with_deleted(self, version: int) -> History:
        """Return the history with the entry of this number soft-deleted."""
        return History(
            self.revision,
            tuple(replace(entry, deleted=True) if entry.version == version else entry for entry in self.entries),
        )

    def without(self, version: int) -> History:
        """Return the history without the entry of this number."""
        return History(self.revision, tuple(entry for entry in self.entries if entry.version != version))

    def visible(self, *, deleted: bool) -> tuple[VersionEntry, ...]:
        """Return the versions that a caller sees: the active ones, and with ``deleted`` also the soft-deleted ones."""
        return self.entries if deleted else self.active

    def find(self, version: int | None, *, deleted: bool) -> VersionEntry | None:
        """Return the entry with this number, or the latest active one for None."""
        if version is None:
            return self.latest
        return next((entry for entry in self.visible(deleted=deleted) if entry.version == version), None)

    def pick(self, subject: QualifiedSubject, version: int | None, *, deleted: bool) -> VersionEntry:
        """Return the entry with this number.

        Raise ``SubjectNotFound`` if nothing is visible, else ``VersionNotFound``.
        """
        found = self.find(version, deleted=deleted)
        if found is not None:
            return found
        if not self.visible(deleted=deleted):
            raise subject_not_found(subject, self)
        raise version_not_found(subject, version, self)


def check_next_version(subject: QualifiedSubject, history: History, version: int) -> None:
    """Raise ``InvalidSchema`` unless ``version`` is the number of the next version."""
    if version != history.next_version:
        raise InvalidSchema(
            f"Version {version} is not the next one of subject {str(subject)!r}; expected {history.next_version}"
        )


def subject_not_found(subject: QualifiedSubject, history: History) -> SubjectNotFound:
    """Return the error for a subject of whose ``history`` no version is visible."""
    why = "all of its versions are soft-deleted" if history.entries else "it has no version that this request can see"
    return SubjectNotFound(f"Subject {str(subject)!r} not found: {why}")


def version_not_found(subject: QualifiedSubject, version: int | None, history: History) -> VersionNotFound:
    """Return the error for a version that is not visible in ``history``; None is the latest one."""
    if version is None:
        return VersionNotFound(
            f"The latest version (-1) of subject {str(subject)!r} not found: all of its versions are soft-deleted"
        )
    is_there = history.find(version, deleted=True) is not None
    why = ": it is soft-deleted" if is_there else ""
    return VersionNotFound(f"Version {version} of subject {str(subject)!r} not found{why}")


class ReferredTo(ReferenceExists):
    """A version cannot be deleted, since a version of ``by`` refers to it; ``referred`` is the former as a text."""

    def __init__(self, subject: QualifiedSubject, version: int, *, by: QualifiedSubject, by_version: int) -> None:
        self.referred = f"Version {version} of subject {str(subject)!r}"
        self.by = by
        super().__init__(
            f"{self.referred} is referenced by version {by_version} of subject {str(by)!r}; delete that one first"
        )
