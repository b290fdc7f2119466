"""The parameters of endpoints under ``/contracts/v1``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic.json_schema import SkipJsonSchema

from counterfoil.registry.api.http.paths import decode_segment
from counterfoil.registry.api.http.validation import expected
from counterfoil.registry.domain.contracts.stored import is_name
from counterfoil.schema.contexts import QualifiedSubject, parse_subject
from counterfoil.schema.errors import BadRequest
from counterfoil.schema.rest.contracts import ContractKind


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


def _version(version_name: Annotated[str, Path()]) -> str:
    return segment(version_name)


def _environment(environment: Annotated[str, Path()]) -> str:
    return segment(environment)


def _contract(contract: Annotated[str, Path()]) -> str:
    return segment(contract)


def _id(deployment: Annotated[str, Path()]) -> str:
    return segment(deployment)


def _approval(approval: Annotated[str, Path()]) -> str:
    return segment(approval)


def _verification(verification: Annotated[str, Path()]) -> str:
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
