"""The parts of Spark's columns that need no Spark: types that it does not have, what a task does with its batch."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import pytest

from counterfoil.sdk import AvroDeserializer, AvroSerializer, EncodeError, InvalidSettings, NotFramed, Registry
from counterfoil.sdk.adapters.pyspark import SparkReading, SparkWriting, from_registry, to_registry, unpacked
from counterfoil.sdk.testing import InMemoryRegistry
from strategies.machine.late_modules import late_module

pd = late_module("pandas")

RIDE = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'
CTX = SimpleNamespace(topic="rides", field="value")
SHARED = InMemoryRegistry()


class Network:
    """A transport that leads to the registry in memory from every copy."""

    def send(self, request):
        return SHARED.send(request)

    def close(self):
        pass


def plain(_):
    return None


def task(kind, packed, *, fails):
    return kind(packed=packed, is_row=True, topic="rides", field="value", fails=fails)


def registry():
    return Registry("http://registry.invalid", transport=Network())


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('["int", "string"]', "a union of several types"),
        ('{"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}', "duration"),
        ('{"type": "bytes", "logicalType": "decimal", "precision": 40}', "decimal"),
    ],
)
def test_a_schema_without_a_type_in_spark_is_refused_on_the_driver(schema, reason):
    with pytest.raises(InvalidSettings, match=reason):
        from_registry("value", registry(), topic="any", reader=schema)


def test_settings_that_a_column_cannot_have_are_refused():
    with pytest.raises(InvalidSettings, match="mode is 'DROPMALFORMED'"):
        from_registry("value", registry(), topic="any", reader='"int"', mode="DROPMALFORMED")
    with pytest.raises(InvalidSettings, match="no headers"):
        to_registry("value", registry(), topic="any", schema='"int"', id_location="header")


def test_a_process_makes_a_deserializer_once_for_all_of_its_tasks():
    message = AvroSerializer(registry(), RIDE)({"fare": 1.5}, CTX)
    packed = pickle.dumps((AvroDeserializer(registry()), plain, None))
    packed_task = pickle.dumps(task(SparkReading, packed, fails=True))
    requests = len(SHARED.requests)
    for _ in range(3):
        copy = pickle.loads(packed_task)
        found = copy.read(pd.Series([message, None]), pd.Series([None, None]), ["c0"])
        assert found.to_numpy().tolist() == [[1.5, True, None], [None, False, None]]
    assert len(SHARED.requests) == requests + 1
    assert unpacked(packed) is unpacked(bytes(bytearray(packed)))


def test_without_the_permissive_mode_a_bad_message_fails_the_task():
    packed = pickle.dumps((AvroDeserializer(registry()), plain, None))
    arguments = pd.Series([b"{}"]), pd.Series([None]), ["c0"]
    with pytest.raises(NotFramed, match="subject='rides-value'"):
        task(SparkReading, packed, fails=True).read(*arguments)
    [[_, is_read, reason]] = task(SparkReading, packed, fails=False).read(*arguments).to_numpy().tolist()
    assert not is_read
    assert "subject='rides-value'" in reason


def test_a_value_that_does_not_fit_fails_the_task_or_has_its_reason():
    packed = pickle.dumps((AvroSerializer(registry(), RIDE), plain, None))
    with pytest.raises(EncodeError, match="fare"):
        task(SparkWriting, packed, fails=True).write({"fare": "much"})
    message, reason = task(SparkWriting, packed, fails=False).write({"fare": "much"})
    assert message is None
    assert "fare" in reason
