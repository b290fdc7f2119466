"""The interface of the history of a baseline: which files each commit before it changed, and the files at that time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.contracts.yaml_files import YamlFiles


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit, and the object ids of the files that it changed: before it and after it, None where there was none."""

    commit: str
    files: Mapping[str, tuple[str | None, str | None]]


class Past(Protocol):
    """The states that a branch was in, up to the one that is compared with."""

    @property
    def commits(self) -> Sequence[CommitChanges]:
        """The commits that changed agreements or schemas, newest first, with what they changed."""

    @property
    def is_cut(self) -> bool:
        """Whether commits are missing in this clone, so that what the oldest one has may be older."""

    def tree(self, commit: str) -> SchemaTree:
        """Return the schema files at a commit."""

    def yaml_files(self, commit: str) -> YamlFiles:
        """Return the YAML files at a commit."""

    def contents(self, object_ids: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of files, by object id."""
