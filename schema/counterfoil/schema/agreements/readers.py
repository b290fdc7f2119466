"""The judgement of a reader with an offer, before and after a change, and of promises; findings of release 0.2.0."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from counterfoil.schema.agreements import (
    RULE_BY_ID,
    UNDECIDED,
    EnumPolicy,
    Expectation,
    FieldPromise,
    OnUnknownEnum,
    Promise,
)
from counterfoil.schema.agreements.findings import FormerFinding, Offer, Reader, ReadFinding, SchemaFacts
from counterfoil.schema.agreements.judge import is_read, judge_reader
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Difference, Earlier, without_message
from counterfoil.schema.compatibility.misfits import MISSING, OPTIONAL
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import judge
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, PathNotFound, StepKind, header, member, print_path, resolve_path
from counterfoil.schema.plans.tree import (
    ArrayType,
    MapType,
    Node,
    NotPlannable,
    NullType,
    RecordType,
    UnionType,
    tree_of,
)
from counterfoil.schema.texts import Pointer

# What release 0.2.0 reported about a reader: by its sentences, approvals of that release name breaks.
#
# That release reported one finding for each rule and path that is read: first what the schema says of the path, and
# only if that was nothing, the first difference of the two schemas that touched it. Its sentences are made here alone,
# so that those of today may change. Nothing is decided by them.

_INVALID_FILE: Final = "invalid-protobuf-file"
_MISSING: Final = "consumer-field-missing"
_NARROWED: Final = "consumer-type-narrowed"
_WHOLE: Final = "consumer-incompatible"
_LISTED: Final = {
    "consumer-enum-unknown": ("{path} may be {symbols}, which the consumer does not know", " may be "),
    "expectation-broken": ("{path}: one of {known} is expected, and it may be {symbols}", ", and it may be "),
}
"""The sentences that listed all symbols, with a part of the sentence that is about one of them today."""

_Placed = tuple[FormerFinding, "FieldPath"]
"""A former finding with the place of the difference."""


def with_former(
    findings: Sequence[ReadFinding], offer: Offer, reader: Reader, reads_with: Offer | None
) -> list[ReadFinding]:
    """Return the findings about a reader, each with the one that release 0.2.0 reported in its place, if it did."""
    of_facts = _of_facts(offer, reader)
    found = [replace(each, former=of_facts.get(each.identity)) for each in findings]
    broken = {each.element for each in of_facts.values() if each.rule.startswith("consumer-")}
    for former, place in _once(_within_limits(offer, reader, reads_with), broken):
        matches = [number for number, each in enumerate(found) if each.former is None and _is_about(each, former)]
        exact = [number for number in matches if found[number].place == place]
        for number in exact or matches[:1]:
            found[number] = replace(found[number], former=former)
    return found


def _within_limits(offer: Offer, reader: Reader, reads_with: Offer | None) -> Sequence[_Placed]:
    """Return the former findings about the schemas; nothing where their comparison does not end within its limits."""
    try:
        return list(_of_schemas(offer, reader, reads_with))
    except (JudgementUndecided, InvalidSchema, RecursionError):
        return ()


def _is_about(finding: ReadFinding, former: FormerFinding) -> bool:
    """Return whether a finding is about the element of a former one at a path, or about a part of it."""
    return finding.element[: len(former.element)] == former.element or finding.place == former.element


def _once(found: Iterable[_Placed], broken: set[FieldPath]) -> Iterator[_Placed]:
    """Yield the first difference at each path, other than those of which the schema says enough."""
    known = set(broken)
    for each in found:
        if each[0].element not in known:
            known.add(each[0].element)
            yield each


def _of_facts(offer: Offer, reader: Reader) -> dict[object, FormerFinding]:
    """Return the former findings about the schema at a path, by the identity of the findings of today."""
    found = [
        replace(each, application=reader.application) for each in judge_reader(offer, replace(reader, schema=None))
    ]
    listed: dict[tuple[str, FieldPath], list[ReadFinding]] = {}
    for each in found:
        if each.rule in _LISTED and _LISTED[each.rule][1] in each.text:
            listed.setdefault((each.rule, each.element), []).append(each)
    first: dict[tuple[str, FieldPath], FormerFinding] = {}
    for each in found:
        text = each.text
        if (together := listed.get((each.rule, each.element))) and each in together:
            symbols = ", ".join(one.written for one in together)
            text = _LISTED[each.rule][0].format(path=print_path(each.element), symbols=symbols, known=each.expected)
        first.setdefault((each.rule, each.element), FormerFinding(each.rule, each.element, text))
    return {each.identity: first[each.rule, each.element] for each in found}


def _of_schemas(offer: Offer, reader: Reader, reads_with: Offer | None) -> Iterator[_Placed]:
    """Yield the former findings about the differences of the schemas of values, and of keys."""
    schema = reader.schema or (None if reads_with is None else reads_with.schema)
    if schema is not None and schema is not offer.schema:
        yield from _of_pair(offer, schema, reader, of_key=False)
    key = None if reads_with is None else reads_with.key_schema
    if key is not None and offer.key_schema is not None and key is not offer.key_schema:
        yield from _of_pair(Offer(offer.key_schema), key, reader, of_key=True)


def _of_pair(offer: Offer, schema: ParsedSchema, reader: Reader, *, of_key: bool) -> Iterator[_Placed]:
    around = (KEY,) if of_key else ()
    reads = reader.expectation.reads
    paths = None if reads is None else [each.path for each in reads if _is_of(each.path, of_key=of_key)]
    if schema.schema_type is not offer.schema.schema_type:
        if paths is None or paths:
            what = "the key is" if of_key else "records are"
            text = f"{what} written in {offer.schema.schema_type}, and the consumer reads {schema.schema_type}"
            yield FormerFinding(_WHOLE, around, text), around
        return
    inside = None if paths is None else [path[len(around) :] for path in paths]
    if schema.schema_type is SchemaType.PROTOBUF:
        yield from _renumbered(offer.facts, SchemaFacts(schema), inside, around)
    ignores_enums = reader.expectation.on_unknown_enum is not OnUnknownEnum.FAIL
    for each in offer.once(_differences, schema):
        if not (ignores_enums and "enum" in each.rule):
            yield from _of_difference(each, schema, inside, around)


def _is_of(path: FieldPath, *, of_key: bool) -> bool:
    first = path[0] if path else None
    return first == KEY if of_key else first is None or (first != KEY and first.kind is not StepKind.HEADER)


def _differences(offer: Offer, schema: ParsedSchema) -> tuple[Difference, ...]:
    judged = judge(offer.schema, [Earlier(schema)], CompatibilityLevel.FORWARD, policy=CompatibilityPolicy.SOUND)
    found = (each.difference for each in judged.incompatibilities)
    return tuple(each for each in found if each.rule != _INVALID_FILE)


def _renumbered(
    offered: SchemaFacts, known: SchemaFacts, paths: Sequence[FieldPath] | None, around: FieldPath
) -> Iterator[_Placed]:
    """Yield the fields of a message that are read by another number than the one under which they are written."""
    for path in [(member(name),) for name in known.schema.field_names()] if paths is None else paths:
        now, was = _numbers(offered, path), _numbers(known, path)
        if now != was and now and was:
            numbers = [".".join(map(str, each)) for each in (now, was)]
            text = f"is written as field {numbers[0]}, and the consumer reads field {numbers[1]}"
            full = (*around, *path)
            yield FormerFinding(_MISSING, full, f"{print_path(full)} {text}"), full


def _numbers(facts: SchemaFacts, path: FieldPath) -> tuple[int, ...]:
    """Return the numbers of the fields on a path of a message; nothing where they are not known."""
    if facts.at(path) is None:
        return ()
    try:
        node: Node | None = tree_of(facts.schema)
    except NotPlannable:
        return ()
    numbers: list[int] = []
    for step in path:
        if isinstance(node, RecordType) and step.kind is StepKind.MEMBER:
            field = next((each for each in node.fields if each.name == step.name), None)
            numbers += [] if field is None or field.number is None else [field.number]
            node = None if field is None else field.type
        elif isinstance(node, ArrayType) and step.kind is StepKind.ITEM:
            node = node.items
        else:
            node = node.values if isinstance(node, MapType) and step.kind is StepKind.VALUE else None
        if isinstance(node, UnionType):
            node = next((each for each in node.branches if not isinstance(each, NullType)), None)
    return tuple(numbers)


def _of_difference(
    difference: Difference, schema: ParsedSchema, paths: Sequence[FieldPath] | None, around: FieldPath
) -> Iterator[_Placed]:
    place = without_message(difference.element, schema)
    full = (*around, *place)
    if paths is None:
        yield FormerFinding(_WHOLE, full, difference.text), full
        return
    touched = (path for path in paths if _is_touched(path, place, difference.reader_pointer, schema))
    path = next(touched, None)
    if path is not None:
        yield FormerFinding(_NARROWED, (*around, *path), difference.text), full


def _is_touched(read: FieldPath, place: FieldPath, pointer: Pointer, schema: ParsedSchema) -> bool:
    """Return whether a difference was seen to concern a read: there, inside it, or around it."""
    if read[: len(place)] == place or place[: len(read)] == read:
        return True
    names_places = language_for(schema.schema_type).pointers_are_names
    ways = [read[:length] for length in range(1, len(read) + 1)] if names_places else [read]
    return any((found := _pointer(schema, way)) and pointer[: len(found)] == found for way in ways)


def _pointer(schema: ParsedSchema, path: FieldPath) -> Pointer:
    try:
        return resolve_path(schema, path).pointer
    except PathNotFound:
        return ()


# The judgement of a reader with what a writer offers, before and after a change: for files and for a registry.
#
# What is found of the offer in question is compared with what is found of the offers that it replaces, with the same
# reader: only what is worse than before counts. Pure functions.


def judge_pair(known: Sequence[Offer], offer: Offer, reader: Reader) -> tuple[ReadFinding, ...]:
    """Return the differences of ``offer`` from the expectations of ``reader``, whatever was offered before.

    ``known`` are the offers that the reader was built for: with their schemas it reads, unless it declares one, and on
    their promises it relies. What differs from any of them is found. Schemas that lack a path that it reads are left
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
    """Yield the promises that the contract no longer makes, whoever reads it."""
    for each in judge_promises(earlier, later):
        yield replace(each, former=FormerFinding(each.rule, each.element, each.text))


