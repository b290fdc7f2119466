"""The drop-in for confluent-kafka: what its programs rely on beside the names of classes."""

from __future__ import annotations

import asyncio
import importlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.sdk import AvroDeserializer as OwnDeserializer
from counterfoil.sdk import AvroSerializer as OwnSerializer
from counterfoil.sdk import EncodeError, InvalidSettings, SerializationContext, ValidationError
from counterfoil.sdk.confluent import (
    AsyncSchemaRegistryClient,
    AvroSerializer,
    JSONSerializer,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from counterfoil.sdk.confluent.rule_registry import RuleRegistry
from counterfoil.sdk.confluent.schema_registry_client import SchemaVersion
from counterfoil.sdk.testing import InMemoryRegistry
from counterfoil.sdk.transport import Reply

CONTEXT = SerializationContext("t", "value")
CLUSTER, POOL = "target-sr-cluster", "Confluent-Identity-Pool-Id"


def empty():
    return SchemaRegistryClient.new_client({"url": "mock://here"})


# --- credentials ------------------------------------------------------------------------------------------------------


class Recording:
    """A transport that keeps the requests, and answers those for tokens."""

    def __init__(self, **token):
        self.requests = []
        self._token = token

    def send(self, request, *_):
        self.requests.append(request)
        body = self._token if "/token" in request.url else ["a"]
        return Reply(200, {}, json.dumps(body).encode())

    def close(self):
        pass


class AsyncRecording(Recording):
    async def asend(self, request):
        return self.send(request)

    async def aclose(self):
        pass


def sent_headers(conf, **token):
    transport = Recording(**token)
    with SchemaRegistryClient({"url": "http://registry.invalid", **conf}, transport=transport) as client:
        client.get_subjects()
    return transport.requests


def custom(function):
    return {
        "bearer.auth.credentials.source": "CUSTOM",
        "bearer.auth.custom.provider.function": function,
        "bearer.auth.custom.provider.config": {"secret": "s"},
    }


FIELDS = {
    "bearer.auth.token": "t1",
    "bearer.auth.logical.cluster": "lsrc-1",
    "bearer.auth.identity.pool.id": "pool-1",
}


def test_what_a_custom_provider_returns_is_sent():
    found = []

    def provide(config):
        found.append(config)
        return FIELDS

    [request] = sent_headers(custom(provide))
    assert found == [{"secret": "s"}]
    assert [request.headers[name] for name in ("Authorization", CLUSTER, POOL)] == ["Bearer t1", "lsrc-1", "pool-1"]


def test_a_custom_provider_may_return_a_token_alone():
    [request] = sent_headers(custom(lambda _: {"bearer.auth.token": "t1"}))
    assert request.headers["Authorization"] == "Bearer t1"
    assert not {CLUSTER, POOL} & request.headers.keys()


@pytest.mark.parametrize(
    "answer", [None, {}, {"bearer.auth.token": 1}, {**FIELDS, "bearer.auth.logical.cluster": "a\nb"}, "t1"]
)
def test_a_custom_provider_that_returns_something_else_is_an_error_that_shows_no_token(answer):
    with pytest.raises(InvalidSettings) as error:
        sent_headers(custom(lambda _: answer))
    assert "t1" not in str(error.value)


def test_an_asynchronous_provider_is_awaited():
    async def provide(_config):
        await asyncio.sleep(0)
        return FIELDS

    async def main():
        transport = AsyncRecording()
        conf = {"url": "http://registry.invalid", **custom(provide)}
        async with AsyncSchemaRegistryClient(conf, transport=transport) as client:
            await client.get_subjects()
        return transport.requests

    [request] = asyncio.run(main())
    assert [request.headers[name] for name in ("Authorization", CLUSTER, POOL)] == ["Bearer t1", "lsrc-1", "pool-1"]


@pytest.mark.parametrize(("pools", "sent"), [("a", "a"), ("a,b", "a,b"), (["a", "b"], "a,b")])
def test_several_identity_pools_are_a_text_or_a_list(pools, sent):
    conf = {"bearer.auth.credentials.source": "STATIC_TOKEN", **FIELDS, "bearer.auth.identity.pool.id": pools}
    [request] = sent_headers(conf)
    assert request.headers[POOL] == sent
    [request] = sent_headers(custom(lambda _: {**FIELDS, "bearer.auth.identity.pool.id": pools}))
    assert request.headers[POOL] == sent


@pytest.mark.parametrize(
    ("conf", "url"),
    [
        (
            {"bearer.auth.issuer.endpoint.query": "resource=r"},
            "http://169.254.169.254/metadata/identity/oauth2/token?resource=r",
        ),
        ({"bearer.auth.issuer.endpoint.url": "http://127.0.0.1/token?a=b"}, "http://127.0.0.1/token?a=b"),
        (
            {
                "bearer.auth.issuer.endpoint.url": "http://127.0.0.1/token?a=b",
                "bearer.auth.issuer.endpoint.query": "c=d",
            },
            "http://127.0.0.1/token?c=d",
        ),
    ],
)
def test_a_token_of_azures_managed_identity(conf, url):
    source = {"bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS", "bearer.auth.logical.cluster": "lsrc-1"}
    asked, request = sent_headers({**source, **conf}, access_token="t2", expires_in="3599", expires_on="1")
    assert (asked.method, asked.url, asked.headers["Metadata"]) == ("GET", url, "true")
    assert (request.headers["Authorization"], request.headers[CLUSTER]) == ("Bearer t2", "lsrc-1")


@pytest.mark.parametrize("conf", [{}, {"bearer.auth.issuer.endpoint.url": "http://elsewhere.example/token"}])
def test_a_managed_identity_needs_a_query_and_an_address_of_this_machine(conf):
    with pytest.raises(InvalidSettings):
        sent_headers({"bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS", **conf})


# --- values -----------------------------------------------------------------------------------------------------------

NULLABLE = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "a", "type": ["null", "string"]},
        {"name": "b", "type": ["string", "null"]},
        {"name": "c", "type": ["null", "R"]},
        {"name": "d", "type": {"type": "array", "items": "R"}},
        {"name": "e", "type": "null"},
        {"name": "f", "type": ["null", "int"], "default": None},
    ],
}
VALUES = st.recursive(
    st.fixed_dictionaries(
        {"d": st.just([])}, optional={"a": st.text(), "b": st.none() | st.text(), "f": st.integers(0, 9)}
    ),
    lambda inner: st.fixed_dictionaries({"d": st.lists(inner, max_size=2)}, optional={"c": inner, "e": st.none()}),
    max_leaves=4,
)


