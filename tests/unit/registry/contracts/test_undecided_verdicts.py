"""What cannot be compared within the limits of a comparison is unknown: never a yes, and never a failed request."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.contracts.check.check import exit_code_of
from counterfoil.contracts.findings import CheckReport, FailOn, Finding
from counterfoil.contracts.reports.deployment import UNKNOWN_REASONS
from counterfoil.registry.contracts.verdicts.verdict import verdict_of
from counterfoil.schema.agreements import UNDECIDED
from counterfoil.schema.agreements.findings import ReadFinding
from counterfoil.schema.agreements.judge import LimitedMisfits, Undecided
from counterfoil.schema.agreements.pairs import Pair
from counterfoil.schema.agreements.readers import since, worse_than
from counterfoil.schema.compatibility import OutOfSteps
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.paths import parse_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.rest.verdicts import ReasonCode
from strategies.contracts.stories import BASE, LINK, deploy, expectation, live, promise, publish
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.misfits import Misfit
    from counterfoil.schema.paths import FieldPath

UNKNOWN = ReadFinding(UNDECIDED, "it is unknown", (), (), "readable", "unknown", application="billing")
BREAK = replace(UNKNOWN, rule="consumer-type-narrowed", element=parse_path("a"), place=parse_path("a"))
PAIR = Pair("orders", "orders-value", "shop", "2", "billing", "1", (UNKNOWN,))


def test_a_pair_that_is_unknown_makes_the_verdict_unknown_with_its_reason() -> None:
    found = verdict_of([PAIR], none="")
    [reason] = found.reasons
    assert (found.deployable, reason.reason, reason.consumer, reason.rule) == (
        None,
        ReasonCode.UNDECIDED,
        "billing",
        UNDECIDED,
    )
    assert ReasonCode.UNDECIDED in UNKNOWN_REASONS


def test_a_break_of_another_consumer_is_still_a_no() -> None:
    assert verdict_of([PAIR, replace(PAIR, findings=(BREAK,))], none="").deployable is False


def test_a_consumer_that_is_not_live_or_was_there_before_makes_nothing_unknown() -> None:
    for pair in (replace(PAIR, is_live=False), replace(PAIR, were_together=True)):
        assert verdict_of([pair], none="").deployable is True


def test_what_was_unknown_before_is_unknown_now() -> None:
    assert not any(each.is_preexisting for each in worse_than([UNKNOWN], [[UNKNOWN]]))
    assert not any(each.is_preexisting for each in since([UNKNOWN], [[UNKNOWN]]))


@pytest.mark.parametrize("error", [OutOfSteps(), RecursionError(), JudgementUndecided("long"), InvalidSchema("deep")])
def test_a_comparison_that_ends_at_its_limits_is_not_begun_again(error: Exception) -> None:
    begun = []

    class Endless:
        decodes_without_reader = True

        def at(self, path: FieldPath) -> Sequence[Misfit]:
            begun.append(path)
            raise error

    limited = LimitedMisfits(Endless)
    assert limited.decodes_without_reader
    for _ in range(3):
        with pytest.raises(Undecided, match=r"\w"):
            limited.at(())
    assert len(begun) == 1


def test_a_check_of_files_can_then_not_say() -> None:
    finding = Finding(UNDECIDED, Severity.WARNING, "orders-value", "a.avsc", "unknown", "f")
    for is_observed, code in ((False, ExitCode.CANNOT_SAY), (True, ExitCode.OK)):
        report = CheckReport("main", findings=(replace(finding, is_observed=is_observed),))
        assert exit_code_of(report, fail_on=FailOn.ERROR, is_empty_fine=True) is code


def nested(depth: int, leaf: str) -> Any:
    made: Any = {"type": leaf}
    for _ in range(depth):
        made = {"anyOf": [made, {"type": "null"}, {"type": "array", "items": made}]}
    return made


def messages(count: int, leaf: str) -> str:
    """Return a chain of messages, each of which holds the next one."""
    held = (f"message M{at} {{ M{at + 1} f = 1; }}" for at in range(count))
    return "\n".join(['syntax = "proto3";', *held, f"message M{count} {{ {leaf} f = 1; }}"])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_versions_of_a_contract_that_cannot_be_compared_are_not_called_compatible() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for number, leaf in enumerate(("string", "integer"), 1):
            text = json.dumps(nested(9, leaf))
            contract = {
                "content": promise(f"2.{number}.0"),
                "schemas": {LINK: {"schemaType": "JSON", "schema": text}},
            }
            body = {"application": "shop", "version": f"{number}", "contracts": [contract]}
            reply = await registry.post(f"{BASE}/publish", body)
            assert reply.status == 200, reply.text
        reply = await registry.get(f"{BASE}/contracts/orders/versions/2.2.0/diff?from=2.1.0")
        assert reply.status == 200, reply.text
        assert any(each["breaking"] for each in reply.json["findings"])

    asyncio.run(story(InProcessRegistry()))


@pytest.mark.slow
def test_a_long_chain_of_messages_is_judged_and_fails_no_request() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await live(registry, "total")
        for number, leaf in enumerate(("string", "int32"), 3):
            schemas = {LINK: {"schemaType": "PROTOBUF", "schema": messages(1200, leaf)}}
            contracts = [{"content": promise(f"3.{number}.0", contract="chains"), "schemas": schemas}]
            body = {"application": "chain", "version": f"{number}", "contracts": contracts}
            assert (await registry.post(f"{BASE}/publish", body)).status == 200
        await deploy(registry, "chain", "3")
        await publish(registry, "reader", "1", expectation(name="reader", contract="chains", major="3"))
        await deploy(registry, "reader", "1")
        path = f"{BASE}/can-i-deploy?application=chain&version=4&environment=production"
        reply = await registry.get(path)
        assert (reply.status, reply.json.get("deployable")) == (200, False), reply.text

    asyncio.run(story(InProcessRegistry()))
