"""The project file ``counterfoil.yaml``: what it says of files, and the place of every mistake in it."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.errors import InvalidProject
from counterfoil.contracts.findings import FailOn
from counterfoil.contracts.project.documents import project_json_schema, read_project
from counterfoil.contracts.project.files import find_project
from counterfoil.schema.compatibility.policies import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.documents import InvalidDocument, plain_value
from counterfoil.schema.documents.yaml_reader import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

FULL = """\
level: backward
owner: checkout
registry: http://registry:8081
schemas:
  - files: [schemas/orders/*.avsc, "schemas/returns/**/*.avsc"]
    subject: "{folder}.{stem}-value"
    level: FULL_TRANSITIVE
    policy: SOUND
    fail-on: warning
    owner: orders
  - {files: common/, part: true}
  - {files: proto/*.proto, subject: "{name}"}
  - files: "**/*.avsc"
contracts: contracts/**/*.odcs.yaml
ignore:
  - {rule: schema-removed, reason: the folder is being emptied, files: legacy/}
accepted:
  - {fingerprint: 3f9a1c07be12, owner: finance, reason: nobody reads it, until: 2027-03-31}
"""
EDITORS = Draft202012Validator(project_json_schema())


def test_the_first_line_that_matches_says_subject_and_settings() -> None:
    project = read_project(FULL)
    found = project.mapping("schemas/orders/placed.avsc")
    assert found is not None
    assert found.subject == "orders.placed-value"
    assert found.settings.level is CompatibilityLevel.FULL_TRANSITIVE
    assert found.settings.policy is CompatibilityPolicy.SOUND
    assert found.settings.fail_on is FailOn.WARNING
    assert found.settings.owner == "orders"
    assert found.settings.registry == "http://registry:8081"
    deeper = project.mapping("schemas/returns/eu/late/made.avsc")
    assert deeper is not None
    assert deeper.subject == "late.made-value"


def test_a_part_has_no_subject_and_an_unmapped_file_has_no_line() -> None:
    project = read_project(FULL)
    part = project.mapping("common/money.avsc")
    assert part is not None
    assert part.line.is_part
    assert part.subject is None
    assert part.settings.level is CompatibilityLevel.BACKWARD
    assert project.mapping("elsewhere/order.json") is None


def test_without_subject_the_name_of_the_file_is_the_subject_if_it_ends_like_one() -> None:
    project = read_project(FULL)
    named, unnamed = project.mapping("x/ride-value.avsc"), project.mapping("x/ride.avsc")
    assert named is not None
    assert unnamed is not None
    assert named.subject == "ride-value"
    assert unnamed.subject is None


def test_a_subject_with_the_name_of_the_schema_needs_that_name() -> None:
    project = read_project(FULL)
    named = project.mapping("proto/order.proto", name="shop.Order")
    unnamed = project.mapping("proto/order.proto")
    assert named is not None
    assert unnamed is not None
    assert (named.subject, unnamed.subject) == ("shop.Order", None)


def test_ignored_rules_are_ignored_in_their_files_alone() -> None:
    project = read_project(FULL)
    found = project.ignores("schema-removed", "legacy/old/a.avsc")
    assert found is not None
    assert found.reason == "the folder is being emptied"
    assert project.ignores("schema-removed", "schemas/a.avsc") is None
    assert project.ignores("schema-invalid", "legacy/a.avsc") is None


def test_a_finding_is_accepted_up_to_its_last_day_and_then_stale() -> None:
    project = read_project(FULL)
    last, after = date(2027, 3, 31), date(2027, 4, 1)
    accepted = project.acceptance("3f9a1c07be12", on=last)
    assert accepted is not None
    assert accepted.owner == "finance"
    assert project.acceptance("3f9a1c07be12", on=after) is None
    assert project.stale({"3f9a1c07be12"}, on=last) == ()
    (expired,) = project.stale({"3f9a1c07be12"}, on=after)
    assert "expired on 2027-03-31" in expired.text
    assert expired.is_expired
    (gone,) = project.stale(set(), on=last)
    assert not gone.is_expired
    assert "not reported any more" in gone.text
    assert str(gone.position) == "18:5"


def test_paths_can_be_relative_to_a_folder_around_the_file() -> None:
    project = read_project(FULL).within("services/a[1]")
    assert project.mapping("services/a[1]/schemas/orders/placed.avsc") is not None
    assert project.mapping("services/a1/schemas/orders/placed.avsc") is None
    assert project.mapping("schemas/orders/placed.avsc") is None
    assert project.is_agreement("services/a[1]/contracts/orders/placed.odcs.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; it needs schemas, a list of files with their subjects"),
        ("schema: []", "1:1: the project has no key schema; did you mean schemas?"),
        ("level: BACKWARDS", "1:8: level must be one of NONE, BACKWARD, "),
        ("registry: localhost:8081", "1:11: registry must be an address that starts with http:// or https://"),
        ("schemas: {}", "1:10: schemas must be a list"),
        ("schemas:\n  - {subject: a}", "2:5: an entry of schemas needs files"),
        ("schemas:\n  - {files: /a}", "2:13: files must be relative to the folder of this file"),
        ("schemas:\n  - {files: [a, ../b]}", "2:17: files must be relative to the folder of this file"),
        (
            "schemas:\n  - {files: a, subject: '{stemm}'}",
            "2:25: subject has no placeholder {stemm}; did you mean stem?",
        ),
        ("schemas:\n  - {files: a, part: yes}", "2:22: part must be true or false"),
        ("schemas:\n  - {files: a, part: true, subject: b}", "2:37: files that are parts of other schemas"),
        ("ignore:\n  - {rule: schema-new}", "2:5: an entry of ignore needs reason"),
        (
            "accepted:\n  - {fingerprint: 12, owner: a, reason: b, until: 2027-01-01}",
            "2:19: fingerprint must be the 12 hex digits",
        ),
        (
            "accepted:\n  - {fingerprint: 3f9a1c07be12, owner: a, reason: b, until: 2027-02-30}",
            "2:61: until must be a day such as 2027-03-31, not 2027-02-30",
        ),
    ],
)
def test_mistakes_have_their_place_and_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        read_project(text)
    assert str(caught.value).startswith(message)
    root = read_yaml(text)
    if root is not None and "part: yes" not in text and "2027" not in text and "part: true" not in text:
        assert not EDITORS.is_valid(plain_value(root))


def test_the_schema_for_editors_accepts_what_is_read() -> None:
    Draft202012Validator.check_schema(json.loads(json.dumps(project_json_schema())))
    root = read_yaml(FULL.replace("level: backward", "level: BACKWARD"))
    assert root is not None
    assert [error.message for error in EDITORS.iter_errors(plain_value(root))] == []


def test_the_nearest_file_up_to_the_top_of_the_repository_is_found(tmp_path: Path) -> None:
    below = tmp_path / "services" / "a"
    below.mkdir(parents=True)
    (tmp_path / "counterfoil.yaml").write_text(FULL)
    found = find_project(str(below), top=str(tmp_path))
    assert found is not None
    assert found.place == tmp_path / "counterfoil.yaml"
    assert find_project(str(below), top=str(tmp_path / "services")) is None
    (below / "counterfoil.yaml").write_text("schemas:\n  - {files: '*.avsc', subjct: a}\n")
    with pytest.raises(InvalidProject) as caught:
        find_project(str(below), top=str(tmp_path))
    assert "counterfoil.yaml:2:23: an entry of schemas has no key subjct; did you mean subject?" in str(caught.value)
