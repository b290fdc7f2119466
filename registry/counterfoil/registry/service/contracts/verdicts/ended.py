"""What a version no longer offers to those who read it: contracts, and subjects of contracts. Pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.reads.model import Origin
from counterfoil.schema.rest.verdicts import Reason, VerdictReason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from counterfoil.registry.service.contracts.verdicts.counterparts import Named
    from counterfoil.schema.reads.sides import Reading, Side


def live_offerings(side: Side, replaced: Sequence[Side]) -> tuple[list[Named], list[Named]]:
    """Return the live offerings that go on with a version, by the name that its own has, and those that end with it.

    A subject goes on as itself or, in a new major version, as another one with the same name in the contract.
    """
    live = {each.subject: each for one in replaced for each in one.offerings}
    offered = {each.subject: each for each in side.offerings}
    names = {(each.contract, each.promise.name): each.major for each in side.offerings}
    going_on: list[Named] = []
    ending: list[Named] = []
    for subject, each in sorted(live.items()):
        if subject in offered:
            is_same = each.contract == offered[subject].contract
            going_on.append((subject, each if is_same else offered[subject]))
        elif names.get((each.contract, each.promise.name), each.major) != each.major:
            going_on.append((each.promise.name, each))
        else:
            ending.append((subject, each))
    return going_on, ending


def ended_offerings(ending: Sequence[Named], writers: Iterable[Side]) -> list[Named]:
    """Return those offerings whose subject none of the other live ``writers`` of these contracts writes."""
    contracts = {each.contract for _, each in ending}
    written = {each.subject for one in writers for each in one.offerings if each.contract in contracts}
    return [(subject, each) for subject, each in ending if subject not in written]


def readers_of(
    ended: Sequence[Named], readings: Sequence[Reading], replaced: Sequence[Side]
) -> Iterator[tuple[str, Reading]]:
    """Yield who declares to read one of some live offerings, in its major version, with the subject."""
    for subject, offering in ended:
        for reading in readings:
            chosen = [each for one in replaced for each in reading.chosen(one.offered(reading.contract))]
            if offering in chosen and offering.major == reading.major:
                yield subject, reading


def no_longer_offered(side: Side, reading: Reading, *, subject: str = "") -> VerdictReason:
    """Return the reason about a consumer of a contract, or of a subject of it, that a version no longer offers."""
    how = "reads" if reading.reader.origin is Origin.DECLARED else "was seen to read"
    where = f" on {subject}" if subject else ""
    return VerdictReason(
        Reason.NO_CONTRACT,
        f"{side.application} {side.version} no longer offers {reading.contract}{where}, which "
        f"{reading.application} {reading.version} {how}",
        contract=reading.contract,
        subject=subject,
        producer=side.application,
        producer_version=side.version,
        consumer=reading.application,
        consumer_version=reading.version,
    )
