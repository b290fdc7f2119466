"""The wire format: vectors that others' serializers write, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema import wire
from counterfoil.schema.errors import CounterfoilError

VECTORS = Path(__file__).parents[2] / "data" / "wire"


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("vector", vectors("frames"), ids=lambda vector: vector["hex"])
def test_a_frame_is_read(vector):
    data = bytes.fromhex(vector["hex"])
    frame = wire.read_frame(data)
    guid = UUID(vector["guid"]) if "guid" in vector else None
    assert frame == wire.Frame(vector.get("schema_id"), guid, vector["offset"])
    if "message_indexes" in vector:
        assert wire.read_message_indexes(data, frame.offset) == (vector["message_indexes"], len(data))


@pytest.mark.parametrize("vector", vectors("frames"), ids=lambda vector: vector["hex"])
def test_a_frame_is_written(vector):
    data = bytes.fromhex(vector["hex"])
    body = data[vector["offset"] :]
    if "guid" in vector:
        assert wire.guid_prefix(UUID(vector["guid"])) + body == data
    elif vector.get("reading_only"):
        with pytest.raises(wire.InvalidSchemaId, match="4294967295 is no schema id"):
            wire.frame(vector["schema_id"], body)
    else:
        assert wire.frame(vector["schema_id"], body) == data


@pytest.mark.parametrize("vector", vectors("broken_frames"), ids=lambda vector: vector["hex"] or "empty")
def test_a_broken_frame_is_refused(vector):
    with pytest.raises(getattr(wire, vector["error"])) as caught:
        wire.read_frame(bytes.fromhex(vector["hex"]))
    assert "expected" in str(caught.value)


@pytest.mark.parametrize("vector", vectors("message_indexes"), ids=lambda vector: vector["hex"])
def test_message_indexes_both_ways(vector):
    data = bytes.fromhex(vector["hex"])
    assert wire.read_message_indexes(b"\xff" + data + b"\xff", 1) == (vector["path"], 1 + len(data))
    if not vector.get("reading_only"):
        assert wire.encode_message_indexes(vector["path"]) == data


@pytest.mark.parametrize("vector", vectors("broken_message_indexes"), ids=lambda vector: vector["hex"] or "empty")
def test_broken_message_indexes_are_refused(vector):
    with pytest.raises(getattr(wire, vector["error"])):
        wire.read_message_indexes(bytes.fromhex(vector["hex"]))


@pytest.mark.parametrize("path", [[], [-1], [2**31], [0] * 65])
def test_a_path_that_no_file_has_is_not_written(path):
    with pytest.raises(wire.BadMessageIndexes):
        wire.encode_message_indexes(path)


@pytest.mark.parametrize("schema_id", [0, -1, 2**31, True])
def test_an_id_that_no_registry_issues_is_not_written(schema_id):
    with pytest.raises(wire.InvalidSchemaId):
        wire.frame(schema_id, b"")


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=64), st.binary(max_size=8))
def test_message_indexes_round_trip(path, tail):
    data = wire.encode_message_indexes(path)
    assert wire.read_message_indexes(data + tail) == (path, len(data))


@given(st.integers(1, 2**31 - 1), st.binary())
def test_frames_round_trip(schema_id, body):
    data = wire.frame(schema_id, body)
    frame = wire.read_frame(data)
    assert (frame.schema_id, data[frame.offset :]) == (schema_id, body)


@given(st.binary(max_size=40))
def test_no_other_error_escapes(data):
    for read in (wire.read_frame, wire.read_message_indexes):
        try:
            read(data)
        except CounterfoilError:
            continue


def test_every_wrapping_of_bytes_is_read_alike():
    data = bytes.fromhex("01 89791762 2336 4186 9674 299b90a802e2 02 02")
    for wrapped in (bytearray(data), memoryview(data)):
        assert wire.read_frame(wrapped) == wire.read_frame(data)
        assert wire.read_message_indexes(wrapped, 17) == ([1], 19)
