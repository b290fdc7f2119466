"""The judgement of a change by what consumers read and what contracts promise. Pure functions, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from counterfoil.schema.agreements import EnumPolicy, Expectation, ExpectedRead, FieldPromise, OnUnknownEnum, Promise
from counterfoil.schema.agreements.findings import FieldFacts, Offer, Reader, ReadFinding, SchemaFacts
from counterfoil.schema.agreements.rules import UNDECIDED
from counterfoil.schema.agreements.unmet_reads import (
    Undecided,
    misfits_of,
    misfits_of_keys,
    uncovered,
    unreadable,
    unreadable_keys,
)
from counterfoil.schema.compatibility.misfits import MISSING, NULLABLE, OPTIONAL, Misfits
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, PathNotFound, StepKind, header, print_path, resolve_path
from counterfoil.schema.texts import Pointer

_PRESENT: Final = "present"
_NOTHING: Final = frozenset({MISSING, NULLABLE, OPTIONAL})
"""What is written at a place where there is, or may be, no value."""
_NULLABLE: Final = "consumer-nullable"
_GONE: Final = "consumer-field-missing"
"""The rule of findings under which differences of schemas say nothing more: there is no such field."""


def judge_promises(earlier: Offer | None, later: Offer) -> tuple[ReadFinding, ...]:
    """Return what a contract promised and no longer does when ``later`` follows ``earlier``, whoever reads it."""
    return () if earlier is None else later.once(_promise_changes, earlier)


def judge_reader(offer: Offer, reader: Reader, *, reads_with: Offer | None = None) -> Iterator[ReadFinding]:
    """Yield what a consumer expects and the offer does not give: one finding for each place and what is written there.

    ``reads_with`` has the schemas with which it reads if its own is not known; without one, schemas are not compared.
    Their differences are left out for a field that is gone, and where they say what another finding says.
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
    """The schemas with which a consumer reads an offer: its own one, or those of what it was built for, if any."""

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
    """Yield what ``find`` finds, or that it cannot be told."""
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


def _promise_changes(later: Offer, earlier: Offer) -> tuple[ReadFinding, ...]:
    """Return what the contract promised and no longer does, and what changes for the keys."""
    return (*_key_schema_changes(earlier, later), *_taken_back(earlier, later))


def _key_schema_changes(earlier: Offer, later: Offer) -> Iterator[ReadFinding]:
    """Yield that keys of the same subject get another schema, and so another id: a registry has one for each text."""
    before, after = earlier.promise, later.promise
    was, now = earlier.key_schema, later.key_schema
    if was is None or now is None or was is now or before is None or after is None:
        return
    subjects = [promise.key and promise.key.subject for promise in (before, after)]
    if subjects[0] == subjects[1] and (was.schema_type, was.canonical()) != (now.schema_type, now.canonical()):
        text = "the schema of the key changes, so that keys have another schema id, and may get another partition"
        facts = ("same schema", "other schema")
        yield ReadFinding("key-schema-changed", text, (KEY,), (KEY,), *facts, position=after.position)


def _taken_back(earlier: Offer, later: Offer) -> Iterator[ReadFinding]:
    """Yield what the contract promised and no longer does, for fields that the new schema still has."""
    before, after = earlier.promise, later.promise
    if before is None or after is None:
        return
    yield from _key_changes(before, after)
    for each in before.headers:
        if each.is_required and ((now := after.header(each.name)) is None or not now.is_required):
            text = f"the header {each.name} was promised with every record"
            path, given = (header(each.name),), MISSING if now is None else "optional"
            yield ReadFinding("header-missing", text, path, path, "required", given, position=after.position)
    for field in before.fields:
        facts = later.facts.at(field.path)
        if facts is not None:
            now_promised = after.field(field.path)
            for rule, text, *stated in _field_changes(field, now_promised):
                position = now_promised.position if now_promised is not None else after.position
                finding = _found(rule, f"{print_path(field.path)}: {text}", field.path, *stated)
                yield replace(finding, pointer=facts.pointer, position=position)


def _key_changes(before: Promise, after: Promise) -> Iterator[ReadFinding]:
    was, now = before.key, after.key
    if was is None:
        return
    for part, earlier, later in (
        ("field", was.field, now and now.field),
        ("subject", was.subject, now and now.subject),
    ):
        if earlier is not None and earlier != later:
            text = f"the key's {part} was {earlier}, and is {later or 'not promised any more'}"
            facts = (f"{part} {earlier}", f"{part} {later or MISSING}")
            yield ReadFinding("key-changed", text, (KEY,), (KEY,), *facts, position=after.position)


def _field_changes(was: FieldPromise, now: FieldPromise | None) -> Iterable[tuple[str, str, str, str]]:
    """Yield the rule, the sentence, and what was and is promised, of each change of what is promised of a field."""
    unit = now.unit if now is not None else None
    if was.unit is not None and unit != was.unit:
        text = f"the unit was {was.unit}, and is {unit or 'not promised any more'}"
        yield "unit-changed", text, f"unit {was.unit}", f"unit {unit}" if unit else "no unit"
    if was.is_personal and (now is None or not now.is_personal):
        yield "pii-tag-removed", f"it was tagged {', '.join(was.tags)}, and is no longer", _listed(was.tags), "untagged"
    if now is None or was.enum is None or now.enum is None:
        return
    before = {each.value: each.description for each in was.enum}
    for value in now.enum:
        if value.value not in before and was.enum_policy is EnumPolicy.CLOSED:
            text = f"{value.value} is added to a closed enum"
            yield "enum-symbol-added-closed", text, _listed(before), str(value.value)
        elif value.value in before and before[value.value] != value.description and before[value.value]:
            text = f"{value.value} meant “{before[value.value]}”, and is described as “{value.description}”"
            yield "enum-meaning-changed", text, before[value.value], f"{value.value}: {value.description}"
