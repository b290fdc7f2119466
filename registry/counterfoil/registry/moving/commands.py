"""The work of the commands after their options are read."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from counterfoil.registry.moving.backup import BackupReader
from counterfoil.registry.moving.comparing import Difference, Verdicts, differences
from counterfoil.registry.moving.exporting import export
from counterfoil.registry.moving.importing import WIDTH, Import
from counterfoil.registry.moving.peer.connection import Peer
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.progress import to_stderr
from counterfoil.registry.moving.source import facts_of
from counterfoil.registry.moving.spool import read_once
from counterfoil.registry.moving.store.source import StoreSource
from counterfoil.registry.moving.store.target import StoreTarget
from counterfoil.registry.moving.topic.source import TopicSource
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.upgrading import check_is_store, is_new_store
from counterfoil.schema.counting import counted
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.sdk.commands.output import print_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from counterfoil.registry.moving.facts import Found
    from counterfoil.registry.moving.importing import Outcome, Survey
    from counterfoil.registry.moving.progress import Progress
    from counterfoil.registry.moving.source import Source
    from counterfoil.registry.moving.target import Target
    from counterfoil.registry.service.storage import Storage
    from counterfoil.sdk.registry_options import RegistryAccess
    from counterfoil.sdk.settings import RegistrySettings

Options = dict[str, Any]
_TIMEOUT_S = 30.0
_RETRIES = 5
_RETRIED_FOR_S = 300.0


def run_export(file: str, options: Options) -> int:
    """Write a backup; return the exit code."""
    progress = to_stderr(quiet=options["quiet"])

    async def go() -> None:
        async with _source(options) as source:
            counts = await export(source, Path(file), progress, skip_unreadable=options["skip_unreadable"])
            if isinstance(source, StoreSource):
                await _record_export(source)
        if options["as_json"]:
            print_json({"file": file, "from": source.origin, "counts": dict(counts)})
        else:
            click.echo(f"{file}: {_counted(counts)} from {source.origin}")

    asyncio.run(go())
    return ExitCode.OK


async def _record_export(source: StoreSource) -> None:
    """Record the export in the audit of the store; a store that cannot be written to has been read nevertheless."""
    try:
        await source.record_export()
    except RegistryError as error:
        click.echo(f"warning: the audit of {source.origin} has no event of this export: {error}", err=True)


def run_import(file: str | None, options: Options) -> int:
    """Carry out an import, or show what it would do; return the exit code."""
    given = [name for name in (file, options["origin"].is_given, options["from_topic"]) if name]
    if len(given) > 1 or not (given or options["origin"].url):
        raise click.UsageError("name one thing to import: a backup FILE, --from URL or --from-topic FILE")
    progress = to_stderr(quiet=options["quiet"])

    async def go() -> int:
        async with _facts(file, options, progress) as facts, _target(options, progress) as (target, width):
            carrying = Import(facts, target, progress, width=width)
            if options["dry_run"]:
                return _report_survey(await carrying.survey(), as_json=options["as_json"])
            verify = file is None
            outcome = await carrying.run(skip_unreadable=options["skip_unreadable"], verify=verify)
        _report_outcome(outcome, as_json=options["as_json"])
        return ExitCode.OK

    return asyncio.run(go())


def run_compare(url1: str, url2: str, options: Options) -> int:
    """Compare two registries; return the exit code."""
    progress = to_stderr(quiet=options["quiet"])
    sides = [_settings(options["left"].at(url1)), _settings(options["right"].at(url2))]

    async def go() -> tuple[list[Difference], int]:
        async with _peer(sides[0], options) as left, _peer(sides[1], options) as right:
            ours, theirs = PeerSource(left), PeerSource(right)
            found = [difference async for difference in differences(ours, theirs, progress)]
            verdicts = Verdicts(left, right, progress)
            if options["verdicts"]:
                found.extend([difference async for difference in verdicts.differences(ours, theirs)])
            return found, verdicts.compared

    found, compared = asyncio.run(go())
    shown = [Peer.shown_url(side) for side in sides]
    if options["as_json"]:
        print_json(_comparison_document(shown, found, compared if options["verdicts"] else None))
    else:
        _echo_lines(str(difference) for difference in found)
        verdicts_too = f", {counted(compared, 'verdict')} compared" if options["verdicts"] else ""
        count = counted(len(found), "difference") if found else "no differences"
        click.echo(f"{count} between {shown[0]} and {shown[1]}{verdicts_too}")
    return ExitCode.BROKEN if found else ExitCode.OK


def _comparison_document(urls: list[str], found: list[Difference], compared: int | None) -> Options:
    document: Options = {"left": urls[0], "right": urls[1], "same": not found}
    if compared is not None:
        document["verdicts"] = compared
    document["differences"] = [
        {"what": each.what, "where": each.where, "left": each.left, "right": each.right} for each in found
    ]
    return document


# --- sources and targets


def _settings(access: RegistryAccess) -> RegistrySettings:
    settings = access.settings(timeout_s=_TIMEOUT_S, retries=_RETRIES)
    return replace(settings, retry=replace(settings.retry, total_s=_RETRIED_FOR_S))


def _peer(settings: RegistrySettings, options: Options) -> Peer:
    return Peer(settings, concurrency=options["concurrency"])


def _place(options: Options) -> tuple[str | None, RegistryAccess | None]:
    """Return the store's URL or the access to the registry, exactly one of them.

    A value on the command line takes precedence over the environment.
    """
    store, access = options["store"], options["registry"]
    context = click.get_current_context(silent=True)
    source = context.get_parameter_source("store") if context else None
    is_store_given = bool(store) and source is not click.core.ParameterSource.ENVIRONMENT
    if access.is_given and not is_store_given:
        return None, access
    if is_store_given and not access.is_given:
        return store, None
    if is_store_given or bool(store) == bool(access.url):
        raise click.UsageError("name one registry: --store URL for its store, or --registry URL for a running one")
    return (store, None) if store else (None, access)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Storage]:
    storage = open_store(url)
    try:
        yield storage
    finally:
        await storage.close()


@asynccontextmanager
async def _source(options: Options) -> AsyncIterator[Source]:
    store, access = _place(options)
    if access is not None:
        if options.get("with_access"):
            raise click.UsageError("--with-access needs --store: hashes of passwords are not served")
        async with _peer(_settings(access), options) as peer:
            yield PeerSource(peer)
        return
    await asyncio.to_thread(check_is_store, str(store))
    async with _opened(str(store)) as storage:
        origin = _without_secrets(str(store))
        yield StoreSource(storage, origin=origin, with_access=options.get("with_access", False))


def _without_secrets(store: str) -> str:
    scheme, _, rest = store.partition("://")
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


@asynccontextmanager
async def _facts(
    file: str | None, options: Options, progress: Progress
) -> AsyncIterator[Callable[[], AsyncIterator[Found]]]:
    """Yield a function that returns the facts to import, from the beginning at each call."""
    if options["origin"].is_given or not (file or options["from_topic"]):
        async with _peer(_settings(options["origin"]), options) as peer:
            with TemporaryDirectory(prefix="counterfoil-") as folder:
                yield await read_once(PeerSource(peer), Path(folder), progress)
    elif options["from_topic"]:
        topic = TopicSource(Path(options["from_topic"]))
        yield lambda: facts_of(topic)
    else:
        backup = BackupReader(Path(str(file)))
        backup.verify()
        yield backup.facts


@asynccontextmanager
async def _target(options: Options, progress: Progress) -> AsyncIterator[tuple[Target, int]]:
    store, access = _place(options)
    if access is not None:
        async with _peer(_settings(access), options) as peer:
            yield PeerTarget(peer, progress), options["concurrency"]
        return
    if await asyncio.to_thread(is_new_store, str(store)):  # in a thread, since it may run an event loop of its own
        if options["dry_run"]:
            store = "sqlite://"  # a dry run must not create a store
        else:
            progress.say(f"{_without_secrets(str(store))}: new, made for this import")
    async with _opened(str(store)) as storage:
        yield StoreTarget(storage), WIDTH


# --- reports


def _report_survey(survey: Survey, *, as_json: bool) -> int:
    if as_json:
        print_json(
            {
                "written": {},
                "counts": {state.value: count for state, count in survey.counts.items()},
                "clashes": [str(each) for each in survey.clashes],
                "unreadable": [str(each) for each in survey.unreadable],
            }
        )
    else:
        _echo_lines(f"clash: {problem}" for problem in survey.clashes)
        _echo_lines(f"cannot be carried over: {problem}" for problem in survey.unreadable)
        states = ", ".join(f"{survey.counts[state]} {state.value}" for state in survey.counts)
        click.echo(f"nothing was written; {states or 'nothing to import'}, {len(survey.unreadable)} unreadable")
    if survey.clashes:
        return ExitCode.CONFLICT
    return ExitCode.PRECONDITION if survey.unreadable else ExitCode.OK


def _report_outcome(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        facts = {"same": outcome.same, "leftOut": outcome.left_out, "verified": outcome.verified}
        print_json({"written": dict(outcome.written), **facts})
        return
    parts = [f"written: {_counted(outcome.written)}", f"there already: {outcome.same}"]
    if outcome.left_out:
        parts.append(f"left out: {outcome.left_out}")
    if outcome.verified:
        parts.append(f"read back and the same: {outcome.verified}")
    click.echo("; ".join(parts))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(_counted_kind(kind, count) for kind, count in counts.items()) or "nothing"


def _counted_kind(kind: str, count: int) -> str:
    return f"settings of {counted(count, 'scope')}" if kind == "settings" else counted(count, kind)


def _echo_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
