"""Contracts through the operations of the SDK, against the registry itself."""

from __future__ import annotations

import asyncio

import pytest

from contract_stories import LINK, expectation, promise, schema
from counterfoil.schema.errors import ApplicationNotFound, ContractExists, InvalidContract
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import (
    Application,
    ContractKind,
    Environment,
    Liveness,
    NewContract,
    NewPublication,
)
from counterfoil.schema.rest.verdicts import Reason
from counterfoil.sdk import AsyncRegistry, operations
from registry_driver import InProcessRegistry
from registry_peers import ours

NEW = Schema(schema(total=None))


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
            assert (unknown.deployable, unknown.reasons[0].reason) == (None, Reason.NO_CONTRACT)
            await client.call(operations.record_deployment("production", "shop", "1", liveness=Liveness.RELEASED))
            deployed = await client.call(operations.record_deployment("production", "billing", "1", instance="eu"))
            assert (await client.call(operations.deployments("production", application="billing"))) == (deployed,)
            assert (await client.call(operations.can_i_deploy("billing", "1", "production"))).deployable is True
            broken = await client.call(operations.check_schema("orders-value", NEW, environment="production"))
            assert (broken.deployable, broken.reasons[0].consumer) == (False, "billing")
            proposal = operations.check_contract(NewContract(expectation("none")), policy="observe")
            assert (await client.call(proposal)).deployable is True
            assert (await client.call(operations.matrix("production", subject="orders-value"))).deployable is True
            [reader] = await client.call(operations.consumers("orders-value"))
            assert (reader.reads, reader.environments) == (("total",), ("production",))
            [read] = await client.call(operations.read_fields("orders-value", environment="production"))
            assert (read.path, read.consumers[0].application) == ("total", "billing")
            assert (await client.call(operations.can_i_retire("orders", "2", "production"))).deployable is False
            await client.call(operations.end_deployment("production", deployed.id))
            assert (await client.call(operations.can_i_retire("orders", "2", "production"))).deployable is True

    asyncio.run(story())