@pytest.mark.slow
@pytest.mark.usefixtures("each_tier")
@given(VALUES)
def test_a_nullable_field_that_is_left_out_is_null_as_for_confluents(value):
    fastavro_and_confluent = pytest.importorskip("confluent_kafka.schema_registry.avro")
    client, text = empty(), json.dumps(NULLABLE)
    theirs = fastavro_and_confluent.AvroSerializer(client, text)
    assert AvroSerializer(client, text)(value, CONTEXT) == theirs(value, CONTEXT)
    assert OwnSerializer.from_confluent(client, text)(value, CONTEXT) == theirs(value, CONTEXT)


@pytest.mark.parametrize("conf", [{"validate.strict": True}, {"validate.strict.allow.default": True}])
def test_with_strict_validation_a_field_that_is_left_out_is_an_error(conf):
    with pytest.raises(EncodeError, match="a: expected"):
        AvroSerializer(empty(), json.dumps(NULLABLE), conf=conf)({"d": []}, CONTEXT)


def test_a_field_that_may_not_be_null_and_the_sdks_own_class_keep_their_error():
    with pytest.raises(EncodeError, match="d: expected"):
        AvroSerializer(empty(), json.dumps(NULLABLE))({}, CONTEXT)
    registry = InMemoryRegistry().client()
    with pytest.raises(EncodeError, match="a: expected"):
        OwnSerializer(registry, json.dumps(NULLABLE))({"d": []}, CONTEXT)
    written = OwnSerializer(registry, json.dumps(NULLABLE), missing_is_null=True)({"d": [], "e": None}, CONTEXT)
    assert OwnDeserializer(registry)(written, CONTEXT)["a"] is None
    assert json.loads(registry.version("t-value", "latest").schema.text) == NULLABLE


