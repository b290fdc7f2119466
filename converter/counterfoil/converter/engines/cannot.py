"""The error of an engine that cannot carry out a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.converter.errors import BridgeError
from counterfoil.schema.formats.avro.schema import AvroSchema

if TYPE_CHECKING:
    from counterfoil.converter.engines.protocol import Conversion
    from counterfoil.schema.parsed import ParsedSchema


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
