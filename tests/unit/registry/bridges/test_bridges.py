"""Bridges as a client sees them: what is registered, refused, reported, and in which state a bridge is."""

from __future__ import annotations

import asyncio
import json
import math
import time
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.bridges.records import TRANSITIONS, steps_to
from counterfoil.schema.rest.bridges import BridgeState
from strategies.bridges.stories import (
    ALL,
    BACK,
    NAME,
    NEW,
    OLD,
    ONE,
    PLAN,
    SUBJECT,
    new_bridge,
    permit,
    progress,
    proposed,
    registered,
    transit,
    verification,
)
from strategies.registry.driver import InProcessRegistry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def play(story: Callable[[InProcessRegistry], Awaitable[None]]) -> None:
    asyncio.run(story(InProcessRegistry()))


# --- registering ------------------------------------------------------------------------------------------------------


def test_an_incompatible_version_is_registered_together_with_its_bridge() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await permit(registry)
        refused = await registry.register(SUBJECT, NEW)
        assert (refused.code, "POST /bridges/v1" in refused.text) == (40901, True)
        checked = await registry.post(f"{ALL}?dryRun=true", proposed(registerSource=True))
        assert checked.status == 200
        assert (await registry.get(ONE)).code == 40480
        made = (await registry.post(ALL, proposed(registerSource=True))).json
        assert (made["source"]["version"], made["source"]["id"]) == (2, 2)
        assert (made["target"]["version"], made["target"]["id"]) == (1, 1)
        assert (made["state"], made["lossy"]) == ("planned", ["total"])
        assert (await registry.get(f"/subjects/{SUBJECT}/versions")).json == [1, 2]
        assert (await registry.post(ALL, proposed(registerSource=True))).json == made
        other = await registry.post(ALL, proposed(registerSource=True, description="another"))
        assert other.code == 40980

    play(story)


def test_a_bridge_is_accepted_before_its_version() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await permit(registry)
        side = (await registry.post(ALL, proposed())).json["source"]
        assert ("version" in side, side["schema"]["schema"]) == (
            False,
            json.dumps(json.loads(NEW), separators=(",", ":")),
        )
        assert (await transit(registry, "shadow")).code == 40981
        assert (await registry.register(SUBJECT, NEW)).json["version"] == 2
        side = (await registry.get(ONE)).json["bridge"]["source"]
        assert (side["version"], "schema" in side) == (2, False)
        assert (await transit(registry, "shadow")).status == 200

    play(story)


NUMBERED = "bridge: people\nsource: {topic: users}\ntarget: {topic: people}\n"


def test_a_plan_that_matches_by_number_is_asked_for_it_and_a_stored_one_keeps_its_meaning() -> None:
    async def story(registry: InProcessRegistry) -> None:
        for topic, names in (("users", ("first", "last")), ("people", ("given", "family"))):
            fields = "".join(f"string {name} = {number}; " for number, name in enumerate(names, start=1))
            text = f'syntax = "proto3"; message User {{ {fields}}}'
            await registry.register(f"{topic}-value", text, schemaType="PROTOBUF")
        refused = await registry.post(ALL, new_bridge(plan=NUMBERED))
        assert (refused.code, "say numbers: same" in refused.text) == (42280, True)
        made = (await registry.post(ALL, new_bridge(plan=f"{NUMBERED}numbers: same\n"))).json
        # as version 0.2 stored it: the same plan of a file that does not say what numbers mean
        kept = (await registry.put(f"{ALL}/people", {"plan": NUMBERED})).json
        assert (kept["plan"], kept["planHash"]) == (NUMBERED, made["planHash"])
        assert (await registry.post(ALL, new_bridge(plan=NUMBERED))).json == kept

    play(story)


