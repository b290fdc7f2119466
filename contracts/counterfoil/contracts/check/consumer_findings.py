"""Findings about topics, consumers and contracts, with their places in schema, contract and product files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.check.agreements import Agreements, DeclaredConsumer, Links, TopicChange, removed_topics
from counterfoil.contracts.findings import (
    ConsumerBreak,
    Finding,
    FindingNumbers,
    FindingReaders,
    FormerBreaks,
    fingerprint,
)
from counterfoil.contracts.lint import LINT_RULE_BY_ID
from counterfoil.schema.agreements import RULE_BY_ID, Contract, FieldPromise, Promise, major_of
from counterfoil.schema.agreements.findings import Offer, ReadFinding
from counterfoil.schema.agreements.judge import is_read
from counterfoil.schema.agreements.readers import concerns
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, PathNotFound, StepKind, print_path, resolve_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import Pointer, Position

if TYPE_CHECKING:
    from counterfoil.contracts.check.consumer_causes import TopicFinding


# The place of a finding about a topic: in a schema file, in the contract, or in the file of a consumer.

_PARTS_BY_RULE: Final[Mapping[str, tuple[str, ...]]] = {
    "expectation-broken": ("logicalTypeOptions", "enum"),
    "expectation-unbacked": ("logicalTypeOptions", "enum", "unit"),
    "unit-changed": ("unit",),
    "enum-symbol-added-closed": ("enum",),
    "enum-meaning-changed": ("enum",),
    "pii-tag-removed": ("tags",),
    "key-changed": ("messageKey",),
    "header-missing": ("headers",),
}
"""The rules about what a contract promises, with the keys that promise it; the others are about its schemas."""


_NULLABLE: Final = "consumer-nullable"
_TYPE: Final = (("type",),)
_PARTS_OF_TYPE: Final[Mapping[str, tuple[Pointer, ...]]] = {
    "consumer-type-narrowed": _TYPE,
    _NULLABLE: _TYPE,
    "consumer-enum-unknown": (("type", "symbols"), ("enum",), *_TYPE),
}
"""The rules about the type of a field, with the parts of its declaration in JSON that may say it."""


def place_of(change: TopicChange, found: TopicFinding) -> tuple[str, Position | None]:
    """Return the file of a finding, and the place in it."""
    finding = found.finding
    if found.is_by_consumer and found.consumer is not None:
        return found.consumer.path, finding.position
    if finding.rule in _PARTS_BY_RULE:
        return change.after.path, _in_promise(change, finding)
    later = change.later
    is_key = finding.element[:1] == (KEY,)
    path = change.after.key_path if is_key else change.after.value_path
    schema = None if later is None else later.key_schema if is_key else later.schema
    if path is None or schema is None:
        return change.after.path, change.after.promise.position
    if finding.pointer:
        return path, _of_type(schema, finding)
    inside = finding.element[1:] if is_key else finding.element
    return path, place_in_schema(schema, _earlier_schema(change.earlier, is_key=is_key), inside)


def _of_type(schema: ParsedSchema, finding: ReadFinding) -> Position | None:
    """Return the place of a finding's element; for the type of a field, the place of the type, if it has one."""
    pointer = finding.pointer
    is_of_type = finding.rule != _NULLABLE or schema.schema_type is SchemaType.AVRO  # elsewhere it may be `required`
    if is_of_type and not language_for(schema.schema_type).pointers_are_names:
        for steps in _PARTS_OF_TYPE.get(finding.rule, ()):
            if (found := schema.locate((*pointer, *steps))) != schema.locate((*pointer, *steps[:-1])):
                return found
    return schema.locate(pointer)


def _earlier_schema(offer: Offer | None, *, is_key: bool) -> ParsedSchema | None:
    if offer is None:
        return None
    return offer.key_schema if is_key else offer.schema


def _in_promise(change: TopicChange, finding: ReadFinding) -> Position:
    """Return the place of the present promise: of the value, else of the key that has changed, else of the field."""
    promise = change.after.promise
    now = promise.field(finding.element)
    if now is None:
        places, around = promise.places, promise.position
    else:
        places, around = now.places, now.position
    was = change.before.promise.field(finding.element) if change.before is not None else None
    if finding.rule.startswith("enum-") and now is not None and was is not None:
        known = was.enum or ()
        changed = (each.position for each in now.enum or () if each not in known and each.position is not None)
        return next(changed, around)
    is_header = finding.element[:1] and finding.element[0].kind is StepKind.HEADER
    parts = ("headers",) if is_header else _PARTS_BY_RULE[finding.rule]
    if was is not None and now is not None:
        parts = tuple(each for each in parts if _part(was, each) != _part(now, each)) or parts
    return next((places[each] for each in parts[:1] if each in places), around)


