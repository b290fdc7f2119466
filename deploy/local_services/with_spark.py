"""``python -m local_services.with_spark VERSION PROGRAM ...`` runs a program with one of the PySparks for tests.

``VERSION`` is ``oldest`` (the one in .venv), ``newest``, or the version of one of these two.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys

from local_services.newest_spark import newest_spark_environment, newest_spark_version


def _environment_of(version: str) -> dict[str, str]:
    """Return the environment of programs that run with this version; ``SystemExit`` names the versions there are."""
    oldest = importlib.metadata.version("pyspark")
    newest = newest_spark_version()
    if version in {"oldest", oldest}:
        return dict(os.environ)
    if version in {"newest", newest}:
        return newest_spark_environment()
    raise SystemExit(f"PySpark {version!r} is not installed for tests; expected oldest ({oldest}) or newest ({newest})")


if __name__ == "__main__":
    os.execvpe(sys.argv[2], sys.argv[2:], _environment_of(sys.argv[1]))  # noqa: S606 - the program of the command line
