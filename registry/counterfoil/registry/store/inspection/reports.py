"""``counterfoil db check`` and ``counterfoil db stats``: all invariants, counts and sizes, and their output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from counterfoil.registry.store.inspection.invariants import (
    check_bindings,
    check_contents,
    check_order,
    check_records,
    check_references,
    check_replay,
    check_tables,
)
from counterfoil.registry.store.inspection.rows import Breach, check_chain, open_rows
from counterfoil.registry.store.opening import sqlite_path
from counterfoil.registry.store.protocol import FORMAT
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.registry.store.inspection.rows import StoreRows


# ``counterfoil db check``: every invariant of a stored registry.

_SOUND: Final = "ok"


def check(rows: StoreRows) -> Iterator[Breach]:
    """Yield each breach when it is found; a few thousand rows are in memory at a time."""
    if rows.dialect == "sqlite":
        yield from _check_file(rows)
    for part in (check_tables, check_contents, check_references, check_order, check_chain, check_replay):
        yield from part(rows)
    yield from check_bindings(rows)
    yield from check_records(rows)


def _check_file(rows: StoreRows) -> Iterator[Breach]:
    for (said,) in rows.each("PRAGMA quick_check"):
        if said != _SOUND:
            yield Breach("file-sound", "file", str(said))


# ``counterfoil db stats``: the counts and sizes of a store.

_COUNTS: Final = {
    "contexts": "SELECT count(*) FROM contexts WHERE listed",
    "subjects_active": "SELECT count(*) FROM subjects WHERE active_versions > 0",
    "subjects_deleted": "SELECT count(*) FROM subjects WHERE active_versions = 0",
    "versions_active": "SELECT count(*) FROM versions WHERE NOT deleted",
    "versions_deleted": "SELECT count(*) FROM versions WHERE deleted",
    "ids": "SELECT count(*) FROM schema_ids",
    "contents": "SELECT count(*) FROM contents",
    "references": "SELECT count(*) FROM schema_refs",
    "scopes_with_settings": "SELECT count(*) FROM settings",
    "records": "SELECT count(*) FROM records",
    "changes": "SELECT count(*) FROM changes",
}
_SIZES: Final = {
    "sqlite": {
        "schema_text_bytes": "SELECT coalesce(sum(length(CAST(schema_text AS BLOB))), 0) FROM contents",
        "database_bytes": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    },
    "postgresql": {
        "schema_text_bytes": "SELECT coalesce(sum(length(schema_text)), 0)::bigint FROM contents",
        "database_bytes": (
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
            " WHERE relnamespace = 'counterfoil'::regnamespace AND relkind = 'r'"
        ),
    },
}


def measure(rows: StoreRows) -> dict[str, int]:
    """Return counts and sizes by name; sizes are in bytes, that of the database includes its indexes."""
    statements = {**_COUNTS, **_SIZES[rows.dialect]}
    return {"format": FORMAT, **{name: int(rows.one(statement)) for name, statement in statements.items()}}


# The output of ``counterfoil db check`` and ``counterfoil db stats``.

if TYPE_CHECKING:
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
