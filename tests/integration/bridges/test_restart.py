from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from counterfoil.converter.kafka.cluster import Cluster
from counterfoil.converter.run.checkpoint import Checkpoint
from counterfoil.converter.verify.verification import RecomputedSample, TopicVerification
from counterfoil.schema.exit_codes import ExitCode
from local_services import connector_jars, wait_until
from strategies.bridges.driver import bridge_between, run_bridge, swap
from strategies.bridges.program import end
from strategies.kafka.records import produce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from local_services import KafkaClient

RECORDS = 30_000
PARTITIONS = 3
DRIVER = Path(__file__).parents[2] / "strategies" / "bridges" / "driver.py"
REFUSED_EVERY = 1_000
TOMBSTONE_EVERY = 1_500


def value_of(number: int) -> bytes | None:
    if number % TOMBSTONE_EVERY == 1:
        return None
    mark = b"\xff" if number % REFUSED_EVERY == 2 else b""
    return b"\x00\x00\x00\x00\x05" + mark + f"record {number} ".encode() + b"." * 100


def fill(bootstrap_servers: str, topic: str) -> None:
    records = (
        {"value": value_of(number), "key": f"k{number % 500}".encode(), "partition": number % PARTITIONS}
        for number in range(RECORDS)
    )
    produce(bootstrap_servers, topic, records)


@contextmanager
def driver(settings: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(DRIVER), json.dumps(settings)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        end(process)
        process.communicate()


def kill_when(process: subprocess.Popen[str], condition: Callable[[], bool], what: str) -> None:
    def reached() -> bool:
        assert process.poll() is None, f"the driver ended before {what}"
        return condition()

    wait_until(reached, what=what)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def route(broker: KafkaClient, unique_name: Callable[[str], str], tmp_path: Path) -> dict[str, Any]:
    source, target = unique_name("rides-v2"), unique_name("rides")
    for topic in (source, target, f"{source}.bridge-dlq"):
        broker.create_topic(topic, partitions=PARTITIONS)
    fill(broker.bootstrap_servers, source)
    return {
        "bootstrap_servers": broker.bootstrap_servers,
        "source": source,
        "target": target,
        "checkpoint": str(tmp_path / "checkpoint"),
        "jars": str(connector_jars()),
        "settings": {"max_offsets_per_trigger": RECORDS},
    }


# The second kill hits the replay of the batch that the first one hit. One kill with equal partitions is also in
# test_commands.py and in the demo. The first share of a kill is that of the records after which it comes; should
# it come late, the driver converts of each partition no more than the second share.
@pytest.mark.parametrize(
    ("bridge", "kills"),
    [
        ({"partition": "by-key"}, ((0.12, 0.3), (0.33, 0.8))),
        ({"partition": "same", "delivery": "exactly-once"}, ((0.01, 0.1), (0.5, 0.9))),
        pytest.param({"partition": "same"}, ((0.12, 0.3), (0.33, 0.8)), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_a_driver_killed_in_mid_batch_loses_nothing_and_repeats_nothing(
    spark: Any, route: dict[str, Any], bridge: dict[str, Any], kills: tuple[tuple[float, float], ...]
) -> None:
    route["bridge"] = bridge
    cluster = Cluster(route["bootstrap_servers"], timeout_s=120)
    checkpoint = Checkpoint(route["checkpoint"])
    outputs = (route["target"], f"{route['source']}.bridge-dlq")

    def on_outputs() -> int:
        return sum(end for topic in outputs for _, end in cluster.watermarks(topic).values())

    written_at_kill = []
    for share, held_share in kills:
        threshold = round(RECORDS * share)
        with driver({**route, "held_from": round(RECORDS // PARTITIONS * held_share)}) as running:
            kill_when(running, lambda enough=threshold: on_outputs() > enough, f"{threshold} records written")
        for topic in outputs:
            cluster.settled_watermarks(topic)
        written_at_kill.append(on_outputs())
        assert checkpoint.unfinished_batch(route["source"]) is not None
    assert sorted({0, *written_at_kill, RECORDS}) == [0, *written_at_kill, RECORDS]

    resolved = bridge_between(route["source"], route["target"], **bridge)
    outcome, lines = run_bridge(
        spark, route["bootstrap_servers"], resolved, Path(route["checkpoint"]), **route["settings"]
    )
    assert outcome.exit_code is ExitCode.OK, lines
    assert any("was left unfinished" in line for line in lines)

    assert sum(1 for topic in outputs for _ in cluster.read(topic, cluster.watermarks(topic))) == RECORDS
    report = TopicVerification(resolved.file, cluster, recompute=swap, sample=RecomputedSample(size=None)).run()
    assert report.lines()[-1].startswith("good:"), "\n".join(report.lines())
    assert report.records == RECORDS
    assert report.exit_code is ExitCode.OK
    assert report.native == 0
    assert sum(each.dead_letters for each in report.partitions) == sum(
        1 for number in range(RECORDS) if number % REFUSED_EVERY == 2 and value_of(number) is not None
    )
