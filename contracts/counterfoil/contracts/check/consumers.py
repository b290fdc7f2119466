"""The check of a change by its consumers: which files it reads on both sides, their findings, and the decision."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.advice import INTENDED
from counterfoil.contracts.baselines import Baseline, TreeBaseline, paths_below, reader_of
from counterfoil.contracts.baselines.git import inside
from counterfoil.contracts.check.agreements import (
    AgreementFile,
    Agreements,
    ContractTopic,
    DeclaredConsumer,
    Links,
    TopicChange,
    TopicSchemas,
    changes_of,
    read_file,
    topics_of,
)
from counterfoil.contracts.check.consumer_causes import (
    ConsumerHistory,
    Pairing,
    judge_topics,
    number_of,
    offering_of,
    side_of,
)
from counterfoil.contracts.check.consumer_findings import (
    findings_of,
    invalid_files,
    is_of_version,
    reader_schemas,
    readers_of,
    removed_contracts,
    state_of,
    unknown_contracts,
)
from counterfoil.contracts.errors import InputNotFound
from counterfoil.contracts.findings import CheckGate, CheckReport, Finding, FindingReaders
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.languages import AGREEMENT_SUFFIXES, YamlFiles
from counterfoil.contracts.project.model import Project, agreement_test
from counterfoil.contracts.project.subjects import settings_at
from counterfoil.schema.agreements import Contract
from counterfoil.schema.agreements.pairs import ConsumerReading, KnownWriters, Offering
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.reports import Severity
from counterfoil.schema.texts import Position, counted

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.choose import ComparedSides


# The check of a change by its consumers: from contract and product files of both sides to findings.

_CUT: Final = (
    "this is a shallow or partial clone, so that it is not known with which schemas the consumers were built; those "
    "that declare none are taken to read with the ones of {}"
)


@dataclass(frozen=True, slots=True)
class ConsumerRequest:
    """The agreements and schemas of both sides, which are compared.

    ``before`` and ``tree_before`` are None for a baseline without files: contracts and consumers are then unchanged.
    ``is_wanted`` is whether a file is to be checked; ``gate`` has precedence over the project's.
    ``history`` is that of the files before the change, None without one.
    """

    after: Agreements
    before: Agreements | None
    tree: SchemaTree
    tree_before: SchemaTree | None
    baseline: Baseline
    is_wanted: Callable[[str], bool]
    project: Project | None = None
    gate: CheckGate | None = None
    history: ConsumerHistory | None = None


def check_consumers(report: CheckReport, request: ConsumerRequest) -> CheckReport:
    """Return the report with the breaks that the change causes for consumers, and with the gates applied."""
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
        self._schemas = TopicSchemas(self._links, before, request.baseline)
        self._readers_by_schema: dict[str, list[DeclaredConsumer]] = {}
        self._contract_by_path: dict[str, str] = {}
        self._gates = Gates(request.tree, request.project, request.gate)

    def run(self) -> CheckReport:
        after, before, is_wanted = self._after, self._before, self._request.is_wanted
        findings = [
            *invalid_files(after, before, is_wanted),
            *removed_contracts(after, before, is_wanted),
            *unknown_contracts(after, before),
            *reader_schemas(after, before, self._links),
        ]
        for path, contract in after.contracts.values():
            findings += self._judge(path, contract)
        report = self._report
        known = [replace(each, readers=self._readers(each)) for each in report.findings]
        advised = (self._advised(each) for each in (*known, *findings))
        ordered = sorted(advised, key=lambda one: (one.path, one.position or Position(0, 0), one.rule))
        report = replace(
            report, findings=tuple(ordered), note=self._note_on(report), consumers=self._after.applications
        )
        read = {path: bool(readers) for path, readers in self._readers_by_schema.items()}
        return apply_gates(report, self._request.tree, self._gates, read)

    def _note_on(self, report: CheckReport) -> str:
        """Return the note of the report, with a sentence if the history of consumers is not known."""
        history = self._request.history
        is_cut = history is not None and history.is_cut
        return "; ".join(filter(None, (report.note, _CUT.format(report.against) if is_cut else "")))

    def _readers(self, finding: Finding) -> FindingReaders | None:
        """Return the consumers of a schema as a finding about its compatibility concerns them."""
        consumers = self._readers_by_schema.get(finding.path)
        if not consumers or finding.direction is None:
            return None
        return readers_of(self._links.path_of(finding.path, finding.element), consumers)

    def _advised(self, finding: Finding) -> Finding:
        """Return a break of a contract with the second way out in its advice."""
        contract = self._contract_by_path.get(finding.path)
        is_break = finding.severity is Severity.ERROR and finding.readers is not None and bool(finding.readers.reading)
        if contract is None or not is_break:
            return finding
        return replace(finding, advice=f"{finding.advice} {INTENDED.format(contract=contract)}".strip())

    def _judge(self, path: str, contract: Contract) -> Iterator[Finding]:
        """Yield the findings about one contract."""
        topics = topics_of(path, contract, self._links)
        known = self._before.contracts.get(contract.id)
        before = topics_of(*known, self._links_before) if known is not None else None
        changes = tuple(changes_of(topics, before, self._schemas))
        consumers = tuple(
            each for each in self._after.of_contract(contract.id) if is_of_version(each, contract, known and known[1])
        )
        for topic in topics:
            self._note(topic, consumers)
        pairings = [self._pairing(each, changes) for each in consumers]
        judged = judge_topics(changes, pairings)
        yield from findings_of(
            (each for each in judged if each[1].is_by_consumer or self._is_wanted(each[0].after)), consumers
        )
        for change in changes:
            if change.is_changed and self._is_wanted(change.after):
                yield from state_of(change, consumers)

    def _note(self, topic: ContractTopic, consumers: Sequence[DeclaredConsumer]) -> None:
        """Remember who reads the schemas of a topic, and which gate it has."""
        for path in (topic.path, *(each.path for each in consumers)):
            self._gates.lend(topic.value_path or topic.path, path)
        self._contract_by_path[topic.path] = topic.contract.id
        for schema in (topic.value_path, topic.key_path):
            if schema is not None:
                self._contract_by_path[schema] = topic.contract.id
                self._readers_by_schema.setdefault(schema, []).extend(consumers)

    def _is_wanted(self, topic: ContractTopic) -> bool:
        paths = (topic.path, topic.value_path, topic.key_path)
        return any(path is not None and self._request.is_wanted(path) for path in paths)

    def _pairing(self, consumer: DeclaredConsumer, changes: Sequence[TopicChange]) -> Pairing:
        before = self._before.same(consumer)
        now = self._schema(self._links, consumer)
        if before is None:
            return Pairing(consumer, before, now)
        was = self._schema_before(before, consumer, now)
        return Pairing(consumer, before, now, was, self._known(before, consumer, changes))

    def _known(self, before: DeclaredConsumer, now: DeclaredConsumer, changes: Sequence[TopicChange]) -> KnownWriters:
        """Return the offers of the commit in which a consumer appeared; looked for where a topic has changed."""
        history = self._request.history
        if history is None or not any(each.is_changed for each in changes):
            return KnownWriters()
        first = history.first_offered(before)
        side = side_of("first", (offering_of("first", each, offer, place) for place, (each, offer) in enumerate(first)))
        names = {(each.application.id, each.application.version or "") for each in (before, now)}

        def were_together(offered: Offering, _: ConsumerReading) -> bool:
            return history.were_together(before, changes[number_of(offered)].after, self._request.tree)

        return KnownWriters({name: [[side]] for name in names} if first else {}, were_together)

    def _schema(self, links: Links, consumer: DeclaredConsumer) -> ParsedSchema | None:
        path = links.file(consumer.path, consumer.expectation.reader_schema)
        return None if path is None else links.tree.read(path).schema

    def _schema_before(
        self, before: DeclaredConsumer, now: DeclaredConsumer, schema: ParsedSchema | None
    ) -> ParsedSchema | None:
        """Return the reader's schema before the change: the same object where its text is the same."""
        here = self._links.file(now.path, now.expectation.reader_schema)
        there = self._links_before.file(before.path, before.expectation.reader_schema)
        if here is not None and there is not None and not self._schemas.is_changed(there, here):
            return schema
        return None if there is None else self._links_before.tree.read(there).schema


