"""The bodies of requests under ``/contracts/v1``, and the values that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.domain.contracts.stored import NAME_PATTERN
from counterfoil.registry.domain.contracts.verdict import Policy
from counterfoil.registry.service.contracts.verdicts.checking import Proposal
from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.contracts import (
    Application,
    ApplicationVersion,
    Deployment,
    Environment,
    Liveness,
    NewContract,
    NewPublication,
)
from counterfoil.schema.rest.json_values import RequestJson
from counterfoil.schema.rest.schemas import SCHEMA

if TYPE_CHECKING:
    from counterfoil.schema.model import Schema

_MAX_CONTRACT_CHARS = 1_000_000
_MAX_CONTRACTS = 200
_MAX_SCHEMAS = 1000

Name = Annotated[str, Field(pattern=NAME_PATTERN), expected("1 to 300 characters without control characters")]
Count = Annotated[int, Field(ge=0, le=2**53)]
Text = Annotated[str, Field(max_length=2000)]
SchemaObject = Annotated[dict[str, Any], Field(description="A schema, as the body of a registration.")]


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


def schema_of_body(value: dict[str, Any], place: str) -> Schema:
    """Return the schema in a body."""
    return SCHEMA.read(RequestJson(value, place))
