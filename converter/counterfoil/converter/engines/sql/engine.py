"""The engine ``sql``: the plan as Spark's own expressions, from bytes to bytes.

Every row is read, converted and written by ``from_avro``, SQL and ``to_avro``. A row is *doubtful* when some step does
not certainly return the reference evaluator's value; the reference evaluator converts these rows, and only these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions
from pyspark.sql.avro.functions import from_avro, to_avro

from counterfoil.converter.engines.answers import converted_of, failure_of
from counterfoil.converter.engines.cannot import EngineCannot, require_avro, require_frames
from counterfoil.converter.engines.record import recipe_of
from counterfoil.converter.engines.reference import answer_column
from counterfoil.converter.engines.sql.expressions import Compiler, SqlScope
from counterfoil.converter.engines.sql.text import all_of, binary
from counterfoil.converter.engines.sql.wire import WireReader, check_readable, wire_schema
from counterfoil.schema.evolution import base_schema, base_text, derive_resolution
from counterfoil.schema.evolution.model import BuildRecord
from counterfoil.schema.formats.avro.types import Record
from counterfoil.schema.wire import ID_PREFIX_BYTES, id_prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.schema.evolution.model import ConversionPlan
    from counterfoil.schema.formats.avro.schema import AvroSchema

AVRO_LIMITS: Final[Mapping[str, str]] = {
    "org.apache.avro.limits.string.maxLength": str(16 << 20),
    "org.apache.avro.limits.bytes.maxLength": str(16 << 20),
    "org.apache.avro.limits.collectionItems.maxLength": str(1 << 20),
}
"""Limits of the memory that Spark's Avro reader allocates: otherwise one corrupted byte allocates gigabytes.

Longer values are not lost, since the reference evaluator converts them.
"""

JAVA_OPTIONS: Final = " ".join(f"-D{name}={value}" for name, value in AVRO_LIMITS.items())
"""The limits as options for ``spark.driver.extraJavaOptions`` and ``spark.executor.extraJavaOptions``."""

_BODY: Final = f"substring(value, {ID_PREFIX_BYTES + 1})"


@dataclass(frozen=True)
class _Writer:
    """One schema of written records: the ids in the frames, and the resolution to the source's schema."""

    ids: tuple[int, ...]
    root: Record
    resolution: ConversionPlan
    is_source: bool

    @property
    def is_framed(self) -> str:
        """A condition: the frame names one of the ids."""
        frames = ", ".join(binary(id_prefix(schema_id)) for schema_id in self.ids)
        return f"substring(value, 1, {ID_PREFIX_BYTES}) IN ({frames})"


class SqlEngine:
    """The plan as Spark SQL; raises ``EngineCannot`` if Spark has no exact expression for a part of it."""

    name = "sql"

    def __init__(self, conversion: Conversion) -> None:
        self._recipe = recipe_of(conversion)
        self._lookup = conversion.lookup
        self._plan = conversion.plan
        self._source = _record_of(base_schema(require_avro(self.name, conversion.plan.source)))
        self._target = _record_of(base_schema(require_avro(self.name, conversion.plan.target)))
        check_readable(self._source)
        check_readable(self._target)
        self._writers = _writers(conversion)
        self._prefix = id_prefix(require_frames(self.name, conversion))
        self._is_direct = len(self._writers) == 1 and self._writers[0].is_source
        self._fields, self._sure = self._plan_sql()

    def convert(self, records: DataFrame) -> DataFrame:
        """Return the records with ``converted`` and ``failure``."""
        kept = list(records.columns)
        made = self._made(records)
        lookup = self._lookup() if self._lookup else None
        doubtful = functions.when(functions.col("_made").isNull(), functions.col("value"))
        made = made.withColumn("_answer", answer_column(self._recipe.packed, doubtful, lookup))
        return made.select(
            *kept,
            functions.coalesce(functions.col("_made"), converted_of("_answer")).alias("converted"),
            failure_of("_answer").alias("failure"),
        )

    def doubtful(self, records: DataFrame) -> DataFrame:
        """Return the records that the reference evaluator converts, which takes several times as long."""
        return self._made(records).where("_made IS NULL AND value IS NOT NULL").drop("_made")

    def _made(self, records: DataFrame) -> DataFrame:
        """Return the records with ``_made``, the target's bytes; null for tombstones and doubtful rows."""
        limit_avro(records.sparkSession)
        kept = list(records.columns)
        names = [f"_t{number}" for number in range(len(self._fields))]
        made = self._shaped(records)
        made = made.select(
            *kept,
            *(["_d", "_sound"] if self._is_direct else ["_s"]),
            *(functions.expr(value).alias(name) for name, value in zip(names, self._fields, strict=True)),
        )
        members = zip(names, self._target.fields, strict=True)
        struct = functions.struct(*(functions.col(name).alias(member.name) for name, member in members))
        encoded = functions.concat(functions.lit(bytearray(self._prefix)), to_avro(struct, wire_schema(self._target)))
        return made.select(*kept, functions.when(functions.expr(self._sure), encoded).alias("_made"))

    def _shaped(self, records: DataFrame) -> DataFrame:
        """Add the source value to the records: read (``_d``, ``_sound``) or resolved (``_s``, null if doubtful)."""
        kept = list(records.columns)
        names = [f"_d{number}" for number in range(len(self._writers))]
        if self._is_direct:
            made = records.select(*kept, _read(self._writers[0]).alias("_d"))
            return made.withColumn("_sound", _is_sound(self._writers[0], "_d"))
        made = records.select(
            *kept, *(_read(writer).alias(name) for name, writer in zip(names, self._writers, strict=True))
        )
        shapes = [self._resolved(writer, name) for name, writer in zip(names, self._writers, strict=True)]
        return made.select(*kept, functions.coalesce(*shapes).alias("_s"))

    def _resolved(self, writer: _Writer, name: str) -> Column:
        """Return the source value made of a writer's, null when doubtful."""
        compiler = Compiler(is_wire=True, enum_as_number=False)
        code = compiler.compile(writer.resolution.root, self._source, SqlScope(writer.root, name), "")
        sure = functions.expr(f"coalesce({all_of(list(code.conditions))}, false)")
        return functions.when(_is_sound(writer, name) & sure, functions.expr(code.value))

    def _plan_sql(self) -> tuple[list[str], str]:
        """Return the expression of each target field, and the condition that all are certain (``_t0`` and so on)."""
        compiler = Compiler(is_wire=self._is_direct, enum_as_number=True)
        scope = SqlScope(self._source, "_d" if self._is_direct else "_s")
        root = self._plan.root
        op_by_name = dict(root.fields) if isinstance(root, BuildRecord) else {}  # it is one: the target is a record
        values, conditions = [], ["_sound" if self._is_direct else "_s IS NOT NULL"]
        for number, member in enumerate(self._target.fields):
            code = compiler.compile(op_by_name[member.name], member.type, scope, member.name)
            values.append(code.value)
            present = f"_t{number} IS NOT NULL"
            conditions.append(present if code.null_when is None else f"{present} OR {code.null_when}")
            conditions += code.conditions
        return values, f"coalesce({all_of(conditions)}, false)"


