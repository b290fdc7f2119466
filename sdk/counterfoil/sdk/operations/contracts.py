"""Contracts, of this project's registry, with verdicts, migrations, approvals, observations and webhooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import (
    APPLICATION,
    APPLICATION_VERSION,
    CONTRACT,
    CONTRACT_VERSIONS,
    DELIVERY,
    DEPLOYMENT,
    ENVIRONMENT,
    NEW_CONTRACT,
    NEW_PUBLICATION,
    PUBLICATION,
    WEBHOOK,
    Application,
    ApplicationVersion,
    ContractKind,
    ContractVersions,
    Delivery,
    Deployment,
    Environment,
    EventType,
    Liveness,
    NewContract,
    NewPublication,
    Publication,
    PublishedContract,
    Webhook,
)
from counterfoil.schema.rest.object_forms import read_each
from counterfoil.schema.rest.observations import (
    NEW_VERIFICATION,
    OBSERVED_USE,
    TOPIC_STATS,
    USAGE_RECEIPT,
    VERIFICATION,
    NewVerification,
    ObservedUse,
    TopicStats,
    UsageReceipt,
    Verification,
)
from counterfoil.schema.rest.schemas import SCHEMA
from counterfoil.schema.rest.verdicts import (
    APPROVAL,
    APPROVALS,
    CONSUMER,
    CONTRACT_DIFF,
    FIELD_USE,
    MIGRATION,
    MIGRATION_STATUS,
    NEW_APPROVAL,
    VERDICT,
    Approval,
    Approvals,
    Consumer,
    ContractDiff,
    ContractMigration,
    DeploymentVerdict,
    FieldUse,
    MigrationStatus,
    NewApproval,
)
from counterfoil.sdk.operations.operation import Operation, action, json_body, url_path, url_query

# Contracts, of this project's registry: applications, published contracts, environments and what is live in them.

CONTRACTS: Final = ("contracts", "v1")


def applications() -> Operation[tuple[Application, ...]]:
    """``GET /contracts/v1/applications``."""
    return Operation("applications", "GET", url_path(*CONTRACTS, "applications"), read_each(APPLICATION.read))


def put_application(application: Application) -> Operation[Application]:
    """``PUT /contracts/v1/applications/{application}``: repeatable, since it replaces what is known of it."""
    body = {"owner": application.owner, "repository": application.repository, "description": application.description}
    path = url_path(*CONTRACTS, "applications", application.name)
    return Operation("put_application", "PUT", path, APPLICATION.read, body=json_body(body))


def application_versions(application: str) -> Operation[tuple[ApplicationVersion, ...]]:
    """``GET /contracts/v1/applications/{application}/versions``."""
    path = url_path(*CONTRACTS, "applications", application, "versions")
    return Operation("application_versions", "GET", path, read_each(APPLICATION_VERSION.read))


def put_application_version(version: ApplicationVersion) -> Operation[ApplicationVersion]:
    """``PUT /contracts/v1/applications/{application}/versions/{version}``; its contracts are not sent."""
    body = {"branch": version.branch, "commit": version.commit, "buildUrl": version.build_url}
    path = url_path(*CONTRACTS, "applications", version.application, "versions", version.version)
    return Operation("put_application_version", "PUT", path, APPLICATION_VERSION.read, body=json_body(body))


def publish(new: NewPublication, *, dry_run: bool = False) -> Operation[Publication]:
    """``POST /contracts/v1/publish``: repeatable, since a published version is found again."""
    path, query = url_path(*CONTRACTS, "publish"), url_query(dryRun=dry_run)
    return Operation("publish", "POST", path, PUBLICATION.read, query, json_body(NEW_PUBLICATION.write(new)))


def published_contracts() -> Operation[tuple[ContractVersions, ...]]:
    """``GET /contracts/v1/contracts``."""
    return Operation("published_contracts", "GET", url_path(*CONTRACTS, "contracts"), read_each(CONTRACT_VERSIONS.read))


def published_contract(
    contract: str, version: str, *, kind: ContractKind | None = None
) -> Operation[PublishedContract]:
    """``GET /contracts/v1/contracts/{contract}/versions/{version}``; a producer's by default, or else a consumer's."""
    path = url_path(*CONTRACTS, "contracts", contract, "versions", version)
    return Operation("published_contract", "GET", path, CONTRACT.read, url_query(kind=kind))


def contract_diff(
    contract: str, earlier: str, later: str, *, kind: ContractKind | None = None
) -> Operation[ContractDiff]:
    """``GET /contracts/v1/contracts/{contract}/versions/{version}/diff``."""
    path = url_path(*CONTRACTS, "contracts", contract, "versions", later, "diff")
    query = url_query(**{"from": earlier, "kind": kind})
    return Operation("contract_diff", "GET", path, CONTRACT_DIFF.read, query)


def environments() -> Operation[tuple[Environment, ...]]:
    """``GET /contracts/v1/environments``."""
    return Operation("environments", "GET", url_path(*CONTRACTS, "environments"), read_each(ENVIRONMENT.read))


def put_environment(environment: Environment) -> Operation[Environment]:
    """``PUT /contracts/v1/environments/{environment}``: repeatable, since it replaces what is known of it."""
    body = {key: value for key, value in ENVIRONMENT.write(environment).items() if key != "name"}
    path = url_path(*CONTRACTS, "environments", environment.name)
    return Operation("put_environment", "PUT", path, ENVIRONMENT.read, body=json_body(body))


def deployments(
    environment: str, *, liveness: Liveness = Liveness.DEPLOYED, application: str | None = None
) -> Operation[tuple[Deployment, ...]]:
    """``GET /contracts/v1/environments/{environment}/deployments``, or ``/releases``."""
    query = url_query(application=application)
    return Operation("deployments", "GET", _live(environment, liveness), read_each(DEPLOYMENT.read), query)


def record_deployment(
    environment: str, application: str, version: str, *, instance: str = "", liveness: Liveness = Liveness.DEPLOYED
) -> Operation[Deployment]:
    """``POST`` of a deployment or a release: repeatable, since the same one is found again."""
    body = {"application": application, "version": version} | ({"instance": instance} if instance else {})
    return Operation("record_deployment", "POST", _live(environment, liveness), DEPLOYMENT.read, body=json_body(body))


def end_deployment(environment: str, deployment_id: str, *, liveness: Liveness = Liveness.DEPLOYED) -> Operation[None]:
    """``DELETE`` of a deployment, or of a release."""
    return action("end_deployment", "DELETE", _live(environment, liveness, deployment_id))


def _live(environment: str, liveness: Liveness, *more: str) -> str:
    kind = "deployments" if liveness is Liveness.DEPLOYED else "releases"
    return url_path(*CONTRACTS, "environments", environment, kind, *more)


# Migrations of contracts, of this project's registry: intended breaks, and how each of them stands.

_OF_REPLIES: Final = frozenset({"id", "createTs"})


def migrations() -> Operation[tuple[ContractMigration, ...]]:
    """``GET /contracts/v1/migrations``."""
    return Operation("migrations", "GET", url_path(*CONTRACTS, "migrations"), read_each(MIGRATION.read))


def put_migration(migration: ContractMigration) -> Operation[ContractMigration]:
    """``PUT /contracts/v1/migrations/{migration}``: repeatable, since it replaces what is known of it."""
    body = {key: value for key, value in MIGRATION.write(migration).items() if key not in _OF_REPLIES}
    path = url_path(*CONTRACTS, "migrations", migration.id)
    return Operation("put_migration", "PUT", path, MIGRATION.read, body=json_body(body))


def migration_status(migration_id: str) -> Operation[MigrationStatus]:
    """``GET /contracts/v1/migrations/{migration}/status``."""
    path = url_path(*CONTRACTS, "migrations", migration_id, "status")
    return Operation("migration_status", "GET", path, MIGRATION_STATUS.read)


# Verdicts on contracts, of this project's registry: what may be deployed or retired, and what a change would break.


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


# Approvals and verifications, of this project's registry.


def approvals(*, fingerprint: str | None = None) -> Operation[Approvals]:
    """``GET /contracts/v1/approvals``: all of them, or those of one finding."""
    query = url_query(fingerprint=fingerprint)
    return Operation("approvals", "GET", url_path(*CONTRACTS, "approvals"), APPROVALS.read, query)


def approve(new: NewApproval) -> Operation[Approval]:
    """``POST /contracts/v1/approvals``: repeatable, since an equal approval is found again."""
    body = json_body(NEW_APPROVAL.write(new))
    return Operation("approve", "POST", url_path(*CONTRACTS, "approvals"), APPROVAL.read, body=body)


def revoke_approval(approval_id: str) -> Operation[None]:
    """``DELETE /contracts/v1/approvals/{approval}``."""
    return action("revoke_approval", "DELETE", url_path(*CONTRACTS, "approvals", approval_id))


def verifications(
    *, contract: str | None = None, environment: str | None = None
) -> Operation[tuple[Verification, ...]]:
    """``GET /contracts/v1/verifications``: the latest ones, of all contracts and environments or of one."""
    path, query = url_path(*CONTRACTS, "verifications"), url_query(contract=contract, environment=environment)
    return Operation("verifications", "GET", path, read_each(VERIFICATION.read), query)


def publish_verification(new: NewVerification) -> Operation[Verification]:
    """``POST /contracts/v1/verifications``: repeatable, since an equal verification is found again."""
    path, body = url_path(*CONTRACTS, "verifications"), json_body(NEW_VERIFICATION.write(new))
    return Operation("publish_verification", "POST", path, VERIFICATION.read, body=body)


# What was observed, of this project's registry: who reads which fields, and what is in topics.


def post_usage(batch: Mapping[str, object]) -> Operation[UsageReceipt]:
    """``POST /contracts/v1/usage``: a batch as :class:`~counterfoil.sdk.Usage` makes it.

    It is not repeatable, since counts are added up.
    """
    path, body = url_path(*CONTRACTS, "usage"), json_body(batch)
    return Operation("post_usage", "POST", path, USAGE_RECEIPT.read, body=body, is_repeatable=False)


def observed_uses(
    subject: str | None = None, *, application: str | None = None, environment: str | None = None
) -> Operation[tuple[ObservedUse, ...]]:
    """``GET /contracts/v1/usage``: what is stored, of a subject, of an application, in an environment, or all."""
    query = url_query(subject=subject, application=application, environment=environment)
    return Operation("observed_uses", "GET", url_path(*CONTRACTS, "usage"), read_each(OBSERVED_USE.read), query)


def topics() -> Operation[tuple[TopicStats, ...]]:
    """``GET /contracts/v1/topics``: the latest statistics of all topics."""
    return Operation("topics", "GET", url_path(*CONTRACTS, "topics"), read_each(TOPIC_STATS.read))


def topic_stats(topic: str, *, environment: str | None = None) -> Operation[TopicStats]:
    """``GET /contracts/v1/topics/{topic}/stats``."""
    path, query = url_path(*CONTRACTS, "topics", topic, "stats"), url_query(environment=environment)
    return Operation("topic_stats", "GET", path, TOPIC_STATS.read, query)


def post_topic_stats(stats: TopicStats) -> Operation[TopicStats]:
    """``POST /contracts/v1/topics/{topic}/stats``: repeatable, since it replaces the stored numbers."""
    left_out = {"topic", "oldestVersion"} if stats.environment else {"topic", "oldestVersion", "environment"}
    body = {key: value for key, value in TOPIC_STATS.write(stats).items() if key not in left_out}
    path = url_path(*CONTRACTS, "topics", stats.topic, "stats")
    return Operation("post_topic_stats", "POST", path, TOPIC_STATS.read, body=json_body(body))


# Webhooks, of this project's registry: where events are sent, and what became of each delivery.

_WEBHOOKS: Final = (*CONTRACTS, "webhooks")


def webhooks() -> Operation[tuple[Webhook, ...]]:
    """``GET /contracts/v1/webhooks``; the secrets are not returned."""
    return Operation("webhooks", "GET", url_path(*_WEBHOOKS), read_each(WEBHOOK.read))


def create_webhook(
    url: str, *, secret: str, events: Iterable[EventType] = (), description: str = ""
) -> Operation[Webhook]:
    """``POST /contracts/v1/webhooks``; without ``events`` all are sent. A repeated request would create another one."""
    body = {"url": url, "secret": secret, "events": [str(each) for each in events], "description": description}
    path = url_path(*_WEBHOOKS)
    return Operation("create_webhook", "POST", path, WEBHOOK.read, body=json_body(body), is_repeatable=False)


def delete_webhook(webhook_id: str) -> Operation[None]:
    """``DELETE /contracts/v1/webhooks/{webhook}``."""
    return action("delete_webhook", "DELETE", url_path(*_WEBHOOKS, webhook_id))


def deliveries(webhook_id: str) -> Operation[tuple[Delivery, ...]]:
    """``GET /contracts/v1/webhooks/{webhook}/deliveries``, the newest first."""
    return Operation("deliveries", "GET", url_path(*_WEBHOOKS, webhook_id, "deliveries"), read_each(DELIVERY.read))


def redeliver(webhook_id: str, delivery_id: str) -> Operation[Delivery]:
    """``POST /contracts/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver``."""
    path = url_path(*_WEBHOOKS, webhook_id, "deliveries", delivery_id, "redeliver")
    return Operation("redeliver", "POST", path, DELIVERY.read, is_repeatable=False)
