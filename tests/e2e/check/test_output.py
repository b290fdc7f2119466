"""``counterfoil check``: what it prints, where it prints it, and what it makes of broken input."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from counterfoil.contracts.reports.json_schema import report_json_schema


@pytest.fixture
def broken(workshop, order):
    """A repository with one break against its last commit."""
    workshop.write("order.avsc", order(id="string", total="long"))
    workshop.commit()
    workshop.write("order.avsc", order(id="string", total="int"))
    return workshop


def test_the_text_block(counterfoil, broken):
    commit = broken.git("rev-parse", "HEAD").strip()[:7]
    result = counterfoil("check", "--against", "main", folder=broken.folder)
    fingerprint = result.out.split("[")[1].split("]")[0]
    assert len(fingerprint) == 12
    lines = result.out.splitlines()
    assert lines[:4] == [
        "shop.Order  order.avsc:12:12",
        f"  error  type-mismatch  total: this schema expects int, the earlier one writes long  [{fingerprint}]",
        f"         this schema cannot read what main@{commit} wrote",
        '         witness: {"id": "", "total": 0}',
    ]
    assert "confirmed with fastavro" in lines[4]
    assert lines[5].startswith("         fix: Widen along a promotion")
    assert lines[-1] == f"1 error, 0 warnings; 1 schema checked against main@{commit} (exit 1)"


def test_a_warning_has_a_text_of_its_own(counterfoil, workshop):
    workshop.commit()
    workshop.write("bom.avsc", b'\xef\xbb\xbf"int"')
    result = counterfoil("check", folder=workshop.folder)
    assert "  warning byte-order-mark\n" in result.out


def test_json_keeps_its_members(counterfoil, broken):
    report = counterfoil("check", "--format", "json", folder=broken.folder).report
    assert list(report) == ["schemaVersion", "kind", "against", "note", "exitCode", "summary", "files", "findings"]
    assert (report["schemaVersion"], report["kind"], report["exitCode"]) == (1, "check", 1)
    counted = {"checked": 1, "judged": 1, "new": 0, "unmapped": 0}
    assert report["summary"] == {**counted, "errors": 1, "warnings": 0, "notices": 0, "approved": 0}
    members = ["path", "subject", "status", "level", "comparedWith", "policy", "confirmed", "mapped", "owner"]
    assert list(report["files"][0]) == members
    assert list(report["findings"][0]) == [
        "rule",
        "severity",
        "subject",
        "path",
        "line",
        "column",
        "element",
        "direction",
        "against",
        "text",
        "witness",
        "advice",
        "fingerprint",
        "noWitness",
        "alsoBreaks",
        "approval",
    ]
    assert list(report["findings"][0]["witness"]) == ["datum", "writer", "reader", "step", "confirmedBy"]


def test_reports_are_valid_by_their_json_schema(counterfoil, broken):
    published = Draft202012Validator(report_json_schema())
    Draft202012Validator.check_schema(report_json_schema())
    for arguments in (("check",), ("check", "--level", "FULL"), ("diff", "main:order.avsc", "order.avsc")):
        published.validate(counterfoil(*arguments, "--format", "json", folder=broken.folder).report)


def test_two_formats_at_once(counterfoil, broken):
    result = counterfoil("check", "--format", "text", "--format", "json=out.json", folder=broken.folder)
    assert result.code == 1
    assert "1 error" in result.out
    assert json.loads((broken.folder / "out.json").read_text())["exitCode"] == 1


def test_a_report_that_cannot_be_written_is_a_precondition(counterfoil, broken):
    result = counterfoil("check", "--format", "json=nowhere/out.json", folder=broken.folder)
    assert (result.code, "nowhere/out.json" in result.err) == (14, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--format", "xml"],
        ["--format", "json="],
        ["--format", "json", "--format", "text"],
        ["--level", "SIDEWAYS"],
        ["--fail-on", "everything"],
        ["--subject", "order.avsc"],
        ["--against", "registry"],
        ["--against", "registry", "--offline", "--registry", "http://127.0.0.1:1"],
        ["--timeout", "0"],
        ["--nonsense"],
    ],
)
def test_mistakes_of_usage(counterfoil, broken, arguments):
    assert counterfoil("check", *arguments, folder=broken.folder).code == 2


def test_fail_on(counterfoil, broken):
    assert counterfoil("check", "--fail-on", "never", folder=broken.folder).code == 0
    assert counterfoil("check", "--fail-on", "warning", folder=broken.folder).code == 1


def test_colour_is_for_terminals(counterfoil, broken):
    assert "\x1b[" not in counterfoil("check", folder=broken.folder).out


def test_verbose_names_what_is_fine(counterfoil, workshop, order):
    workshop.write("a.avsc", order(id="string"))
    workshop.write("b.avsc", {**order(id="string"), "name": "B"})
    workshop.commit()
    workshop.write("b.avsc", {**order(id="string", n={"type": "int", "default": 0}), "name": "B"})
    result = counterfoil("check", "-v", folder=workshop.folder)
    assert "shop.Order  a.avsc  unchanged" in result.out
    assert "shop.B  b.avsc  compatible (BACKWARD) with main@" in result.out
    assert counterfoil("check", "-q", folder=workshop.folder).out == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_narrow_terminal_never_stops_the_report(counterfoil, workshop, order, encoding):
    workshop.write("größe.avsc", order(id="string", größe="int"))
    result = counterfoil("check", folder=workshop.folder, settings={"PYTHONIOENCODING": encoding})
    assert result.code == 1  # letters beyond ASCII are not allowed in names
    assert "schema-invalid" in result.out


def test_names_cannot_steer_the_terminal(counterfoil, workshop, order):
    workshop.write("order.avsc", order(**{"x\x1b[31m": "int"}))
    result = counterfoil("check", folder=workshop.folder)
    assert result.code == 1
    assert "\x1b" not in result.out


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'{"type": "record",\n "name": }', 2, 10),
        (b'"int" x', 1, 7),
        (b'{"type": "record", "name": "R",\n "fields": [{"name": "a-b", "type": "int"}]}', 2, 22),
        (b'{"type":\n  "\xff"}', 2, 4),
        ('{"type":\n "größe", \xff'.encode("latin-1"), 2, 5),
        ('"int"'.encode("utf-16"), 1, 1),
        (b"", 1, 1),
    ],
)
def test_an_invalid_file_is_located(counterfoil, workshop, content, line, column):
    workshop.commit()
    workshop.write("bad.avsc", content)
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    (finding,) = result.report["findings"]
    assert (result.code, finding["rule"], finding["path"]) == (1, "schema-invalid", "bad.avsc")
    assert (finding["line"], finding["column"]) == (line, column), finding["text"]


def test_a_byte_order_mark_is_a_warning_and_the_rest_is_checked(counterfoil, workshop, order):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", b"\xef\xbb\xbf" + json.dumps(order(id="long")).encode())
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert result.rules == ["byte-order-mark", "type-mismatch"]
    assert [one["severity"] for one in result.report["findings"]] == ["warning", "error"]


def test_line_ends_are_no_change(counterfoil, workshop, order):
    text = json.dumps(order(id="string"), indent=1)
    workshop.write("order.avsc", text.encode())
    workshop.commit()
    workshop.write("order.avsc", text.replace("\n", "\r\n").encode())
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert result.report["files"][0]["status"] == "unchanged"


def test_a_file_that_was_invalid_before_does_not_block(counterfoil, workshop):
    workshop.write("bad.avsc", "{")
    workshop.commit()
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (0, ["schema-invalid"])
    assert result.report["findings"][0]["severity"] == "warning"
    workshop.write("bad.avsc", "{]")
    assert counterfoil("check", folder=workshop.folder).code == 1


def test_an_invalid_baseline_says_so_and_is_no_answer(counterfoil, workshop, order):
    workshop.write("order.avsc", '{"type": "record"\n, ]')
    workshop.commit()
    workshop.write("order.avsc", order(id="string"))
    result = counterfoil("check", "--format", "json", folder=workshop.folder)
    assert (result.code, result.rules) == (4, ["baseline-invalid"])
    assert "2:3" in result.report["findings"][0]["text"]
    workshop.write("other.avsc", {**order(id="string"), "name": "Other"})
    assert counterfoil("check", folder=workshop.folder).code == 0


def test_against_a_file(counterfoil, tmp_path, order):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/any.avsc").write_text(json.dumps(order(id="string", item="shop.Item")))
    item = {"type": "record", "name": "shop.Item", "fields": []}
    (tmp_path / "old/item.avsc").write_text(json.dumps(item))
    (tmp_path / "new").mkdir()
    (tmp_path / "new/item.avsc").write_text(json.dumps(item))
    (tmp_path / "new/order.avsc").write_text(json.dumps(order(id="long", item="shop.Item")))
    result = counterfoil("check", "new/order.avsc", "--against", "old/any.avsc", "--format", "json")
    assert (result.code, result.rules) == (1, ["type-mismatch"])
    assert result.report["findings"][0]["against"] == ["old/any.avsc"]
    assert counterfoil("check", "new", "--against", "old/any.avsc", "--format", "json").rules == [
        "schema-new",
        "type-mismatch",
    ]
    assert counterfoil("check", "new/item.avsc", "--against", "old/item.avsc").code == 0


def test_against_a_file_that_no_checked_file_continues(counterfoil, tmp_path, order):
    (tmp_path / "base.avsc").write_text('{"type": "record", "name": "Nobody", "fields": []}')
    for name in ("a", "b"):
        (tmp_path / f"new-{name}").mkdir()
        (tmp_path / f"new-{name}/x.avsc").write_text(json.dumps({**order(), "name": name}))
    result = counterfoil("check", "new-a", "new-b", "--against", "base.avsc")
    assert (result.code, "Nobody" in result.err) == (14, True)


def test_against_a_folder(counterfoil, tmp_path, order):
    for folder, kind in (("old", "string"), ("new", "long")):
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep/order.avsc").write_text(json.dumps(order(id=kind)))
    (tmp_path / "old/gone.avsc").write_text('"int"')
    result = counterfoil("check", "new", "--against", "old", "--format", "json")
    assert (result.code, sorted(result.rules)) == (1, ["schema-removed", "type-mismatch"])


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["check", "order.avsc"]])
def test_no_language_loads_the_decoders_of_another(workshop, order, arguments):
    workshop.write("order.avsc", order(id="string"))
    workshop.commit()
    workshop.write("order.avsc", order(id="long"))
    program = (
        "import sys; from counterfoil.contracts.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    asked = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(asked, cwd=workshop.folder, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not {"google", "jsonschema", "regex"} & loaded
    assert ("click" in loaded) is (arguments != ["--help"])  # the list of commands is printed without it
