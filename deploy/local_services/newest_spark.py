"""The newest PySpark that the package allows, beside the one in .venv, to run bridges with it.

It is installed once into the cache outside the tree (450 MB), from ``newest_spark.txt``; the jars in ``ivy.xml`` are
for the first version there.
"""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

from local_services.jars import jar_folder
from local_services.packages import package_folder

_REQUIREMENTS = Path(__file__).with_name("newest_spark.txt")


def newest_spark_environment() -> dict[str, str]:
    """Return this process's environment, in which programs import the newest PySpark and find its connectors' jars."""
    folder = package_folder("newest-spark", _REQUIREMENTS, size="450 MB")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
        "SPARK_HOME": str(folder / "pyspark"),
        "COUNTERFOIL_JARS": str(jar_folder("newest-spark")),
    }


def newest_spark_version() -> str:
    """Return the version in ``newest_spark.txt``."""
    lines = _REQUIREMENTS.read_text().splitlines()
    return next(line.split("==")[1].split()[0] for line in lines if line.startswith("pyspark=="))


def connector_jars() -> Path:
    """Return the folder with the connectors' jars of the PySpark that this process imports."""
    is_newest = importlib.metadata.version("pyspark") == newest_spark_version()
    return jar_folder("newest-spark" if is_newest else "spark")
