"""The differences between two Avro schemas by compatibility policy."""

from __future__ import annotations

import threading
from typing import Final

from counterfoil.schema.caches import RecentValues
from counterfoil.schema.compatibility import CompatibilityPolicy, Steps, steps_for
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.languages.avro.compare.differences import FEW_STEPS, Walked, walked
from counterfoil.schema.languages.avro.compare.places import AvroDifference
from counterfoil.schema.languages.avro.schema import AvroSchema

_CACHE_CHARS: Final = 250_000
"""The characters of the pairs of schemas of which walks are remembered; at least both directions of one question."""


def find_differences(
    reader: AvroSchema,
    writer: AvroSchema,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    steps: Steps | None = None,
) -> list[Difference]:
    """Return why ``reader`` cannot read everything of ``writer`` under ``policy``; empty if it can.

    Differences are in the order of the reader's fields; one that occurs in several places is returned once for each,
    with the same path. Raises ``InvalidSchema`` for schemas nested too deep to be walked, and ``OutOfSteps``.
    """
    return [*find_all(reader, writer, policy=policy, steps=steps)]


def find_all(
    reader: AvroSchema, writer: AvroSchema, *, policy: CompatibilityPolicy, steps: Steps | None = None
) -> list[AvroDifference]:
    """Return the same differences with the walk's own type."""
    steps = steps or steps_for(reader, writer)
    is_sound = policy is CompatibilityPolicy.SOUND
    found = _LONG_WALKS.find(reader, writer, steps, trusts_cycles=not is_sound)
    if not is_sound:
        return found
    from counterfoil.schema.languages.avro.misfits import find_misreadings

    return [*found, *find_misreadings(reader.root, writer.root, steps)]


class _LongWalks:
    """The last walks that took long, which other policies and the search for witnesses need again; for any thread.

    A walk that is remembered spends the steps of the first one, so that results depend on steps alone.
    """

    def __init__(self) -> None:
        self._known: RecentValues[tuple[AvroSchema, AvroSchema, bool], tuple[Walked, int]] = RecentValues(_CACHE_CHARS)
        self._lock = threading.Lock()

    def find(
        self, reader: AvroSchema, writer: AvroSchema, steps: Steps, *, trusts_cycles: bool
    ) -> list[AvroDifference]:
        """Return the differences, as :func:`~counterfoil.schema.languages.avro.compare.differences.walk` does."""
        known = self._result(reader, writer, trusts_cycles=trusts_cycles)
        if known is not None:
            steps.spend(known[1])
            return list(known[0].found)
        before = steps.left
        result = walked(reader.root, writer.root, steps, trusts_cycles=trusts_cycles)
        spent = before - steps.left
        if spent > FEW_STEPS:
            weight = min(_CACHE_CHARS // 2, len(reader.text) + len(writer.text))
            with self._lock:
                self._known.put((reader, writer, trusts_cycles), (result, spent), weight=weight)
        return list(result.found)

    def _result(self, reader: AvroSchema, writer: AvroSchema, *, trusts_cycles: bool) -> tuple[Walked, int] | None:
        with self._lock:
            known = self._known.get((reader, writer, trusts_cycles))
            other = self._known.get((reader, writer, not trusts_cycles)) if known is None else None
        return other if other is not None and other[0].is_for_both else known


_LONG_WALKS: Final = _LongWalks()
