"""``counterfoil tutorial``: the start of a tutorial in an empty folder, and only there."""

from __future__ import annotations

import json

import pytest

from counterfoil.sdk import Registry
from local_services import free_port

KINDS = ("quickstart", "intended-break", "migrate")


@pytest.fixture
def settings(live_registry):
    return {"COUNTERFOIL_REGISTRY_URL": live_registry.url}


def test_the_quick_start_has_a_change_that_breaks(counterfoil, tmp_path):
    made = counterfoil("tutorial", "quickstart", "start")
    assert (made.code, made.out.splitlines()[-1]) == (0, "Next: cd start && counterfoil check"), made
    spaced = counterfoil("tutorial", "quickstart", "a start")
    assert spaced.out.splitlines()[-1] == "Next: cd 'a start' && counterfoil check", spaced
    checked = counterfoil("check", "--json", folder=tmp_path / "start")
    assert (checked.code, checked.rules) == (1, ["reader-field-missing-default"])


def test_the_intended_break_is_live_in_the_registry(counterfoil, tmp_path, settings):
    for folder in ("shop", "again"):  # the second reader of the page has the same registry
        made = counterfoil("tutorial", "intended-break", folder, settings=settings)
        assert made.code == 0, made
    assert counterfoil("check", "--consumers", "consumers", folder=tmp_path / "shop").code == 0
    live = counterfoil("environments", "production", "--json", settings=settings).report
    assert {(each["application"], each["version"]) for each in live} >= {("billing", "1.0.0"), ("shop", "1.0.0")}


def test_the_programs_of_the_migration_have_the_addresses(counterfoil, tmp_path, settings, live_registry):
    given = {**settings, "COUNTERFOIL_BOOTSTRAP_SERVERS": "broker.test:9092"}
    made = counterfoil("tutorial", "migrate", "trips", "--json", settings=given)
    assert json.loads(made.out)["next"] == ["cd trips", "python old_producer.py"], made
    program = (tmp_path / "trips/old_producer.py").read_text()
    assert "broker.test:9092" in program
    assert live_registry.url in program
    with Registry(live_registry.url) as registry:
        assert registry.version("trips-paid-value").version == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_with_something_in_it_is_refused(counterfoil, tmp_path, settings, kind):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/kept.txt").write_text("kept")
    (tmp_path / "file").write_text("kept")
    for folder, words in (("mine", "mine is not empty, and nothing was written"), ("file", "file is a file")):
        refused = counterfoil("tutorial", kind, folder, settings=settings)
        assert (refused.code, words in refused.err) == (14, True), refused
        assert "give a folder that does not exist yet, or an empty one" in refused.err
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["kept.txt"]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_without_a_registry_nothing_is_left(counterfoil, tmp_path, kind):
    away = ("--registry", f"http://127.0.0.1:{free_port()}", "--retries", "0")
    assert counterfoil("tutorial", kind, "start", *away).code == 11
    assert not (tmp_path / "start").exists()
    (tmp_path / "empty").mkdir()
    assert counterfoil("tutorial", kind, "empty", *away).code == 11
    assert not any((tmp_path / "empty").iterdir())
    assert counterfoil("tutorial", kind, "start").code == 2


def test_without_git_it_says_so(counterfoil, tmp_path):
    refused = counterfoil("tutorial", "quickstart", "start", settings={"PATH": str(tmp_path)})
    assert (refused.code, "git is not installed, or not on the PATH: install it" in refused.err) == (14, True), refused
    assert not (tmp_path / "start").exists()
