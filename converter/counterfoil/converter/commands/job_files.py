"""The files with which a package of a bridge is started: by spark-submit, on Databricks, and on Kubernetes.

The forms are those of spark-submit's ``--help``, of Databricks' API *Jobs* 2.2 (``jobs/create``), and of
``sparkoperator.k8s.io/v1beta2``, the ``SparkApplication`` of Kubeflow's Spark operator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from counterfoil.converter.run.package import MAIN
from counterfoil.converter.spark.options import REQUIRED, shown
from counterfoil.converter.spark.versions import SparkLine

FOLDER: Final = "/opt/bridge"
"""Where the image has the package."""

_PYTHON: Final = "/opt/counterfoil/bin/python"
_GRACE_S: Final = 120
"""How long a batch has to end when a pod is stopped."""

_LONGEST_NAME: Final = 50
"""Kubernetes makes names of services and labels from it, which have at most 63 letters."""


def kubernetes_name(bridge: str) -> str:
    """Return the name of a bridge as Kubernetes permits it: small letters, digits and hyphens, a letter first.

    >>> kubernetes_name("Rides_v2 to v1")
    'bridge-rides-v2-to-v1'
    """
    plain = re.sub(r"[^a-z0-9]+", "-", bridge.lower()).strip("-")
    return f"bridge-{plain}"[:_LONGEST_NAME].rstrip("-")


NOT_LASTING: Final = (
    "The files for Kubernetes and Databricks are left out: --checkpoint names no URI and no absolute folder, as on a\n"
    "volume, so that a job there would begin anew, and write every record again, whenever it is restarted."
)


@dataclass(frozen=True, slots=True)
class JobDescription:
    """The facts of a job in files. ``settings`` are Spark's, without secrets; ``arguments`` are those of the run."""

    bridge: str
    spark_version: str
    line: SparkLine
    connector: str
    image: str
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    is_lasting: bool = True
    """Whether the checkpoint is somewhere else than in the container of a job."""

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return kubernetes_name(self.bridge)

    @property
    def packages(self) -> str:
        """Return the Maven coordinates of the connector, and of what the user adds."""
        return ",".join(filter(None, (self.connector, self.settings.get("spark.jars.packages"))))

    @property
    def conf(self) -> dict[str, str]:
        """Return the settings of Spark that have no place of their own in a file."""
        own = {"spark.sql.session.timeZone": "UTC", **REQUIRED}
        return {**own, **{name: value for name, value in shown(self.settings).items() if name not in _PLACES}}

    def of(self, setting: str, default: str) -> str:
        """Return a setting of Spark, or what it is by default."""
        return self.settings.get(setting, default)


_PLACES: Final = frozenset(
    {
        "spark.jars.packages",
        "spark.driver.memory",
        "spark.driver.cores",
        "spark.executor.memory",
        "spark.executor.cores",
        "spark.executor.instances",
    }
)


def main_script() -> str:
    """Return the program of a package."""
    return '''\
"""Run the bridge of a folder that 'counterfoil bridge package' has written.

main.py [FOLDER] [OPTIONS]: FOLDER is that of this file by default; OPTIONS are those of 'counterfoil bridge run', and
count more than those of settings.json.
"""

import json
import sys
from pathlib import Path

from counterfoil.contracts.cli.run import run
from counterfoil.converter.cli import bridge

given = sys.argv[1:]
folder = Path(given.pop(0)) if given and not given[0].startswith("-") else Path(sys.argv[0]).absolute().parent
settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
options = ["run", str(folder / "bridge.yaml"), "--package", str(folder), *settings["arguments"], *given]
code = run(bridge, options, name="counterfoil bridge")
if code:
    sys.exit(code)
'''


