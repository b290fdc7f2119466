"""The changes after which a registry agrees with the declarations of a project, and their application."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from typing import Final, TypeVar

from counterfoil.contracts.deploy.plans import PlannedChange, PlannedChangeKind, StatePlan, StateRegistry, WantedSubject
from counterfoil.contracts.deploy.registration import FileRegistration, RegistrationEntry, RegistrationState
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.associations import TopicAssociation
from counterfoil.contracts.project.model import FileMapping, Project
from counterfoil.contracts.project.subjects import FileSubjects, Subjects, alias_text, other_alias_text
from counterfoil.schema.compatibility import CompatibilityPolicy, parse_level
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import ConfigNotFound, ModeNotFound, RegistryError
from counterfoil.schema.model import Metadata
from counterfoil.schema.rest.bridges import BridgeState
from counterfoil.schema.rest.schemas import METADATA
from counterfoil.schema.rest.subjects import TOPIC, Association, Config, Mode
from counterfoil.schema.rest.versions import Deletion
from counterfoil.sdk import operations
from counterfoil.sdk.errors import UnexpectedReply
from counterfoil.sdk.operations import Operation

# Why a subject must not be deleted yet: someone reads it, a bridge needs it, or a topic is associated with it.

_T = TypeVar("_T")
_UNUSED: Final = frozenset({BridgeState.PLANNED, BridgeState.ROLLED_BACK, BridgeState.RETIRED})


def uses_of(subject: str, registry: StateRegistry, held: Iterable[Association]) -> Iterator[str]:
    """Yield who uses a subject, as sentences; nothing of a registry that stores neither contracts nor bridges.

    ``held`` are the associations of the registry. A consumer counts while it is live in an environment, as for
    ``counterfoil can-i-deploy --retire``.
    """
    for each in _listed(registry, operations.consumers(subject)):
        if each.environments:
            yield f"{each.application} {each.version} reads it in {', '.join(each.environments)}"
    for status in _listed(registry, operations.bridges(subject=subject)):
        bridge = status.bridge
        if bridge.state not in _UNUSED:
            yield f"the bridge {bridge.name}, which is {bridge.state}, converts its records or writes them"
    held_by = parse_subject(subject)
    for association in held:
        if association.subject == held_by:
            yield f"it is associated with the {association.resource}"


def associations(registry: StateRegistry) -> tuple[Association, ...]:
    """Return all associations of a registry; an empty tuple if it has none, or no such feature."""
    return _listed(registry, operations.associations())


def _listed(registry: StateRegistry, operation: Operation[tuple[_T, ...]]) -> tuple[_T, ...]:
    """Return the entries of a registry's listing; an empty tuple if it has no such listing."""
    try:
        return registry.call_all(operation)
    except (RegistryError, UnexpectedReply) as refusal:
        if refusal.status != HTTPStatus.NOT_FOUND:
            raise
        return ()


# Planning: what has to change in a registry so that it has what the files of a project declare.
#
# A new schema is judged under the level and policy that the project wants, whatever the registry has now. A level is
# loosened before a schema is registered and tightened after it, so that the registry accepts what the wanted level
# allows. What the project does not determine is left as it is.

OWNER: Final = "managed-by"
"""The property of a subject's default metadata that names the project which owns the subject."""


