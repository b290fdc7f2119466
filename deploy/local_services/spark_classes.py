"""Write the archive from which Java processes with Spark load their classes: each starts in half the CPU time.

``python -m local_services.spark_classes`` writes it into the folder of this Python's environment, beside the PySpark
that it belongs to. A Java process for which the archive does not fit does not use it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from counterfoil.converter.errors import MissingPart
from counterfoil.converter.spark.java import archive_options
from counterfoil.converter.spark.start import write_archive

ARCHIVE: Final = Path(sys.prefix) / "spark.jsa"
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a Java process of seconds: its second compiler and parallel collector would take 40 % of the CPU time."""


def java_options() -> str:
    """Return the options for Spark in tests, with the archive if it was written."""
    return f"{SHORT_LIVED} {archive_options(ARCHIVE)}".strip()


if __name__ == "__main__":
    try:
        write_archive(ARCHIVE, {}, java_options=SHORT_LIVED)
    except MissingPart as missing:
        print(missing, file=sys.stderr)
