"""The judgement of a reader by its reads, field by field and schema by schema. Pure functions, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from counterfoil.schema.agreements import (
    UNDECIDED,
    Expectation,
    ExpectedRead,
    FieldPromise,
    OnUnknownEnum,
    Promise,
    ValueRange,
)
from counterfoil.schema.agreements.findings import FieldFacts, Offer, Reader, ReadFinding, SchemaFacts
from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.compatibility.misfits import MISSING, NULLABLE, OPTIONAL, Misfit, MisfitEffect, Misfits
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, PathNotFound, StepKind, print_path, resolve_path
from counterfoil.schema.texts import Pointer

# Whether what a consumer expects of values is covered by what a contract promises of them.

_BROKEN, _UNBACKED, _UNIT = "expectation-broken", "expectation-unbacked", "unit-changed"


class Uncovered(NamedTuple):
    """One expectation that is not promised: the rule, the sentence, and the facts of both."""

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
    """Return the fact of a promise about one aspect of a field."""
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
"""The rule of findings under which differences of schemas say nothing more: there is no such field."""
_SYMBOL: Final = "consumer-enum-unknown"
_KEPT: Final = "consumer-enum-kept"


class Undecided(Exception):
    """The error for schemas whose comparison did not end within its limits; the message says what to do."""


class LimitedMisfits:
    """The misfits that ``find`` finds. A comparison that did not end within its limits is not begun again.

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
        """Return the writer's path of the element that the reader's schema has at ``path``, or None."""
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
    """Yield the reasons why ``reader`` cannot read keys; their schema is never declared by a reader."""
    expectation = reader.expectation
    reads = expectation.reads
    if reads is not None:
        reads = tuple(replace(each, path=each.path[1:]) for each in reads if each.path[:1] == (KEY,))
    for each in unreadable(misfits, replace(reader, schema=None, expectation=replace(expectation, reads=reads))):
        lost = None if each.lost is None else (KEY, *each.lost)
        yield replace(each, element=(KEY, *each.element), place=(KEY, *each.place), lost=lost)


def unreadable(misfits: Misfits, reader: Reader) -> Iterator[ReadFinding]:
    """Yield the reasons why ``reader`` cannot read: one finding for each place and each type that is written there.

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


_PRESENT: Final = "present"
_NOTHING: Final = frozenset({MISSING, NULLABLE, OPTIONAL})
"""What is written at a place where there is, or may be, no value."""
_NULLABLE: Final = "consumer-nullable"


def judge_reader(offer: Offer, reader: Reader, *, reads_with: Offer | None = None) -> Iterator[ReadFinding]:
    """Yield the expectations that the offer does not keep: one finding for each place and type that is written there.

    ``reads_with`` has the schemas with which it reads if its own is not known; without one, schemas are not compared.
    Their differences are left out for a field that is gone, and where another finding says the same.
    """
    found: dict[object, ReadFinding] = {}
    known = _Known(offer, reader, reads_with)
    for read in reader.expectation.reads or ():
        for finding in _judge_read(offer, read, reader.expectation, known):
            found.setdefault(finding.identity, replace(finding, position=read.position))
    said = {(each.place, each.written) for each in found.values() if each.rule.startswith("consumer-")}
    gone = {each.place for each in found.values() if each.rule == _GONE}
    missed = {each.element for each in found.values() if each.rule == _GONE}
    for finding in _judge_schemas(known, missed):
        if finding.rule == _GONE and finding.lost is not None and not known.has(finding.element):
            continue  # what it reads there was never written under its number
        is_said = finding.element in gone or (
            finding.rule != _GONE and (finding.place, finding.symbol or finding.written) in said
        )
        if not is_said and not any(finding.place[:length] in gone for length in range(len(finding.place) + 1)):
            position = finding.position or reader.expectation.position
            found.setdefault(finding.identity, replace(finding, position=position))
    yield from (replace(each, application=reader.application) for each in found.values())


@dataclass(frozen=True, slots=True)
class _Known:
    """The schemas with which a consumer reads an offer: its own one, or the ones that it was built for, if any."""

    offer: Offer
    reader: Reader
    reads_with: Offer | None

    @property
    def schema(self) -> ParsedSchema | None:
        """The schema of values."""
        return self.reader.schema or (None if self.reads_with is None else self.reads_with.schema)

    def has(self, path: FieldPath) -> bool:
        """Return whether the schema of the consumer, if one is known, has a path."""
        if self.reader.schema is None or path[:1] == (KEY,):
            return self.reads_with is None or self.reads_with.has(path)
        try:
            resolve_path(self.reader.schema, path)
        except PathNotFound:
            return False
        return True

    @property
    def key(self) -> ParsedSchema | None:
        """The schema of keys."""
        return None if self.reads_with is None else self.reads_with.key_schema

    @property
    def misfits(self) -> Misfits | None:
        """The misfits of the values; None where the schema is the same one, unknown, or of another language."""
        offer, schema = self.offer, self.schema
        if schema is None or schema is offer.schema or schema.schema_type is not offer.schema.schema_type:
            return None
        is_own = self.reader.schema is not None
        return offer.once_for_text(misfits_of, schema) if is_own else offer.once(misfits_of, schema)

    @property
    def misfits_of_keys(self) -> Misfits | None:
        """The misfits of the keys."""
        written, key = self.offer.key_schema, self.key
        if key is None or written is None or key is written or key.schema_type is not written.schema_type:
            return None
        return self.offer.once(misfits_of_keys, key)

    def around(self, path: FieldPath) -> tuple[FieldPath, str] | None:
        """Return the place on the way to a path at which something else is written, and what it is."""
        if not self.has(path):
            return None
        of_key = (KEY,) if path[:1] == (KEY,) else ()
        misfits = self.misfits_of_keys if of_key else self.misfits
        with suppress(Undecided):
            for each in () if misfits is None else misfits.at(path[len(of_key) :]):
                if each.lost is not None and (each.is_moved or each.written not in _NOTHING):
                    return (*of_key, *each.place), each.written
        return None

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return the path of the offer for one of the consumer's schema; None where no other name there is known."""
        of_key = (KEY,) if path[:1] == (KEY,) else ()
        misfits = self.misfits_of_keys if of_key else self.misfits
        with suppress(Undecided):
            found = None if misfits is None else misfits.written_at(path[len(of_key) :])
            return None if found is None else (*of_key, *found)
        return None


