"""What was observed of readers, as stored: one record for an application, subject, environment, origin and schema id.

Later batches are added to it, so that it grows with the number of paths alone. Pure functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.registry.domain.stored_kinds import StoredKind
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.reads.model import Activity, Origin
from counterfoil.schema.rest.usage import OBSERVED_USE, WHOLE_RECORD, ObservedUse, PathUse, UsageOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.registry.domain.stored_kinds import Key
    from counterfoil.schema.rest.usage import UsageBatch, UsageRead

DAY_MS: Final = 86_400_000
MAX_PATHS: Final = 2000
"""How many paths one record has at most; of more, those that were not read for the longest time are dropped."""


@dataclass(frozen=True, slots=True)
class ActivityLimits:
    """After how many days without a read a reader counts as stale, and as gone."""

    active_days: float = 7
    stale_days: float = 30

    def of(self, last_seen: int, now_ms: int) -> Activity:
        """Return the activity of a reader that was last seen then (epoch ms)."""
        days = (now_ms - last_seen) / DAY_MS
        if days < self.active_days:
            return Activity.ACTIVE
        return Activity.STALE if days < self.stale_days else Activity.GONE


_EXISTENCE_ONLY: Final = frozenset({UsageOrigin.FETCHED, UsageOrigin.GROUP})
"""Origins that do not know which fields are read."""


@dataclass(frozen=True, slots=True)
class ObservedReader:
    """What is known of one application that was seen to read a subject, by the most trusted origin.

    ``paths`` are those that were read in the last time; ``is_whole``: the whole record may be read. Times are epoch ms.
    """

    application: str
    version: str
    origin: Origin
    environments: tuple[str, ...]
    first_seen: int
    last_seen: int
    activity: Activity
    paths: Mapping[str, PathUse]
    is_whole: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether it is only known that it exists."""
        return self.origin in {Origin.FETCHED, Origin.GROUP}


def readers_of(uses: Iterable[ObservedUse], limits: ActivityLimits, now_ms: int) -> list[ObservedReader]:
    """Return who reads a subject, sorted by application; paths that were not read for long are left out."""
    by_application: dict[str, list[ObservedUse]] = {}
    for each in uses:
        by_application.setdefault(each.application, []).append(each)
    return [_reader(by_application[name], limits, now_ms) for name in sorted(by_application)]


def _reader(uses: list[ObservedUse], limits: ActivityLimits, now_ms: int) -> ObservedReader:
    """Return the reader; what only says that it exists does not count beside what says which fields it reads."""
    chosen = [each for each in uses if not _says_nothing(each)] or uses
    newest = max(chosen, key=lambda each: each.last_seen)
    paths: dict[str, PathUse] = {}
    for path, use in ((path, use) for each in chosen for path, use in each.paths.items()):
        if limits.of(use.last_seen, now_ms) is not Activity.GONE:
            known = paths.get(path) or replace(use, count=0)
            first, last = min(known.first_seen, use.first_seen), max(known.last_seen, use.last_seen)
            paths[path] = PathUse(known.count + use.count, first, last)
    return ObservedReader(
        newest.application,
        newest.version,
        min(Origin[each.origin.name] for each in chosen),
        tuple(sorted({each.environment for each in chosen if each.environment})),
        min(each.first_seen for each in chosen),
        newest.last_seen,
        limits.of(newest.last_seen, now_ms),
        dict(sorted(paths.items())),
        is_whole=WHOLE_RECORD in paths or all(map(_says_nothing, chosen)),
    )


def _says_nothing(use: ObservedUse) -> bool:
    """Return whether nothing is known of which fields are read: no message was observed."""
    return use.origin in _EXISTENCE_ONLY or not (use.paths or use.sampled)


def observed_prefix(subject: QualifiedSubject) -> Key:
    """Return the prefix of the keys of all that is observed of a subject."""
    return subject.context, subject.name


def _key(use: ObservedUse) -> Key:
    prefix = observed_prefix(parse_subject(use.subject))
    return *prefix, use.application, use.environment, use.origin, str(use.schema_id)


OBSERVED_USES: Final[StoredKind[ObservedUse]] = StoredKind("observed-use", OBSERVED_USE, _key)


def new_use(batch: UsageBatch, subject: QualifiedSubject, schema_id: int) -> ObservedUse:
    """Return the record of a batch's application before anything was added to it."""
    return ObservedUse(batch.application, str(subject), schema_id, batch.environment, origin=batch.origin)


def with_batch(held: ObservedUse, batch: UsageBatch, read: UsageRead, now_ms: int) -> ObservedUse:
    """Return a record with an entry of a batch; times in the future are now."""
    until = min(batch.until or now_ms, now_ms)
    since = min(batch.since or until, until)
    return replace(
        held,
        version=batch.version or held.version,
        first_seen=min(held.first_seen or since, since),
        last_seen=max(held.last_seen, until),
        messages=held.messages + read.messages,
        sampled=held.sampled + read.sampled,
        paths=_paths(held.paths, read.paths, since, until),
        stale_since=0,
    )


def _paths(held: Mapping[str, PathUse], given: Mapping[str, int], since: int, until: int) -> dict[str, PathUse]:
    found = dict(held)
    for path, count in given.items():
        known = found.get(path) or PathUse(0, since, until)
        first, last = min(known.first_seen, since), max(known.last_seen, until)
        found[path] = PathUse(known.count + count, first, last)
    newest = sorted(found, key=lambda path: -found[path].last_seen)[:MAX_PATHS]
    return {path: found[path] for path in sorted(newest)}


def is_news(held: ObservedUse | None, use: ObservedUse) -> bool:
    """Return whether a change belongs in the journal: a new reader, path, version or day, but not each new count."""
    return (
        held is None
        or held.paths.keys() != use.paths.keys()
        or (held.version, held.first_seen, held.stale_since) != (use.version, use.first_seen, use.stale_since)
        or held.last_seen // DAY_MS != use.last_seen // DAY_MS
    )
