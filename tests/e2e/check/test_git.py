"""``counterfoil check`` in real repositories: what is compared with what, and that git is only read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def snapshot(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` with the hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_compatible_change_is_fine(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", note={"type": ["null", "string"], "default": None}))
    result = counterfoil("check", folder=workshop.folder)
    assert result.code == 0
    assert "0 errors, 0 warnings; 1 schema checked against main@" in result.out


def test_a_break_names_place_witness_and_cure(installed, workshop, order):
    workshop.write("schemas/order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("schemas/order.avsc", order(id="string", total="int", paid="boolean"))
    result = installed("check", "--format", "json", folder=workshop.folder)
    assert result.code == 1
    total, paid = result.report["findings"]
    text = (workshop.folder / "schemas/order.avsc").read_text().splitlines()
    assert (total["rule"], total["element"], total["direction"]) == ("type-mismatch", "total", "BACKWARD")
    assert text[total["line"] - 1][total["column"] - 1 :].startswith('"int"')
    assert total["path"] == "schemas/order.avsc"
    assert total["subject"] == "shop.Order"
    assert set(total["witness"]["datum"]) == {"id", "total"}
    assert total["witness"]["reader"] == "schemas/order.avsc"
    assert total["witness"]["writer"].startswith("main@")
    assert "fastavro" in total["witness"]["confirmedBy"]
    assert (paid["rule"], paid["element"]) == ("reader-field-missing-default", "paid")
    assert "default" in paid["advice"]


def test_all_files_and_all_findings_are_reported(counterfoil, workshop, order):
    for name in ("a", "b"):
        workshop.write(f"{name}.avsc", {**order(x="long", y="string"), "name": f"Order{name}"})
    workshop.commit()
    for name in ("a", "b"):
        workshop.write(f"{name}.avsc", {**order(x="int", y="long"), "name": f"Order{name}"})
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert [(one["path"], one["element"]) for one in result.report["findings"]] == [
        ("a.avsc", "x"),
        ("a.avsc", "y"),
        ("b.avsc", "x"),
        ("b.avsc", "y"),
    ]


def test_the_fingerprint_stays_when_the_finding_moves(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total="int"))
    before = counterfoil("check", "--format", "json", folder=workshop.folder).report["findings"][0]
    workshop.write("order.avsc", order(new={"type": "int", "default": 0}, id="string", total="int"))
    after = counterfoil("check", "--format", "json", folder=workshop.folder).report["findings"][0]
    assert before["line"] != after["line"]
    assert before["fingerprint"] == after["fingerprint"]


@pytest.mark.parametrize(
    ("level", "code"),
    [
        ("NONE", 0),
        ("BACKWARD", 0),
        ("BACKWARD_TRANSITIVE", 0),
        ("FORWARD", 1),
        ("FORWARD_TRANSITIVE", 1),
        ("FULL", 1),
        ("full_transitive", 1),
    ],
)
def test_the_level_decides(counterfoil, workshop, order, level, code):
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string"))  # without total: the earlier reader has no default for it
    assert counterfoil("check", "--level", level, folder=workshop.folder).code == code


def test_a_transitive_level_looks_at_the_whole_history(counterfoil, workshop, order):
    first = {"type": "int", "default": 0}
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total=first))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total="int"))
    assert counterfoil("check", "--level", "BACKWARD", folder=workshop.folder).code == 0
    result = counterfoil("check", "--level", "BACKWARD_TRANSITIVE", "--format", "json", folder=workshop.folder)
    assert result.code == 1
    (finding,) = result.report["findings"]
    assert finding["against"] == [workshop.git("rev-parse", "HEAD^").strip()[:7]]
    assert len(result.report["files"][0]["comparedWith"]) == 2


def test_a_finding_against_many_versions_is_reported_once(counterfoil, workshop, order):
    for number in range(3):
        workshop.write("order.avsc", order(id="string", **{f"f{number}": {"type": "int", "default": 0}}))
        workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    result = counterfoil("check", "--level", "BACKWARD_TRANSITIVE", "--format", "json", folder=workshop.folder)
    (finding,) = result.report["findings"]
    assert len(finding["against"]) == 3


def test_a_branch_is_compared_with_where_it_left_the_default_branch(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("switch", "--quiet", "--create", "feature")
    workshop.write("other.txt", "x")
    workshop.commit()
    workshop.git("switch", "--quiet", "main")
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.git("switch", "--quiet", "feature")
    assert counterfoil("check", "--level", "FULL", folder=workshop.folder).code == 0
    assert counterfoil("check", "--level", "FULL", "--against", "main", folder=workshop.folder).code == 1


def test_on_the_default_branch_a_note_says_what_is_judged(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    workshop.commit()
    result = counterfoil("check", folder=workshop.folder)
    assert result.code == 0
    assert "--against HEAD^" in result.out
    assert counterfoil("check", "--against", "HEAD^", folder=workshop.folder).code == 1


def test_a_moved_file_is_no_removal(counterfoil, workshop, order):
    workshop.write("old/order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("mv", "old", "new")
    workshop.write("new/order.avsc", order(id="long"))
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert result.rules == ["type-mismatch"]
    assert result.report["findings"][0]["path"] == "new/order.avsc"


def test_a_record_renamed_in_place_is_the_same_schema(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", {**order(id="string"), "name": "Purchase"})
    assert counterfoil("check", "--format", "json", folder=workshop.folder).rules == ["name-mismatch"]


def test_two_files_of_one_name_are_distinguished_by_path(counterfoil, workshop, order):
    workshop.write("v1/order.avsc", order(id="string"))
    workshop.write("v2/order.avsc", order(id="long"))
    workshop.commit()
    workshop.write("v2/order.avsc", order(id="long", note={"type": "string", "default": ""}))
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert result.code == 0
    assert [one["status"] for one in result.report["files"]] == ["unchanged", "compared"]


def test_a_removed_file_is_a_warning(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    (workshop.folder / "order.avsc").unlink()
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (0, ["schema-removed"])
    assert result.report["findings"][0]["subject"] == "shop.Order"
    assert counterfoil("check", "--fail-on", "warning", folder=workshop.folder).code == 1
    assert counterfoil("check", "order.avsc", folder=workshop.folder).code == 0
    assert counterfoil("check", "--level", "NONE", "--format", "json", folder=workshop.folder).code == 4


def test_a_new_file_passes_with_a_notice(counterfoil, workshop, order):
    workshop.commit()
    workshop.write("order.avsc", order(id="string"))
    result = counterfoil("check", folder=workshop.folder)
    assert result.code == 0
    assert "schema-new" in result.out
    assert counterfoil("check", "--quiet", folder=workshop.folder).out == ""


def test_references_resolve_on_each_side_by_itself(counterfoil, workshop, order):
    item = {"type": "record", "name": "Item", "namespace": "shop", "fields": [{"name": "sku", "type": "string"}]}
    workshop.write("types/item.avsc", item)
    workshop.write("order.avsc", order(items={"type": {"type": "array", "items": "shop.Item"}}))
    workshop.commit()
    assert counterfoil("check", folder=workshop.folder).code == 0
    workshop.write("types/item.avsc", {**item, "fields": [{"name": "sku", "type": "long"}]})
    result = counterfoil("check", "order.avsc", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (1, ["type-mismatch"])  # order.avsc itself is untouched
    assert result.report["findings"][0]["path"] == "order.avsc"


def test_files_that_refer_to_one_another_in_a_circle_are_invalid(counterfoil, workshop):
    for one, other in (("A", "B"), ("B", "A")):
        fields = [{"name": "x", "type": other}]
        workshop.write(f"{one}.avsc", {"type": "record", "name": one, "fields": fields})
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert result.rules == ["schema-invalid"] * 2
    assert "A.avsc → B.avsc → A.avsc" in result.report["findings"][0]["text"]


def test_an_unresolved_name_is_invalid_at_its_place(counterfoil, workshop, order):
    workshop.write("order.avsc", order(item="shop.Nowhere"))
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    (finding,) = result.report["findings"]
    assert (result.code, finding["rule"]) == (1, "schema-invalid")
    assert "shop.Nowhere" in finding["text"]
    line = (workshop.folder / "order.avsc").read_text().splitlines()[finding["line"] - 1]
    assert "shop.Nowhere" in line


def test_in_a_subdirectory_only_its_files_are_checked_and_paths_are_seen_from_there(counterfoil, workshop, order):
    workshop.write("a/order.avsc", order(id="string"))
    workshop.write("b/sub/order.avsc", {**order(id="string"), "name": "Sub"})
    workshop.commit()
    workshop.write("a/order.avsc", order(id="long"))
    workshop.write("b/sub/order.avsc", {**order(id="long"), "name": "Sub"})
    inside = counterfoil("check", folder=workshop.folder / "b")
    assert inside.code == 1
    assert "shop.Sub  sub/order.avsc:" in inside.out
    assert "a/order.avsc" not in inside.out
    beside = counterfoil("check", "../a/order.avsc", folder=workshop.folder / "b")
    assert "shop.Order  ../a/order.avsc:" in beside.out


def test_names_with_spaces_and_letters_of_any_script(counterfoil, workshop, order):
    workshop.write("mit Leerzeichen/größe 注文.avsc", order(id="string"))
    workshop.commit()
    workshop.write("mit Leerzeichen/größe 注文.avsc", order(id="long"))
    result = counterfoil("check", "--format", "json", "mit Leerzeichen", folder=workshop.folder)
    assert result.code == 1
    assert result.report["findings"][0]["path"] == "mit Leerzeichen/größe 注文.avsc"


def test_a_name_that_is_not_unicode_still_reports(counterfoil, workshop, order):
    place = workshop.folder / "caf\udce9.avsc"
    place.write_text("{", encoding="utf-8")
    del order
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (1, ["schema-invalid"])


def test_ignored_files_are_left_out_unless_named(counterfoil, workshop, order):
    workshop.write(".gitignore", "build/\n")
    workshop.commit()
    workshop.write("build/order.avsc", order(id="string"))
    assert counterfoil("check", folder=workshop.folder).code == 4
    assert counterfoil("check", "build/order.avsc", folder=workshop.folder).code == 0


def test_a_file_with_another_suffix_is_checked_when_named(counterfoil, workshop, order):
    workshop.write("order.json", order(id="string"))
    workshop.commit()
    workshop.write("order.json", order(id="long"))
    assert counterfoil("check", folder=workshop.folder).code == 4
    assert counterfoil("check", "order.json", folder=workshop.folder).code == 1


def test_staged_unstaged_and_untracked_changes_are_all_seen(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    workshop.git("add", "--all")
    assert counterfoil("check", "--against", "HEAD", folder=workshop.folder).code == 1
    workshop.git("reset", "--quiet")
    assert counterfoil("check", "--against", "HEAD", folder=workshop.folder).code == 1


def test_the_repository_is_not_touched(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    workshop.write("staged.avsc", {**order(id="string"), "name": "Staged"})
    workshop.git("add", "staged.avsc")
    workshop.write("untracked.avsc", {**order(id="string"), "name": "Untracked"})
    before, status = snapshot(workshop.folder), workshop.git("status", "--porcelain")
    for level in ("FULL", "FULL_TRANSITIVE"):
        assert counterfoil("check", "--level", level, folder=workshop.folder).code == 1
    counterfoil("diff", "HEAD:order.avsc", "order.avsc", folder=workshop.folder)
    assert snapshot(workshop.folder) == before
    assert workshop.git("status", "--porcelain") == status


def test_files_that_a_sparse_checkout_leaves_out_are_not_removed(counterfoil, workshop, order):
    workshop.write("a/order.avsc", order(id="string"))
    workshop.write("b/other.avsc", {**order(id="string"), "name": "Other"})
    workshop.commit()
    workshop.git("sparse-checkout", "set", "a")
    assert not (workshop.folder / "b").exists()
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (0, [])


def test_links_are_not_schemas(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    (workshop.folder / "link.avsc").symlink_to("order.avsc")
    workshop.commit()
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert [one["path"] for one in result.report["files"]] == ["order.avsc"]


def test_on_an_unborn_branch_every_file_is_new(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    for arguments in ([], ["--against", "HEAD"]):
        result = counterfoil("check", "--format", "json", *arguments, folder=workshop.folder)
        assert (result.code, result.rules) == (0, ["schema-new"])


def test_a_missing_ref_is_a_precondition(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    result = counterfoil("check", "--against", "nowhere", folder=workshop.folder)
    assert result.code == 14
    assert result.err.count("\n") == 1
    assert "nowhere" in result.err


def test_a_ref_that_looks_like_an_option_is_only_a_ref(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    assert counterfoil("check", "--against=--output=x", folder=workshop.folder).code == 14


def test_without_a_default_branch_the_base_must_be_named(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("branch", "--move", "trunk")
    result = counterfoil("check", folder=workshop.folder)
    assert (result.code, "--against REF" in result.err) == (14, True)
    assert counterfoil("check", "--against", "trunk", folder=workshop.folder).code == 0


def test_the_default_branch_of_the_remote_is_found(counterfoil, workshop, order, tmp_path):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("branch", "--move", "trunk")
    workshop.git("clone", "--quiet", workshop.folder, tmp_path / "clone")
    (tmp_path / "clone/order.avsc").write_text("{}")
    result = counterfoil("check", folder=tmp_path / "clone")
    assert result.code == 1
    assert "against origin/trunk@" in result.out


def test_a_branch_that_only_the_remote_has_may_be_named(counterfoil, workshop, order, tmp_path):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.git("branch", "release")
    workshop.git("clone", "--quiet", workshop.folder, tmp_path / "clone")
    (tmp_path / "clone/order.avsc").write_text('"string"')
    result = counterfoil("check", "--against", "release", folder=tmp_path / "clone")
    assert (result.code, "against origin/release@" in result.out) == (1, True)
    diff = counterfoil("diff", "release:order.avsc", "order.avsc", folder=tmp_path / "clone")
    assert diff.code == 0


def test_a_shallow_clone_says_how_to_fetch_the_rest(counterfoil, workshop, order, tmp_path):
    workshop.write("order.avsc", order(id="string"))
    first = workshop.commit()
    workshop.write("order.avsc", order(id="string", n={"type": "int", "default": 0}))
    workshop.commit()
    workshop.git("switch", "--quiet", "--create", "feature")
    workshop.git("clone", "--quiet", "--depth", "1", f"file://{workshop.folder}", tmp_path / "shallow")
    shallow = tmp_path / "shallow"
    transitive = ["--against", "HEAD", "--level", "FULL_TRANSITIVE"]
    for arguments in (["--against", first], ["--against", "main"], [], transitive):
        result = counterfoil("check", *arguments, folder=shallow)
        assert (result.code, "fetch-depth: 0" in result.err) == (14, True), result
    assert counterfoil("check", "--against", "HEAD", folder=shallow).code == 0


def test_outside_of_a_repository_a_base_must_be_named(counterfoil, tmp_path):
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "order.avsc").write_text('"string"')
    result = counterfoil("check", folder=folder)
    assert (result.code, "not in the working tree of a git repository" in result.err) == (14, True)
    assert counterfoil("check", "--against", "main", folder=folder).code == 14


def test_an_empty_folder_is_no_answer(counterfoil, workshop):
    workshop.commit()
    result = counterfoil("check", folder=workshop.folder)
    assert (result.code, "0 schemas checked" in result.out) == (4, True)
    assert counterfoil("check", "--allow-empty", folder=workshop.folder).code == 0


def test_a_path_that_is_nowhere_is_a_precondition(counterfoil, workshop):
    workshop.commit()
    result = counterfoil("check", "nowhere.avsc", folder=workshop.folder)
    assert (result.code, "nowhere.avsc" in result.err) == (14, True)
    outside = counterfoil("check", "../elsewhere.avsc", folder=workshop.folder)
    assert (outside.code, "outside" in outside.err) == (14, True)


def test_without_git_installed_one_line_says_so(counterfoil, workshop, tmp_path):
    result = counterfoil("check", folder=workshop.folder, settings={"PATH": str(tmp_path)})
    assert (result.code, "git is not installed" in result.err) == (14, True)


def test_git_as_hooks_run_it(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    hook = {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index"}
    assert counterfoil("check", "--against", "HEAD", "order.avsc", folder=workshop.folder, settings=hook).code == 1
