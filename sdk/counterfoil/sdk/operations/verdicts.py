"""Verdicts on contracts, of this project's registry: what may be deployed or retired, and what a change would break."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.contracts import NEW_CONTRACT
from counterfoil.schema.rest.json_values import read_each
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE, VERDICT
from counterfoil.sdk.operations.contracts import CONTRACTS
from counterfoil.sdk.operations.operation import Operation
from counterfoil.sdk.operations.requests import json_body, url_path, url_query

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.contracts import NewContract
    from counterfoil.schema.rest.verdicts import Consumer, DeploymentVerdict, FieldUse


def can_i_deploy(
    application: str,
    version: str,
    environment: str,
    *,
    ignored: Iterable[str] = (),
    max_age_days: int | None = None,
) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/can-i-deploy``; applications in ``ignored`` do not count.

    ``max_age_days`` demands a verification, not older, of each contract that the version offers.
    """
    query = url_query(application=application, version=version, environment=environment, maxAgeDays=max_age_days)
    query += tuple(("ignore", each) for each in ignored)
    return Operation("can_i_deploy", "GET", url_path(*CONTRACTS, "can-i-deploy"), VERDICT.read, query)


def can_i_merge(
    application: str, version: str, *, branch: str | None = None, ignored: Iterable[str] = ()
) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/can-i-merge``: against the newest versions of all others on a branch, by default main."""
    query = url_query(application=application, version=version, branch=branch)
    query += tuple(("ignore", each) for each in ignored)
    return Operation("can_i_merge", "GET", url_path(*CONTRACTS, "can-i-merge"), VERDICT.read, query)


def can_i_retire(contract: str, major: str, environment: str) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/can-i-retire``."""
    query = url_query(contract=contract, major=major, environment=environment)
    return Operation("can_i_retire", "GET", url_path(*CONTRACTS, "can-i-retire"), VERDICT.read, query)


def matrix(
    environment: str, *, subject: str | None = None, application: str | None = None
) -> Operation[DeploymentVerdict]:
    """``GET /contracts/v1/matrix``: the pairs of a subject, or those with an application on one side."""
    query = url_query(environment=environment, subject=subject, application=application)
    return Operation("matrix", "GET", url_path(*CONTRACTS, "matrix"), VERDICT.read, query)


def check_schema(
    subject: str, schema: Schema, *, environment: str | None = None, policy: str | None = None
) -> Operation[DeploymentVerdict]:
    """``POST /contracts/v1/check`` of a proposed schema: repeatable, since nothing is written."""
    given = {"subject": subject, "schema": SCHEMA.write(schema), "environment": environment, "policy": policy}
    body = {key: value for key, value in given.items() if value is not None}
    return Operation("check_schema", "POST", url_path(*CONTRACTS, "check"), VERDICT.read, body=json_body(body))


def check_contract(
    contract: NewContract, *, environment: str | None = None, policy: str | None = None, application: str | None = None
) -> Operation[DeploymentVerdict]:
    """``POST /contracts/v1/check`` of a proposed contract: repeatable, since nothing is written."""
    given = {
        "contract": NEW_CONTRACT.write(contract),
        "environment": environment,
        "policy": policy,
        "application": application,
    }
    body = {key: value for key, value in given.items() if value is not None}
    return Operation("check_contract", "POST", url_path(*CONTRACTS, "check"), VERDICT.read, body=json_body(body))


def consumers(subject: str, *, environment: str | None = None) -> Operation[tuple[Consumer, ...]]:
    """``GET /contracts/v1/subjects/{subject}/consumers``."""
    path, query = url_path(*CONTRACTS, "subjects", subject, "consumers"), url_query(environment=environment)
    return Operation("consumers", "GET", path, read_each(CONSUMER.read), query)


def read_fields(subject: str, *, environment: str | None = None) -> Operation[tuple[FieldUse, ...]]:
    """``GET /contracts/v1/subjects/{subject}/fields``."""
    path, query = url_path(*CONTRACTS, "subjects", subject, "fields"), url_query(environment=environment)
    return Operation("read_fields", "GET", path, read_each(FIELD_USE.read), query)
