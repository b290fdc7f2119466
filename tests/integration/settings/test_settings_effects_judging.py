"""Each setting of long judgements has an effect that a user would notice."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.registry.judges.processes import JudgeLimits, JudgeProcesses, Mailbox
from counterfoil.schema.errors import JudgementEnded
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from strategies.registry.served import in_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from strategies.registry.driver import InProcessRegistry

MIB = 1024 * 1024
LONG_TEXT = json.dumps({"anyOf": [{}] * 700_000})


class Undecided:
    """Judges that never have a result; ``started`` is how many judgements were begun."""

    are_apart = False

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once
        self.count = self.ended = self.started = self.given_up = 0

    def start(self, _work: Callable[..., Any], *_given: object) -> asyncio.Future[Any]:
        self.started += 1
        return asyncio.get_running_loop().create_future()

    def give_up(self, running: asyncio.Future[Any]) -> None:
        self.given_up += 1
        running.cancel()

    def close(self) -> None:
        pass


def dear(leaf: str) -> str:
    levels = {f"a_{n}": {"allOf": [{"$ref": f"#/definitions/a_{n + 1}"}] * 2} for n in range(20)}
    levels["a_20"] = {"properties": {"x": {"type": leaf}}}
    return json.dumps({"$ref": "#/definitions/a_0", "definitions": levels})


async def register_judged_apart(registry: InProcessRegistry) -> None:
    """Register a version under SOUND: JSON schemas are compared by judges there, however small they are."""
    await registry.register("s", dear("integer"), schemaType="JSON")
    await registry.put("/config/s", {"compatibility": "BACKWARD", "compatibilityPolicy": "SOUND"})


def ended_by(limits: JudgeLimits) -> str:
    """What the error of a judgement says that takes long and needs much memory."""

    async def story() -> str:
        processes = JudgeProcesses(Mailbox(1), limits)
        with pytest.raises(JudgementEnded) as ended:
            await processes.start(parse_schema, LONG_TEXT, SchemaType.JSON)
        processes.close()
        return str(ended.value)

    return asyncio.run(story())


@pytest.mark.slow
def test_judgement_processes_has_an_effect() -> None:
    async def judges_of(most: int) -> int:
        processes = JudgeProcesses(Mailbox(most), JudgeLimits(60.0, 512 * MIB))
        calls = [
            processes.start(parse_schema, LONG_TEXT[: MIB // 2 * 4 - 2 - 2 * n] + "]}", SchemaType.JSON)
            for n in range(3)
        ]
        seen = 0
        async with asyncio.timeout(60):
            while seen < most:
                seen = max(seen, processes.count)
                await asyncio.sleep(0.01)
        for each in calls:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        processes.close()
        return seen

    assert [asyncio.run(judges_of(most)) for most in (1, 2)] == [1, 2]


@pytest.mark.slow
def test_judgement_timeout_s_has_an_effect() -> None:
    assert "0.3 s" in ended_by(JudgeLimits(0.3, 1024 * MIB))


@pytest.mark.slow
def test_judgement_memory_bytes_has_an_effect() -> None:
    assert "128 MiB" in ended_by(JudgeLimits(60.0, 128 * MIB))


def test_judgement_limit_has_an_effect() -> None:
    async def story(registry: InProcessRegistry) -> list[int]:
        await register_judged_apart(registry)
        body = {"schema": dear("string"), "schemaType": "JSON"}
        path = "/compatibility/subjects/s/versions?verbose=true"
        return [each.status for each in await asyncio.gather(*(registry.post(path, body) for _ in range(3)))]

    assert sorted(in_process(story, judges=Undecided(), request_timeout_s=2, judgement_limit=2)) == [503, 504, 504]
    assert in_process(story, judges=Undecided(), request_timeout_s=2, judgement_limit=0) == [504, 504, 504]


def test_a_request_that_waits_for_a_judge_ends_at_its_time_limit() -> None:
    judges = Undecided()

    async def story(registry: InProcessRegistry) -> list[int]:
        await register_judged_apart(registry)
        body = {"schema": dear("string"), "schemaType": "JSON"}
        asked = [registry.post("/subjects/s/versions", body) for _ in range(2)]
        replies = await asyncio.gather(*asked, registry.get("/health/live"))
        return [each.status for each in replies]

    assert in_process(story, judges=judges, request_timeout_s=1) == [504, 504, 200]
    assert judges.started == judges.given_up >= 1
