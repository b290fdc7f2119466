"""Registering schema files: each under its subject, after the files that it refers to, once all of them are judged.

A registration is planned without changing anything: which files are registered already, which would be new versions,
and what the registry's compatibility levels refuse. Only then is anything sent, so that a refusal leaves nothing half
registered. Registering a registered schema again changes nothing.

A file is unchanged if the latest version of its subject has its content. A registry gives a text that it has the
version that the text has already, so that a file which is an earlier version cannot become the latest by being
registered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from counterfoil.contracts.baselines.operands import RegistryBaseline, RegistryReader
from counterfoil.contracts.check.check import check_files
from counterfoil.contracts.errors import InvalidOperand, PreconditionFailed, UsageMistake
from counterfoil.contracts.findings import CheckReport, FailOn
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.model import NamedSubject, Project, SubjectTerms
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Metadata, Reference, Schema
from counterfoil.schema.rest.subjects import Mode
from counterfoil.schema.rest.versions import RegisteredSchema


class SchemaRegistry(RegistryReader, Protocol):
    """The part of a registry client that a registration needs; ``counterfoil.sdk.Registry`` is one."""

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return the version of the subject that has this content."""

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Register the schema and return its version, also where it is registered already."""

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> Mode | None:
        """Return the mode of a subject; with ``default_to_global``, the one in effect."""


class RegistrationState(StrEnum):
    """The effect of a registration on a file."""

    UNCHANGED = "unchanged"
    EARLIER_VERSION = "earlier version"
    NEW_VERSION = "new version"
    NEW_SUBJECT = "new subject"


_REGISTERED = frozenset({RegistrationState.UNCHANGED, RegistrationState.EARLIER_VERSION})


@dataclass(frozen=True, slots=True)
class RegistrationEntry:
    """A file, its subject, and the effect on it. ``version`` and ``id`` are None until it is registered.

    ``latest`` is the latest version of the subject before; ``same_as`` is a version with the same text, if other
    metadata make it another one than ``version``.
    """

    path: str
    subject: str
    state: RegistrationState
    version: int | None = None
    id: int | None = None
    latest: int | None = None
    same_as: int | None = None

    @property
    def is_registered(self) -> bool:
        """Whether the registry has this content already."""
        return self.state in _REGISTERED

    @property
    def repair(self) -> str:
        """The sentence that says how an earlier version becomes the latest one; empty for another state."""
        if self.state is not RegistrationState.EARLIER_VERSION:
            return ""
        return (
            f"{self.path} is version {self.version} of {self.subject}, whose latest is version {self.latest}; a "
            f"registry gives an old text its old version, so take the latest text into the file (counterfoil schema "
            f"get {self.subject}), or delete the versions after it (counterfoil subjects delete {self.subject} "
            f"--version {self.latest})"
        )


@dataclass(frozen=True, slots=True)
class RegistrationPlan:
    """The effects of a registration, in the order of references, and the verdict on the files that would be new."""

    entries: tuple[RegistrationEntry, ...]
    report: CheckReport


class FileRegistration:
    """The registration of the files of ``tree`` at ``paths`` and of all files that they refer to.

    ``subjects`` names the subjects; a file with several is registered under each of them. ``normalize`` is passed to
    the registry, also for subjects whose terms do not say so. ``will_be_writable`` has subjects whose mode is changed
    first, so that it does not matter. Raises ``InvalidOperand`` for a file that is not a schema, ``UsageMistake`` for
    one that has no subject, and for several files with one subject.
    """

    def __init__(
        self,
        tree: SchemaTree,
        paths: Iterable[str],
        *,
        subjects: Subjects,
        registry: SchemaRegistry,
        normalize: bool = False,
        will_be_writable: Collection[str] = (),
    ) -> None:
        self._tree = tree
        self._registry = registry
        self._normalize = normalize
        self._will_be_writable = will_be_writable
        self._latest_by_subject: dict[str, RegisteredSchema | None] = {}
        self._order = self._ordered(sorted(paths))
        self._subjects = self.subjects = subjects.held_by(registry, self._order)
        for path in self._order:
            self._insist_on_subject(path)

    def plan(self, *, label: str, project: Project | None = None, needs_both: bool = False) -> RegistrationPlan:
        """Return the effects of the registration; ``label`` names the registry. Nothing is changed.

        The files are judged under the levels and policies of ``project``, or else those of the registry; under both if
        ``needs_both``, since the levels of the registry stay as they are. Raises ``PreconditionFailed`` if the mode of
        a subject permits no new version.
        """
        entries: list[RegistrationEntry] = []
        done: dict[str, RegistrationEntry] = {}
        for path in self._order:
            found = [self._planned(path, subject, done) for subject in self._subjects.of(path).subjects]
            done[path] = found[0]
            entries += found
        report = self._judged(entries, label, project)
        if needs_both and project is not None and not report.is_broken(FailOn.ERROR):
            report = self._judged(entries, label, None)
        return RegistrationPlan(tuple(entries), report)

    def _judged(self, entries: Sequence[RegistrationEntry], label: str, project: Project | None) -> CheckReport:
        """Return the verdict on the files that would be new, each for the subjects in which it would be."""
        new = {(each.path, each.subject) for each in entries if not each.is_registered}
        paths = [path for path in self._order if any(path == each for each, _ in new)]
        chosen = self._subjects.restricted(new)
        baseline = RegistryBaseline.of(self._registry, chosen, paths, label)
        return check_files(self._tree, paths, baseline=baseline, allow_unmapped=True, project=project, subjects=chosen)

    def held(self) -> Mapping[str, RegistrationEntry]:
        """Return the files by path, all of which are registered, in whichever version.

        Raises ``SubjectNotFound`` and ``SchemaNotFound`` for one that is not.
        """
        entries: dict[str, RegistrationEntry] = {}
        for path in self._order:
            entries[path] = self._held(path, entries)
        return entries

    def schema(self, path: str) -> Schema:
        """Return the schema of a file, which need not be registered; the files that it refers to are.

        Raises ``SubjectNotFound`` and ``SchemaNotFound`` for one of them that is not.
        """
        referred = frozenset(self._tree.referred(path).values())
        entries: dict[str, RegistrationEntry] = {}
        for each in self._order:
            if each in referred:
                entries[each] = self._held(each, entries)
        return self._schema(path, entries)

    def run(self, plan: RegistrationPlan) -> Iterator[RegistrationEntry]:
        """Register the new schemas; yield every file when it is registered, with its version and id.

        Raises the registry's errors; all yielded files are registered, and running again continues.
        """
        done: dict[str, RegistrationEntry] = {}
        for entry in plan.entries:
            registered = self.register(entry, done)
            done.setdefault(entry.path, registered)
            yield registered

    def register(self, entry: RegistrationEntry, done: Mapping[str, RegistrationEntry]) -> RegistrationEntry:
        """Register one file of a plan, if it is new, and return it with its version and id.

        ``done`` has the files that it refers to. Raises the registry's errors.
        """
        if entry.is_registered:
            return entry
        named = self._named(entry)
        schema = self._schema(entry.path, done)
        if named.terms.metadata is not None:
            schema = replace(schema, metadata=self._metadata(named, self._latest(entry.subject)))
        normalize = self._normalizes(named)
        found = self._registry.register(entry.subject, schema, normalize=normalize)
        version = found.version
        if version is None:  # before Confluent's 8.0 the response has only the id
            version = self._registry.lookup(entry.subject, schema, normalize=normalize).version
        return replace(entry, version=version, id=found.id)

    def terms(self, entry: RegistrationEntry) -> SubjectTerms:
        """Return the terms under which a file is registered in the subject of an entry."""
        return self._named(entry).terms

    def _ordered(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the files and all that they refer to, each after its references."""
        order: dict[str, None] = {}
        for path in paths:
            read = self._tree.read(path)
            if fault := read.problem or next(iter(read.missing), None):
                raise InvalidOperand(path, fault.text, position=fault.position)
            for referred in self._tree.referred(path).values():
                order.setdefault(referred)
            order.setdefault(path)
        return tuple(order)

    def _insist_on_subject(self, path: str) -> None:
        if not self._subjects.names(path):
            raise UsageMistake(self._without_subject(path))
        for subject, others in self._subjects.rivals(path).items():
            raise UsageMistake(f"{others[0]} and {path} have the same subject {subject!r}; a subject has one file")

    def _without_subject(self, path: str) -> str:
        if self._subjects.project is not None and self._subjects.project.schemas:
            return (
                f"counterfoil.yaml names no subject for {path}; add a line under schemas, or name it with --subject "
                f"{path}=SUBJECT"
            )
        return (
            f"{path} has no subject: name it with --subject {path}=SUBJECT, or let the file's name end in -key or "
            "-value"
        )

    def _named(self, entry: RegistrationEntry) -> NamedSubject:
        return next(each for each in self._subjects.of(entry.path).subjects if each.name == entry.subject)

    def _normalizes(self, subject: NamedSubject) -> bool:
        return self._normalize if subject.terms.normalize is None else subject.terms.normalize

    def _planned(self, path: str, named: NamedSubject, entries: Mapping[str, RegistrationEntry]) -> RegistrationEntry:
        subject = named.name
        if all(entries[one].is_registered for one in self._tree.direct_references(path).values()):
            held = self._found(path, named, entries)
            if held is not None:
                return held
        mode = self._registry.mode(subject, default_to_global=True)
        if mode is not None and mode.is_read_only and subject not in self._will_be_writable:
            raise PreconditionFailed(f"{path} cannot be registered: the mode of subject {subject!r} is {mode.value}")
        latest = self._latest(subject)
        if latest is None:
            return RegistrationEntry(path, subject, RegistrationState.NEW_SUBJECT)
        return RegistrationEntry(path, subject, RegistrationState.NEW_VERSION, latest=latest.version)

    def _found(
        self, path: str, named: NamedSubject, entries: Mapping[str, RegistrationEntry]
    ) -> RegistrationEntry | None:
        """Return the file as it is registered: unchanged, or as an earlier version; None if it is not."""
        latest = self._latest(named.name)
        if latest is None:
            return None
        earlier = None
        for schema in self._schemas(path, entries):
            like_latest = replace(
                schema, metadata=self._metadata(named, latest), rule_set=schema.rule_set or latest.schema.rule_set
            )
            has_metadata = like_latest.metadata == latest.schema.metadata
            found = self._looked_up(named, like_latest)
            is_plain = like_latest == schema or named.terms.metadata is not None
            plain = found if is_plain else self._looked_up(named, schema)
            if found is not None and found.version == latest.version and has_metadata:
                same = plain.version if plain is not None else None
                return RegistrationEntry(
                    path, named.name, RegistrationState.UNCHANGED, latest.version, latest.id, latest.version, same
                )
            held = plain or found
            is_other = held is not None and (has_metadata or held.version != latest.version)
            if earlier is None and held is not None and is_other and self._has_metadata(named, held):
                earlier = RegistrationEntry(
                    path, named.name, RegistrationState.EARLIER_VERSION, held.version, held.id, latest.version
                )
        return earlier

    @staticmethod
    def _has_metadata(named: NamedSubject, held: RegisteredSchema) -> bool:
        """Return whether a version has the metadata that the project declares."""
        declared = named.terms.metadata
        return declared is None or _over(held.schema.metadata, declared) == held.schema.metadata

    def _looked_up(self, named: NamedSubject, schema: Schema) -> RegisteredSchema | None:
        try:
            return self._registry.lookup(named.name, schema, normalize=self._normalizes(named))
        except (SubjectNotFound, SchemaNotFound, VersionNotFound):
            return None

    def _metadata(self, named: NamedSubject, latest: RegisteredSchema | None) -> Metadata | None:
        """Return the metadata of the next version: the latest version's, and over them the project's declarations."""
        held = latest.schema.metadata if latest is not None else None
        return held if named.terms.metadata is None else _over(held, named.terms.metadata)

    def _latest(self, subject: str) -> RegisteredSchema | None:
        """Return the latest version of a subject as it was before anything was registered; None without one."""
        if subject not in self._latest_by_subject:
            try:
                self._latest_by_subject[subject] = self._registry.version(subject)
            except (SubjectNotFound, VersionNotFound):
                self._latest_by_subject[subject] = None
        return self._latest_by_subject[subject]

    def _held(self, path: str, entries: Mapping[str, RegistrationEntry]) -> RegistrationEntry:
        named = self._subjects.of(path).subjects[0]
        schema = self._schema(path, entries)
        found = self._registry.lookup(named.name, schema, normalize=self._normalizes(named))
        return RegistrationEntry(path, named.name, RegistrationState.UNCHANGED, found.version, found.id)

    def _schema(self, path: str, entries: Mapping[str, RegistrationEntry]) -> Schema:
        """Return the schema of a file, whose references name the subjects and versions of the entries."""
        return self._referring(path, {target: entry.version for target, entry in entries.items()}, entries)

    def _schemas(self, path: str, entries: Mapping[str, RegistrationEntry]) -> Iterator[Schema]:
        """Yield the schema of a file with references to the versions, then to those with the same texts."""
        yield self._schema(path, entries)
        same = {target: entry.same_as or entry.version for target, entry in entries.items()}
        if any(same[target] != entries[target].version for target in self._tree.direct_references(path).values()):
            yield self._referring(path, same, entries)

    def _referring(
        self, path: str, versions: Mapping[str, int | None], entries: Mapping[str, RegistrationEntry]
    ) -> Schema:
        references = [
            Reference(name=name, subject=entries[target].subject, version=versions[target] or -1)
            for name, target in self._tree.direct_references(path).items()
        ]
        return Schema(self._tree.text(path), self._tree.language(path), tuple(references))


def _over(held: Metadata | None, declared: Metadata) -> Metadata:
    """Return the metadata of a version, with the project's declarations over them."""
    under = held or Metadata()
    return Metadata(
        tags={**under.tags, **declared.tags},
        properties={**under.properties, **declared.properties},
        sensitive=tuple(sorted({*under.sensitive, *declared.sensitive})),
    )
