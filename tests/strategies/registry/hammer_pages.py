"""Pages under the hammer: which ones are requested, and whether what they say is true of the change that they name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from strategies.registry.invariants import Connection

PAGE_STATUSES: Final = {200, 303, 404, 422, 503, 504}
"""The statuses of pages about what others delete meanwhile, on a server that may have too much to do: never 500."""

_CHANGE: Final = re.compile(r"<footer>.*?<span>change ([^<]+)</span>", re.DOTALL)
_ROW: Final = re.compile(
    r'<tr(?: class="gone")?><th scope="row"[^>]*><a [^>]*>v(\d+)</a>( <span class="word">deleted</span>)?</th>'
    r'<td class="num"[^>]*>'
)
_ROWS_OF_A_PAGE: Final = 100


def page_path(rng: random.Random, subject: str, ids: Sequence[int]) -> str:
    """Return the path of a random page, most often one about a subject."""
    name = quote(subject, safe="")
    place, first, second = f"/ui/subjects/{name}", rng.randint(1, 9), rng.randint(1, 9)
    return rng.choice(
        [
            "/ui/",
            "/ui/changes",
            "/ui/subjects?deleted=true",
            f"/ui/search?q={name}",
            f"/ui/ids/{rng.choice(ids)}",
            f"{place}?tab=changes",
            f"{place}?tab=references",
            f"{place}/versions/latest",
            f"{place}/versions/{first}?view=source",
            f"{place}/versions/{first}/references?direction=both",
            f"/ui/compare?from={name}@{first}&to={name}@{second}",
            f"/ui/subjects/{name}-none",
        ]
    )


def named_change(page: str) -> tuple[int | None, bool]:
    """Return the number of the change that a page names, None if it names none, and whether it is that one exactly."""
    found = _CHANGE.search(page)
    if found is None:
        return None, False
    return int(re.sub(r"\D", "", found[1])), not found[1].endswith(" or later")


def shown_versions(page: str) -> list[int]:
    """Return the versions on the page of a subject in their order, the soft-deleted ones as negative numbers."""
    return [-int(number) if deleted else int(number) for number, deleted in reversed(_ROW.findall(page))]


def untruth(node: Connection, subject: str, page: str) -> str:
    """Return what is not true on the page of a subject as of the change that it names; an empty text if all is true.

    A page that may rest on later changes must show the versions after one of them.
    """
    change, is_exact = named_change(page)
    shown = shown_versions(page)
    if change is None:
        return f"the page of {subject} names no change"
    then = _versions_then(node, subject, change)
    moments = [] if is_exact else _changes_after(node, subject, change)
    if shown == then or any(shown == _versions_then(node, subject, each) for each in moments):
        return ""
    later = "" if is_exact else " or later"
    return f"the page of {subject} shows {shown} as of change {change}{later}, when there were {then}"


def _versions_then(node: Connection, subject: str, change: int) -> list[int]:
    """Return the versions of a subject after a change as its page has them."""
    path = f"/subjects/{quote(subject, safe='')}/versions"
    reply = node.ask("GET", f"{path}?deleted=true&deletedAsNegative=true&as_of={change}")
    return reply.json[:_ROWS_OF_A_PAGE] if reply is not None and reply.status == 200 else []


def _changes_after(node: Connection, subject: str, change: int) -> list[int]:
    """Return the numbers of the changes of a subject after one."""
    reply = node.ask("GET", f"/subjects/{quote(subject, safe='')}/changes?after={change}")
    return [each["seq"] for each in reply.json["changes"]] if reply is not None and reply.status == 200 else []


def untruths_at_rest(node: Connection, subjects: Sequence[str]) -> list[str]:
    """Return what is wrong with pages of subjects when nobody writes: each must name a change, and be true of it."""
    found = []
    for subject in subjects:
        reply = node.ask("GET", f"/ui/subjects/{quote(subject, safe='')}")
        if reply is None or reply.status not in {200, 404}:
            found.append(f"the page of {subject}: {reply}")
        elif reply.status == 200:
            found.append("" if named_change(reply.json)[1] else f"the page of {subject} does not name its last change")
            found.append(untruth(node, subject, reply.json))
    return [each for each in found if each]
