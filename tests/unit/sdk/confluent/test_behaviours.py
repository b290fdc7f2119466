"""What programs rely on of confluent-kafka's client and serializers, by behaviour: each row of the page's table.

Where a test needs Confluent's class to know the answer, it asks the real package, on the same registry.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.serialization import MessageField, SerializationContext

from counterfoil.sdk import confluent
from counterfoil.sdk.confluent import avro, json_schema
from counterfoil.sdk.testing import InMemoryRegistry

TEXT = '{"type":"record","name":"basic","namespace":"python.test","fields":[{"name":"a","type":"int"}]}'
OTHER = TEXT.replace('"int"', '"string"')
OBJECT = '{"title":"J","type":"object","properties":{"a":{"type":"integer"}}}'
VALUE = SerializationContext("rides", MessageField.VALUE)
NOT_FOUND = [
    (lambda client: client.lookup_schema("missing", confluent.Schema(TEXT, "AVRO")), 404, 40401),
    (lambda client: client.lookup_schema("rides-value", confluent.Schema(OTHER, "AVRO")), 404, 40403),
    (lambda client: client.get_schema(404), 404, 40403),
    (lambda client: client.get_version("missing", 3), 404, 40401),
    (lambda client: client.get_version("rides-value", 404), 404, 40402),
    (lambda client: client.get_version("rides-value", 0), 422, 42202),
    (lambda client: client.delete_subject("missing"), 404, 40401),
    (lambda client: client.delete_version("rides-value", 404), 404, 40402),
    (lambda client: client.delete_config("missing"), 404, 40401),
    (lambda client: client.set_compatibility(level="INVALID"), 422, 42203),
    (lambda client: client.register_schema("s", confluent.Schema("{", "AVRO")), 422, 42201),
    (lambda client: client.test_compatibility("missing", confluent.Schema("{", "AVRO")), 422, 42201),
]


class Counting:
    """A transport that counts requests by method and path."""

    def __init__(self) -> None:
        self.registry = InMemoryRegistry()
        self.requests: Counter[tuple[str, str]] = Counter()

    def send(self, request: Any) -> Any:
        self.requests[request.method, request.url.partition("?")[0].removeprefix("http://registry.invalid")] += 1
        return self.registry.send(request)

    def close(self) -> None:
        self.registry.close()


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def client(counting: Counting) -> Any:
    made = confluent.SchemaRegistryClient({"url": "http://registry.invalid"}, transport=counting)
    made.register_schema("rides-value", confluent.Schema(TEXT, "AVRO"))
    return made


@pytest.mark.parametrize(("call", "status", "code"), NOT_FOUND)
def test_refusals_have_the_status_and_the_code_of_the_registry(client: Any, call: Any, status: int, code: int):
    with pytest.raises(confluent.SchemaRegistryError) as caught:
        call(client)
    assert (caught.value.http_status_code, caught.value.error_code) == (status, code)


def test_an_incompatible_schema_is_a_refusal_and_a_test_is_a_bool(client: Any):
    other = confluent.Schema(OTHER, "AVRO")
    assert client.test_compatibility("rides-value", other) is False
    assert client.test_compatibility("rides-value", confluent.Schema(TEXT, "AVRO")) is True
    assert client.test_compatibility_all_versions("rides-value", confluent.Schema(TEXT, "AVRO")) is True
    with pytest.raises(confluent.SchemaRegistryError) as caught:
        client.register_schema("rides-value", other)
    assert caught.value.http_status_code == 409


def test_a_schema_is_requested_once_by_many_threads(client: Any, counting: Counting):
    schema = confluent.Schema(TEXT, "AVRO")
    with ThreadPoolExecutor(4) as threads:
        assert {each.schema_str for each in threads.map(lambda _: client.get_schema(1), range(200))} == {TEXT}
        assert set(threads.map(lambda _: client.register_schema("rides-value", schema), range(200))) == {1}
    assert counting.requests["GET", "/schemas/ids/1"] <= 1
    assert counting.requests["POST", "/subjects/rides-value/versions"] == 1


def test_schemas_are_equal_by_their_content():
    assert confluent.Schema(TEXT, "AVRO") == confluent.Schema(TEXT, "AVRO") != confluent.Schema(OTHER, "AVRO")


def test_levels_and_modes_are_returned_as_theirs(client: Any):
    assert client.set_compatibility(level="FULL") == {"compatibility": "FULL"}
    assert client.get_compatibility() == "FULL"
    assert client.get_global_mode() == "READWRITE"
    assert client.update_global_mode("READONLY") == "READONLY"


@pytest.mark.usefixtures("client")
def test_without_automatic_registration_the_schema_is_looked_up(counting: Counting):
    counting.requests.clear()
    fresh = confluent.SchemaRegistryClient({"url": "http://registry.invalid"}, transport=counting)
    avro.AvroSerializer(fresh, TEXT, conf={"auto.register.schemas": False})({"a": 1}, VALUE)
    assert counting.requests["POST", "/subjects/rides-value"] == 1
    assert counting.requests["POST", "/subjects/rides-value/versions"] == 0


def test_the_latest_version_is_requested_once(client: Any, counting: Counting):
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    write = avro.AvroSerializer(client, None, conf=conf)
    assert write({"a": 1}, VALUE) == write({"a": 1}, VALUE)
    assert counting.requests["GET", "/subjects/rides-value/versions/latest"] == 1
    assert counting.requests["POST", "/subjects/rides-value/versions"] == 1  # that of the fixture


@pytest.mark.parametrize(
    ("strategy", "text", "subject"),
    [
        (confluent.record_subject_name_strategy, TEXT, "python.test.basic"),
        (confluent.record_subject_name_strategy, '"int"', "int"),
        (confluent.topic_record_subject_name_strategy, TEXT, "rides-python.test.basic"),
        (confluent.topic_record_subject_name_strategy, '"int"', "rides-int"),
        (confluent.topic_subject_name_strategy, TEXT, "rides-value"),
    ],
)
def test_strategies_name_the_subject_of_theirs(client: Any, strategy: Any, text: str, subject: str):
    conf = {"subject.name.strategy": strategy}
    value: Any = {"a": 1} if text is TEXT else 1
    assert avro.AvroSerializer(client, text, conf=conf)(value, VALUE) == their_avro.AvroSerializer(
        client, text, conf=conf
    )(value, VALUE)
    assert subject in client.get_subjects()


@pytest.mark.parametrize(
    "conf",
    [
        {"auto.register.schemas": {}},
        {"use.latest.version": "yes"},
        {"normalize.schemas": 1},
        {"subject.name.strategy": {}},
        {"no.such.setting": 1},
        {"auto.register.schemas": True, "use.latest.version": True},
    ],
    ids=str,
)
def test_a_setting_of_another_type_is_a_value_error_as_theirs(client: Any, conf: dict[str, Any]):
    for make in (avro.AvroSerializer, their_avro.AvroSerializer):
        with pytest.raises(ValueError, match=r"\w"):
            make(client, TEXT, conf=conf)


def test_values_and_messages_are_theirs(client: Any):
    for text, value in (
        ('["null","string"]', None),
        ('"string"', "x"),
        ('{"type":"array","items":"long"}', [1, 2]),
        ('{"type":"enum","name":"E","symbols":["A"]}', "A"),
    ):
        context = SerializationContext(str(abs(hash(text))), MessageField.KEY)
        theirs = their_avro.AvroSerializer(client, text)(value, context)
        assert avro.AvroSerializer(client, text)(value, context) == theirs
        assert avro.AvroDeserializer(client)(theirs, context) == their_avro.AvroDeserializer(client)(theirs, context)
    for make in (json_schema.JSONSerializer, their_json.JSONSerializer):
        assert make(OBJECT, client)({"a": 1}, SerializationContext("j", MessageField.VALUE)).endswith(b"1}")


@pytest.mark.parametrize("make", [avro.AvroSerializer, avro.AvroDeserializer])
def test_a_schema_that_is_none_is_a_value_error_here(client: Any, make: Any):
    with pytest.raises(ValueError, match="expected schema text or a Schema"):
        make(client, 1)
