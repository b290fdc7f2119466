"""The registry clients with the arguments and calls of confluent-kafka's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from counterfoil.sdk import async_client, client
from counterfoil.sdk.confluent import calls
from counterfoil.sdk.registry_client import RegistryClient
from counterfoil.sdk.settings_sources import settings_from_confluent

if TYPE_CHECKING:
    from collections.abc import Mapping


class _TheirClient(RegistryClient):
    """What both clients have besides the calls of the registry."""

    def __init__(self, conf: Mapping[str, object], **options: Any) -> None:
        super().__init__(settings_from_confluent(conf), **options)  # type: ignore[call-arg]  # a registry's arguments
        self._conf = dict(conf)

    @classmethod
    def new_client(cls, conf: Mapping[str, object]) -> Self:
        """Return a client; with a URL that begins with ``mock://``, one of an empty registry in memory."""
        if not str(conf.get("url")).startswith("mock://"):
            return cls(conf)
        from counterfoil.sdk.testing.in_memory import URL, InMemoryRegistry

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

    register_schema = client.method_of(calls.register_schema)
    register_schema_full_response = client.method_of(calls.register_schema_full_response)
    lookup_schema = client.method_of(calls.lookup_schema)
    get_schema = client.method_of(calls.get_schema)
    get_schema_by_guid = client.method_of(calls.get_schema_by_guid)
    get_latest_version = client.method_of(calls.get_latest_version)
    get_latest_with_metadata = client.method_of(calls.get_latest_with_metadata)
    get_version = client.method_of(calls.get_version)
    get_versions = client.method_of(calls.get_versions)
    get_subjects = client.method_of(calls.get_subjects)
    set_compatibility = client.method_of(calls.set_compatibility)
    get_compatibility = client.method_of(calls.get_compatibility)
    test_compatibility = client.method_of(calls.test_compatibility)
    test_compatibility_all_versions = client.method_of(calls.test_compatibility_all_versions)
    get_config = client.method_of(calls.get_config)
    set_config = client.method_of(calls.set_config)  # type: ignore[arg-type]  # their signature
    delete_config = client.method_of(calls.delete_config)  # type: ignore[arg-type]  # their signature
    get_mode = client.method_of(calls.get_mode)
    update_mode = client.method_of(calls.update_mode)
    delete_mode = client.method_of(calls.delete_mode)  # type: ignore[arg-type]  # their signature
    get_global_mode = client.method_of(calls.get_global_mode)
    update_global_mode = client.method_of(calls.update_global_mode)
    get_schema_types = client.method_of(calls.get_schema_types)
    get_contexts = client.method_of(calls.get_contexts)
    get_referenced_by = client.method_of(calls.get_referenced_by)
    get_subjects_by_schema_id = client.method_of(calls.get_subjects_by_schema_id)
    get_schema_versions = client.method_of(calls.get_schema_versions)
    get_associations_by_resource_name = client.method_of(calls.get_associations_by_resource_name)
    create_association = client.method_of(calls.create_association)
    delete_associations = client.method_of(calls.delete_associations)
    delete_subject = client.method_of(calls.delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = client.method_of(calls.delete_version)  # type: ignore[arg-type]  # their signature


class AsyncSchemaRegistryClient(_TheirClient, async_client.AsyncRegistry):  # type: ignore[misc]  # their signature of config, here too
    """:class:`counterfoil.sdk.AsyncRegistry` with the settings and calls of confluent-kafka's class of this name."""

    register_schema = async_client.method_of(calls.register_schema)
    register_schema_full_response = async_client.method_of(calls.register_schema_full_response)
    lookup_schema = async_client.method_of(calls.lookup_schema)
    get_schema = async_client.method_of(calls.get_schema)
    get_schema_by_guid = async_client.method_of(calls.get_schema_by_guid)
    get_latest_version = async_client.method_of(calls.get_latest_version)
    get_latest_with_metadata = async_client.method_of(calls.get_latest_with_metadata)
    get_version = async_client.method_of(calls.get_version)
    get_versions = async_client.method_of(calls.get_versions)
    get_subjects = async_client.method_of(calls.get_subjects)
    set_compatibility = async_client.method_of(calls.set_compatibility)
    get_compatibility = async_client.method_of(calls.get_compatibility)
    test_compatibility = async_client.method_of(calls.test_compatibility)
    test_compatibility_all_versions = async_client.method_of(calls.test_compatibility_all_versions)
    get_config = async_client.method_of(calls.get_config)
    set_config = async_client.method_of(calls.set_config)  # type: ignore[arg-type]  # their signature
    delete_config = async_client.method_of(calls.delete_config)  # type: ignore[arg-type]  # their signature
    get_mode = async_client.method_of(calls.get_mode)
    update_mode = async_client.method_of(calls.update_mode)
    delete_mode = async_client.method_of(calls.delete_mode)  # type: ignore[arg-type]  # their signature
    get_global_mode = async_client.method_of(calls.get_global_mode)
    update_global_mode = async_client.method_of(calls.update_global_mode)
    get_schema_types = async_client.method_of(calls.get_schema_types)
    get_contexts = async_client.method_of(calls.get_contexts)
    get_referenced_by = async_client.method_of(calls.get_referenced_by)
    get_subjects_by_schema_id = async_client.method_of(calls.get_subjects_by_schema_id)
    get_schema_versions = async_client.method_of(calls.get_schema_versions)
    get_associations_by_resource_name = async_client.method_of(calls.get_associations_by_resource_name)
    create_association = async_client.method_of(calls.create_association)
    delete_associations = async_client.method_of(calls.delete_associations)
    delete_subject = async_client.method_of(calls.delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = async_client.method_of(calls.delete_version)  # type: ignore[arg-type]  # their signature

    async def aclose(self) -> None:
        """Close the connections."""
        await self.close()
