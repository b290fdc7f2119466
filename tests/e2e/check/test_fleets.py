"""``check --consumers`` names the consumers that decoded records show to break, and nobody where nothing can break."""

from __future__ import annotations

import pytest

from strategies.fleets.files import drawn_change, fault_of_check
from strategies.fleets.languages import LANGUAGES
from strategies.fleets.reverts import drawn_history

CHANGES, MANY = range(5), range(1000, 1200)


@pytest.fixture
def broken_by(counterfoil, workshop):
    """A function that returns whom a check names as broken: of commits, and a file that then becomes another one."""

    def check(change, commits):
        for path in ("schemas", "contracts", "consumers"):
            for each in (workshop.folder / path).glob("*"):
                each.unlink()
        workshop.commit()
        for files in commits:
            for path, text in files.items():
                workshop.write(path, text)
            workshop.commit()
        workshop.write(change.path, change.later)
        words = ("check", "--consumers", "consumers", "--level", "NONE", "--against", "HEAD", "--format", "json")
        outcome = counterfoil(*words, folder=workshop.folder)
        errors = [each for each in outcome.report["findings"] if each["severity"] == "error"]
        assert outcome.code == (1 if errors else 0), f"{outcome}\n{change}"
        return {one.split()[0] for each in errors for one in each["consumers"]["breaks"]}, outcome

    return check


def _faults_of_histories(broken_by, language, seeds):
    for seed in seeds:
        change = drawn_history(seed, language)
        broken, outcome = broken_by(change, change.commits)
        fault = fault_of_check(change, broken)
        if fault:
            yield f"seed {seed}: {fault}\n{change}\n{outcome}"


def _faults(broken_by, language, seeds):
    for seed in seeds:
        change = drawn_change(seed, language)
        broken, outcome = broken_by(change, [change.files])
        fault = fault_of_check(change, broken)
        if fault:
            yield f"seed {seed}: {fault}\n{change}\n{outcome}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_check_of_a_few_changes_names_whom_decoded_records_show_to_break(broken_by, language):
    assert not (faults := [*_faults(broken_by, language, CHANGES)]), "\n\n".join(faults)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_check_of_many_changes_names_whom_decoded_records_show_to_break(broken_by, language):
    assert not (faults := [*_faults(broken_by, language, MANY)]), "\n\n".join(faults)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_check_of_a_file_that_goes_back_names_whom_decoded_records_show_to_break(broken_by, language):
    assert not (faults := [*_faults_of_histories(broken_by, language, CHANGES)]), "\n\n".join(faults)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_check_of_many_files_that_go_back_names_whom_decoded_records_show_to_break(broken_by, language):
    assert not (faults := [*_faults_of_histories(broken_by, language, MANY)]), "\n\n".join(faults)