def submit_script(job: JobDescription) -> str:
    """Return a script that submits the package; its arguments are options of spark-submit."""
    options = [
        f"--conf {_quoted(f'{name}={value}')}"
        for name, value in sorted({**shown(job.settings), **job.conf}.items())
        if name != "spark.jars.packages"
    ]
    lines = " \\\n  ".join(options)
    return f"""\
#!/bin/sh
# Submits the bridge in client mode: ./spark-submit.sh --master spark://host:7077
# The options are those of spark-submit. COUNTERFOIL_JARS names a folder with the Kafka connector; without it, the
# connector comes from Maven Central. The driver's Python needs requirements.txt; PYSPARK_PYTHON names it.
set -eu
folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -z "${{COUNTERFOIL_JARS:-}}" ]; then
  set -- --packages {_quoted(job.packages)} "$@"
fi
exec "${{SPARK_SUBMIT:-spark-submit}}" --name {_quoted(job.name)} \\
  {lines} \\
  "$@" "$folder/{MAIN}" "$folder"
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def spark_application(job: JobDescription) -> dict[str, object]:
    """Return the ``SparkApplication`` of the Spark operator, which restarts a bridge that has failed."""
    environment = {
        "env": [{"name": "PYSPARK_PYTHON", "value": _PYTHON}, {"name": "PYSPARK_DRIVER_PYTHON", "value": _PYTHON}],
        "envFrom": [{"secretRef": {"name": f"{job.name}-credentials", "optional": True}}],
    }
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": job.name, "labels": {"app.kubernetes.io/name": "counterfoil-bridge"}},
        "spec": {
            "type": "Python",
            "pythonVersion": "3",
            "mode": "cluster",
            "image": job.image,
            "imagePullPolicy": "IfNotPresent",
            "mainApplicationFile": f"local://{FOLDER}/{MAIN}",
            "arguments": [FOLDER, "--continuous", "--metrics-port", "9108", "--metrics-host", "0.0.0.0"],  # noqa: S104 - inside of a pod
            "sparkVersion": job.spark_version,
            "sparkConf": {"spark.jars.ivy": "/tmp/.ivy2", **job.conf},  # noqa: S108 - of the container
            "deps": {"packages": job.packages.split(",")},
            "restartPolicy": {
                "type": "OnFailure",
                "onFailureRetries": 1000,
                "onFailureRetryInterval": 10,
                "onSubmissionFailureRetries": 10,
                "onSubmissionFailureRetryInterval": 20,
            },
            "driver": {
                "cores": int(job.of("spark.driver.cores", "1")),
                "memory": job.of("spark.driver.memory", "1g"),
                "serviceAccount": "spark",
                "terminationGracePeriodSeconds": _GRACE_S,
                "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9108"},
                **environment,
            },
            "executor": {
                "cores": int(job.of("spark.executor.cores", "1")),
                "instances": int(job.of("spark.executor.instances", "2")),
                "memory": job.of("spark.executor.memory", "1g"),
            },
        },
    }


def databricks_job(job: JobDescription) -> dict[str, object]:
    """Return the request of ``jobs/create``, for a job that runs without an end, one at a time."""
    place = f"/Workspace/Shared/{job.name}"
    return {
        "name": job.name,
        "max_concurrent_runs": 1,
        "continuous": {"pause_status": "PAUSED"},
        "tasks": [
            {
                "task_key": "bridge",
                "spark_python_task": {
                    "python_file": f"{place}/{MAIN}",
                    "source": "WORKSPACE",
                    "parameters": [place, "--continuous"],
                },
                "new_cluster": {
                    "spark_version": job.line.databricks,
                    "node_type_id": "i3.xlarge",
                    "num_workers": int(job.of("spark.executor.instances", "2")),
                    "spark_conf": job.conf,
                },
                "libraries": [{"pypi": {"package": each}} for each in requirements()],
            }
        ],
    }


def requirements() -> list[str]:
    """Return the packages that the driver needs besides PySpark, as pip has them."""
    own = f"counterfoil=={version('counterfoil')}"
    found = [each.partition(";") for each in requires("counterfoil") or ()]
    extra = [name.strip() for name, _, marker in found if re.search(r"extra == ['\"]converter['\"]", marker)]
    return [own, *(each for each in extra if not each.startswith("pyspark"))]


def dockerfile(job: JobDescription) -> str:
    """Return the recipe of the image that the ``SparkApplication`` names."""
    tag = f"{job.spark_version}-scala{job.line.scala}-java17-python3-ubuntu"
    return f"""\
# docker build -t {job.image} .
FROM apache/spark:{tag}
USER root
# The driver needs Python 3.11 or newer; the executors of the engine java need none.
RUN apt-get update && apt-get install -y --no-install-recommends python3.11 python3.11-venv \\
  && rm -rf /var/lib/apt/lists/* && python3.11 -m venv /opt/counterfoil
COPY requirements.txt /tmp/requirements.txt
RUN /opt/counterfoil/bin/pip install --no-cache-dir -r /tmp/requirements.txt
COPY . {FOLDER}
USER spark
"""


def plan_document(job: JobDescription, *, plan_hash: str, engine: str, lines: list[str]) -> str:
    """Return the description of a plan for its package."""
    try:
        made_with = version("counterfoil")
    except PackageNotFoundError:
        made_with = ""
    facts = {"bridge": job.bridge, "hash": plan_hash, "engine": engine, "counterfoil": made_with}
    return json.dumps({**facts, "spark": job.spark_version, "scala": job.line.scala, "plan": lines}, indent=2) + "\n"


def readme(job: JobDescription) -> str:
    """Return how the package is started, in Markdown."""
    databricks = (
        f"import this folder to `/Workspace/Shared/{job.name}`, change `node_type_id` to one of your cloud, create\n"
        "the job (`databricks jobs create --json @databricks.json`), and resume it."
        if job.line.databricks is not None
        else f"no runtime that is known here has Spark {job.line.line}."
    )
    others = f"""\
**Kubernetes**: `docker build -t {job.image} .`, push the image, and `kubectl apply -f sparkapplication.yaml`, where
Kubeflow's Spark operator and a service account `spark` are. A secret `{job.name}-credentials` becomes variables of the
driver.

**Databricks**: {databricks}
"""
    return f"""\
# {job.bridge}

A bridge with its schemas, its plan and its compiled classes, for Spark {job.spark_version} (Scala {job.line.scala}). No
registry is needed to run it; with `COUNTERFOIL_REGISTRY_URL`, new schema ids are looked up and the state of the
bridge is reported. Secrets are not in this folder: give logins as variables (`COUNTERFOIL_KAFKA_CONFIG` names a file
of Kafka's settings).

| file | |
|---|---|
| `main.py`, `settings.json` | the program, and the options of `counterfoil bridge run` that it is given |
| `bridge.yaml`, `schemas.json`, `plan.json` | the bridge, its schemas, its plan; another plan is refused |
| `classes.jar` | the compiled classes; executors need nothing else with the engine java |
| `requirements.txt` | what the Python of the driver needs besides PySpark |

**spark-submit**: `./spark-submit.sh --master spark://host:7077`, in client mode.

{others if job.is_lasting else NOT_LASTING}
"""
