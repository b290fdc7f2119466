"""``counterfoil audit``: verify audit files, show events. Each command imports what it needs."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import click

from counterfoil.schema.errors import needed_by
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import counted
from counterfoil.sdk.commands import as_json, print_json
from counterfoil.sdk.commands.options import THE_REGISTRY, registry_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.registry.audit.keys import PublicKeys
    from counterfoil.registry.audit.verifying import AuditMisfit, StoredHead, Verifier
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.sdk.commands.options import RegistryAccess


_FILE: Final = click.Path(path_type=Path, exists=True, dir_okay=False)
_OUTCOMES: Final = ("success", "denied", "failed")
_PAGE: Final = 500


@click.group()
def audit() -> None:
    """Verify and show the audit of a registry."""


@audit.command()
@click.argument("paths", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option(
    "--store",
    metavar="URL",
    help="Compare the files with this store, and verify its journal: sqlite:///relative.db, postgresql://….",
)
@click.option(
    "--public-key",
    "public_keys",
    metavar="FILE",
    multiple=True,
    type=_FILE,
    help="A public key in PEM form, with which heads must be signed; repeated for the keys before it.",
)
@click.option("--continued", is_flag=True, help="Files from before are missing: chains may begin in the middle.")
@as_json
def verify(
    *, paths: tuple[Path, ...], store: str | None, public_keys: tuple[Path, ...], continued: bool, as_json: bool
) -> ExitCode:
    """Verify that no line of audit files was edited, removed or exchanged.

    Exit codes: 0 all lines are whole, 1 a line was edited, removed or exchanged, 4 the files have no lines
    and no store is given.

    Name the files in the order in which they were written, the oldest first. Without --store, lines that were cut off
    at the end of a file are not found.
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.audit.keys import PublicKeys
        from counterfoil.registry.audit.verifying import Verifier, read_lines
    misfits: Iterable[AuditMisfit]
    keys = PublicKeys(public_keys)
    if store is None:
        verifier = Verifier(keys=keys, is_continued=continued)
        misfits = verifier.misfits(read_lines(paths))
    else:
        heads, mistaken = _heads_in(store, keys)
        verifier = Verifier(keys=keys, heads=heads, is_continued=continued)
        misfits = chain(mistaken, verifier.misfits(read_lines(paths)), _misfits_of_journal(store, verifier))
    number = 0
    kept: list[str] = []
    for misfit in misfits:
        if as_json:
            kept.append(str(misfit))
        else:
            click.echo(str(misfit))
        number += 1
    is_verified = verifier.count > 0 or store is not None
    code = ExitCode.BROKEN if number else ExitCode.OK if is_verified else ExitCode.CANNOT_SAY
    if as_json:
        print_json({"lines": verifier.count, "whole": code is ExitCode.OK, "misfits": kept})
        return code
    found = "whole" if is_verified else "nothing was verified, since the files are empty"
    if number:
        found = counted(number, "line does not fit", "lines do not fit")
    click.echo(f"{counted(verifier.count, 'line', spec=',')}: {found}")
    return code


def _heads_in(store: str, keys: PublicKeys) -> tuple[list[StoredHead], list[AuditMisfit]]:
    """Return the heads of files in a store, and those that are not signed as they should be.

    They are read before the files, which may be written to at the same time, and the journal after them.
    """
    from counterfoil.registry.audit.verifying import AuditMisfit, StoredHead
    from counterfoil.registry.store.inspection.rows import open_rows, stored_heads

    heads: list[StoredHead] = []
    mistaken: list[AuditMisfit] = []
    with open_rows(store) as rows:
        for number, facts in stored_heads(rows):
            place = f"event {number} in the store"
            heads.append(StoredHead(place, facts["chain"], facts["line"], facts["head"]))
            if mistake := keys.mistake(facts):
                mistaken.append(AuditMisfit(place, mistake))
    return heads, mistaken


def _misfits_of_journal(store: str, verifier: Verifier) -> Iterator[AuditMisfit]:
    from counterfoil.registry.audit.verifying import AuditMisfit
    from counterfoil.registry.store.inspection.rows import check_journal, open_rows

    head_by_change = {each.change: each.head for each in verifier.journal_heads}
    with open_rows(store) as rows:
        for change, message in check_journal(rows, head_by_change):
            yield AuditMisfit(f"change {change} in the store", message)


@audit.command()
@click.argument("paths", metavar="[FILE...]", nargs=-1, type=_FILE)
@click.option("--event", "events", multiple=True, metavar="NAME", help="Only events of this name; can be repeated.")
@click.option("--caller", metavar="PRINCIPAL", help="Only events of this principal, such as User:ana.")
@click.option("--subject", metavar="NAME", help="Only events whose resource is this subject.")
@click.option("--outcome", type=click.Choice(_OUTCOMES), help="Only events with this outcome.")
@click.option("--since", metavar="TIME", help="Only events from this time on, in UTC, such as 2026-11-01T12:00.")
@click.option("--until", metavar="TIME", help="Only events before this time.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as a line of JSON.")
@registry_options(THE_REGISTRY)
def show(*, paths: tuple[Path, ...], as_json: bool, registry: RegistryAccess, **wanted: Any) -> ExitCode:
    """Print the events in audit files, or without files those of the registry at --registry, one a line.

    Exit codes: 0 printed, 1 a line of a file cannot be read, 2 usage, 11 registry unreachable, 12 registry refused.
    """
    with needed_by("The registry", extra="registry"):
        from counterfoil.registry.audit.events import EventSelection
        from counterfoil.registry.audit.verifying import event_text, shown_lines
    if paths:
        selection = EventSelection(events=frozenset(wanted.pop("events")), **wanted)
        mistakes = 0
        for line in shown_lines(paths, selection, as_json=as_json):
            mistakes += line.is_mistake
            click.echo(line.text, err=line.is_mistake)
        return ExitCode.BROKEN if mistakes else ExitCode.OK
    if registry.url is None:
        raise click.UsageError("name audit files, or the registry by --registry")
    for facts in _events_of(registry, wanted):
        click.echo(json.dumps(facts, ensure_ascii=False, sort_keys=True) if as_json else event_text(facts))
    return ExitCode.OK


def _events_of(registry: RegistryAccess, wanted: Document) -> Iterator[Document]:
    """Yield the events of a running registry, read in pages."""
    from counterfoil.sdk.operations.operation import Operation, ReplyForm

    query = [("event", each) for each in wanted.pop("events")] + [(name, each) for name, each in wanted.items() if each]
    after, has_more = "0", True
    with registry.open() as client:
        while has_more:
            target = f"/audit/v1/events?{urlencode([('after', after), ('limit', _PAGE), *query])}"
            page = client.call(Operation("list events", "GET", target, lambda reply: reply.value, form=ReplyForm.JSON))
            yield from page["events"]
            after, has_more = page["next"], page["more"]