# Which files a check with consumers reads, on both sides.


def request_of(comparison: ComparedSides, folders: Sequence[str], gate: CheckGate | None) -> ConsumerRequest:
    """Return both sides of the comparison: the repository's contracts, the consumers in ``folders`` and of the project.

    ``folders`` are folders and files relative to the current folder; they may be outside of the repository or ignored
    by git, and then nothing in them counts as changed. Raises ``InputNotFound``.
    """
    selection = _Selection(comparison, folders)
    head, baseline = comparison.yaml_files, comparison.baseline
    unversioned = selection.unversioned(head)
    files = {path: read_file(path, each) for path, each in {**selection.contents(head), **unversioned}.items()}
    before, tree_before, history = None, None, None
    if isinstance(baseline, TreeBaseline) and baseline.yaml_files is not None:
        earlier = selection.contents(baseline.yaml_files())
        known = {path: _unless_same(files.get(path), path, each) for path, each in earlier.items()}
        known.update({path: files[path] for path in unversioned})
        before = Agreements.of(known.values(), consumer_files=selection.consumers(known))
        tree_before = baseline.newest or SchemaTree((), validation=Validation.LENIENT)
        if baseline.past is not None:
            history = ConsumerHistory(baseline.past, is_agreement=selection.is_agreement, project=comparison.project)
    return ConsumerRequest(
        after=Agreements.of(files.values(), consumer_files=selection.consumers(files)),
        before=before,
        tree=comparison.head,
        tree_before=tree_before,
        baseline=baseline,
        is_wanted=comparison.scope.is_wanted,
        project=comparison.project,
        gate=gate,
        history=history,
    )