def _part(promise: FieldPromise, key: str) -> object:
    """Return the promise of a key of a field."""
    parts: Mapping[str, object] = {
        "logicalTypeOptions": (promise.range, promise.pattern),
        "enum": promise.enum,
        "unit": promise.unit,
        "tags": promise.tags,
    }
    return parts[key]


def is_about_promises(rule: str) -> bool:
    """Return whether findings of a rule are about the promises of a contract, and not about its schema."""
    return rule in _PARTS_BY_RULE


def place_in_schema(schema: ParsedSchema, earlier: ParsedSchema | None, path: FieldPath) -> Position | None:
    """Return the place of a field; for one that is gone, that of the part which contained it."""
    around, pointer = _nearest(schema, path)
    if around == path:
        return schema.locate(pointer)
    before, inside = _pointer(earlier, around), _pointer(earlier, path[: len(around) + 1])
    if inside and language_for(schema.schema_type).pointers_are_names:
        return schema.locate(inside[:-1])
    if inside and inside[: len(before)] == before:
        return schema.locate((*pointer, *inside[len(before) : -1]))
    return schema.locate(pointer)


def _nearest(schema: ParsedSchema, path: FieldPath) -> tuple[FieldPath, Pointer]:
    """Return the longest part of a path that the text of the schema has, with its place."""
    for length in range(len(path), 0, -1):
        pointer = _pointer(schema, path[:length])
        if pointer:
            return path[:length], pointer
    return (), ()


def _pointer(schema: ParsedSchema | None, path: FieldPath) -> Pointer:
    try:
        return resolve_path(schema, path).pointer if schema is not None else ()
    except PathNotFound:
        return ()


# Findings of a check from those about topics and consumers.

WAS_SO: Final = " (it was so before this change)"
_WERE_TOGETHER: Final = " (this version of the consumer was there together with it before)"
_NO_HEADER: Final = "header-missing"
_UNBACKED: Final = "expectation-unbacked"
_OWN_FIX: Final = "Change what the consumer expects, or have the producer of {contract} offer it first."


@dataclass(slots=True)
class _Group:
    """Findings that are one break, at the same place of a file; ``broken`` names the consumers that break."""

    change: TopicChange
    found: TopicFinding
    path: str
    position: Position | None
    shared: ConsumerBreak
    former: ConsumerBreak | None = None
    broken: dict[str, None] = field(default_factory=dict)


def findings_of(
    judged: Iterable[tuple[TopicChange, TopicFinding]], consumers: Sequence[DeclaredConsumer]
) -> Iterator[Finding]:
    """Yield one finding for each break, with all of its ``consumers``."""
    groups: dict[Hashable, _Group] = {}
    former = FormerBreaks(joins_promises=True)
    for change, found in judged:
        path, position = place_of(change, found)
        finding, subject = found.finding, change.after.promise.subject
        seen_as = (finding.is_preexisting, found.is_by_consumer, path)
        key = (finding.rule, finding.element, finding.place, finding.written, *seen_as)
        group = groups.setdefault(key, _Group(change, found, path, position, ConsumerBreak(subject, finding)))
        consumer = "" if found.consumer is None else found.consumer.application.id
        if found.consumer is not None:
            group.broken[found.consumer.name] = None
        elif group.found.consumer is not None:  # what the contract itself says is the better sentence
            group.found = found
        about = finding if found.consumer is not None else replace(finding, application=None)
        group.shared.add(about, *([consumer] if consumer else concerned_by(about, consumers)))
        former.add(key, about, subject=group.shared.subject, group=seen_as, consumer=consumer)
        group.former = former.of(key)
    headers = {group.found.finding.element for group in groups.values() if group.found.finding.rule == _NO_HEADER}
    for group in groups.values():
        finding = group.found.finding
        if finding.rule != _UNBACKED or finding.element not in headers:  # the promise that is gone says it already
            yield _finding_of_group(group, consumers)


def concerned_by(finding: ReadFinding, consumers: Iterable[DeclaredConsumer]) -> list[str]:
    """Return the ids of the consumers that a finding about the contract itself concerns."""
    return [each.application.id for each in consumers if concerns(each.expectation, finding)]


