"""The work of the commands after their options are read, and the comparison of two registries."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from counterfoil.registry.moving.backup import BackupReader, export, read_once
from counterfoil.registry.moving.facts import Unreadable, VersionFact, schema_of
from counterfoil.registry.moving.importing import WIDTH, FactImport, to_stderr
from counterfoil.registry.moving.peer.connection import Peer, PeerRefusal
from counterfoil.registry.moving.peer.source import PeerSource
from counterfoil.registry.moving.peer.target import PeerTarget
from counterfoil.registry.moving.sources import facts_of, gathered
from counterfoil.registry.moving.store_facts import StoreSource, StoreTarget, as_read
from counterfoil.registry.moving.topic_dump import TopicSource
from counterfoil.registry.store.opening import open_store
from counterfoil.registry.store.upgrading import check_is_store, is_new_store
from counterfoil.schema.errors import RegistryError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.rest.schemas import metadata_document, reference_documents, rule_set_document
from counterfoil.schema.rest.subjects import config_document
from counterfoil.schema.texts import counted, excerpt
from counterfoil.sdk import operations
from counterfoil.sdk.commands import print_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

    from counterfoil.registry.moving.facts import Found, SettingsFact
    from counterfoil.registry.moving.importing import FactTarget, ImportOutcome, MoveProgress, Survey
    from counterfoil.registry.moving.sources import FactSource
    from counterfoil.registry.store.protocol import Storage
    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.schema.rest.versions import Compatibility
    from counterfoil.sdk.client.settings import RegistrySettings
    from counterfoil.sdk.commands.options import RegistryAccess
    from counterfoil.sdk.operations import Operation


# Comparison of two registries: their content and their verdicts.

_AT_A_TIME: Final = 16


@dataclass(frozen=True, slots=True)
class RegistryDifference:
    """One difference between two registries: its kind (``id``, ``config``, …), its place, and the values of both sides.

    ``left`` and ``right`` are JSON values; None if there is no value.
    """

    what: str
    where: str
    left: Any
    right: Any

    def __str__(self) -> str:
        return f"{self.where}: {self.what} is {_short(self.left)} on the left, {_short(self.right)} on the right"


def _short(value: Any) -> str:
    return "not there" if value is None else excerpt(repr(value), 200)


async def differences(left: PeerSource, right: PeerSource, progress: MoveProgress) -> AsyncIterator[RegistryDifference]:
    """Yield every difference of content: contexts, subjects, versions with everything in them, config and mode."""
    ours, theirs = await gathered(left.context_names(), right.context_names())
    if left.knows_contexts and right.knows_contexts:
        for name in sorted(set(ours) ^ set(theirs)):
            yield RegistryDifference("context", f"context {name!r}", *_which(name in ours))
    subjects = await _union(left.subjects, right.subjects)
    for start in range(0, len(subjects), _AT_A_TIME):
        batch = subjects[start : start + _AT_A_TIME]
        for found in await gathered(*(_of_subject(left, right, subject) for subject in batch)):
            progress.step("subjects compared")
            for difference in found:
                yield difference
    scopes = await _union(left.scopes, right.scopes)
    for start in range(0, len(scopes), _AT_A_TIME):
        batch = scopes[start : start + _AT_A_TIME]
        for found in await gathered(*(_of_scope(left, right, scope) for scope in batch)):
            for difference in found:
                yield difference


def _which(is_left: bool) -> tuple[Any, Any]:  # noqa: FBT001 (one of two sides)
    return ("there", None) if is_left else (None, "there")


async def _union(left: Callable[[], Any], right: Callable[[], Any]) -> list[QualifiedSubject]:
    ours, theirs = await gathered(left(), right())
    return sorted({*ours, *theirs})


async def _of_subject(left: PeerSource, right: PeerSource, subject: QualifiedSubject) -> list[RegistryDifference]:
    ours, theirs = await gathered(left.versions(subject), right.versions(subject))
    where = f"subject {str(subject)!r}"
    if not ours or not theirs:
        return [RegistryDifference("subject", where, _numbers(ours), _numbers(theirs))] if ours or theirs else []
    found = [
        RegistryDifference("version", where, item.problem, None)
        if side is ours
        else RegistryDifference("version", where, None, item.problem)
        for side in (ours, theirs)
        for item in side
        if isinstance(item, Unreadable)
    ]
    by_number = [{item.version: item for item in side if isinstance(item, VersionFact)} for side in (ours, theirs)]
    for number in sorted({*by_number[0], *by_number[1]}):
        one, other = by_number[0].get(number), by_number[1].get(number)
        if one is None or other is None:
            found.append(RegistryDifference("version", f"{where} version {number}", *_which(one is not None)))
            continue
        found.extend(_of_version(one, other))
        guids = await left.stated_guid(one.key), await right.stated_guid(other.key)
        if None not in guids and guids[0] != guids[1]:
            found.append(RegistryDifference("guid", f"{where} version {number}", *guids))
    return found


def _numbers(versions: Any) -> list[int] | None:
    return [item.version for item in versions if isinstance(item, VersionFact)] or None


def _of_version(one: VersionFact, other: VersionFact) -> Iterator[RegistryDifference]:
    where = f"subject {str(one.subject)!r} version {one.version}"
    pairs = zip(_version_fields(one).items(), _version_fields(other).values(), strict=True)
    for (name, ours), theirs in pairs:
        if ours != theirs:
            yield RegistryDifference(name, where, ours, theirs)


def _version_fields(fact: VersionFact) -> Document:
    content = fact.content
    return {
        "id": fact.schema_id,
        "deleted": fact.deleted,
        "schemaType": content.schema_type.value,
        "schema": content.text,
        "references": reference_documents(content.references) or None,
        "metadata": metadata_document(content.metadata),
        "ruleSet": rule_set_document(content.rule_set),
    }


async def _of_scope(left: PeerSource, right: PeerSource, scope: QualifiedSubject) -> list[RegistryDifference]:
    ours, theirs = await gathered(left.settings_of(scope), right.settings_of(scope))
    where = f"subject {str(scope)!r}" if scope.name else f"context {scope.context!r}"
    pairs = (("config", _config_of(ours), _config_of(theirs)), ("mode", ours.mode, theirs.mode))
    return [RegistryDifference(name, where, one, other) for name, one, other in pairs if one != other]


def _config_of(settings: SettingsFact) -> Document | None:
    return None if settings.config is None else config_document(as_read(settings.config))


class ComparedVerdicts:
    """The verdicts of two registries about the same schemas."""

    def __init__(self, left: Peer, right: Peer, progress: MoveProgress) -> None:
        self._peers = (left, right)
        self._progress = progress
        self.compared = 0

    async def differences(self, left: PeerSource, right: PeerSource) -> AsyncIterator[RegistryDifference]:
        """Yield every version of either side for which the verdicts against its subject's latest version differ."""
        for subject in await _union(left.subjects, right.subjects):
            sides = await gathered(left.versions(subject), right.versions(subject))
            facts = {item.content.guid: item for side in sides for item in side if isinstance(item, VersionFact)}
            judged = await gathered(*(self._judge(fact) for fact in facts.values()))
            for fact, (ours, theirs) in zip(facts.values(), judged, strict=True):
                if ours != theirs:
                    where = f"subject {str(subject)!r} version {fact.version} against the latest"
                    yield RegistryDifference("verdict", where, ours, theirs)

    async def _judge(self, fact: VersionFact) -> tuple[str, str]:
        operation = operations.check_compatibility(
            str(fact.subject), schema_of(fact.content), number="latest", verbose=False, normalize=False
        )
        ours, theirs = await gathered(*(self._verdict(peer, operation) for peer in self._peers))
        self.compared += 1
        self._progress.step("verdicts compared")
        return ours, theirs

    @staticmethod
    async def _verdict(peer: Peer, operation: Operation[Compatibility]) -> str:
        """Return ``compatible``, ``incompatible``, or the code of an error."""
        found = await peer.outcome(operation)
        if isinstance(found, PeerRefusal):
            return f"error {found.code or found.status}"
        return "compatible" if found.is_compatible else "incompatible"


# The work of the commands after their options are read.

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
            carrying = FactImport(facts, target, progress, width=width)
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

    async def go() -> tuple[list[RegistryDifference], int]:
        async with _peer(sides[0], options) as left, _peer(sides[1], options) as right:
            ours, theirs = PeerSource(left), PeerSource(right)
            found = [difference async for difference in differences(ours, theirs, progress)]
            verdicts = ComparedVerdicts(left, right, progress)
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


def _comparison_document(urls: list[str], found: list[RegistryDifference], compared: int | None) -> Options:
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
async def _source(options: Options) -> AsyncIterator[FactSource]:
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
    file: str | None, options: Options, progress: MoveProgress
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
async def _target(options: Options, progress: MoveProgress) -> AsyncIterator[tuple[FactTarget, int]]:
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


def _report_outcome(outcome: ImportOutcome, *, as_json: bool) -> None:
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