def _unless_same(now: AgreementFile | None, path: str, data: bytes) -> AgreementFile:
    """Return the earlier agreement of a file; if the file is unchanged, or was not valid before, the present one."""
    if now is not None and now.data == data:
        return now
    was = read_file(path, data)
    return replace(now, is_stand_in=True) if now is not None and was.reading.agreement is None else was


class _Selection:
    """The test for the files of agreements."""

    def __init__(self, comparison: ComparedSides, folders: Sequence[str]) -> None:
        self._root = comparison.scope.root
        self._repository = comparison.repository
        self._project = comparison.project
        self._given = tuple(comparison.scope.relative(path) for path in folders)
        for path, given in zip(self._given, folders, strict=True):
            if not (Path(self._root) / path).exists() and not self._was_there(comparison, path):
                raise InputNotFound(f"there is no file or folder {given!r}, which --consumers names")
        self.is_agreement = agreement_test(self._project, (*self._given, *comparison.scope.wanted))

    @staticmethod
    def _was_there(comparison: ComparedSides, path: str) -> bool:
        """Return whether a folder was removed by the change."""
        baseline = comparison.baseline
        if not isinstance(baseline, TreeBaseline) or baseline.yaml_files is None:
            return False
        return any(inside(each, [path]) for each in baseline.yaml_files().paths)

    def contents(self, side: YamlFiles) -> Mapping[str, bytes]:
        """Return the bytes of the agreements of a side."""
        return side.contents([path for path in side.paths if self.is_agreement(path)])

    def unversioned(self, head: YamlFiles) -> Mapping[str, bytes]:
        """Return the bytes of the product files that were named and are not in the tree that is checked."""
        known, read = {*head.paths, *self._tracked()}, reader_of(self._root)
        found = (path for given in self._given for path in _below(self._root, given) if path not in known)
        return {path: data for path in found if (data := read(path)) is not None}

    def _tracked(self) -> Sequence[str]:
        return () if self._repository is None else self._repository.working_paths()

    def consumers(self, paths: Mapping[str, AgreementFile]) -> frozenset[str]:
        """Return the paths among ``paths`` whose applications are consumers."""
        return frozenset(
            path
            for path in paths
            if inside(path, self._given) or (self._project is not None and self._project.is_consumer(path))
        )


def _below(root: str, path: str) -> list[str]:
    """Return the agreements below a folder, or the path itself if it is that of a file."""
    place = Path(root) / path
    if not place.is_dir():
        return [path]
    listed = paths_below(os.path.normpath(place), lambda name: name.endswith(AGREEMENT_SUFFIXES), is_whole=True)
    return [posixpath.join(path, each) for each in listed]


