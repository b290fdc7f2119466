"""Programs in an environment without the packages of the extras: the error says which extra to install."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from counterfoil.schema.errors import CounterfoilError, MissingExtra

FRAMEWORKS = {
    "adapters.aiokafka": ("aiokafka", "aiokafka"),
    "adapters.beavers": ("beavers", "pyarrow"),
    "adapters.bytewax": ("bytewax", "bytewax"),
    "adapters.confluent_kafka": ("confluent-kafka", "confluent_kafka"),
    "adapters.faststream": ("faststream", "faststream"),
    "adapters.faust": ("faust", "faust"),
    "adapters.kafka_python": ("kafka-python", "kafka"),
    "adapters.pyspark": ("pyspark", "pyspark"),
    "adapters.quixstreams": ("quixstreams", "quixstreams"),
}
USES = {
    "rule CEL": ("rules", "celpy"),
    "rule JSONATA": ("rules", "jsonata"),
    "action DLQ": ("kafka", "confluent_kafka"),
    "key aws-kms": ("aws", "boto3"),
    "key azure-kms": ("azure", "azure"),
    "key gcp-kms": ("gcp", "google.api_core"),
    "key local-kms": ("crypto", "cryptography"),
    "arrow": ("arrow", "pyarrow"),
    "registry": ("registry", "starlette"),
}

BARE = """
import importlib, json, sys
from importlib.abc import MetaPathFinder

ABSENT = {
    "aiokafka", "azure", "beavers", "boto3", "botocore", "bytewax", "cel", "celpy", "confluent_kafka", "cryptography",
    "faststream", "faust", "google.api_core", "google.auth", "google.cloud", "jsonata", "kafka", "lark", "pyarrow",
    "pydantic", "pyspark", "quixstreams", "starlette",
}

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from counterfoil.schema.rest.keys import Kek
from counterfoil.sdk import AvroDeserializer, Rules
from counterfoil.sdk.encryption.key_services import KeyServices
from counterfoil.sdk.serde.rules.cel.executors import compile_program
from counterfoil.sdk.serde.rules.cel import read_expression
from counterfoil.sdk.serde.rules.dlq import DeadLetterAction
from counterfoil.sdk.testing import InMemoryRegistry

KEKS = {"aws-kms": "arn:aws:kms:eu-west-1:1:key/a", "azure-kms": "https://a.vault.azure.net/keys/k/1",
        "gcp-kms": "projects/p/locations/l/keyRings/r/cryptoKeys/k", "local-kms": "k"}

def use_key(kind):
    KeyServices({"secret": "s"}).wrap(Kek("k", kind, KEKS[kind]), b"0" * 16)

CALLS = {
    "rule CEL": lambda: compile_program(read_expression("message.a == 1", ('message',), {})),
    "rule JSONATA": lambda: Rules().executor("JSONATA"),
    "action DLQ": lambda: DeadLetterAction()._own_producer({}),
    **{f"key {kind}": lambda kind=kind: use_key(kind) for kind in KEKS},
    "arrow": lambda: AvroDeserializer(None, reader='"string"').arrow([]),
    "registry": InMemoryRegistry,
}
found = {}
for name in json.loads(sys.argv[1]):
    try:
        CALLS[name]() if name in CALLS else importlib.import_module(f"counterfoil.sdk.{name}")
    except Exception as error:
        found[name] = ([each.__name__ for each in type(error).__mro__], str(error))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, "-c", BARE, json.dumps([*FRAMEWORKS, *USES])]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_adapter_without_its_framework_is_an_import_error_that_names_the_extra(found, name):
    extra, module = FRAMEWORKS[name]
    classes, text = found[name]
    assert {"MissingExtra", "CounterfoilError", "ImportError"} <= set(classes)
    assert text.startswith("The adapter of ")
    assert text.endswith(f' needs {module}, which is not installed: pip install "counterfoil[{extra}]"')


@pytest.mark.slow
@pytest.mark.parametrize("name", USES)
def test_what_needs_a_package_names_the_extra_when_it_is_used(found, name):
    extra, module = USES[name]
    classes, text = found[name]
    assert "CounterfoilError" in classes
    assert f'needs {module}, which is not installed: pip install "counterfoil[{extra}]"' in text


def test_the_error_has_its_facts():
    error = MissingExtra("A table", module="pyarrow", extra="arrow")
    assert isinstance(error, CounterfoilError)
    assert isinstance(error, ImportError)
    assert (error.name, error.module, error.extra) == ("pyarrow", "pyarrow", "arrow")
