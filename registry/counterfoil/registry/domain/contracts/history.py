"""When versions were live in an environment, and which writers a consumer's version met, as stored. Pure functions.

A consumer that declares no schema of its own reads with one that was there when it was built. So it is stored which
versions wrote its contracts when it was published and when it was first deployed to an environment; what is live later
does not tell it any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.domain.stored_kinds import StoredKind
from counterfoil.schema.rest.object_forms import REQUIRED, TEXT, JsonType, Member, ObjectForm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.schema.reads.sides import Numbered

ANYWHERE: Final = ""
"""Stands for no environment: the newest version of each application."""


@dataclass(frozen=True, slots=True)
class Period:
    """A time in which a version was live, in epoch ms; ``until`` is None while it is."""

    since: int
    until: int | None = None

    def overlaps(self, other: Period) -> bool:
        """Return whether there is a moment in both periods; the end of a period is not in it."""
        return (self.until is None or other.since < self.until) and (other.until is None or self.since < other.until)


@dataclass(frozen=True, slots=True)
class LiveHistory:
    """When a version was live in an environment.

    ``writers`` are the versions that were live there when it was first live, and offer contracts that it reads.
    """

    environment: str
    application: str
    version: str
    periods: tuple[Period, ...] = ()
    writers: tuple[Numbered, ...] = ()

    @property
    def since(self) -> int:
        """The time at which it was first live."""
        return min(each.since for each in self.periods)

    def was_with(self, other: LiveHistory) -> bool:
        """Return whether both versions were live at the same time."""
        met = (other.application, other.version) in self.writers or (self.application, self.version) in other.writers
        return met or any(mine.overlaps(each) for mine in self.periods for each in other.periods)

    def together_since(self, other: LiveHistory) -> int | None:
        """Return the first time at which both versions were live; None if they never were."""
        times = [max(mine.since, each.since) for mine in self.periods for each in other.periods if mine.overlaps(each)]
        return min(times, default=None)


@dataclass(frozen=True, slots=True)
class PublishedBeside:
    """Which writers of the contracts that a version reads were there when it was published.

    They are by environment; those of :data:`ANYWHERE` are the newest published ones.
    """

    application: str
    version: str
    writers: Mapping[str, tuple[Numbered, ...]] = field(default_factory=dict)


def went_live(held: LiveHistory | None, new: LiveHistory, now_ms: int) -> LiveHistory:
    """Return the history of a version that is live from now on; ``new`` is that of one that never was before."""
    if held is None or not held.periods:
        return replace(new, periods=(Period(now_ms),))
    if held.periods[-1].until is None:
        return held
    return replace(held, periods=(*held.periods, Period(now_ms)))


def ended(held: LiveHistory, now_ms: int) -> LiveHistory:
    """Return the history of a version that is no longer live."""
    *before, last = held.periods
    return held if last.until is not None else replace(held, periods=(*before, replace(last, until=now_ms)))


def _texts(pairs: Iterable[Numbered]) -> list[list[str]]:
    return [list(each) for each in pairs]


def _numbered(pairs: Iterable[Any]) -> tuple[Numbered, ...]:
    return tuple((application, version) for application, version in pairs)


_PERIODS: Final = JsonType(
    lambda value: tuple(Period(since, until) for since, until in value.value),
    lambda periods: [[each.since, each.until] for each in periods],
)
_WRITERS: Final = JsonType(lambda value: _numbered(value.value), _texts)
_BY_ENVIRONMENT: Final = JsonType(
    lambda value: {name: _numbered(each) for name, each in value.value.items()},
    lambda writers: {name: _texts(each) for name, each in sorted(writers.items())},
)
LIVE_HISTORIES: Final[StoredKind[LiveHistory]] = StoredKind(
    "contract-live-history",
    ObjectForm(
        LiveHistory,
        (
            Member("environment", "environment", TEXT, otherwise=REQUIRED),
            Member("application", "application", TEXT, otherwise=REQUIRED),
            Member("version", "version", TEXT, otherwise=REQUIRED),
            Member("periods", "periods", _PERIODS),
            Member("writers", "writers", _WRITERS),
        ),
    ),
    lambda each: (each.environment, each.application, each.version),
)
PUBLISHED_BESIDE: Final[StoredKind[PublishedBeside]] = StoredKind(
    "contract-published-beside",
    ObjectForm(
        PublishedBeside,
        (
            Member("application", "application", TEXT, otherwise=REQUIRED),
            Member("version", "version", TEXT, otherwise=REQUIRED),
            Member("writers", "writers", _BY_ENVIRONMENT),
        ),
    ),
    lambda each: (each.application, each.version),
)
HISTORY_KINDS: Final = frozenset({LIVE_HISTORIES.name, PUBLISHED_BESIDE.name})
"""The kinds of these records: each is written with a deployment or a publication, and not by itself."""
