"""The script lines of the GitLab template, run by a shell with the variables of GitLab's runner."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from string import Template
from xml.etree import ElementTree as ET

import pytest
import yaml

from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from strategies.contracts.stories import LINK, promise, schema

ROOT = Path(__file__).resolve().parents[3]
JOBS = yaml.safe_load((ROOT / "deploy/gitlab/counterfoil.gitlab-ci.yml").read_text())


@pytest.fixture
def broken(workshop, order):
    """A repository whose last commit breaks a reader."""
    workshop.write("services/a/order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("services/a/order.avsc", order(id="string", total="int"))
    workshop.commit()
    return workshop


def _run(repository, name, **variables):
    """How a job ended, and its reports by their kind."""
    job = {**JOBS[JOBS[name]["extends"]], **JOBS[name]}
    settings = {**job["variables"], "CI_PROJECT_DIR": str(repository.folder), "CI_JOB_NAME": name, **variables}
    result = repository.run("bash", "-eo", "pipefail", "-c", "\n".join(job["script"]), settings=settings)
    paths = {kind: Template(path).substitute(settings) for kind, path in job["artifacts"]["reports"].items()}
    return result, {kind: (repository.folder / path).read_text() for kind, path in paths.items()}


@pytest.mark.parametrize("base", [{"CI_MERGE_REQUEST_DIFF_BASE_SHA": "main~1"}, {}, {"COUNTERFOIL_AGAINST": "main~1"}])
def test_a_break_is_in_the_reports_of_the_job(broken, base):
    result, reports = _run(broken, "schema-check", COUNTERFOIL_DIRECTORY="services", **base)
    assert (result.code, "type-mismatch" in result.out) == (1, True), result
    found = [(one["check_name"], one["location"]["path"]) for one in json.loads(reports["codequality"])]
    assert found == [("type-mismatch", "services/a/order.avsc")]
    assert ET.fromstring(reports["junit"]).attrib["failures"] == "1"


def test_arguments_of_the_project_reach_the_command(broken):
    result, _ = _run(broken, "schema-check", COUNTERFOIL_ARGUMENTS="--fail-on never --level FULL")
    assert result.code == 0, result


def test_contracts_are_linted(broken):
    broken.write("orders.odcs.yaml", "kind: DataContract\n")
    result, reports = _run(broken, "contract-lint")
    assert result.code == 1, result
    assert "orders.odcs.yaml" in reports["codequality"]
    assert ET.fromstring(reports["junit"]).attrib["failures"] != "0"


def test_the_template_has_the_whole_history_and_installs_this_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    base = JOBS[".counterfoil"]
    assert base["variables"]["COUNTERFOIL_VERSION"] == version
    assert base["variables"]["GIT_DEPTH"] == "0"
    assert base["artifacts"]["when"] == "always"
    assert base["before_script"] == ['python -m pip install --quiet "counterfoil==$COUNTERFOIL_VERSION"']


def test_a_deployment_is_permitted_before_and_recorded_after_success(workshop, live_registry, unique_name):
    name, job = unique_name("deployed"), JOBS[".contract-deployment"]
    with Registry(live_registry.url) as registry:
        registry.call(operations.put_environment(Environment(name)))
        contract = NewContract(promise(contract=name), {LINK: Schema(schema())})
        registry.call(operations.publish(NewPublication(name, "c0ffee", (contract,))))
        settings = {
            "COUNTERFOIL_REGISTRY_URL": live_registry.url,
            "COUNTERFOIL_APPLICATION": name,
            "COUNTERFOIL_APPLICATION_VERSION": "c0ffee",
            "COUNTERFOIL_ENVIRONMENT": name,
            "CI_PROJECT_DIR": str(workshop.folder),
            "CI_JOB_NAME": "deploy",
        }
        before = "\n".join(job["before_script"][1:])  # the first line installs the package
        after = "\n".join(job["after_script"])
        for status, live in (("failed", []), ("success", ["c0ffee"])):
            asked = workshop.run("bash", "-eo", "pipefail", "-c", before, settings=settings)
            assert asked.code == 0, asked
            workshop.run("bash", "-eo", "pipefail", "-c", after, settings={**settings, "CI_JOB_STATUS": status})
            assert [each.version for each in registry.call(operations.deployments(name))] == live
        report = (workshop.folder / Template(job["artifacts"]["reports"]["junit"]).substitute(settings)).read_text()
        assert ET.fromstring(report).attrib["failures"] == "0"
        settings["COUNTERFOIL_APPLICATION_VERSION"] = "0ld"
        assert workshop.run("bash", "-eo", "pipefail", "-c", before, settings=settings).code == 4
