"""Fields that a value may leave out although they have no default: those that may be null, as for confluent-kafka."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from counterfoil.schema.formats.avro.types import NO_DEFAULT, Array, Kind, Map, Record, Union

if TYPE_CHECKING:
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field


def with_null_for_missing(schema: AvroSchema) -> AvroSchema:
    """Return the schema with the default null for each field that has no default and may be null.

    It is for writing values alone: it is never registered, and its text is that of ``schema``.
    """
    found = copy(schema)
    found.root = _Copying().copied(schema.root)
    return found


class _Copying:
    """One walk over a type tree; a record is copied once, since it may contain itself."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}

    def copied(self, avro_type: AvroType) -> AvroType:
        match avro_type:
            case Record():
                return self._record(avro_type)
            case Union():
                union = copy(avro_type)
                union.branches = [self.copied(branch) for branch in avro_type.branches]
                return union
            case Array():
                array = copy(avro_type)
                array.items = self.copied(avro_type.items)
                return array
            case Map():
                values = copy(avro_type)
                values.values = self.copied(avro_type.values)
                return values
            case _:
                return avro_type

    def _record(self, record: Record) -> Record:
        known = self._records.get(id(record))
        if known is None:
            known = self._records[id(record)] = copy(record)
            known.fields = [self._field(field) for field in record.fields]
        return known

    def _field(self, field: Field) -> Field:
        found = copy(field)
        found.type = self.copied(field.type)
        if field.default is NO_DEFAULT and _may_be_null(field.type):
            found.default = None
        return found


def _may_be_null(avro_type: AvroType) -> bool:
    branches = avro_type.branches if isinstance(avro_type, Union) else [avro_type]
    return any(branch.kind is Kind.NULL for branch in branches)
