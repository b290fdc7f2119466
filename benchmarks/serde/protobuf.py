"""Protobuf serializer and deserializer against confluent-kafka's, one message at a time, behind the same call.

    python benchmarks/serde/protobuf.py [--rounds 30] [--assert]

Both use a registry in this process, so that no network is measured, and everything is warm. The message is an order of
22 fields, with two nested places, a list of places, two enums, amounts and times as numbers, in a class as a compiler
generates it.
"""

from __future__ import annotations

from base64 import b64encode
from random import Random
from typing import TYPE_CHECKING, Any

from confluent_kafka.schema_registry import RegisteredSchema as TheirRegistered
from confluent_kafka.schema_registry import Schema as TheirSchema
from confluent_kafka.schema_registry import dual_schema_id_deserializer, topic_subject_name_strategy
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer as TheirDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer as TheirSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.message_factory import GetMessageClass
from measure import Candidate, Report, over

from counterfoil.schema.languages.protobuf.runtime import pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk.serde.protobuf import ProtobufDeserializer, ProtobufSerializer

if TYPE_CHECKING:
    from uuid import UUID

MESSAGES = 64
ORDER = """syntax = "proto3"; package bench;
message Order {
  string order_id = 1; int64 customer_id = 2; int32 vendor_id = 3; Status status = 4; Channel channel = 5;
  bool is_gift = 6; int64 created_at = 7; int64 paid_at = 8; int64 sent_at = 9; int32 delivery_day = 10;
  int32 delivery_from = 11; double net = 12; double tax = 13; double total = 14; optional double discount = 15;
  optional string comment = 16; Place pickup = 17; Place dropoff = 18; repeated Place stops = 19; int64 weight = 20;
  string source = 21; string tier = 22;
  message Place { int32 zone = 1; string name = 2; double lat = 3; double lon = 4; }
  enum Status { NEW = 0; PAID = 1; SENT = 2; DONE = 3; }
  enum Channel { WEB = 0; APP = 1; SHOP = 2; }
}"""
FILE = pooled_file(parse_protobuf(ORDER))
Order: Any = GetMessageClass(FILE.message_types_by_name["Order"])
SERIALIZED = b64encode(FILE.serialized_pb).decode("ascii")

OTHERS = ORDER.replace("package bench;", "package others; message First { int32 a = 1; }").replace(
    "  message Place",
    "  message Inner { string a = 1; int64 b = 2; double c = 3;\n"
    "    message Between { message Deep { string a = 1; int64 b = 2; double c = 3; } int32 a = 1; } }\n  message Place",
)
OTHERS_FILE = pooled_file(parse_protobuf(OTHERS))
OTHERS_SERIALIZED = b64encode(OTHERS_FILE.serialized_pb).decode("ascii")
Second: Any = GetMessageClass(OTHERS_FILE.message_types_by_name["Order"])
INNER = OTHERS_FILE.message_types_by_name["Order"].nested_types_by_name["Inner"]
Nested: Any = GetMessageClass(INNER)
Deep: Any = GetMessageClass(INNER.nested_types_by_name["Between"].nested_types_by_name["Deep"])


def orders(count: int) -> list[Any]:
    """Return orders with every optional field set in about half of them."""
    draw = Random(11)

    def place() -> dict[str, Any]:
        name = draw.choice(["Harbour", "Airport", "Old Town", "Station Square"])
        return {"zone": draw.randint(1, 260), "name": name, "lat": draw.uniform(40, 41), "lon": draw.uniform(-74, -73)}

    def instant() -> int:
        return 1_700_000_000_000_000 + draw.randrange(10**13)

    def perhaps(value: Any) -> Any:
        return value if draw.random() < 0.5 else None

    return [
        Order(
            order_id=f"{draw.getrandbits(128):032x}",
            customer_id=draw.randrange(10**7),
            vendor_id=draw.randint(1, 2),
            status=draw.randrange(4),
            channel=draw.randrange(3),
            is_gift=draw.random() < 0.1,
            created_at=instant(),
            paid_at=perhaps(instant()),
            sent_at=perhaps(instant()),
            delivery_day=draw.randrange(20_000),
            delivery_from=draw.randrange(86_400),
            net=draw.uniform(0, 100),
            tax=draw.uniform(0, 20),
            total=draw.uniform(0, 120),
            discount=perhaps(draw.uniform(0, 10)),
            comment=perhaps("leave it with the neighbour"),
            pickup=place(),
            dropoff=perhaps(place()),
            stops=[place() for _ in range(2)],
            weight=draw.randrange(10**6),
            source="campaign",
            tier="gold",
        )
        for _ in range(count)
    ]