# What decides on a change: the compatibility level, the consumers, both, or nothing.

_LANGUAGE: Final = "schema-type-changed"
"""A rule of the level that consumers cannot overrule: none of them reads another language."""
_READ_OR_NOT: Final = frozenset({"unit-changed", "enum-symbol-added-closed", "header-missing"})
"""The rules about promises that matter to those alone who read what is promised."""


class Gates:
    """The gates of files: the ``given`` one for all, else the one of ``project`` for each, else strict.

    Contract and product files have the gate of the schema that they are about, once that is known.
    """

    def __init__(self, tree: SchemaTree, project: Project | None, given: CheckGate | None) -> None:
        self._tree = tree
        self._schemas = frozenset(tree.paths)
        self._project = project
        self._given = given
        self._by_path: dict[str, CheckGate] = {}

    def of(self, path: str) -> CheckGate:
        """Return the gate of the file at ``path``."""
        if self._given is not None:
            return self._given
        if path not in self._by_path:
            names = self._tree.outline(path) if path in self._schemas else None
            settings = settings_at(self._project, path, names.name if names else None)
            self._by_path[path] = settings.gate or CheckGate.STRICT
        return self._by_path[path]

    def lend(self, schema: str, path: str) -> None:
        """Give the agreement at ``path`` the gate of a schema, unless it has that of another one."""
        self._by_path.setdefault(path, self.of(schema))


def apply_gates(report: CheckReport, tree: SchemaTree, gates: Gates, is_read: Mapping[str, bool]) -> CheckReport:
    """Return the report with the severities that the gates leave to its findings.

    ``is_read`` says of each schema with a contract whether it has a consumer. A schema without one stays strict.
    """
    decided = _Decided(tree, is_read)
    findings, undecided, overruled = [], set(), 0
    for finding in report.findings:
        gate = gates.of(finding.path)
        if gate is CheckGate.OBSERVE:
            findings.append(replace(finding, is_observed=True))
            continue
        is_of_level = finding.direction is not None and finding.rule != _LANGUAGE
        if gate is CheckGate.CONSUMERS and is_of_level and not decided.by_consumers(finding.path):
            undecided.add(finding.path)
        elif gate is CheckGate.CONSUMERS and (is_of_level or _concerns_nobody(finding)):
            overruled += finding.severity is not Severity.NOTICE
            findings.append(replace(finding, severity=Severity.NOTICE))
            continue
        findings.append(finding)
    notes = [report.note] if report.note else []
    if overruled:
        notes.append(f"the gate consumers makes {counted(overruled, 'finding')} a notice")
    if undecided:
        paths = ", ".join(sorted(undecided))
        notes.append(f"the gate consumers does not apply to {paths}: no contract with a consumer is about it")
    if observed := sum(each.is_observed and each.severity is Severity.ERROR for each in findings):
        notes.append(f"the gate observe lets {counted(observed, 'error')} pass")
    return replace(report, findings=tuple(findings), note="; ".join(notes))


def _concerns_nobody(finding: Finding) -> bool:
    return finding.rule in _READ_OR_NOT and finding.readers is not None and not finding.readers.reading


class _Decided:
    """Which schemas the consumers decide on: each schema that is read, or that only such schemas refer to."""

    def __init__(self, tree: SchemaTree, is_read: Mapping[str, bool]) -> None:
        self._tree = tree
        self._is_read = is_read
        self._users_by_path: dict[str, list[str]] | None = None

    def by_consumers(self, path: str, way: tuple[str, ...] = ()) -> bool:
        """Return whether consumers decide on the schema at ``path``; ``way`` are the schemas that led to it."""
        if path in self._is_read:
            return self._is_read[path]
        users = [each for each in self._users(path) if each not in way]
        return bool(users) and all(self.by_consumers(each, (*way, path)) for each in users)

    def _users(self, path: str) -> list[str]:
        """Return the schemas that refer to the one at ``path``."""
        if self._users_by_path is None:
            self._users_by_path = {}
            for each in self._tree.paths:
                for target in self._tree.direct_references(each).values():
                    self._users_by_path.setdefault(target, []).append(each)
        return self._users_by_path.get(path, [])
