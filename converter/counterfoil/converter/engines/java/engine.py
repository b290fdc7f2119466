"""The engine ``java``: a plan as one generated class, over bytes for Avro, or over objects for every language."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from pyspark.sql.utils import is_remote

from counterfoil.converter.engines.java.generator import (
    JavaSource,
    conversion_class,
    packaged,
    plan_source,
    runtime_source,
)
from counterfoil.converter.engines.java.messages import avro, json, protobuf
from counterfoil.converter.engines.java.messages.builder import Builder
from counterfoil.converter.engines.java.source import ENGINE, JavaClass, block, quoted
from counterfoil.converter.engines.protocol import Conversion, EngineCannot, require_frames
from counterfoil.converter.engines.reference import converted_of, failure_of, recipe_of
from counterfoil.converter.engines.secrets import secrets_of
from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.tree import tree_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Generating the Java class of a conversion that reads messages into objects: for every language, and across them.

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


# The engine ``java``: the plan as one generated class, which walks a writer's bytes straight to the target's.
#
# Every value gets its result in one call: the target's bytes, or the code, field and reason of a failure. Nothing is
# left to the reference evaluator, so no value leaves Java.


class JavaEngine:
    """The plan as a Java class; raises ``EngineCannot`` if a part of it cannot be done exactly."""

    name = "java"

    def __init__(self, conversion: Conversion) -> None:
        recipe_of(conversion)  # refuses what every engine refuses
        if is_remote():
            raise EngineCannot(ENGINE, field="", why="with Spark Connect, Spark's Java program cannot be accessed")
        self.source = _source_of(conversion)
        self.secrets = secrets_of(conversion.plan.root)
        self._lookup = conversion.lookup

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted`` and ``failure``."""
        from pyspark.sql.functions import call_function, col

        from counterfoil.converter.engines.java.generator import register

        kept = list(records.columns)
        function = register(records.sparkSession, self.source, self._lookup() if self._lookup else None, self.secrets)
        answered = records.withColumn("_answer", call_function(function, col("value")))
        return answered.select(
            *kept, converted_of("_answer").alias("converted"), failure_of("_answer").alias("failure")
        )


def _source_of(conversion: Conversion) -> JavaSource:
    """Return the class of a plan: a walk over the bytes between Avro schemas that it covers, else one over objects."""
    schemas = (conversion.plan.source, conversion.plan.target)
    if all(schema.schema_type is SchemaType.AVRO for schema in schemas):
        with suppress(EngineCannot):
            return plan_source(conversion)
    return message_source(conversion)
