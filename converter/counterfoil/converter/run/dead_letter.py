"""The reason why a record cannot be written to the target, and the headers of its dead letter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's documentation uses

from counterfoil.converter.engines.protocol import FAILURE_TYPE
from counterfoil.converter.kafka import headers

if TYPE_CHECKING:
    from pyspark.sql import Column

_RECORD_OVERHEAD_BYTES: Final = 120
"""The size of a batch of one record without key, value and headers: 61 bytes, lengths, deltas, and a reserve."""
_HEADER_OVERHEAD_BYTES: Final = 10
_OWN_HEADERS_BYTES: Final = 1024
"""An upper bound of the headers that a bridge adds: a topic name of 249 characters, a hash, numbers, names."""


def problem(max_message_bytes: int, *, key: str) -> Column:
    """Return a column with the ``failure`` of a record or ``too-large``; null for a record that can be written.

    ``key`` is the column with the keys of converted records.
    """
    size = _record_bytes(key)
    too_large = F.struct(
        F.lit(headers.TOO_LARGE).alias("code"),
        F.lit("").alias("field"),
        F.concat(
            F.lit("the converted record takes about "),
            size.cast("string"),
            F.lit(f" bytes, and the target takes {max_message_bytes}"),
        ).alias("text"),
    ).cast(FAILURE_TYPE)
    does_not_fit = F.col("converted").isNotNull() & (size > max_message_bytes)
    return F.coalesce(F.col("failure"), F.when(does_not_fit, too_large))


def _record_bytes(key: str) -> Column:
    """Return an upper bound of the size of the converted record on the broker, uncompressed."""
    own = F.lit(_RECORD_OVERHEAD_BYTES + _OWN_HEADERS_BYTES)
    names = F.octet_length(F.array_join(F.col("headers")["key"], ""))
    values = F.octet_length(F.array_join(F.col("headers")["value"].cast("array<string>"), ""))
    kept = F.when(F.size("headers") > 0, names + values + F.size("headers") * _HEADER_OVERHEAD_BYTES).otherwise(0)
    return own + _length(key) + _length("converted") + kept


def _length(column: str) -> Column:
    return F.coalesce(F.octet_length(column), F.lit(0))


def explanation() -> list[Column]:
    """Return the headers with the reason, from the column ``problem``, as structs of key and value."""
    return [
        header(headers.ERROR, F.col("problem.code")),
        header(headers.ERROR_FIELD, F.coalesce(F.col("problem.field"), F.lit(""))),
        header(headers.ERROR_TEXT, F.coalesce(F.col("problem.text"), F.lit(""))),
    ]


def header(name: str, text: Column) -> Column:
    """Return a header as a struct of key and value."""
    return F.struct(F.lit(name).alias("key"), text.cast("binary").alias("value"))