def _finding_of_group(group: _Group, consumers: Sequence[DeclaredConsumer]) -> Finding:
    found, topic = group.found, group.change.after
    finding, rule = found.finding, RULE_BY_ID[found.finding.rule]
    is_own = found.is_by_consumer and found.consumer is not None
    return Finding(
        rule=finding.rule,
        severity=_severity(is_breaking=rule.is_breaking, is_preexisting=finding.is_preexisting),
        subject=found.consumer.application.id if is_own and found.consumer is not None else topic.promise.subject,
        path=group.path,
        text=f"{group.shared.text}{_why_not_new(found)}",
        fingerprint=group.shared.fingerprint(),
        former_fingerprints=() if group.former is None else (group.former.former_fingerprint(),),
        position=group.position,
        element=print_path(finding.element),
        advice=_OWN_FIX.format(contract=topic.contract.id) if is_own and rule.is_breaking else rule.fix,
        readers=readers_of(finding.element, consumers, broken=tuple(group.broken) if rule.is_breaking else ()),
    )


def _why_not_new(found: TopicFinding) -> str:
    """Return the end of the sentence about breaks that the change does not cause."""
    if found.were_together:
        return _WERE_TOGETHER
    return WAS_SO if found.finding.is_preexisting else ""


def _severity(*, is_breaking: bool, is_preexisting: bool) -> Severity:
    if is_preexisting:
        return Severity.NOTICE
    return Severity.ERROR if is_breaking else Severity.WARNING


def readers_of(
    path: FieldPath, consumers: Sequence[DeclaredConsumer], *, broken: tuple[str, ...] = ()
) -> FindingReaders:
    """Return which of ``consumers`` read the part of a schema at ``path``; the key is read by all of them."""
    reading = [
        each.name
        for each in consumers
        if path == (KEY,) or not path or each.name in broken or is_read(each.expectation, path)
    ]
    names = tuple(dict.fromkeys(reading))
    others = tuple(dict.fromkeys(each.name for each in consumers if each.name not in names))
    return FindingReaders(broken, names, others)


# Findings about contracts and consumers as such: invalid files, removed contracts, consumers of unknown contracts.

_REMOVED: Final = "contract-removed"
_UNREAD: Final = "contract-unread"
_UNJUDGED: Final = "contract-without-schema"
_UNKNOWN: Final = "contract-unknown"
_OTHER_VERSION: Final = "contract-version-differs"
_BASELINE: Final = "baseline-invalid"
_NO_FILE: Final = "schema-file-missing"


class _Place(NamedTuple):
    """The subject and the place of a finding; ``facts`` tell it from others of the same rule and subject."""

    subject: str
    path: str
    position: Position | None
    facts: tuple[str, ...] = ()


