"""Apache Avro for Java, as PySpark contains it: the class path for programs that use it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from local_services.jars import JarsUnavailableError

_JARS: Final = (
    "avro-[0-9]*.jar",
    "jackson-annotations-2*.jar",
    "jackson-core-2*.jar",
    "jackson-databind-2*.jar",
    "commons-compress-*.jar",
    "slf4j-api-*.jar",
)


def avro_class_path() -> str:
    """Return the class path for ``java -cp`` with Apache Avro and Jackson; nothing is downloaded.

    Raises ``JarsUnavailableError`` with the missing jar, or if PySpark is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsUnavailableError('PySpark is not installed: pip install "counterfoil[converter]"')
    folder = Path(spec.origin).parent / "jars"
    found = []
    for pattern in _JARS:
        matching = sorted(folder.glob(pattern))
        if not matching:
            raise JarsUnavailableError(f"PySpark at {folder.parent} ships no {pattern}")
        found.append(str(matching[-1]))
    return os.pathsep.join(found)
