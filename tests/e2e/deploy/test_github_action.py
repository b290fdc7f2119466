"""The steps of action.yml on pull requests, run by bash with the variables of GitHub's runner and an API of its own."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, NewContract, NewPublication
from counterfoil.sdk import Registry, operations
from github_action.comment import MAX_CHARACTERS, fitting
from github_action.run import Request, Result, Step, count_errors, planned
from local_services import free_port
from strategies.contracts.stories import LINK, promise, schema
from strategies.deploy.github_runner import CommentApi, Runner

ROOT = Path(__file__).resolve().parents[3]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
UPLOAD = "github/codeql-action/upload-sarif@v3"


@pytest.fixture
def api():
    with CommentApi() as running:
        yield running


@pytest.fixture
def runner(workshop, tmp_path, api):
    temp = tmp_path / "runner"
    temp.mkdir()
    given = {"setup": {"python-path": sys.executable}, "install": {"python": sys.executable}}
    return Runner(ROOT, workshop.folder, temp, workshop.environment(), api.url, given)


@pytest.fixture
def base(workshop, order):
    """The commit that the pull request is based on."""
    workshop.write("services/a/order-value.avsc", order(id="string", total="long"))
    return workshop.commit()


@pytest.fixture
def broken(workshop, order, base):
    """The event of a pull request that breaks a reader."""
    workshop.write("services/a/order-value.avsc", order(id="string", total="int"))
    workshop.commit()
    return _event(base)


def _event(base, *, source="shop/orders"):
    return {"pull_request": {"number": 7, "base": {"sha": base}, "head": {"repo": {"full_name": source}}}}


def test_a_break_is_reported_in_outputs_annotations_summary_comment_and_code_scanning(runner, broken, api):
    job = runner.run(broken, comment="true", sarif="true")
    assert job.code == 1, job.log
    report = Path(job.outputs["report-path"])
    assert job.outputs == {
        "verdict": "broken",
        "breaking-count": "1",
        "report-path": str(report),
        "exit-code": "1",
    }
    Draft202012Validator(report_json_schema()).validate(json.loads(report.read_text()))
    assert json.loads(report.read_text())["against"].endswith(broken["pull_request"]["base"]["sha"][:7])
    assert "::error file=services/a/order-value.avsc,line=" in job.log
    assert "counterfoil check: broken" in job.summary
    uploaded = sorted(path.name for path in Path(job.used[UPLOAD]["sarif_file"]).iterdir())
    assert uploaded == ["check.sarif", "lint.sarif"]
    assert [one["body"].startswith("<!-- counterfoil action: check . -->\n") for one in api.comments] == [True]
    assert "witness" in api.comments[0]["body"]
    assert api.tokens == {"Bearer token-of-the-job"}


READ = """\
apiVersion: v1.0.0
kind: DataProduct
id: billing
status: active
team: {name: billing}
inputPorts:
  - {name: in, version: "1", contractId: orders, customProperties: [{property: reads, value: [total]}]}
"""
PROMISE = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
team: {name: shop}
schema:
  - name: Order
    physicalName: order
    authoritativeDefinitions: [{type: schema, url: ./order-value.avsc}]
"""


@pytest.mark.parametrize(
    ("after", "errors"),
    [({"id": "string"}, 1), ({"id": "strin", "total": "long"}, 1), ({"id": "string", "total": "long"}, 0)],
)
def test_a_break_that_lint_repeats_is_counted_once(runner, workshop, order, after, errors):
    """A field that a consumer reads is removed; or the file is no schema any more."""
    for path, content in (
        ("order-value.avsc", order(id="string", total="long")),
        ("orders.odcs.yaml", PROMISE),
        ("billing.odps.yaml", READ),
    ):
        workshop.write(path, content)
    before = workshop.commit()
    workshop.write("order-value.avsc", order(**after))
    workshop.commit()
    job = runner.run(_event(before), arguments="--consumers .")
    assert (job.code, job.outputs["breaking-count"]) == (min(errors, 1), str(errors)), job.log


def test_different_errors_are_counted_each():
    found = {"severity": "error", "rule": "path-missing", "path": "a.yaml", "line": 1, "element": "total", "text": "t"}
    lint = [
        {**found, "fingerprint": "1"},
        {**found, "fingerprint": "2", "path": "b.yaml"},
        {**found, "fingerprint": "3", "element": "other", "text": "u"},
        {**found, "fingerprint": "4", "severity": "warning"},
        {**found, "fingerprint": "5", "element": "", "rule": "owner-missing"},
    ]
    check = [
        {**found, "fingerprint": "6", "path": "o.avsc", "rule": "consumer-field-missing"},
        {**found, "fingerprint": "7", "path": "o.avsc", "rule": "consumer-field-missing", "approval": {"id": "a"}},
        {**found, "fingerprint": "8", "path": "o.avsc", "rule": "type-mismatch", "element": "id", "text": "v"},
    ]
    results = [
        Result(Step(name, ()), ExitCode.BROKEN, {"findings": findings}, "")
        for name, findings in (("lint", lint), ("check", check))
    ]
    assert count_errors(results) == 4  # total and id of check; the other path and the owner of lint
    assert count_errors(results[:1]) == 4


