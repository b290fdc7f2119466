"""``counterfoil check --staged`` as a hook runs it, and repositories of unusual shape."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def committed(workshop, order):
    """A repository with two committed schemas."""
    workshop.write("order.avsc", order(id="string"))
    workshop.write("ride.avsc", {**order(id="string"), "name": "Ride"})
    workshop.commit()
    return workshop


def _check(counterfoil, repository, *arguments):
    return counterfoil("check", "--against", "HEAD", "--format", "json", *arguments, folder=repository.folder)


def test_what_is_staged_is_checked_not_what_is_in_the_working_tree(counterfoil, committed, order):
    committed.write("order.avsc", order(id="int"))
    assert _check(counterfoil, committed, "--staged").report["findings"] == []
    committed.git("add", "order.avsc")
    committed.write("order.avsc", order(id="string"))
    result = _check(counterfoil, committed, "--staged")
    assert (result.code, result.rules) == (1, ["type-mismatch"])
    assert _check(counterfoil, committed).code == 0


def test_a_staged_deletion_is_reported(counterfoil, committed):
    (committed.folder / "ride.avsc").unlink()
    assert _check(counterfoil, committed, "--staged").report["findings"] == []
    committed.git("rm", "--quiet", "ride.avsc")
    result = _check(counterfoil, committed, "--staged", "--fail-on", "warning")
    assert (result.code, result.rules) == (1, ["schema-removed"])
    assert result.report["findings"][0]["path"] == "ride.avsc"


def test_a_staged_rename_is_no_deletion(counterfoil, committed):
    (committed.folder / "schemas").mkdir()
    committed.git("mv", "ride.avsc", "schemas/ride.avsc")
    result = _check(counterfoil, committed, "--staged", "--fail-on", "warning")
    assert (result.code, result.rules) == (0, [])


def test_staged_needs_a_repository(counterfoil, tmp_path):
    result = counterfoil("check", "--staged", folder=tmp_path)
    assert (result.code, "nothing is staged" in result.err) == (14, True)


def test_avro_idl_is_named_with_the_command_that_converts_it(counterfoil, committed):
    committed.write("order.avdl", "protocol Orders { record Order { string id; } }")
    result = _check(counterfoil, committed, "order.avdl")
    assert (result.code, "idl2schemata order.avdl" in result.err) == (2, True)


def test_a_submodule_is_checked_in_its_own_folder(counterfoil, committed, tmp_path):
    inner = tmp_path / "inner"
    committed.git("clone", "--quiet", committed.folder, inner)
    committed.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "lib")
    committed.commit()
    (committed.folder / "lib" / "order.avsc").write_text('{"type": "record", "name": "Order", "fields": 1}')
    assert _check(counterfoil, committed).code == 0
    assert counterfoil("check", "--against", "HEAD", folder=committed.folder / "lib").code == 1


def test_a_service_of_a_monorepo_is_checked_alone_with_what_it_refers_to(counterfoil, workshop, order):
    line = {"type": "record", "name": "Line", "namespace": "shop", "fields": [{"name": "n", "type": "int"}]}
    workshop.write("common/line.avsc", line)
    workshop.write("services/a/order.avsc", order(line="shop.Line"))
    workshop.write("services/b/ride.avsc", {**order(id="string"), "name": "Ride"})
    workshop.commit()
    workshop.write("common/line.avsc", {**line, "fields": [{"name": "n", "type": "string"}]})
    workshop.write("services/b/ride.avsc", {**order(id="int"), "name": "Ride"})
    result = counterfoil("check", "--format", "json", folder=workshop.folder / "services" / "a")
    assert [(one["path"], one["rule"]) for one in result.report["findings"]] == [
        ("services/a/order.avsc", "type-mismatch")
    ]


def test_a_submodule_that_was_moved_is_named_if_it_has_schema_files(counterfoil, committed, tmp_path):
    """Its files are those of another repository; a check that says nothing about them would read as a yes."""
    inner, other = tmp_path / "inner", tmp_path / "other"
    committed.git("clone", "--quiet", committed.folder, inner)
    committed.git("init", "--quiet", other)
    _commit(committed, other, "README.md", "no schema")
    for name, source in (("lib", inner), ("tools", other)):
        committed.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(source), name)
    committed.commit()
    assert "submodule" not in _check(counterfoil, committed, "--against", "HEAD").out
    for name in ("lib", "tools"):
        _commit(committed, committed.folder / name, "more.txt", "more")
    moved = _check(counterfoil, committed, "--against", "HEAD")
    assert (moved.code, moved.out.count("submodule")) == (0, 1), moved
    assert "the submodule lib was moved from" in moved.out
    assert re.search("it has [0-9]+ schema files?, and is not compared", moved.out), moved.out
    assert "submodule" not in _check(counterfoil, committed, "--against", "HEAD", "--staged").out
    committed.git("add", "lib")
    assert "the submodule lib was moved" in _check(counterfoil, committed, "--against", "HEAD", "--staged").out
    assert "submodule" not in _check(counterfoil, committed, "order.avsc", "--against", "HEAD").out
    assert "submodule lib" in _check(counterfoil, committed, "lib", "--against", "HEAD").out
    committed.git("rm", "--quiet", "--force", "lib")
    assert "the submodule lib was removed" in _check(counterfoil, committed, "--against", "HEAD").out


def _commit(workshop, folder, path, text):
    (folder / path).write_text(text)
    workshop.git("-C", folder, "add", "--all")
    workshop.git("-C", folder, "commit", "--quiet", "--message", "a change")
