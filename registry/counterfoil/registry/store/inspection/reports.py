"""The output of ``counterfoil db check`` and ``counterfoil db stats``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from counterfoil.registry.store.inspection.checking import check
from counterfoil.registry.store.inspection.rows import open_rows
from counterfoil.registry.store.inspection.stats import measure
from counterfoil.registry.store.opening import sqlite_path
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.registry.store.inspection.breach import Breach

    Write = Callable[[str], None]


def write_stats(url: str, write: Write, *, as_json: bool) -> None:
    """Write the counts and sizes of the store at ``url``; raise ``StoreNotUsable`` if it cannot be read."""
    with open_rows(url) as rows:
        figures = measure(rows)
    if as_json:
        write(json.dumps({"store": _shown(url), **figures}, indent=2))
        return
    width = max(map(len, figures))
    for name, figure in figures.items():
        write(f"{name.replace('_', ' '):<{width}}  {figure:>15,}")


def write_check(url: str, write: Write, *, as_json: bool) -> bool:
    """Write every breach of the store at ``url`` when it is found, and their number; return whether there is none.

    Raises ``StoreNotUsable`` if it cannot be read.
    """
    with open_rows(url) as rows:
        figures = measure(rows)
        count = _write_breaches(check(rows), write, as_json=as_json)
    subjects = figures["subjects_active"] + figures["subjects_deleted"]
    versions = figures["versions_active"] + figures["versions_deleted"]
    if as_json:
        checked = {"subjects": subjects, "versions": versions, "changes": figures["changes"]}
        write(f'], "count": {count}, "checked": {json.dumps(checked)}, "store": {json.dumps(_shown(url))}}}')
    else:
        said = counted(count, "breach", "breaches", spec=",") if count else "sound"
        numbers = {"subject": subjects, "version": versions, "change": figures["changes"]}
        seen = ", ".join(counted(number, noun, spec=",") for noun, number in numbers.items())
        write(f"{_shown(url)}: {said}; {seen} checked")
    return not count


def _write_breaches(breaches: Iterator[Breach], write: Write, *, as_json: bool) -> int:
    count = 0
    if as_json:
        write('{"breaches": [')
    for count, breach in enumerate(breaches, 1):
        if as_json:
            document = {"rule": breach.rule, "place": breach.place, "message": breach.message}
            write(("," if count > 1 else "") + json.dumps(document))
        else:
            write(f"{breach.place}: {breach.message} [{breach.rule}]")
    return count


def _shown(url: str) -> str:
    """Return the URL without a password."""
    if sqlite_path(url) is not None:
        return url
    from counterfoil.registry.store.postgres.address import parse_address

    return parse_address(url).shown
