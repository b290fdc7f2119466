"""The decoder of another project: fastavro, which writes a datum and reads it with the reader's schema.

Source of the behaviour: fastavro's ``schemaless_writer`` and ``schemaless_reader``.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.excerpt import excerpt

_LONGEST_MESSAGE: Final = 20_000
_INVENTED_NAMESPACE: Final = re.compile(r"\b_\d*\.")


class DecoderRefuses(CounterfoilError):
    """The error for a schema or a datum that fastavro cannot process; it proves nothing about the reader."""


def prepared(schema: Any) -> Any:
    """Return ``schema`` parsed for repeated use; raise ``DecoderRefuses`` if fastavro does not accept it."""
    import fastavro

    try:
        return fastavro.parse_schema(schema)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not take the schema: {quote(refused)}") from refused


def write(datum: Any, schema: Any) -> bytes:
    """Return the Avro binary encoding of ``datum`` under a schema.

    Raises ``DecoderRefuses`` if fastavro does not accept it.
    """
    import fastavro

    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, datum)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not write it: {quote(refused)}") from refused
    return out.getvalue()


def failure_to_read(body: bytes, writer: Any, reader: Any | None = None) -> str | None:
    """Return fastavro's message why a reader with the schema ``reader`` cannot read ``body``; None if it can.

    Only a failed schema resolution counts. For any other exception of fastavro, raises ``DecoderRefuses``.
    """
    return resolve(body, writer, reader)[1]


def resolve(body: bytes, writer: Any, reader: Any | None = None) -> tuple[Any, str | None]:
    """Return the datum that a reader with the schema ``reader`` gets from ``body``, and None.

    If it cannot read ``body``, None and the reason.
    """
    import fastavro
    from fastavro.read import SchemaResolutionError

    try:
        return fastavro.schemaless_reader(io.BytesIO(body), writer, reader), None
    except SchemaResolutionError as failure:
        return None, quote(failure)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not read it: {quote(refused)}") from refused


def failure_to_decode(body: bytes, schema: Any) -> str | None:
    """Return fastavro's message why ``body`` cannot be decoded with ``schema``; None if it can."""
    import fastavro

    try:
        fastavro.schemaless_reader(io.BytesIO(body), schema, None)
    except UnicodeDecodeError as failure:
        return quote(failure)
    return None


@cache
def decoder_name() -> str:
    """Return the decoder and its version, such as ``fastavro 1.10.0``."""
    import fastavro

    return f"fastavro {fastavro.__version__}"


def quote(exception: Exception) -> str:
    """Return the message of an exception on one line, shortened."""
    text = f"{type(exception).__name__}: {exception}"[:_LONGEST_MESSAGE]  # some quote both schemas
    return excerpt(_INVENTED_NAMESPACE.sub("", " ".join(text.split())), 200)
