"""The archive from which a Java process loads Spark's classes: Spark starts in about half the CPU time with it.

``counterfoil bridge prepare`` writes it to the cache folder, and later sessions use it. Java itself ignores an archive
that was written by another Java or with other jars.
"""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

from counterfoil.converter.spark.java import check_java
from counterfoil.schema.errors import MissingExtra


def pyspark_version() -> str:
    """Return the version of the PySpark that would run; ``MissingExtra`` when there is none."""
    if find_spec("pyspark") is None:
        raise MissingExtra("A bridge", module="PySpark", extra="converter")
    from pyspark.version import __version__

    return str(__version__)


def archive_file() -> Path:
    """Return the path of the archive of this Java and this PySpark, which need not exist.

    It is in ``$COUNTERFOIL_CACHE``, else ``$XDG_CACHE_HOME/counterfoil``, else ``~/.cache/counterfoil``.
    """
    own, shared = os.environ.get("COUNTERFOIL_CACHE"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(own) if own else Path(shared or Path.home() / ".cache") / "counterfoil"
    java = hashlib.sha256(os.path.realpath(check_java()).encode()).hexdigest()[:8]
    return folder / f"spark-{pyspark_version()}-java-{java}.jsa"


def archive_options(archive: Path) -> str:
    """Return the options of Java with which classes are loaded from an archive; none if it does not exist."""
    return f"-XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else ""
