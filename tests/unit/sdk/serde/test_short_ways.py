"""Calls of serializers and deserializers that the accelerator may take over: the same as those of the Python code."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections import UserDict
from typing import Any

import confluent_kafka.serialization as theirs
import pytest

from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    DecodeError,
    EncodeError,
    JsonDeserializer,
    JsonSerializer,
    MessageField,
    SerializationContext,
)
from counterfoil.sdk.testing import InMemoryRegistry

TEXT = '{"type": "record", "name": "Ride", "fields": [{"name": "fare", "type": "double"}]}'
JSON_TEXT = '{"title": "Ride", "type": "object", "properties": {"fare": {"type": ["number", "null"]}}}'
VALUE = {"fare": 9.5}
CONTEXT = SerializationContext("rides")

pytestmark = pytest.mark.usefixtures("each_tier")


class Text(str):
    """A string of another class."""

    __slots__ = ()


class Bare:
    """A context without headers."""

    def __init__(self, topic: Any, field: Any) -> None:
        self.topic, self.field = topic, field


@pytest.fixture
def registry() -> Any:
    return InMemoryRegistry().client(retries=0)


@pytest.fixture
def pair(registry: Any) -> tuple[Any, Any]:
    """Return a serializer and a deserializer that have met the schema."""
    write, read = AvroSerializer(registry, TEXT), AvroDeserializer(registry)
    assert read(write(VALUE, CONTEXT), CONTEXT) == VALUE
    return write, read


def test_a_call_has_the_same_arguments_in_every_form(pair: tuple[Any, Any]) -> None:
    write, read = pair
    message = write(VALUE, CONTEXT)
    assert {
        write(VALUE, ctx=CONTEXT),
        write(value=VALUE, ctx=CONTEXT),
        write(ctx=CONTEXT, value=VALUE),
        write.__call__(VALUE, CONTEXT),
        AvroSerializer.__call__(write, VALUE, CONTEXT),
        AvroSerializer.__call__(write, value=VALUE, ctx=CONTEXT),
    } == {message}
    assert read(message) == read(data=message) == read(data=message, ctx=CONTEXT) == VALUE
    assert AvroDeserializer.__call__(read, message) == read.__call__(message) == VALUE
    for refused in (write, lambda: write(VALUE, CONTEXT, 1), lambda: write(VALUE, context=CONTEXT)):
        with pytest.raises(TypeError, match="argument"):
            refused()


def test_the_signature_of_a_call_is_known(pair: tuple[Any, Any]) -> None:
    write, read = pair
    assert [*inspect.signature(write).parameters] == ["value", "ctx"]
    assert [*inspect.signature(AvroSerializer.__call__).parameters] == ["self", "value", "ctx"]
    assert [*inspect.signature(read).parameters] == ["data", "ctx"]
    assert "tombstone" in (inspect.getdoc(AvroSerializer.__call__) or "")
    assert callable(write)


def test_a_subclass_extends_the_call(registry: Any) -> None:
    class Counting(AvroSerializer[Any]):
        calls = 0

        def __call__(self, value: Any, ctx: Any = None) -> bytes | None:
            self.calls += 1
            return super().__call__(value, ctx)

    write = Counting(registry, TEXT)
    assert len({write(VALUE, CONTEXT) for _ in range(3)}) == 1
    assert write.calls == 3


@pytest.mark.parametrize("topic", ["rides", Text("rides"), " rides".strip()])
@pytest.mark.parametrize("field", ["value", MessageField.VALUE, theirs.MessageField.VALUE, Text("value")])
def test_a_topic_is_found_by_its_text(registry: Any, topic: str, field: str) -> None:
    write = AvroSerializer(registry, TEXT)
    contexts = [SerializationContext(topic, field), theirs.SerializationContext(topic, field), Bare(topic, field)]
    assert len({write(VALUE, context) for context in contexts * 2}) == 1
    assert registry.subjects() == ("rides-value",)


def test_topics_and_fields_have_their_own_schemas(registry: Any) -> None:
    write, read = AvroSerializer(registry, TEXT), AvroDeserializer(registry)
    places = [(topic, field) for topic in ("rides", "trips", "value") for field in ("key", "value")]
    for _ in range(2):
        for topic, field in places:
            assert read(write(VALUE, SerializationContext(topic, field))) == VALUE
    assert sorted(registry.subjects()) == sorted(f"{topic}-{field}" for topic, field in places)


def test_more_topics_than_the_accelerator_searches(registry: Any) -> None:
    write, read = AvroSerializer(registry, TEXT), AvroDeserializer(registry)
    contexts = [SerializationContext(f"topic-{number}") for number in range(70)]
    messages = [write(VALUE, context) for context in contexts]
    assert [write(VALUE, context) for context in contexts] == messages
    assert len(registry.subjects()) == 70
    assert [read(message) for message in messages] == [VALUE] * 70


@pytest.mark.slow
def test_more_schemas_than_the_accelerator_searches(registry: Any) -> None:
    read = AvroDeserializer(registry)
    texts = [TEXT.replace("fare", f"fare_{number}") for number in range(70)]
    messages = [
        AvroSerializer(registry, text)({f"fare_{number}": 9.5}, SerializationContext(f"topic-{number}"))
        for number, text in enumerate(texts)
    ]
    for _ in range(2):
        assert [read(message) for message in messages] == [{f"fare_{number}": 9.5} for number in range(70)]


def test_without_a_topic_and_without_a_context(registry: Any) -> None:
    write = AvroSerializer(registry, TEXT, subject="RECORD")
    contexts = [None, SerializationContext(None), Bare(None, "value"), Bare(None, None), object(), None]
    assert len({write(VALUE, context) for context in contexts}) == 1


def test_a_short_way_is_made_once(registry: Any) -> None:
    """Also for calls that cannot look it up, such as those without a context."""
    write, read = AvroSerializer(registry, TEXT, subject="RECORD"), AvroDeserializer(registry)
    tables = []
    for _ in range(3):
        message = write(VALUE)
        assert message == write(VALUE, Bare(None, None))
        assert read(bytearray(message)) == read(message, Bare("rides", "value")) == VALUE  # type: ignore[arg-type]
        tables.append((vars(write)["_ready"], vars(read)["_ready"]))
    assert all(each is first for later in tables[1:] for each, first in zip(later, tables[0], strict=True))


def test_none_is_a_tombstone(pair: tuple[Any, Any]) -> None:
    write, read = pair
    assert write(None, CONTEXT) is write(None) is read(None, CONTEXT) is read(None) is None


def test_errors_name_their_place(pair: tuple[Any, Any]) -> None:
    write, read = pair
    with pytest.raises(EncodeError) as refused:
        write({"fare": "9.50"}, CONTEXT)
    error = refused.value
    assert (error.topic, error.field, error.subject, error.path) == ("rides", "value", "rides-value", "fare")
    assert error.schema_id == 1
    message = write(VALUE, CONTEXT)
    with pytest.raises(DecodeError) as damaged:
        read(message[:-1], CONTEXT)
    assert (damaged.value.topic, damaged.value.schema_id, damaged.value.data) == ("rides", 1, message[:-1])


def test_an_error_is_placed_without_the_plan(pair: tuple[Any, Any]) -> None:
    """Plans are removed when there are too many of them, and when another thread closes the deserializer."""
    write, read = pair
    damaged = write(VALUE, CONTEXT)[:-1]
    read._plans.clear()
    with pytest.raises(DecodeError) as caught:
        read(damaged, CONTEXT)
    assert (caught.value.topic, caught.value.data) == ("rides", damaged)


def test_an_interruption_is_not_an_error_of_the_value(pair: tuple[Any, Any]) -> None:
    class Interrupting(UserDict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise KeyboardInterrupt(key)

    write, _ = pair
    with pytest.raises(KeyboardInterrupt):
        write(Interrupting(fare=1.0), CONTEXT)


def test_values_and_data_of_other_types(pair: tuple[Any, Any]) -> None:
    write, read = pair
    message = write(VALUE, CONTEXT)

    class Ours(dict[str, Any]):
        """A dict of another class."""

    assert write(Ours(VALUE), CONTEXT) == message
    assert [read(kind(message), CONTEXT) for kind in (bytearray, memoryview, bytes)] == [VALUE] * 3


def test_a_header_decides_over_the_prefix(registry: Any) -> None:
    one, other = AvroSerializer(registry, TEXT), AvroSerializer(registry, '"long"', id_location="header")
    read = AvroDeserializer(registry)
    message = one(VALUE, CONTEXT)
    assert read(message, CONTEXT) == VALUE
    context = SerializationContext("counts", headers=[])
    body = other(7, context)
    assert read(body, context) == 7
    assert read(message, SerializationContext("rides", headers=[("other", b"1")])) == VALUE
    assert read(message, SerializationContext("rides", headers={})) == VALUE


def test_a_closed_serializer_begins_anew(pair: tuple[Any, Any]) -> None:
    write, read = pair
    message = write(VALUE, CONTEXT)
    write.close()
    read.close()
    assert write(VALUE, CONTEXT) == message
    assert read(message, CONTEXT) == VALUE


@pytest.mark.slow
def test_what_is_not_used_any_more_is_freed(registry: Any) -> None:
    def used() -> list[Any]:
        write, read = AvroSerializer(registry, TEXT), AvroDeserializer(registry)
        for _ in range(3):
            read(write(VALUE, CONTEXT), CONTEXT)
        return [weakref.ref(write), weakref.ref(read)]

    gone = used()
    gc.collect()
    assert [each() for each in gone] == [None, None]


@pytest.mark.slow
def test_a_call_outlives_the_name_of_its_serializer(registry: Any) -> None:
    write = AvroSerializer(registry, TEXT)
    message = write(VALUE, CONTEXT)
    call = write.__call__
    del write
    gc.collect()
    assert call(VALUE, CONTEXT) == message


@pytest.mark.parametrize("validate", [False, True])
def test_json_is_called_in_the_same_way(registry: Any, *, validate: bool) -> None:
    write = JsonSerializer(registry, JSON_TEXT, validate=validate)
    read = JsonDeserializer(registry, validate=validate)
    values = [{"fare": 9.5}, {"fare": None}, {"fare": None, "null": "null"}, {"a": [None, {"b": None}], "fare": 1}]
    for value in values * 2:
        assert read(write(value, CONTEXT), CONTEXT) == value
    for nothing in (float("nan"), float("inf")):
        for value in ({"fare": nothing}, {"fare": None, "a": nothing}, {"null": nothing, "a": None}, [nothing]):
            with pytest.raises(EncodeError, match="finite"):
                write(value, CONTEXT)


def test_a_function_of_the_program_runs_once_for_each_message(registry: Any) -> None:
    seen = []

    def encode(value: Any) -> str:
        seen.append(value)
        if value == "bad":
            raise ValueError(value)
        return f'"{value}"'

    write = JsonSerializer(registry, "{}", json_encode=encode, validate=False)
    for value in ("good", "fine", "good"):
        write(value, CONTEXT)
    with pytest.raises(EncodeError, match="json_encode failed"):
        write("bad", CONTEXT)
    assert seen == ["good", "fine", "good", "bad"]
