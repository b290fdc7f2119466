"""What a dead letter becomes when it is converted once more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.converter.bridge import parse_bridge_file
from counterfoil.converter.commands.replay import Replay, ReplayReport
from counterfoil.converter.engines.reference import Converted
from counterfoil.schema.plans import ConversionError, FailureCode

FILE = "bridge: b\nsource: {topic: in}\ntarget: {topic: out}\n"


def letter(value: bytes | None) -> Any:
    headers = [("own", b"1"), ("bridge.src", b"in/2/40/-1"), ("bridge.via", b"b"), ("bridge.error", b"undecodable")]
    facts = {"topic": "in.bridge-dlq", "partition": 2, "offset": 5, "key": b"k", "value": value, "headers": headers}
    return SimpleNamespace(**{name: lambda fact=fact: fact for name, fact in facts.items()})


def new_key(key: bytes | None) -> Converted:
    return Converted(value=b"new " + (key or b""))


def bad_key(_key: bytes | None) -> Converted:
    return Converted(failure=ConversionError(FailureCode.UNDECODABLE, "$key", "cut off"))


@pytest.mark.parametrize(
    ("convert_key", "value", "expected"),
    [
        (new_key, b"v", ("out", b"new k", b"new v", None)),
        (new_key, None, ("out", b"new k", None, None)),
        (bad_key, b"v", ("in.bridge-dlq", b"k", b"v", "undecodable")),
        (bad_key, None, ("in.bridge-dlq", b"k", None, "undecodable")),
    ],
)
def test_a_replay_converts_the_key_as_a_run_does(convert_key: Any, value: bytes | None, expected: tuple[Any, ...]):
    cluster: Any = SimpleNamespace(
        settings=lambda _topic: {"max.message.bytes": "1000000"}, read=lambda *_range: [letter(value)]
    )
    replay = Replay(
        parse_bridge_file(FILE), cluster, lambda value: Converted(value=b"new " + value), "f" * 64, convert_key
    )
    report = ReplayReport("b", "in.bridge-dlq")
    (made,) = replay._outgoing(2, (5, 6), report)
    assert (made.topic, made.key, made.value, made.problem_code) == expected
    assert made.headers[0] == ("own", b"1")
    assert report.converted + report.failed.total() == 1
