"""fastavro, the decoder that is not ours: it writes a datum and says whether a reader can read it.

Source of the behaviour: fastavro's ``schemaless_writer`` and ``schemaless_reader``.
"""

from __future__ import annotations

import io
import re
from functools import cache
from typing import Any, Final

from counterfoil.schema.errors import CounterfoilError

_QUOTED_LENGTH: Final = 200
_INVENTED_NAMESPACE: Final = re.compile(r"\b_\d*\.")


class DecoderRefuses(CounterfoilError):
    """fastavro cannot work with a schema or a datum at all, which proves nothing about the reader."""


def prepared(schema: Any) -> Any:
    """``schema`` read once, for many data; ``DecoderRefuses`` when fastavro does not take it."""
    import fastavro

    try:
        return fastavro.parse_schema(schema)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not take the schema: {quote(refused)}") from refused


def write(datum: Any, schema: Any) -> bytes:
    """Return the Avro binary encoding of ``datum`` under a schema.

    ``DecoderRefuses`` when fastavro does not take it.
    """
    import fastavro

    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, datum)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not write it: {quote(refused)}") from refused
    return out.getvalue()


def failure_to_read(body: bytes, writer: Any, reader: Any | None = None) -> str | None:
    """Return why a reader with schema ``reader`` cannot read ``body``, in fastavro's words; None when it reads it.

    Only a failed schema resolution counts. Anything else that fastavro raises is a ``DecoderRefuses``.
    """
    return resolve(body, writer, reader)[1]


def resolve(body: bytes, writer: Any, reader: Any | None = None) -> tuple[Any, str | None]:
    """Return what a reader with schema ``reader`` has of ``body``, and None.

    None and why it cannot read it otherwise.
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
    """Return why ``body`` cannot be read by ``schema`` itself, in fastavro's words; None when it is read."""
    import fastavro

    try:
        fastavro.schemaless_reader(io.BytesIO(body), schema, None)
    except UnicodeDecodeError as failure:
        return quote(failure)
    return None


@cache
def decoder_name() -> str:
    """Return the decoder and its version, such as ``fastavro 1.10.0``."""
    from importlib.metadata import version

    return f"fastavro {version('fastavro')}"


def quote(exception: Exception) -> str:
    """Return what an exception says, on one line, no longer than people read."""
    text = _INVENTED_NAMESPACE.sub("", " ".join(f"{type(exception).__name__}: {exception}".split()))
    return text if len(text) <= _QUOTED_LENGTH else f"{text[:_QUOTED_LENGTH]}…"
