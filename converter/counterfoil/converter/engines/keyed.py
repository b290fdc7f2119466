"""Bridges that convert keys: a conversion for keys beside that for values, each with an engine of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.converter.engines.protocol import CONVERTED_KEY, FAILURE_TYPE, KEY
from counterfoil.converter.engines.record import Converted
from counterfoil.schema.evolution import ConversionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from counterfoil.converter.engines.protocol import Engine
    from counterfoil.converter.engines.reference import ReferenceEngine


class KeyedEngine:
    """Converts keys with one engine, then values with another; a key that cannot be converted fails the record."""

    def __init__(self, values: Engine, keys: Engine) -> None:
        self._values = values
        self._keys = keys
        self.name = values.name if values.name == keys.name else f"{values.name} (keys: {keys.name})"

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted_key``, ``converted`` and ``failure``."""
        from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

        kept = list(records.columns)
        keyed = _renamed(
            self._keys.convert(_renamed(records, value="_value", key="value")),
            _value="value", value="key", converted=CONVERTED_KEY, failure="_key_failure",
        )  # fmt: skip
        made = self._values.convert(keyed)
        is_sound = F.col("_key_failure").isNull()
        return made.select(
            *kept,
            F.when(is_sound, F.col("converted")).alias("converted"),
            F.when(is_sound, F.col("failure")).otherwise(F.expr(_FAILURE)).alias("failure"),
            F.when(is_sound, F.col(CONVERTED_KEY)).alias(CONVERTED_KEY),
        )


_FAILURE = (
    "cast(named_struct('code', _key_failure.code, "
    f"'field', concat('{KEY}', if(_key_failure.field = '', '', '.'), _key_failure.field), "
    f"'text', _key_failure.text) AS {FAILURE_TYPE})"
)


def _renamed(records: DataFrame, **names: str) -> DataFrame:
    return records.select(*(records[each].alias(names.get(each, each)) for each in records.columns))


KeyConverter: TypeAlias = Callable[[bytes | None], Converted]
"""Returns the new key of a record, or the failure; a missing key stays missing."""


def copied_key(key: bytes | None) -> Converted:
    """Return the key as it is: the converter of a bridge that copies keys."""
    return Converted(value=key)


def key_converter(keys: ReferenceEngine) -> KeyConverter:
    """Return the function that converts keys with the reference evaluator."""

    def convert(key: bytes | None) -> Converted:
        if key is None:
            return Converted()
        outcome = keys.convert_value(key)
        if outcome.failure is None:
            return outcome
        field = f"{KEY}.{outcome.failure.field}" if outcome.failure.field else KEY
        return Converted(failure=ConversionError(outcome.failure.code, field, outcome.failure.text))

    return convert