@pytest.mark.parametrize("prevented", ["policy", "retired", "deleted", "not the latest"])
def test_no_other_incompatible_version_is_registered(prevented: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await permit(registry)
        assert (await registry.post(ALL, proposed())).status == 200
        if prevented == "policy":
            await registry.put(f"/config/{SUBJECT}", {"incompatibleVersions": "REFUSED"})
            assert (await registry.post(ALL, proposed(registerSource=True))).code == 40901
        elif prevented == "retired":
            assert (await transit(registry, "retired")).status == 200
        elif prevented == "deleted":
            assert (await registry.delete(ONE)).status == 204
        else:
            wider = OLD.replace('"name": "total"', '"name": "tip", "type": "int", "default": 0}, {"name": "total"')
            assert (await registry.register(SUBJECT, wider)).json["version"] == 2
        assert (await registry.register(SUBJECT, NEW)).code == 40901

    play(story)


def test_a_subject_without_the_policy_is_as_before() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registry.register(SUBJECT, OLD)
        assert (await registry.post(ALL, proposed(registerSource=True))).code == 40901
        refused = await registry.register(SUBJECT, NEW)
        assert (refused.code, "bridge" in refused.text) == (40901, False)
        await registry.register("rides-v2-value", NEW)
        plan = PLAN.replace(f"rides-v2, subject: {SUBJECT}", "rides-v2, subject: rides-v2-value")
        made = (await registry.post(ALL, new_bridge(plan=plan))).json
        assert (made["source"]["subject"], made["source"]["version"]) == ("rides-v2-value", 1)
        assert "incompatibleVersions" not in (await registry.get("/config")).json

    play(story)


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"plan": PLAN}, 400, "owner is missing"),
        (new_bridge(color="red"), 400, "color is 'red'"),
        (new_bridge(direction="sideways"), 400, "direction is 'sideways'"),
        (new_bridge(limits={"maxDeadLetterRate": 2}), 400, "limits.maxDeadLetterRate is 2"),
        (new_bridge(plan="bridge: [", owner="o"), 42280, "cannot be read"),
        (new_bridge(plan=PLAN.replace("cast: double", "caste: double")), 42280, "5:24: total: there is no rule word"),
        (new_bridge(plan=PLAN.partition("fields")[0]), 42280, "total: string as double may lose"),
        (new_bridge(plan=PLAN.replace("version: 1", "version: 9")), 40402, "Version 9"),
        (new_bridge(plan=PLAN.replace(f"rides-v2, subject: {SUBJECT}", "rides-v2, subject: gone")), 40401, "'gone'"),
        (new_bridge(reversePlan=BACK.partition("fields")[0]), 42280, "The reverse plan of bridge"),
        (new_bridge(reversePlan=PLAN.replace(SUBJECT, "other")), 42280, "The reverse plan converts other to other"),
        (new_bridge(reversePlan="bridge: ["), 42280, "The reverse plan cannot be read: 1:10: not YAML"),
    ],
)
def test_what_cannot_be_registered(body: dict[str, Any], code: int, words: str) -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        before = (await registry.get(ALL)).json
        body["plan"] = body["plan"].replace(NAME, "another")
        refused = await registry.post(ALL, body)
        assert (refused.code, words in refused.json["message"]) == (code, True), refused.text
        assert (await registry.get(ALL)).json == before

    play(story)


@pytest.mark.slow
def test_other_requests_are_answered_while_a_long_plan_is_read() -> None:
    async def story(registry: InProcessRegistry) -> None:
        assert (await registry.get(ALL)).json == []
        posting = asyncio.create_task(registry.post(ALL, new_bridge(plan=f"drop: [{'a,' * 40_000}]")))
        for _ in range(5):
            assert (await registry.get(ALL)).json == []
        assert not posting.done()
        assert (await posting).code == 42280

    play(story)


def test_the_problems_of_a_plan_are_listed_by_field() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await permit(registry)
        refused = await registry.post(ALL, proposed(plan=PLAN.partition("fields")[0]))
        assert [each["field"] for each in refused.json["problems"]] == ["total"]

    play(story)


def test_schemas_of_two_languages_are_bridged() -> None:
    async def story(registry: InProcessRegistry) -> None:
        numbers = {"id": {"type": "integer"}, "total": {"type": "number"}}
        old = {"type": "object", "properties": numbers, "required": [*numbers], "additionalProperties": False}
        await registry.register(SUBJECT, json.dumps(old), schemaType="JSON")
        await registry.put(f"/config/{SUBJECT}", {"incompatibleVersions": "BRIDGED"})
        made = await registry.post(ALL, proposed(plan=PLAN.replace("double", "number"), registerSource=True))
        assert made.status == 200, made.text
        assert (await registry.get(f"/subjects/{SUBJECT}/versions/2")).json.get("schemaType", "AVRO") == "AVRO"

    play(story)


# --- changing, deleting, listing --------------------------------------------------------------------------------------


def test_what_is_not_given_stays() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        changed = (await registry.put(ONE, {"description": "why", "limits": {"maxLag": 5}})).json
        assert changed["updateTs"] >= made["updateTs"]
        assert changed["limits"]["maxLag"] == 5
        ignored = {"description": None, "limits": None, "updateTs": None}
        assert {**changed, **ignored} == {**made, **ignored}
        assert (await registry.put(ONE, {"plan": PLAN.replace(NAME, "another")})).code == 42280
        assert (await registry.put(f"{ONE}?dryRun=true", {"owner": "else"})).json["owner"] == "else"
        assert (await registry.get(ONE)).json["bridge"] == changed

    play(story)


