from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.converter.kafka.headers import RecordOrigin, is_echo, last_value, parse_origin, written_by

OFFSETS = st.integers(min_value=0, max_value=2**62)


TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,40}", fullmatch=True)


@given(TOPICS, OFFSETS, OFFSETS, st.integers(-1, 2**50), st.none() | st.integers(0, 2**32 - 1))
def test_an_origin_reads_back(topic: str, partition: int, offset: int, timestamp_ms: int, writer_id: int | None):
    origin = RecordOrigin(topic, partition, offset, timestamp_ms, writer_id)
    assert parse_origin(str(origin).encode()) == origin


@pytest.mark.parametrize("text", [None, b"", b"a/b", b"a/1/2/x", b"a/1/2/3/x", b"a/1/2/3/4/5", b"\xff\xfe"])
def test_what_is_no_origin_is_none(text: bytes | None):
    assert parse_origin(text) is None


def test_the_last_bridge_counts():
    own = [
        ("bridge.src", b"a/0/1/5"),
        ("bridge.via", b"first"),
        ("x", None),
        ("bridge.src", b"b/0/2/5"),
        ("bridge.via", b"second"),
    ]
    assert written_by(own, bridge="second", topic="b") == RecordOrigin("b", 0, 2, 5)
    assert written_by(own, bridge="first", topic="a") is None
    assert written_by(own, bridge="second", topic="a") is None
    assert written_by(None, bridge="second", topic="b") is None
    assert last_value(own, "x") is None


def test_a_record_that_was_on_the_target_before_is_an_echo():
    own = [("bridge.src", b"rides/0/1/5"), ("bridge.src", b"middle/0/2/5")]
    assert is_echo(own, target="rides")
    assert is_echo(own, target="middle")
    assert not is_echo(own, target="ride")
    assert not is_echo([("other", b"rides/0/1/5")], target="rides")
    assert not is_echo([("bridge.src", None)], target="rides")
    assert not is_echo(None, target="rides")
