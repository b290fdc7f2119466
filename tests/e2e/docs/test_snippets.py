"""Every snippet of README and docs is run, in order, in a folder of its own, against real services.

A block is commands (a shell's, or a session whose commands begin with ``$``), Python, or YAML. A comment right above it
says what it needs (``<!-- setup: NAME -->``, see ``strategies/docs/setups.py``; ``<!-- extra: NAME -->``), which file
it is (``<!-- file: NAME -->``), which file that a command has made it must be (``<!-- made: NAME -->``), that a
server refuses it (``<!-- refused: PART OF THE BODY -->``), or why it is not run (``<!-- not run: REASON -->``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strategies.docs.setups import SETUPS
from strategies.docs.snippets import Command, Snippet, snippets_of
from strategies.docs.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
SNIPPETS = {page: list(snippets_of(ROOT / page, page)) for page in PAGES}
MOST_NOT_RUN = 12
"""Each one is a promise that nobody checks: think twice before raising this."""


@pytest.fixture
def stage(tmp_path: Path, warm_counterfoil: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Where a page is run; a broker and a PostgreSQL are started when a snippet needs them."""
    with Stage(
        tmp_path,
        counterfoil=warm_counterfoil,
        broker=lambda: request.getfixturevalue("broker"),
        postgres=lambda: request.getfixturevalue("postgres"),
    ) as made:
        yield made


@pytest.mark.timeout(1800)  # the bridge of docs/bridge.md starts Spark several times
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any("not run" not in each.notes for each in SNIPPETS[page])]
)
def test_the_snippets_of_a_page_run_as_they_are_written(page: str, stage: Stage) -> None:
    for snippet in SNIPPETS[page]:
        if "not run" not in snippet.notes:
            stage.run(snippet)


def test_few_snippets_are_not_run_and_each_has_its_reason() -> None:
    reasons = {
        each.place: each.notes["not run"] for page in PAGES for each in SNIPPETS[page] if "not run" in each.notes
    }
    assert all(len(reason.split()) > 2 for reason in reasons.values()), reasons
    assert len(reasons) <= MOST_NOT_RUN, reasons


def test_every_setup_is_used() -> None:
    named = {each.notes.get("setup") for page in PAGES for each in SNIPPETS[page]}
    assert named - {None} == set(SETUPS)


def test_a_session_is_commands_with_their_output() -> None:
    text = "$ first \\\n  --more  # comment\nwhat it prints\n\n$ second 'a\nb'\n"
    snippet = Snippet("page.md", 1, "", text)
    assert snippet.commands() == [
        Command("first \\\n  --more  # comment", "what it prints\n\n"),
        Command("second 'a\nb'"),
    ]
    assert snippet.commands()[0].words == ["first", "--more"]


@pytest.mark.parametrize(
    "text", ["exit 3", "curl -s localhost:8081/nowhere", "$ echo no\nyes", "counterfoil nonsense", "make nonsense"]
)
def test_a_snippet_that_does_not_do_what_is_written_fails(text: str, stage: Stage) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:7"):
        stage.run(Snippet("page.md", 7, "", f"{text}\n"))