class OurRegistry:
    """A registry with one schema, whose id is 1."""

    def __init__(self, text: str = ORDER) -> None:
        self._text = text

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return id 1 and version 1 for any schema."""
        _ = normalize
        return RegisteredSchema(subject, 1, 1, None, schema)

    def schema_by_id(self, schema_id: int) -> Schema:
        """Return the one schema."""
        _ = schema_id
        return Schema(self._text, SchemaType.PROTOBUF)

    def schema_by_guid(self, guid: UUID) -> Schema:
        """Return the one schema."""
        _ = guid
        return Schema(self._text, SchemaType.PROTOBUF)


class TheirRegistry:
    """The same registry for confluent-kafka, with the methods that its serializers call."""

    def __init__(self, serialized: str = SERIALIZED) -> None:
        self._serialized = serialized

    def config(self) -> dict[str, Any]:
        """Return no settings."""
        return {}

    def register_schema_full_response(self, subject: str, schema: Any, normalize_schemas: bool = False) -> Any:  # noqa: FBT001, FBT002 - their signature
        """Return id 1 and version 1 for any schema."""
        _ = normalize_schemas
        return TheirRegistered(schema_id=1, guid=None, schema=schema, subject=subject, version=1)

    def get_schema(self, *_args: Any, **_kwargs: Any) -> Any:
        """Return the one schema."""
        return TheirSchema(self._serialized, "PROTOBUF")

    get_schema_by_guid = get_schema


def main() -> int:
    report = Report.from_arguments(__doc__.splitlines()[0])
    ctx = SerializationContext("bench", MessageField.VALUE)
    strategy = {"subject.name.strategy": topic_subject_name_strategy}
    ours, theirs = ProtobufSerializer(OurRegistry(), model=Order), TheirSerializer(Order, TheirRegistry(), strategy)
    values = orders(MESSAGES)
    data = [theirs(value, ctx) for value in values]
    if [ours(value, ctx) for value in values] != data:
        raise SystemExit("The serializers differ")
    readers = {
        "without a registry": (
            ProtobufDeserializer(None, model=Order),
            TheirDeserializer(Order, strategy),
            3.5,
        ),
        "with a registry": (
            ProtobufDeserializer(OurRegistry(), model=Order),
            TheirDeserializer(Order, strategy, TheirRegistry()),
            14.0,
        ),
    }
    for our_reader, their_reader, _ in readers.values():
        if not [our_reader(each, ctx) for each in data] == [their_reader(each, ctx) for each in data] == values:
            raise SystemExit("The deserializers differ")
    print(f"An order has {sum(map(len, data)) // len(data)} bytes on average.")
    report.compare(
        "write",
        Candidate("confluent-kafka", over(lambda value: theirs(value, ctx), values)),
        (Candidate("counterfoil", over(lambda value: ours(value, ctx), values)), 4.0),
        (Candidate("SerializeToString", over(Order.SerializeToString, values)), None),
        messages=MESSAGES,
    )
    bodies = [each[6:] for each in data]
    for name, (our_reader, their_reader, goal) in readers.items():
        report.compare(
            f"read, {name}",
            Candidate("confluent-kafka", over(lambda each, read=their_reader: read(each, ctx), data)),
            (Candidate("counterfoil", over(lambda each, read=our_reader: read(each, ctx), data)), goal),
            (Candidate("FromString", over(Order.FromString, bodies)), None),
            messages=MESSAGES,
        )
    dynamic, as_dict = ProtobufDeserializer(OurRegistry()), ProtobufDeserializer(OurRegistry(), values="dict")
    dicts = [as_dict(each, ctx) for each in data]
    report.compare(
        "without a class",
        Candidate("read a message", over(lambda each: dynamic(each, ctx), data)),
        (Candidate("read a dict", over(lambda each: as_dict(each, ctx), data)), None),
        (Candidate("write a dict", over(lambda value: ours(value, ctx), dicts)), None),
        messages=MESSAGES,
    )
    compare_other_messages(report, ctx)
    compare_headers(report, values)
    return report.finish()


def compare_other_messages(report: Report, ctx: SerializationContext) -> None:
    """Compare the reading of messages that are not the first of their file: the second, a nested one, several."""
    strategy = {"subject.name.strategy": topic_subject_name_strategy}
    seconds = [Second.FromString(each.SerializeToString()) for each in orders(MESSAGES)]
    nested, deep = (
        [class_(a=f"text {number}", b=number, c=number / 7) for number in range(MESSAGES)] for class_ in (Nested, Deep)
    )
    for name, class_, values in (
        ("the second message", Second, seconds),
        ("a nested message", Nested, nested),
        ("a message three levels deep", Deep, deep),
    ):
        write = TheirSerializer(class_, TheirRegistry(OTHERS_SERIALIZED), strategy)
        data = [write(value, ctx) for value in values]
        for registry, ours, theirs, goal in (
            ("without a registry", None, None, 3.5),
            ("with a registry", OurRegistry(OTHERS), TheirRegistry(OTHERS_SERIALIZED), 14.0),
        ):
            read, read_theirs = ProtobufDeserializer(ours, model=class_), TheirDeserializer(class_, strategy, theirs)
            if not [read(each, ctx) for each in data] == [read_theirs(each, ctx) for each in data] == values:
                raise SystemExit("The deserializers differ")
            report.compare(
                f"read {name}, {registry}",
                Candidate("confluent-kafka", over(lambda each, read=read_theirs: read(each, ctx), data)),
                (Candidate("counterfoil", over(lambda each, read=read: read(each, ctx), data)), goal),
                messages=MESSAGES,
            )
    writers = [ProtobufSerializer(OurRegistry(OTHERS), model=each) for each in (Second, Nested)]
    mixed = [
        write(value, ctx)
        for pair in zip(seconds, nested, strict=True)
        for write, value in zip(writers, pair, strict=True)
    ]
    several = (
        (
            "several messages in turn, with a registry",
            {Second: OurRegistry(OTHERS), Nested: OurRegistry(OTHERS)},
            {Second: TheirRegistry(OTHERS_SERIALIZED), Nested: TheirRegistry(OTHERS_SERIALIZED)},
            14.0,
        ),
        ("several messages in turn, without a registry", {}, {}, 3.5),
    )
    for name, registries, their_registries, goal in several:
        ours = [ProtobufDeserializer(registries.get(each), model=each) for each in (Second, Nested)] * MESSAGES
        theirs = [TheirDeserializer(each, strategy, their_registries.get(each)) for each in (Second, Nested)] * MESSAGES
        report.compare(
            name,
            Candidate("confluent-kafka", over(lambda pair: pair[0](pair[1], ctx), [*zip(theirs, mixed, strict=True)])),
            (
                Candidate("counterfoil", over(lambda pair: pair[0](pair[1], ctx), [*zip(ours, mixed, strict=True)])),
                goal,
            ),
            messages=2 * MESSAGES,
        )
    both = ProtobufDeserializer(OurRegistry(OTHERS), model=[Second, Nested])
    one = ProtobufDeserializer(OurRegistry(OTHERS), model=Second)
    report.compare(
        "several classes",
        Candidate("one class", over(lambda each: one(each, ctx), mixed[::2] * 2)),
        (Candidate("two classes in turn", over(lambda each: both(each, ctx), mixed)), None),
        messages=2 * MESSAGES,
    )


def compare_headers(report: Report, values: list[Any]) -> None:
    """Compare the reading of messages whose schema is named by a header."""
    conf = {
        "subject.name.strategy": topic_subject_name_strategy,
        "schema.id.deserializer": dual_schema_id_deserializer,
    }
    deep = [Deep(a=f"text {number}", b=number, c=number / 7) for number in range(MESSAGES)]
    for name, class_, rows, registry, their_registry in (
        ("", Order, values, OurRegistry(), TheirRegistry()),
        (" of a message three levels deep", Deep, deep, OurRegistry(OTHERS), TheirRegistry(OTHERS_SERIALIZED)),
    ):
        headers: list[tuple[str, bytes | None]] = []
        ctx = SerializationContext("bench", MessageField.VALUE, headers)
        write = ProtobufSerializer(registry, model=class_, id_location="header")
        data = [write(value, ctx) for value in rows]
        read, read_theirs = (
            ProtobufDeserializer(registry, model=class_),
            TheirDeserializer(class_, conf, their_registry),
        )
        if not [read(each, ctx) for each in data] == [read_theirs(each, ctx) for each in data] == rows:
            raise SystemExit("The deserializers differ")
        report.compare(
            f"read with a header{name}, with a registry",
            Candidate("confluent-kafka", over(lambda each, read=read_theirs, ctx=ctx: read(each, ctx), data)),
            (Candidate("counterfoil", over(lambda each, read=read, ctx=ctx: read(each, ctx), data)), 14.0),
            messages=MESSAGES,
        )


if __name__ == "__main__":
    raise SystemExit(main())
