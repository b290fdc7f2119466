"""The registry clients with the arguments and calls of confluent-kafka's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

from counterfoil.schema import model
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.rest.subjects import config_document
from counterfoil.schema.rest.versions import Deletion, VersionNumber, Visibility
from counterfoil.sdk import client, operations
from counterfoil.sdk.client import Calls, RegistryClient
from counterfoil.sdk.client import asynchronous as async_client
from counterfoil.sdk.client.settings_sources import settings_from_confluent
from counterfoil.sdk.confluent.values import (
    Association,
    AssociationResponse,
    RegisteredSchema,
    Schema,
    SchemaVersion,
    ServerConfig,
    own_config,
    own_schema,
    their_config,
    their_schema,
    their_version,
)
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.operations import Operation
from counterfoil.sdk.script import Script

# The calls of confluent-kafka's registry clients, as scripts of this SDK's calls.

T = TypeVar("T")


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
    own, visibility = _required(schema), _visibility(deleted)
    if fmt is None:
        found = yield from calls.lookup(subject_name, own, normalize=normalize_schemas, visibility=visibility)
    else:
        lookup = operations.lookup(subject_name, own, normalize=normalize_schemas, visibility=visibility)
        found = yield from calls.call(_printed(lookup, fmt))
    return their_version(found)


def get_schema(
    calls: Calls,
    schema_id: int,
    subject_name: str | None = None,
    fmt: str | None = None,
    reference_format: str | None = None,
) -> Script[Schema]:
    """Return the schema with this id."""
    if fmt is None and reference_format is None:
        return their_schema((yield from calls.schema_by_id(schema_id, subject=subject_name)))
    by_id = operations.schema_by_id(schema_id, subject=subject_name)
    return their_schema((yield from calls.call(_printed(by_id, fmt, reference_format))))


def get_schema_by_guid(calls: Calls, guid: str, fmt: str | None = None) -> Script[Schema]:
    """Return the schema with this guid."""
    if fmt is None:
        return their_schema((yield from calls.schema_by_guid(guid)))
    return their_schema((yield from calls.call(_printed(operations.schema_by_guid(guid), fmt))))


def get_latest_version(calls: Calls, subject_name: str, fmt: str | None = None) -> Script[RegisteredSchema]:
    """Return the latest version of the subject."""
    return (yield from get_version(calls, subject_name, fmt=fmt))


def get_latest_with_metadata(
    calls: Calls, subject_name: str, metadata: Mapping[str, str], deleted: bool = False, fmt: str | None = None
) -> Script[RegisteredSchema]:
    """Return the latest version of the subject whose metadata has these properties; deleted ones are not searched."""
    del deleted
    if fmt is None:
        return their_version((yield from calls.version_with_metadata(subject_name, metadata)))
    newest = operations.version_with_metadata(subject_name, metadata)
    return their_version((yield from calls.call(_printed(newest, fmt))))


def get_version(
    calls: Calls, subject_name: str, version: VersionNumber = "latest", deleted: bool = False, fmt: str | None = None
) -> Script[RegisteredSchema]:
    """Return a version of the subject."""
    if fmt is None:
        return their_version((yield from calls.version(subject_name, version, visibility=_visibility(deleted))))
    one = operations.version(subject_name, version, visibility=_visibility(deleted))
    return their_version((yield from calls.call(_printed(one, fmt))))


def get_versions(
    calls: Calls,
    subject_name: str,
    deleted: bool = False,
    deleted_only: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> Script[list[int]]:
    """Return the version numbers of the subject."""
    listing = operations.versions(subject_name, visibility=_visibility(deleted, deleted_only))
    return list((yield from calls.call(_page(listing, offset, limit))))


def get_referenced_by(
    calls: Calls, subject_name: str, version: VersionNumber = "latest", offset: int = 0, limit: int = -1
) -> Script[list[int]]:
    """Return the ids of the schemas that refer to a version of the subject."""
    listing = operations.referenced_by(subject_name, version, visibility=Visibility.ACTIVE)
    return list((yield from calls.call(_page(listing, offset, limit))))


def get_subjects(
    calls: Calls,
    subject_prefix: str | None = None,
    deleted: bool = False,
    deleted_only: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> Script[list[str]]:
    """Return the names of the subjects."""
    listing = operations.subjects(prefix=subject_prefix, visibility=_visibility(deleted, deleted_only))
    return list((yield from calls.call(_page(listing, offset, limit))))


def get_subjects_by_schema_id(
    calls: Calls,
    schema_id: int,
    subject_name: str | None = None,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> Script[list[str]]:
    """Return the names of the subjects that have the schema with this id."""
    listing = operations.subjects_of_id(schema_id, subject=subject_name, visibility=_visibility(deleted))
    return list((yield from calls.call(_page(listing, offset, limit))))


def get_schema_versions(
    calls: Calls,
    schema_id: int,
    subject_name: str | None = None,
    deleted: bool = False,
    offset: int = 0,
    limit: int = -1,
) -> Script[list[SchemaVersion]]:
    """Return the subjects and versions that have the schema with this id."""
    listing = operations.versions_of_id(schema_id, subject=subject_name, visibility=_visibility(deleted))
    found = yield from calls.call(_page(listing, offset, limit))
    return [SchemaVersion(each.subject, each.version) for each in found]


def delete_subject(calls: Calls, subject_name: str, permanent: bool = False) -> Script[list[int]]:
    """Delete the subject and return its versions; ``permanent`` requires an earlier deletion without it."""
    return list((yield from calls.delete_subject(subject_name, deletion=_deletion(permanent))))


def delete_version(calls: Calls, subject_name: str, version: int, permanent: bool = False) -> Script[int]:
    """Delete the version and return its number; ``permanent`` requires an earlier deletion without it."""
    return (yield from calls.delete_version(subject_name, version, deletion=_deletion(permanent)))


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
    version: VersionNumber = "latest",
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


def get_config(calls: Calls, subject_name: str | None = None) -> Script[ServerConfig]:
    """Return the config of a subject, or of the registry."""
    return their_config((yield from calls.config(subject_name)))


def set_config(calls: Calls, subject_name: str | None = None, config: object = None) -> Script[JsonObject]:
    """Set the members of a ``ServerConfig`` that are not None, and return them as the registry does."""
    return dict(config_document((yield from calls.set_config(subject_name, own_config(config)))))


def delete_config(calls: Calls, subject_name: str | None = None) -> Script[ServerConfig]:
    """Delete the config of a subject, or of the registry, and return what it was."""
    return their_config((yield from calls.delete_config(subject_name)))


def get_mode(calls: Calls, subject_name: str) -> Script[str | None]:
    """Return the mode of a subject."""
    return (yield from calls.mode(_of_subject(subject_name)))


def update_mode(calls: Calls, subject_name: str, mode: str, force: bool = False) -> Script[str | None]:
    """Set the mode of a subject, and return it."""
    return (yield from calls.set_mode(_of_subject(subject_name), mode, force=force))


def delete_mode(calls: Calls, subject_name: str) -> Script[str | None]:
    """Unset the mode of a subject, and return what it was."""
    return (yield from calls.delete_mode(_of_subject(subject_name)))


def get_global_mode(calls: Calls) -> Script[str | None]:
    """Return the mode of the registry."""
    return (yield from calls.mode())


def update_global_mode(calls: Calls, mode: str, force: bool = False) -> Script[str | None]:
    """Set the mode of the registry, and return it."""
    return (yield from calls.set_mode(None, mode, force=force))


def get_schema_types(calls: Calls) -> Script[list[str]]:
    """Return the schema types of the registry."""
    return list((yield from calls.schema_types()))


def get_contexts(calls: Calls, offset: int = 0, limit: int = -1) -> Script[list[str]]:
    """Return the contexts of the registry."""
    return list((yield from calls.call(_page(operations.contexts(), offset, limit))))


def get_associations_by_resource_name(
    calls: Calls,
    resource_name: str,
    resource_namespace: str,
    resource_type: str | None = None,
    association_types: list[str] | None = None,
    offset: int = 0,
    limit: int = -1,
) -> Script[list[Association]]:
    """Return the associations of the resources with this name."""
    listing = operations.associations_by_name(
        resource_namespace, resource_name, resource_type=resource_type, association_types=association_types or ()
    )
    return [Association.from_dict(each) for each in (yield from calls.call(_page(listing, offset, limit)))]


def create_association(calls: Calls, request: Any) -> Script[AssociationResponse]:
    """Create the associations of a resource, and return those that it has."""
    reply = yield from calls.call(operations.create_associations(request.to_dict()))
    return AssociationResponse.from_dict(reply)


def delete_associations(
    calls: Calls,
    resource_id: str,
    resource_type: str | None = None,
    association_types: list[str] | None = None,
    cascade_lifecycle: bool = False,
) -> Script[None]:
    """Delete the associations of a resource, and with ``cascade_lifecycle`` the subjects that belong to it alone."""
    yield from calls.call(
        operations.delete_associations(
            resource_id,
            resource_type=resource_type,
            association_types=association_types or (),
            cascades=cascade_lifecycle,
        )
    )


def _of_subject(subject_name: str) -> str:
    """Return the name of a subject; raise ``InvalidSettings`` for None, which would mean the whole registry."""
    if subject_name is None:
        raise InvalidSettings("subject_name is None; expected the name of a subject", setting="subject_name")
    return subject_name


def _required(schema: object) -> model.Schema:
    found = own_schema(schema)
    if found is None:
        raise InvalidSettings("The schema is None; expected schema text or a Schema", setting="schema")
    return found


def _visibility(deleted: bool, deleted_only: bool = False) -> Visibility:
    if deleted_only:
        return Visibility.DELETED_ONLY
    return Visibility.WITH_DELETED if deleted else Visibility.ACTIVE


def _deletion(permanent: bool) -> Deletion:
    return Deletion.PERMANENT if permanent else Deletion.SOFT


def _page(listing: Operation[T], offset: int | None, limit: int | None) -> Operation[T]:
    """Return a listing's operation for a part of it; without bounds, that of all of it. None is no bound."""
    first, most = offset or 0, -1 if limit is None else limit
    return listing if (first, most) == (0, -1) else operations.page_of(listing, offset=first, limit=most)


