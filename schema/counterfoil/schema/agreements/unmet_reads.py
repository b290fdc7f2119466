"""What a reader does not get: expectations that nothing promises, and paths that it cannot read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from counterfoil.schema.agreements import ExpectedRead, FieldPromise, OnUnknownEnum, ValueRange
from counterfoil.schema.agreements.findings import FieldFacts, Offer, Reader, ReadFinding
from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.compatibility.misfits import MISSING, OPTIONAL, Misfit, MisfitEffect, Misfits
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, StepKind

# Whether what a consumer expects of values is covered by what a contract promises of them.

_BROKEN, _UNBACKED, _UNIT = "expectation-broken", "expectation-unbacked", "unit-changed"


class Uncovered(NamedTuple):
    """One expectation that is not promised: the rule, the sentence, and the facts of what is expected and promised."""

    rule: str
    text: str
    expected: str
    promised: str


def uncovered(read: ExpectedRead, promise: FieldPromise | None, facts: FieldFacts) -> Iterator[Uncovered]:
    """Yield each expectation that is not promised, or that a promise contradicts."""
    promised = promise.range if promise is not None else None
    if read.range.is_limited:
        yield from _range(read.range, promised)
    if read.pattern is not None and (promise is None or promise.pattern != read.pattern):
        pattern = promise.pattern if promise is not None else None
        promised_instead = "none is promised" if pattern is None else f"another one is promised: {pattern}"
        text = f"the pattern {read.pattern} is expected, and {promised_instead}"
        yield Uncovered(_UNBACKED, text, f"pattern {read.pattern}", _said("pattern", pattern))
    if read.unit is not None:
        unit = promise.unit if promise is not None else None
        if unit is None:
            text = f"the unit {read.unit} is expected, and none is promised"
            yield Uncovered(_UNBACKED, text, f"unit {read.unit}", _said("unit", None))
        elif unit != read.unit:
            text = f"the unit {read.unit} is expected, and {unit} is promised"
            yield Uncovered(_UNIT, text, f"unit {read.unit}", _said("unit", unit))
    if read.enum is not None and facts.symbols is None:
        yield from _enum(read, promise)


def _said(aspect: str, promised: object | None) -> str:
    """Return the fact of what is promised of one aspect of a field."""
    return f"no {aspect}" if promised is None else f"{aspect} {promised}"


def _range(expected: ValueRange, promised: ValueRange | None) -> Iterator[Uncovered]:
    if promised is None or not promised.is_limited:
        text = f"values {expected} are expected, and no limits are promised"
        yield Uncovered(_UNBACKED, text, str(expected), _said("limits", None))
        return
    for name, limit, given in (
        ("at least", expected.minimum, promised.minimum),
        ("at most", expected.maximum, promised.maximum),
    ):
        if limit is None:
            continue
        if given is None:
            text = f"values of {name} {limit} are expected, and no such limit is promised"
            yield Uncovered(_UNBACKED, text, f"{name} {limit}", _said(name, None))
        elif not _is_within(given, limit, is_lower=name == "at least"):
            text = f"values of {name} {limit} are expected, and {promised} is promised"
            yield Uncovered(_BROKEN, text, f"{name} {limit}", _said(name, given))


def _is_within(given: float | str, limit: float | str, *, is_lower: bool) -> bool:
    if isinstance(given, str) is not isinstance(limit, str):
        return False
    return given >= limit if is_lower else given <= limit  # type: ignore[operator] # both are texts, or both are numbers


def _enum(read: ExpectedRead, promise: FieldPromise | None) -> Iterator[Uncovered]:
    listed = ", ".join(map(str, read.enum or ()))
    if promise is None or promise.enum is None:
        text = f"one of {listed} is expected, and no values are promised"
        yield Uncovered(_UNBACKED, text, listed, _said("values", None))
        return
    for each in promise.enum:
        if each.value not in (read.enum or ()):
            text = f"one of {listed} is expected, and it may be {each.value}"
            yield Uncovered(_BROKEN, text, listed, str(each.value))


# Whether a consumer can read the records of a new schema: the misfits of the two schemas on the paths that it reads.
#
# Of a reader without a declared schema, those paths alone count, as if its schema had nothing else. A declared schema
# is the one with which records are decoded, so that whatever makes its decoder refuse a record counts at every place.

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
    return LimitedMisfits(partial(language_for(schema.schema_type).find_misfits, schema, offer.schema))


def misfits_of_keys(offer: Offer, schema: ParsedSchema) -> Misfits:
    """Return the misfits of the keys of an offer, which has a schema of them in the language of ``schema``."""
    return LimitedMisfits(partial(language_for(schema.schema_type).find_misfits, schema, offer.key_schema or schema))


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
            if each.effect is MisfitEffect.REFUSED and each.place not in known:
                yield _finding(_WHOLE, each, each.place)


def _met_by(
    misfits: Misfits, reads: Sequence[ExpectedRead], *, is_declared: bool
) -> Iterable[tuple[Misfit, ExpectedRead]]:
    """Return the misfits that reads meet, each with the read that is nearest to its place.

    One on the way to several reads is met by each of them, since something else is lost. Where a declared schema makes
    the decoder refuse the record, everything is lost, so that it is met once.
    """
    found: dict[object, tuple[Misfit, ExpectedRead]] = {}
    for read in sorted(reads, key=lambda each: -len(each.path)):
        for misfit in misfits.at(read.path):
            met = replace(misfit, lost=None) if is_declared and misfit.effect is MisfitEffect.REFUSED else misfit
            found.setdefault((met.place, met.expected, met.written, met.lost), (met, read))
    return found.values()


def _findings(
    met: Iterable[tuple[Misfit, ExpectedRead | None]], reader: Reader, *, is_lenient: bool
) -> Iterator[ReadFinding]:
    for misfit, read in met:
        rule = _rule(misfit, read, reader, is_lenient=is_lenient)
        if rule:
            finding = _finding(rule, misfit, misfit.place if read is None else read.path)
            yield finding if read is None else replace(finding, position=read.position)


def _rule(misfit: Misfit, read: ExpectedRead | None, reader: Reader, *, is_lenient: bool) -> str:
    """Return the rule of a finding about a misfit; empty where the consumer says that it copes with it.

    ``is_lenient``: records are decoded without the schema of the reader, so that nothing refuses them.
    """
    if misfit.symbol:
        handled = reader.expectation.on_unknown_enum
        if misfit.effect is MisfitEffect.KEPT:
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
