"""The breaks of a change for the versions that are live in an environment: a registry's verdicts on the changes.

A changed contract or product file is sent with its schemas, a changed schema of no contract by itself. The registry
knows who is live; nothing is stored there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.check.agreements import AgreementFile, Links
from counterfoil.contracts.check.consumer_findings import is_about_promises, place_in_schema
from counterfoil.contracts.check.consumers import Gates
from counterfoil.contracts.deploy.publication import PublishedContractFiles, schema_to_send
from counterfoil.contracts.errors import InvalidOperand, NotKnown, PreconditionFailed
from counterfoil.contracts.findings import (
    CheckGate,
    CheckReport,
    Finding,
    FindingNumbers,
    FindingReaders,
    Status,
    fingerprint,
)
from counterfoil.contracts.lint.lint import LintInput
from counterfoil.contracts.reports.deployment import UNKNOWN_REASONS, advice_on, rule_of, severity_of
from counterfoil.schema.agreements import Agreement, Contract, DataProduct, Promise
from counterfoil.schema.documents import likely
from counterfoil.schema.errors import NotFound
from counterfoil.schema.paths import KEY, FieldPath, InvalidPath, parse_path, print_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.rest.verdicts import DeploymentVerdict, ReasonCode, VerdictReason
from counterfoil.schema.texts import Position
from counterfoil.sdk import operations
from counterfoil.sdk.errors import UnexpectedReply
from counterfoil.sdk.operations.operation import Operation

if TYPE_CHECKING:
    from counterfoil.contracts.check.consumers import ConsumerRequest
    from counterfoil.sdk.client import Registry


UNJUDGED: Final = "environment-unjudged"
_CHANGED: Final = frozenset({Status.COMPARED, Status.NEW})
_RANK: Final = {Severity.NOTICE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A request to a registry: what do the changes between the two sides of ``agreements`` break in an environment?

    ``subjects`` are those of schema files that were given, by path.
    """

    agreements: ConsumerRequest
    environment: str
    registry: Registry
    label: str
    subjects: Mapping[str, str] = field(default_factory=dict)


class _Proposal(NamedTuple):
    """One question: about the file at ``path``, with the agreement in it, or None for a schema of ``subject``."""

    path: str
    subject: str
    agreement: Agreement | None
    operation: Operation[DeploymentVerdict]


def check_live(report: CheckReport, request: LiveRequest) -> CheckReport:
    """Return the report with the breaks of the change in the environment.

    Raises ``NotKnown`` for an environment that the registry does not know, and ``PreconditionFailed`` for a registry
    without contracts.
    """
    return _LiveCheck(report, request).run()


