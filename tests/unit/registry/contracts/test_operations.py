"""Contracts through the operations of the SDK, against the registry itself."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from counterfoil.schema.errors import (
    ApplicationNotFound,
    ApprovalNotFound,
    ContractExists,
    InvalidApproval,
    InvalidContract,
    InvalidVerification,
)
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import (
    Application,
    ContractKind,
    Environment,
    Liveness,
    NewContract,
    NewPublication,
)
from counterfoil.schema.rest.observations import CheckOutcome, CheckResult, NewVerification, OffsetRange, RecordSample
from counterfoil.schema.rest.verdicts import ContractMigration, NewApproval, ReasonCode
from counterfoil.sdk import AsyncRegistry, operations
from strategies.contracts.stories import LINK, expectation, promise, schema
from strategies.registry.driver import InProcessRegistry
from strategies.registry.peers import ours

NEW = Schema(schema(total=None))
LATER = NewContract(promise("3.0.0"), {LINK: NEW})


def test_contracts_through_the_client() -> None:
    async def story() -> None:
        async with AsyncRegistry("http://one", transport=ours(InProcessRegistry())) as client:
            producer = NewPublication("shop", "1", (NewContract(promise(), {LINK: Schema(schema())}),), branch="main")
            assert (await client.call(operations.publish(producer, dry_run=True))).notices == ()
            [link] = (await client.call(operations.publish(producer))).contracts
            with pytest.raises(ContractExists) as exists:
                await client.call(
                    operations.publish(NewPublication("shop", "2", (NewContract(promise(), {LINK: NEW}),)))
                )
            assert exists.value.details["differences"] == [f"schema {LINK}"]
            with pytest.raises(InvalidContract):
                await client.call(operations.publish(NewPublication("shop", "2", (NewContract("a: 1"),))))
            contract = await client.call(operations.published_contract("orders", "2.1.0", kind=ContractKind.ODCS))
            assert (contract.link, contract.schemas[LINK]) == (link, Schema(contract.schemas[LINK].text))
            [versions] = await client.call(operations.published_contracts())
            assert versions.versions == ("2.1.0",)
            application = await client.call(operations.put_application(Application("shop", owner="sales")))
            assert (await client.call(operations.applications())) == (application,)
            [version] = await client.call(operations.application_versions("shop"))
            assert (await client.call(operations.put_application_version(version))) == version

            environment = Environment("production", is_production=True, order=1, contacts=("ops",))
            assert (await client.call(operations.put_environment(environment))) == environment
            assert (await client.call(operations.environments())) == (environment,)
            with pytest.raises(ApplicationNotFound):
                await client.call(operations.record_deployment("production", "billing", "1"))
            consumer = NewPublication("billing", "1", (NewContract(expectation("total")),))
            await client.call(operations.publish(consumer))
            unknown = await client.call(operations.can_i_deploy("billing", "1", "production"))
            assert (unknown.deployable, unknown.reasons[0].reason) == (None, ReasonCode.NO_CONTRACT)
            await client.call(operations.record_deployment("production", "shop", "1", liveness=Liveness.RELEASED))
            deployed = await client.call(operations.record_deployment("production", "billing", "1", instance="eu"))
            assert (await client.call(operations.deployments("production", application="billing"))) == (deployed,)
            assert (await client.call(operations.can_i_deploy("billing", "1", "production"))).deployable is True
            broken = await client.call(operations.check_schema("orders-value", NEW, environment="production"))
            assert (broken.deployable, broken.reasons[0].consumer) == (False, "billing")
            proposal = operations.check_contract(NewContract(expectation("none")), policy="observe")
            assert (await client.call(proposal)).deployable is True
            found = await client.call(operations.can_i_merge("billing", "1", ignored=["shop"]))
            assert (found.deployable, found.decided_at) == (None, None)
            compared = await client.call(operations.contract_diff("orders", "2.1.0", "2.1.0"))
            assert (compared.is_same, compared.changes) == (True, ())
            assert (await client.call(operations.matrix("production", subject="orders-value"))).deployable is True
            [reader] = await client.call(operations.consumers("orders-value"))
            assert (reader.reads, reader.environments) == (("total",), ("production",))
            [read] = await client.call(operations.read_fields("orders-value", environment="production"))
            assert (read.path, read.consumers[0].application) == ("total", "billing")
            assert (await client.call(operations.can_i_retire("orders", "2", "production"))).deployable is False
            await client.call(operations.end_deployment("production", deployed.id))
            assert (await client.call(operations.can_i_retire("orders", "2", "production"))).deployable is True

    asyncio.run(story())


def test_approvals_and_verifications_through_the_client() -> None:
    async def story() -> None:
        async with AsyncRegistry("http://one", transport=ours(InProcessRegistry())) as client:
            producer = NewPublication("shop", "1", (NewContract(promise(), {LINK: Schema(schema())}),))
            [link] = (await client.call(operations.publish(producer))).contracts
            await client.call(operations.put_environment(Environment("production", verified_within_days=1)))
            missing = await client.call(operations.can_i_deploy("shop", "1", "production"))
            assert (missing.deployable, missing.reasons[0].reason) == (None, ReasonCode.NOT_VERIFIED)
            sample = RecordSample("orders", 100, "random", 7, (OffsetRange(0, 5, 105),))
            results = (CheckResult("decode", CheckOutcome.PASSED, 100),)
            new = NewVerification("orders", "2.1.0", "production", sample, results, (1,), build_url="http://ci/1")
            made = await client.call(operations.publish_verification(new))
            assert (made.hash, made.is_passed, made.sample, made.results) == (link.hash, True, sample, results)
            assert (await client.call(operations.verifications(contract="orders"))) == (made,)
            assert (await client.call(operations.can_i_deploy("shop", "1", "production", max_age_days=1))).deployable
            with pytest.raises(InvalidVerification):
                await client.call(operations.publish_verification(replace(new, hash="0" * 64)))

            approval = NewApproval(("0123456789ab",), "ana", "agreed", "2999-12-31", by="ci")
            stored = await client.call(operations.approve(approval))
            assert (stored.owner, stored.until, stored.is_expired) == ("ana", "2999-12-31", False)
            listed = await client.call(operations.approvals(fingerprint="0123456789ab"))
            assert (listed.approvals, bool(listed.decided_on)) == ((stored,), True)
            with pytest.raises(InvalidApproval):
                await client.call(operations.approve(replace(approval, until="2000-01-01")))
            await client.call(operations.revoke_approval(stored.id))
            with pytest.raises(ApprovalNotFound):
                await client.call(operations.revoke_approval(stored.id))

    asyncio.run(story())


def test_migrations_through_the_client() -> None:
    async def story() -> None:
        async with AsyncRegistry("http://one", transport=ours(InProcessRegistry())) as client:
            await client.call(operations.publish(NewPublication("shop", "3", (LATER,))))
            consumer = NewPublication("billing", "1", (NewContract(expectation("total")),))
            await client.call(operations.publish(consumer))
            await client.call(operations.put_environment(Environment("production")))
            await client.call(operations.record_deployment("production", "billing", "1"))
            intended = ContractMigration("orders-2-3", "orders", "2", "3", "back", "converter", "2999-01-01")
            migration = await client.call(operations.put_migration(intended))
            assert (await client.call(operations.migrations())) == (migration,)
            status = await client.call(operations.migration_status("orders-2-3"))
            assert (status.state, status.lag, status.is_verified) == (None, None, False)
            assert [each.application for each in status.consumers] == ["billing"]
            assert status.hindrances == ("the bridge back of migration orders-2-3 is not registered",)

    asyncio.run(story())
