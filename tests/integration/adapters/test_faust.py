"""A Faust worker with several agents on one topic: dead letters, tables and windows over a restart, tombstones."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from local_services.process import wait_until
from strategies.kafka.records import NOT_FRAMED, end_offset, framed, read, write

PROGRAM = """
import os

import faust

from counterfoil.sdk import AsyncRegistry, AvroDeserializer
from counterfoil.sdk.adapters.faust import RegistrySchema

TOPIC = os.environ["TOPIC"]
app = faust.App(TOPIC + "-app", broker="kafka://" + os.environ["BROKER"], topic_partitions=1, store="memory://")
registry = AsyncRegistry(os.environ["REGISTRY"])


def rides():
    return app.topic(
        TOPIC,
        key_type=bytes,
        allow_empty=True,
        schema=RegistrySchema(
            deserialize_value=AvroDeserializer(registry),
            dead_letters=app.topic(TOPIC + ".dead", value_serializer="raw", key_serializer="raw"),
        ),
    )


shared = rides()
totals = app.Table("totals", default=int, partitions=1)
hours = app.Table("hours", default=int, partitions=1).tumbling(10**8, expires=10**9)


@app.agent(shared)
async def count(stream):
    async for ride in stream:
        vendor = "none" if ride is None else str(ride["vendor"])
        totals[vendor] += 1
        hours["all"] += 1
        print(f"count {vendor} {totals[vendor]} {hours['all'].now()}", flush=True)


@app.agent(shared)
async def second(stream):
    async for ride in stream:
        print(f"second {ride}", flush=True)


@app.agent(rides())
async def third(stream):
    async for ride in stream:
        print(f"third {ride}", flush=True)
"""


@contextmanager
def worker(folder: Path, **variables: str):
    """Run the program, and yield a function that returns what it has printed."""
    log = folder / f"log-{len(list(folder.iterdir()))}.txt"
    command = [Path(sys.executable).with_name("faust"), "-A", "program", "--datadir", str(folder / "data")]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "worker", "-l", "warn", "--without-web"],
            cwd=folder,
            env={**os.environ, **variables, "PYTHONPATH": str(folder)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield log.read_text
        finally:
            process.terminate()
            process.wait(120)


@pytest.mark.slow
def test_agents_on_one_topic_send_one_dead_letter_and_tables_survive_a_restart(broker, live_registry, topic, tmp_path):
    dead = f"{topic}.dead"
    broker.create_topic(dead)
    (tmp_path / "program.py").write_text(PROGRAM)
    places = {"TOPIC": topic, "BROKER": broker.bootstrap_servers, "REGISTRY": live_registry.url}
    rides = framed(live_registry.url, topic)

    write(broker, topic, rides[0], (b"bad", NOT_FRAMED, None), rides[2], (b"0", None, None))
    with worker(tmp_path, **places) as printed:
        for line in ("count 0 2 2", "count none 1 3", "second None", "third None"):
            wait_until(lambda line=line: line in printed(), what=f"the line {line!r} of the first worker")
    [letter] = read(broker, dead, 1)
    assert (letter.key(), letter.value()) == (b"bad", NOT_FRAMED)

    write(broker, topic, (b"worse", NOT_FRAMED, None), rides[0])
    with worker(tmp_path, **places) as printed:
        for line in ("count 0 3 4", "second {'vendor': 0", "third {'vendor': 0"):
            wait_until(lambda line=line: line in printed(), what=f"the line {line!r} of the second worker")
    assert [each.key() for each in read(broker, dead, 2)] == [b"bad", b"worse"]
    assert end_offset(broker, dead) == 2
