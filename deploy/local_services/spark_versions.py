"""The PySparks that bridges are tested on: one of each line in ``counterfoil.converter.spark.versions``.

That of ``constraints.txt`` is in .venv; each other one is installed once into the cache outside the tree (about 450
MB), from its file in the folder ``spark``. The jars of their connectors are those of ``spark_connectors.xml``.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from typing import Final

from counterfoil.converter.spark.versions import SPARK_LINES
from local_services.jars import connector_jars_of
from local_services.packages import package_folder

TESTED_SPARKS: Final = tuple(each.tested for each in SPARK_LINES)
"""The versions, oldest first."""

_REQUIREMENTS: Final = Path(__file__).with_name("spark")


def spark_environment(version: str) -> dict[str, str]:
    """Return this process's environment, in which programs import a PySpark and find its connectors' jars."""
    environment = {**os.environ, "COUNTERFOIL_JARS": str(connector_jars_of(version))}
    if version == importlib.metadata.version("pyspark"):
        return environment
    folder = package_folder("spark", _REQUIREMENTS / f"{version}.txt", size="450 MB")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return {**environment, "PYTHONPATH": path, "SPARK_HOME": str(folder / "pyspark")}


def connector_jars() -> Path:
    """Return the folder with the connectors' jars of the PySpark that this process imports."""
    return connector_jars_of(importlib.metadata.version("pyspark"))
