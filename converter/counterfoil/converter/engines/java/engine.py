"""The engine ``java``: the plan as one generated class, which walks a writer's bytes straight to the target's.

Every value gets its result in one call: the target's bytes, or the code, field and reason of a failure. Nothing is left
to the reference evaluator, so no value leaves Java.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.sql.utils import is_remote

from counterfoil.converter.engines.answers import converted_of, failure_of
from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.generator import plan_source
from counterfoil.converter.engines.java.messages.generator import message_source
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.record import recipe_of
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from counterfoil.converter.engines.java.generator import JavaSource
    from counterfoil.converter.engines.protocol import Conversion


class JavaEngine:
    """The plan as a Java class; raises ``EngineCannot`` if a part of it cannot be done exactly."""

    name = "java"

    def __init__(self, conversion: Conversion) -> None:
        recipe_of(conversion)  # refuses what every engine refuses
        if is_remote():
            raise EngineCannot(ENGINE, field="", why="with Spark Connect, Spark's Java program cannot be accessed")
        self.source = _source_of(conversion)
        self._lookup = conversion.lookup

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted`` and ``failure``."""
        from pyspark.sql.functions import call_function, col

        from counterfoil.converter.engines.java.loading import register

        kept = list(records.columns)
        function = register(records.sparkSession, self.source, self._lookup() if self._lookup else None)
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
