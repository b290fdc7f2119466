"""What a check asks of a baseline, and the baseline that consists of trees.

A baseline knows, for a file that is checked, the earlier versions to judge it against, and which files went away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.matching import match_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.contracts.tree import ReadSchema, SchemaTree
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy


class Baseline(Protocol):
    """Where the earlier versions of schemas come from."""

    @property
    def label(self) -> str:
        """What it is, for reports: ``main@8c1f2e0`` or a registry's address."""

    @property
    def note(self) -> str:
        """What readers of the report should know about it, as a sentence; usually empty."""

    @property
    def names_subjects(self) -> bool:
        """Whether it knows files by their subjects, so that a wrong name finds nothing."""

    def subject(self, path: str) -> str | None:
        """The subject of the file at ``path``, where the baseline knows subjects; None otherwise."""

    def level(self, path: str) -> CompatibilityLevel | None:
        """The level that the baseline itself asks of the file at ``path``; None when it asks none."""

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """The policy that the baseline itself asks of the file at ``path``; None when it asks none."""

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema] | None:
        """The earlier versions of the file at ``path``, newest first, all or the newest alone.

        It is empty for a schema that is new, and None when the baseline cannot tell which schema the file holds.
        """

    def removed(self) -> Sequence[Removed]:
        """The schemas that were there and are there no longer."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A schema file that is gone: where it was, and the full name of what it declared, empty where it had none."""

    path: str
    name: str


class TreeBaseline:
    """Earlier states of the tree, newest first: commits, a folder, or a single file.

    ``head`` is the tree that is checked; ``is_wanted`` tells for a path of the newest state whether its removal
    matters; ``origin`` says for the newest state which file each file of the head comes from, where that is not to be
    found out by path and name.
    """

    def __init__(
        self,
        head: SchemaTree,
        states: Iterable[SchemaTree],
        *,
        label: str,
        is_wanted: Callable[[str], bool],
        origin: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        self.label = label
        self.note = note
        self.names_subjects = False
        self._head = head
        self._states = tuple(states)
        self._is_wanted = is_wanted
        self._origins: dict[int, Mapping[str, str]] = {} if origin is None else {0: origin}

    def subject(self, path: str) -> str | None:
        """None: trees know files, not subjects."""
        del path
        return None

    def level(self, path: str) -> CompatibilityLevel | None:
        """None: trees ask no level."""
        del path
        return None

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """None: trees ask no policy."""
        del path
        return None

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema]:
        """The distinct earlier contents of the schema at ``path``, newest first; moves are followed by name."""
        found: dict[tuple[str, ...], ReadSchema] = {}
        for index in range(len(self._states) if is_transitive else min(1, len(self._states))):
            origin = self._origin(index).get(path)
            if origin is not None:
                content = self._states[index].content(origin)
                if content not in found:
                    found[content] = self._states[index].read(origin)
        return tuple(found.values())

    def removed(self) -> Sequence[Removed]:
        """The wanted files of the newest state that no file of the head comes from."""
        if not self._states:
            return ()
        newest, kept = self._states[0], set(self._origin(0).values())
        gone = (path for path in newest.paths if path not in kept and self._is_wanted(path))
        return tuple(Removed(path, _name(newest, path)) for path in gone)

    def _origin(self, index: int) -> Mapping[str, str]:
        if index not in self._origins:
            self._origins[index] = match_paths(self._head, self._states[index])
        return self._origins[index]


def _name(tree: SchemaTree, path: str) -> str:
    names = tree.outline(path)
    return (names and names.name) or ""
