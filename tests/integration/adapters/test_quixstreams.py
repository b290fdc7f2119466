"""Quix Streams with the version of confluent-kafka that it pins, on a real broker and a real registry.

Its programs run in processes of their own, with packages of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from counterfoil.schema.wire import VALUE_HEADER
from counterfoil.sdk.adapters.dead_letters import ERROR, ERROR_FIELD, ERROR_TEXT
from local_services import quixstreams_environment

DRIVER = Path(__file__).parents[2] / "strategies" / "serde" / "quixstreams_program.py"


def read(broker, topic, count):
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": f"{topic}.test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        return consumer.consume(count, 60)
    finally:
        consumer.close()


@pytest.mark.parametrize("id_location", ["prefix", "header"])
def test_messages_go_through_a_data_frame(broker, live_registry, unique_name, id_location):
    topic = unique_name("rides")
    for name in (topic, f"{topic}.copy", f"{topic}.dead-letters"):
        broker.create_topic(name)
    done = subprocess.run(
        [sys.executable, DRIVER, broker.bootstrap_servers, live_registry.url, topic, id_location],
        env=quixstreams_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["confluent_kafka"] == "2.12.2"
    assert facts["seen"][:2] == [["one", 150, ["trace"]], [None, 250, ["trace"]]]
    assert facts["seen"][2][:2] == ["three", None]
    assert "subject='" + topic + "-value'" in facts["refused"]
    assert facts["refused"].startswith("True ")
    assert [name for name, _ in facts["reported"]] == ["NotFramed", "NotFramed"]
    letters = read(broker, f"{topic}.dead-letters", 2)
    assert [(each.key(), each.value()) for each in letters] == [(None, b"{}"), (b"{}", b"{}")]
    headers = dict(letters[0].headers())
    assert headers["trace"] == b"9"
    assert (headers[ERROR], headers[ERROR_FIELD]) == (b"NotFramed", b"value")
    assert headers[ERROR_TEXT].decode() == facts["reported"][0][1]
    copies = read(broker, f"{topic}.copy", 3)
    assert [each.value() is None for each in copies] == [False, False, True]
    assert all((each.value()[:1] == b"\0") == (id_location == "prefix") for each in copies[:2])
    names = [[name for name, _ in each.headers()] for each in copies[:2]]
    assert names == [["trace", VALUE_HEADER] if id_location == "header" else ["trace"]] * 2