def test_the_comment_is_replaced_by_the_next_run_and_never_one_of_a_stranger(runner, broken, workshop, order, api):
    for _ in range(120):  # more than a page
        api.add("<!-- counterfoil action: check services/a -->\nIt is fine.", user="User")
    assert runner.run(broken, comment="true", working_directory="services/a").code == 1
    workshop.write("services/a/order-value.avsc", order(id="string", total="double"))
    workshop.commit()
    job = runner.run(broken, comment="true", working_directory="services/a", sarif="true")
    assert (job.code, job.outputs["verdict"], job.outputs["breaking-count"]) == (0, "passed", "0"), job.log
    assert len(api.comments) == 121
    assert "counterfoil check: passed" in api.comments[-1]["body"]
    scanned = json.loads((Path(job.used[UPLOAD]["sarif_file"]) / "check.sarif").read_text())
    assert scanned["runs"][0]["automationDetails"]["id"] == "counterfoil-check/services/a/"


def test_a_fork_is_judged_with_git_and_says_what_it_could_not_do(runner, broken, api):
    api.is_read_only = True
    event = _event(broken["pull_request"]["base"]["sha"], source="stranger/orders")
    registry = f"http://127.0.0.1:{free_port()}"
    arguments = {"registry": registry, "arguments": "--retries 0"}
    job = runner.run(event, comment="true", **arguments)
    assert (job.code, job.outputs["verdict"], job.outputs["breaking-count"]) == (1, "broken", "1"), job.log
    assert "::warning::The verdict of the registry was skipped" in job.log
    assert "::warning::The comment on the pull request was not written" in job.log
    assert "from a fork, whose token may only read" in job.summary
    own = runner.run(_event(event["pull_request"]["base"]["sha"]), **arguments)
    assert (own.code, own.outputs["verdict"], own.outputs["breaking-count"]) == (1, "broken", ""), own.log
    assert "counterfoil registry: unreachable" in own.summary


def test_a_shallow_clone_ends_in_a_precondition_that_names_the_remedy(runner, broken, workshop, tmp_path, api):
    shallow = tmp_path / "shallow"
    workshop.git("clone", "--quiet", "--depth", "1", f"file://{workshop.folder}", shallow)
    here = Runner(ROOT, shallow, runner.temp, runner.environment, runner.api, runner.given)
    job = here.run(broken, comment="true")
    assert job.code == 14, job.log
    assert (job.outputs["verdict"], job.outputs["breaking-count"]) == ("precondition", "")
    assert "fetch-depth: 0" in job.log
    assert "fetch" in api.comments[0]["body"]


def test_a_push_is_compared_with_the_commit_before_it_and_has_no_comment(runner, broken, api):
    job = runner.run({"before": broken["pull_request"]["base"]["sha"]}, comment="true")
    assert (job.code, api.comments) == (1, []), job.log
    new_branch = runner.run({"before": "0" * 40}, command="lint", arguments="--rules -owner-missing")
    assert (new_branch.code, new_branch.outputs["verdict"]) == (0, "passed"), new_branch.log


def test_the_plan_of_a_registry_is_the_comment(runner, workshop, base, live_registry, api):
    subject = "orders-planned"
    lines = f"  - {{files: '**/*.avsc', subject: {subject}, level: FULL}}"
    workshop.write("counterfoil.yaml", f"registry: {live_registry.url}\nschemas:\n{lines}\n")
    job = runner.run(_event(base), command="plan", comment="true")
    assert (job.code, job.outputs["verdict"], job.outputs["breaking-count"]) == (0, "passed", "0"), job.log
    assert json.loads(Path(job.outputs["report-path"]).read_text())["kind"] == "plan"
    assert subject in api.comments[0]["body"]


@pytest.mark.parametrize(
    ("against", "has_secrets", "skippable"), [("main", False, True), ("main", True, False), ("registry", False, False)]
)
def test_a_registry_is_skipped_only_for_forks_that_are_compared_with_git(against, has_secrets, skippable):
    request = Request("check", against, "http://registry", (), ".", has_secrets)
    assert planned(request)[-1].may_be_skipped is skippable


