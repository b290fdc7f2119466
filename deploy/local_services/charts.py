"""Helm charts, rendered by Helm itself, and Kubernetes' schemas of what it rendered, without a cluster or a network.

Helm is a library of the Python package helm-python-sdk; kubernetes-validate brings the schemas of thirteen versions.
Both are large, and installed into the cache where a chart is first rendered (``charts.txt``). Run as a program with the
folder of a chart, this module reads cases from standard input and prints their results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from local_services.packages import package_folder
from local_services.process import ServiceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_REQUIREMENTS: Final = Path(__file__).with_name("charts.txt")
_DEADLINE_S: Final = 300
KUBERNETES_VERSIONS: Final = ("1.25", "1.37")
"""The oldest and the newest version whose schemas are there."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What Helm made of a chart with some values: ``documents`` by template, or the ``error`` that ended it.

    ``findings`` are those of ``helm lint``, and violations of Kubernetes' schemas.
    """

    documents: Mapping[str, list[dict[str, Any]]]
    findings: list[str]
    error: str = ""

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """Return the documents of one kind."""
        return [each for documents in self.documents.values() for each in documents if each["kind"] == kind]


def render(chart: Path, cases: Mapping[str, Mapping[str, Any]]) -> dict[str, Rendered]:
    """Return what the chart becomes with each case's values, as a release named ``registry``."""
    folder = package_folder("charts", _REQUIREMENTS, size="350 MB")
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[1]}"}
    done = subprocess.run(
        [sys.executable, "-m", "local_services.charts", str(chart)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise ServiceError(f"The chart could not be rendered:\n{done.stdout}{done.stderr}")
    return {name: Rendered(**result) for name, result in json.loads(done.stdout).items()}


def _main(chart: str) -> None:
    from helm_python.chart import Chart

    cases: dict[str, dict[str, Any]] = json.load(sys.stdin)
    with Chart.load(chart) as loaded:
        print(json.dumps({name: _rendered(chart, loaded, values) for name, values in cases.items()}))


def _rendered(path: str, chart: Any, values: dict[str, Any]) -> dict[str, Any]:
    import yaml
    from helm_python.chart import lint
    from helm_python.errors import HelmError

    try:
        chart.validate_schema(values)
        texts = chart.render(values, name="registry", namespace="schemas")
    except HelmError as error:
        return {"documents": {}, "findings": [], "error": str(error)}
    documents = {
        name.rpartition("/")[2]: [each for each in yaml.safe_load_all(text) if each]
        for name, text in texts.items()
        if name.endswith(".yaml")
    }
    report = lint(path, values, strict=True)
    findings = [f"{each['path']}: {each['error']}" for each in report["messages"] if each["severity"] > 1]
    for name, each in ((name, each) for name, found in documents.items() for each in found):
        findings += [f"{name}: Kubernetes {version}: {text}" for version, text in _violations(each)]
    return {"documents": documents, "findings": findings}


def _violations(document: dict[str, Any]) -> list[tuple[str, str]]:
    import kubernetes_validate

    found = []
    for version in KUBERNETES_VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
            found.append((version, error.message))
    return found


if __name__ == "__main__":
    _main(sys.argv[1])
