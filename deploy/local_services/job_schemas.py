"""Judges of the files that start jobs: the models that Kubeflow and Databricks publish of them.

They are installed into the cache where they are first needed (``job_schemas.txt``). Run as a program with the name of a
judge, this module reads a document from standard input, and prints what the models do not have of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from local_services.packages import package_folder
from local_services.process import ServiceError

_REQUIREMENTS: Final = Path(__file__).with_name("job_schemas.txt")
_DEADLINE_S: Final = 300


def violations(judge: Literal["kubernetes", "databricks"], document: object) -> list[str]:
    """Return what is wrong with a document, one sentence each."""
    folder = package_folder("job-schemas", _REQUIREMENTS, size="40 MB")
    done = subprocess.run(
        [sys.executable, "-m", "local_services.job_schemas", judge],
        input=json.dumps(document),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[1]}"},
    )
    if done.returncode:
        raise ServiceError(f"The judge {judge} has failed:\n{done.stderr}")
    found: list[str] = json.loads(done.stdout)
    return found


def _main(judge: str) -> None:
    document = json.load(sys.stdin)
    try:
        read = _as_kubernetes(document) if judge == "kubernetes" else _as_databricks(document)
    except (ValueError, TypeError, AttributeError, KeyError) as mistake:
        print(json.dumps([" ".join(str(mistake).split())]))
        return
    print(json.dumps(list(_differences("", document, read))))


def _as_kubernetes(document: Any) -> Any:
    from kubeflow_spark_api.models.spark_v1beta2_spark_application import SparkV1beta2SparkApplication

    read = SparkV1beta2SparkApplication.from_dict(document)
    return read.to_dict() if read is not None else None


def _as_databricks(document: Any) -> Any:
    from databricks.sdk.service.jobs import JobSettings

    return JobSettings.from_dict(document).as_dict()


def _differences(place: str, given: Any, read: Any) -> Iterator[str]:
    """Yield what of a document the models have not read, or otherwise."""
    if isinstance(given, dict) and isinstance(read, dict):
        for name, value in given.items():
            if name not in read:
                yield f"{place}.{name} is not known"
            else:
                yield from _differences(f"{place}.{name}", value, read[name])
    elif isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        for number, pair in enumerate(zip(given, read, strict=True)):
            yield from _differences(f"{place}[{number}]", *pair)
    elif given != read or type(given) is not type(read):
        yield f"{place} is {given!r} and was read as {read!r}"


if __name__ == "__main__":
    _main(sys.argv[1])
