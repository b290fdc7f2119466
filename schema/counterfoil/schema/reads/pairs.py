"""The judgement of a reader with what a writer offers, before and after a change: for files and for a registry.

What is found of the offer in question is compared with what is found of the offers that it replaces, with the same
reader: only what is worse than before counts. Pure functions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.misfits import MISSING, OPTIONAL
from counterfoil.schema.paths import KEY, StepKind
from counterfoil.schema.reads.former import with_former
from counterfoil.schema.reads.judge import is_read, judge_promises, judge_reader
from counterfoil.schema.reads.model import FormerFinding
from counterfoil.schema.reads.rules import RULE_BY_ID, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from counterfoil.schema.agreements.model import Expectation
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.reads.model import Offer, Reader, ReadFinding


def judge_pair(known: Sequence[Offer], offer: Offer, reader: Reader) -> tuple[ReadFinding, ...]:
    """Return what ``offer`` gives differently from what ``reader`` expects, whatever was offered before.

    ``known`` are the offers that the reader was built for: with their schemas it reads, unless it declares one, and on
    their promises it relies. What differs from any of them is found. Schemas that do not have what it reads are left
    out where others have it, since it was not built for these.
    """
    found: dict[object, ReadFinding] = {}
    read_with = _having_reads(known, reader)
    for each in known or (None,):
        findings = list(judge_reader(offer, reader, reads_with=each)) if each is None or each in read_with else []
        for finding in with_former(findings, offer, reader, each) if any(map(_is_told, findings)) else findings:
            found.setdefault(finding.identity, finding)
        for finding in promise_changes(each, offer):
            if concerns(reader.expectation, finding):
                found.setdefault(finding.identity, finding)
    return tuple(found.values())


def judge_pairs(asked: Sequence[tuple[Sequence[Offer], Offer, Reader]]) -> list[tuple[ReadFinding, ...]]:
    """Return the findings of :func:`judge_pair` about each of several pairs."""
    return [judge_pair(*each) for each in asked]


def _having_reads(known: Sequence[Offer], reader: Reader) -> Sequence[Offer]:
    """Return the offers whose schemas have all that a reader without one of its own reads; all of them if none has."""
    reads = [each.path for each in reader.expectation.reads or () if not each.when_present]
    if len(known) < 2 or not reads or reader.schema is not None:  # noqa: PLR2004 - there is nothing to choose from
        return known
    return [each for each in known if all(map(each.has, reads))] or known


def promise_changes(earlier: Offer | None, later: Offer) -> Iterator[ReadFinding]:
    """Yield what the contract promised and no longer does, whoever reads it."""
    for each in judge_promises(earlier, later):
        yield replace(each, former=FormerFinding(each.rule, each.element, each.text))


def concerns(expectation: Expectation, finding: ReadFinding) -> bool:
    """Return whether a finding about the contract itself concerns a reader; the key concerns all of them."""
    return finding.element[:1] == (KEY,) or is_read(expectation, finding.element)


def about_reader(findings: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return the findings about a reader, without those about what the contract promised before."""
    return tuple(each for each in findings if each.application is not None)


def worse_than(findings: Iterable[ReadFinding], before: Sequence[Iterable[ReadFinding]]) -> tuple[ReadFinding, ...]:
    """Return ``findings``, marked as pre-existing where each of ``before`` has them: what is live already.

    Without anything before, none of them is.
    """
    marked = tuple(findings)
    if not marked or not before:
        return marked
    known = [_Known(found) for found in before]
    return tuple(replace(each, is_preexisting=_is_told(each) and all(each in one for one in known)) for each in marked)


def since(findings: Iterable[ReadFinding], before: Iterable[Iterable[ReadFinding]]) -> tuple[ReadFinding, ...]:
    """Return ``findings``, also marked as pre-existing where each live version of a reader has them."""
    marked = tuple(findings)
    live = [_Known(found) for found in before] if marked else []
    if not live:
        return marked

    def is_known(each: ReadFinding) -> bool:
        return _is_told(each) and all(each in one for one in live)

    return tuple(replace(each, is_preexisting=each.is_preexisting or is_known(each)) for each in marked)


def _is_told(finding: ReadFinding) -> bool:
    """Return whether a finding says something; what is unknown may be worse than before."""
    return finding.rule != UNDECIDED


class _Known:
    """The findings that make others no worse than before.

    A consumer that breaks at a place by what is written there is broken, whichever of its reads meets it. A read inside
    the place loses itself alone, so that another one inside it is another break.
    """

    def __init__(self, findings: Iterable[ReadFinding]) -> None:
        self._identities: set[Hashable] = set()
        self._lost: dict[Hashable, list[FieldPath]] = {}
        for each in findings:
            if _is_break(each):
                for place in _places_of(each):
                    self._lost.setdefault(place, []).append(_lost_by(each))
            else:
                self._identities.add(each.identity)

    def __contains__(self, finding: ReadFinding) -> bool:
        """Return whether a finding is among those."""
        if not _is_break(finding):
            return finding.identity in self._identities
        lost, places = _lost_by(finding), [*_places_of(finding)]
        if finding.written == OPTIONAL:  # who never gets a value does not get it now and then, either
            places.append((finding.application, finding.place, MISSING))
        return any(lost[: len(each)] == each for place in places for each in self._lost.get(place, ()))


def _is_break(finding: ReadFinding) -> bool:
    """Return whether a finding says that a consumer breaks, and not a contract's promise."""
    return finding.application is not None and RULE_BY_ID[finding.rule].is_breaking


def _lost_by(finding: ReadFinding) -> FieldPath:
    """Return the path that is lost; who reads all items or values reads the whole list or map."""
    lost = finding.lost or finding.place
    place = finding.place if finding.around is None else finding.around[0]
    while len(lost) > len(place) and lost[-1].kind in (StepKind.ITEM, StepKind.VALUE):
        lost = lost[:-1]
    return lost


def _places_of(finding: ReadFinding) -> Iterator[Hashable]:
    """Yield the consumer that breaks with the place and what is written there, and that because of which it breaks."""
    yield finding.application, finding.place, finding.written
    if finding.around is not None:
        yield finding.application, *finding.around


def united(findings: Iterable[ReadFinding], more: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return ``findings``, and those of ``more`` that say something else."""
    first = tuple(findings)
    known = {each.identity for each in first}
    return (*first, *(each for each in more if each.identity not in known))
