"""Planning: what has to change in a registry so that it has what the files of a project declare.

A new schema is judged under the level and policy that the project wants, whatever the registry has now. What the
project does not determine is left as it is.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project.mapping import mapping_of
from counterfoil.contracts.registration import Registration, State
from counterfoil.contracts.state.model import Change, ChangeKind, StatePlan, WantedSubject
from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.errors import ConfigNotFound
from counterfoil.schema.rest.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterfoil.contracts.project.model import FileMapping, Project
    from counterfoil.contracts.registration import Entry
    from counterfoil.contracts.state.registry import StateRegistry
    from counterfoil.contracts.tree import SchemaTree

OWNER: Final = "managed-by"
"""The property of a subject's default metadata that names the project which owns the subject."""


class Planning:
    """The plan for the files of ``tree`` at ``paths``, which ``project`` maps to subjects of ``registry``.

    Raises ``UsageMistake`` for a file that no line maps, and for two files with one subject.
    """

    def __init__(self, tree: SchemaTree, paths: Iterable[str], *, project: Project, registry: StateRegistry) -> None:
        self._tree = tree
        self._project = project
        self._registry = registry
        self._configs: dict[str, Config] = {}
        mapped = {path: mapping_of(project, tree, path) for path in paths}
        known = {path: found for path, found in mapped.items() if found and found.subject}
        _insist_on_lines(mapped)
        _insist_on_one_file(known)
        self._wanted = {str(found.subject): self._wanted_of(found) for found in known.values()}
        subjects = {path: str(found.subject) for path, found in known.items()}
        self.registration = Registration(tree, known, subject_by_path=subjects, registry=registry)

    def plan(self, *, label: str, prune: bool = False) -> StatePlan:
        """Return the plan; ``label`` names the registry. Nothing is changed.

        With ``prune``, subjects that this project owns and no file has are deleted. Raises ``UsageMistake`` if the
        project has no name to own subjects by.
        """
        if prune and self._project.managed_by is None:
            raise UsageMistake("--prune deletes what this project owns, so counterfoil.yaml needs managed-by: NAME")
        registered = self.registration.plan(label=label, project=self._project)
        changes: list[Change] = []
        for entry in registered.entries:
            changes += self._changes(entry)
        if prune:
            kept = {entry.subject for entry in registered.entries}
            changes += self._prunable(kept)
        return StatePlan(label, tuple(changes), registered.entries, registered.report, self._wanted)

    def _wanted_of(self, mapping: FileMapping) -> WantedSubject:
        line, settings = mapping.line, mapping.settings
        return WantedSubject(settings.level, settings.policy, line.mode, line.aliases, self._project.managed_by)

    def _changes(self, entry: Entry) -> Iterator[Change]:
        wanted = self._wanted.get(entry.subject, WantedSubject(owner=self._project.managed_by))
        config = self._config(entry.subject)
        if entry.state is not State.UNCHANGED:
            yield Change(ChangeKind.SCHEMA, entry.subject, self._latest(entry), self._digest(entry), entry.path)
        policy = config.compatibility_policy or CompatibilityPolicy.STRICT
        yield from _change(ChangeKind.LEVEL, entry.subject, config.compatibility_level, wanted.level)
        yield from _change(ChangeKind.POLICY, entry.subject, policy, wanted.policy)
        yield from _change(ChangeKind.OWNER, entry.subject, owner_of(config), wanted.owner)
        mode = self._registry.mode(entry.subject, default_to_global=True)
        yield from _change(ChangeKind.MODE, entry.subject, mode, wanted.mode)
        for alias in wanted.aliases:
            yield from _change(ChangeKind.ALIAS, alias, self._config(alias).alias, entry.subject)

    def _prunable(self, kept: set[str]) -> Iterator[Change]:
        for subject in sorted(set(self._registry.subjects()) - kept):
            if owner_of(own_config(self._registry, subject)) == self._project.managed_by:
                yield Change(ChangeKind.SUBJECT, subject, "subject", None)

    def _config(self, subject: str) -> Config:
        """Return the settings in effect for a subject."""
        if subject not in self._configs:
            try:
                self._configs[subject] = self._registry.config(subject, default_to_global=True)
            except ConfigNotFound:
                self._configs[subject] = Config()
        return self._configs[subject]

    def _latest(self, entry: Entry) -> str | None:
        if entry.state is State.NEW_SUBJECT:
            return None
        return f"version {max(self._registry.versions(entry.subject), default=0)}"

    def _digest(self, entry: Entry) -> str:
        """Return what identifies the text of a file and of all that it refers to."""
        hashed = json.dumps(self._tree.content(entry.path))
        return hashlib.sha256(hashed.encode()).hexdigest()


def own_config(registry: StateRegistry, subject: str) -> Config:
    """Return the settings that a subject has of its own; empty ones if it has none."""
    try:
        return registry.config(subject)
    except ConfigNotFound:
        return Config()


def owner_of(config: Config) -> str | None:
    """Return the project that owns a subject with these settings; None if none does."""
    return config.default_metadata.properties.get(OWNER) if config.default_metadata else None


def _change(kind: ChangeKind, subject: str, before: str | None, after: str | None) -> Sequence[Change]:
    """Return the change of one setting, if the project wants another value than the one in effect."""
    if after is None or before == after:
        return ()
    return (Change(kind, subject, None if before is None else str(before), str(after)),)


def _insist_on_lines(mapped: Mapping[str, FileMapping | None]) -> None:
    unmapped = [path for path, found in mapped.items() if found is None]
    nameless = [path for path, found in mapped.items() if found and not found.subject and not found.line.is_part]
    if unmapped or nameless:
        raise UsageMistake(
            f"counterfoil.yaml names no subject for {', '.join((unmapped + nameless)[:3])}; add a line under schemas, "
            "with part: true for a file that other schemas refer to"
        )


def _insist_on_one_file(known: Mapping[str, FileMapping]) -> None:
    path_by_subject: dict[str | None, str] = {}
    for path, found in known.items():
        other = path_by_subject.setdefault(found.subject, path)
        if other != path:
            raise UsageMistake(f"{other} and {path} have the same subject {found.subject!r}; a subject has one file")
