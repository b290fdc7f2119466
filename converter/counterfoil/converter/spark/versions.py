"""What differs between the versions of Spark on which bridges run, as one table: :data:`SPARK_LINES`.

What a version needs is from its page *Overview* and the ``setup.py`` of its PySpark; ``make test-spark`` runs the tests
of bridges on :attr:`SparkLine.tested`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from counterfoil.converter.errors import UnsupportedSpark
from counterfoil.schema.errors import MissingExtra

_STREAMING: Final = "org.apache.spark.sql.execution.streaming"


@dataclass(frozen=True, slots=True)
class SparkLine:
    """The versions ``line.*`` of Spark, such as 4.0.0 and 4.0.2 of the line 4.0.

    ``tested`` is the one that the tests run on. ``javas`` are the oldest and the newest Java that Spark's
    documentation names; ``fails_on_java`` is the first one on which it does not start. ``newest_python`` is None
    where every Python that this package runs on will do.
    """

    line: str
    tested: str
    scala: str
    javas: tuple[int, int]
    fails_on_java: int | None
    newest_python: tuple[int, int] | None
    checkpoint_package: str
    """The package of Spark's classes that write checkpoints."""
    databricks: str | None
    """The key of the runtime of Databricks with long-term support that has this line; None: there is none yet."""

    @property
    def connector(self) -> str:
        """Return the name of the Kafka connector's jar, without its version."""
        return f"spark-sql-kafka-0-10_{self.scala}"

    @property
    def beside_connector(self) -> tuple[str, ...]:
        """Return the names of the jars that the connector needs and PySpark does not have, without versions."""
        return (f"spark-token-provider-kafka-0-10_{self.scala}", "kafka-clients", "commons-pool2")


SPARK_LINES: Final = (
    SparkLine(
        line="3.5",
        tested="3.5.7",
        scala="2.12",
        javas=(8, 17),
        fails_on_java=24,
        newest_python=(3, 11),  # it imports distutils, which Python 3.12 no longer has
        checkpoint_package=_STREAMING,
        databricks="16.4.x-scala2.12",
    ),
    SparkLine(
        line="4.0",
        tested="4.0.2",
        scala="2.13",
        javas=(17, 21),
        fails_on_java=24,
        newest_python=None,
        checkpoint_package=_STREAMING,
        databricks="17.3.x-scala2.13",
    ),
    SparkLine(
        line="4.1",
        tested="4.1.1",
        scala="2.13",
        javas=(17, 21),
        fails_on_java=24,
        newest_python=None,
        checkpoint_package=f"{_STREAMING}.checkpointing",
        databricks=None,
    ),
    SparkLine(
        line="4.2",
        tested="4.2.0",
        scala="2.13",
        javas=(17, 25),
        fails_on_java=None,
        newest_python=None,
        checkpoint_package=f"{_STREAMING}.checkpointing",
        databricks=None,
    ),
)
"""The lines of Spark on which bridges run, oldest first."""


def pyspark_version() -> str:
    """Return the version of the PySpark that would run; ``MissingExtra`` when there is none."""
    if find_spec("pyspark") is None:
        raise MissingExtra("A bridge", module="PySpark", extra="converter")
    from pyspark.version import __version__

    return str(__version__)


def spark_line(version: str | None = None) -> SparkLine:
    """Return the line of a version of Spark, by default of the PySpark that would run.

    Raises ``UnsupportedSpark`` for a version without one.

    >>> spark_line("3.5.3").scala
    '2.12'
    """
    found = pyspark_version() if version is None else version
    for each in SPARK_LINES:
        if found == each.line or found.startswith(f"{each.line}."):
            return each
    raise UnsupportedSpark(found, why=f"they run on {SPARK_LINES[0].line} to {SPARK_LINES[-1].line}")


def check_python(
    line: SparkLine, *, python: tuple[int, int] = sys.version_info[:2], has_distutils: bool | None = None
) -> None:
    """Raise ``UnsupportedSpark`` if a Python, by default this one, is too new for a line of PySpark.

    ``setuptools`` brings the module ``distutils``, which is what such a Python lacks.
    """
    newest = line.newest_python
    if newest is None or python <= newest:
        return
    if find_spec("distutils") is None if has_distutils is None else not has_distutils:
        raise UnsupportedSpark(
            line.line,
            why=f"it needs Python {newest[0]}.{newest[1]}, or the package setuptools beside a newer one, and this is "
            f"Python {python[0]}.{python[1]}",
        )
