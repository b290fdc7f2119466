"""Download the jars of Spark's connectors, of a Kafka broker and of PostgreSQL, once, with the Ivy in PySpark.

They are in the cache outside the tree, in one folder for each content of ``ivy.xml`` and ``spark_connectors.xml``, so
that a changed version is downloaded again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from counterfoil.converter.spark.java import check_java
from local_services.cache import cache_folder, kept_folder

_IVY_FILE = Path(__file__).with_name("ivy.xml")
_CONNECTORS = Path(__file__).with_name("spark_connectors.xml")
_FETCH_DEADLINE_S = 900
_SHOWN_LINES = 15

JarSet = Literal["broker", "postgres", "confluent"]
_CONTENTS: Final[dict[JarSet, str]] = {
    "broker": "the jars of a Kafka broker (44 MB",
    "postgres": "PostgreSQL's programs (12 MB",
    "confluent": "Confluent's Java client (26 MB",
}


class JarsUnavailableError(RuntimeError):
    """The jars could not be downloaded; the message ends with Ivy's output."""


def jar_folder(jars: JarSet) -> Path:
    """Return the folder with one set of jars, which is downloaded first if it is missing."""
    return _folder(_IVY_FILE, jars, _CONTENTS[jars])


def connector_jars_of(version: str) -> Path:
    """Return the folder with the connectors of a version of Spark, downloaded first if they are missing."""
    return _folder(_CONNECTORS, version, f"the connectors of Spark {version} (10 MB")


def _folder(ivy_file: Path, jars: str, content: str) -> Path:
    digest = hashlib.sha256(ivy_file.read_bytes()).hexdigest()[:12]
    return kept_folder("jars", digest, jars, make=partial(_fetch, ivy_file, jars, content))


def _fetch(ivy_file: Path, jars: str, content: str, folder: Path) -> None:
    """Download one set into a folder beside ``folder``, and rename that when it is complete."""
    unfinished = folder.with_name(f"{jars}.{os.getpid()}")
    print(f"Fetching {content}, once) into {folder}", file=sys.stderr)
    command = [
        check_java(),
        "-cp",
        str(_ivy_jar()),
        "org.apache.ivy.Main",
        "-ivy",
        str(ivy_file),
        "-cache",
        str(cache_folder() / "ivy"),
        "-confs",
        jars,
        "-types",
        "jar",
        "bundle",
        "-retrieve",
        f"{unfinished}/[artifact]-[revision](-[classifier]).[ext]",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_DEADLINE_S, check=False)
        said = done.stdout + done.stderr
        if done.returncode or not any(unfinished.glob("*.jar")):
            raise JarsUnavailableError(
                "\n".join(["The jars could not be fetched:", *said.splitlines()[-_SHOWN_LINES:]])
            )
        unfinished.rename(folder)
    except subprocess.TimeoutExpired:
        raise JarsUnavailableError(f"The jars could not be fetched within {_FETCH_DEADLINE_S} s") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsUnavailableError('PySpark is not installed: pip install "counterfoil[converter]"')
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarsUnavailableError(f"PySpark at {Path(spec.origin).parent} ships no Ivy")
    return found[-1]
