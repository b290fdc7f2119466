"""Batches of Beavers all of whose messages are left out: a table without rows, whatever the types of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from counterfoil.sdk import AvroDeserializer, AvroSerializer, JsonDeserializer, JsonSerializer
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.machine.late_modules import late_module

adapter = late_module("counterfoil.sdk.adapters.beavers")

TYPES = [
    *(pa.int32(), pa.string(), pa.date32(), pa.binary(), pa.decimal128(5, 2), pa.time32("ms"), pa.bool_()),
    *(pa.list_(pa.int32()), pa.struct([("b", pa.int8())]), pa.map_(pa.string(), pa.int8())),
    pa.dictionary(pa.int8(), pa.string()),
]


@dataclass
class Message:
    """A message of confluent-kafka."""

    data: bytes | None
    name: bytes | None = None

    def value(self) -> bytes | None:
        return self.data

    def key(self) -> bytes | None:
        return self.name

    def topic(self) -> str:
        return "t"

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return (0, -1)


@pytest.mark.parametrize("column", TYPES, ids=str)
def test_a_batch_of_messages_that_are_all_reported_is_a_table_without_rows(column: pa.DataType) -> None:
    registry = InMemoryRegistry().client(retries=0)
    misfit = JsonSerializer(registry, "{}").bind("t")({"a": [["no such value"]]})
    reported: list[Any] = []
    read = adapter.TableReader(
        value=JsonDeserializer(registry),
        schema=pa.schema([("a", column)]),
        key=AvroDeserializer(registry),
        key_type=column,
        columns=adapter.Columns(key="k", tombstone="dead"),
        report=lambda message, error: reported.append((message, error)),
    )
    messages = [Message(misfit), Message(b"no message"), Message(None, b"no key")]
    table = read(messages)
    assert table.num_rows == 0
    assert table.column_names == ["k", "dead", "a"]
    assert [message for message, _ in reported] == messages


def test_one_message_that_fits_stays() -> None:
    registry = InMemoryRegistry().client(retries=0)
    key = AvroSerializer(registry, '"string"').bind("t", "key")("k")
    good = JsonSerializer(registry, "{}").bind("t")({"a": 1})
    reported: list[Any] = []
    read = adapter.TableReader(
        value=JsonDeserializer(registry),
        schema=pa.schema([("a", pa.int32())]),
        key=AvroDeserializer(registry),
        columns=adapter.Columns(key="k"),
        report=lambda _, error: reported.append(error),
    )
    table = read([Message(b"x"), Message(good, key), Message(None)])
    assert table.to_pylist() == [{"k": "k", "a": 1}]
    assert len(reported) == 1
