"""The calls of confluent-kafka's registry clients, as scripts of this SDK's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk.confluent.values import own_schema, their_schema, their_version
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema import model
    from counterfoil.sdk.calls import Calls
    from counterfoil.sdk.confluent.values import RegisteredSchema, Schema
    from counterfoil.sdk.script import Script


def register_schema(calls: Calls, subject_name: str, schema: object, normalize_schemas: bool = False) -> Script[int]:
    """Register the schema and return its id."""
    return (yield from calls.register(subject_name, _required(schema), normalize=normalize_schemas)).id


def register_schema_full_response(
    calls: Calls, subject_name: str, schema: object, normalize_schemas: bool = False
) -> Script[RegisteredSchema]:
    """Register the schema and return its version."""
    return their_version((yield from calls.register(subject_name, _required(schema), normalize=normalize_schemas)))


def lookup_schema(
    calls: Calls,
    subject_name: str,
    schema: object,
    normalize_schemas: bool = False,
    fmt: str | None = None,
    deleted: bool = False,
) -> Script[RegisteredSchema]:
    """Return the version of the subject that has this content."""
    _refuse_format(fmt)
    found = yield from calls.lookup(
        subject_name, _required(schema), normalize=normalize_schemas, visibility=_visibility(deleted)
    )
    return their_version(found)


def get_schema(calls: Calls, schema_id: int, subject_name: str | None = None, fmt: str | None = None) -> Script[Schema]:
    """Return the schema with this id."""
    _refuse_format(fmt)
    return their_schema((yield from calls.schema_by_id(schema_id, subject=subject_name)))


def get_schema_by_guid(calls: Calls, guid: str, fmt: str | None = None) -> Script[Schema]:
    """Return the schema with this guid."""
    _refuse_format(fmt)
    return their_schema((yield from calls.schema_by_guid(guid)))


def get_latest_version(calls: Calls, subject_name: str, fmt: str | None = None) -> Script[RegisteredSchema]:
    """Return the latest version of the subject."""
    _refuse_format(fmt)
    return their_version((yield from calls.version(subject_name)))


def get_latest_with_metadata(
    calls: Calls, subject_name: str, metadata: Mapping[str, str], deleted: bool = False, fmt: str | None = None
) -> Script[RegisteredSchema]:
    """Return the latest version of the subject whose metadata has these properties; deleted ones are not searched."""
    del deleted
    _refuse_format(fmt)
    return their_version((yield from calls.version_with_metadata(subject_name, metadata)))


def get_version(
    calls: Calls, subject_name: str, version: Any = "latest", deleted: bool = False, fmt: str | None = None
) -> Script[RegisteredSchema]:
    """Return a version of the subject."""
    _refuse_format(fmt)
    return their_version((yield from calls.version(subject_name, version, visibility=_visibility(deleted))))


def get_versions(calls: Calls, subject_name: str, deleted: bool = False) -> Script[list[int]]:
    """Return the version numbers of the subject."""
    return list((yield from calls.versions(subject_name, visibility=_visibility(deleted))))


def get_subjects(calls: Calls, subject_prefix: str | None = None, deleted: bool = False) -> Script[list[str]]:
    """Return the names of the subjects."""
    return list((yield from calls.subjects(prefix=subject_prefix, visibility=_visibility(deleted))))


def delete_subject(calls: Calls, subject_name: str, permanent: bool = False) -> Script[list[int]]:
    """Delete the subject, softly and then permanently with ``permanent``, and return its versions."""
    found = yield from calls.delete_subject(subject_name)
    if permanent:
        yield from calls.delete_subject(subject_name, deletion=Deletion.PERMANENT)
    return list(found)


def delete_version(calls: Calls, subject_name: str, version: int, permanent: bool = False) -> Script[int]:
    """Delete the version, softly and then permanently with ``permanent``, and return its number."""
    found = yield from calls.delete_version(subject_name, version)
    if permanent:
        yield from calls.delete_version(subject_name, version, deletion=Deletion.PERMANENT)
    return found


def set_compatibility(
    calls: Calls, subject_name: str | None = None, level: str | None = None
) -> Script[dict[str, str]]:
    """Set the compatibility level of a subject, or of the registry, and return it as the registry does."""
    if level is None:
        raise InvalidSettings("level must be set", setting="level")
    yield from calls.set_config(subject_name, level.upper())
    return {"compatibility": level.upper()}


def get_compatibility(calls: Calls, subject_name: str | None = None) -> Script[str | None]:
    """Return the compatibility level of a subject, or of the registry."""
    found = (yield from calls.config(subject_name)).compatibility_level
    return None if found is None else found.value


def test_compatibility(
    calls: Calls,
    subject_name: str,
    schema: object,
    version: Any = "latest",
    normalize: bool = False,
    verbose: bool = False,
) -> Script[bool]:
    """Return whether the schema is compatible with a version of the subject."""
    found = yield from calls.check_compatibility(
        subject_name, _required(schema), version=version, normalize=normalize, verbose=verbose
    )
    return found.is_compatible


def test_compatibility_all_versions(
    calls: Calls, subject_name: str, schema: object, normalize: bool = False, verbose: bool = False
) -> Script[bool]:
    """Return whether the subject's level allows the schema."""
    found = yield from calls.check_compatibility(subject_name, _required(schema), normalize=normalize, verbose=verbose)
    return found.is_compatible


def get_types(calls: Calls) -> Script[list[str]]:
    """Return the schema types of the registry."""
    return list((yield from calls.schema_types()))


def get_contexts(calls: Calls) -> Script[list[str]]:
    """Return the contexts of the registry."""
    return list((yield from calls.contexts()))


def _required(schema: object) -> model.Schema:
    found = own_schema(schema)
    if found is None:
        raise InvalidSettings("The schema is None; expected schema text or a Schema", setting="schema")
    return found


def _visibility(deleted: bool) -> Visibility:
    return Visibility.WITH_DELETED if deleted else Visibility.ACTIVE


def _refuse_format(fmt: str | None) -> None:
    if fmt is not None:
        raise InvalidSettings(f"fmt is {fmt!r}; this client returns schemas as they are stored", setting="fmt")