class Planning:
    """The plan for the files of ``tree`` at ``paths``, which ``project`` maps to subjects of ``registry``.

    Raises ``UsageMistake`` for a file that no line maps, and for two files with one subject or alias.
    """

    def __init__(self, tree: SchemaTree, paths: Iterable[str], *, project: Project, registry: StateRegistry) -> None:
        self._tree = tree
        self._project = project
        self._registry = registry
        self._configs: dict[str, Config] = {}
        self._subjects = Subjects(tree, project)
        found = [self._subjects.of(path) for path in paths]
        _insist_on_lines(found)
        _insist_on_one_file((each.path, name) for each in found if not each.is_part for name in each.names)
        known = [each.path for each in found if not each.is_part]
        writable = {
            name for each in found if each.mapping for name in each.names if _is_writable(each.mapping.line.mode)
        }
        self.registration = FileRegistration(
            tree, known, subjects=self._subjects, registry=registry, will_be_writable=writable
        )
        held = (self.registration.subjects.of(each.path) for each in found)
        self._wanted = {name: self._wanted_of(each.mapping) for each in held if each.mapping for name in each.names}

    def plan(self, *, label: str, prune: bool = False, notes: Iterable[str] = ()) -> StatePlan:
        """Return the plan; ``label`` names the registry, ``notes`` are about the files. Nothing is changed.

        With ``prune``, subjects that this project owns, no file has and nobody uses are deleted. Raises
        ``UsageMistake`` if the project has no name to own subjects by.
        """
        if prune and self._project.managed_by is None:
            raise UsageMistake("--prune deletes what this project owns, so counterfoil.yaml needs managed-by: NAME")
        registered = self.registration.plan(label=label, project=self._project)
        _insist_on_one_file((entry.path, entry.subject) for entry in registered.entries)
        subjects = {entry.subject for entry in registered.entries}
        _insist_on_free_aliases(self._wanted, subjects)
        changes: list[PlannedChange] = []
        for entry in registered.entries:
            changes += self._changes(entry)
        kept: dict[str, tuple[str, ...]] = {}
        if prune:
            referred = self._owned(subjects)
            kept = self._in_use(referred)
            changes += _deletions({each: others for each, others in referred.items() if each not in kept})
        return StatePlan(label, tuple(changes), registered.entries, registered.report, self._wanted, kept, tuple(notes))

    def _wanted_of(self, mapping: FileMapping) -> WantedSubject:
        line, settings = mapping.line, mapping.settings
        return WantedSubject(
            settings.level, settings.policy, line.mode, line.aliases, line.associations, self._project.managed_by
        )

    def _changes(self, entry: RegistrationEntry) -> Iterator[PlannedChange]:
        """Yield the changes of a subject in the order in which they are made."""
        settings = [*self._settings(entry.subject)]
        yield from (each for each in settings if _is_first(each))
        if entry.state is RegistrationState.EARLIER_VERSION:
            latest, own = (f"version {each}" for each in (entry.latest, entry.version))
            yield PlannedChange(PlannedChangeKind.LATEST, entry.subject, latest, own, entry.path)
        elif entry.state is not RegistrationState.UNCHANGED:
            yield PlannedChange(
                PlannedChangeKind.SCHEMA, entry.subject, self._latest(entry), self._digest(entry), entry.path
            )
        yield from (each for each in reversed(settings) if not _is_first(each))
        for alias in self._wanted_by(entry.subject).aliases:
            yield from _change(PlannedChangeKind.ALIAS, alias, self._config(alias).alias, entry.subject)
        yield from self._associations(entry.subject)

    def _associations(self, subject: str) -> Iterator[PlannedChange]:
        """Yield the associations to create. Raises ``UsageMistake`` for a topic that has another subject."""
        for wanted in self._wanted_by(subject).associations:
            of_topic = [each for each in self._held_associations if _is_of(each, wanted)]
            other = next((each for each in of_topic if each.subject != parse_subject(subject)), None)
            if other is not None:
                raise UsageMistake(
                    f"{wanted.topic} has the subject {str(other.subject)!r} for its {wanted.type} already, and "
                    f"counterfoil.yaml names {subject!r}; delete that association first"
                )
            if not of_topic:
                yield PlannedChange(PlannedChangeKind.ASSOCIATION, subject, None, str(wanted))

    @cached_property
    def _held_associations(self) -> tuple[Association, ...]:
        return associations(self._registry)

    def _settings(self, subject: str) -> Iterator[PlannedChange]:
        """Yield the changes of a subject's settings; a registry may refuse the others while a mode is read-only."""
        wanted, config = self._wanted_by(subject), self._config(subject)
        policy = config.compatibility_policy or CompatibilityPolicy.STRICT
        yield from _change(
            PlannedChangeKind.MODE, subject, self._registry.mode(subject, default_to_global=True), wanted.mode
        )
        yield from _change(PlannedChangeKind.OWNER, subject, owner_of(config), wanted.owner)
        yield from _change(PlannedChangeKind.POLICY, subject, policy, wanted.policy)
        yield from _change(PlannedChangeKind.LEVEL, subject, config.compatibility_level, wanted.level)

    def _wanted_by(self, subject: str) -> WantedSubject:
        return self._wanted.get(subject, WantedSubject(owner=self._project.managed_by))

    def _owned(self, declared: set[str]) -> dict[str, set[str]]:
        """Return the subjects that this project owns and no file has, each with those that it refers to."""
        others = sorted(set(self._registry.subjects()) - declared)
        owned = [each for each in others if owner_of(own_config(self._registry, each)) == self._project.managed_by]
        return {subject: self._referred(subject) for subject in owned}

    def _in_use(self, referred: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
        """Return the subjects that someone uses, and those that they refer to, with who does."""
        held = self._held_associations
        kept = {each: uses for each in referred if (uses := tuple(uses_of(each, self._registry, held)))}
        waiting = list(kept)
        while waiting:
            user = waiting.pop()
            for each in sorted(referred[user] & referred.keys() - kept.keys()):
                kept[each] = (f"{user} refers to it",)
                waiting.append(each)
        return kept

    def _referred(self, subject: str) -> set[str]:
        """Return the other subjects that versions of a subject refer to."""
        versions = (self._registry.version(subject, number) for number in self._registry.versions(subject))
        return {each.subject for version in versions for each in version.schema.references} - {subject}

    def _config(self, subject: str) -> Config:
        """Return the settings in effect for a subject."""
        if subject not in self._configs:
            self._configs[subject] = config_in_effect(self._registry, subject)
        return self._configs[subject]

    def _latest(self, entry: RegistrationEntry) -> str | None:
        return None if entry.state is RegistrationState.NEW_SUBJECT else f"version {entry.latest}"

    def _digest(self, entry: RegistrationEntry) -> str:
        """Return the identity of a file's text, of all texts that it refers to, and of the declared metadata."""
        content: Json = self._tree.content(entry.path)
        terms = self.registration.terms(entry)
        if terms.metadata is not None or terms.normalize is not None:
            metadata = None if terms.metadata is None else METADATA.write(terms.metadata)
            content = [*content, metadata, terms.normalize]
        hashed = json.dumps(content)
        return hashlib.sha256(hashed.encode()).hexdigest()


def own_config(registry: StateRegistry, subject: str) -> Config:
    """Return the settings that a subject has of its own; empty ones if it has none."""
    try:
        return registry.config(subject)
    except ConfigNotFound:
        return Config()


def config_in_effect(registry: StateRegistry, subject: str) -> Config:
    """Return the settings that apply to a subject; empty ones if there are none."""
    try:
        return registry.config(subject, default_to_global=True)
    except ConfigNotFound:
        return Config()


def owner_of(config: Config) -> str | None:
    """Return the project that owns a subject with these settings; None if none does."""
    return config.default_metadata.properties.get(OWNER) if config.default_metadata else None


def _change(kind: PlannedChangeKind, subject: str, before: str | None, after: str | None) -> Sequence[PlannedChange]:
    """Return the change of one setting, if the project wants another value than the one in effect."""
    if after is None or before == after:
        return ()
    return (PlannedChange(kind, subject, None if before is None else str(before), str(after)),)


def _deletions(referred: dict[str, set[str]]) -> Iterator[PlannedChange]:
    """Yield the deletions of subjects, each after those of the subjects that refer to it."""
    while referred:
        free = [each for each in referred if not any(each in referred[other] for other in referred)]
        for subject in free or list(referred):  # without a free one, they refer to one another
            del referred[subject]
            yield PlannedChange(PlannedChangeKind.SUBJECT, subject, "subject", None)


def _is_writable(mode: Mode | None) -> bool:
    return mode is not None and not mode.is_read_only


def _is_of(held: Association, wanted: TopicAssociation) -> bool:
    """Return whether an association is of the same part of the same topic."""
    of = held.resource
    return (of.name, of.namespace, of.id, held.type) == (wanted.topic, wanted.namespace, wanted.id, wanted.type)


def _is_first(change: PlannedChange) -> bool:
    """Return whether a change is made before the schema is registered: all settings but those that only forbid more."""
    if change.kind is PlannedChangeKind.LEVEL:
        was, wanted = parse_level(change.before or "NONE"), parse_level(change.after or "NONE")
        is_tighter = set(was.directions) <= set(wanted.directions) and (wanted.is_transitive or not was.is_transitive)
        return not is_tighter
    if change.kind is PlannedChangeKind.MODE:
        return not Mode(change.after or Mode.READWRITE).is_read_only
    return change.kind is PlannedChangeKind.POLICY


def _insist_on_lines(files: Iterable[FileSubjects]) -> None:
    unmapped: list[str] = []
    nameless: list[str] = []
    for each in files:
        if each.mapping is None:
            unmapped.append(each.path)
        elif not each.subjects and not each.is_part:
            nameless.append(each.path)
    if unmapped or nameless:
        raise UsageMistake(
            f"counterfoil.yaml names no subject for {', '.join((unmapped + nameless)[:3])}; add a line under schemas, "
            "with part: true for a file that other schemas refer to"
        )


def _insist_on_one_file(subjects: Iterable[tuple[str, str]]) -> None:
    path_by_subject: dict[str, str] = {}
    for path, subject in subjects:
        other = path_by_subject.setdefault(subject, path)
        if other != path:
            raise UsageMistake(f"{other} and {path} have the same subject {subject!r}; a subject has one file")


def _insist_on_free_aliases(wanted: Mapping[str, WantedSubject], subjects: Collection[str]) -> None:
    subject_by_alias: dict[str, str] = {}
    for subject, each in wanted.items():
        for alias in each.aliases:
            if alias in subjects:
                raise UsageMistake(alias_text(alias, subject))
            other = subject_by_alias.setdefault(alias, subject)
            if other != subject:
                raise UsageMistake(other_alias_text(alias, other, subject))


# Applying a plan: subject by subject, in the order of references, all of a subject's changes or none.
#
# The changes are made in the order of the plan. If a change of a subject fails, its earlier ones are undone, and the
# error is raised; what was done for other subjects stays, and applying the plan again continues.

_NOT_INHERITED: Final = (
    "compatibility_level",
    "default_metadata",
    "override_metadata",
    "default_rule_set",
    "override_rule_set",
)
"""The settings that a subject with a config of its own does not take from the registry's config.

They are copied into the first config of a subject, so that what the project does not determine stays in effect.
"""


def apply_plan(plan: StatePlan, registration: FileRegistration, registry: StateRegistry) -> Iterator[PlannedChange]:
    """Make the changes of a plan; yield those of a subject when all of them are made. Raises the registry's errors."""
    done: dict[str, RegistrationEntry] = {}
    aliases = {alias: subject for subject, wanted in plan.wanted.items() for alias in wanted.aliases}
    for entry in plan.entries:
        own = [
            each
            for each in plan.changes
            if aliases.get(each.subject, each.subject) == entry.subject and each.can_be_made
        ]
        done.setdefault(entry.path, entry)
        with ExitStack() as undo:
            for change in own:
                if change.kind is PlannedChangeKind.SCHEMA:
                    registered = registration.register(entry, done)
                    undo.callback(_unregister, registry, registered)
                    if done[entry.path].subject == entry.subject:
                        done[entry.path] = registered
                elif change.kind is PlannedChangeKind.ASSOCIATION:
                    _associate(change, plan.wanted[entry.subject].associations, registry, undo)
                else:
                    _set(change, registry, undo)
            undo.pop_all()
        yield from own
    for change in plan.changes:
        if change.kind is PlannedChangeKind.SUBJECT:
            registry.delete_subject(change.subject)
            yield change


def _set(change: PlannedChange, registry: StateRegistry, undo: ExitStack) -> None:
    subject = change.subject
    if change.kind is PlannedChangeKind.MODE:
        before = _own_mode(registry, subject)
        registry.set_mode(subject, change.after)
        undo.callback(_restore_mode, registry, subject, before)
        return
    config = own_config(registry, subject)
    kept = Config()
    if config == kept and change.kind is not PlannedChangeKind.ALIAS:
        in_effect = config_in_effect(registry, subject)
        kept = Config(**{name: getattr(in_effect, name) for name in _NOT_INHERITED})
    metadata = kept.default_metadata or config.default_metadata or Metadata()
    registry.set_config(subject, replace(kept, **_changed(change, metadata)))
    undo.callback(_restore, registry, subject, config)


def _associate(
    change: PlannedChange, wanted: Iterable[TopicAssociation], registry: StateRegistry, undo: ExitStack
) -> None:
    given = next(each for each in wanted if str(each) == change.after)
    resource = {"resourceName": given.topic, "resourceNamespace": given.namespace, "resourceId": given.id}
    bond = {"subject": change.subject, "associationType": given.type, "lifecycle": given.lifecycle}
    registry.call(operations.create_associations({**resource, "resourceType": TOPIC, "associations": [bond]}))
    removal = operations.delete_associations(
        given.id, resource_type=TOPIC, association_types=[given.type], cascades=False
    )
    undo.callback(registry.call, removal)


def _changed(change: PlannedChange, metadata: Metadata) -> JsonObject:
    """Return the members of a config that a change sets."""
    match change.kind:
        case PlannedChangeKind.LEVEL:
            return {"compatibility_level": parse_level(change.after or "NONE")}
        case PlannedChangeKind.POLICY:
            return {"compatibility_policy": change.after}
        case PlannedChangeKind.ALIAS:
            return {"alias": change.after}
    properties = {**metadata.properties, OWNER: change.after or ""}
    return {"default_metadata": replace(metadata, properties=properties)}


def _restore(registry: StateRegistry, subject: str, before: Config) -> None:
    if before == Config():
        registry.delete_config(subject)
        return
    unset = [name for name in Config.__slots__ if getattr(before, name) is None]
    registry.set_config(subject, before, clear=unset)


def _own_mode(registry: StateRegistry, subject: str) -> Mode | None:
    try:
        return registry.mode(subject)
    except ModeNotFound:
        return None


def _restore_mode(registry: StateRegistry, subject: str, before: Mode | None) -> None:
    if before is None:
        registry.delete_mode(subject)
    else:
        registry.set_mode(subject, before)


def _unregister(registry: StateRegistry, entry: RegistrationEntry) -> None:
    if entry.version is not None:
        registry.delete_version(entry.subject, entry.version)
        registry.delete_version(entry.subject, entry.version, deletion=Deletion.PERMANENT)
