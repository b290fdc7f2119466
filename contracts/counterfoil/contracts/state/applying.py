"""Applying a plan: subject by subject, in the order of references, all of a subject's changes or none.

The changes are made in the order of the plan. If a change of a subject fails, its earlier ones are undone, and the
error is raised; what was done for other subjects stays, and applying the plan again continues.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.state.model import ChangeKind
from counterfoil.contracts.state.planning import OWNER, config_in_effect, own_config
from counterfoil.schema.compatibility.levels import parse_level
from counterfoil.schema.errors import ModeNotFound
from counterfoil.schema.model import Metadata
from counterfoil.schema.rest.associations import TOPIC
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.versions import Deletion
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.contracts.project.associations import TopicAssociation
    from counterfoil.contracts.registration import Entry, Registration
    from counterfoil.contracts.state.model import Change, StatePlan
    from counterfoil.contracts.state.registry import StateRegistry
    from counterfoil.schema.rest.modes import Mode

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


def apply_plan(plan: StatePlan, registration: Registration, registry: StateRegistry) -> Iterator[Change]:
    """Make the changes of a plan; yield those of a subject when all of them are made. Raises the registry's errors."""
    done: dict[str, Entry] = {}
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
                if change.kind is ChangeKind.SCHEMA:
                    registered = registration.register(entry, done)
                    undo.callback(_unregister, registry, registered)
                    if done[entry.path].subject == entry.subject:
                        done[entry.path] = registered
                elif change.kind is ChangeKind.ASSOCIATION:
                    _associate(change, plan.wanted[entry.subject].associations, registry, undo)
                else:
                    _set(change, registry, undo)
            undo.pop_all()
        yield from own
    for change in plan.changes:
        if change.kind is ChangeKind.SUBJECT:
            registry.delete_subject(change.subject)
            yield change


def _set(change: Change, registry: StateRegistry, undo: ExitStack) -> None:
    subject = change.subject
    if change.kind is ChangeKind.MODE:
        before = _own_mode(registry, subject)
        registry.set_mode(subject, change.after)
        undo.callback(_restore_mode, registry, subject, before)
        return
    config = own_config(registry, subject)
    kept = Config()
    if config == kept and change.kind is not ChangeKind.ALIAS:
        in_effect = config_in_effect(registry, subject)
        kept = Config(**{name: getattr(in_effect, name) for name in _NOT_INHERITED})
    metadata = kept.default_metadata or config.default_metadata or Metadata()
    registry.set_config(subject, replace(kept, **_changed(change, metadata)))
    undo.callback(_restore, registry, subject, config)


def _associate(change: Change, wanted: Iterable[TopicAssociation], registry: StateRegistry, undo: ExitStack) -> None:
    given = next(each for each in wanted if str(each) == change.after)
    resource = {"resourceName": given.topic, "resourceNamespace": given.namespace, "resourceId": given.id}
    bond = {"subject": change.subject, "associationType": given.type, "lifecycle": given.lifecycle}
    registry.call(operations.create_associations({**resource, "resourceType": TOPIC, "associations": [bond]}))
    removal = operations.delete_associations(
        given.id, resource_type=TOPIC, association_types=[given.type], cascades=False
    )
    undo.callback(registry.call, removal)


def _changed(change: Change, metadata: Metadata) -> dict[str, Any]:
    """Return the members of a config that a change sets."""
    match change.kind:
        case ChangeKind.LEVEL:
            return {"compatibility_level": parse_level(change.after or "NONE")}
        case ChangeKind.POLICY:
            return {"compatibility_policy": change.after}
        case ChangeKind.ALIAS:
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


def _unregister(registry: StateRegistry, entry: Entry) -> None:
    if entry.version is not None:
        registry.delete_version(entry.subject, entry.version)
        registry.delete_version(entry.subject, entry.version, deletion=Deletion.PERMANENT)
