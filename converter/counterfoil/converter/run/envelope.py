"""The functions of ``Envelope.java`` in a Spark session: whether a record is an echo, and what is sent of it.

They are functions of a catalog, as Spark's data sources may have them: compiled code calls them with Spark's own
values, without making objects of Scala or boxed numbers of them.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.java.generator import packaged
from counterfoil.converter.engines.java.loading import add_classes
from counterfoil.converter.engines.java.source import block, quoted
from counterfoil.converter.kafka import headers
from counterfoil.converter.run import record_size

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from counterfoil.converter.engines.java.generator import JavaSource

_NAMES: Final = ("SOURCE", "PLAN", "VIA", "ERROR", "ERROR_FIELD", "ERROR_TEXT", "TOO_LARGE")
_SIZES: Final = ("RECORD_OVERHEAD_BYTES", "HEADER_OVERHEAD_BYTES", "OWN_HEADERS_BYTES")


def call(session: SparkSession, function: str, *arguments: Column) -> Column:
    """Return the result of a function of ``Envelope.java``; the session gets the functions at the first call."""
    from pyspark.sql.functions import call_function

    source = _source()
    catalog = source.package.replace(".", "_")
    add_classes(session, source)
    session.conf.set(f"spark.sql.catalog.{catalog}", f"{source.package}.Functions")
    return call_function(f"{catalog}.{function}", *arguments)


@cache
def _source() -> JavaSource:
    written = (files("counterfoil.converter.run") / "Envelope.java").read_text(encoding="utf-8")
    names = [f"static final String {name} = {quoted(getattr(headers, name))};" for name in _NAMES]
    sizes = [f"static final int {name} = {getattr(record_size, name)};" for name in _SIZES]
    parts = [written, *block("final class Names", names), *block("final class Sizes", sizes)]
    return packaged("envelope", "\n".join(parts), "Functions")
