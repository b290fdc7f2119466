"""Arrow tables of batches of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterfoil.sdk.errors import SerdeError

if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence

    from counterfoil.sdk.serde.records import Record, RecordReader


def table_of(
    deserializer: RecordReader[Any],
    records: Sequence[Record],
    *,
    schema: pa.Schema,
    errors: MutableMapping[int, SerdeError],
    topic: str | None = None,
) -> pa.Table:
    """Return a row for each record, in order; a row of nulls for None, and where ``errors`` gets the record's error."""
    values = deserializer.many(records, topic=topic)
    errors.update({row: value for row, value in enumerate(values) if isinstance(value, SerdeError)})
    rows = [value if isinstance(value, dict) else {} for value in values]
    return pa.Table.from_pylist(rows, schema=schema)
