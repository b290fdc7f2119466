"""Registering schema files: each under its subject, after the files that it refers to, once all of them are judged.

A registration is planned without changing anything: which files are registered already, which would be new versions,
and what the registry's compatibility levels refuse. Only then is anything sent, so that a refusal leaves nothing half
registered. Registering again what is registered changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.baselines.registry import RegistryBaseline, RegistryReader
from counterfoil.contracts.check import check_files
from counterfoil.contracts.errors import InvalidOperand, PreconditionFailed, UsageMistake
from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Reference, Schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from counterfoil.contracts.model import CheckReport
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.rest.modes import Mode
    from counterfoil.schema.rest.versions import RegisteredSchema


class SchemaRegistry(RegistryReader, Protocol):
    """The part of a registry client that a registration needs; ``counterfoil.sdk.Registry`` is one."""

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return the version of the subject that has this content."""

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Register the schema and return its version, also where it is registered already."""

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> Mode | None:
        """Return the mode of a subject; with ``default_to_global``, the one in effect."""


class State(StrEnum):
    """What a registration does, or has done, with a file."""

    UNCHANGED = "unchanged"
    NEW_VERSION = "new version"
    NEW_SUBJECT = "new subject"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, its subject, and what becomes of it. ``version`` and ``id`` are None until it is registered."""

    path: str
    subject: str
    state: State
    version: int | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a registration would do, in the order of references, and the verdict on the files that would be new."""

    entries: tuple[Entry, ...]
    report: CheckReport


class Registration:
    """The registration of the files of ``tree`` at ``paths`` and of all files that they refer to.

    ``subject_by_path`` names the subjects. A file without one gets the name by which others refer to it: the full name
    of an Avro type, the import path of a Protobuf file, the reference of a JSON schema. ``normalize`` is passed to the
    registry. ``will_be_writable`` has subjects whose mode is changed first, so that it does not matter. Raises
    ``InvalidOperand`` for a file that is not a schema, ``UsageMistake`` for one that has no subject.
    """

    def __init__(
        self,
        tree: SchemaTree,
        paths: Iterable[str],
        *,
        subject_by_path: Mapping[str, str],
        registry: SchemaRegistry,
        normalize: bool = False,
        will_be_writable: Collection[str] = (),
    ) -> None:
        self._tree = tree
        self._registry = registry
        self._normalize = normalize
        self._will_be_writable = will_be_writable
        self._name_by_path: dict[str, str] = {}
        self._order = self._ordered(sorted(paths))
        self._subject_by_path = {path: self._subject(path, subject_by_path) for path in self._order}

    def plan(self, *, label: str, project: Project | None = None) -> Plan:
        """Return what the registration would do; ``label`` names the registry. Nothing is changed.

        The files are judged under the levels and policies of ``project``, or else those of the registry.
        Raises ``PreconditionFailed`` if the mode of a subject permits no new version.
        """
        entries: dict[str, Entry] = {}
        for path in self._order:
            entries[path] = self._planned(path, entries)
        new = [path for path, entry in entries.items() if entry.state is not State.UNCHANGED]
        baseline = RegistryBaseline(self._registry, self._subject_by_path, label=label)
        return Plan(
            tuple(entries.values()),
            check_files(self._tree, new, baseline=baseline, allow_unmapped=True, project=project),
        )

    def held(self) -> Mapping[str, Entry]:
        """Return the files by path, all of which are registered.

        Raises ``SubjectNotFound`` and ``SchemaNotFound`` for one that is not.
        """
        entries: dict[str, Entry] = {}
        for path in self._order:
            entries[path] = self._held(path, entries)
        return entries

    def schema(self, path: str) -> Schema:
        """Return the schema of a file, which need not be registered; the files that it refers to are.

        Raises ``SubjectNotFound`` and ``SchemaNotFound`` for one of them that is not.
        """
        referred = frozenset(self._tree.referred(path).values())
        entries: dict[str, Entry] = {}
        for each in self._order:
            if each in referred:
                entries[each] = self._held(each, entries)
        return self._schema(path, entries)

    def run(self, plan: Plan) -> Iterator[Entry]:
        """Register what is new; yield every file when it is registered, with its version and id.

        Raises the registry's errors; what was yielded before is registered, and running again continues.
        """
        done: dict[str, Entry] = {}
        for entry in plan.entries:
            done[entry.path] = self.register(entry, done)
            yield done[entry.path]

    def register(self, entry: Entry, done: Mapping[str, Entry]) -> Entry:
        """Register one file of a plan, if it is new, and return it with its version and id.

        ``done`` has the files that it refers to. Raises the registry's errors.
        """
        if entry.state is State.UNCHANGED:
            return entry
        schema = self._schema(entry.path, done)
        found = self._registry.register(entry.subject, schema, normalize=self._normalize)
        version = found.version
        if version is None:  # before Confluent's 8.0 the response has only the id
            version = self._registry.lookup(entry.subject, schema).version
        return replace(entry, version=version, id=found.id)

    def _ordered(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the files and all that they refer to, each after what it refers to."""
        order: dict[str, None] = {}
        for path in paths:
            read = self._tree.read(path)
            if fault := read.problem or next(iter(read.missing), None):
                raise InvalidOperand(path, fault.text, position=fault.position)
            for name, referred in self._tree.referred(path).items():
                self._name_by_path.setdefault(referred, name)
                order.setdefault(referred)
            order.setdefault(path)
        return tuple(order)

    def _subject(self, path: str, given: Mapping[str, str]) -> str:
        subject = given.get(path) or self._name_by_path.get(path)
        if subject is None:
            raise UsageMistake(
                f"{path} has no subject: name it with --subject {path}=SUBJECT, or let the file's name end in -key or "
                "-value"
            )
        return subject

    def _planned(self, path: str, entries: Mapping[str, Entry]) -> Entry:
        subject = self._subject_by_path[path]
        if all(entries[one].state is State.UNCHANGED for one in self._tree.direct_references(path).values()):
            try:
                return self._held(path, entries)
            except (SubjectNotFound, SchemaNotFound, VersionNotFound):
                pass
        mode = self._registry.mode(subject, default_to_global=True)
        if mode is not None and mode.is_read_only and subject not in self._will_be_writable:
            raise PreconditionFailed(f"{path} cannot be registered: the mode of subject {subject!r} is {mode.value}")
        try:
            self._registry.versions(subject)
        except SubjectNotFound:
            return Entry(path, subject, State.NEW_SUBJECT)
        return Entry(path, subject, State.NEW_VERSION)

    def _held(self, path: str, entries: Mapping[str, Entry]) -> Entry:
        subject = self._subject_by_path[path]
        found = self._registry.lookup(subject, self._schema(path, entries), normalize=self._normalize)
        return Entry(path, subject, State.UNCHANGED, found.version, found.id)

    def _schema(self, path: str, entries: Mapping[str, Entry]) -> Schema:
        """Return the schema of a file, whose references name the subjects and versions of the entries."""
        references = []
        for name, target in self._tree.direct_references(path).items():
            entry = entries[target]
            references.append(Reference(name=name, subject=entry.subject, version=entry.version or -1))
        return Schema(self._tree.text(path), self._tree.language(path), tuple(references))
