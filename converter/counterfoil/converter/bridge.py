"""A bridge: its file, what the registry has stored of it, and its schemas with their ids and the plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.converter.engines.protocol import KEY, Conversion
from counterfoil.converter.errors import InvalidBridgeFile, PlanIncomplete, SubjectMissing, why_unreadable
from counterfoil.converter.messages.table import reading_problem
from counterfoil.schema.documents import InvalidDocument
from counterfoil.schema.errors import CounterfoilError, SubjectNotFound, VersionNotFound
from counterfoil.schema.languages.table import parse_schema, resolved_references
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.plans.bridge import BridgeFile, Framing
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.plans.derivations import RoundTripLoss, changes_since, derive_both_ways, stored_plan
from counterfoil.schema.plans.derive import derive_plan
from counterfoil.schema.plans.model import ConversionPlan
from counterfoil.schema.plans.tree import with_message
from counterfoil.schema.rest import bridges
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.sdk import Registry, operations

if TYPE_CHECKING:
    from counterfoil.sdk.commands.options import RegistryAccess


# Bridge files: documents of bridges on disk.


def load_bridge_file(path: Path | str) -> BridgeFile:
    """Return the bridge that the file at ``path`` declares; ``InvalidBridgeFile`` has line and column of a mistake."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidBridgeFile("there is no such file", path=str(path)) from None
    except (OSError, UnicodeDecodeError) as refusal:
        raise InvalidBridgeFile(f"the file cannot be read: {why_unreadable(refusal)}", path=str(path)) from None
    return parse_bridge_file(text, name=str(path))


def parse_bridge_file(text: str, *, name: str = "<bridge>") -> BridgeFile:
    """Return the bridge that a YAML ``text`` declares; ``name`` is the file's name in messages."""
    try:
        return read_bridge(text)
    except InvalidDocument as mistake:
        place = mistake.position
        line, column = (None, None) if place is None else (place.line, place.column)
        raise InvalidBridgeFile(mistake.problem, path=name, line=line, column=column) from None


# What the registry has stored about a bridge.


def stored_bridge(registry: Registry, name: str) -> bridges.BridgeStatus | None:
    """Return what the registry has stored about a bridge.

    None if it has none of this name, is another registry without bridges, or does not answer.
    """
    try:
        return registry.call(operations.bridge(name))
    except CounterfoilError:
        return None


# A bridge file with its schemas from the registry: every writer id, the plan, the one id to write.


