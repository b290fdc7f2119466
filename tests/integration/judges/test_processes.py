"""Judges in processes of their own: what ends them, what is left, and what the other requests notice."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from counterfoil.registry.judges.judging import LongJudgements
from counterfoil.registry.judges.processes import JudgeDefect, JudgeLimits, JudgeProcesses, Mailbox
from counterfoil.registry.settings import ServerSettings
from counterfoil.registry.subjects.compatibility import BUDGET
from counterfoil.schema.agreements import Expectation, ExpectedRead, Promise
from counterfoil.schema.agreements.findings import Offer, Reader
from counterfoil.schema.agreements.readers import judge_pairs
from counterfoil.schema.answers import CompatibilityQuestion, answer
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, parse_level
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.errors import InvalidCompatibilityLevel, JudgementEnded, JudgementUndecided, TooManyJudgements
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import parse_path
from counterfoil.schema.texts import Position
from local_services import RegistryProcess, wait_until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

MIB: Final = 1024 * 1024
LONG_TEXT: Final = json.dumps({"anyOf": [{}] * 700_000})
"""A schema that takes seconds, and more memory than a judge of the tests has."""

LIMITS: Final = JudgeLimits(30.0, 512 * MIB)
AT: Final = Position(1, 1)
PROMISE: Final = Promise("orders", "orders", "orders", AT)
PAIRS: Final = {
    SchemaType.AVRO: (
        '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int"}]}',
        '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "string"}]}',
    ),
    SchemaType.JSON: ('{"properties": {"a": {"type": "integer"}}}', '{"properties": {"a": {"pattern": "^a+$"}}}'),
    SchemaType.PROTOBUF: (
        'syntax = "proto3"; message A { int32 a = 1; }',
        'syntax = "proto3"; message A { string a = 1; }',
    ),
}


def nested(depth: int, leaf: str) -> str:
    """A schema of 1 kB in which each level has two references to the next one."""
    levels = {
        f"a_{level}": {"allOf": [{"$ref": f"#/definitions/a_{level + 1}"}, {"$ref": f"#/definitions/a_{level + 1}"}]}
        for level in range(depth)
    }
    levels[f"a_{depth}"] = {"properties": {"x": {"type": leaf}}}
    return json.dumps({"$ref": "#/definitions/a_0", "definitions": levels})


def union_of_records(name: str, count: int) -> str:
    return json.dumps([{"type": "record", "name": f"{name}{number}", "fields": []} for number in range(count)])


def question(schema_type: SchemaType, candidate: str, earlier: str) -> CompatibilityQuestion:
    parsed = [parse_schema(each, schema_type) for each in (candidate, earlier)]
    return CompatibilityQuestion(
        parsed[0], [Earlier(parsed[1], 1)], CompatibilityLevel.FULL, CompatibilityPolicy.STRICT
    )


def judges_of(pid: int) -> list[int]:
    """The judges that a process has started."""
    return [each for each in children_of(pid) if is_judge(each)]


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(each) for task in tasks for each in task.read_text().split()]


def is_judge(pid: int) -> bool:
    try:
        return b"counterfoil.registry.judges.process" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / MIB


def has_begun(judge: int) -> bool:
    """Whether a process is one that takes calls: two workers may start one each, of which the second ends at once."""
    try:
        return resident_mib(judge) > 16
    except (OSError, IndexError):
        return False


@contextmanager
def judged(limits: JudgeLimits = LIMITS, *, most: int = 2) -> Iterator[JudgeProcesses]:
    processes = JudgeProcesses(Mailbox(most), limits)
    try:
        yield processes
    finally:
        processes.close()
        wait_until(lambda: not judges_of(os.getpid()), what="the end of the judges")


def run(story: Callable[[JudgeProcesses], Awaitable[Any]], limits: JudgeLimits = LIMITS, *, most: int = 2) -> Any:
    with judged(limits, most=most) as processes:
        return asyncio.run(story(processes))  # type: ignore[arg-type]


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the condition is one of the system
            await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("schema_type", SchemaType)
def test_answers_are_those_of_the_same_process_and_a_judge_stays_small(schema_type: SchemaType) -> None:
    asked = question(schema_type, *PAIRS[schema_type])

    async def story(processes: JudgeProcesses) -> None:
        assert await processes.start(answer, asked, BUDGET) == answer(asked, BUDGET)
        assert answer(asked, BUDGET).messages
        [judge] = judges_of(os.getpid())
        assert resident_mib(judge) < 60

    run(story)


@pytest.mark.slow
@pytest.mark.parametrize("schema_type", SchemaType)
def test_pairs_of_contracts_are_judged_as_in_the_same_process(schema_type: SchemaType) -> None:
    wanted = Expectation(
        "orders", "orders", "1", AT, (ExpectedRead(parse_path("a"), AT, is_required=True, pattern="^a+$"),)
    )
    now, before = (Offer(parse_schema(each, schema_type), PROMISE) for each in PAIRS[schema_type])
    same, again = (parse_schema(PAIRS[schema_type][0], schema_type) for _ in range(2))
    asked = [
        ([before], now, Reader("ui", wanted)),
        ([before, now], now, Reader("ui", wanted, schema=before.schema)),
        ([], Offer(now.schema, key=before.schema), Reader("ui", replace(wanted, reads=None), schema=before.schema)),
        ([Offer(same)], Offer(again), Reader("ui", replace(wanted, reads=None), schema=same)),
    ]

    async def story(processes: JudgeProcesses) -> None:
        found = await processes.start(judge_pairs, asked)
        assert found == judge_pairs(asked)
        assert any(found)

    run(story)


@pytest.mark.long
@pytest.mark.parametrize("depth", [14, 25, 60])
def test_steps_end_a_judgement_in_a_fifth_of_the_deadline(depth: int) -> None:
    asked = question(SchemaType.JSON, nested(depth, "integer"), nested(depth, "string"))
    unions = [union_of_records(side, 600) for side in "ab"]

    async def story(processes: JudgeProcesses) -> None:
        for each in (asked, question(SchemaType.AVRO, *unions)):
            with suppress(JudgementUndecided):
                await processes.start(answer, each, BUDGET)

    run(story, JudgeLimits(ServerSettings().judgement_timeout_s / 5, 512 * MIB))


def test_errors_cross_as_they_are_and_a_defect_is_shown() -> None:
    async def story(processes: JudgeProcesses) -> None:
        with pytest.raises(InvalidCompatibilityLevel, match="SIDEWAYS"):
            await processes.start(parse_level, "SIDEWAYS")
        with pytest.raises(JudgeDefect, match="Traceback"):
            await processes.start(parse_level, 7)
        assert await processes.start(parse_level, "full") is CompatibilityLevel.FULL
        wait_until(lambda: 1 <= len(judges_of(os.getpid())) <= processes.at_once, what="surplus judges to end")

    run(story)


def test_only_functions_of_schemas_are_called() -> None:
    async def story(processes: JudgeProcesses) -> None:
        for work, given in ((os.system, "true"), (eval, "1")):
            with pytest.raises(JudgeDefect, match="is no value of schemas"):
                await processes.start(work, given)

    run(story)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (JudgeLimits(0.5, 2048 * MIB), r"not done after 0\.5 s of processor time"),
        (JudgeLimits(60.0, 128 * MIB), "more than 128 MiB of memory"),
    ],
)
def test_a_limit_fails_one_call_and_the_next_one_is_answered(limits: JudgeLimits, why: str) -> None:
    async def story(processes: JudgeProcesses) -> None:
        with pytest.raises(JudgementEnded, match=why) as ended:
            await processes.start(parse_schema, LONG_TEXT, SchemaType.JSON)
        assert (ended.value.status, ended.value.code) == (503, 50011)
        assert processes.ended == 1
        assert await processes.start(parse_level, "full") is CompatibilityLevel.FULL

    run(story, limits)


@pytest.mark.slow
def test_a_killed_judge_fails_its_call_alone() -> None:
    async def story(processes: JudgeProcesses) -> None:
        long = LongJudgements(processes)
        killed = asyncio.ensure_future(long.run(parse_schema, LONG_TEXT, SchemaType.JSON))
        await until(lambda: judges_of(os.getpid()) and resident_mib(judges_of(os.getpid())[0]) > 60)
        others = [asyncio.ensure_future(long.run(parse_level, "full")) for _ in range(3)]
        os.kill(judges_of(os.getpid())[0], signal.SIGKILL)
        with pytest.raises(JudgementEnded, match="killed"):
            await killed
        assert await asyncio.gather(*others) == [CompatibilityLevel.FULL] * 3
        assert (processes.ended, long.waiting) == (1, 0)

    run(story, most=1)


@pytest.mark.slow
def test_a_call_that_is_given_up_ends_its_judge_at_once() -> None:
    async def story(processes: JudgeProcesses) -> None:
        long = LongJudgements(processes)
        given_up = asyncio.ensure_future(long.run(parse_schema, LONG_TEXT, SchemaType.JSON))
        await until(lambda: judges_of(os.getpid()) and resident_mib(judges_of(os.getpid())[0]) > 60)
        [judge] = judges_of(os.getpid())
        given_up.cancel()
        await until(lambda: judge not in judges_of(os.getpid()))
        assert await long.run(parse_level, "full") is CompatibilityLevel.FULL

    run(story)


@pytest.mark.slow
def test_judges_end_when_they_have_nothing_to_do() -> None:
    async def story(processes: JudgeProcesses) -> None:
        await processes.start(parse_level, "full")
        assert processes.count == 1
        await until(lambda: processes.count == 0 and not judges_of(os.getpid()))
        await processes.start(parse_level, "full")

    run(story, JudgeLimits(30.0, 512 * MIB, idle_s=0.2))


@pytest.mark.slow
def test_processes_of_one_server_share_the_judges() -> None:
    async def story(processes: JudgeProcesses) -> None:
        other = JudgeProcesses(processes.mailbox, LIMITS)
        asked = question(SchemaType.JSON, nested(14, "integer"), nested(14, "string"))
        running = [each.start(answer, asked, BUDGET) for each in (processes, other) for _ in range(2)]
        most = 0
        while not all(each.done() for each in running):
            most = max(most, processes.count)
            await asyncio.sleep(0.01)
        assert len({each.result().messages for each in running}) == 1
        assert 1 <= most <= 2
        assert len(judges_of(os.getpid())) <= 2

    run(story)


@pytest.mark.parametrize("program", ["/absent/python", "/bin/false"])
def test_without_processes_the_request_may_be_repeated(program: str) -> None:
    async def story() -> None:
        processes = JudgeProcesses(Mailbox(2), LIMITS, python=program)
        with pytest.raises(TooManyJudgements, match="can be started") as refused:
            await processes.start(parse_level, "full")
        assert refused.value.status == 503
        processes.close()

    asyncio.run(story())


def test_a_judge_holds_the_room_of_schemas_alone() -> None:
    program = (
        "import sys; from counterfoil.registry.judges import portable, process; "
        "from counterfoil.schema import answers; "
        "print(*sorted(name for name in sys.modules if name.startswith('counterfoil.')))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    own = {"registry", "registry.judges", "registry.judges.portable", "registry.judges.process"}
    assert {name for name in found if not name.startswith("counterfoil.schema")} == {
        f"counterfoil.{each}" for each in own
    }
    assert not {"asyncio", "fastapi", "uvicorn"} & set(found)


# --- a real server


def send(url: str, path: str, schema: str, **more: Any) -> tuple[int, dict[str, Any]]:
    body = json.dumps({"schema": schema, "schemaType": "JSON", **more}).encode()
    request = urllib.request.Request(f"{url}{path}", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, {**json.load(error), "retry": error.headers.get("Retry-After")}
    except OSError:  # the server was killed
        return 0, {}


def ask_in_background(
    *asked: tuple[Any, ...], **more: Any
) -> tuple[list[threading.Thread], list[tuple[int, dict[str, Any]]]]:
    replies: list[tuple[int, dict[str, Any]]] = []
    threads = [threading.Thread(target=lambda each=each: replies.append(send(*each, **more))) for each in asked]
    for thread in threads:
        thread.start()
    return threads, replies


def is_live(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/health/live", timeout=10) as reply:
        return bool(reply.status == http.HTTPStatus.OK)


def ended(url: str) -> float:
    """Return the number of judgements that a server has ended."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as measures:
        lines: list[bytes] = measures.read().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(b"counterfoil_ended_judgements_total "))


