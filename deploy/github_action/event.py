"""The workflow that a step runs in: its pull request, the summary of the job, and the outputs of the step."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class PullRequest(NamedTuple):
    """A pull request: its number, and whether it is from a fork, so that its workflow has no secrets."""

    number: int
    is_from_fork: bool


def read_pull_request() -> PullRequest | None:
    """Return the pull request of the event in ``GITHUB_EVENT_PATH``; None if the event is of another kind."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    found = event.get("pull_request")
    if found is None:
        return None
    source = found["head"]["repo"]  # null: the fork was deleted
    is_own = source is not None and source["full_name"] == os.environ["GITHUB_REPOSITORY"]
    return PullRequest(found["number"], is_from_fork=not is_own)


def add_to_summary(text: str) -> None:
    """Add Markdown to the summary of the job."""
    with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
        summary.write(f"{text}\n")


def write_outputs(values: Mapping[str, object]) -> None:
    """Add outputs to those of the step."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as outputs:
        outputs.writelines(f"{name}={value}\n" for name, value in values.items())