def test_a_command_that_does_not_exist_ends_in_a_usage_error(runner, broken):
    job = runner.run(broken, command="chekc")
    assert (job.code, job.outputs["verdict"], job.outputs["report-path"]) == (2, "usage", ""), job.log
    job = runner.run(broken, arguments="--level 'FULL")
    assert (job.code, job.outputs["verdict"], "No closing quotation" in job.log) == (2, "usage", True), job.log


def test_a_report_that_is_too_long_for_a_comment_is_cut_between_lines():
    report = "one finding\n" * 10_000
    lines = fitting(report).splitlines()
    assert len(fitting(report)) <= MAX_CHARACTERS
    assert set(lines[:-2]) == {"one finding"}
    assert lines[-1] == "The rest is in the summary of the job."
    assert fitting("short") == "short"


def test_the_reusable_workflow_passes_its_inputs_to_this_version_of_the_action():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / ".github/workflows/contracts.yml").read_text())
    inputs = workflow[True]["workflow_call"]["inputs"]  # the key `on` is a boolean in YAML 1.1
    checkout, step = workflow["jobs"]["contracts"]["steps"]
    assert checkout["with"]["fetch-depth"] == 0
    assert step["uses"] == f"counterfoil/counterfoil@v{VERSION}"
    assert step["with"] == {name: f"${{{{ inputs.{name} }}}}" for name in inputs}
    assert set(inputs) == set(action["inputs"]) - {"token"}
    page = (ROOT / "docs/ci.md").read_text()
    assert set(re.findall(r"\bv(\d+\.\d+\.\d+)\b", page)) == {VERSION}


@pytest.mark.long
def test_the_action_installs_the_version_that_it_is_part_of(runner, workshop):
    """Without the dependencies, and with the build tool of this installation, since tests use no package index."""
    packages = str(Path(pytest.__file__).parents[1])
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "false", "PYTHONPATH": packages}
    given = {"setup": {"python-path": sys.executable}, "run": {"exit-code": "0"}}
    here = Runner(ROOT, workshop.folder, runner.temp, {**runner.environment, **offline}, runner.api, given)
    job = here.run(_event("HEAD"))
    assert job.code == 0, job.log
    assert list((runner.temp / "counterfoil-venv").rglob(f"counterfoil-{VERSION}.dist-info"))


# --- the action around a deployment


@pytest.fixture
def published(live_registry, unique_name):
    """The name of an application whose version 1 is published, and for which there is an environment of this name."""
    name = unique_name("deployed")
    with Registry(live_registry.url) as registry:
        registry.call(operations.put_environment(Environment(name)))
        contract = NewContract(promise(contract=name), {LINK: Schema(schema())})
        registry.call(operations.publish(NewPublication(name, "1", (contract,))))
    return name


@pytest.fixture
def deploy(runner, published, live_registry):
    """A function that runs the deploy action for a version."""
    here = replace(runner, action=ROOT / "deploy")
    given = {"application": published, "environment": published, "registry": live_registry.url}
    return lambda version, **inputs: here.run({}, version=version, **given, **inputs)


def _live(live_registry, environment):
    with Registry(live_registry.url) as registry:
        return [each.version for each in registry.call(operations.deployments(environment))]


def test_a_version_is_deployed_after_yes_and_recorded(deploy, published, live_registry, workshop):
    asked = deploy("1", command="can-i-deploy")
    assert (asked.code, asked.outputs["verdict"], asked.outputs["exit-code"]) == (0, "passed", "0"), asked.log
    assert json.loads(Path(asked.outputs["report-path"]).read_text())["deployable"] is True
    assert _live(live_registry, published) == []
    done = deploy("1", run="echo done > deployed.txt", arguments="--explain")
    assert (done.code, (workshop.folder / "deployed.txt").read_text()) == (0, "done\n"), done.log
    assert f"{published} 1 can be deployed to {published}" in done.summary
    assert _live(live_registry, published) == ["1"]


def test_nothing_is_deployed_or_recorded_without_yes_or_if_the_command_fails(
    deploy, published, live_registry, workshop
):
    unknown = deploy("2", run="echo done > deployed.txt")
    assert (unknown.code, unknown.outputs["verdict"]) == (4, "cannot-say"), unknown.log
    assert not (workshop.folder / "deployed.txt").exists()
    failed = deploy("1", run="exit 3")
    assert (failed.code, failed.outputs["verdict"]) == (3, "passed"), failed.log
    assert _live(live_registry, published) == []
    mistaken = deploy("1", arguments="'")
    assert (mistaken.code, mistaken.outputs["verdict"]) == (2, "usage"), mistaken.log
    recorded = deploy("1", command="record")
    assert (recorded.code, recorded.outputs["verdict"]) == (0, ""), recorded.log
    assert _live(live_registry, published) == ["1"]