def _printed(operation: Operation[T], fmt: str | None, reference_format: str | None = None) -> Operation[T]:
    """Return the operation for schemas that the registry prints in a format, such as ``serialized``."""
    formats = (("format", fmt), ("reference_format", reference_format))
    return replace(operation, query=(*operation.query, *((name, each) for name, each in formats if each is not None)))


# The clients, for threads and for the tasks of an event loop.


class _TheirClient(RegistryClient):
    """What both clients have besides the calls of the registry."""

    def __init__(self, conf: Mapping[str, object], **options: object) -> None:
        super().__init__(settings_from_confluent(conf), **options)  # type: ignore[call-arg]  # a registry's arguments
        self._conf = dict(conf)

    @classmethod
    def new_client(cls, conf: Mapping[str, object]) -> Self:
        """Return a client; with a URL that begins with ``mock://``, one of an empty registry in memory."""
        if not str(conf.get("url")).startswith("mock://"):
            return cls(conf)
        from counterfoil.sdk.testing.registries import URL, InMemoryRegistry

        return cls({**conf, "url": URL}, transport=InMemoryRegistry())

    def config(self) -> dict[str, object]:
        """Return the settings of the client."""
        return self._conf

    def clear_caches(self) -> None:
        """Clear every cache."""
        self.clear_cache()

    def clear_latest_caches(self) -> None:
        """Clear the caches of latest versions; the others are cleared as well."""
        self.clear_cache()