@contextmanager
def registry(tmp_path: Path, **settings: str) -> Iterator[RegistryProcess]:
    given = {f"COUNTERFOIL_{name.upper()}": value for name, value in settings.items()}
    with RegistryProcess(settings=given, log=tmp_path / "registry.log") as running:
        yield running


@pytest.mark.slow
def test_dear_schemas_are_answered_beside_the_event_loop(tmp_path: Path) -> None:
    with registry(tmp_path) as running:
        for depth in (14, 25):
            assert send(running.url, f"/subjects/s{depth}/versions", nested(depth, "integer"))[0] == 200
            path = f"/compatibility/subjects/s{depth}/versions/latest?verbose=true"
            threads, replies = ask_in_background((running.url, path, nested(depth, "string")))
            while threads[0].is_alive():
                assert is_live(running.url)
            earlier = parse_schema(nested(depth, "integer"), SchemaType.JSON).canonical()
            asked = replace(
                question(SchemaType.JSON, nested(depth, "string"), earlier), level=CompatibilityLevel.BACKWARD
            )
            [(status, reply)] = replies
            assert (status, reply["is_compatible"]) == (200, False)
            assert reply["messages"][:-1] == list(answer(asked, BUDGET).messages)
        pid = running.pid
    wait_until(lambda: not judges_of(pid), what="the end of the judges")


