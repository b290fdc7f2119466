"""The newest PySpark that the package allows, beside the one in .venv, to run bridges with it.

It is installed once into the cache outside the tree (450 MB), from ``newest_spark.txt``; the jars in ``ivy.xml`` are
for the first version there.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

from local_services.cache import kept_folder
from local_services.jars import jar_folder
from local_services.process import ServiceError

_REQUIREMENTS = Path(__file__).with_name("newest_spark.txt")
_INSTALL_DEADLINE_S = 900


def newest_spark_environment() -> dict[str, str]:
    """Return this process's environment, in which programs import the newest PySpark and find its connectors' jars."""
    folder = _installed()
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


def _installed() -> Path:
    """Return the folder with the packages, installed first if it is missing."""
    version = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    return kept_folder("newest-spark", version, make=_install)


def _install(folder: Path) -> None:
    """Install into a folder beside ``folder``, and rename that when it is complete."""
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    print(f"Installing PySpark {newest_spark_version()} (450 MB, once) into {folder}", file=sys.stderr)
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--python", sys.executable]
    command += ["--target", str(unfinished), "-r", str(_REQUIREMENTS)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_DEADLINE_S, check=False)
        if done.returncode:
            raise ServiceError(f"PySpark {newest_spark_version()} could not be installed:\n{done.stderr}")
        unfinished.rename(folder)
    except subprocess.TimeoutExpired:
        raise ServiceError(f"PySpark {newest_spark_version()} was not installed in {_INSTALL_DEADLINE_S} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