def test_references_of_the_latest_version_are_used_for_a_text_without_its_own():
    client = empty()
    text = json.dumps({"title": "R", "type": "object", "properties": {"a": {"$ref": "part.json"}}})
    client.register_schema("part", Schema('{"type": "integer"}', "JSON"))
    client.register_schema("t-value", Schema(text, "JSON", [SchemaReference("part.json", "part", 1)]))
    serialize = JSONSerializer(text, client, conf={"auto.register.schemas": False, "use.latest.version": True})
    assert serialize({"a": 1}, CONTEXT)[5:] == b'{"a":1}'
    with pytest.raises(ValidationError, match="integer"):
        serialize({"a": "x"}, CONTEXT)


def test_the_versions_of_a_schema_have_confluents_class():
    client = empty()
    schema_id = client.register_schema("t-value", Schema('"int"'))
    assert client.get_schema_versions(schema_id) == [SchemaVersion("t-value", 1)]


# --- rules ------------------------------------------------------------------------------------------------------------

REGISTERED = {
    "cel.cel_executor": ["CelExecutor"],
    "cel.cel_field_executor": ["CelFieldExecutor"],
    "jsonata.jsonata_executor": ["JsonataExecutor"],
    "dlq.dlq_action": ["DlqAction"],
    "encryption.encrypt_executor": ["EncryptionExecutor", "FieldEncryptionExecutor"],
    "encryption.awskms.aws_driver": ["AwsKmsDriver"],
    "encryption.azurekms.azure_driver": ["AzureKmsDriver"],
    "encryption.gcpkms.gcp_driver": ["GcpKmsDriver"],
    "encryption.hcvault.hcvault_driver": ["HcVaultKmsDriver"],
    "encryption.localkms.local_driver": ["LocalKmsDriver"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in REGISTERED.items() for name in names])
def test_what_confluents_programs_register_has_its_import_line(module, name):
    ours = getattr(importlib.import_module(f"counterfoil.sdk.confluent.rules.{module}"), name)
    theirs = getattr(importlib.import_module(f"confluent_kafka.schema_registry.rules.{module}"), name)
    ours.register()
    if hasattr(theirs, "get_key_url_prefix"):
        assert ours().get_key_url_prefix() == theirs().get_key_url_prefix()
    else:
        assert ours().type() == theirs().type()


def test_executors_of_a_rule_registry_stand_for_those_of_the_sdk():
    from counterfoil.sdk.confluent.rules.cel.cel_executor import CelExecutor
    from counterfoil.sdk.errors import RuleError

    client = empty()
    rule = {"name": "positive", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "message.a > 0"}
    schema = {
        "schema": json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}),
        "ruleSet": {"domainRules": [rule]},
    }
    client.register_schema("t-value", Schema.from_dict(schema))
    rules = RuleRegistry()
    rules.register_executor(CelExecutor())
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    serialize = AvroSerializer(client, schema["schema"], conf=conf, rule_registry=rules)
    assert serialize({"a": 1}, CONTEXT)
    with pytest.raises(RuleError):
        serialize({"a": 0}, CONTEXT)


def test_an_executor_that_is_registered_for_all_serializers_is_used():
    class Double:
        def type(self):
            return "DOUBLE"

        def configure(self, *_):
            pass

        def transform(self, _, message):
            return {"a": message["a"] * 2}

        def close(self):
            pass

    client = empty()
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
    rule = {"name": "double", "kind": "TRANSFORM", "mode": "WRITE", "type": "DOUBLE"}
    client.register_schema("t-value", Schema.from_dict({"schema": text, "ruleSet": {"domainRules": [rule]}}))
    RuleRegistry.register_rule_executor(Double())
    try:
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        written = AvroSerializer(client, text, conf=conf)({"a": 2}, CONTEXT)
    finally:
        RuleRegistry.get_global_instance().clear()
    assert OwnDeserializer(client)(written, CONTEXT) == {"a": 4}