def test_the_plan_of_a_bridge_that_runs_stays() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        rule = {"plan": PLAN.replace("cast: double", "cast: double, null: 0")}
        assert (await registry.put(ONE, {"plan": f"# a comment\n{PLAN}"})).status == 200
        await transit(registry, "shadow")
        refused = await registry.put(ONE, {"direction": "old-to-new"})
        assert (refused.code, "shadow" in refused.text) == (40982, True)
        assert (await registry.put(ONE, {"owner": "someone else"})).json["owner"] == "someone else"
        assert (await registry.delete(ONE)).code == 40982
        await transit(registry, "planned")
        assert (await registry.put(ONE, {"direction": "old-to-new"})).json["direction"] == "old-to-new"
        assert (await registry.put(ONE, rule)).code in {None, 42280}

    play(story)


def test_bridges_are_listed_by_state_and_subject() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        await registry.post(ALL, new_bridge(plan=PLAN.replace(NAME, "b2")))
        await registry.post(f"{ALL}/b2/transitions", {"to": "shadow", "by": "ann"})

        async def names(query: str = "") -> list[str]:
            return [each["bridge"]["name"] for each in (await registry.get(f"{ALL}{query}")).json]

        assert await names() == ["b2", NAME]
        assert await names("?state=shadow") == ["b2"]
        assert await names(f"?subject={SUBJECT}&offset=1") == [NAME]
        assert await names("?subject=other") == []
        assert (await registry.get(f"{ALL}?state=asleep")).code == 400
        assert (await registry.get(f"{ALL}?as_of=1")).code == 400

    play(story)


def test_a_deleted_bridge_takes_its_reports_with_it() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        await registry.post(f"{ONE}/progress", progress(made, lag=3))
        await registry.post(f"{ONE}/readers", {"readers": ["billing"]})
        assert (await registry.delete(ONE)).status == 204
        for path in (ONE, f"{ONE}/gates", f"{ONE}/transitions"):
            assert (await registry.get(path)).code == 40480
        assert (await registry.post(f"{ONE}/progress", progress(made))).code == 40480
        await registry.post(ALL, new_bridge())
        assert (await registry.get(ONE)).json["reports"] == {}

    play(story)


# --- reports and transitions ------------------------------------------------------------------------------------------


def test_a_migration_from_its_plan_to_its_end() -> None:
    async def story(registry: InProcessRegistry) -> None:
        bridge = await registered(registry)

        async def refused(state: str, *gates: str) -> None:
            reply = await transit(registry, state)
            unmet = [each["name"] for each in reply.json["gates"]]
            assert (reply.code, unmet) == (40981, list(gates)), reply.text
            by_state = {each["to"]: each for each in (await registry.get(f"{ONE}/gates")).json}
            assert not by_state[state]["isPermitted"]

        async def permitted(state: str) -> None:
            reply = await transit(registry, state)
            assert (reply.status, reply.json.get("state")) == (200, state), reply.text

        await permitted("shadow")
        await refused("running", "progress", "dead-letters")
        await registry.post(f"{ONE}/progress", progress(bridge, lag=5000, dead=2))
        await refused("running", "dead-letters")
        await registry.post(f"{ONE}/progress", progress(bridge, lag=5000, dead=1))
        await permitted("running")
        await refused("caught-up", "lag")
        await registry.post(f"{ONE}/progress", progress(bridge, lag=1000))
        await permitted("caught-up")
        await refused("verified", "verification")
        await registry.post(f"{ONE}/verification", verification(bridge, faults={"missing": 1}))
        await refused("verified", "verification")
        await registry.post(f"{ONE}/verification", verification(bridge, records=0))
        await refused("verified", "verification")
        await registry.post(f"{ONE}/verification", verification(bridge))
        await permitted("verified")
        await permitted("cut-over")
        await permitted("draining")
        await refused("retired", "readers")
        await registry.post(f"{ONE}/readers", {"readers": ["billing"], "by": "ann"})
        reply = await transit(registry, "retired")
        assert "1 programs depend on the old schema (billing)" in reply.json["message"]
        await registry.post(f"{ONE}/readers", {"readers": []})
        await permitted("retired")
        history = (await registry.get(f"{ONE}/transitions")).json
        assert [each["to"] for each in history] == [
            "shadow", "running", "caught-up", "verified", "cut-over", "draining", "retired",
        ]  # fmt: skip
        assert {each["by"] for each in history} == {"ann"}
        status = (await registry.get(ONE)).json
        assert (status["isStale"], status["reports"]["progress"]["partitions"][0]["end"]) == (False, 2**40 + 1000)

    play(story)


def test_a_forced_transition_says_who_and_why() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        await transit(registry, "shadow")
        assert (await transit(registry, "running", force=True)).code == 42280
        assert (await transit(registry, "retired", force=True, reason="r")).code == 40981
        assert (await transit(registry, "running", force=True, reason="a test")).status == 200
        done = (await registry.get(f"{ONE}/transitions")).json[-1]
        assert (done["forced"], done["by"], done["reason"]) == (True, "ann", "a test")
        assert [each["name"] for each in done["unmet"]] == ["progress", "dead-letters"]

    play(story)


