"""Schemas by id from a folder, for tests without a registry."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.errors import InputNotFound, InvalidOperand
from counterfoil.contracts.languages import language_of
from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema
from counterfoil.sdk.bundle.document import Bundle, BundledVersion
from counterfoil.sdk.bundle.transport import URL, BundleTransport

if TYPE_CHECKING:
    from counterfoil.sdk.client import Registry


def registry_of_folder(folder: str) -> Registry:
    """Return a client that has the schemas in a folder: files that are named by their ids, such as ``7.avsc``.

    Raises ``InputNotFound`` if there is no such file, and ``InvalidOperand`` for one that is not UTF-8.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputNotFound(f"there is no folder {folder!r}")
    versions = tuple(_version(path) for path in sorted(place.iterdir()) if path.stem.isdecimal())
    if not versions:
        raise InputNotFound(f"the folder {folder!r} has no schema; the files are named by their ids, such as 7.avsc")
    return registry_of(folder, versions)


def registry_of(source: str, versions: tuple[BundledVersion, ...]) -> Registry:
    """Return a client that has these schemas alone; ``source`` names where they come from."""
    from counterfoil.sdk.client import Registry

    return Registry(URL, transport=BundleTransport(Bundle(source, datetime.now(UTC).isoformat(), versions)))


def bundled(subject: str, schema_id: int, schema: Schema) -> BundledVersion:
    """Return a schema as the only version of a subject."""
    guid = content_guid(schema.text, schema.references, schema.metadata, schema.rule_set)
    return BundledVersion(subject, 1, schema_id, guid, schema)


def _version(path: Path) -> BundledVersion:
    try:
        schema = Schema(path.read_text(encoding="utf-8"), language_of(path.name))
    except UnicodeDecodeError as error:
        raise InvalidOperand(str(path), f"it is not UTF-8 ({error.reason})") from None
    return bundled(path.stem, int(path.stem), schema)
