"""Generating the Java class of a conversion that reads messages into objects: for every language, and across them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.cannot import require_frames
from counterfoil.converter.engines.java.generator import JavaSource, conversion_class, packaged, runtime_source
from counterfoil.converter.engines.java.messages import avro, json, protobuf
from counterfoil.converter.engines.java.messages.builder import Builder
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import JavaClass, block, quoted
from counterfoil.schema.evolution.languages.table import tree_of
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion

_PARTS: Final = (
    *("Values", "Items", "Entries", "Tagged", "Misfit", "MessageWorker", "Wholes", "Forms"),
    *("Member", "Symbols", "Layout", "MessageIndexes", "WireReader", "Faults", "ByKey", "Settling"),
    *("Fitting", "WireOrder", "WireWriter"),
    *("AvroStep", "AvroReader", "AvroWriter"),
    *("JsonType", "JsonReader", "JsonSettling", "JsonLimit"),
    *("Automaton", "TextPattern", "JsonTest", "JsonForm", "JsonJudge", "JsonChecks", "JsonWriter"),
)
_LANGUAGES: Final = {SchemaType.AVRO: avro, SchemaType.PROTOBUF: protobuf, SchemaType.JSON: json}


@cache
def message_runtime() -> JavaSource:
    """Return the hand-written classes that the classes of plans use."""
    folder = files("counterfoil.converter.engines.java.messages") / "runtime"
    texts = [(folder / f"{name}.java").read_text(encoding="utf-8").partition(";\n")[2] for name in _PARTS]
    return packaged("messages", "\n".join(texts), "MessageWorker", (runtime_source(),))


def message_source(conversion: Conversion) -> JavaSource:
    """Return the class of a conversion. Raises ``EngineCannot`` for what it cannot do exactly."""
    plan, java = conversion.plan, JavaClass()
    reading, writing = (_LANGUAGES[schema.schema_type] for schema in (plan.source, plan.target))
    source, target = tree_of(plan.source), tree_of(plan.target)
    read = reading.read_lines(java, plan.source, conversion.writer_by_id)
    made = Builder(java).method(plan.root, target, source)
    write = writing.write_lines(java, plan.target)
    prefix = java.data(writing.prefix_of(plan.target, require_frames(ENGINE, conversion)))
    known = quoted(", ".join(map(str, sorted(conversion.writer_by_id))))
    body = [
        *block("static", java.statics),
        *block("protected Object readMessage(int id, byte[] b, int p)", read),
        *block("protected Object converted(Object value)", [f"return {made}(value);"]),
        *block("protected void writeMessage(Object made)", write),
        *block("protected byte[] prefix()", [f"return {prefix};"]),
        *block("protected String knownIds()", [f"return {known};"]),
    ]
    return conversion_class("MessageWorker", java, body, (runtime_source(), message_runtime()))