def _judge_schemas(known: _Known, missed: Collection[FieldPath]) -> Iterator[ReadFinding]:
    """Yield why records of the offer cannot be read with the reader's schemas.

    The paths in ``missed`` are not there, which is found already: only the other reads meet differences.
    """
    offer, reader = known.offer, known.reader
    reads = reader.expectation.reads
    others = None if reads is None else tuple(each for each in reads if each.path not in missed)
    reading = replace(reader, expectation=replace(reader.expectation, reads=others)) if missed else reader
    if known.schema is not None and known.schema.schema_type is not offer.schema.schema_type:
        yield from _other_language(offer.schema, known.schema, reader.expectation)
    elif (misfits := known.misfits) is not None:
        yield from _within_limits(unreadable, misfits, reading)
    key, written = known.key, offer.key_schema
    if key is not None and written is not None and key.schema_type is not written.schema_type:
        yield from _other_language(written, key, reader.expectation, of_key=True)
    elif (misfits := known.misfits_of_keys) is not None:
        yield from _within_limits(unreadable_keys, misfits, reading, place=(KEY,))


def _within_limits(
    find: Callable[[Misfits, Reader], Iterable[ReadFinding]], misfits: Misfits, reader: Reader, *, place: FieldPath = ()
) -> Iterator[ReadFinding]:
    """Yield the misfits that ``find`` finds, or one that says that they are not known."""
    try:
        yield from list(find(misfits, reader))
    except Undecided as reason:
        text = f"whether the consumer can read it is unknown: {reason}"
        yield _found(UNDECIDED, text, place, "readable", "unknown")


def _other_language(
    written: ParsedSchema, known: ParsedSchema, expectation: Expectation, *, of_key: bool = False
) -> Iterator[ReadFinding]:
    """Yield that values or keys are written in another language, for a consumer that reads any of them."""
    places = [] if expectation.reads is None else [each for each in expectation.reads if _is_of(each, of_key=of_key)]
    if places or expectation.reads is None:
        what = "the key is" if of_key else "records are"
        text = f"{what} written in {written.schema_type}, and the consumer reads {known.schema_type}"
        position = places[0].position if places else expectation.position
        place = (KEY,) if of_key else ()
        facts = (known.schema_type.value, written.schema_type.value)
        yield ReadFinding("consumer-incompatible", text, place, place, *facts, position=position)


def _is_of(read: ExpectedRead, *, of_key: bool) -> bool:
    """Return whether a read is one of the key, or one of the value."""
    first = read.path[0] if read.path else None
    return first == KEY if of_key else first is None or (first != KEY and first.kind is not StepKind.HEADER)


def newly_read(earlier: Reader | None, later: Reader, promise: Promise) -> tuple[ReadFinding, ...]:
    """Return the fields with personal data that a new version of a consumer reads, and its earlier one did not.

    Without a list of reads, all of them are read.
    """
    tagged = [each for each in promise.fields if each.is_personal]
    before = {each.path for each in tagged if earlier is not None and is_read(earlier.expectation, each.path)}
    expectation = later.expectation
    return tuple(
        ReadFinding(
            "pii-newly-read",
            f"{later.application} newly reads {print_path(each.path)}, which is tagged {', '.join(each.tags)}",
            each.path,
            each.path,
            "untagged",
            ", ".join(each.tags),
            position=next((one.position for one in _reads_of(expectation, each.path)), expectation.position),
            application=later.application,
        )
        for each in tagged
        if each.path not in before and is_read(expectation, each.path)
    )


