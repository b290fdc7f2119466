"""Golden Protobuf messages, read and written by Confluent's JavaScript serializers, through a running registry."""

from __future__ import annotations

import json
import os
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format

from counterfoil.sdk import ProtobufDeserializer, ProtobufSerializer, Registry, SerializationContext
from local_services.javascript import node_packages, node_program
from strategies.protobuf.classes import compiled, generated_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_services import RegistryProcess

FOLDER = Path(__file__).with_name("javascript")
DOCUMENT = json.loads(Path(__file__).parents[2].joinpath("data", "serde", "protobuf.json").read_text())
FILES = {path: "\n".join(lines) + "\n" for path, lines in DOCUMENT["files"].items()}
CLASSES = generated_classes(FILES)


# Their client requests a reference of a reference as text, and reads it as a descriptor.
VECTORS = [each for each in DOCUMENT["vectors"] if each["file"] != "taxi/ride.proto"]
# It reads no map fields of a registry's descriptors, which have no type for them, and does not count the types of map
# entries when it reads indexes.
ONLY_WRITTEN = frozenset({"shop.Scalars", "shop.Counted.Item", "shop.Counted.Last"})


def test_each_reads_what_the_other_writes(live_registry: RegistryProcess, unique_name: Callable[[str], str]):
    registry = Registry(live_registry.url)
    topics = [unique_name("rides") for _ in VECTORS]
    messages = [json_format.ParseDict(each["json"], CLASSES[each["message"]]()) for each in VECTORS]
    frames = [
        ProtobufSerializer(registry, model=type(message))(message, SerializationContext(topic))
        for topic, message in zip(topics, messages, strict=True)
    ]
    for message, topic, result in zip(
        messages, topics, run_node(live_registry.url, topics, messages, frames), strict=True
    ):
        name, context = message.DESCRIPTOR.full_name, SerializationContext(topic)
        if name not in ONLY_WRITTEN:
            assert result["read"]["type"] == name
            assert json_format.ParseDict(result["read"]["json"], type(message)()) == message
        frame = b64decode(result["written"])
        assert ProtobufDeserializer(registry, model=type(message))(frame, context) == message
        assert ProtobufDeserializer(registry, message=name)(frame, context).DESCRIPTOR.full_name == name


def run_node(url: str, topics: list[str], messages: list[Any], frames: list[Any]) -> Any:
    """Return what the program beside this file prints for the messages."""
    rows = [
        {
            "topic": topic,
            "name": message.DESCRIPTOR.full_name,
            "frame": None if message.DESCRIPTOR.full_name in ONLY_WRITTEN else b64encode(frame).decode(),
            "json": json_format.MessageToDict(message),
        }
        for topic, message, frame in zip(topics, messages, frames, strict=True)
    ]
    files = b64encode(compiled(FILES).SerializeToString()).decode()
    done = subprocess.run(
        [node_program(), FOLDER / "protobuf_vectors.cjs"],
        input=json.dumps({"files": files, "messages": rows}),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "NODE_PATH": str(node_packages(FOLDER)), "REGISTRY_URL": url, "NO_PROXY": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
