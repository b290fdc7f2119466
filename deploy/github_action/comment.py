"""The step of the action that writes the report as one comment on the pull request, which later runs replace.

It never fails the job: the verdict is the exit code of the action. Where the comment cannot be written, as for most
pull requests from forks, whose token may only read, it says so in the log and in the summary of the job.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from github_action.event import add_to_summary, read_pull_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from github_action.event import PullRequest

MAX_CHARACTERS: Final = 65_536
"""GitHub refuses longer comments."""
_CUT: Final = "\n\nThe rest is in the summary of the job.\n"
_PAGE: Final = 100
_TIMEOUT_S: Final = 30.0
_TRUSTED: Final = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


def main() -> None:
    """Write the comment, or say why it was not written."""
    pull_request = read_pull_request()
    if pull_request is None:
        print("No comment is written, since the workflow does not run for a pull request.")
        return
    body = fitting(Path(os.environ["COMMENT_PATH"]).read_text(encoding="utf-8"))
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    repository = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    try:
        with httpx.Client(headers=headers, timeout=_TIMEOUT_S) as client:
            print(f"The report is the comment {_put(client, repository, pull_request.number, body)}")
    except httpx.HTTPError as error:
        sentence = f"The comment on the pull request was not written: {_reason(error, pull_request)}"
        print(f"::warning::{sentence}")
        add_to_summary(f"> {sentence}")


def _put(client: httpx.Client, repository: str, number: int, body: str) -> str:
    """Replace the comment that starts with the first line of ``body``, or add one; return its address."""
    marker = body.partition("\n")[0]
    place = f"{repository}/issues/{number}/comments"
    earlier = next((one for one in _comments(client, place) if _is_own(one, marker)), None)
    if earlier is None:
        response = client.post(place, json={"body": body})
    else:
        response = client.patch(f"{repository}/issues/comments/{earlier['id']}", json={"body": body})
    address: str = response.raise_for_status().json()["html_url"]
    return address


def _comments(client: httpx.Client, place: str) -> Iterator[dict[str, Any]]:
    page = 1
    while True:
        response = client.get(place, params={"per_page": _PAGE, "page": page}).raise_for_status()
        found = response.json()
        yield from found
        if len(found) < _PAGE:
            return
        page += 1


def _is_own(comment: dict[str, Any], marker: str) -> bool:
    """Return whether an earlier run wrote the comment, not a stranger who could change it again afterwards."""
    user = comment["user"] or {}  # null: the account was deleted
    is_trusted = user.get("type") == "Bot" or comment["author_association"] in _TRUSTED
    return is_trusted and str(comment["body"]).startswith(marker)


def fitting(body: str) -> str:
    """Return a comment that GitHub accepts: whole lines, and a last one that says where the rest is."""
    if len(body) <= MAX_CHARACTERS:
        return body
    return body[: body.rindex("\n", 0, MAX_CHARACTERS - len(_CUT))] + _CUT


def _reason(error: httpx.HTTPError, pull_request: PullRequest) -> str:
    if not isinstance(error, httpx.HTTPStatusError):
        return f"GitHub's API could not be reached ({error})."
    if pull_request.is_from_fork:
        reason = "this pull request is from a fork, whose token may only read"
    else:
        reason = "the workflow needs the permission pull-requests: write"
    return f"GitHub answered {error.response.status_code}; {reason}. The report is in the summary of the job."


if __name__ == "__main__":
    main()
