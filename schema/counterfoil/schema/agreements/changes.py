"""The changes between two versions of a contract or of a product file, and which of them break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.agreements import (
    Agreement,
    Contract,
    DataProduct,
    Expectation,
    ExpectedRead,
    FieldPromise,
    Promise,
    QualityRule,
)
from counterfoil.schema.agreements.readers import judge_promises
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.compatibility.findings import SCHEMA_UNDECIDED, Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import judge
from counterfoil.schema.languages.table import find_changes
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import print_path
from counterfoil.schema.rest.verdicts import ContractChange, JudgedDifference
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.agreements.pairs import ConsumerReading, Offering, Side


# What differs between two versions of a contract, and what of it breaks someone.

"""The rule of a comparison that did not end within its limits."""


def compare_sides(before: Side, after: Side) -> tuple[tuple[ContractChange, ...], tuple[JudgedDifference, ...]]:
    """Return the differences between the offers and reads of two versions, and which of them break someone."""
    earlier, later = _by_subject(before), _by_subject(after)
    changes = [*_members("topic", earlier, later)]
    findings: list[JudgedDifference] = []
    for subject in earlier.keys() & later.keys():
        was, now = earlier[subject].offer, later[subject].offer
        try:
            changes += _schema_changes(subject, was.schema, now.schema)
            findings += _incompatibilities(subject, was.schema, now.schema)
        except (JudgementUndecided, InvalidSchema) as reason:  # what is not known is no yes
            text = f"what the change of the schema breaks is not known: {reason.message}"
            findings.append(JudgedDifference(subject, SCHEMA_UNDECIDED, "", text, is_breaking=True))
        findings += (
            JudgedDifference(subject, each.rule, print_path(each.element), each.text, is_breaking=each.is_breaking)
            for each in judge_promises(was, now)
        )
    read_before, read_after = _reads(before), _reads(after)
    for contract in read_before.keys() | read_after.keys():
        changes += _members("read", read_before.get(contract, {}), read_after.get(contract, {}), subject=contract)
    return (
        tuple(sorted(changes, key=lambda each: (each.subject, each.path, each.kind))),
        tuple(sorted(findings, key=lambda each: (each.subject, each.path, each.rule, each.direction))),
    )


def _by_subject(side: Side) -> Mapping[str, Offering]:
    return {each.subject: each for each in side.offerings}


def _reads(side: Side) -> Mapping[str, Mapping[str, str]]:
    """Return the reads of a consumer, by contract and path, in words; the whole record has the path ``*``."""
    return {each.contract: _reading_words(each) for each in side.readings}


def _reading_words(reading: ConsumerReading) -> Mapping[str, str]:
    reads = reading.expectation.reads
    if reads is None:
        return {"*": "the whole record"}
    return {print_path(each.path): _expected(each) for each in reads}


def _expected(read: ExpectedRead) -> str:
    """Return the expectations at a path, in words."""
    low, high = read.range.minimum, read.range.maximum
    facts = {
        "as": read.type,
        "min": low,
        "max": high,
        "pattern": read.pattern,
        "enum": None if read.enum is None else ", ".join(map(str, read.enum)),
        "unit": read.unit,
    }
    words = [f"{name} {value}" for name, value in facts.items() if value is not None]
    flags = {"required": read.is_required, "whenPresent": read.when_present}
    return "; ".join([*(name for name, is_set in flags.items() if is_set), *words]) or "read"


def _members(
    noun: str, before: Mapping[str, object], after: Mapping[str, object], *, subject: str = ""
) -> Iterator[ContractChange]:
    """Yield the entries that one side alone has, and texts that differ."""
    for name in before.keys() | after.keys():
        place = {"subject": subject or name, "path": name if subject else ""}
        if name not in after:
            yield ContractChange(kind=f"{noun}-removed", text=f"{name} is no longer there", **place)
        elif name not in before:
            yield ContractChange(kind=f"{noun}-added", text=f"{name} is new", **place)
        elif isinstance(before[name], str) and before[name] != after[name]:
            yield ContractChange(kind=f"{noun}-changed", text=f"{name}: {before[name]} → {after[name]}", **place)


def _schema_changes(subject: str, was: ParsedSchema, now: ParsedSchema) -> Iterator[ContractChange]:
    if was.schema_type is not now.schema_type:
        yield ContractChange(subject, "language-changed", "", f"{was.schema_type} → {now.schema_type}")
        return
    for each in find_changes(was, now):
        yield ContractChange(subject, each.kind, each.element, each.text)


def _incompatibilities(subject: str, was: ParsedSchema, now: ParsedSchema) -> Iterator[JudgedDifference]:
    """Yield why readers of one schema cannot read records of the other."""
    if was.schema_type is not now.schema_type:
        text = f"the schema was {was.schema_type}, and is {now.schema_type}"
        yield JudgedDifference(subject, "language-changed", "", text, is_breaking=True)
        return
    for each in judge(now, [Earlier(was)], CompatibilityLevel.FULL).incompatibilities:
        found = each.difference
        yield JudgedDifference(
            subject,
            found.rule,
            print_path(found.element),
            found.text,
            is_breaking=True,
            direction=each.failure.direction.name,
        )


# What changed between two contract files, or two product files, without judgement.
#
# An agreement is laid out as facts: of which part of it (``element``), of which kind (``noun``), with which words and
# where. Two agreements are compared fact by fact. Facts about a part that is new or gone are not listed besides the
# part.

_Key: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class AgreementChange:
    """One change: ``kind`` is such as ``unit-changed``, ``element`` the part, empty for the file itself.

    ``earlier`` and ``later`` are the words on each side, None on the side that has none.
    """

    noun: str
    element: str
    earlier: str | None
    later: str | None
    earlier_position: Position | None = None
    later_position: Position | None = None

    @property
    def kind(self) -> str:
        """The kind of element and of change, such as ``field-added``."""
        return f"{self.noun}-{self._verb}"

    @property
    def text(self) -> str:
        """The change in words, such as ``unit changed: EUR.cent → EUR``."""
        words = f"{self.noun.replace('-', ' ')} {self._verb}"
        if self.earlier is None or self.later is None:
            only = self.later if self.earlier is None else self.earlier
            return f"{words}: {only}" if only else words
        return f"{words}: {self.earlier} → {self.later}"

    @property
    def _verb(self) -> str:
        if self.earlier is None:
            return "added"
        return "removed" if self.later is None else "changed"


@dataclass(frozen=True, slots=True)
class _Fact:
    """One fact; ``name`` distinguishes several of the same noun, ``around`` is the key of the part that has it."""

    noun: str
    element: str
    words: str
    position: Position
    name: str = ""
    around: _Key | None = None

    @property
    def key(self) -> _Key:
        return (self.noun, self.element, self.name)


def agreement_changes(earlier: Agreement, later: Agreement) -> tuple[AgreementChange, ...]:
    """Return the changes between two agreements of a kind: removals first, then the rest in the order of the later."""
    was = {each.key: each for each in _facts(earlier)}
    now = {each.key: each for each in _facts(later)}
    gone = [_gone(fact) for key, fact in was.items() if key not in now and _is_own(fact, now)]
    rest = [
        AgreementChange(fact.noun, fact.element, _words(before), fact.words, _place(before), fact.position)
        for key, fact in now.items()
        if _is_own(fact, was) and ((before := was.get(key)) is None or before.words != fact.words)
    ]
    return (*gone, *rest)


def _gone(fact: _Fact) -> AgreementChange:
    return AgreementChange(fact.noun, fact.element, fact.words, None, fact.position)


def _words(fact: _Fact | None) -> str | None:
    return None if fact is None else fact.words


def _place(fact: _Fact | None) -> Position | None:
    return None if fact is None else fact.position


def _is_own(fact: _Fact, other: dict[_Key, _Fact]) -> bool:
    """Return whether the part that has a fact is on the other side, too."""
    return fact.around is None or fact.around in other


def _facts(agreement: Agreement) -> Iterator[_Fact]:
    places, around = agreement.places, agreement.position
    words = {"id": agreement.id, "name": agreement.name, "version": agreement.version, "status": agreement.status}
    for noun, text in words.items():
        if text:
            yield _Fact(noun, "", text, places.get(noun, around))
    if agreement.owner:
        yield _Fact("owner", "", agreement.owner, places.get("team", around))
    yield from _of_contract(agreement) if isinstance(agreement, Contract) else _of_application(agreement)


# --- contracts --------------------------------------------------------------------------------------------------------


def _of_contract(contract: Contract) -> Iterator[_Fact]:
    place = contract.places.get("description", contract.position)
    for name, text in contract.description.items():
        yield _Fact("description", "", text, place, name)
    for promise in contract.promises:
        yield from _of_promise(promise)
    place = contract.places.get("slaProperties", contract.position)
    for level in contract.service_levels:
        words = f"{level.value} {level.unit}" if level.unit else str(level.value)
        yield _Fact(
            "service-level", level.element or "", f"{level.property} {words}", level.position or place, level.property
        )
    place = contract.places.get("servers", contract.position)
    for server in contract.servers:
        facts = (server.type, server.environment, server.host, server.registry)
        yield _Fact("server", server.name, ", ".join(filter(None, facts)), place)
    for migration in contract.migrations:
        sunset = f" until {migration.sunset}" if migration.sunset else ""
        name = f"{migration.source} → {migration.target}"
        yield _Fact("migration", name, f"{migration.converter}{sunset}", migration.position)


def _of_promise(promise: Promise) -> Iterator[_Fact]:
    place, name = promise.position, promise.name
    topic = _Fact("topic", name, promise.topic, promise.places.get("physicalName", place))
    yield topic
    facts = {
        "subject": promise.subject if promise.subject != f"{promise.topic}-value" else None,
        "compatibility": str(promise.level) if promise.level is not None else None,
    }
    for noun, text in facts.items():
        if text:
            yield _Fact(noun, name, text, promise.places.get(noun, place), around=topic.key)
    if promise.schema is not None:
        yield _Fact("schema-file", name, promise.schema.url, promise.schema.position, around=topic.key)
    if promise.key is not None:
        link = promise.key.schema
        parts = {"subject": promise.key.subject, "field": promise.key.field, "schema": link and link.url}
        words = ", ".join(f"{part} {text}" for part, text in parts.items() if text)
        yield _Fact("message-key", name, words, promise.places.get("messageKey", place), around=topic.key)
    for header in promise.headers:
        words = _joined("required" if header.is_required else "", header.pattern and f"pattern {header.pattern}")
        where = promise.places.get("headers", place)
        yield _Fact("header", f"{name}.$header.{header.name}", words, where, around=topic.key)
    for field in promise.fields:
        yield from _of_field(name, field, topic)
    for number, rule in enumerate(promise.quality):
        about = f"{name}.{print_path(rule.path)}" if rule.path else name
        yield _Fact("rule", about, _rule_words(rule), rule.position, rule.id or f"#{number}", topic.key)


def _of_field(promise: str, field: FieldPromise, topic: _Fact) -> Iterator[_Fact]:
    element = f"{promise}.{print_path(field.path)}"
    places, around = field.places, field.position
    part = _Fact("field", element, "", around, around=topic.key)
    yield part
    flags = {"required": field.is_required, "unique": field.is_unique, "deprecated": field.is_deprecated}
    facts = {
        "logicalType": ("type", field.logical_type),
        **{name: (name, "true" if is_set else None) for name, is_set in flags.items()},
        "logicalTypeOptions": ("range", str(field.range) if field.range.is_limited else None),
        "pattern": ("pattern", field.pattern),
        "enumPolicy": ("enum-policy", field.enum_policy and str(field.enum_policy)),
        "unit": ("unit", field.unit),
        "classification": ("classification", field.classification),
        "description": ("description", field.description or None),
    }
    for key, (noun, text) in facts.items():
        if text:
            yield _Fact(noun, element, text, places.get(key, around), around=part.key)
    for tag in field.tags:
        yield _Fact("tag", element, tag, places.get("tags", around), tag, part.key)
    for each in field.enum or ():
        words = f"{each.value} ({each.description})" if each.description else str(each.value)
        yield _Fact("enum-value", element, words, each.position or around, str(each.value), part.key)


def _rule_words(rule: QualityRule) -> str:
    limits = (f"{key} {value}" for key, value in sorted(rule.limits.items()))
    arguments = (f"{key} {value}" for key, value in sorted(rule.arguments.items()))
    said = _joined(rule.metric, (rule.implementation or "").strip(), *arguments, *limits, rule.severity)
    return f"{rule.id}: {said}" if rule.id else said or rule.type


# --- products ---------------------------------------------------------------------------------------------------------


def _of_application(application: DataProduct) -> Iterator[_Fact]:
    for port in application.expectations:
        yield from _of_port(port)


def _of_port(port: Expectation) -> Iterator[_Fact]:
    place, places = port.position, port.places
    part = _Fact("input-port", port.name, f"{port.contract_id} {port.version}", place)
    yield part
    facts = {
        "readerSchema": ("reader-schema", port.reader_schema.url if port.reader_schema is not None else None),
        "onUnknownEnum": ("on-unknown-enum", port.on_unknown_enum and str(port.on_unknown_enum)),
        "consumerGroups": ("consumer-groups", ", ".join(port.consumer_groups) or None),
        "reprocessesFrom": ("reprocesses-from", port.reprocesses_from),
        "pinned": ("pinned", "true" if port.is_pinned else None),
        "tags": ("tags", ", ".join(port.tags) or None),
    }
    for key, (noun, text) in facts.items():
        if text:
            yield _Fact(noun, port.name, text, places.get(key, place), around=part.key)
    if port.reads is None:
        yield _Fact("read", port.name, "the whole record", places.get("reads", place), around=part.key)
    for read in port.reads or ():
        yield _Fact("read", f"{port.name}.{print_path(read.path)}", _read_words(read), read.position, around=part.key)


def _read_words(read: ExpectedRead) -> str:
    flags = ("required" if read.is_required else "", "when present" if read.when_present else "")
    facts = {
        "as": read.type,
        "range": str(read.range) if read.range.is_limited else None,
        "pattern": read.pattern,
        "enum": None if read.enum is None else ", ".join(map(str, read.enum)),
        "unit": read.unit,
    }
    return _joined(*flags, *(f"{name} {text}" for name, text in facts.items() if text is not None))


def _joined(*parts: str | None) -> str:
    return "; ".join(_filled(parts))


def _filled(parts: Iterable[str | None]) -> Iterator[str]:
    return (each for each in parts if each)