def is_read(expectation: Expectation, path: FieldPath) -> bool:
    """Return whether a consumer reads a path: itself, something inside it, or something that contains it."""
    return expectation.reads is None or any(_reads_of(expectation, path))


def _reads_of(expectation: Expectation, path: FieldPath) -> Iterator[ExpectedRead]:
    for each in expectation.reads or ():
        if each.path[: len(path)] == path or path[: len(each.path)] == each.path:
            yield each


def _judge_read(offer: Offer, read: ExpectedRead, expectation: Expectation, known: _Known) -> Iterator[ReadFinding]:
    first = read.path[0] if read.path else None
    if first is not None and first.kind is StepKind.HEADER:
        yield from _judge_header(offer, read)
        return
    facts_of = offer.key_facts if first == KEY else offer.facts
    if facts_of is None:  # nothing is known of the key
        return
    path, facts = read.path, facts_of.at(read.path)
    if facts is None and (alias := known.written_at(path)) is not None:
        path, facts = alias, facts_of.at(alias)
    if facts is None:
        if not read.when_present:
            expected = read.type or _PRESENT
            gone = _found(_GONE, _why_missing(offer, read), read.path, expected, MISSING)
            yield replace(gone, around=known.around(read.path) or (_first_missing(facts_of, path), MISSING))
        return
    pointer = () if first == KEY else facts.pointer
    for finding in _judge_facts(facts, read, expectation):
        yield replace(finding, pointer=pointer)
    promise = offer.promise.field(path) if offer.promise is not None else None
    for each in uncovered(read, promise, facts):
        text = f"{print_path(read.path)}: {each.text}"
        yield _found(each.rule, text, read.path, each.expected, each.promised, pointer=pointer)


def _parts(path: FieldPath) -> Iterator[FieldPath]:
    return (path[:length] for length in range(1 + (path[:1] == (KEY,)), len(path) + 1))


def _first_missing(facts: SchemaFacts, path: FieldPath) -> FieldPath:
    """Return the shortest part of a path that a schema does not have."""
    return next((part for part in _parts(path) if facts.at(part) is None), path)


def _judge_facts(facts: FieldFacts, read: ExpectedRead, expectation: Expectation) -> Iterator[ReadFinding]:
    name = print_path(read.path)
    if read.type is not None and not facts.is_always(read.type):
        text = f"{name} is read as {read.type}, and is {facts.words}"
        yield _found("consumer-type-narrowed", text, read.path, read.type, facts.words)
    text = f"{name} is required, and records may be without it"
    for is_so, written in ((facts.may_be_null, NULLABLE), (facts.may_be_absent, OPTIONAL)):
        if read.is_required and is_so:
            yield _found(_NULLABLE, text, read.path, "required", written)
    yield from _judge_symbols(facts, read, expectation)


def _judge_symbols(facts: FieldFacts, read: ExpectedRead, expectation: Expectation) -> Iterator[ReadFinding]:
    """Yield the symbols of an enum that a consumer does not list, unless it says that it handles others."""
    if read.enum is None or expectation.on_unknown_enum in (OnUnknownEnum.DEFAULT, OnUnknownEnum.PASS):
        return
    for symbol in facts.symbols or ():
        if symbol not in read.enum:
            text = f"{print_path(read.path)} may be {symbol}, which the consumer does not know"
            yield _found("consumer-enum-unknown", text, read.path, _listed(read.enum), symbol)


def _judge_header(offer: Offer, read: ExpectedRead) -> Iterator[ReadFinding]:
    name = read.path[0].name
    promised = offer.promise.header(name) if offer.promise is not None else None
    if promised is None:
        is_known = offer.promise is not None and bool(offer.promise.headers)
        if is_known and not read.when_present:
            text = f"the header {name} is read, and the contract does not have it"
            yield _found("header-missing", text, read.path, _PRESENT, MISSING)
        elif offer.promise is not None:
            text = f"the contract promises nothing of the header {name}"
            yield _found("expectation-unbacked", text, read.path, _PRESENT, MISSING)
    elif read.is_required and not promised.is_required:
        text = f"the header {name} is required, and may be left out"
        yield _found("expectation-unbacked", text, read.path, "required", "optional")


def _why_missing(offer: Offer, read: ExpectedRead) -> str:
    schema = offer.key_schema if read.path[:1] == (KEY,) else offer.schema
    try:
        resolve_path(schema or offer.schema, read.path)
    except PathNotFound as mistake:
        return str(mistake)
    return f"{print_path(read.path)} is not there"


def _found(rule: str, text: str, path: FieldPath, expected: str, written: str, *, pointer: Pointer = ()) -> ReadFinding:
    return ReadFinding(rule, text, path, path, expected, written, pointer)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