def invalid_files(after: Agreements, before: Agreements, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield the mistakes in the files of contracts that are checked, and in those of consumers.

    In a file that is unchanged they are warnings.
    """
    for path, file in after.files.items():
        if path in after.consumer_files or is_wanted(path):
            known, found = before.files.get(path), file.reading.agreement
            was_so = known is not None and known.data == file.data
            if known is not None and known.is_stand_in and found is not None:
                text = "its earlier text was not valid, so a change cannot be recognized; it is treated as unchanged"
                yield _finding_of_file(_BASELINE, Severity.WARNING, text, _Place(found.id, path, None))
            numbers = FindingNumbers()
            for fault in file.reading.faults:
                subject = path if found is None else found.id
                place = _Place(subject, path, fault.position, (path, *numbers.next(fault.rule)))
                severity = Severity.WARNING if was_so else Severity.ERROR
                yield _finding_of_file(fault.rule, severity, fault.problem, place, was_so=was_so)


def removed_contracts(after: Agreements, before: Agreements, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield the contracts and topics that are gone; where one was read, its consumers break."""
    for gone in removed_topics(after, before):
        contract, file = gone.contract, after.files.get(gone.path)
        if not is_wanted(gone.path) or (file is not None and file.reading.agreement is None):
            continue
        consumers = after.of_contract(contract.id)
        severity = Severity.ERROR if consumers else Severity.WARNING
        readers = readers_of((), consumers, broken=tuple(each.name for each in consumers))
        kept = after.contracts.get(contract.id)
        if kept is None:
            text, place = f"the contract {contract.id} was removed", _Place(contract.id, gone.path, None, ("contract",))
            yield _finding_of_file(_REMOVED, severity, text, place, readers=readers)
            continue
        for promise in gone.promises:
            text, position = _without(promise, kept[1])
            place = _Place(contract.id, kept[0], position, ("topic", promise.topic))
            yield _finding_of_file(_REMOVED, severity, text, place, readers=readers)


def _without(promise: Promise, contract: Contract) -> tuple[str, Position]:
    """Return the sentence about a topic that a contract has no longer, and the place of its successor."""
    same = next((each for each in contract.promises if promise.name == each.name), None)
    if same is None:
        return f"the topic {promise.topic} was removed from the contract", contract.position
    text = (
        f"the topic {promise.topic} is {same.topic} now, and the major version {major_of(contract.version)} is the same"
    )
    return text, same.position


def unknown_contracts(after: Agreements, before: Agreements) -> Iterator[Finding]:
    """Yield the consumers of a contract that does not exist, or of another version of it.

    Consumers of a contract that was removed are named where that is reported.
    """
    for consumer in after.consumers:
        port, same = consumer.expectation, before.same(consumer)
        known, known_before = after.contracts.get(port.contract_id), before.contracts.get(port.contract_id)
        was_so = same is not None and same.expectation.version == port.version
        severity = Severity.NOTICE if was_so else Severity.WARNING
        key = "contractId" if known is None else "version"
        place = _Place(
            consumer.application.id,
            consumer.path,
            port.places.get(key, port.position),
            (port.contract_id, port.version),
        )
        if known is None and known_before is None:
            text = f"no file here is the contract {port.contract_id}, so its reads are not compared"
            yield _finding_of_file(_UNKNOWN, severity, text, place, was_so=was_so)
        elif known is not None and not is_of_version(consumer, known[1], known_before and known_before[1]):
            text = (
                f"it reads version {port.version} of {port.contract_id}, and {known[0]} is version {known[1].version}"
            )
            yield _finding_of_file(_OTHER_VERSION, severity, text, place, was_so=was_so)


def is_of_version(consumer: DeclaredConsumer, *contracts: Contract | None) -> bool:
    """Return whether a consumer reads the major version of a contract as it is after a change, or before."""
    wanted = major_of(consumer.expectation.version)
    return any(each is not None and major_of(each.version) == wanted for each in contracts)


def reader_schemas(after: Agreements, before: Agreements, links: Links) -> Iterator[Finding]:
    """Yield the consumers whose own schema is not among the files."""
    for consumer in after.consumers:
        link = consumer.expectation.reader_schema
        if link is not None and link.is_file and links.file(consumer.path, link) is None:
            same = before.same(consumer)
            was_so = same is not None and same.expectation.reader_schema == link
            severity = Severity.NOTICE if was_so else Severity.ERROR
            place = _Place(consumer.application.id, consumer.path, link.position, (link.url,))
            yield _finding_of_file(_NO_FILE, severity, f"there is no schema file {link.url}", place, was_so=was_so)


def state_of(change: TopicChange, consumers: Sequence[DeclaredConsumer]) -> Iterator[Finding]:
    """Yield the reasons why a changed topic cannot be judged: no schema, or no consumer."""
    topic = change.after
    subject, position = topic.promise.subject, topic.promise.position
    link, readers, facts = topic.promise.schema, readers_of((), consumers), (topic.contract.id,)
    if not consumers:
        text = f"no consumer that is known here reads {topic.contract.id}"
        yield _finding_of_file(_UNREAD, Severity.NOTICE, text, _Place(subject, topic.path, position, facts))
    elif topic.value_path is None and link is not None and link.is_file:
        was_so = change.before is not None and change.before.value_path is None
        severity, place = (
            Severity.NOTICE if was_so else Severity.ERROR,
            _Place(subject, topic.path, link.position, (link.url,)),
        )
        text = f"there is no schema file {link.url}"
        yield _finding_of_file(_NO_FILE, severity, text, place, was_so=was_so, readers=readers)
    elif topic.value_path is None:
        text = "no schema file of the topic is known here, so the reads of its consumers are not compared"
        yield _finding_of_file(
            _UNJUDGED, Severity.WARNING, text, _Place(subject, topic.path, position, facts), readers=readers
        )


def _finding_of_file(
    rule: str,
    severity: Severity,
    text: str,
    place: _Place,
    *,
    was_so: bool = False,
    readers: FindingReaders | None = None,
) -> Finding:
    known = LINT_RULE_BY_ID.get(rule)
    return Finding(
        rule=rule,
        severity=severity,
        subject=place.subject,
        path=place.path,
        text=f"{text}{WAS_SO if was_so else ''}",
        fingerprint=fingerprint(rule, place.subject, place.facts),
        former_fingerprints=(fingerprint(rule, place.subject, text),),
        position=place.position,
        advice=known.fix if known is not None else advice_for(rule),
        readers=readers,
    )