@pytest.mark.slow
def test_a_server_answers_while_its_judges_are_ended_and_its_own_end_leaves_none(tmp_path: Path) -> None:
    schema, changed = (union_of_records(side, 400) for side in "ab")
    with registry(tmp_path, judgement_timeout_s="0.1", search="off") as running:
        # On a busy machine even the first version may take longer than this.
        registered = partial(send, running.url, "/subjects/s/versions", schema, schemaType="AVRO")
        wait_until(lambda: registered()[0] == http.HTTPStatus.OK, what="the first version")
        ended_before = ended(running.url)
        status, reply = send(running.url, "/subjects/s/versions", changed, schemaType="AVRO")
        assert (status, reply["error_code"], reply["retry"]) == (503, 50011, "1")
        assert "0.1 s" in reply["message"]
        assert is_live(running.url)
        assert ended(running.url) > ended_before
        asked = (running.url, "/compatibility/subjects/s/versions?verbose=true", changed)
        threads, _ = ask_in_background(*[asked] * 3, schemaType="AVRO")
        wait_until(lambda: bool(judges_of(running.pid)), what="a judge")
        judges = judges_of(running.pid)
        running.kill()
        wait_until(lambda: not any(map(is_judge, judges)), what="the end of the judges")
        for each in threads:
            each.join()
        running.restart()
        assert is_live(running.url)


@pytest.mark.slow
def test_two_workers_of_a_server_share_two_judges(postgres_url: str, tmp_path: Path) -> None:
    schema, changed = nested(14, "integer"), nested(14, "string")
    settings = {"COUNTERFOIL_WORKERS": "2"}
    with RegistryProcess(store=postgres_url, settings=settings, log=tmp_path / "registry.log") as running:
        assert send(running.url, "/subjects/s/versions", schema)[0] == 200
        threads, replies = ask_in_background(
            *[(running.url, "/compatibility/subjects/s/versions?verbose=true", changed)] * 6
        )
        most = 0
        while any(each.is_alive() for each in threads):
            judges = [judge for worker in children_of(running.pid) for judge in judges_of(worker)]
            most = max(most, sum(has_begun(each) for each in judges))
            assert is_live(running.url)
        assert {status for status, _ in replies} == {200}
        assert len({json.dumps(reply) for _, reply in replies}) == 1
        assert 1 <= most <= 2
