"""The interface of engines, and the error of one that cannot carry out a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.converter.errors import BridgeError
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from counterfoil.converter.engines.lookup import WriterLookup
    from counterfoil.schema.plans.model import ConversionPlan


# The interface of engines.
#
# Every engine turns the records of Spark's Kafka source into the same records with two more columns; the bytes are the
# same for every engine. The meaning is that of :func:`counterfoil.schema.plans.evaluate`.

RECORD_COLUMNS: Final = (
    "key",
    "value",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)
"""The columns of Spark's Kafka source with ``includeHeaders``, in its order."""

FAILURE_TYPE: Final = "struct<code: string, field: string, text: string>"
"""The type of the column ``failure``, as Spark's DDL spells it."""


CONVERTED_KEY: Final = "converted_key"
"""The column with the new keys, which only an engine that converts keys adds."""

KEY: Final = "$key"
"""The field of a failure that is about the key; fields inside it follow after a dot."""


@dataclass(frozen=True)
class Conversion:
    """Everything that an engine is made of: ``JavaEngine(conversion)``, ``ReferenceEngine(conversion)``.

    ``writer_by_id`` holds every schema that a record may have been written with, by the id in its frame; each is
    resolved to the plan's source shape first. ``target_id`` is the one id in the frame of converted values; None: they
    have no frame. ``unframed_id`` is the schema with which values without a frame are read; None: values are framed.
    ``lookup`` returns where executors request the conversion of other ids; it is called when the query is made. Without
    it, records of other ids are dead letters.
    """

    plan: ConversionPlan
    writer_by_id: Mapping[int, ParsedSchema]
    target_id: int | None
    unframed_id: int | None = None
    lookup: Callable[[], WriterLookup] | None = field(default=None, kw_only=True, compare=False)


class Engine(Protocol):
    """One way to run a plan over a stream."""

    @property
    def name(self) -> str:
        """The engine's name in ``--engine``."""

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records, each with its converted value or its failure.

        ``records`` has ``RECORD_COLUMNS``. The result has the same rows and columns in the same order, and after them
        ``converted: binary`` (the new value, framed with the target id) and ``failure`` (``FAILURE_TYPE``). Exactly
        one of the two is set, except for a tombstone (``value`` null), where both are null. It must not shuffle:
        rows stay in the order and the task in which they came. An engine that converts keys adds ``CONVERTED_KEY``.
        """


# The error of an engine that cannot carry out a plan.


class EngineCannot(BridgeError):
    """The engine cannot carry out this plan exactly.

    ``field`` is the place in the source or target schema (empty for the whole), ``why`` the reason. The ``reference``
    engine can carry out every plan.
    """

    def __init__(self, engine: str, *, field: str, why: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"The {engine} engine cannot do this plan: {where}{why}; use --engine reference")
        self.engine = engine
        self.field = field
        self.why = why


def require_avro(engine: str, schema: ParsedSchema) -> AvroSchema:
    """Return an Avro schema; raise ``EngineCannot`` for a schema of another language."""
    if not isinstance(schema, AvroSchema):
        raise EngineCannot(engine, field="", why=f"it converts Avro, and one of the schemas is {schema.schema_type}")
    return schema


def require_frames(engine: str, conversion: Conversion) -> int:
    """Return the schema id of converted values; raise ``EngineCannot`` if values of a topic have no frame."""
    if conversion.target_id is None or conversion.unframed_id is not None:
        raise EngineCannot(engine, field="", why="the values of a topic have no schema id (framing: none)")
    return conversion.target_id
