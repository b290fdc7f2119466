"""The docs say what is true: generated pages match the code, links lead somewhere."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schema", "pages", "sdk", "contracts", "registry", "converter")
MOST_WORDS = 1900
"""Of a page about what one does."""


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_generated_pages_are_those_the_code_would_write_now():
    done = _run("docs/generate.py", "--check")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_link_leads_somewhere():
    done = _run("docs/check_links.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_name_of_a_file_or_module_exists():
    done = _run("docs/check_names.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("page", "most_bytes"), [("ARCHITECTURE.md", 10_000), ("CONTRIBUTING.md", 7_500)])
def test_who_begins_reads_little(page: str, most_bytes: int):
    assert (ROOT / page).stat().st_size <= most_bytes


def test_the_architecture_has_a_line_for_every_folder():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    lines = re.findall(r"^- (`.+`): .+$", page, re.MULTILINE)
    named = [name for line in lines for name in re.findall(r"`(\w+/\w+)/`", line)]
    packages = [each.parent for room in ROOMS for each in (ROOT / room / "counterfoil" / room).glob("*/__init__.py")]
    assert sorted(named) == sorted(f"{each.parent.name}/{each.name}" for each in packages)


@pytest.mark.parametrize(
    ("folder", "page"), [("docs", "index.md"), ("docs/decisions", "README.md")], ids=["pages", "decisions"]
)
def test_every_page_is_in_the_list_of_its_folder(folder: str, page: str):
    listed = re.findall(r"\]\(([\w.-]+\.md)\)", (ROOT / folder / page).read_text())
    pages = {path.name for path in (ROOT / folder).glob("*.md")} - {page}
    assert sorted(set(listed)) == sorted(pages)


AT_LENGTH = {
    "Confluent's REST API": "Confluent's REST API",
    "Avro, Protobuf, JSON Schema": "Avro, Protobuf, JSON Schema",
    "a record that proves an incompatibility": "a record that proves an incompatibility",
    "check in CI without a server": "in CI, from files and git, without a server",
    "who reads which field; can I deploy": "can-i-deploy",
    "records of a topic tested against a contract": "records of a topic tested against a contract",
    "converts topics for old readers": "converts a topic for old readers, and proves it",
    "field rules and encryption, in Confluent's format": "field rules and encryption",
    "web pages": "web pages",
    "OpenAPI, AsyncAPI, GraphQL": "OpenAPI, AsyncAPI, GraphQL, XML",
    "years in production at many companies": "in production at many companies for years",
    "licence": "licence",
}
"""The rows of the comparison in the README, and those of the page that has it at length."""


def compared(page: str) -> dict[str, list[str]]:
    """The rows of the comparison on a page: a mark or the first word for each tool, by the name of the row."""
    text = (ROOT / page).read_text().split("| | counterfoil |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()[2:]]
    return {row[0]: [re.sub(r"\[([^]]*)\].*", r"\1", cell).split(" ")[0] for cell in row[1:]] for row in rows}


def test_the_comparison_of_the_readme_is_that_at_length():
    short, at_length = compared("README.md"), compared("docs/comparison.md")
    assert set(short) == set(AT_LENGTH)
    assert short == {name: at_length[row] for name, row in AT_LENGTH.items()}


TO_LOOK_UP = {"glossary.md", "troubleshooting.md"}
"""Pages beside those of the parts "To look up", "Evidence" and "Reference" that nobody reads from beginning to end."""


def test_what_one_does_has_short_pages():
    """Pages in which one looks something up, and those with evidence, may be long: the index has them apart."""
    text = (ROOT / "docs" / "index.md").read_text()
    parts = re.split(r"^(?=## |To look up:$)", text, flags=re.MULTILINE)
    apart = ("To look up:", "## Evidence", "## Reference", "## Decisions")
    pages = {
        name
        for part in parts
        if not part.startswith(apart)
        for name in re.findall(r"^\| \[[^\]]+\]\(([\w-]+\.md)\)", part, re.MULTILINE)
    }
    assert len(pages) > 40
    words = {name: len((ROOT / "docs" / name).read_text().split()) for name in pages - TO_LOOK_UP}
    assert {name: count for name, count in words.items() if count > MOST_WORDS} == {}


def test_every_named_problem_of_bridges_has_tests_that_exist():
    page = (ROOT / "docs" / "bridge-problems.md").read_text()
    assert re.findall(r"^\*\*(\d+)\. ", page, re.MULTILINE) == [str(number) for number in range(1, 26)]
    texts = {"/".join(path.parts[-2:]): path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    for problem in re.split(r"^\*\*(?=\d)", page, flags=re.MULTILINE)[1:]:
        named = re.findall(r"`(\w+/test_\w+\.py)::(test_\w+)`", problem)
        assert named, problem
        assert [f"{file}::{test}" for file, test in named if f"def {test}(" not in texts.get(file, "")] == []


def test_the_check_of_names_sees_what_is_gone(tmp_path: Path):
    copy = tmp_path / "docs"
    copy.mkdir()
    for name in ("check_names.py", "known_names.py"):
        (copy / name).write_text((ROOT / "docs" / name).read_text())
    room = tmp_path / "sdk" / "counterfoil" / "sdk"
    room.mkdir(parents=True)
    (room / "there.py").write_text("def found(): ...\n")
    (copy / "page.md").write_text(
        "`sdk/there.py`, `sdk/gone.py`, `sdk/nowhere/`, `counterfoil.sdk.there.found`, `counterfoil.sdk.there.lost`\n"
        "```python\nfrom counterfoil.sdk.there import found, missing\n```\n"
    )
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(
        [sys.executable, copy / "check_names.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "docs/page.md: counterfoil.sdk.there.lost: no such module or name",
        "docs/page.md: counterfoil.sdk.there.missing: no such module or name",
        "docs/page.md: sdk/gone.py: no such file",
        "docs/page.md: sdk/nowhere/: no such folder",
    ]


def test_the_link_check_sees_a_broken_link(tmp_path: Path):
    copy = tmp_path / "docs"
    copy.mkdir()
    (copy / "check_links.py").write_text((ROOT / "docs" / "check_links.py").read_text())
    (tmp_path / "page.md").write_text("# Here\n[there](nowhere.md) [heading](#not-here) [fine](#here)\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(
        [sys.executable, copy / "check_links.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["page.md: nowhere.md: no such file", "page.md: #not-here: no such heading"]


def test_texts_of_programs_name_pages_by_their_address():
    """An installed program has no folder ``docs``; comments, and code in docstrings, speak of the repository."""
    address = f"{tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['urls']['Repository']}/blob/main/"
    wrong = []
    found = 0
    for path in sorted(each for room in ROOMS for each in (ROOT / room / "counterfoil").rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "docs/" in text else ():
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            for match in re.finditer(r"(?<!`)\bdocs/[\w/.-]*?\.md\b", node.value):
                found += 1
                before = node.value[: match.start()]
                is_address = before.endswith(address) or before == "/blob/main/"  # after the project's, in an f-string
                if not (is_address and (ROOT / match[0]).is_file()):
                    wrong.append((path.relative_to(ROOT), node.lineno, match[0]))
    assert wrong == []
    assert found > 5
