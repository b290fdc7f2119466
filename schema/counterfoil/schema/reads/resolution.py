"""Whether a consumer can read the records of a new schema: the misfits of the two schemas on the paths that it reads.

Of a reader without a declared schema, those paths alone count, as if its schema had nothing else. A declared schema is
the one with which records are decoded, so that whatever makes its decoder refuse a record counts at every place.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.agreements.model import OnUnknownEnum
from counterfoil.schema.compatibility.misfits import MISSING, OPTIONAL, Effect
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.paths import KEY, StepKind
from counterfoil.schema.reads.model import Offer, ReadFinding
from counterfoil.schema.steps import OutOfSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterfoil.schema.agreements.model import Read
    from counterfoil.schema.compatibility.misfits import Misfit, Misfits
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.reads.model import Reader

_T = TypeVar("_T")
_WHOLE: Final = "consumer-incompatible"
_PART: Final = "consumer-type-narrowed"
_GONE: Final = "consumer-field-missing"
_SYMBOL: Final = "consumer-enum-unknown"
_KEPT: Final = "consumer-enum-kept"


class Undecided(Exception):
    """The error for schemas whose comparison did not end within its limits; the message says what to do."""


class LimitedMisfits:
    """The misfits that ``find`` finds. What did not end within its limits is not begun again.

    All that it does raises :class:`Undecided`.
    """

    def __init__(self, find: Callable[[], Misfits]) -> None:
        self._find = find
        self._misfits: Misfits | None = None
        self._undecided = ""

    @property
    def decodes_without_reader(self) -> bool:
        """Whether records are decoded without the schema of the reader."""
        return self._limited(lambda misfits: misfits.decodes_without_reader)

    def at(self, path: FieldPath) -> Sequence[Misfit]:
        """Return the misfits that a reader of ``path`` meets."""
        return self._limited(lambda misfits: misfits.at(path))

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return the path by which the writer calls what the reader's schema has at ``path``, or None."""
        return self._limited(lambda misfits: misfits.written_at(path))

    def _limited(self, ask: Callable[[Misfits], _T]) -> _T:
        if self._undecided:
            raise Undecided(self._undecided)
        try:
            if self._misfits is None:
                self._misfits = self._find()
            return ask(self._misfits)
        except (JudgementUndecided, InvalidSchema) as error:
            self._undecided = error.message
        except OutOfSteps:
            self._undecided = "the schemas take too long to compare; take alternatives or references out of them"
        except RecursionError:
            self._undecided = "the schemas are nested too deep to be compared; flatten them"
        raise Undecided(self._undecided)


def misfits_of(offer: Offer, schema: ParsedSchema) -> Misfits:
    """Return the misfits of the values of an offer for a reader with ``schema``, of the same language."""
    return LimitedMisfits(partial(format_for(schema.schema_type).find_misfits, schema, offer.schema))


def misfits_of_keys(offer: Offer, schema: ParsedSchema) -> Misfits:
    """Return the misfits of the keys of an offer, which has a schema of them in the language of ``schema``."""
    return LimitedMisfits(partial(format_for(schema.schema_type).find_misfits, schema, offer.key_schema or schema))


def unreadable_keys(misfits: Misfits, reader: Reader) -> Iterator[ReadFinding]:
    """Yield why ``reader`` cannot read what it reads of keys; their schema is never declared by a reader."""
    expectation = reader.expectation
    reads = expectation.reads
    if reads is not None:
        reads = tuple(replace(each, path=each.path[1:]) for each in reads if each.path[:1] == (KEY,))
    for each in unreadable(misfits, replace(reader, schema=None, expectation=replace(expectation, reads=reads))):
        lost = None if each.lost is None else (KEY, *each.lost)
        yield replace(each, element=(KEY, *each.element), place=(KEY, *each.place), lost=lost)


def unreadable(misfits: Misfits, reader: Reader) -> Iterator[ReadFinding]:
    """Yield why ``reader`` cannot read what it reads: one finding for each place and what is written there.

    Where the place is on the way to several reads, there is one for each of them.
    """
    reads, is_lenient = reader.expectation.reads, reader.schema is None and misfits.decodes_without_reader
    if reads is None:
        yield from _findings(((each, None) for each in misfits.at(())), reader, is_lenient=is_lenient)
        return
    of_values = [each for each in reads if not each.path or each.path[0].kind not in (StepKind.KEY, StepKind.HEADER)]
    met = list(_met_by(misfits, of_values, is_declared=reader.schema is not None))
    yield from _findings(met, reader, is_lenient=is_lenient)
    if reader.schema is not None:
        known = {each.place for each, _ in met}
        for each in misfits.at(()):
            if each.effect is Effect.REFUSED and each.place not in known:
                yield _finding(_WHOLE, each, each.place)


def _met_by(misfits: Misfits, reads: Sequence[Read], *, is_declared: bool) -> Iterable[tuple[Misfit, Read]]:
    """Return the misfits that reads meet, each with the read that is nearest to its place.

    One on the way to several reads is met by each of them, since something else is lost. Where a declared schema makes
    the decoder refuse the record, everything is lost, so that it is met once.
    """
    found: dict[object, tuple[Misfit, Read]] = {}
    for read in sorted(reads, key=lambda each: -len(each.path)):
        for misfit in misfits.at(read.path):
            met = replace(misfit, lost=None) if is_declared and misfit.effect is Effect.REFUSED else misfit
            found.setdefault((met.place, met.expected, met.written, met.lost), (met, read))
    return found.values()


def _findings(met: Iterable[tuple[Misfit, Read | None]], reader: Reader, *, is_lenient: bool) -> Iterator[ReadFinding]:
    for misfit, read in met:
        rule = _rule(misfit, read, reader, is_lenient=is_lenient)
        if rule:
            finding = _finding(rule, misfit, misfit.place if read is None else read.path)
            yield finding if read is None else replace(finding, position=read.position)


def _rule(misfit: Misfit, read: Read | None, reader: Reader, *, is_lenient: bool) -> str:
    """Return the rule of a finding about a misfit; empty where the consumer says that it copes with it.

    ``is_lenient``: records are decoded without the schema of the reader, so that nothing refuses them.
    """
    if misfit.symbol:
        handled = reader.expectation.on_unknown_enum
        if misfit.effect is Effect.KEPT:
            return _SYMBOL if handled is OnUnknownEnum.FAIL else _KEPT if handled is None else ""
        if is_lenient and handled in (OnUnknownEnum.DEFAULT, OnUnknownEnum.PASS):
            return ""
    if misfit.is_moved:
        return _GONE
    if read is None:
        return _WHOLE
    if read.when_present and misfit.written in (MISSING, OPTIONAL) and is_lenient:
        return ""
    return _PART


def _finding(rule: str, misfit: Misfit, element: FieldPath) -> ReadFinding:
    facts = (misfit.expected, misfit.written)
    return ReadFinding(
        rule,
        misfit.text,
        element,
        misfit.place,
        *facts,
        pointer=misfit.pointer,
        lost=misfit.lost,
        symbol=misfit.symbol,
    )
