"""Applying a plan: subject by subject, in the order of references, all of a subject's changes or none.

A level is loosened before a schema is registered and tightened after it, so that the registry accepts what the wanted
level allows. If a change of a subject fails, its earlier ones are undone, and the error is raised; what was done for
other subjects stays, and applying the plan again continues.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from counterfoil.contracts.registration import State
from counterfoil.contracts.state.model import ChangeKind
from counterfoil.contracts.state.planning import OWNER, own_config
from counterfoil.schema.compatibility.levels import parse_level
from counterfoil.schema.errors import ModeNotFound
from counterfoil.schema.model import Metadata
from counterfoil.schema.rest.config import Config
from counterfoil.schema.rest.modes import Mode
from counterfoil.schema.rest.versions import Deletion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.contracts.registration import Entry, Registration
    from counterfoil.contracts.state.model import Change, StatePlan
    from counterfoil.contracts.state.registry import StateRegistry


def apply_plan(plan: StatePlan, registration: Registration, registry: StateRegistry) -> Iterator[Change]:
    """Make the changes of a plan; yield those of a subject when all of them are made. Raises the registry's errors."""
    done: dict[str, Entry] = {}
    aliases = {alias: subject for subject, wanted in plan.wanted.items() for alias in wanted.aliases}
    for entry in plan.entries:
        own = [each for each in plan.changes if aliases.get(each.subject, each.subject) == entry.subject]
        with _Undo() as undo:
            for change in own:
                if _is_first(change):
                    _set(change, registry, undo)
            done[entry.path] = registration.register(entry, done)
            if entry.state is not State.UNCHANGED:
                undo.add(_unregister(registry, done[entry.path]))
            for change in own:
                if change.kind is not ChangeKind.SCHEMA and not _is_first(change):
                    _set(change, registry, undo)
        yield from own
    for change in plan.changes:
        if change.kind is ChangeKind.SUBJECT:
            registry.delete_subject(change.subject)
            yield change


class _Undo:
    """What takes back the changes of a subject, newest first, if one of them fails."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []

    def add(self, step: Callable[[], object]) -> None:
        """Add what takes back the change that was just made."""
        self._steps.append(step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            while self._steps:
                self._steps.pop()()


def _is_first(change: Change) -> bool:
    """Return whether a change is made before the schema is registered: all settings but those that only forbid more."""
    if change.kind is ChangeKind.LEVEL:
        was, wanted = parse_level(change.before or "NONE"), parse_level(change.after or "NONE")
        is_tighter = set(was.directions) <= set(wanted.directions) and (wanted.is_transitive or not was.is_transitive)
        return not is_tighter
    if change.kind is ChangeKind.MODE:
        return not Mode(change.after or Mode.READWRITE).is_read_only
    return change.kind is ChangeKind.POLICY


def _set(change: Change, registry: StateRegistry, undo: _Undo) -> None:
    if change.kind is ChangeKind.MODE:
        before = _own_mode(registry, change.subject)
        registry.set_mode(change.subject, change.after)
        undo.add(lambda: _restore_mode(registry, change.subject, before))
        return
    config = own_config(registry, change.subject)
    registry.set_config(change.subject, _new_config(change, config))
    undo.add(lambda: _restore(registry, change.subject, config))


def _new_config(change: Change, now: Config) -> Config:
    match change.kind:
        case ChangeKind.LEVEL:
            return Config(compatibility_level=parse_level(change.after or "NONE"))
        case ChangeKind.POLICY:
            return Config(compatibility_policy=change.after)
        case ChangeKind.ALIAS:
            return Config(alias=change.after)
    metadata = now.default_metadata or Metadata()
    properties = {**metadata.properties, OWNER: change.after or ""}
    return Config(default_metadata=replace(metadata, properties=properties))


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


def _unregister(registry: StateRegistry, entry: Entry) -> Callable[[], object]:
    def remove() -> None:
        if entry.version is not None:
            registry.delete_version(entry.subject, entry.version)
            registry.delete_version(entry.subject, entry.version, deletion=Deletion.PERMANENT)

    return remove
