"""The engine ``reference``: the reference evaluator, in Spark's Python workers.

It is slower than the engine ``java``, and can carry out every plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.converter.engines.answers import answer_of, converted_of, failure_of
from counterfoil.converter.engines.lookup import recipe_from_driver
from counterfoil.converter.engines.record import Converted, converter_of, recipe_of
from counterfoil.schema.evolution import ConversionError, FailureCode
from counterfoil.schema.wire import ID_PREFIX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from counterfoil.converter.engines.lookup import WriterLookup
    from counterfoil.converter.engines.protocol import Conversion


class ReferenceEngine:
    """Carries out the plan with :func:`counterfoil.schema.evolution.evaluate`, one value at a time."""

    name = "reference"

    def __init__(self, conversion: Conversion) -> None:
        self._recipe = recipe_of(conversion)
        self._lookup = conversion.lookup
        self._converter = converter_of(self._recipe.packed)

    def convert_value(self, data: bytes) -> Converted:
        """Convert one value without Spark."""
        return self._converter.convert_value(data)

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted`` and ``failure``."""
        from pyspark.sql.functions import col

        lookup = self._lookup() if self._lookup else None
        answered = records.withColumn("_answer", answer_column(self._recipe.packed, col("value"), lookup))
        return (
            answered.withColumn("converted", converted_of("_answer"))
            .withColumn("failure", failure_of("_answer"))
            .drop("_answer")
        )


def answer_column(packed: bytes, values: Column, lookup: WriterLookup | None) -> Column:
    """Return a column of the reference evaluator's results, as bytes (:mod:`.answers`); null for null."""
    from pyspark.sql.functions import pandas_udf

    return pandas_udf(answers(packed, lookup), "binary")(values)


def answers(packed: bytes, lookup: WriterLookup | None = None) -> Callable[..., Any]:
    """Return the function that workers run on a batch of values."""
    import pandas as pd

    def answer_batch(values: pd.Series) -> pd.Series:
        from counterfoil.converter.engines.reference import answer

        present = values.notna()
        if present.any():
            values[present] = [answer(packed, value, lookup) for value in values[present]]
        return values

    answer_batch.__annotations__ = {"values": pd.Series, "return": pd.Series}
    return answer_batch


def answer(packed: bytes, data: bytes, lookup: WriterLookup | None = None) -> bytes:
    """Return the converted value, or the failure as bytes; ``lookup`` has the recipes of other schema ids."""
    value = bytes(data)
    try:
        return converter_of(packed).convert(value)
    except ConversionError as failure:
        if lookup is not None and failure.code is FailureCode.UNKNOWN_SCHEMA_ID:
            other = recipe_from_driver(lookup, int.from_bytes(value[1:ID_PREFIX_BYTES]))
            if other is not None:
                return answer(other, value)
        return answer_of(failure)
