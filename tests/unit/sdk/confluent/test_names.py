"""Programs written for confluent-kafka, with no line changed but that of the import."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys

import pytest
from confluent_kafka import schema_registry as theirs
from confluent_kafka.schema_registry import avro as their_avro
from confluent_kafka.schema_registry import json_schema as their_json
from confluent_kafka.schema_registry import protobuf as their_protobuf
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError

from counterfoil.schema.errors import CounterfoilError, IncompatibleSchema
from counterfoil.schema.model import Reference
from counterfoil.schema.model import Schema as OwnSchema
from counterfoil.sdk import confluent
from counterfoil.sdk.confluent import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AsyncSchemaRegistryClient,
    AvroDeserializer,
    AvroSerializer,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    record_subject_name_strategy,
)
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.testing import InMemoryRegistry

RIDE = json.dumps(
    {"type": "record", "name": "Ride", "fields": [{"name": "id", "type": "long"}, {"name": "fare", "type": "double"}]}
)
RIDE_2 = RIDE.replace('"double"', '"string"')
VALUE = SerializationContext("rides", MessageField.VALUE)
CONF = {"url": "http://registry.invalid"}


@pytest.fixture
def memory():
    return InMemoryRegistry()


@pytest.fixture
def client(memory):
    return SchemaRegistryClient(CONF, transport=memory)


class Ride:
    def __init__(self, number, fare):
        self.id, self.fare = number, fare

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


def ride_to_dict(ride, ctx):
    assert ctx.topic == "rides"
    return vars(ride)


def dict_to_ride(value, ctx):
    assert ctx.field == MessageField.VALUE
    return Ride(value["id"], value["fare"])


@pytest.mark.parametrize(
    "serializer",
    [
        lambda client: AvroSerializer(client, RIDE, ride_to_dict),
        lambda client: AvroSerializer(schema_registry_client=client, schema_str=RIDE, to_dict=ride_to_dict),
        lambda client: AvroSerializer(client, Schema(RIDE, "AVRO"), ride_to_dict, {"auto.register.schemas": True}),
        lambda client: AvroSerializer(client, theirs.Schema(RIDE, "AVRO"), ride_to_dict, None, None, None),
        lambda client: AvroSerializer(client, OwnSchema(RIDE), to_dict=ride_to_dict, rule_conf={}),
    ],
)
@pytest.mark.parametrize(
    "deserializer",
    [
        lambda client: AvroDeserializer(client, RIDE, dict_to_ride),
        lambda client: AvroDeserializer(client, None, dict_to_ride, False),  # noqa: FBT003 - as programs call it
        lambda client: AvroDeserializer(schema_registry_client=client, schema_str=RIDE, from_dict=dict_to_ride),
        lambda client: AvroDeserializer(client, theirs.Schema(RIDE, "AVRO"), dict_to_ride, conf={}),
    ],
)
def test_the_forms_in_which_programs_call_them(client, serializer, deserializer):
    write, read = serializer(client), deserializer(client)
    data = write(Ride(1, 2.5), VALUE)
    assert read(data, VALUE) == Ride(1, 2.5)
    assert (write(None, VALUE), read(None, VALUE)) == (None, None)


def test_a_client_of_this_sdk_can_be_given(memory):
    own = memory.client()
    assert AvroDeserializer(own)(AvroSerializer(own, RIDE)({"id": 1, "fare": 2.0}, VALUE), VALUE)["id"] == 1


def test_a_client_of_confluent_kafka_is_refused_with_the_class_to_use():
    with pytest.raises(InvalidSettings, match=r"or the class of this name in counterfoil\.sdk\.confluent"):
        AvroSerializer(theirs.SchemaRegistryClient(CONF), RIDE)


def test_their_errors_are_caught_by_their_names(client):
    write = AvroSerializer(client, RIDE)
    with pytest.raises(SerializationError, match="fare"):
        write({"id": 1}, VALUE)
    for data in (b"{}", b"", b"\0\0\0\0\1", b"\0\0\0\0\x63\2"):
        with pytest.raises(SerializationError) as caught:
            AvroDeserializer(client)(data, VALUE)
        assert isinstance(caught.value, CounterfoilError)
    write({"id": 1, "fare": 2.0}, VALUE)
    with pytest.raises(SchemaRegistryError) as refused:
        AvroSerializer(client, RIDE_2)({"id": 1, "fare": "2"}, VALUE)
    assert isinstance(refused.value, IncompatibleSchema)
    assert (refused.value.http_status_code, refused.value.error_code) == (409, 40901)
    assert "incompatible" in refused.value.error_message


def test_the_clients_calls(client):
    assert client.register_schema("rides-value", Schema(RIDE, "AVRO")) == 1
    assert client.register_schema_full_response("rides-value", theirs.Schema(RIDE, "AVRO")).schema_id == 1
    latest = client.get_latest_version("rides-value")
    assert (latest.schema_id, latest.version, latest.subject) == (1, 1, "rides-value")
    assert json.loads(latest.schema.schema_str) == json.loads(RIDE)
    assert (latest.schema.schema_type, latest.schema.references) == ("AVRO", [])
    assert client.get_schema(1) == client.get_schema_by_guid(latest.guid) == latest.schema
    assert client.lookup_schema("rides-value", latest.schema).version == client.get_version("rides-value", 1).version
    using = Schema('["Ride"]', "AVRO", [SchemaReference("Ride", "rides-value", 1)])
    client.register_schema("users", using)
    assert client.get_latest_version("users").schema.references == using.references
    assert client.version("users").schema.references == (Reference("Ride", "rides-value", 1),)
    assert client.get_subjects() == ["rides-value", "users"]
    assert client.get_versions("rides-value") == [1]
    assert client.get_schema_types() == ["AVRO", "JSON", "PROTOBUF"]
    assert not client.test_compatibility("rides-value", Schema(RIDE_2))
    assert not client.test_compatibility_all_versions("rides-value", Schema(RIDE_2), verbose=True)
    assert client.set_compatibility("rides-value", "none") == {"compatibility": "NONE"}
    assert client.get_compatibility("rides-value") == "NONE"
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_version("users", 1, permanent=True)
    assert refused.value.error_code == 40407
    assert [client.delete_version("users", 1, permanent=each) for each in (False, True)] == [1, 1]
    assert [client.delete_subject("rides-value", permanent=each) for each in (False, True)] == [[1], [1]]
    assert client.get_subjects(deleted=True) == []
    client.clear_caches()
    with pytest.raises(SchemaRegistryError):
        client.get_latest_version("rides-value")


def test_the_asynchronous_classes_are_constructed_with_await(memory):
    async def whole():
        async with AsyncSchemaRegistryClient(CONF, transport=memory) as client:
            write = await AsyncAvroSerializer(client, RIDE)
            read = await AsyncAvroDeserializer(client)
            assert await client.get_subjects() == []
            return await read(await write({"id": 1, "fare": 2.0}, VALUE), VALUE)

    assert asyncio.run(whole()) == {"id": 1, "fare": 2.0}


@pytest.mark.parametrize(
    ("make", "setting"),
    [
        (lambda client: AvroSerializer(client, RIDE, rule_conf="a"), "rule_conf"),
        (lambda client: AvroDeserializer(client, rule_registry=object()), "rule_registry"),
        (lambda client: AvroDeserializer(client, return_record_name=True), "return_record_name"),
        (lambda client: AvroSerializer(client, 7), "schema_str"),
        (lambda client: AvroSerializer(client, Schema(RIDE, "THRIFT")), "schema_type"),
        (lambda client: client.register_schema("rides-value", Schema(None)), "schema_str"),
        (lambda client: client.set_config("rides-value"), "config"),
        (lambda client: client.get_mode(None), "subject_name"),
        (lambda client: client.update_mode(None, "READONLY"), "subject_name"),
        (lambda client: client.delete_mode(None), "subject_name"),
        (lambda client: AvroSerializer(client, RIDE, "to_dict"), "to_dict"),
        (lambda client: AvroDeserializer(client, RIDE, "from_dict"), "from_dict"),
        (lambda client: AvroSerializer(client, RIDE, conf={"no.such.setting": 1}), "no.such.setting"),
        (lambda _: confluent.JSONDeserializer(None), "schema_str"),
        (lambda _: SchemaRegistryClient({}), "url"),
    ],
)
def test_what_is_no_setting_or_has_no_counterpart_is_refused_as_a_value_error(client, make, setting):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what their classes raise
        make(client)
    assert isinstance(caught.value, InvalidSettings)
    assert caught.value.setting == setting


def test_record_names_and_settings_are_theirs(client):
    conf = {"subject.name.strategy": record_subject_name_strategy, "auto.register.schemas": True}
    AvroSerializer(client, RIDE, conf=conf)({"id": 1, "fare": 2.0}, VALUE)
    assert client.get_subjects() == ["Ride"]


RULES = {
    "migrationRules": [],
    "domainRules": [
        {
            "name": "r",
            "doc": "d",
            "kind": "CONDITION",
            "mode": "WRITE",
            "type": "CEL",
            "tags": ["PII"],
            "params": {"a": "b"},
            "expr": "true",
            "onFailure": "ERROR",
            "disabled": False,
        }
    ],
    "encodingRules": [],
}
METADATA = {"tags": {"**.id": ["PII"]}, "properties": {"owner": "taxi"}, "sensitive": ["owner"]}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("Rule", RULES["domainRules"][0]),
        ("RuleSet", {}),
        ("RuleSet", RULES),
        ("RuleSet", {"domainRules": [{"name": "r", "type": "CEL"}], "enableAt": "CLIENT"}),
        ("Metadata", {}),
        ("Metadata", METADATA),
        ("SchemaReference", {"name": "Ride", "subject": "rides-value", "version": 1}),
        ("Schema", {}),
        ("Schema", {"schema": RIDE, "metadata": METADATA, "ruleSet": RULES, "references": [{"name": "a"}]}),
        ("ServerConfig", {"compatibilityLevel": "FULL", "compatibilityGroup": "v", "overrideMetadata": METADATA}),
        ("Association", {"subject": "s", "guid": "g", "resourceName": "rides", "frozen": True}),
        ("AssociationInfo", {"subject": "s", "lifecycle": "WEAK", "schema": {"schema": RIDE}}),
        ("AssociationCreateOrUpdateRequest", {"resourceName": "rides", "associations": [{"subject": "s"}]}),
        ("AssociationResponse", {"resourceName": "rides", "associations": [{"subject": "s", "frozen": False}]}),
    ],
)
def test_values_have_the_attributes_and_the_json_of_theirs(name, document):
    ours, other = (getattr(module, name).from_dict(document) for module in (confluent, theirs))
    assert shown(ours) == shown(other)
    assert ours.to_dict() == other.to_dict()
    assert ours == getattr(confluent, name).from_dict(ours.to_dict())


def shown(value):
    """A value with all that it holds, as names of classes and attributes; an enum is its text."""
    if isinstance(value, list):
        return [shown(each) for each in value]
    if isinstance(value, str):
        return str(value)
    names = getattr(value, "__dataclass_fields__", None) or [
        each.name for each in getattr(value, "__attrs_attrs__", ())
    ]
    return (type(value).__name__, {each: shown(getattr(value, each)) for each in names}) if names else value


def test_metadata_and_rules_are_registered_as_theirs(client):
    for number, module in enumerate((confluent, theirs)):
        schema = module.Schema(RIDE, "AVRO", [], module.Metadata.from_dict(METADATA), module.RuleSet.from_dict(RULES))
        assert client.register_schema(f"rides-{number}", schema) == 1
        found = client.get_latest_version(f"rides-{number}").schema
        assert (found.metadata.properties.properties, found.rule_set.domain_rules[0].name) == ({"owner": "taxi"}, "r")
        assert hash(found) == hash(client.get_schema(1))


def test_the_clients_calls_for_configs_modes_and_listings(client):
    client.register_schema("rides-value", Schema(RIDE, "AVRO"))
    level = confluent.ConfigCompatibilityLevel
    assert client.get_config().compatibility_level is level.BACKWARD
    change = confluent.ServerConfig(compatibility=level.FULL, compatibility_group="v")
    assert client.set_config("rides-value", change) == {"compatibility": "FULL", "compatibilityGroup": "v"}
    assert client.set_config("rides-value", theirs.ServerConfig(compatibility_group="w"))["compatibilityGroup"] == "w"
    assert client.get_config("rides-value").compatibility_group == "w"
    assert client.delete_config("rides-value").compatibility_level is level.FULL
    assert (client.get_global_mode(), client.update_global_mode("READWRITE")) == ("READWRITE", "READWRITE")
    assert client.update_mode("rides-value", "READONLY") == client.get_mode("rides-value") == "READONLY"
    assert client.delete_mode("rides-value") == "READONLY"
    client.register_schema("users", Schema('["Ride"]', "AVRO", [SchemaReference("Ride", "rides-value", 1)]))
    assert client.get_referenced_by("rides-value") == [2]
    assert client.get_subjects_by_schema_id(1) == ["rides-value"]
    assert [(each.subject, each.version) for each in client.get_schema_versions(1)] == [("rides-value", 1)]
    assert client.get_subjects(offset=1, limit=1) == ["users"]
    assert (client.get_versions("users", offset=1), client.get_contexts(limit=1)) == ([], ["."])
    assert client.get_versions("users", offset=None, limit=None) == [1]
    assert client.get_subjects(offset=1, limit=None) == ["users"]
    client.delete_subject("users")
    assert client.get_subjects(deleted_only=True) == ["users"]
    client.clear_latest_caches()
    assert client.config() == CONF


def test_schemas_are_printed_in_the_format_that_is_asked_for(client):
    client.register_schema("shared", Schema(RIDE, "AVRO"))
    client.register_schema("users", Schema('["Ride"]', "AVRO", [SchemaReference("Ride", "shared", 1)]))
    resolved = [json.loads(RIDE)]
    for found in (
        client.get_schema(2, fmt="resolved"),
        client.get_latest_version("users", fmt="resolved").schema,
        client.get_schema_by_guid(client.get_version("users", 1).guid, "resolved"),
        client.lookup_schema("users", client.get_schema(2), fmt="resolved").schema,
    ):
        assert json.loads(found.schema_str) == resolved
    assert client.get_schema(2).schema_str == '["Ride"]'


def test_associations_are_those_of_their_client(client):
    client.register_schema("taxi", Schema(RIDE, "AVRO"))
    info = confluent.AssociationCreateOrUpdateInfo("taxi", "value", "WEAK")
    request = confluent.AssociationCreateOrUpdateRequest("rides", "lkc-1", "id-1", "topic", [info])
    assert client.create_association(request).associations[0].subject == "taxi"
    [found] = client.get_associations_by_resource_name("rides", "lkc-1", "topic", ["value"])
    assert (found.subject, found.association_type, found.resource_id) == ("taxi", "value", "id-1")
    client.delete_associations("id-1", "topic", ["value"])
    assert client.get_associations_by_resource_name("rides", "-") == []


def test_a_mock_client_has_a_registry_in_memory():
    for module in (confluent, theirs):
        client = module.SchemaRegistryClient.new_client({"url": "mock://taxi"})
        assert client.register_schema("rides-value", module.Schema(RIDE, "AVRO")) == 1
        assert client.get_latest_version("rides-value").version == 1


@pytest.mark.slow
def test_the_calls_and_their_parameters_are_theirs():
    pairs = [
        (SchemaRegistryClient, theirs.SchemaRegistryClient),
        (AsyncSchemaRegistryClient, theirs.AsyncSchemaRegistryClient),
    ]
    for ours, other in pairs:
        names = {each for each in dir(other) if not each.startswith("_")}
        assert names <= {*dir(ours)}
        for name in names:
            wanted, found = (inspect.signature(getattr(cls(CONF), name)).parameters for cls in (other, ours))
            assert [(each.name, each.default) for each in wanted.values()] == [
                (each.name, each.default) for each in found.values()
            ]


@pytest.mark.parametrize("name", sorted({*theirs.__all__, *confluent.__all__}))
def test_every_name_is_one_of_theirs(name):
    assert getattr(confluent, name) is not None
    assert any(hasattr(module, name) for module in (theirs, their_avro, their_json, their_protobuf))


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="AvroSerialiser"):
        confluent.AvroSerialiser  # noqa: B018 - the access is what is tested
    assert dir(confluent) == confluent.__all__


@pytest.mark.slow
def test_their_package_is_not_imported():
    program = "import sys\nfrom counterfoil.sdk.confluent import *\nprint('confluent_kafka' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "False\n"
