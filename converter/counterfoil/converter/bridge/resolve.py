"""A bridge file with its schemas from the registry: every writer id, the plan, the one id to write."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.converter.engines.protocol import Conversion
from counterfoil.converter.errors import BridgeError, PlanIncomplete, SubjectMissing
from counterfoil.schema.counting import counted
from counterfoil.schema.errors import SubjectNotFound, VersionNotFound
from counterfoil.schema.evolution import derive_plan
from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.formats.avro.policies import find_differences
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.references import resolved_references

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.bridges.file import BridgeFile
    from counterfoil.schema.evolution import ConversionPlan
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk import Registry


@dataclass(frozen=True)
class ResolvedBridge:
    """A bridge that can be run once ``problems`` is empty.

    ``version_by_id`` is the version of the source subject for each writer id, including soft-deleted ones, and
    ``newest_id`` is the id of the schema with which all are read; ``target_version`` is the version of ``target_id``.
    """

    file: BridgeFile
    plan: ConversionPlan
    writer_by_id: Mapping[int, AvroSchema]
    version_by_id: Mapping[int, int]
    newest_id: int
    target_id: int
    target_version: int

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that prevent a run, one sentence each."""
        return tuple(str(problem) for problem in self.plan.problems) + tuple(self._unreadable_writers())

    def _unreadable_writers(self) -> list[str]:
        newest = self.newest_id
        found = []
        for schema_id, writer in self.writer_by_id.items():
            differences = find_differences(self.writer_by_id[newest], writer)
            if differences:
                count = counted(len(differences), "difference")
                found.append(
                    f"version {self.version_by_id[schema_id]} (id {schema_id}) of {self.file.source_subject} cannot be "
                    f"read as version {self.version_by_id[newest]}: {count}, the first is {differences[0]}"
                )
        return found

    @property
    def hash(self) -> str:
        """A hash over everything that affects the written records; when it changes, it is another bridge."""
        facts = [self.plan.hash, self.target_id, str(self.file.partitioning), str(self.file.timestamps)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def conversion(self) -> Conversion:
        """Return the conversion for an engine; raise ``PlanIncomplete`` if there are problems."""
        if self.problems:
            raise PlanIncomplete(self.file.name, self.problems)
        return Conversion(plan=self.plan, writer_by_id=self.writer_by_id, target_id=self.target_id)


def resolve(file: BridgeFile, registry: Registry) -> ResolvedBridge:
    """Return the bridge of ``file`` with the schemas that ``registry`` has now.

    Raises ``SubjectMissing`` for a subject or version that does not exist, ``BridgeError`` for one that is not Avro,
    and the errors of the registry's client.
    """
    writers = _writers(registry, file.source_subject, _versions(registry, file))
    newest = max((each for each in writers if each.is_active), key=lambda each: each.version)
    target = _registered(registry, file.target_subject, file.target_version)
    return ResolvedBridge(
        file=file,
        plan=derive_plan(newest.schema, _avro(target, registry), file.rules),
        writer_by_id={each.id: each.schema for each in writers},
        version_by_id={each.id: each.version for each in writers},
        newest_id=newest.id,
        target_id=target.id,
        target_version=target.version or 0,
    )


@dataclass(frozen=True)
class _Writer:
    """A version of the source subject; old records may have been written with a soft-deleted one."""

    version: int
    id: int
    schema: AvroSchema
    is_active: bool


def _writers(registry: Registry, subject: str, active: Sequence[int]) -> list[_Writer]:
    from counterfoil.sdk import Visibility

    everything = registry.versions(subject, visibility=Visibility.WITH_DELETED)
    found = (registry.version(subject, number, visibility=Visibility.WITH_DELETED) for number in everything)
    return [
        _Writer(each.version or 0, each.id, _avro(each, registry), is_active=each.version in active) for each in found
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


def _avro(registered: RegisteredSchema, registry: Registry) -> AvroSchema:
    """Return the schema, with its references read; it is read leniently, since it is already registered."""
    schema = registered.schema
    if schema.schema_type is not SchemaType.AVRO:
        raise BridgeError(
            f"{registered.subject} version {registered.version} is {schema.schema_type}; a bridge converts Avro"
        )
    references = resolved_references(schema, lambda each: _registered(registry, each.subject, each.version).schema)
    return parse_avro(schema.text, references, validation=Validation.LENIENT)
