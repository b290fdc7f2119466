"""What becomes of records whose schema id the bridge does not know: the driver's part of ``engines/lookup.py``.

A record can have an id only after the id was registered, so what the registry answers about an id that was just read is
final. A version of the source's subject that the running plan reads is converted from then on. An id that the registry
does not have is damaged data: a dead letter. Other ids are a decision of the person who runs the bridge
(:class:`UnknownIds`): a schema of another subject, and a version that needs another plan. Keys that are converted have
decisions of their own. :mod:`counterfoil.converter.run.id_service` answers the executors.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from counterfoil.converter.bridge.resolve import resolve
from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.lookup import Half, Outcome
from counterfoil.converter.engines.record import recipe_of
from counterfoil.converter.messages.table import reading_problem
from counterfoil.converter.run.checkpoint import Identity
from counterfoil.schema.errors import CounterfoilError, SchemaNotFound
from counterfoil.sdk.errors import RegistryUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.converter.bridge.resolve import ResolvedBridge
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.converter.run.checkpoint import Checkpoint
    from counterfoil.schema.rest.versions import SubjectVersion
    from counterfoil.sdk import Registry

_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.5
_LARGEST_ID: Final = 2**31 - 1
"""Registries number schemas with integers of 32 bits; the four bytes of a frame can hold larger numbers."""


class UnknownIds(StrEnum):
    """What a run does at an id that the registry has and the plan cannot convert."""

    STOP = "stop"
    DEAD_LETTERS = "dead-letters"


@dataclass(frozen=True)
class Decision:
    """What becomes of the records of one id, and why; if they are converted, with the ``name`` of their schema."""

    outcome: Outcome
    text: str
    conversion: Conversion | None = None
    name: str = ""


class WriterDecisions:
    """Decides about schema ids that a running bridge does not know, once for each.

    ``bridge`` is that of values, or that of keys. ``adopt`` is called with it as the registry has it now, without keys
    of its own, before records of a new version are converted.
    """

    def __init__(
        self,
        bridge: ResolvedBridge,
        registry: Registry,
        policy: UnknownIds,
        *,
        adopt: Callable[[ResolvedBridge], None] = lambda _found: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._bridge = bridge
        self._registry = registry
        self._policy = policy
        self._adopt = adopt
        self._patience_s = patience_s

    def decide(self, schema_id: int) -> Decision:
        """Return what becomes of the records of an id; wait for a registry that does not answer."""
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._decided(schema_id)
            except RegistryUnavailable as failure:
                if time.monotonic() > deadline:
                    return Decision(Outcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            except CounterfoilError as failure:
                return Decision(Outcome.STOP, f"schema id {schema_id} cannot be looked up: {failure}")
            time.sleep(_PAUSE_S)

    def unusable(self, text: str) -> Decision:
        """Return the decision about an id that the registry has and that cannot be converted."""
        if self._policy is UnknownIds.STOP:
            return Decision(
                Outcome.STOP, f"{text}; change the bridge and start it again, or run it with --unknown-ids dead-letters"
            )
        return Decision(Outcome.DEAD_LETTER, f"{text}; its records are dead letters")

    def _decided(self, schema_id: int) -> Decision:
        from counterfoil.sdk import Visibility

        subject = self._bridge.file.source_subject
        uses: tuple[SubjectVersion, ...] = ()
        if schema_id <= _LARGEST_ID:
            with suppress(SchemaNotFound):
                uses = self._registry.versions_of_id(schema_id, subject=subject, visibility=Visibility.WITH_DELETED)
        if not uses:
            return Decision(
                Outcome.DEAD_LETTER, f"schema id {schema_id} is not in the registry; its records are dead letters"
            )
        versions = [each.version for each in uses if each.subject == subject]
        if not versions:
            names = ", ".join(sorted({each.subject for each in uses}))
            return self.unusable(f"schema id {schema_id} belongs to {names}, and not to {subject}")
        return self._version(schema_id, f"schema id {schema_id} (version {versions[0]} of {subject})")

    def _version(self, schema_id: int, name: str) -> Decision:
        """Decide about a version of the source's subject that was registered after the start."""
        running = self._bridge
        found = resolve(replace(running.file, target_version=running.target_version, keys=None), self._registry)
        if running.is_earlier and found.earlier is not None:
            found = found.earlier
        writer = found.writer_by_id[schema_id]
        problem = reading_problem(running.plan.source, writer)
        if problem is not None:
            newest = running.version_by_id[running.newest_id]
            return self.unusable(f"{name} cannot be read as version {newest}: {problem}")
        if found.plan.root != running.plan.root:
            return self.unusable(f"{name} changes how the target is filled, which needs a new start of the bridge")
        conversion = replace(running.conversion(), writer_by_id={schema_id: writer}, lookup=None)
        try:
            recipe_of(conversion)
        except EngineCannot as refusal:
            return self.unusable(f"{name} cannot be converted by the running plan: {refusal.field}: {refusal.why}")
        self._adopt(found)
        left = "; ".join(str(each) for each in found.plan.problems)
        warning = f"; the next start needs a change of the bridge: {left}" if left else ""
        text = f"{name} was registered after the start; it is converted{warning}"
        return Decision(Outcome.CONVERT, text, conversion, name)


def decisions_for(
    bridge: ResolvedBridge, registry: Registry, checkpoint: Checkpoint, *, policy: str
) -> dict[Half, WriterDecisions]:
    """Return the decisions of a run; a new version makes the checkpoint that of the bridge with this version."""
    current = bridge

    def claim(changed: ResolvedBridge) -> None:
        nonlocal current
        current = changed
        checkpoint.claim(Identity.of(current), force=True)

    unknown = UnknownIds(policy)
    made = {
        Half.VALUE: WriterDecisions(
            bridge, registry, unknown, adopt=lambda found: claim(replace(found, file=bridge.file, keys=current.keys))
        )
    }
    if bridge.keys is not None:
        made[Half.KEY] = WriterDecisions(
            bridge.keys, registry, unknown, adopt=lambda found: claim(replace(current, keys=found))
        )
    return made
