"""What a change of an offer breaks for readers: by the functions that files and registries call for each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.agreements.readers import judge_pair, promise_changes, worse_than

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.agreements.findings import Offer, Reader, ReadFinding


def judged_change(earlier: Offer | None, later: Offer, readers: Iterable[Reader]) -> tuple[ReadFinding, ...]:
    """Return what ``later`` breaks for readers that were built for ``earlier``, and what its contract takes back.

    A finding that is also true of ``earlier`` is marked as such. Without an earlier offer, every finding counts.
    """
    known = [] if earlier is None else [earlier]
    found: dict[object, ReadFinding] = {}
    for reader in readers:
        before = [judge_pair(known, each, reader) for each in known]
        for each in worse_than(judge_pair(known, later, reader), before):
            found.setdefault(each.identity, each)
    for each in promise_changes(earlier, later):
        found.setdefault(each.identity, each)
    return tuple(found.values())
