"""Which writers the readers of a question have met: the versions with whose schemas they may read. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.schema.recent_values import RecentValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.schema.reads.sides import Numbered, Offering, Reading, Side

_MAX_REPLACED: Final = 10_000


def never_met(offered: Offering, reading: Reading) -> bool:
    """Return False, since it is not known of a writer and a reader that they were live together."""
    del offered, reading
    return False


@dataclass(frozen=True, slots=True)
class KnownWriters:
    """The writers that readers have met. ``groups`` are by reader, that which counts first.

    ``were_together`` returns whether what is offered was live at the same time as the version of a reader.
    """

    groups: Mapping[Numbered, Sequence[Sequence[Side]]] = field(default_factory=dict)
    were_together: Callable[[Offering, Reading], bool] = field(default=never_met, compare=False, repr=False)
    _replacing: RecentValues[tuple[int | str, ...], list[Offering]] = field(
        default_factory=lambda: RecentValues(_MAX_REPLACED), compare=False, repr=False
    )
    """What the writers of a group offer in the place of something, so that it is found once for all its readers."""

    def offered_to(self, reading: Reading, offered: Offering, live: Sequence[Side]) -> list[Offering]:
        """Return the offerings with whose schemas a reading may be done, in the place of ``offered``.

        Of a reader that has met nobody, it is what ``live`` offers now.
        """
        for group in self.groups.get((reading.application, reading.version), ()):
            if found := self._replaced_by(offered, reading, group):
                return found
        return replaced_by(offered, reading, live)

    def _replaced_by(self, offered: Offering, reading: Reading, group: Sequence[Side]) -> list[Offering]:
        """Return :func:`replaced_by` of one of the groups; the key has all that it depends on."""
        what = (offered.subject, offered.promise.name, offered.major)
        key = (id(group), *what, reading.contract, reading.major, reading.reader.expectation.name)
        found = self._replacing.get(key)
        if found is None:
            found = replaced_by(offered, reading, group)
            self._replacing.put(key, found, weight=1 + len(found))
        return found


def replaced_by(offered: Offering, reading: Reading, sides: Iterable[Side]) -> list[Offering]:
    """Return the offerings of other versions that stand in the place of ``offered`` for a reader.

    It has the same subject, or the same name in the contract: a new major version may have another topic. It does not
    matter to those who read the new major version already.
    """
    return [
        each
        for one in sides
        for each in reading.chosen(one.offered(reading.contract))
        if each.major in {offered.major, reading.major}
        and (each.subject == offered.subject or each.promise.name == offered.promise.name)
    ]


def parts_of(
    reading: Reading, offered: Sequence[Offering], before: Sequence[Side] = ()
) -> Sequence[tuple[Offering, Reading]]:
    """Return the offerings of its contract that a reader reads, each with the reads that are about it.

    Of several topics of a contract, a read is about those that have its path, or had it ``before``; what none of them
    has is about the last one. Topics of which nothing is read are left out.
    """
    chosen = reading.chosen(offered)
    reads = reading.expectation.reads
    if len(chosen) < 2 or reads is None:  # noqa: PLR2004 - there is nothing to divide
        return [(each, reading) for each in chosen]
    offers = [[each, *replaced_by(each, reading, before)] for each in chosen]
    having = [[any(one.has(read.path) for one in part) for part in offers] for read in reads]
    last = len(chosen) - 1
    parts = []
    for place, each in enumerate(chosen):
        mine = [number for number, known in enumerate(having) if known[place] or (place == last and not any(known))]
        if mine or not reads:
            parts.append((each, reading.only(mine)))
    return parts
