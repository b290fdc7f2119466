"""``counterfoil can-i-deploy`` and ``counterfoil record``: verdicts on what is live in an environment."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema
from counterfoil.schema.model import Schema
from counterfoil.schema.rest.contracts import Environment, Liveness, NewContract, NewPublication
from counterfoil.sdk import AvroSerializer, Registry, SerializationContext, operations
from local_services.process import free_port
from strategies.contracts.stories import LINK, expectation, promise, schema


@pytest.fixture
def registry(live_registry):
    """A client of a registry that other tests use, too."""
    with Registry(live_registry.url) as client:
        yield client


class Story:
    """A shop and billing, which reads its orders, in an environment; the names are their own."""

    def __init__(self, registry, name):
        self.registry, self.contract = registry, name
        self.shop, self.billing, self.environment = f"{name}-shop", f"{name}-billing", f"{name}-production"
        registry.call(operations.put_environment(Environment(self.environment, is_production=True)))
        self.publish(self.shop, "1", NewContract(promise(contract=name), {LINK: Schema(schema())}))
        later = NewContract(promise("2.2.0", contract=name), {LINK: Schema(schema(total=None))})
        self.publish(self.shop, "2", later)
        self.publish(self.billing, "1", NewContract(expectation("total", contract=name, name=self.billing)))

    def publish(self, application, version, contract, branch=""):
        """Publish one contract."""
        self.registry.call(operations.publish(NewPublication(application, version, (contract,), branch)))

    def deploy(self, application, version):
        """Record a deployment without the command."""
        self.registry.call(operations.record_deployment(self.environment, application, version))


@pytest.fixture
def story(registry, unique_name):
    """A story of its own, in which nothing is live yet."""
    return Story(registry, unique_name("orders"))


@pytest.fixture
def run(counterfoil, live_registry):
    """A function that runs the command against the registry."""
    return lambda *words: counterfoil(*words, settings={"COUNTERFOIL_REGISTRY_URL": live_registry.url})


def test_an_environment_is_recorded_and_changed(run, story, registry):
    name = f"{story.contract}-staging"
    refused = run("record", "deployment", f"{story.shop}@1", "--env", name)
    assert (refused.code, "create it with counterfoil record environment" in refused.err) == (4, True), refused
    assert run("record", "environment", name).out == f"The environment {name} is stored.\n"
    changed = run("record", "environment", name, "--production", "--verified-within", "7")
    text = "it is one of production, and it demands verifications that are at most 7 days old"
    assert changed.out == f"The environment {name} is stored: {text}.\n"
    assert run("record", "environment", name).out == changed.out
    [held] = [each for each in registry.call(operations.environments()) if each.name == name]
    assert (held.is_production, held.verified_within_days) == (True, 7)
    assert run("record", "deployment", f"{story.shop}@1", "--env", name).code == 0


def test_the_verdict_is_yes_no_or_unknown(run, story):
    def ask(version, *more):
        return run("can-i-deploy", version, "--environment", story.environment, *more)

    unknown = ask(f"{story.billing}@1")
    assert (unknown.code, unknown.out.startswith("NO_CONTRACT")) == (4, True), unknown
    never = ask(f"{story.shop}@9", "--explain")
    assert (never.code, "fix: Publish its contracts" in never.out) == (4, True), never
    assert ask(f"{story.shop}@9", "--dry-run").code == 0
    story.deploy(story.shop, "1")
    story.deploy(story.billing, "1")
    assert ask(f"{story.shop}@1").out == (
        f"{story.shop} 1 can be deployed to {story.environment}: no finding, 1 check passed (exit 0)\n"
    )
    no = ask(f"{story.shop}@2", "--format", "text", "--format", "junit=r.xml", "--format", "markdown=r.md")
    assert (no.code, no.out.splitlines()[0].split()[:3]) == (1, ["INCOMPATIBLE", story.billing, "1:"]), no
    assert no.out.splitlines()[-1].startswith(f"{story.shop} 2 cannot be deployed to {story.environment}: 1 finding")
    explained = ask(f"{story.shop}@2", "--explain").out
    assert {"    rule: consumer-field-missing", "    path: total", f"    consumer: {story.billing} 1"} <= {
        *explained.splitlines()
    }
    document = ask(f"{story.shop}@2", "--format", "json").report
    assert (document["exitCode"], document["deployable"]) == (1, False)
    assert document["reasons"][0]["consumer"] == story.billing
    ignoring = ask(f"{story.shop}@2", "--ignore", story.billing)
    assert ignoring.code == 0


def test_reports_are_written_as_files(run, story, tmp_path):
    story.deploy(story.billing, "1")
    for version, element in (("2", "failure"), ("9", "error")):
        place = tmp_path / f"{version}.xml"
        asked = f"{story.shop}@{version}"
        run(
            "can-i-deploy",
            asked,
            "--environment",
            story.environment,
            "--format",
            f"junit={place}",
            "--format",
            "markdown",
        )
        [case] = ET.parse(place).getroot().iter("testcase")
        assert [each.tag for each in case][:1] == [element]
    printed = run("can-i-deploy", f"{story.shop}@2", "--environment", story.environment, "--format", "markdown").out
    assert printed.startswith("<!-- counterfoil can-i-deploy -->\n### counterfoil can-i-deploy: broken")
    assert "consumer-field-missing](" in printed


def test_a_break_is_approved_in_the_registry(run, story):
    story.deploy(story.shop, "1")
    story.deploy(story.billing, "1")
    ask = ("can-i-deploy", f"{story.shop}@2", "--environment", story.environment, "--format", "json")
    broken = run(*ask)
    assert broken.code == 1
    [reason] = broken.report["reasons"]
    words = ("approve", reason["fingerprint"], "--owner", "ana", "--reason", "agreed")
    assert (run(*words).code, run(*words, "--until", "2000-01-01").code) == (2, 2)
    assert "which is over" in run(*words, "--until", "2000-01-01").err
    done = run(*words, "--until", "2999-12-31")
    assert (done.code, done.out) == (0, f"{reason['fingerprint']} approved until 2999-12-31 in the registry\n"), done
    fine = run(*ask)
    assert (fine.code, fine.report["reasons"][0]["reason"], bool(fine.report["decidedAt"])) == (
        0,
        "APPROVED_BREAK",
        True,
    )
    validator = Draft202012Validator(report_json_schema())
    for each in (broken.report, fine.report):
        validator.validate(each)
    assert f"{reason['fingerprint']}  until 2999-12-31  ana  agreed" in run("approve", "--list").out
    assert run("approve", reason["fingerprint"], "--revoke").code == 0
    assert run("approve", reason["fingerprint"], "--revoke").code == 4
    assert run(*ask).code == 1


def test_a_merge_is_judged_by_a_branch_and_a_deployment_by_verifications(run, story):
    merge = run("can-i-deploy", f"{story.shop}@2", "--merge", "main")
    assert (merge.code, merge.out.splitlines()[0].split()[0]) == (4, "NO_CONTRACT"), merge
    story.publish(story.billing, "2", NewContract(expectation("total", contract=story.contract)), branch="main")
    merge = run("can-i-deploy", f"{story.shop}@2", "--merge", "main")
    assert (merge.code, "cannot be merged into main" in merge.out) == (1, True), merge
    assert run("can-i-deploy", f"{story.shop}@1", "--merge", "main").code == 0
    verified = run("can-i-deploy", f"{story.shop}@1", "--environment", story.environment, "--max-age", "7", "--explain")
    assert (verified.code, "fix: Run counterfoil test --publish" in verified.out) == (4, True), verified
    for words in (("--merge", "main", "--environment", "x"), ("--merge", "main", "--max-age", "7"), ()):
        assert run("can-i-deploy", f"{story.shop}@1", *words).code == 2


def test_records_of_a_file_become_the_verification_that_a_deployment_needs(run, story, tmp_path):
    ask = ("can-i-deploy", f"{story.shop}@1", "--environment", story.environment, "--max-age", "7", "--format", "json")
    topic = story.contract
    serialize, context = AvroSerializer(story.registry, schema()), SerializationContext(topic, "value")
    lines = [serialize({"order_id": "o", "total": total, "status": "NEW"}, context) for total in (1, 2)]
    schema_id = story.registry.version(f"{topic}-value").id
    (tmp_path / "records.hex").write_text("".join(f"{each.hex()}\n" for each in lines))
    (tmp_path / "orders.odcs.yaml").write_text(promise(contract=topic))
    test = ("test", "--from-file", "records.hex", "--publish", "--format", "json")
    assert [run(*ask).code, run(*test).code] == [4, 2]
    assert [each["reason"] for each in run(*ask).report["reasons"]] == ["NOT_VERIFIED"]
    unknown = run(*test, "--env", "nowhere")
    assert (unknown.code, "has no environment nowhere" in unknown.err) == (4, True), unknown
    done = run(*test, "--environment", story.environment, "--build-url", "https://ci.example/1")
    assert (done.code, done.report["verifications"][0]["environment"]) == (0, story.environment), done
    assert done.err == f"{topic} 2.1.0, topic {topic}: the verification in {story.environment} is stored: passed\n"
    Draft202012Validator(report_json_schema()).validate(done.report)
    assert run(*ask).code == 0
    [stored] = story.registry.call(operations.verifications(contract=topic))
    assert (stored.sample.records, stored.schema_ids, stored.build_url) == (2, (schema_id,), "https://ci.example/1")
    counts = run("usage", "--topic", topic, "--env", story.environment, "--format", "json").report
    assert (counts["records"], counts["oldestVersion"], counts["complete"]) == (2, 1, False)
    (tmp_path / "records.hex").write_text("00ffffffff\n")
    failed = run(*test, "--env", story.environment)
    assert (failed.code, "is stored: failed" in failed.err) == (1, True), failed
    no = run(*ask)
    assert (no.code, no.report["reasons"][0]["reason"]) == (1, "VERIFICATION_FAILED")
    (tmp_path / "records.hex").write_text("")
    empty = run(*test, "--env", story.environment)
    assert (empty.code, "nothing was stored" in empty.err) == (4, True), empty
    (tmp_path / "orders.odcs.yaml").write_text(promise(contract=topic, unit="USD.cent"))
    changed = run(*test, "--env", story.environment)
    assert (changed.code, "is published with other content" in changed.err) == (13, True), changed
    (tmp_path / "orders.odcs.yaml").write_text(promise("9.0.0", contract=topic))
    missing = run(*test, "--env", story.environment)
    assert (missing.code, "store it first with counterfoil publish" in missing.err) == (4, True), missing
    assert run(*test, "--env", "x", "--registry", f"http://127.0.0.1:{free_port()}", "--retries", "0").code == 11


def test_a_contract_is_retired_when_nobody_reads_it(run, story):
    story.deploy(story.billing, "1")
    words = ("can-i-deploy", "--retire", f"{story.contract}@2", "--environment", story.environment)
    read = run(*words)
    assert (read.code, read.out.split()[0]) == (1, "STILL_READ"), read
    [live] = story.registry.call(operations.deployments(story.environment))
    story.registry.call(operations.end_deployment(story.environment, live.id))
    assert run(*words).code == 0
    assert run("can-i-deploy", "--retire", f"{story.contract}@7", "--environment", story.environment).code == 4


def test_exit_codes_of_can_i_deploy(run, story):
    nowhere = run("can-i-deploy", f"{story.shop}@1", "--environment", "nowhere")
    assert (nowhere.code, "nowhere" in nowhere.err) == (4, True), nowhere
    for words in ((story.shop,), (), ("a@1", "--retire", "b@1"), ("--retire", "b@1", "--ignore", "c"), ("@1",)):
        assert run("can-i-deploy", *words, "--environment", "x").code == 2, words
    away = ("--registry", f"http://127.0.0.1:{free_port()}", "--retries", "0")
    assert run("can-i-deploy", "a@1", "--environment", "x", *away).code == 11


def test_what_is_live_is_recorded(run, story):
    def record(what, version, *more):
        return run("record", what, f"{story.shop}@{version}", "--env", story.environment, *more)

    def live(liveness=Liveness.DEPLOYED):
        return {
            (each.version, each.instance)
            for each in story.registry.call(operations.deployments(story.environment, liveness=liveness))
        }

    for version in ("1", "1", "2"):
        done = record("deployment", version)
        assert (done.code, done.out) == (0, f"{story.shop} {version} is deployed in {story.environment}\n"), done
    assert record("deployment", "1", "--instance", "eu").code == 0
    assert live() == {("2", ""), ("1", "eu")}
    wrong = record("undeployment", "1")
    assert (wrong.code, "1 (instance eu)" in wrong.err, len(live())) == (4, True, 2), wrong
    assert record("undeployment", "1", "--instance", "eu").code == 0
    assert live() == {("2", "")}
    for version in ("1", "2"):
        assert record("release", version).code == 0
    assert record("support-ended", "1").code == 0
    assert live(Liveness.RELEASED) == {("2", "")}
    assert record("support-ended", "1").code == 4


def test_exit_codes_of_record(run, story):
    for what in ("deployment", "undeployment", "release", "support-ended"):
        unknown = run("record", what, f"{story.shop}@9", "--env", story.environment)
        assert (unknown.code, "9" in unknown.err) == (4, True), unknown
        assert run("record", what, f"{story.shop}@1", "--env", "nowhere").code == 4
    assert run("record", "release", f"{story.shop}@1", "--env", "x", "--instance", "eu").code == 2
    assert run("record", "deployment", story.shop, "--env", "x").code == 2
    away = ("--registry", f"http://127.0.0.1:{free_port()}", "--retries", "0")
    assert run("record", "deployment", "a@1", "--env", "x", *away).code == 11
