"""Fetch the jars of Spark's connectors, of a Kafka broker and of PostgreSQL, once, through the Ivy that PySpark ships.

They lie in a cache outside the tree: ``$COUNTERFOIL_CACHE``, else ``$XDG_CACHE_HOME/counterfoil``, else
``~/.cache/counterfoil``; one folder for each content of ``ivy.xml``, so that a changed version is fetched anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from counterfoil.converter.java import check_java

_IVY_FILE = Path(__file__).with_name("ivy.xml")
_FETCH_DEADLINE_S = 900
_SHOWN_LINES = 15

JarSet = Literal["spark", "newest-spark", "broker", "postgres", "confluent"]
_CONTENTS: Final[dict[JarSet, str]] = {
    "spark": "the jars of Spark's connectors (10 MB",
    "newest-spark": "the jars of the newest Spark's connectors (10 MB",
    "broker": "the jars of a Kafka broker (44 MB",
    "postgres": "PostgreSQL's programs (12 MB",
    "confluent": "Confluent's Java client (26 MB",
}


class JarsUnavailableError(RuntimeError):
    """The jars could not be fetched; the message ends with what Ivy said."""


def cache_folder() -> Path:
    """Where downloads are kept between runs, created if need be."""
    own = os.environ.get("COUNTERFOIL_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "counterfoil"
    base.mkdir(parents=True, exist_ok=True)
    return base


def jar_folder(jars: JarSet) -> Path:
    """The folder that holds one set of jars, fetched first if it is not there."""
    version = hashlib.sha256(_IVY_FILE.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / "jars" / version / jars
    if not folder.is_dir():
        with (cache_folder() / "jars.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs at once fetch once
            if not folder.is_dir():
                _fetch(jars, folder)
    return folder


def _fetch(jars: JarSet, folder: Path) -> None:
    """Retrieve one set beside ``folder`` and move it there whole."""
    unfinished = folder.with_name(f"{jars}.{os.getpid()}")
    print(f"Fetching {_CONTENTS[jars]}, once) into {folder}", file=sys.stderr)
    command = [
        check_java(),
        "-cp",
        str(_ivy_jar()),
        "org.apache.ivy.Main",
        "-ivy",
        str(_IVY_FILE),
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


if __name__ == "__main__":
    for each in ("spark", "broker"):
        print(jar_folder(each))
