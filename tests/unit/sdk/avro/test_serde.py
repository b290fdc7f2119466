"""AvroSerializer and AvroDeserializer against an in-memory registry: ids, plans, evolution, errors."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from counterfoil.schema.errors import IncompatibleSchema, SchemaParseError, SubjectNotFound
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Reference, Rule, RuleSet, Schema, SchemaType
from counterfoil.schema.wire import KEY_HEADER, VALUE_HEADER
from counterfoil.sdk import RECORD, TOPIC_RECORD, AvroDeserializer, AvroSerializer
from counterfoil.sdk.errors import (
    DecodeError,
    EncodeError,
    IncompatibleReader,
    InvalidSettings,
    NotFramed,
    RegistryUnavailable,
    RuleTypeMissing,
    SerdeError,
    SubjectUnresolved,
    TruncatedFrame,
    UnknownSchemaId,
)
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import NoReply

pytestmark = pytest.mark.usefixtures("each_tier")


@dataclass
class Ctx:
    topic: str
    field: str = "value"
    headers: object = None


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self):
        return self.now_s


@dataclass
class World:
    """A registry, its client without retries and pauses, and what was asked so far."""

    memory: InMemoryRegistry = field(default_factory=InMemoryRegistry)

    def __post_init__(self):
        self.client = self.memory.client(retries=0)

    def asked(self):
        return [f"{request.method} {urlsplit(request.url).path}" for request in self.memory.requests]


@pytest.fixture
def world():
    return World()


def record(*fields, name="Ride", **more):
    return json.dumps({"type": "record", "name": name, "namespace": "taxi", "fields": list(fields), **more})


RIDE = record({"name": "id", "type": "long"}, {"name": "fare", "type": "double", "default": 0.0})
RIDE_2 = record(
    {"name": "id", "type": "long"},
    {"name": "fare", "type": "double", "default": 0.0},
    {"name": "tip", "type": ["null", "double"], "default": None},
)


def test_a_value_round_trips_and_the_registry_is_asked_once(world):
    serialize, deserialize = AvroSerializer(world.client, RIDE), AvroDeserializer(world.client)
    for number in (1, 2, 3):
        data = serialize({"id": number, "fare": 2.5}, Ctx("rides"))
        assert data[:5] == b"\x00\x00\x00\x00\x01"
        assert deserialize(data, Ctx("rides")) == {"id": number, "fare": 2.5}
    assert world.asked() == ["POST /subjects/rides-value/versions", "GET /schemas/ids/1"]


def test_none_is_a_tombstone_and_asks_nothing(world):
    assert AvroSerializer(world.client, RIDE)(None, Ctx("rides")) is None
    assert AvroDeserializer(world.client)(None, Ctx("rides")) is None
    assert world.asked() == []


def test_every_subject_has_its_own_id(world):
    world.client.register("filler-value", Schema('"string"'))
    world.client.register("b-value", Schema('"long"'))

    class PerSubject:
        """Ids by subject, as where two contexts meet."""

        def register(self, subject, schema, *, normalize=False):
            found = world.client.register(subject, schema, normalize=normalize)
            return SimpleNamespace(id={"a-value": 1, "b-value": 2}[subject], guid=None, schema=found.schema)

    serialize = AvroSerializer(PerSubject(), '"string"')
    world.client.set_config("b-value", "NONE")
    ids = [int.from_bytes(serialize("x", Ctx(topic))[1:5]) for topic in ("a", "b", "a")]
    assert ids == [1, 2, 1]


def test_key_and_value_are_two_subjects(world):
    serialize = AvroSerializer(world.client, '"string"')
    serialize("k", Ctx("rides", "key"))
    serialize("v", Ctx("rides", "value"))
    assert world.client.subjects() == ("rides-key", "rides-value")


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        (RECORD, "taxi.Ride"),
        (TOPIC_RECORD, "rides-taxi.Ride"),
        ("RECORD", "taxi.Ride"),
        (lambda topic, field, name: f"{topic}/{field}/{name}", "rides/value/taxi.Ride"),
    ],
)
def test_a_strategy_names_the_subject(world, strategy, subject):
    AvroSerializer(world.client, RIDE, subject=strategy)({"id": 1}, Ctx("rides"))
    assert world.client.subjects() == (subject,)


def test_without_a_topic_the_topic_strategy_says_so(world):
    serialize = AvroSerializer(world.client, RIDE)
    for ctx in (None, SimpleNamespace(), Ctx(None)):
        with pytest.raises(SubjectUnresolved, match="needs a topic"):
            serialize({"id": 1}, ctx)
    assert AvroSerializer(world.client, RIDE, subject=RECORD)({"id": 1}) is not None


def test_a_deserializer_needs_no_context(world):
    data = AvroSerializer(world.client, RIDE)({"id": 1, "fare": 1.0}, Ctx("rides"))
    deserialize = AvroDeserializer(world.client)
    assert deserialize(data) == deserialize(data, SimpleNamespace()) == {"id": 1, "fare": 1.0}


def test_lookup_does_not_register(world):
    serialize = AvroSerializer(world.client, RIDE, register="lookup")
    with pytest.raises(SubjectNotFound):
        serialize({"id": 1}, Ctx("rides"))
    world.client.register("rides-value", Schema(RIDE))
    assert serialize({"id": 1}, Ctx("rides"))[:5] == b"\x00\x00\x00\x00\x01"


def test_latest_writes_by_the_registered_schema_and_not_by_the_one_at_hand(world):
    world.client.register("rides-value", Schema(RIDE))
    world.client.register("rides-value", Schema(RIDE_2))
    data = AvroSerializer(world.client, RIDE, register="latest")({"id": 1, "tip": 3.0}, Ctx("rides"))
    assert AvroDeserializer(world.client)(data) == {"id": 1, "fare": 0.0, "tip": 3.0}


def test_latest_is_asked_for_again_when_its_time_is_over(world):
    clock = Clock()
    client = world.memory.client(retries=0)
    client.register("rides-value", Schema(RIDE))
    serialize = AvroSerializer(client, register="latest", latest_ttl_s=60, clock=clock)
    assert serialize({"id": 1}, Ctx("rides"))[4] == 1
    client.register("rides-value", Schema(RIDE_2))  # the client forgets the latest version of what it registers
    clock.now_s = 47  # from four fifths of the time on, it is requested beside the messages
    assert serialize({"id": 1}, Ctx("rides"))[4] == 1
    clock.now_s = 61
    assert serialize({"id": 1}, Ctx("rides"))[4] == 2


def test_latest_stays_in_use_while_the_registry_cannot_be_asked(world):
    clock = Clock()
    world.client.register("rides-value", Schema(RIDE))
    serialize = AvroSerializer(world.client, register="latest", latest_ttl_s=60, clock=clock)
    first = serialize({"id": 1}, Ctx("rides"))
    world.client.clear_cache()
    clock.now_s = 61
    world.memory.answer_next(NoReply("gone"))
    assert serialize({"id": 1}, Ctx("rides")) == first


def test_an_id_can_be_given(world):
    schema_id = world.client.register("elsewhere", Schema(RIDE)).id
    serialize = AvroSerializer(world.client, register={"id": schema_id})
    assert serialize({"id": 1}, Ctx("rides"))[:5] == bytes([0, 0, 0, 0, schema_id])
    assert world.client.subjects() == ("elsewhere",)


@pytest.mark.parametrize(
    ("arguments", "setting"),
    [
        ({}, "schema"),
        ({"register": "lookup"}, "schema"),
        ({"register": "always"}, "register"),
        ({"register": {"id": "7"}}, "register"),
        ({"register": {"id": 7, "metadata": {}}}, "register"),
        ({"register": "latest", "id_location": "footer"}, "id_location"),
        ({"register": "latest", "subject": "SUBJECT"}, "subject"),
        ({"register": "latest", "subject": 7}, "subject"),
        ({"register": "latest", "to_dict": "dict"}, "to_dict"),
    ],
)
def test_settings_that_say_nothing_are_refused_at_once(world, arguments, setting):
    with pytest.raises(InvalidSettings) as caught:
        AvroSerializer(world.client, **arguments)
    assert caught.value.setting == setting


def test_a_schema_that_is_none_is_refused_at_once(world):
    for text in ("", "{", '{"type": "recrod"}'):
        with pytest.raises(SchemaParseError):
            AvroSerializer(world.client, text)
        with pytest.raises(SchemaParseError):
            AvroDeserializer(world.client, reader=text)


def test_an_incompatible_schema_is_the_registrys_error(world):
    AvroSerializer(world.client, RIDE)({"id": 1}, Ctx("rides"))
    other = AvroSerializer(world.client, record({"name": "id", "type": "string"}))
    with pytest.raises(IncompatibleSchema):
        other({"id": "1"}, Ctx("rides"))


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_reader_schema_drops_adds_promotes_and_renames(world):
    written = record({"name": "id", "type": "int"}, {"name": "price", "type": "float"}, {"name": "x", "type": "string"})
    reader = record(
        {"name": "fare", "type": "double", "aliases": ["price"]},
        {"name": "id", "type": "long"},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    )
    data = AvroSerializer(world.client, written)({"id": 1, "price": 2.5, "x": "gone"}, Ctx("rides"))
    deserialize = AvroDeserializer(world.client, reader=reader)
    first, second = deserialize(data), deserialize(data)
    assert first == {"fare": 2.5, "id": 1, "tags": []}
    first["tags"].append("mine")
    assert second["tags"] == deserialize(data)["tags"] == []


def test_a_reader_that_can_never_read_the_writer_says_where(world):
    data = AvroSerializer(world.client, RIDE)({"id": 1}, Ctx("rides"))
    reader = record({"name": "id", "type": "string"})
    with pytest.raises(IncompatibleReader, match="long cannot be read as the reader's string") as caught:
        AvroDeserializer(world.client, reader=reader)(data, Ctx("rides"))
    assert (caught.value.path, caught.value.topic, caught.value.schema_id) == ("id", "rides", 1)


def test_latest_reads_everything_as_the_latest_version(world):
    clock = Clock()
    data = AvroSerializer(world.client, RIDE)({"id": 1, "fare": 2.0}, Ctx("rides"))
    deserialize = AvroDeserializer(world.client, latest=True, latest_ttl_s=60, clock=clock)
    assert deserialize(data, Ctx("rides")) == {"id": 1, "fare": 2.0}
    world.client.register("rides-value", Schema(RIDE_2))
    clock.now_s = 61
    assert deserialize(data, Ctx("rides")) == {"id": 1, "fare": 2.0, "tip": None}


def test_decode_tells_the_schema(world):
    world.client.register("rides-value", Schema(RIDE))
    data = AvroSerializer(world.client, RIDE_2)({"id": 1}, Ctx("rides"))
    deserialize = AvroDeserializer(world.client)
    decoded = deserialize.decode(data, topic="rides")
    held = world.client.schema_by_id(2)
    assert decoded.value == {"id": 1, "fare": 0.0, "tip": None}
    assert (decoded.schema_id, decoded.subject, decoded.version) == (2, "rides-value", 2)
    assert decoded.guid == content_guid(held.text, held.references, None, None)
    elsewhere = deserialize.decode(data, topic="other")
    assert (elsewhere.subject, elsewhere.version) == ("other-value", None)
    assert deserialize.decode(data).subject is None


def test_many_gives_errors_their_slots(world):
    good = AvroSerializer(world.client, RIDE)({"id": 1, "fare": 0.0}, Ctx("rides"))
    messages = [good, None, b"", b"\x00\x00\x00\x00\x09\x02", good[:7], b"{}", good]
    values = AvroDeserializer(world.client).many(messages, topic="rides")
    kinds = [type(value) for value in values]
    assert kinds == [dict, type(None), TruncatedFrame, UnknownSchemaId, DecodeError, NotFramed, dict]
    assert {error.topic for error in values if isinstance(error, SerdeError)} == {"rides"}


def test_bound_functions_take_the_value_alone(world):
    write = AvroSerializer(world.client, RIDE).bind("rides", "key")
    assert AvroDeserializer(world.client)(write({"id": 4})) == {"id": 4, "fare": 0.0}
    assert write(None) is None
    assert world.client.subjects() == ("rides-key",)


def test_objects_go_through_to_dict_and_from_dict(world):
    @dataclass
    class Ride:
        id: int

    serialize = AvroSerializer(world.client, RIDE, to_dict=lambda ride, _ctx: {"id": ride.id})
    deserialize = AvroDeserializer(world.client, from_dict=lambda value, _ctx: Ride(value["id"]))
    data = serialize(Ride(5), Ctx("rides"))
    assert deserialize(data, Ctx("rides")) == Ride(5)
    with pytest.raises(EncodeError, match="to_dict failed: AttributeError"):
        serialize("no ride", Ctx("rides"))
    with pytest.raises(DecodeError, match="from_dict failed: KeyError") as caught:
        AvroDeserializer(world.client, from_dict=lambda value, _ctx: value["nope"])(data, Ctx("rides"))
    assert caught.value.schema_id == 1


def test_the_wrappings_of_bytes_are_read_alike(world):
    data = AvroSerializer(world.client, '"bytes"')(b"\x80\xff", Ctx("rides"))
    assert data == b"\x00\x00\x00\x00\x01\x80\xff"  # a top-level bytes has no length
    deserialize = AvroDeserializer(world.client)
    for wrapped in (data, bytearray(data), memoryview(bytearray(data))):
        value = deserialize(wrapped, Ctx("rides"))
        assert (value, type(value)) == (b"\x80\xff", bytes)


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_encode_error_says_where(world):
    place = {"type": "record", "name": "Place", "fields": [{"name": "lat", "type": "double"}]}
    serialize = AvroSerializer(world.client, record({"name": "pickup", "type": place}))
    with pytest.raises(EncodeError) as caught:
        serialize({"pickup": {"lat": "north"}}, Ctx("rides"))
    error = caught.value
    assert (error.path, error.expected, error.got) == ("pickup.lat", "a number", "'north' (str)")
    assert (error.topic, error.field, error.subject, error.schema_id) == ("rides", "value", "rides-value", 1)


def test_a_decode_error_says_where(world):
    data = AvroSerializer(world.client, RIDE)({"id": 300, "fare": 1.0}, Ctx("rides"))
    with pytest.raises(DecodeError) as caught:
        AvroDeserializer(world.client)(data[:9], Ctx("rides"))
    error = caught.value
    assert (error.path, error.offset, error.data) == ("fare", 7, data[:9])
    assert (error.topic, error.field, error.schema_id) == ("rides", "value", 1)


@pytest.mark.parametrize("id_location", ["prefix", "header"])
@pytest.mark.parametrize("reader", [None, record({"name": "id", "type": "long"})])
def test_bytes_behind_the_value_are_an_error_unless_they_are_allowed(world, reader, id_location):
    ctx = Ctx("rides", headers=[])
    data = AvroSerializer(world.client, RIDE, id_location=id_location)({"id": 300, "fare": 1.0}, ctx)
    deserialize = AvroDeserializer(world.client, reader=reader)
    value = deserialize(data, ctx)
    for behind in (b"\x00", b"more"):
        with pytest.raises(DecodeError, match="left behind the value") as caught:
            deserialize(data + behind, ctx)
        assert caught.value.offset == len(data)
        assert (caught.value.topic, caught.value.schema_id is None) == ("rides", id_location == "header")
        with pytest.raises(DecodeError):
            deserialize.decode(data + behind, topic="rides", headers=ctx.headers)
        allowing = AvroDeserializer(world.client, reader=reader, allow_trailing_bytes=True)
        assert allowing(data + behind, ctx) == value
        assert allowing.decode(data + behind, topic="rides", headers=ctx.headers).value == value
    if id_location == "prefix":
        assert [type(each) for each in deserialize.many([data + b"\x00", data])] == [DecodeError, dict]


def test_how_many_items_may_take_no_bytes_is_a_setting(world):
    text = '{"type": "array", "items": "null"}'
    data = AvroSerializer(world.client, text)([None] * 10_001, Ctx("rides"))
    with pytest.raises(DecodeError, match="More than 10000 items that take no bytes"):
        AvroDeserializer(world.client)(data, Ctx("rides"))
    assert len(AvroDeserializer(world.client, max_empty_items=10_001)(data, Ctx("rides"))) == 10_001


@pytest.mark.parametrize("limit", [-1, 1.5, "many", True, None])
def test_a_number_of_items_that_is_none_is_refused_at_once(world, limit):
    with pytest.raises(InvalidSettings, match="expected a whole number") as caught:
        AvroDeserializer(world.client, max_empty_items=limit)
    assert caught.value.setting == "max_empty_items"


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00\x00\x00", b"\x01" + b"\x07" * 15])
def test_data_that_ends_in_its_frame_is_truncated(world, data):
    with pytest.raises(TruncatedFrame) as caught:
        AvroDeserializer(world.client)(data, Ctx("rides"))
    assert caught.value.data == data


@pytest.mark.parametrize("data", [b"{}", b'{"id": 1}', b"\x02\x00\x00\x00\x01", "text", 7, ["x"]])
def test_data_without_a_frame_is_not_framed(world, data):
    with pytest.raises(NotFramed):
        AvroDeserializer(world.client)(data, Ctx("rides"))


def test_an_unknown_id_is_an_error_of_the_record(world):
    with pytest.raises(UnknownSchemaId, match="no schema with id 9") as caught:
        AvroDeserializer(world.client)(b"\x00\x00\x00\x00\x09\x02", Ctx("rides"))
    assert (caught.value.schema_id, caught.value.topic) == (9, "rides")
    with pytest.raises(UnknownSchemaId, match="guid 89791762-2336-4186-9674-299b90a802e2"):
        AvroDeserializer(world.client)(bytes.fromhex("01 89791762 2336 4186 9674 299b90a802e2 02"), Ctx("rides"))


def test_a_registry_that_is_away_can_be_asked_again_later(world):
    data = AvroSerializer(world.client, RIDE)({"id": 1, "fare": 0.0}, Ctx("rides"))
    deserialize = AvroDeserializer(world.memory.client(retries=0))
    world.memory.answer_next(NoReply("gone"))
    with pytest.raises(RegistryUnavailable):
        deserialize(data, Ctx("rides"))
    assert deserialize(data, Ctx("rides")) == {"id": 1, "fare": 0.0}


def test_a_schema_of_another_type_is_refused():
    class JsonRegistry:
        def schema_by_id(self, _schema_id):
            return Schema("{}", SchemaType.JSON)

    with pytest.raises(SerdeError, match="schema is JSON; expected AVRO"):
        AvroDeserializer(JsonRegistry())(b"\x00\x00\x00\x00\x01{}", Ctx("rides"))


def test_a_schema_with_rules_of_an_unknown_type_is_neither_written_nor_read(world):
    rules = RuleSet(domain_rules=(Rule("hide", type="HIDE", tags=("PII",)),))
    with pytest.raises(RuleTypeMissing, match=r"'hide' of the schema cannot be run.*'HIDE'"):
        AvroSerializer(world.client, Schema(RIDE, rule_set=rules))({"id": 1}, Ctx("rides"))
    schema_id = world.client.register("held", Schema(RIDE, rule_set=rules)).id
    with pytest.raises(RuleTypeMissing):
        AvroDeserializer(world.client)(bytes([0, 0, 0, 0, schema_id, 2]), Ctx("rides"))


# --- ids in headers --------------------------------------------------------------------------------------------------


def test_the_guid_goes_into_a_header_and_the_body_out_bare(world):
    serialize = AvroSerializer(world.client, '"int"', id_location="header")
    deserialize = AvroDeserializer(world.client)
    ctx = Ctx("rides", headers=[("trace", b"1")])
    data = serialize(7, ctx)
    held = world.client.schema_by_id(1)
    guid = content_guid(held.text, (), None, None)
    assert data == b"\x0e"  # one byte, less than a prefix
    assert ctx.headers == [("trace", b"1"), (VALUE_HEADER, b"\x01" + guid.bytes)]
    assert deserialize(data, ctx) == 7
    assert deserialize.decode(data, topic="rides", headers=dict(ctx.headers)).guid == guid


def test_a_stale_header_is_replaced_on_writing_and_the_last_wins_on_reading(world):
    serialize = AvroSerializer(world.client, '"int"', id_location="header")
    ctx = Ctx("rides", "key", headers=[(KEY_HEADER, b"\x01" + b"\x00" * 16)])
    data = serialize(7, ctx)
    headers: Any = ctx.headers
    assert [name for name, _ in headers] == [KEY_HEADER]
    stale_first = Ctx("rides", "key", headers=[(KEY_HEADER, b"\x01" + b"\x00" * 16), *ctx.headers])
    assert AvroDeserializer(world.client)(data, stale_first) == 7


def test_headers_without_an_id_leave_it_to_the_prefix(world):
    data = AvroSerializer(world.client, '"int"')(7, Ctx("rides"))
    deserialize = AvroDeserializer(world.client)
    assert deserialize(data, Ctx("rides", headers=[("trace", b"1"), ("empty", None)])) == 7
    assert deserialize(data, Ctx("rides", headers={"trace": "1"})) == 7


def test_headers_that_cannot_be_set_are_refused(world):
    serialize = AvroSerializer(world.client, '"int"', id_location="header")
    with pytest.raises(SerdeError, match="expected a list or a dict"):
        serialize(7, Ctx("rides", headers=None))


# --- references ------------------------------------------------------------------------------------------------------


def test_references_are_fetched_those_that_they_need_first(world):
    place = record({"name": "zone", "type": "int"}, name="Place")
    stop = record({"name": "at", "type": "taxi.Place"}, name="Stop")
    world.client.register("place", Schema(place))
    world.client.register("stop", Schema(stop, references=(Reference("taxi.Place", "place", 1),)))
    ride = Schema(
        record({"name": "first", "type": "taxi.Stop"}, {"name": "last", "type": ["null", "taxi.Stop"]}),
        references=(Reference("taxi.Stop", "stop", 1),),
    )
    value = {"first": {"at": {"zone": 3}}, "last": None}
    data = AvroSerializer(world.client, ride)(value, Ctx("rides"))
    assert AvroDeserializer(world.client)(data) == value
    assert AvroDeserializer(world.client, reader=ride)(data) == value


def test_a_union_of_references_holds_several_events(world):
    world.client.register("started", Schema(record({"name": "id", "type": "int"}, name="Started")))
    world.client.register(
        "ended", Schema(record({"name": "id", "type": "int"}, {"name": "fare", "type": "double"}, name="Ended"))
    )
    events = Schema(
        '["taxi.Started", "taxi.Ended"]',
        references=(Reference("taxi.Started", "started", 1), Reference("taxi.Ended", "ended", 1)),
    )
    serialize, deserialize = AvroSerializer(world.client, events), AvroDeserializer(world.client)
    for value in ({"id": 1}, {"id": 1, "fare": 2.0}):
        assert deserialize(serialize(value, Ctx("events"))) == value


# --- threads ---------------------------------------------------------------------------------------------------------


def test_threads_that_need_one_plan_ask_for_it_once(world):
    serialize, deserialize = AvroSerializer(world.client, RIDE), AvroDeserializer(world.client)
    start = threading.Barrier(8)
    values = []

    def work():
        start.wait()
        values.append(deserialize(serialize({"id": 1, "fare": 0.0}, Ctx("rides")), Ctx("rides")))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [{"id": 1, "fare": 0.0}] * 8
    assert sorted(world.asked()) == ["GET /schemas/ids/1", "POST /subjects/rides-value/versions"]


def test_closing_forgets_plans_and_leaves_the_registry_open(world):
    serialize, deserialize = AvroSerializer(world.client, RIDE), AvroDeserializer(world.client)
    data = serialize({"id": 1, "fare": 0.0}, Ctx("rides"))
    deserialize(data)
    serialize.close()
    deserialize.close()
    assert deserialize(serialize({"id": 1, "fare": 0.0}, Ctx("rides"))) == {"id": 1, "fare": 0.0}