def test_a_roll_back_needs_a_reverse_plan() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        assert [each["field"] for each in made["reverse"]["problems"]] == ["total"]
        for state in ("shadow", "running", "caught-up", "verified", "cut-over"):
            assert (await transit(registry, state, force=True, reason="r")).status == 200
        assert (await transit(registry, "rolled-back")).json["gates"][0]["name"] == "reverse-plan"
        assert (await registry.put(ONE, {"reversePlan": BACK})).code == 40982
        await transit(registry, "rolled-back", force=True, reason="r")
        reverse = (await registry.put(ONE, {"reversePlan": BACK})).json["reverse"]
        assert (reverse["plan"], "problems" in reverse) == (BACK, False)
        assert (await registry.put(ONE, {"owner": "o"})).json["reverse"] == reverse
        for state in ("planned", "shadow", "running", "caught-up", "verified", "cut-over"):
            await transit(registry, state, force=True, reason="r")
        assert (await transit(registry, "rolled-back")).status == 200

    play(story)


def test_reports_about_another_plan_or_an_earlier_run_do_not_count() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        await registry.post(f"{ONE}/progress", progress(made, planHash="another"))
        assert (await registry.get(ONE)).json["isStale"]
        await transit(registry, "shadow")
        assert "about the plan another" in (await transit(registry, "running")).json["message"]
        await registry.post(f"{ONE}/progress", progress(made))
        await registry.post(f"{ONE}/verification", verification(made))
        verified_ms = int(time.time() * 1000)
        while int(time.time() * 1000) == verified_ms:
            pass  # the next times are later ones
        for state in ("running", "caught-up"):
            assert (await transit(registry, state)).status == 200
        assert "from before the bridge was started" in (await transit(registry, "verified")).json["message"]

    play(story)


def test_a_job_that_was_replaced_cannot_report() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        assert (await registry.post(f"{ONE}/progress", progress(made, epoch=2))).status == 204
        for other in ({"epoch": 1}, {"epoch": 2, "job": "k"}):
            refused = await registry.post(f"{ONE}/progress", progress(made, **other))
            assert (refused.code, "since its start 2" in refused.text) == (40983, True)
        assert (await registry.post(f"{ONE}/progress", progress(made, epoch=3, job="k"))).status == 204
        assert (await registry.post(f"{ONE}/progress", progress(made, epoch=-1))).code == 400

    play(story)


def test_a_rate_that_is_no_finite_number_is_refused() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)
        refused = await registry.post(f"{ONE}/progress", progress(made, ratePerS=math.inf))
        assert (refused.code, "ratePerS is inf" in refused.text) == (400, True)
        assert (await registry.get(ONE)).json["reports"] == {}

    play(story)


def test_only_the_first_report_of_a_start_is_in_the_journal() -> None:
    async def story(registry: InProcessRegistry) -> None:
        made = await registered(registry)

        async def last() -> int:
            return (await registry.get("/changes?after=latest")).json["next"]

        before = await last()
        for lag in range(20):
            await registry.post(f"{ONE}/progress", progress(made, lag=lag))
        assert await last() == before + 1
        assert (await registry.get(ONE)).json["reports"]["progress"]["partitions"][0]["end"] == 2**40 + 19
        await registry.post(f"{ONE}/progress", progress(made, epoch=2))
        assert await last() == before + 2

    play(story)


def test_the_expected_state_is_checked() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        refused = await transit(registry, "shadow", **{"from": "running"})
        assert (refused.code, refused.json["state"]) == (40981, "planned")
        assert (await registry.post(f"{ONE}/transitions?dryRun=true", {"to": "shadow", "by": "a"})).status == 200
        assert (await registry.get(ONE)).json["bridge"]["state"] == "planned"

    play(story)


@pytest.mark.parametrize("state", list(BridgeState))
def test_every_state_can_be_reached_and_has_a_way_to_the_end(state: BridgeState) -> None:
    assert steps_to(state)[-1:] == ((state,) if state is not BridgeState.PLANNED else ())
    reachable, waiting = {state}, [state]
    while waiting:
        for following in TRANSITIONS[waiting.pop()]:
            if following not in reachable:
                reachable.add(following)
                waiting.append(following)
    assert BridgeState.RETIRED in reachable


def test_a_read_only_registry_takes_no_bridges() -> None:
    async def story(registry: InProcessRegistry) -> None:
        await registered(registry)
        await registry.put("/mode", {"mode": "READONLY"})
        assert (await transit(registry, "shadow")).code == 42205
        assert (await registry.delete(ONE)).code == 42205
        assert (await registry.get(ONE)).status == 200

    play(story)
