"""Findings about contracts and consumers as such: invalid files, removed contracts, consumers of unknown contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.consumers.findings import WAS_SO, readers_of
from counterfoil.contracts.consumers.pairs import removed_topics
from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.model import Finding, Numbers, fingerprint
from counterfoil.schema.agreements.model import major_of
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.contracts.consumers.agreements import Agreements, Consumer, Links
    from counterfoil.contracts.consumers.pairs import TopicChange
    from counterfoil.contracts.model import Readers
    from counterfoil.schema.agreements.model import Contract, Promise
    from counterfoil.schema.position import Position

_REMOVED: Final = "contract-removed"
_UNREAD: Final = "contract-unread"
_UNJUDGED: Final = "contract-without-schema"
_UNKNOWN: Final = "contract-unknown"
_OTHER_VERSION: Final = "contract-version-differs"
_BASELINE: Final = "baseline-invalid"
_NO_FILE: Final = "schema-file-missing"


class _Place(NamedTuple):
    """What a finding is about, and where; ``facts`` tell it from others of the same rule and subject."""

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
                yield _finding(_BASELINE, Severity.WARNING, text, _Place(found.id, path, None))
            numbers = Numbers()
            for fault in file.reading.faults:
                subject = path if found is None else found.id
                place = _Place(subject, path, fault.position, (path, *numbers.next(fault.rule)))
                severity = Severity.WARNING if was_so else Severity.ERROR
                yield _finding(fault.rule, severity, fault.problem, place, was_so=was_so)


def removed_contracts(after: Agreements, before: Agreements, is_wanted: Callable[[str], bool]) -> Iterator[Finding]:
    """Yield the contracts and topics that are gone; those that are read break their consumers."""
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
            yield _finding(_REMOVED, severity, text, place, readers=readers)
            continue
        for promise in gone.promises:
            text, position = _without(promise, kept[1])
            place = _Place(contract.id, kept[0], position, ("topic", promise.topic))
            yield _finding(_REMOVED, severity, text, place, readers=readers)


def _without(promise: Promise, contract: Contract) -> tuple[str, Position]:
    """Return the sentence about a topic that a contract has no longer, and the place of what it has instead."""
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
            yield _finding(_UNKNOWN, severity, text, place, was_so=was_so)
        elif known is not None and not is_of_version(consumer, known[1], known_before and known_before[1]):
            text = (
                f"it reads version {port.version} of {port.contract_id}, and {known[0]} is version {known[1].version}"
            )
            yield _finding(_OTHER_VERSION, severity, text, place, was_so=was_so)


def is_of_version(consumer: Consumer, *contracts: Contract | None) -> bool:
    """Return whether a consumer reads the major version of one of ``contracts``: those after and before a change."""
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
            yield _finding(_NO_FILE, severity, f"there is no schema file {link.url}", place, was_so=was_so)


def state_of(change: TopicChange, consumers: Sequence[Consumer]) -> Iterator[Finding]:
    """Yield what hinders the judgement of a changed topic: no schema, or no consumer."""
    topic = change.after
    subject, position = topic.promise.subject, topic.promise.position
    link, readers, facts = topic.promise.schema, readers_of((), consumers), (topic.contract.id,)
    if not consumers:
        text = f"no consumer that is known here reads {topic.contract.id}"
        yield _finding(_UNREAD, Severity.NOTICE, text, _Place(subject, topic.path, position, facts))
    elif topic.value_path is None and link is not None and link.is_file:
        was_so = change.before is not None and change.before.value_path is None
        severity, place = (
            Severity.NOTICE if was_so else Severity.ERROR,
            _Place(subject, topic.path, link.position, (link.url,)),
        )
        text = f"there is no schema file {link.url}"
        yield _finding(_NO_FILE, severity, text, place, was_so=was_so, readers=readers)
    elif topic.value_path is None:
        text = "no schema file of the topic is known here, so the reads of its consumers are not compared"
        yield _finding(_UNJUDGED, Severity.WARNING, text, _Place(subject, topic.path, position, facts), readers=readers)


def _finding(
    rule: str, severity: Severity, text: str, place: _Place, *, was_so: bool = False, readers: Readers | None = None
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
