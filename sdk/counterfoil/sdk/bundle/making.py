"""Making a bundle of a registry's subjects, with everything that their schemas refer to."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.bundle.document import Bundle, BundledVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.sdk.client import Registry


def make_bundle(registry: Registry, subjects: Iterable[str], *, origin: str) -> Bundle:
    """Return the bundle of all versions of the subjects.

    Soft-deleted versions are included, since records may have their ids, and so is what the schemas refer to. Raises
    the errors of the client, ``SubjectNotFound`` for an unknown subject.
    """
    found: dict[tuple[str, int], BundledVersion] = {}
    for subject in subjects:
        for number in registry.versions(subject, visibility=Visibility.WITH_DELETED):
            _collect(registry, subject, number, found)
    active = _active_versions(registry, {subject for subject, _ in found})
    versions = tuple(
        version if key in active else replace(version, is_deleted=True) for key, version in sorted(found.items())
    )
    return Bundle(origin, datetime.now(UTC).isoformat(timespec="seconds"), versions)


def _collect(registry: Registry, subject: str, number: int, found: dict[tuple[str, int], BundledVersion]) -> None:
    if (subject, number) in found:
        return
    held = registry.version(subject, number, visibility=Visibility.WITH_DELETED)
    schema = held.schema
    guid = held.guid or content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
    found[subject, number] = BundledVersion(subject, number, held.id, guid, schema)
    for reference in schema.references:
        _collect(registry, reference.subject, reference.version, found)


def _active_versions(registry: Registry, subjects: Iterable[str]) -> set[tuple[str, int]]:
    found: set[tuple[str, int]] = set()
    for subject in subjects:
        try:
            found.update((subject, number) for number in registry.versions(subject))
        except SubjectNotFound:
            continue  # all of its versions are soft-deleted
    return found