def concerns(expectation: Expectation, finding: ReadFinding) -> bool:
    """Return whether a finding about the contract itself concerns a reader; the key concerns all of them."""
    return finding.element[:1] == (KEY,) or is_read(expectation, finding.element)


def about_reader(findings: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return the findings about a reader, without the ones about former promises of the contract."""
    return tuple(each for each in findings if each.application is not None)


def worse_than(findings: Iterable[ReadFinding], before: Sequence[Iterable[ReadFinding]]) -> tuple[ReadFinding, ...]:
    """Return ``findings``, marked as pre-existing where each live offer in ``before`` has them.

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
    """Return whether a finding says something; an unknown result may be worse than before."""
    return finding.rule != UNDECIDED


class _Known:
    """The findings that make others no worse than before.

    A consumer that breaks at a place by the type that is written there is broken, whichever of its reads meets it. A
    read inside the place loses itself alone, so that another one inside it is another break.
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
    """Yield a consumer with the place where it breaks and the type that is written there, and with the cause."""
    yield finding.application, finding.place, finding.written
    if finding.around is not None:
        yield finding.application, *finding.around


def united(findings: Iterable[ReadFinding], more: Iterable[ReadFinding]) -> tuple[ReadFinding, ...]:
    """Return ``findings``, and each of ``more`` that says something else."""
    first = tuple(findings)
    known = {each.identity for each in first}
    return (*first, *(each for each in more if each.identity not in known))


# What a contract promised and no longer does, whoever reads it.


def judge_promises(earlier: Offer | None, later: Offer) -> tuple[ReadFinding, ...]:
    """Return the promises that a contract no longer makes when ``later`` follows ``earlier``, whoever reads it."""
    return () if earlier is None else later.once(_promise_changes, earlier)


def _promise_changes(later: Offer, earlier: Offer) -> tuple[ReadFinding, ...]:
    """Return the promises that the contract no longer makes, and the changes of the keys."""
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
    """Yield the promises that the contract no longer makes about fields that the new schema still has."""
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
            for rule, text, expected, written in _field_changes(field, now_promised):
                position = now_promised.position if now_promised is not None else after.position
                yield ReadFinding(
                    rule,
                    f"{print_path(field.path)}: {text}",
                    field.path,
                    field.path,
                    expected,
                    written,
                    pointer=facts.pointer,
                    position=position,
                )


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
    """Yield the rule, the sentence, and the former and present promise, of each change of a field's promises."""
    unit = now.unit if now is not None else None
    if was.unit is not None and unit != was.unit:
        text = f"the unit was {was.unit}, and is {unit or 'not promised any more'}"
        yield "unit-changed", text, f"unit {was.unit}", f"unit {unit}" if unit else "no unit"
    if was.is_personal and (now is None or not now.is_personal):
        yield (
            "pii-tag-removed",
            f"it was tagged {', '.join(was.tags)}, and is no longer",
            ", ".join(was.tags),
            "untagged",
        )
    if now is None or was.enum is None or now.enum is None:
        return
    before = {each.value: each.description for each in was.enum}
    for value in now.enum:
        if value.value not in before and was.enum_policy is EnumPolicy.CLOSED:
            text = f"{value.value} is added to a closed enum"
            yield "enum-symbol-added-closed", text, ", ".join(map(str, before)), str(value.value)
        elif value.value in before and before[value.value] != value.description and before[value.value]:
            text = f"{value.value} meant “{before[value.value]}”, and is described as “{value.description}”"
            yield "enum-meaning-changed", text, before[value.value], f"{value.value}: {value.description}"
