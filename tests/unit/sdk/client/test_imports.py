"""What the front door costs: names are loaded when used, and HTTP when something is asked."""

from __future__ import annotations

import subprocess
import sys

import pytest

import counterfoil.sdk


def modules_after(statement):
    """The names of the modules that a fresh interpreter has loaded after the statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return set(ran.stdout.split())


@pytest.mark.parametrize("name", counterfoil.sdk.__all__)
def test_every_public_name_is_there(name):
    assert getattr(counterfoil.sdk, name).__name__ == name


def test_the_list_of_names_is_what_is_offered():
    assert dir(counterfoil.sdk) == sorted(counterfoil.sdk.__all__)
    assert set(counterfoil.sdk._MODULE_BY_NAME) == set(counterfoil.sdk.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="Regsitry"):
        counterfoil.sdk.Regsitry  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize(
    "statement",
    [
        "from counterfoil.sdk import AvroSerializer, AvroDeserializer",
        "import counterfoil.sdk.serde.avro",
        "from counterfoil.sdk import Registry; Registry('https://user:password@host')",
    ],
)
def test_http_is_not_loaded_before_it_is_used(statement):
    loaded = modules_after(statement)
    assert "counterfoil.sdk" in loaded
    assert loaded.isdisjoint({"httpx", "httpcore", "anyio", "fastavro", "confluent_kafka", "fastapi"})


NOT_TO_IMPORT = {
    # the standard library's that take long, and that only requests, rules and threads need
    *("asyncio", "concurrent.futures", "email", "importlib.metadata", "ipaddress", "json", "logging", "pathlib"),
    *("platform", "secrets", "socket", "ssl", "uuid"),
    # what only requests need
    *(
        f"counterfoil.sdk.{name}"
        for name in ("client.connection", "client.credentials", "client.settings", "operations")
    ),
    *(f"counterfoil.schema.rest.{name}" for name in ("keys", "object_forms", "schemas", "subjects")),
    # what only some schemas, programs or other languages need
    *(f"counterfoil.sdk.serde.{name}" for name in ("arrow", "avro.coders", "avro.plan", "json", "models", "protobuf")),
    *("counterfoil.sdk.encryption", "counterfoil.sdk.serde.rules.stages", "counterfoil.sdk.usage"),
}


def test_the_import_of_the_avro_serializers_loads_what_they_need_alone():
    """The rest is loaded by the first client, the first request, or the first schema."""
    loaded = modules_after("import counterfoil.sdk; from counterfoil.sdk import AvroSerializer, Registry")
    loaded -= modules_after("pass")
    assert "counterfoil.sdk.serde.avro" in loaded
    assert not loaded & NOT_TO_IMPORT


@pytest.mark.slow
def test_the_sync_client_needs_no_event_loop():
    assert "asyncio" not in modules_after("from counterfoil.sdk import Registry; Registry('http://host')")


def test_the_operations_of_schemas_need_no_other_endpoints():
    loaded = modules_after("from counterfoil.sdk import operations; operations.register, operations.schema_by_id")
    assert "counterfoil.sdk.operations.registered_schemas" in loaded
    nouns = ("bridges", "contracts", "keys", "observations", "subjects", "verdicts")
    assert loaded.isdisjoint(f"counterfoil.schema.rest.{noun}" for noun in nouns)
