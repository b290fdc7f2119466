"""The places of values in a JSON value, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def path_text(steps: Iterable[str | int]) -> str:
    """Return the text of a path: names of properties and indexes of items.

    >>> path_text(["stops", 3, "lat"]), path_text([]), path_text(["a b"])
    ('stops[3].lat', '', "['a b']")
    """
    parts = [f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in steps]
    return "".join(parts).removeprefix(".")
