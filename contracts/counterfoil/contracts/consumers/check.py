"""The check of a change by its consumers: from contract and product files of both sides to findings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.consumers.agreements import Links
from counterfoil.contracts.consumers.findings import WAS_SO, findings_of, readers_of
from counterfoil.contracts.consumers.gates import Gates, apply_gates
from counterfoil.contracts.consumers.judging import Pairing, judge_topics
from counterfoil.contracts.consumers.pairs import Schemas, TopicChange, changes_of, removed_topics, topics_of
from counterfoil.contracts.linting.rules import LINT_RULE_BY_ID
from counterfoil.contracts.model import Finding, fingerprint
from counterfoil.schema.position import Position
from counterfoil.schema.reports.model import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterfoil.contracts.baseline import Baseline
    from counterfoil.contracts.consumers.agreements import AgreementFile, Agreements, Consumer
    from counterfoil.contracts.consumers.pairs import Topic
    from counterfoil.contracts.model import CheckReport, Gate, Readers
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.agreements.model import Contract
    from counterfoil.schema.parsed import ParsedSchema

_REMOVED: Final = "contract-removed"
_UNREAD: Final = "contract-unread"
_UNJUDGED: Final = "contract-without-schema"
_UNKNOWN: Final = "contract-unknown"
_OTHER_VERSION: Final = "contract-version-differs"
_NO_FILE: Final = "schema-file-missing"


@dataclass(frozen=True, slots=True)
class ConsumerRequest:
    """What is compared: the agreements and schemas of both sides.

    ``before`` and ``tree_before`` are None for a baseline without files: contracts and consumers are then unchanged.
    ``is_wanted`` is whether a file is among those that are checked; ``gate`` has precedence over the project's.
    """

    after: Agreements
    before: Agreements | None
    tree: SchemaTree
    tree_before: SchemaTree | None
    baseline: Baseline
    is_wanted: Callable[[str], bool]
    project: Project | None = None
    gate: Gate | None = None


def check_consumers(report: CheckReport, request: ConsumerRequest) -> CheckReport:
    """Return the report with what the change breaks for consumers, and with the gates applied."""
    return _ConsumerCheck(report, request).run()


class _ConsumerCheck:
    def __init__(self, report: CheckReport, request: ConsumerRequest) -> None:
        self._report = report
        self._request = request
        self._after = request.after
        self._before = request.before if request.before is not None else request.after
        self._links = Links(request.tree, request.project)
        before = Links(request.tree_before, request.project) if request.tree_before is not None else None
        self._links_before = before or self._links
        self._schemas = Schemas(self._links, before, request.baseline)
        self._readers_by_schema: dict[str, list[Consumer]] = {}
        self._gates = Gates(request.tree, request.project, request.gate)

    def run(self) -> CheckReport:
        findings = [*self._faults(), *self._removed(), *self._unknown()]
        for path, contract in self._after.contracts.values():
            findings += self._judge(path, contract)
        report = self._report
        known = [replace(each, readers=self._readers(each)) for each in report.findings]
        ordered = sorted([*known, *findings], key=lambda one: (one.path, one.position or Position(0, 0), one.rule))
        report = replace(report, findings=tuple(ordered), consumers=self._after.applications)
        read = {path: bool(readers) for path, readers in self._readers_by_schema.items()}
        return apply_gates(report, self._request.tree, self._gates, read)

    def _readers(self, finding: Finding) -> Readers | None:
        """Return the consumers of a schema as a finding about its compatibility concerns them."""
        consumers = self._readers_by_schema.get(finding.path)
        if not consumers or finding.direction is None:
            return None
        return readers_of(self._links.path_of(finding.path, finding.element), consumers)

    def _judge(self, path: str, contract: Contract) -> Iterator[Finding]:
        """Yield the findings about one contract."""
        topics = topics_of(path, contract, self._links)
        known = self._before.contracts.get(contract.id)
        before = topics_of(*known, self._links_before) if known is not None else None
        changes = tuple(changes_of(topics, before, self._schemas))
        consumers = tuple(self._of_version(contract, known[1] if known is not None else None))
        for topic in topics:
            self._note(topic, consumers)
        pairings = [self._pairing(each) for each in consumers]
        judged = judge_topics(changes, pairings)
        yield from findings_of(
            (each for each in judged if each[1].is_by_consumer or self._is_wanted(each[0].after)), consumers
        )
        for change in changes:
            if change.is_changed and self._is_wanted(change.after):
                yield from self._state_of(change, consumers)

    def _note(self, topic: Topic, consumers: Sequence[Consumer]) -> None:
        """Remember who reads the schemas of a topic, and which gate it has."""
        for path in (topic.path, *(each.path for each in consumers)):
            self._gates.lend(topic.value_path or topic.path, path)
        for path in (topic.value_path, topic.key_path):
            if path is not None:
                self._readers_by_schema.setdefault(path, []).extend(consumers)

    def _is_wanted(self, topic: Topic) -> bool:
        paths = (topic.path, topic.value_path, topic.key_path)
        return any(path is not None and self._request.is_wanted(path) for path in paths)

    def _state_of(self, change: TopicChange, consumers: Sequence[Consumer]) -> Iterator[Finding]:
        """Yield what hinders the judgement of a changed topic: no schema, or no consumer."""
        topic = change.after
        subject, position = topic.promise.subject, topic.promise.position
        if not consumers:
            text = f"no consumer that is known here reads {topic.contract.id}"
            yield _finding(_UNREAD, Severity.NOTICE, subject, topic.path, text, position)
        elif topic.value_path is None:
            link = topic.promise.schema
            if link is not None and "://" not in link.url:
                was_so = change.before is not None and change.before.value_path is None
                text = f"there is no schema file {link.url}"
                yield _finding(
                    _NO_FILE,
                    Severity.ERROR,
                    subject,
                    topic.path,
                    text,
                    link.position,
                    was_so=was_so,
                    readers=readers_of((), consumers),
                )
            else:
                text = "no schema file of the topic is known here, so the reads of its consumers are not compared"
                yield _finding(
                    _UNJUDGED,
                    Severity.WARNING,
                    subject,
                    topic.path,
                    text,
                    position,
                    readers=readers_of((), consumers),
                )

    def _of_version(self, contract: Contract, before: Contract | None) -> Iterator[Consumer]:
        """Yield the consumers of the major version that a contract has or had."""
        versions = {_major(each.version) for each in (contract, before) if each is not None}
        return (each for each in self._after.of_contract(contract.id) if _major(each.expectation.version) in versions)

    def _pairing(self, consumer: Consumer) -> Pairing:
        before = self._before.same(consumer)
        now = self._schema(self._links, consumer)
        was = None if before is None else self._schema_before(before, consumer, now)
        return Pairing(consumer, before, now, was)

    def _schema(self, links: Links, consumer: Consumer) -> ParsedSchema | None:
        path = links.file(consumer.path, consumer.expectation.reader_schema)
        return None if path is None else links.tree.read(path).schema

    def _schema_before(self, before: Consumer, now: Consumer, schema: ParsedSchema | None) -> ParsedSchema | None:
        """Return the reader's schema before the change: the same object where its text is the same."""
        here = self._links.file(now.path, now.expectation.reader_schema)
        there = self._links_before.file(before.path, before.expectation.reader_schema)
        if here is not None and there is not None and not self._schemas.is_changed(there, here):
            return schema
        return None if there is None else self._links_before.tree.read(there).schema

    def _faults(self) -> Iterator[Finding]:
        """Yield the mistakes in the files that are compared; in a file that is unchanged they are warnings."""
        for path, file in self._after.files.items():
            if path not in self._after.consumer_files and not self._request.is_wanted(path):
                continue
            before = self._before.files.get(path)
            was_so = before is not None and before.data == file.data
            for fault in file.reading.faults:
                yield _finding(
                    fault.rule,
                    Severity.ERROR,
                    _id(file),
                    path,
                    fault.problem,
                    fault.position,
                    was_so=was_so,
                    at_least=Severity.WARNING,
                )

    def _removed(self) -> Iterator[Finding]:
        """Yield the contracts and topics that are gone; those that are read break their consumers."""
        for path, contract, promises in removed_topics(self._after, self._before):
            file = self._after.files.get(path)
            if not self._request.is_wanted(path) or (file is not None and file.reading.agreement is None):
                continue
            kept = self._after.contracts.get(contract.id)
            consumers = self._after.of_contract(contract.id)
            severity = Severity.ERROR if consumers else Severity.WARNING
            readers = readers_of((), consumers, broken=tuple(each.name for each in consumers))
            texts = [f"the contract {contract.id} was removed"]
            if kept is not None:
                texts = [f"the topic {each.topic} was removed from the contract" for each in promises]
            place = (path, None) if kept is None else (kept[0], kept[1].position)
            for text in texts:
                yield _finding(_REMOVED, severity, contract.id, place[0], text, place[1], readers=readers)

    def _unknown(self) -> Iterator[Finding]:
        """Yield the consumers of a contract that does not exist, or of another version of it."""
        for consumer in self._after.consumers:
            port = consumer.expectation
            known = self._after.contracts.get(port.contract_id)
            before = self._before.contracts.get(port.contract_id)
            same = self._before.same(consumer)
            was_so = same is not None and same.expectation.version == port.version
            if known is None:
                if before is None:
                    text = f"no file here is the contract {port.contract_id}, so its reads are not compared"
                    yield _finding(
                        _UNKNOWN,
                        Severity.WARNING,
                        consumer.application.id,
                        consumer.path,
                        text,
                        port.position,
                        was_so=was_so,
                    )
            elif not any(each is consumer for each in self._of_version(known[1], before and before[1])):
                text = f"it reads version {port.version} of {port.contract_id}, and {known[0]} is {known[1].version}"
                yield _finding(
                    _OTHER_VERSION,
                    Severity.WARNING,
                    consumer.application.id,
                    consumer.path,
                    text,
                    port.position,
                    was_so=was_so,
                )


def _finding(
    rule: str,
    severity: Severity,
    subject: str,
    path: str,
    text: str,
    position: Position | None,
    *,
    was_so: bool = False,
    at_least: Severity = Severity.NOTICE,
    readers: Readers | None = None,
) -> Finding:
    """Return a finding about an agreement; one that ``was_so`` before the change has the severity ``at_least``."""
    known = LINT_RULE_BY_ID.get(rule)
    return Finding(
        rule=rule,
        severity=at_least if was_so else severity,
        subject=subject,
        path=path,
        text=f"{text}{WAS_SO if was_so else ''}",
        fingerprint=fingerprint(rule, subject, text),
        position=position,
        advice=known.fix if known is not None else advice_for(rule),
        readers=readers,
    )


def _major(version: str) -> str:
    return version.removeprefix("v").partition(".")[0]


def _id(file: AgreementFile) -> str:
    return file.reading.agreement.id if file.reading.agreement is not None else file.path
