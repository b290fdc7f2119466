"""The registry clients with the arguments and calls of confluent-kafka's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.sdk import async_client, client
from counterfoil.sdk.confluent import calls
from counterfoil.sdk.settings_sources import settings_from_confluent

if TYPE_CHECKING:
    from collections.abc import Mapping


class SchemaRegistryClient(client.Registry):
    """:class:`counterfoil.sdk.Registry` with the settings and calls of confluent-kafka's class of this name.

    The calls of ``Registry`` are there as well, but for ``delete_subject`` and ``delete_version``, which are theirs.
    """

    def __init__(self, conf: Mapping[str, object], **options: Any) -> None:
        super().__init__(settings_from_confluent(conf), **options)

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
    get_types = client.method_of(calls.get_types)
    get_contexts = client.method_of(calls.get_contexts)
    delete_subject = client.method_of(calls.delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = client.method_of(calls.delete_version)  # type: ignore[arg-type]  # their signature

    def clear_caches(self) -> None:
        """Clear every cache."""
        self.clear_cache()


class AsyncSchemaRegistryClient(async_client.AsyncRegistry):
    """:class:`counterfoil.sdk.AsyncRegistry` with the settings and calls of confluent-kafka's class of this name."""

    def __init__(self, conf: Mapping[str, object], **options: Any) -> None:
        super().__init__(settings_from_confluent(conf), **options)

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
    get_types = async_client.method_of(calls.get_types)
    get_contexts = async_client.method_of(calls.get_contexts)
    delete_subject = async_client.method_of(calls.delete_subject)  # type: ignore[arg-type]  # their signature
    delete_version = async_client.method_of(calls.delete_version)  # type: ignore[arg-type]  # their signature

    def clear_caches(self) -> None:
        """Clear every cache."""
        self.clear_cache()
