"""The endpoints of verdicts; the parameters and bodies under ``/contracts/v1``, and what callers see of contracts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Literal

from fastapi import Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.access.resources import REGISTRY, AccessOperation, AccessResource, subject_resource
from counterfoil.registry.contracts.records import NAME_PATTERN, is_name
from counterfoil.registry.contracts.verdicts.checking import Proposal
from counterfoil.registry.contracts.verdicts.verdict import Policy
from counterfoil.registry.contracts.visibility import (
    application_resource,
    bridge_resource,
    environment_resource,
    may_see,
    shown_consumers,
)
from counterfoil.registry.http.access import CallerOfRequest, CasesOfRequest, RequestCaller
from counterfoil.registry.http.answers import V1, answer
from counterfoil.registry.http.request import decode_segment, expected
from counterfoil.registry.use_cases import UseCases
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest, NotDeployable, VerdictUnknown
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import (
    Application,
    ApplicationVersion,
    ContractKind,
    Deployment,
    Environment,
    Liveness,
    NewContract,
    NewPublication,
)
from counterfoil.schema.rest.object_forms import Document, RequestJson
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.verdicts import (
    CONSUMER,
    FIELD_USE,
    DeploymentVerdict,
    ReasonCode,
    VerdictReason,
    verdict_document,
)

# The parameters of endpoints under ``/contracts/v1``.


class ContractForm(StrEnum):
    """The form in which a contract is returned."""

    JSON = "json"
    """With its hash, its text, and the schemas to which it refers."""
    ODCS = "odcs"
    ODPS = "odps"


def segment(name: str) -> str:
    """Return a name in the path; raise ``BadRequest`` for one that cannot be a name."""
    decoded = decode_segment(name)
    if not is_name(decoded):
        raise BadRequest(
            f"A name in the path is {decoded[:80]!r}; expected 1 to 300 characters without control characters"
        )
    return decoded


def _application(application: Annotated[str, Path()]) -> str:
    return segment(application)


async def _version(version_name: Annotated[str, Path()]) -> str:
    return segment(version_name)


async def _environment(environment: Annotated[str, Path()]) -> str:
    return segment(environment)


def _contract(contract: Annotated[str, Path()]) -> str:
    return segment(contract)


async def _id(deployment: Annotated[str, Path()]) -> str:
    return segment(deployment)


async def _approval(approval: Annotated[str, Path()]) -> str:
    return segment(approval)


async def _verification(verification: Annotated[str, Path()]) -> str:
    return segment(verification)


def _subject(subject: Annotated[str, Path()]) -> QualifiedSubject:
    return parse_subject(decode_segment(subject))


ApplicationName = Annotated[str, Depends(_application)]
VersionName = Annotated[str, Depends(_version)]
EnvironmentName = Annotated[str, Depends(_environment)]
ContractId = Annotated[str, Depends(_contract)]
DeploymentId = Annotated[str, Depends(_id)]
ApprovalId = Annotated[str, Depends(_approval)]
VerificationId = Annotated[str, Depends(_verification)]
SubjectOfPath = Annotated[QualifiedSubject, Depends(_subject)]
DryRun = Annotated[bool, Query(alias="dryRun", description="Only check the request.")]
Strict = Annotated[bool, Query(description="Answer 409 for no, and 424 where it cannot be known.")]
Kind = Annotated[ContractKind | SkipJsonSchema[None], Query(), expected("odcs or odps")]
Form = Annotated[ContractForm, Query(alias="as"), expected("json, odcs or odps")]
Filter = Annotated[str | SkipJsonSchema[None], Query(max_length=300)]
Required = Annotated[str, Query(min_length=1, max_length=300)]
Ignored = Annotated[tuple[str, ...], Query(description="Applications that do not count.", max_length=100)]
Branch = Annotated[str, Query(min_length=1, max_length=300, description="Default: main.")]
FromVersion = Annotated[str, Query(alias="from", min_length=1, max_length=300, description="The earlier version.")]
MaxAge = Annotated[
    int | SkipJsonSchema[None],
    Query(
        alias="maxAgeDays",
        ge=0,
        le=36_500,
        description="The greatest age, in days, of a verification of each contract that the version offers.",
    ),
    expected("a number of days from 0 to 36500"),
]


# The bodies of requests under ``/contracts/v1``, and the values that they stand for.

_MAX_CONTRACT_CHARS = 1_000_000
_MAX_CONTRACTS = 200
_MAX_SCHEMAS = 1000

Name = Annotated[str, Field(pattern=NAME_PATTERN), expected("1 to 300 characters without control characters")]
Count = Annotated[int, Field(ge=0, le=2**53)]
Text = Annotated[str, Field(max_length=2000)]
SchemaObject = Annotated[Document, Field(description="A schema, as the body of a registration.")]


class ContractsBody(BaseModel):
    """A body, whose members are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class ReportBody(BaseModel):
    """A report of a client. Unknown members are ignored, since clients of later versions may send more."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")


class ApplicationToPutBody(ContractsBody):
    """What is known of an application."""

    owner: Text = Field("", description="The team or person to ask.")
    repository: Text = Field("", description="The address of its source code.")
    description: Text = ""

    def application(self, name: str) -> Application:
        """Return the application."""
        return Application(name, self.owner, self.repository, self.description)


class VersionToPutBody(ContractsBody):
    """What is known of a version of an application."""

    branch: Text = ""
    commit: Text = ""
    build_url: Text = ""

    def version(self, application: str, version: str) -> ApplicationVersion:
        """Return the version."""
        return ApplicationVersion(application, version, self.branch, self.commit, self.build_url)


class ContractToPublishBody(ContractsBody):
    """A contract file, and the schemas to which it refers."""

    content: str = Field(max_length=_MAX_CONTRACT_CHARS, description="The text of the file: ODCS or ODPS, as YAML.")
    schemas: Annotated[dict[str, SchemaObject], Field(max_length=_MAX_SCHEMAS)] = Field(
        default_factory=dict,
        description="By the text of a link in the file, or by subject. Default: the latest version of the subject.",
    )

    def contract(self) -> NewContract:
        """Return the contract."""
        return NewContract(self.content, {link: schema_of_body(each, link) for link, each in self.schemas.items()})


class PublicationBody(ContractsBody):
    """The contracts of one version of an application."""

    application: Name
    version: Name
    branch: Text = ""
    commit: Text = ""
    build_url: Text = ""
    contracts: Annotated[tuple[ContractToPublishBody, ...], Field(min_length=1, max_length=_MAX_CONTRACTS)]

    def publication(self) -> NewPublication:
        """Return the publication."""
        contracts = tuple(each.contract() for each in self.contracts)
        return NewPublication(self.application, self.version, contracts, self.branch, self.commit, self.build_url)


class EnvironmentToPutBody(ContractsBody):
    """What is known of an environment."""

    production: bool = False
    order: Annotated[int, Field(ge=0, le=10_000)] = 0
    contacts: Annotated[tuple[Text, ...], Field(max_length=100)] = ()
    verified_within_days: Annotated[int, Field(ge=0, le=36_500)] | None = Field(
        None, description="The greatest age of a verification of each contract that a version offers."
    )

    def environment(self, name: str) -> Environment:
        """Return the environment."""
        return Environment(name, self.production, self.order, self.contacts, self.verified_within_days)


class ReleaseToRecordBody(ContractsBody):
    """A version that was released to an environment."""

    application: Name
    version: Name

    def deployment(self, environment: str) -> Deployment:
        """Return the release."""
        return Deployment("", environment, self.application, self.version, Liveness.RELEASED)


class DeploymentToRecordBody(ContractsBody):
    """A version that was deployed to an environment."""

    application: Name
    version: Name
    instance: Name | Literal[""] = Field(
        "", description="Which of several instances; a deployment replaces that of the same instance."
    )

    def deployment(self, environment: str) -> Deployment:
        """Return the deployment."""
        return Deployment("", environment, self.application, self.version, Liveness.DEPLOYED, self.instance)


class CheckBody(ContractsBody):
    """A proposed schema of a subject, or a proposed contract."""

    environment: Name | None = Field(
        None, description="Default: the newest version of each application counts as live."
    )
    policy: Policy = Field(
        Policy.STRICT, description="strict, consumers (the compatibility level is only reported) or observe."
    )
    subject: Annotated[str, Field(max_length=2000)] | None = None
    schema_: SchemaObject | None = Field(None, alias="schema")
    contract: ContractToPublishBody | None = None
    application: Annotated[str, Field(max_length=200)] = Field(
        "", description="The application whose contract it is, for expectations that are broken already."
    )

    def proposal(self) -> Proposal:
        """Return the proposal."""
        return Proposal(
            self.environment,
            self.policy,
            subject=None if self.subject is None else parse_subject(self.subject),
            schema=None if self.schema_ is None else schema_of_body(self.schema_, "schema"),
            contract=None if self.contract is None else self.contract.contract(),
            application=self.application,
        )


def schema_of_body(value: Document, place: str) -> Schema:
    """Return the schema in a body."""
    return SCHEMA.read(RequestJson(value, place))


# What callers see of contracts: applications, deployments, and the reasons of verdicts.
#
# A verdict is worked out over everything that is stored; of its reasons a caller gets those about what it may read, and
# the number of the others.


def require_known(caller: RequestCaller, *resources: AccessResource) -> None:
    """Raise ``Forbidden`` unless the caller may know all of ``resources``, each of which the request names.

    Whether they exist is looked up after that, so that the answer does not show it.
    """
    for each in resources:
        if not caller.may(AccessOperation.DESCRIBE, each):
            raise caller.denial(AccessOperation.DESCRIBE, each)


async def shown_verdict(cases: UseCases, caller: RequestCaller, verdict: DeploymentVerdict) -> DeploymentVerdict:
    """Return ``verdict`` with the reasons that the caller may read; the others are counted in a notice."""
    if caller.may(AccessOperation.READ, REGISTRY):
        return verdict
    secret = await _secret_migrations(cases, caller, verdict)
    shown = (each for each in verdict.reasons if _is_shown(caller, each))
    reasons = tuple(one for each in shown if (one := _without_migration(each, secret)) is not None)
    hidden = len(verdict.reasons) - len(reasons) + len(verdict.notices)
    notices = (f"{hidden} more are about what {caller.name} may not read",) if hidden else ()
    return replace(verdict, reasons=reasons, notices=notices)


def _is_shown(caller: RequestCaller, reason: VerdictReason) -> bool:
    named = [application_resource(each) for each in (reason.producer, reason.consumer) if each]
    if not all(caller.may(AccessOperation.DESCRIBE, each) for each in named):
        return False
    may_read_subject = bool(reason.subject) and caller.may_read(parse_subject(reason.subject))
    return may_read_subject or any(caller.may(AccessOperation.READ, each) for each in named)


async def _secret_migrations(cases: UseCases, caller: RequestCaller, verdict: DeploymentVerdict) -> set[str]:
    """Return the contracts that have a migration of whose bridge or application the caller may not know."""
    if not any(_is_of_migration(each) for each in verdict.reasons):
        return set()
    return {
        each.contract
        for each in await cases.contracts.migrations.all()
        if not (
            caller.may(AccessOperation.READ, bridge_resource(each.bridge))
            and caller.may_know_application(each.application)
        )
    }


def _is_of_migration(reason: VerdictReason) -> bool:
    return reason.reason is ReasonCode.MIGRATION_NOT_READY or (
        reason.reason is ReasonCode.APPROVED_BREAK and not reason.approval
    )


def _without_migration(reason: VerdictReason, secret: set[str]) -> VerdictReason | None:
    """Return a reason without the names of a bridge and its application; None for one that is about them alone."""
    if not _is_of_migration(reason) or reason.contract not in secret:
        return reason
    if reason.reason is ReasonCode.MIGRATION_NOT_READY:
        return None
    return replace(reason, text=f"a migration of contract {reason.contract} permits it")


async def may_on_subjects(cases: UseCases, caller: RequestCaller, operation: AccessOperation, contract: str) -> bool:
    """Return whether the caller may do ``operation`` to all subjects that a contract is about, or to the registry."""
    if caller.may(operation, REGISTRY):
        return True
    subjects = await cases.contracts.library.subjects(contract)
    return bool(subjects) and all(caller.may_on(operation, each) for each in subjects)


async def require_on_subjects(
    cases: UseCases, caller: RequestCaller, operation: AccessOperation, contract: str
) -> None:
    """Raise ``Forbidden`` unless :func:`may_on_subjects`."""
    if not await may_on_subjects(cases, caller, operation, contract):
        raise caller.denial(operation)


async def require_contract(cases: UseCases, caller: RequestCaller, operation: AccessOperation, contract: str) -> None:
    """Raise an error unless the caller may do ``operation`` to a party of a contract that exists."""
    if await may_see(cases.contracts.library, caller, operation, contract):
        return
    await cases.contracts.library.get(contract)
    error = caller.denial(operation)
    if await may_see(cases.contracts.library, caller, AccessOperation.READ, contract):
        raise error
    raise caller.unknown(cases.contracts.library.no_contract(contract))


# --- verdicts


async def check_proposal(
    cases: CasesOfRequest, caller: CallerOfRequest, body: CheckBody, *, strict: Strict = False
) -> object:
    """Return the verdict on a proposed schema or contract; nothing is written."""
    caller.filters()
    proposal = body.proposal()
    if proposal.environment is not None:
        require_known(caller, environment_resource(proposal.environment))
    proposal = replace(proposal, is_application_known=caller.may_know_application(proposal.application))
    found = await cases.contracts.checking.verdict(proposal, permit=caller.require_on, by=caller.requester)
    return await _answer(cases, caller, found, is_strict=strict)


async def can_i_deploy(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    application: Required,
    version: Required,
    environment: Required,
    *,
    ignore: Ignored = (),
    max_age: MaxAge = None,
    strict: Strict = False,
) -> object:
    """Return whether a version may be deployed to an environment."""
    require_known(caller, application_resource(application), environment_resource(environment))
    found = await cases.contracts.verdicts.can_deploy(
        application, version, environment, ignored=_known(caller, ignore), max_age_days=max_age
    )
    return await _answer(cases, caller, found, is_strict=strict)


async def can_i_merge(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    application: Required,
    version: Required,
    branch: Branch = "main",
    *,
    ignore: Ignored = (),
    strict: Strict = False,
) -> object:
    """Return whether a version may be merged: whether it fits the newest versions of all others on a branch."""
    require_known(caller, application_resource(application))
    found = await cases.contracts.verdicts.can_merge(application, version, branch, ignored=_known(caller, ignore))
    return await _answer(cases, caller, found, is_strict=strict)


def _known(caller: RequestCaller, applications: Iterable[str]) -> list[str]:
    """Return the applications that the caller may know: others cannot be ignored, since that would show them."""
    return [each for each in applications if caller.may_know_application(each)]


async def can_i_retire(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    contract: Required,
    major: Required,
    environment: Required,
    *,
    strict: Strict = False,
) -> object:
    """Return whether a major version of a contract may be retired, since nobody who is live reads it."""
    require_known(caller, environment_resource(environment))
    is_known = await may_see(cases.contracts.library, caller, AccessOperation.READ, contract)
    found = await cases.contracts.verdicts.can_retire(contract, major, environment, is_known=is_known)
    return await _answer(cases, caller, found, is_strict=strict)


async def get_matrix(
    cases: CasesOfRequest,
    caller: CallerOfRequest,
    environment: Required,
    subject: Filter = None,
    application: Filter = None,
) -> object:
    """Return all pairs that are live in an environment: of a subject, or with an application on one side."""
    of_subject = None if subject is None else parse_subject(subject)
    named = [] if of_subject is None else [subject_resource(of_subject)]
    own = [application_resource(application)] if application else []
    require_known(caller, *named, *own, environment_resource(environment))
    found = await cases.contracts.verdicts.matrix(environment, subject=of_subject, application=application)
    return await _answer(cases, caller, found, is_strict=False)


async def list_consumers(
    cases: CasesOfRequest, caller: CallerOfRequest, subject: SubjectOfPath, environment: Filter = None
) -> object:
    """List who reads a subject: live versions, and the newest version of each application."""
    caller.filters()
    if environment is not None:
        require_known(caller, environment_resource(environment))
    found = await cases.contracts.consumers.of_subject(subject, environment)
    return [CONSUMER.write(each) for each in shown_consumers(caller, found)]


async def list_read_fields(
    cases: CasesOfRequest, caller: CallerOfRequest, subject: SubjectOfPath, environment: Filter = None
) -> object:
    """List the paths of a subject that are read, each with those who read it."""
    caller.filters()
    if environment is not None:
        require_known(caller, environment_resource(environment))
    found = await cases.contracts.consumers.fields(subject, environment)
    shown = [replace(each, consumers=shown_consumers(caller, each.consumers)) for each in found]
    return [FIELD_USE.write(each) for each in shown if each.consumers]


async def _answer(cases: UseCases, caller: RequestCaller, verdict: DeploymentVerdict, *, is_strict: bool) -> object:
    verdict = await shown_verdict(cases, caller, verdict)
    document = verdict_document(verdict)
    if not is_strict or verdict.deployable:
        return answer(document, V1)  # FastAPI would look at each value of thousands of reasons again
    message = "; ".join([each.text for each in verdict.reasons[:3]] or verdict.notices[:1])
    raise (VerdictUnknown if verdict.deployable is None else NotDeployable)(message, details=document)
