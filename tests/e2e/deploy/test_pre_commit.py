"""The hooks of .pre-commit-hooks.yaml, as git runs them in the repository of a developer who has installed pre-commit.

Entries, patterns and stages are those of the manifest. The language alone is `system`, which uses the command that is
installed here, in place of `python`, which downloads its dependencies.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
MANIFEST = ".pre-commit-hooks.yaml"
CONTRACT = ("order.avsc", "--topic", "orders", "--owner", "checkout", "--out", "orders.odcs.yaml")


@pytest.fixture
def hooked(workshop, order, tmp_path):
    """A repository with the hooks, three committed schemas and the contract of one."""
    source = tmp_path / "hooks"
    source.mkdir()
    shutil.copy(ROOT / MANIFEST, source)
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "hooks")):
        workshop.run("git", "-C", source, *words)
    revision = workshop.run("git", "-C", source, "rev-parse", "HEAD").out.strip()
    hooks = [
        {"id": "contract-lint"},
        {"id": "schema-check", "args": ["--fail-on", "warning"]},
        {"id": "contract-generate", "args": list(CONTRACT)},
    ]
    own = [{**hook, "language": "system"} for hook in hooks]
    config = {"repos": [{"repo": str(source), "rev": revision, "hooks": own}]}
    workshop.write(".pre-commit-config.yaml", yaml.safe_dump(config))
    for name in ("Order", "Ride", "Fare"):
        workshop.write(f"{name.lower()}.avsc", {**order(id="string", total="long"), "name": name})
    assert workshop.run("counterfoil", "generate", "contract", *CONTRACT).code == 0
    workshop.commit()
    done = workshop.run("pre-commit", "install", "--hook-type", "pre-commit", "--hook-type", "pre-push")
    assert done.code == 0, done
    return workshop


def _commit(repository, *arguments):
    return repository.run("git", "commit", "-m", "a change", *arguments, settings=_settings(repository))


def _settings(repository):
    return {"PRE_COMMIT_HOME": str(repository.folder.parent / "pre-commit"), "NO_COLOR": "1"}


def _states(result):
    """How each hook ended, by the name that pre-commit prints."""
    lines = [line for line in result.err.splitlines() if ".." in line]
    return {line.partition("...")[0]: line.rpartition("...")[2].strip(".") for line in lines}


def test_the_manifest_is_valid(workshop):
    done = workshop.run("pre-commit", "validate-manifest", ROOT / MANIFEST)
    assert done.code == 0, done


def test_what_is_staged_is_judged_before_the_commit(hooked, order):
    before = hooked.git("rev-parse", "HEAD")
    hooked.write("order.avsc", order(id="string", total="int"))
    result = _commit(hooked, "--all")
    assert (result.code, "type-mismatch" in result.err, "witness" in result.err) == (1, True, True), result
    assert hooked.git("rev-parse", "HEAD") == before
    hooked.git("reset", "--quiet")
    hooked.write("readme.md", "Orders")
    hooked.git("add", "readme.md")
    result = _commit(hooked)
    assert result.code == 0, result
    assert _states(result) == {
        "contracts and schemas are valid": "(no files to check)Skipped",
        "schema changes are compatible": "Passed",
    }


def test_a_commit_that_only_deletes_a_schema_is_judged(hooked):
    hooked.git("rm", "--quiet", "ride.avsc")
    result = _commit(hooked)
    assert (result.code, "schema-removed" in result.err) == (1, True), result


def test_a_consumer_that_did_not_change_is_linted_with_the_schema_that_did(hooked, order):
    consumer = ("--id", "billing", "--reads", "total", "--out", "billing.odps.yaml")
    assert hooked.run("counterfoil", "generate", "consumer", "orders.odcs.yaml", *consumer).code == 0
    hooked.git("add", ".")
    hooked.git("commit", "--quiet", "--no-verify", "--message", "a consumer")
    hooked.write("order.avsc", order(id="string"))
    result = _commit(hooked, "--all")
    assert (result.code, "billing.odps.yaml:" in result.err) == (1, True), result
    assert _states(result)["contracts and schemas are valid"] == "Failed"


def test_a_contract_that_is_not_what_generate_writes_is_not_pushed(hooked, tmp_path):
    hooked.git("init", "--quiet", "--bare", tmp_path / "origin")
    hooked.git("remote", "add", "origin", tmp_path / "origin")
    done = hooked.run("git", "push", "origin", "main", settings=_settings(hooked))
    assert done.code == 0, done
    hooked.write("orders.odcs.yaml", (hooked.folder / "orders.odcs.yaml").read_text() + "# by hand\n")
    hooked.git("commit", "--all", "--quiet", "--no-verify", "--message", "by hand")
    done = hooked.run("git", "push", "origin", "main", settings=_settings(hooked))
    assert (done.code, "differs from what this command would write" in done.err + done.out) == (1, True), done