@dataclass(frozen=True)
class ResolvedBridge:
    """A bridge that can be run once ``problems`` is empty.

    ``version_by_id`` is the version of the source subject for each writer id, including soft-deleted ones, and
    ``newest_id`` is the id of the schema with which all are read; ``target_version`` is the version of ``target_id``.
    ``losses`` are the source fields whose values do not survive there and back. ``keys`` is the bridge between the
    schemas of keys; None: keys are copied. ``earlier`` is the bridge as versions up to 0.2 read the same file, if that
    is another one; ``is_earlier``: this is that one, since the bridge was stored or begun with it.
    """

    file: BridgeFile
    plan: ConversionPlan
    writer_by_id: Mapping[int, ParsedSchema]
    version_by_id: Mapping[int, int]
    newest_id: int
    target_id: int
    target_version: int
    losses: tuple[RoundTripLoss, ...] = ()
    keys: ResolvedBridge | None = None
    earlier: ResolvedBridge | None = None
    is_earlier: bool = False

    @property
    def changes(self) -> tuple[str, ...]:
        """What a new bridge of the same file would do otherwise, one sentence each; none unless ``is_earlier``."""
        if not self.is_earlier:
            return ()
        now = derive_plan(self.plan.source, self.plan.target, self.file.rules)
        keys = () if self.keys is None else (f"{KEY}: {change}" for change in self.keys.changes)
        return (*changes_since(self.plan, now), *keys)

    def kept_lines(self) -> list[str]:
        """Return in words how the plan with which a bridge was stored or begun differs from a new one."""
        return [
            f"warning: the bridge keeps the plan with which it was stored or begun: {change}" for change in self.changes
        ]

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that prevent a run, one sentence each."""
        languages = self.plan.source.schema_type, self.plan.target.schema_type
        found = [str(problem) for problem in self.plan.problems]
        keys = () if self.keys is None else (f"{KEY}: {problem}" for problem in self.keys.problems)
        return (*found, *self.file.language_problems(*languages), *self._unreadable_writers(), *keys)

    def _unreadable_writers(self) -> list[str]:
        newest = self.newest_id
        found = []
        for schema_id, writer in self.writer_by_id.items():
            problem = reading_problem(self.writer_by_id[newest], writer)
            if problem is not None:
                found.append(
                    f"version {self.version_by_id[schema_id]} (id {schema_id}) of {self.file.source_subject} cannot be "
                    f"read as version {self.version_by_id[newest]}: {problem}"
                )
        return found

    @property
    def hash(self) -> str:
        """A hash over everything that affects the written records; when it changes, it is another bridge."""
        facts: list[object] = [self.plan.hash, self.target_id, str(self.file.partitioning), str(self.file.timestamps)]
        if Framing.NONE in (framings := (self.file.source_framing, self.file.target_framing)):
            facts.append(framings)
        if self.keys is not None:
            facts.append(self.keys.hash)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def lines(self) -> list[str]:
        """Return what the bridge reads and writes, as lines of text: topics, subjects, versions and ids."""
        file = self.file
        versions = ", ".join(f"{version} (id {each})" for each, version in sorted(self.version_by_id.items()))
        return [
            f"from {file.source_topic}, subject {file.source_subject}, versions {versions}",
            (
                f"to {file.target_topic}, subject {file.target_subject}, version {self.target_version} "
                f"(id {self.target_id})"
            ),
        ]

    def conversion(self) -> Conversion:
        """Return the conversion for an engine; raise ``PlanIncomplete`` if there are problems."""
        if self.problems:
            raise PlanIncomplete(self.file.name, self.problems)
        return Conversion(
            plan=self.plan,
            writer_by_id=self.writer_by_id,
            target_id=None if self.file.target_framing is Framing.NONE else self.target_id,
            unframed_id=self.newest_id if self.file.source_framing is Framing.NONE else None,
        )

    def key_conversion(self) -> Conversion | None:
        """Return the conversion of keys; None if they are copied."""
        return None if self.keys is None else self.keys.conversion()


def resolve_with(
    file: BridgeFile, access: RegistryAccess, begun: Callable[[], str | None] = lambda: None
) -> ResolvedBridge:
    """Return the bridge of ``file`` with the schemas of the registry that a command's options name.

    A bridge that the registry stores, or of which ``begun`` returns the hash in a checkpoint, keeps its plan.
    """
    with access.open() as registry:
        found = resolve(file, registry)
        if found.earlier is None:
            return found
        stored = stored_bridge(registry, file.name)
        hashes = {begun()} if stored is None else {begun(), stored.bridge.plan_hash}
        return found.earlier if hashes & {found.earlier.hash, found.earlier.plan.hash} else found


def resolve(file: BridgeFile, registry: Registry) -> ResolvedBridge:
    """Return the bridge of ``file`` with the schemas that ``registry`` has now.

    Raises ``SubjectMissing`` for a subject or version that does not exist, and the errors of the registry's client.
    """
    writers = _writers(registry, file, _versions(registry, file))
    newest = max((each for each in writers if each.is_active), key=lambda each: each.version)
    target = _registered(registry, file.target_subject, file.target_version)
    both = derive_both_ways(newest.schema, with_message(_parsed(target, registry), file.target_message), file.rules)
    found = ResolvedBridge(
        file=file,
        plan=both.there,
        writer_by_id={each.id: each.schema for each in writers},
        version_by_id={each.id: each.version for each in writers},
        newest_id=newest.id,
        target_id=target.id,
        target_version=target.version or 0,
        losses=both.losses,
        keys=None if file.keys is None else resolve(file.keys, registry),
    )
    return replace(found, earlier=_earlier(found))


def _earlier(found: ResolvedBridge) -> ResolvedBridge | None:
    """Return the bridge as versions up to 0.2 derived it; None if it is the same."""
    plan = stored_plan(found.plan, found.file.rules)
    keys = None if found.keys is None else found.keys.earlier
    if plan is None and keys is None:
        return None
    return replace(found, plan=plan or found.plan, keys=keys or found.keys, is_earlier=True)


@dataclass(frozen=True)
class _Writer:
    """A version of the source subject; old records may have been written with a soft-deleted one."""

    version: int
    id: int
    schema: ParsedSchema
    is_active: bool


def _writers(registry: Registry, file: BridgeFile, active: Sequence[int]) -> list[_Writer]:
    from counterfoil.sdk import Visibility

    subject = file.source_subject
    everything = registry.versions(subject, visibility=Visibility.WITH_DELETED)
    found = (registry.version(subject, number, visibility=Visibility.WITH_DELETED) for number in everything)
    return [
        _Writer(
            each.version or 0,
            each.id,
            with_message(_parsed(each, registry), file.source_message),
            is_active=each.version in active,
        )
        for each in found
    ]


def _versions(registry: Registry, file: BridgeFile) -> list[int]:
    """Return the active versions of the source subject, ascending."""
    try:
        versions = sorted(registry.versions(file.source_subject))
    except SubjectNotFound:
        versions = []
    if not versions:
        raise SubjectMissing(
            f"The registry has no subject {file.source_subject}, so the schemas of {file.source_topic} are unknown",
            subject=file.source_subject,
        )
    return versions


def _registered(registry: Registry, subject: str, version: int | None) -> RegisteredSchema:
    try:
        return registry.version(subject, version or "latest")
    except (SubjectNotFound, VersionNotFound):
        wanted = f"version {version} of subject {subject}" if version else f"subject {subject}"
        raise SubjectMissing(f"The registry has no {wanted}", subject=subject) from None


def _parsed(registered: RegisteredSchema, registry: Registry) -> ParsedSchema:
    """Return the schema, with its references read; it is read leniently, since it is already registered."""
    schema = registered.schema
    references = resolved_references(schema, lambda each: _registered(registry, each.subject, each.version).schema)
    return parse_schema(schema.text, schema.schema_type, references=references, validation=Validation.LENIENT)
