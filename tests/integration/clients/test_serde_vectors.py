"""Golden messages of all formats, read and written by clients in Go and JavaScript, through a running registry."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format

from counterfoil.contracts.values import form_of
from counterfoil.schema import Reference, Schema, SchemaType
from counterfoil.sdk import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufSerializer,
    Registry,
    SerializationContext,
)
from counterfoil.sdk.serde.codec import load_schema
from counterfoil.sdk.serde.multi import LANGUAGES
from local_services.golang import go_environment, go_program
from local_services.javascript import node_packages, node_program
from strategies.protobuf.classes import compiled, generated_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from local_services import RegistryProcess

HERE = Path(__file__).parent
AVRO, JSON, PROTOBUF = (
    json.loads((HERE.parents[1] / "data" / "serde" / f"{name}.json").read_text("utf-8"))
    for name in ("avro", "json", "protobuf")
)
TEXTS = {path: "\n".join(lines) + "\n" for path, lines in PROTOBUF["files"].items()}
CLASSES = generated_classes(TEXTS)
FILES = b64encode(compiled(TEXTS).SerializeToString()).decode()
VALUE_HEADER = "__value_schema_id"
# Their library reads longs as JavaScript's numbers.
LARGE = frozenset({"a long that JavaScript does not hold"})


class Written:
    """A message that we wrote, in the prefix form, or with the guid of its schema in a header."""

    def __init__(self, kind: str, name: str, serializer: Any, value: Any, topic: str, *, location: str) -> None:
        self.kind = kind
        self.name = name
        self.value = value
        self.context = SerializationContext(topic, headers=[] if location == "header" else None)
        self.frame: bytes = serializer(value, self.context)
        self.header = dict(self.context.headers or ()).get(VALUE_HEADER)

    def document(self) -> dict[str, Any]:
        return {
            "format": self.kind,
            "file": self.value.DESCRIPTOR.file.name if self.kind == "PROTOBUF" else None,
            "topic": self.context.topic,
            "frame": b64encode(self.frame).decode(),
            "header": None if self.header is None else b64encode(self.header).decode(),
        }


def registered_with(
    registry: Registry, unique_name: Callable[[str], str], schema: Schema, texts: Iterable[tuple[str, str]]
) -> Schema:
    """Return the schema with references to these texts, which are registered under names of their own."""
    references = []
    for name, text in texts:
        subject = unique_name("place")
        registry.register(subject, Schema(text, schema.schema_type))
        references.append(Reference(name, subject, 1))
    return Schema(schema.text, schema.schema_type, tuple(references))


def avro_messages(registry: Registry, unique_name: Callable[[str], str], *, location: Any = "prefix") -> list[Written]:
    """Return every golden message; its body is the golden one, also read from its JSON form."""
    messages = []
    for vector in AVRO["vectors"]:
        texts = vector.get("references", {}).items()
        schema = registered_with(registry, unique_name, Schema(vector["schema"]), texts)
        codec = LANGUAGES[SchemaType.AVRO].plain_codec()
        value = form_of(SchemaType.AVRO).value(registry.run(load_schema(registry.calls, codec, schema)), vector["json"])
        serializer = AvroSerializer(registry, schema, id_location=location)
        message = Written("AVRO", vector["name"], serializer, value, unique_name("rides"), location=location)
        assert message.frame.endswith(bytes.fromhex(vector["body"])), vector["name"]
        messages.append(message)
    return messages


def messages_of(registry: Registry, unique_name: Callable[[str], str], location: Any) -> list[Written]:
    """Return the golden messages of all formats."""
    messages = avro_messages(registry, unique_name, location=location)
    for vector in JSON:
        texts = [(one["name"], one["schema"]) for one in vector.get("references", ())]
        schema = registered_with(registry, unique_name, Schema(vector["schema"], SchemaType.JSON), texts)
        serializer = JsonSerializer(registry, schema, id_location=location)
        value, topic = vector["value"], unique_name("rides")
        messages.append(Written("JSON", vector["name"], serializer, value, topic, location=location))
    for vector in PROTOBUF["vectors"]:
        value = json_format.ParseDict(vector["json"], CLASSES[vector["message"]]())
        serializer = ProtobufSerializer(registry, model=type(value), id_location=location)
        topic = unique_name("rides")
        messages.append(Written("PROTOBUF", vector["name"], serializer, value, topic, location=location))
    return messages


def run_program(command: list[Any], document: Any, **options: Any) -> Any:
    done = subprocess.run(
        command, input=json.dumps(document), capture_output=True, text=True, timeout=500, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_go_reads_what_we_write_and_we_read_what_go_writes(
    live_registry: RegistryProcess, unique_name: Callable[[str], str]
):
    registry = Registry(live_registry.url)
    messages = [each for location in ("prefix", "header") for each in messages_of(registry, unique_name, location)]
    found = run_program(
        [go_program(), "run", "./vectors"],
        {"files": FILES, "messages": [each.document() for each in messages]},
        cwd=HERE / "go",
        env={**go_environment(), "REGISTRY_URL": live_registry.url, "NO_PROXY": "127.0.0.1"},
    )
    assert len(found) == len(messages)
    for message, result in zip(messages, found, strict=True):
        again = b64decode(result["frame"])
        if message.kind == "AVRO":
            read = AvroDeserializer(registry)  # bytes may differ: Go writes the sizes of blocks
            assert read(again, message.context) == read(message.frame, message.context), message.name
        elif message.kind == "JSON":
            assert result["value"] == message.value
            assert JsonDeserializer(registry)(again, message.context) == message.value
        else:
            kind = type(message.value)
            assert json_format.ParseDict(result["value"], kind()) == message.value
            assert ProtobufDeserializer(registry, model=kind)(again, message.context) == message.value


def test_javascript_reads_what_we_write_and_writes_the_same(
    live_registry: RegistryProcess, unique_name: Callable[[str], str]
):
    messages = [one for one in avro_messages(Registry(live_registry.url), unique_name) if one.name not in LARGE]
    folder = HERE / "javascript"
    found = run_program(
        [node_program(), folder / "avro_vectors.cjs"],
        [each.document() for each in messages],
        env={
            **os.environ,
            "NODE_PATH": str(node_packages(folder)),
            "REGISTRY_URL": live_registry.url,
            "NO_PROXY": "127.0.0.1",
        },
    )
    assert [b64decode(each) for each in found] == [each.frame for each in messages]