class SchemaRegistryClient(_TheirClient, client.Registry):  # type: ignore[misc]  # their signature of config
    """:class:`counterfoil.sdk.Registry` with the settings and calls of confluent-kafka's class of this name.

    The calls of ``Registry`` are there as well, but for those whose names theirs have, too: ``config``,
    ``set_config``, ``delete_config``, ``delete_mode``, ``delete_subject`` and ``delete_version``.
    """

    register_schema = client.method_of(register_schema)
    register_schema_full_response = client.method_of(register_schema_full_response)
    lookup_schema = client.method_of(lookup_schema)
    get_schema = client.method_of(get_schema)
    get_schema_by_guid = client.method_of(get_schema_by_guid)
    get_latest_version = client.method_of(get_latest_version)
    get_latest_with_metadata = client.method_of(get_latest_with_metadata)
    get_version = client.method_of(get_version)
    get_versions = client.method_of(get_versions)
    get_subjects = client.method_of(get_subjects)
    set_compatibility = client.method_of(set_compatibility)
    get_compatibility = client.method_of(get_compatibility)
    test_compatibility = client.method_of(test_compatibility)
    test_compatibility_all_versions = client.method_of(test_compatibility_all_versions)
    get_config = client.method_of(get_config)
    set_config = client.method_of(set_config)  # type: ignore[arg-type]  # their signature
    delete_config = client.method_of(delete_config)  # type: ignore[arg-type]  # their signature
    get_mode = client.method_of(get_mode)
    update_mode = client.method_of(update_mode)
    delete_mode = client.method_of(delete_mode)  # type: ignore[arg-type]  # their signature
    get_global_mode = client.method_of(get_global_mode)
    update_global_mode = client.method_of(update_global_mode)
    get_schema_types = client.method_of(get_schema_types)
    get_contexts = client.method_of(get_contexts)
    get_referenced_by = client.method_of(get_referenced_by)
    get_subjects_by_schema_id = client.method_of(get_subjects_by_schema_id)
    get_schema_versions = client.method_of(get_schema_versions)
    get_associations_by_resource_name = client.method_of(get_associations_by_resource_name)
    create_association = client.method_of(create_association)
    delete_associations = client.method_of(delete_associations)
    delete_subject = client.method_of(delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = client.method_of(delete_version)  # type: ignore[arg-type]  # their signature


class AsyncSchemaRegistryClient(_TheirClient, async_client.AsyncRegistry):  # type: ignore[misc]  # their signature of config, here too
    """:class:`counterfoil.sdk.AsyncRegistry` with the settings and calls of confluent-kafka's class of this name."""

    register_schema = async_client.method_of(register_schema)
    register_schema_full_response = async_client.method_of(register_schema_full_response)
    lookup_schema = async_client.method_of(lookup_schema)
    get_schema = async_client.method_of(get_schema)
    get_schema_by_guid = async_client.method_of(get_schema_by_guid)
    get_latest_version = async_client.method_of(get_latest_version)
    get_latest_with_metadata = async_client.method_of(get_latest_with_metadata)
    get_version = async_client.method_of(get_version)
    get_versions = async_client.method_of(get_versions)
    get_subjects = async_client.method_of(get_subjects)
    set_compatibility = async_client.method_of(set_compatibility)
    get_compatibility = async_client.method_of(get_compatibility)
    test_compatibility = async_client.method_of(test_compatibility)
    test_compatibility_all_versions = async_client.method_of(test_compatibility_all_versions)
    get_config = async_client.method_of(get_config)
    set_config = async_client.method_of(set_config)  # type: ignore[arg-type]  # their signature
    delete_config = async_client.method_of(delete_config)  # type: ignore[arg-type]  # their signature
    get_mode = async_client.method_of(get_mode)
    update_mode = async_client.method_of(update_mode)
    delete_mode = async_client.method_of(delete_mode)  # type: ignore[arg-type]  # their signature
    get_global_mode = async_client.method_of(get_global_mode)
    update_global_mode = async_client.method_of(update_global_mode)
    get_schema_types = async_client.method_of(get_schema_types)
    get_contexts = async_client.method_of(get_contexts)
    get_referenced_by = async_client.method_of(get_referenced_by)
    get_subjects_by_schema_id = async_client.method_of(get_subjects_by_schema_id)
    get_schema_versions = async_client.method_of(get_schema_versions)
    get_associations_by_resource_name = async_client.method_of(get_associations_by_resource_name)
    create_association = async_client.method_of(create_association)
    delete_associations = async_client.method_of(delete_associations)
    delete_subject = async_client.method_of(delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = async_client.method_of(delete_version)  # type: ignore[arg-type]  # their signature

    async def aclose(self) -> None:
        """Close the connections."""
        await self.close()