class _LiveCheck:
    def __init__(self, report: CheckReport, request: LiveRequest) -> None:
        self._report = report
        self._request = request
        self._files = request.agreements
        self._links = Links(request.agreements.tree, request.agreements.project)
        self._gates = Gates(request.agreements.tree, request.agreements.project, request.agreements.gate)
        self._findings = [*report.findings]
        self._number = {each.fingerprint: number for number, each in enumerate(report.findings)}
        self._notes: dict[str, None] = dict.fromkeys(filter(None, [report.note]))
        self._is_undecided = False
        self._numbers = FindingNumbers()

    def run(self) -> CheckReport:
        """Return the report with all verdicts."""
        self._insist_on_environment()
        covered: set[str] = set()
        for path, file in self._files.after.files.items():
            agreement = file.reading.agreement
            if agreement is None or file.reading.faults:
                continue
            schemas = self._schemas_of(path, agreement)
            covered |= schemas
            if self._is_wanted(path, schemas) and self._is_changed(path, file, schemas):
                self._judge_file(file, agreement)
        for path in sorted(self._changed - covered):
            given = self._request.subjects.get(path)
            for subject in self._links.subjects.known_as(path) if given is None else (given,):
                self._judge_schema(path, subject)
        ordered = sorted(self._findings, key=lambda one: (one.path, one.position or Position(0, 0), one.rule))
        return replace(
            self._report,
            findings=tuple(ordered),
            note="; ".join(self._notes),
            environment=f"{self._request.environment} in {self._request.label}",
            is_undecided=self._is_undecided,
        )

    def _insist_on_environment(self) -> None:
        wanted, label = self._request.environment, self._request.label
        try:
            known = [each.name for each in self._request.registry.call(operations.environments())]
        except (NotFound, UnexpectedReply) as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            raise PreconditionFailed(
                f"{label} has no environments: it is no registry of counterfoil, or an older one; leave out "
                "--environment"
            ) from None
        if wanted not in known:
            hint = likely(wanted, known) if known else "it has none; counterfoil record environment creates one"
            raise NotKnown(f"{label} has no environment {wanted}; {hint}")

    # --- what has changed ---------------------------------------------------------------------------------------------

    @cached_property
    def _changed(self) -> frozenset[str]:
        """The schema files that are checked and have changed."""
        return frozenset(each.path for each in self._report.files if each.status in _CHANGED)

    def _schemas_of(self, path: str, agreement: Agreement) -> set[str]:
        if isinstance(agreement, DataProduct):
            found = [self._links.file(path, each.reader_schema) for each in agreement.expectations]
        else:
            found = [
                schema
                for each in agreement.promises
                for schema in (self._links.value_of(path, each), self._links.key_of(path, each))
            ]
        return {each for each in found if each is not None}

    def _is_wanted(self, path: str, schemas: set[str]) -> bool:
        return any(self._files.is_wanted(each) for each in (path, *schemas))

    def _is_changed(self, path: str, file: AgreementFile, schemas: set[str]) -> bool:
        if schemas & self._changed:
            return True
        before = self._files.before
        if before is None:
            return False
        was = before.files.get(path)
        return was is None or was.data != file.data

    # --- questions ----------------------------------------------------------------------------------------------------

    def _judge_file(self, file: AgreementFile, agreement: Agreement) -> None:
        """Ask about a contract or product file with its schemas."""
        given = LintInput(tree=self._files.tree, read=lambda _: file.data, agreements=[file.path])
        environment, registry = self._request.environment, self._request.registry
        try:
            (contract,) = PublishedContractFiles(given, self._files.project).contracts(registry)
        except InvalidOperand:
            return  # the schema is not valid, which is a finding already
        except PreconditionFailed as missing:
            self._add_unjudged(file.path, agreement.id, agreement.position, str(missing))
            return
        gate = self._gate(file.path, agreement)
        application = agreement.id if isinstance(agreement, DataProduct) else None
        operation = operations.check_contract(
            contract, environment=environment, policy=gate.value, application=application
        )
        self._ask(_Proposal(file.path, agreement.id, agreement, operation), gate)

    def _judge_schema(self, path: str, subject: str) -> None:
        """Ask about a schema that no contract here is about."""
        tree, environment = self._files.tree, self._request.environment
        try:
            schema = schema_to_send(tree, self._files.project, subject, path, self._request.registry)
        except InvalidOperand:
            return  # it is a finding already
        except PreconditionFailed as missing:
            self._add_unjudged(path, subject, None, str(missing))
            return
        gate = self._gates.of(path)
        operation = operations.check_schema(subject, schema, environment=environment, policy=gate.value)
        self._ask(_Proposal(path, subject, None, operation), gate)

    def _gate(self, path: str, agreement: Agreement) -> CheckGate:
        """Return the gate of a file: that of the first schema of a contract, else its own."""
        if isinstance(agreement, Contract):
            for each in agreement.promises:
                schema = self._links.value_of(path, each)
                if schema is not None:
                    return self._gates.of(schema)
        return self._gates.of(path)

    def _ask(self, proposal: _Proposal, gate: CheckGate) -> None:
        verdict = self._request.registry.call(proposal.operation)
        self._is_undecided = self._is_undecided or verdict.deployable is None
        self._notes.update(dict.fromkeys(f"{self._request.environment}: {each}" for each in verdict.notices))
        for reason in verdict.reasons:
            if reason.reason is not ReasonCode.OK:
                self._add(proposal, reason, is_observed=gate is CheckGate.OBSERVE)

    # --- findings -----------------------------------------------------------------------------------------------------

    def _add(self, proposal: _Proposal, reason: VerdictReason, *, is_observed: bool) -> None:
        rule, environment = rule_of(reason), self._request.environment
        digest, former = self._fingerprints(reason)
        name = f"{reason.consumer} {reason.consumer_version}".strip()
        readers = FindingReaders((name,), (name,)) if name and reason.reason not in UNKNOWN_REASONS else None
        severity = Severity.WARNING if reason.reason in UNKNOWN_REASONS else severity_of(reason)
        number = self._number.get(digest)
        if number is not None:
            known = self._findings[number]
            worse = max(known.severity, severity, key=_RANK.__getitem__)
            together = known.readers if readers is None else _joined(known.readers, readers)
            self._findings[number] = replace(known, severity=worse, readers=together)
            return
        path, position = self._place(proposal, reason)
        self._note(
            Finding(
                rule=rule,
                severity=severity,
                subject=reason.subject or proposal.subject,
                path=path,
                text=f"in {environment}: {reason.text}",
                fingerprint=digest,
                former_fingerprints=former,
                position=position,
                element=reason.path,
                advice=advice_on(reason),
                readers=readers,
                is_observed=is_observed,
            )
        )

    def _fingerprints(self, reason: VerdictReason) -> tuple[str, tuple[str, ...]]:
        """Return the fingerprint of a reason, and those that earlier releases gave it.

        A break that several versions of a consumer share is one finding; several reasons with the same facts are
        told apart by their order.
        """
        if reason.fingerprint:
            return reason.fingerprint, reason.former_fingerprints
        rule = rule_of(reason)
        facts = (reason.contract, reason.subject, reason.producer, reason.consumer)
        place = (reason.path, reason.place, reason.expected, reason.written)
        number = self._numbers.next(rule, *facts, *place, reason.consumer_version, reason.producer_version)
        former = fingerprint(rule, reason.contract, reason.consumer, reason.path, reason.text)
        return fingerprint(rule, *facts, *place, *number), (former,)

    def _note(self, finding: Finding) -> None:
        self._number[finding.fingerprint] = len(self._findings)
        self._findings.append(finding)

    def _add_unjudged(self, path: str, subject: str, position: Position | None, text: str) -> None:
        """Add the finding that the registry cannot judge a file."""
        self._is_undecided = True
        self._note(
            Finding(
                rule=UNJUDGED,
                severity=Severity.WARNING,
                subject=subject,
                path=path,
                text=f"what the change breaks in {self._request.environment} is unknown: {text}",
                fingerprint=fingerprint(UNJUDGED, subject, path),
                position=position,
                advice=advice_for(UNJUDGED),
            )
        )

    def _place(self, proposal: _Proposal, reason: VerdictReason) -> tuple[str, Position | None]:
        """Return the file of a finding and the place in it: of the read, or of the offer."""
        agreement = proposal.agreement
        path = _steps(reason.path)
        if isinstance(agreement, DataProduct):
            return proposal.path, _place_of_read(agreement, reason)
        if agreement is None:
            return proposal.path, self._in_schema(proposal.path, path)
        promise = next((each for each in agreement.promises if each.subject == reason.subject), None)
        if promise is None:
            return proposal.path, agreement.position
        of_value = self._links.value_of(proposal.path, promise)
        of_key = self._links.key_of(proposal.path, promise)
        schema = of_key if path[:1] == (KEY,) else of_value
        if schema is None or is_about_promises(reason.rule):
            return proposal.path, _place_of_promise(promise, path)
        return schema, self._in_schema(schema, path[1:] if path[:1] == (KEY,) else path)

    def _in_schema(self, path: str, inside: FieldPath) -> Position | None:
        schema = self._files.tree.read(path).schema
        earlier = self._files.baseline.history(path, is_transitive=False)
        return None if schema is None else place_in_schema(schema, earlier[0].schema if earlier else None, inside)


def _joined(known: FindingReaders | None, more: FindingReaders) -> FindingReaders:
    """Return the consumers of two findings that are one."""
    if known is None:
        return more
    broken = tuple(dict.fromkeys((*known.broken, *more.broken)))
    reading = tuple(dict.fromkeys((*known.reading, *more.reading)))
    return FindingReaders(broken, reading, tuple(each for each in known.others if each not in reading))


def _steps(text: str) -> FieldPath:
    try:
        return parse_path(text) if text else ()
    except InvalidPath:  # an element of a language's own, such as an option of a file
        return ()


def _place_of_promise(promise: Promise, path: FieldPath) -> Position:
    found = promise.field(path)
    return promise.position if found is None else found.position


def _place_of_read(application: DataProduct, reason: VerdictReason) -> Position:
    """Return the place of the path that a consumer reads, else of the input port, else of the file."""
    ports = [each for each in application.expectations if each.contract_id == reason.contract]
    reads = (read for each in ports for read in each.reads or () if print_path(read.path) == reason.path)
    found = next(reads, None)
    if found is not None:
        return found.position
    return ports[0].position if ports else application.position
