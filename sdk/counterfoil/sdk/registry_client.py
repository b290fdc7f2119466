"""What the clients for threads and for the tasks of an event loop have in common: how they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from counterfoil.sdk.processes import PickledByArguments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from counterfoil.sdk.calls import Calls


class RegistryClient(PickledByArguments):
    """A client of a schema registry; its first argument is a URL, or whole settings."""

    calls: Calls

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return a client with the settings in ``COUNTERFOIL_REGISTRY_URL`` and the variables of the same prefix."""
        from counterfoil.sdk.settings_sources import settings_from_environment

        return cls(settings_from_environment(environment))

    @classmethod
    def from_confluent(cls, conf: Mapping[str, object]) -> Self:
        """Return a client of the registry that confluent-kafka's ``SchemaRegistryClient`` uses with the same dict."""
        from counterfoil.sdk.settings_sources import settings_from_confluent

        return cls(settings_from_confluent(conf))

    @classmethod
    def from_bundle(cls, path: str | Path, *, public_key_file: str | Path | None = None) -> Self:
        """Return a client that answers from a file of ``counterfoil bundle``, without a network.

        With ``public_key_file``, an Ed25519 key in a PEM file, only a bundle that this key has signed is accepted.
        Raises ``DamagedBundle``, and ``OSError`` for a file that cannot be read.
        """
        from counterfoil.sdk.bundle.document import read_bundle
        from counterfoil.sdk.bundle.transport import URL, BundleTransport

        return cls(URL, transport=BundleTransport(read_bundle(path, public_key_file=public_key_file)))

    def clear_cache(self) -> None:
        """Clear the caches: ids, registrations, latest versions, unknown ids."""
        self.calls.clear_cache()
