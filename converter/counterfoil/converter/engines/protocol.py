"""The interface of engines, and how executors request the conversion of records whose schema is new to them."""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from counterfoil.converter.errors import BridgeError
from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.parsed import ParsedSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from counterfoil.schema.plans.model import ConversionPlan


# The interface of engines, and the error of one that cannot carry out a plan.

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


# How executors request, from the driver, the conversion of records whose schema id was registered after the start.
#
# A task that reads an unknown schema id waits for the answer of the driver: what converts records of this id, or that
# they are dead letters, or that the run ends. So no record is written before its id is decided, order is kept, and the
# query goes on without a restart. :mod:`counterfoil.converter.run.writers` is the driver's part.
#
# A request is the letters of a form and of key or value, the id, and their signature; an answer is the letter of an
# outcome, the length of a content, the content, and a signature of the request and all this. Both sides sign with a
# secret that executors get with the query, so that nobody else can send them code.

REQUEST_BYTES: Final = 6
SIGNATURE_BYTES: Final = 32
_HEAD_BYTES: Final = 5
_CACHE_BYTES: Final = 64 * 1024 * 1024
_BYTES_AN_ID: Final = 300
_TIMEOUT_S: Final = 180
"""Longer than the driver waits for the registry."""


class RecipeForm(Enum):
    """What executors need to convert records of one id."""

    JAVA = b"J"
    """Compiled classes, for the engine ``java``."""
    RECIPE = b"R"
    """A packed recipe, for the reference evaluator."""


class Half(Enum):
    """Which part of a record an id was read from; keys are converted by a plan of their own."""

    KEY = b"K"
    VALUE = b"V"


class LookupOutcome(Enum):
    """What becomes of the records of an id."""

    CONVERT = b"C"
    """The content is what converts them."""
    DEAD_LETTER = b"D"
    """They are dead letters."""
    STOP = b"S"
    """The run ends; the content is the reason, as a sentence."""


class UnknownIdStop(RuntimeError):
    """The run ends because of a schema id that it cannot convert."""


@dataclass(frozen=True)
class WriterLookup:
    """The address at which the driver answers, and the secret of its run; ``half`` is what its user converts."""

    host: str
    port: int
    secret: str = field(repr=False)
    half: Half = Half.VALUE

    def sign(self, content: bytes) -> bytes:
        """Return the signature of a content."""
        return hmac.digest(self.secret.encode(), content, hashlib.sha256)

    def is_signed(self, content: bytes, signature: bytes) -> bool:
        """Return whether the signature is that of the content."""
        return hmac.compare_digest(self.sign(content), signature)

    def request(self, form: RecipeForm, schema_id: int) -> bytes:
        """Return the bytes of a request."""
        request = form.value + self.half.value + schema_id.to_bytes(4)
        return request + self.sign(request)

    def answer(self, request: bytes, outcome: LookupOutcome, content: bytes) -> bytes:
        """Return the bytes of an answer."""
        answer = outcome.value + len(content).to_bytes(4) + content
        return answer + self.sign(request + answer)


@cached_by_size(_CACHE_BYTES, size_of=lambda recipe, *_: len(recipe or b"") + _BYTES_AN_ID)
def recipe_from_driver(lookup: WriterLookup, schema_id: int) -> bytes | None:
    """Return the packed recipe for records of an id, or None if they are dead letters.

    It is requested once, unless those of very many other ids were requested since.

    Raises ``UnknownIdStop`` if the run ends, and ``OSError`` if the driver does not answer.
    """
    request = lookup.request(RecipeForm.RECIPE, schema_id)
    with socket.create_connection((lookup.host, lookup.port), _TIMEOUT_S) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answers:
            outcome, content = _read_answer(lookup, request[:REQUEST_BYTES], answers)
    if outcome is LookupOutcome.STOP:
        raise UnknownIdStop(content.decode())
    return content if outcome is LookupOutcome.CONVERT else None


def _read_answer(lookup: WriterLookup, request: bytes, answers: BinaryIO) -> tuple[LookupOutcome, bytes]:
    head = answers.read(_HEAD_BYTES)
    content = answers.read(int.from_bytes(head[1:]))
    if not lookup.is_signed(request + head + content, answers.read(SIGNATURE_BYTES)):
        raise ConnectionError("the answer about a schema id does not come from the driver of this run")
    return LookupOutcome(head[:1]), content
