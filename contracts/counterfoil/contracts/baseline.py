"""The interface of a baseline to a check, and the baseline that consists of trees.

For each checked file, a baseline has the earlier versions that it is compared with; it also has the removed files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.matching import match_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.contracts.past import Past
    from counterfoil.contracts.tree import ReadSchema, SchemaTree
    from counterfoil.contracts.yaml_files import YamlFiles
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy


class Baseline(Protocol):
    """The source of the earlier versions of schemas."""

    @property
    def label(self) -> str:
        """The baseline's name in reports: ``main@8c1f2e0`` or a registry's address."""

    @property
    def note(self) -> str:
        """A sentence about the baseline for the report; usually empty."""

    @property
    def names_subjects(self) -> bool:
        """Whether it knows files by their subjects, so that a wrong name finds nothing."""

    @property
    def further(self) -> Sequence[Baseline]:
        """The baselines of the further subjects of files that have several; not read unless it knows subjects."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the files whose subjects it knows."""

    def subject(self, path: str) -> str | None:
        """Return the subject of the file at ``path`` if the baseline knows subjects; None otherwise."""

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return the baseline's own level for the file at ``path``; None if it has none."""

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return the baseline's own policy for the file at ``path``; None if it has none."""

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema] | None:
        """Return the earlier versions of the file at ``path``, newest first: all, or the newest alone.

        The sequence is empty for a new schema, and None if the baseline does not know which schema the file holds.
        """

    def removed(self) -> Sequence[Removed]:
        """Return the schemas of the baseline that were removed."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed schema file: its path, and the full name of what it declared, empty if it had none."""

    path: str
    name: str


class TreeBaseline:
    """Earlier states of the tree, newest first: commits, a folder, or a single file.

    ``head`` is the tree that is checked; ``is_wanted`` returns for a path of the newest state whether its removal
    matters; ``origin`` has, for the newest state, the file that each file of the head comes from, if paths and names do
    not show it. ``yaml_files`` lists the YAML files of the newest state; it is None where there are none to compare.
    ``past`` is the history of the newest state, None where it has none.
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
        yaml_files: Callable[[], YamlFiles] | None = None,
        past: Past | None = None,
    ) -> None:
        self.label = label
        self.past = past
        self.yaml_files = yaml_files
        self.note = note
        self.names_subjects = False
        self._head = head
        self._states = tuple(states)
        self._is_wanted = is_wanted
        self._origins: dict[int, Mapping[str, str]] = {} if origin is None else {0: origin}

    @property
    def newest(self) -> SchemaTree | None:
        """The newest state; None without one."""
        return self._states[0] if self._states else None

    @property
    def further(self) -> Sequence[Baseline]:
        """Nothing: trees have files, not subjects."""
        return ()

    @property
    def paths(self) -> Sequence[str]:
        """Nothing: trees have files, not subjects."""
        return ()

    def subject(self, path: str) -> str | None:
        """Return None: trees have files, not subjects."""
        del path
        return None

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return None: trees have no level."""
        del path
        return None

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return None: trees have no policy."""
        del path
        return None

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema]:
        """Return the distinct earlier contents of the schema at ``path``, newest first; moves are followed by name.

        Of a schema whose newest earlier content is its present one, only that is returned: nothing else is compared.
        """
        unchanged = self._unchanged(path)
        if unchanged is not None:
            return (unchanged,)
        found: dict[tuple[str, ...], ReadSchema] = {}
        for index in range(len(self._states) if is_transitive else min(1, len(self._states))):
            origin = self._origin(index).get(path)
            if origin is not None:
                content = self._states[index].content(origin)
                if content not in found:
                    found[content] = self._states[index].read(origin)
        return tuple(found.values())

    def _unchanged(self, path: str) -> ReadSchema | None:
        """Return the newest earlier version of the schema at ``path`` if nothing changed, without parsing it again."""
        origin = self._origin(0).get(path) if self._states else None
        if origin is None or self._states[0].content(origin) != self._head.content(path):
            return None
        return replace(self._head.read(path), label=self._states[0].label, path=origin)

    def removed(self) -> Sequence[Removed]:
        """Return the wanted files of the newest state that no file of the head comes from."""
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
