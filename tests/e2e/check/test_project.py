"""``counterfoil check`` with a project file: subjects, levels, policies and severities of files, accepted findings."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def project(workshop, order):
    """A repository with two schemas of one shape, committed, with a project file that a test writes."""
    for name in ("a", "b"):
        workshop.write(f"schemas/{name}.avsc", {**order(id="string"), "name": name.upper()})
    workshop.commit()
    return workshop


def _change(project, order, **fields):
    for name in ("a", "b"):
        project.write(f"schemas/{name}.avsc", {**order(**fields), "name": name.upper()})


def test_levels_and_subjects_of_files(counterfoil, project, order):
    project.write(
        "counterfoil.yaml",
        "level: BACKWARD\nschemas:\n"
        "  - {files: schemas/a.avsc, subject: 'orders.{stem}-value', level: FORWARD, owner: checkout}\n"
        "  - {files: 'schemas/*'}\n",
    )
    _change(project, order, id="string", note="string")
    report = counterfoil("check", "--format", "json", folder=project.folder).report
    files = {one["path"]: one for one in report["files"]}
    first = files["schemas/a.avsc"]
    assert (first["subject"], first["level"], first["owner"]) == ("orders.a-value", "FORWARD", "checkout")
    assert files["schemas/b.avsc"]["level"] == "BACKWARD"
    assert [(one["path"], one["rule"]) for one in report["findings"]] == [
        ("schemas/b.avsc", "reader-field-missing-default")
    ]


def test_an_option_wins_over_the_project(counterfoil, project, order):
    project.write("counterfoil.yaml", "level: NONE\npolicy: SOUND\n")
    _change(project, order, id="string", note="string")
    assert counterfoil("check", folder=project.folder).code == 0
    report = counterfoil("check", "--level", "BACKWARD", "--format", "json", folder=project.folder).report
    assert {one["policy"] for one in report["files"]} == {"SOUND"}
    assert report["exitCode"] == 1


def test_the_severity_that_fails_is_that_of_the_file(counterfoil, project, order):
    project.write("counterfoil.yaml", "schemas:\n  - {files: 'schemas/a.avsc', fail-on: never}\n  - {files: '**'}\n")
    project.write("schemas/a.avsc", {**order(id="int"), "name": "A"})
    assert counterfoil("check", folder=project.folder).code == 0
    assert counterfoil("check", "--fail-on", "error", folder=project.folder).code == 1
    project.write("schemas/b.avsc", {**order(id="int"), "name": "B"})
    assert counterfoil("check", folder=project.folder).code == 1


def test_ignored_rules_are_left_out_and_counted(counterfoil, project, order):
    project.write(
        "counterfoil.yaml", "ignore:\n  - {rule: type-mismatch, reason: an experiment, files: schemas/a.avsc}\n"
    )
    _change(project, order, id="int")
    report = counterfoil("check", "--format", "json", folder=project.folder).report
    assert [one["path"] for one in report["findings"]] == ["schemas/b.avsc"]
    assert "1 finding of ignored rules left out: type-mismatch" in report["note"]


def test_accepted_findings_and_stale_ones(counterfoil, project, order):
    _change(project, order, id="int")
    known = {
        one["path"]: one["fingerprint"]
        for one in counterfoil("check", "--format", "json", folder=project.folder).report["findings"]
    }
    entry = "{{fingerprint: '{}', owner: ana, reason: empty, until: 2999-01-01}}"
    project.write(
        "counterfoil.yaml",
        "accepted:\n"
        f"  - {entry.format(known['schemas/a.avsc'])}\n"
        f"  - {entry.format(known['schemas/b.avsc'])}\n"
        f"  - {entry.format('0' * 12)}\n",
    )
    result = counterfoil("check", "--format", "json", folder=project.folder)
    assert result.code == 0
    assert result.report["summary"]["approved"] == 2
    stale = next(one for one in result.report["findings"] if one["rule"] == "approval-stale")
    assert (stale["path"], stale["line"]) == ("counterfoil.yaml", 4)


def test_a_named_project_file_and_a_wrong_one(counterfoil, project, order):
    _change(project, order, id="int")
    project.write("other.yaml", "level: NONE\n")
    assert counterfoil("check", "--config", "other.yaml", folder=project.folder).code == 0
    project.write("counterfoil.yaml", "levle: NONE\n")
    result = counterfoil("check", folder=project.folder)
    assert (result.code, "counterfoil.yaml:1:1: the project has no key levle; did you mean level?" in result.err) == (
        14,
        True,
    ), result.err


def test_every_output_at_once_from_a_folder_inside(counterfoil, project, order):
    _change(project, order, id="int")
    outputs = [f"--format={form}=report.{form}" for form in ("json", "sarif", "junit", "gitlab", "markdown", "html")]
    summary = project.folder / "summary.md"
    result = counterfoil(
        "check",
        "--format=github",
        *outputs,
        folder=project.folder / "schemas",
        settings={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    assert result.code == 1
    assert "::error file=schemas/a.avsc,line=" in result.out
    assert summary.read_text().startswith("<!-- counterfoil check -->")
    written = {
        form: (project.folder / "schemas" / f"report.{form}").read_text() for form in ("sarif", "gitlab", "junit")
    }
    location = json.loads(written["sarif"])["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "schemas/a.avsc"
    assert json.loads(written["gitlab"])[0]["location"]["path"] == "schemas/a.avsc"
    assert written["junit"].count("<failure") == 2


def test_a_removed_file_has_the_settings_that_it_had(counterfoil, project):
    project.write(
        "counterfoil.yaml",
        "schemas:\n"
        "  - {files: schemas/a.avsc, level: NONE}\n"
        "  - {files: schemas/b.avsc, subject: b-value, fail-on: warning}\n",
    )
    (project.folder / "schemas" / "a.avsc").unlink()
    assert counterfoil("check", folder=project.folder).code == 0
    (project.folder / "schemas" / "b.avsc").unlink()
    result = counterfoil("check", "--format", "json", folder=project.folder)
    found = [(one["path"], one["subject"]) for one in result.report["findings"]]
    assert (result.code, found) == (1, [("schemas/b.avsc", "b-value")])
