"""The commands for subjects, schemas, config, modes and bridges, run against a registry as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from counterfoil.contracts.cli.root import root_command
from counterfoil.contracts.cli.run import run
from counterfoil.schema.errors import ModeNotFound, SubjectNotFound
from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk import Registry
from local_services import RegistryProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MONEY = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "long"}]}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "shop.Money"}],
}
CARD = 'syntax = "proto3"; package shop; message Card { string number = 1; }\n'
PAYMENT = 'syntax = "proto3"; package shop; import "common/card.proto"; message Payment { Card card = 1; }\n'


pytestmark = pytest.mark.usefixtures("registry", "folder")


@pytest.fixture(scope="module")
def running_registry() -> Iterator[RegistryProcess]:
    """A registry of its own, since the tests list all subjects."""
    with RegistryProcess() as running:
        yield running


@pytest.fixture
def registry(running_registry: RegistryProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty registry, which the commands find in their environment."""
    monkeypatch.setenv("COUNTERFOIL_REGISTRY_URL", running_registry.url)
    yield
    with Registry(running_registry.url) as client:
        for subject in ("payments-value", "s"):
            with suppress(ModeNotFound, SubjectNotFound):
                client.delete_mode(subject)
        for kind in (Deletion.SOFT, Deletion.PERMANENT):
            left = client.subjects(visibility=Visibility.ACTIVE if kind is Deletion.SOFT else Visibility.WITH_DELETED)
            for subject in sorted(left, key=lambda name: not name.endswith("-value")):  # first what refers to others
                client.delete_subject(subject, deletion=kind)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of schemas that refer to one another, which is the current one."""
    (tmp_path / "common").mkdir()
    (tmp_path / "common/money.avsc").write_text(json.dumps(MONEY))
    (tmp_path / "common/card.proto").write_text(CARD)
    (tmp_path / "orders-value.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "payments-value.proto").write_text(PAYMENT)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def counterfoil(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A function that runs a command in this process and returns its exit code and what it printed."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(root_command(), arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def document(outcome: tuple[int, str, str]):
    code, out, err = outcome
    assert (code, err) == (0, "")
    return json.loads(out)


def states(outcome: tuple[int, str, str]) -> dict[str, tuple[str, int | None]]:
    return {entry["subject"]: (entry["state"], entry["version"]) for entry in document(outcome)["files"]}


def test_a_folder_is_registered_in_the_order_of_references_and_only_once(counterfoil):
    before = counterfoil("schema", "register", "--dry-run")
    assert before[0] == 0
    assert before[1].endswith("Nothing was registered: this is a dry run.\n")
    assert document(counterfoil("subjects", "list", "--json")) == []
    new = states(counterfoil("schema", "register", "--json"))
    assert new == dict.fromkeys(
        ["common/card.proto", "shop.Money", "orders-value", "payments-value"], ("new subject", 1)
    )
    assert states(counterfoil("schema", "register", "--json")) == dict.fromkeys(new, ("unchanged", 1))
    order = document(counterfoil("schema", "get", "orders-value", "--json"))
    assert order["references"] == [{"name": "shop.Money", "subject": "shop.Money", "version": 1}]
    text = counterfoil("schema", "get", "orders-value")
    assert counterfoil("schema", "get", "orders-value", "--output", "-") == text
    for version in ("1", "latest"):
        assert counterfoil("schema", "get", f"orders-value@{version}") == text
    assert counterfoil("schema", "get", "orders-value@2")[0] == 14
    assert counterfoil("schema", "get", "orders-value@1", "1")[0] == 14  # a subject of this whole name
    assert counterfoil("schema", "get", "orders-value", "--output", "-", "--json")[0] == 2
    payment = document(counterfoil("schema", "get", "payments-value", "--json"))
    assert payment["references"] == [{"name": "common/card.proto", "subject": "common/card.proto", "version": 1}]


def test_a_change_below_makes_a_new_version_of_what_refers_to_it(folder, counterfoil):
    counterfoil("schema", "register")
    added = {"name": "currency", "type": "string", "default": "EUR"}
    (folder / "common/money.avsc").write_text(json.dumps({**MONEY, "fields": [*MONEY["fields"], added]}))
    assert states(counterfoil("schema", "register", "--json")) == {
        "common/card.proto": ("unchanged", 1),
        "shop.Money": ("new version", 2),
        "orders-value": ("new version", 2),
        "payments-value": ("unchanged", 1),
    }
    assert document(counterfoil("schema", "get", "orders-value", "--json"))["references"][0]["version"] == 2


def test_nothing_is_registered_when_a_level_refuses_one_file(folder, counterfoil):
    counterfoil("schema", "register")
    (folder / "common/money.avsc").write_text(json.dumps({**MONEY, "fields": [{"name": "cents", "type": "string"}]}))
    (folder / "added-value.avsc").write_text('"string"')
    code, out, _ = counterfoil("schema", "register")
    assert code == 1
    assert "type-mismatch" in out
    assert '"cents": 0' in out  # a record that cannot be read any more
    assert "Nothing was registered: see the errors above." in out
    assert document(counterfoil("subjects", "show", "shop.Money", "--json"))["versions"] == [1]
    assert "added-value" not in document(counterfoil("subjects", "list", "--json"))
    code, out, _ = counterfoil("schema", "register", "--json")
    assert (code, json.loads(out)["refused"], json.loads(out)["registered"]) == (1, True, False)


def test_nothing_is_registered_when_a_subject_is_read_only(counterfoil):
    counterfoil("mode", "set", "READONLY", "payments-value")
    code, out, err = counterfoil("schema", "register")
    assert (code, out) == (14, "")
    assert "'payments-value' is READONLY" in err
    assert document(counterfoil("subjects", "list", "--json")) == []


CANNOT_BE_REGISTERED = [
    ("broken-value.avsc", '{"type": "record"', (), 14, "broken-value.avsc:1:18 is no valid schema"),
    ("lone.avsc", '"string"', (), 2, "lone.avsc has no subject: name it with --subject lone.avsc=SUBJECT"),
    ("x-value.proto", 'syntax = "proto3"; import "gone.proto"; message X {}', (), 14, "'gone.proto'"),
    ("x-value.avsc", '"int"', ("nowhere",), 14, "no schema file or folder 'nowhere'"),
    ("x-value.avsc", '"int"', ("--subject", "x"), 2, "not FILE=SUBJECT"),
]


@pytest.mark.parametrize("case", CANNOT_BE_REGISTERED, ids=lambda case: case[0])
def test_files_that_cannot_be_registered(folder, counterfoil, case):
    name, text, arguments, expected, problem = case
    (folder / name).write_text(text)
    code, _, err = counterfoil("schema", "register", *arguments)
    assert code == expected
    assert problem in err
    assert document(counterfoil("subjects", "list", "--json")) == []


def test_a_folder_without_schemas_is_reported(folder, counterfoil):
    (folder / "empty").mkdir()
    assert counterfoil("schema", "register", "empty")[0] == 4


def test_subjects_are_listed_shown_and_deleted(counterfoil):
    counterfoil("schema", "register")
    assert counterfoil("subjects", "list", "--prefix", "pay") == (0, "payments-value\n", "")
    code, out, _ = counterfoil("subjects", "show", "orders-value")
    assert code == 0
    assert "refers to      shop.Money (shop.Money 1)\n" in out
    assert "compatibility  BACKWARD\n" in out
    shown = document(counterfoil("subjects", "show", "shop.Money", "--json"))
    assert (shown["versions"], shown["deletedVersions"], len(shown["referencedBy"])) == ([1], [], 1)
    asked = counterfoil("subjects", "delete", "payments-value")
    assert asked[0] == 0
    assert "Would delete softly: payments-value version 1\nNothing was deleted." in asked[1]
    assert "payments-value" in document(counterfoil("subjects", "list", "--json"))
    refused = counterfoil("subjects", "delete", "payments-value", "--permanent", "--yes")
    assert refused[0] == 14
    assert "delete it softly first" in refused[2]
    assert counterfoil("subjects", "delete", "payments-value", "--yes")[0] == 0
    assert document(counterfoil("subjects", "list", "--show", "deleted", "--json")) == ["payments-value"]
    gone = document(counterfoil("subjects", "show", "payments-value", "--json"))
    assert (gone["versions"], gone["deletedVersions"], gone["latest"]) == ([], [1], None)
    done = document(
        counterfoil("subjects", "delete", "payments-value", "--version", "1", "--permanent", "--yes", "--json")
    )
    assert done == {"subject": "payments-value", "versions": [1], "deletion": "permanent", "done": True}
    assert counterfoil("subjects", "show", "payments-value")[0] == 14


def test_what_others_refer_to_is_not_deleted(counterfoil):
    counterfoil("schema", "register")
    code, _, err = counterfoil("subjects", "delete", "shop.Money", "--yes")
    assert code == 14
    assert "referenced by" in err


def test_config_is_shown_changed_and_deleted(tmp_path, counterfoil):
    assert counterfoil("config", "get", "s") == (0, "compatibility  BACKWARD\n", "")
    assert counterfoil("config", "get", "s", "--own")[0] == 14
    metadata = tmp_path / "metadata.json"
    metadata.write_text('{"properties": {"owner": "rides"}}')
    changed = document(
        counterfoil(
            "config",
            "set",
            "compatibility=full",
            "normalize=true",
            f"defaultMetadata=@{metadata}",
            "--subject",
            "s",
            "--json",
        )
    )
    assert changed == {
        "normalize": True,
        "compatibility": "FULL",
        "defaultMetadata": {"properties": {"owner": "rides"}},
    }
    left = document(counterfoil("config", "set", "normalize=", "--subject", "s", "--json"))
    assert "normalize" not in document(counterfoil("config", "get", "s", "--own", "--json")), left
    assert "Nothing was deleted." in counterfoil("config", "delete", "s")[1]
    assert document(counterfoil("config", "delete", "s", "--yes", "--json"))["compatibility"] == "FULL"
    assert counterfoil("config", "get", "s", "--own")[0] == 14


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("level=FULL", "with one of the keys alias, "),
        ("compatibility", "is not KEY=VALUE"),
        ("compatibility=ALL", "Unknown compatibility level 'ALL'"),
        ("normalize=perhaps", "normalize must be true or false"),
        ("defaultMetadata=@/dev/null", "/dev/null is not JSON"),
        ("compatibilityPolicy=BOGUS", "compatibilityPolicy: 'BOGUS' is not known; expected one of STRICT"),
    ],
)
def test_settings_that_do_not_exist(counterfoil, change, problem):
    code, _, err = counterfoil("config", "set", change)
    assert code == 2
    assert problem in err


def test_modes(counterfoil):
    assert counterfoil("mode", "get", "s") == (0, "READWRITE\n", "")
    assert document(counterfoil("mode", "set", "import", "s", "--json")) == {"mode": "IMPORT"}
    assert counterfoil("mode", "get", "s", "--own") == (0, "IMPORT\n", "")
    assert counterfoil("mode", "delete", "s")[1] == "The mode of subject 's' was IMPORT and is unset now.\n"
    assert counterfoil("mode", "get", "s", "--own")[0] == 14
    assert counterfoil("mode", "set", "OPEN", "s")[0] == 2


def test_a_mode_of_the_whole_registry_is_asked_for(counterfoil):
    code, _, err = counterfoil("mode", "set", "readonly")
    assert (code, "--all" in err) == (2, True)
    assert counterfoil("mode", "set", "readonly", "s", "--all")[0] == 2
    assert counterfoil("mode", "get") == (0, "READWRITE\n", "")
    assert counterfoil("mode", "set", "readonly", "--all") == (0, "READONLY\n", "")
    assert counterfoil("mode", "get") == (0, "READONLY\n", "")
    counterfoil("mode", "set", "READWRITE", "--all")


def test_members_of_a_file_that_would_be_ignored_are_refused(counterfoil, tmp_path):
    (tmp_path / "metadata.json").write_text('{"propertys": {"owner": "a"}}')
    code, _, err = counterfoil("config", "set", f"defaultMetadata=@{tmp_path}/metadata.json")
    assert (code, "defaultMetadata.propertys" in err) == (2, True)


def test_schemas_are_found_by_version_id_and_guid(folder, counterfoil):
    counterfoil("schema", "register")
    known = document(counterfoil("schema", "get", "shop.Money", "1", "--json"))
    by_id = document(counterfoil("schema", "get", "--id", str(known["id"]), "--json"))
    by_guid = document(counterfoil("schema", "get", "--guid", known["guid"], "--json"))
    assert known["schema"] == by_id["schema"] == by_guid["schema"]
    assert counterfoil("schema", "get", "common/card.proto", "--output", "copy.proto") == (0, "", "")
    assert "message Card" in (folder / "copy.proto").read_text()
    assert counterfoil("schema", "get")[0] == 2
    assert counterfoil("schema", "get", "shop.Money", "9")[0] == 14
    assert counterfoil("schema", "get", "shop.Money", "x")[0] == 2


def test_a_bundle_has_the_named_subjects_and_what_they_refer_to(folder, counterfoil):
    counterfoil("schema", "register")
    made = document(counterfoil("bundle", "schemas.json", "orders-value", "--json"))
    assert (made["subjects"], made["versions"], made["signed"]) == (2, 2, False)
    with Registry.from_bundle(folder / "schemas.json") as bundle:
        assert bundle.subjects() == ("orders-value", "shop.Money")
    code, out, _ = counterfoil("bundle", "all.json.gz")
    assert code == 0
    assert out.startswith("all.json.gz: 4 versions of 4 subjects, SHA-256 ")
    assert counterfoil("bundle", "none.json", "nobody")[0] == 14
    assert counterfoil("bundle", "signed.json", "--sign-key", "schemas.json")[0] == 14
    assert not (folder / "none.json").exists()


def test_the_installed_command_reports_a_registry_that_does_not_answer():
    done = subprocess.run(
        [str(Path(sys.executable).with_name("counterfoil")), "subjects", "list", "--registry", "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        env={**os.environ, "COUNTERFOIL_REGISTRY_RETRIES": "0"},
        check=False,
        timeout=300,
    )
    assert done.returncode == 11
    assert done.stderr.startswith("counterfoil: The registry at http://127.0.0.1:9/subjects did not answer")


BRIDGE = """\
bridge: cards
source: {topic: cards-v2, subject: cards-value}
target: {topic: cards, subject: cards-value}
"""


def test_bridges_are_registered_and_change_their_states(counterfoil: Callable[..., tuple[int, str, str]], folder: Path):
    old = {"type": "record", "name": "Card", "fields": [{"name": "number", "type": "string"}]}
    (folder / "cards-value.avsc").write_text(json.dumps(old))
    (folder / "new.proto").write_text(CARD)
    (folder / "bridge.yaml").write_text(BRIDGE)
    assert counterfoil("schema", "register", "cards-value.avsc")[0] == 0
    assert counterfoil("config", "set", "incompatibleVersions=BRIDGED", "--subject", "cards-value")[0] == 0
    registering = ("bridges", "register", "bridge.yaml", "--owner", "a", "--source-schema", "new.proto", "--yes")
    code, printed, problems = counterfoil(*registering, "--register-source", "--direction", "old-to-new")
    assert (code, problems, "old-to-new" in printed) == (0, "", True)
    code, printed, problems = counterfoil("bridges", "transition", "cards", "shadow", "--by", "a", "--yes")
    assert (code, problems, "shadow" in printed) == (0, "", True)
    code, printed, _ = counterfoil("bridges", "list", "--state", "shadow")
    assert (code, printed.split()[:2]) == (0, ["cards", "shadow"])
    assert counterfoil("bridges", "list", "--state", "caught-up") == (0, "", "")
    assert counterfoil("bridges", "transition", "cards", "planned", "--by", "a", "--yes")[0] == 0
    assert counterfoil("bridges", "delete", "cards", "--yes")[0] == 0
    assert counterfoil("bridges", "show", "cards")[0] == 14