def _read(writer: _Writer) -> Column:
    """Return the value read with the wire schema; null for other frames, a record of nulls for unreadable bytes."""
    read = from_avro(functions.expr(_BODY), wire_schema(writer.root), {"mode": "PERMISSIVE"})
    return functions.when(functions.expr(writer.is_framed), read)


def _is_sound(writer: _Writer, name: str) -> Column:
    """Return a condition, true or false: the column ``name`` is the value of exactly these bytes."""
    reader = WireReader()
    again = functions.when(
        functions.expr(reader.is_read(writer.root, name)), to_avro(functions.col(name), wire_schema(writer.root))
    )
    sound = functions.expr(reader.is_sound(writer.root, name))
    return functions.coalesce((again == functions.expr(_BODY)) & sound, functions.expr("false"))


def _writers(conversion: Conversion) -> tuple[_Writer, ...]:
    """Return the schemas of written records; ids with equal schemas are grouped."""
    source_text = base_text(require_avro("sql", conversion.plan.source).root)
    ids_by_text: dict[str, list[int]] = {}
    schema_by_text: dict[str, AvroSchema] = {}
    for schema_id, written in sorted(conversion.writer_by_id.items()):
        schema = require_avro("sql", written)
        text = base_text(schema.root)
        ids_by_text.setdefault(text, []).append(schema_id)
        schema_by_text.setdefault(text, schema)
    source = base_schema(require_avro("sql", conversion.plan.source))
    writers = []
    for text, schema in schema_by_text.items():
        base = base_schema(schema)
        root = _record_of(base)
        check_readable(root)
        resolution = derive_resolution(base, source)
        for problem in resolution.problems:
            raise EngineCannot("sql", field=f"{problem.field} (schema id {ids_by_text[text][0]})", why=problem.text)
        writers.append(_Writer(tuple(ids_by_text[text]), root, resolution, text == source_text))
    return tuple(writers)


def _record_of(schema: AvroSchema) -> Record:
    if not isinstance(schema.root, Record):
        raise EngineCannot("sql", field="", why="the top-level type is no record")
    return schema.root


def limit_avro(spark: SparkSession) -> None:
    """Set ``AVRO_LIMITS`` in the driver's JVM, if there is one and the limits are not set.

    In local mode tasks run in the same JVM; a cluster's executors need ``JAVA_OPTIONS`` when they start.
    """
    gateway = getattr(spark, "_jvm", None)
    if gateway is None:  # Spark Connect: the limits are options of the server
        return
    system = gateway.java.lang.System
    for name, value in AVRO_LIMITS.items():
        if system.getProperty(name) is None:
            system.setProperty(name, value)
