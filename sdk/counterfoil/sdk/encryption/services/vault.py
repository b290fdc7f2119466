"""``hcvault``: the transit engine of HashiCorp Vault, or of OpenBao, over HTTP."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from counterfoil.schema.errors import KeyServiceUnavailable, KeyWrapFailed
from counterfoil.schema.keys.vault import VaultExchange, VaultReply, VaultSettings
from counterfoil.sdk.connection.http import HttpTransport
from counterfoil.sdk.connection.tls import TlsSettings
from counterfoil.sdk.encryption.services.service import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, malformed
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.settings import RegistrySettings
from counterfoil.sdk.transport import NoReply, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.keys.vault import VaultRequest, VaultScript

_EXPECTED: Final = "https://vault.example:8200/transit/keys/NAME"


class VaultKms:
    """Wraps with the transit engine of the Vault in ``VAULT_ADDR``, or else of the one in a key's id.

    The settings are those of Confluent's clients: ``token.id``, ``namespace``, ``approle.role.id``,
    ``approle.secret.id``, ``ssl.ca.location``, ``ssl.certificate.location`` and ``ssl.key.location``, or the variables
    ``VAULT_TOKEN`` and so on. With ``VAULT_ADDR`` the token is sent to that Vault only.
    """

    def __init__(self, conf: Mapping[str, str]) -> None:
        held = VaultSettings.of_environment(os.environ)
        self._settings = replace(
            held,
            token=conf.get("token.id") or held.token,
            namespace=conf.get("namespace") or held.namespace,
            role_id=conf.get("approle.role.id") or held.role_id,
            secret_id=conf.get("approle.secret.id") or held.secret_id,
        )
        self._tls = TlsSettings(
            ca_file=conf.get("ssl.ca.location") or held.ca_file,
            certificate_file=conf.get("ssl.certificate.location") or os.environ.get("VAULT_CLIENT_CERT") or None,
            key_file=conf.get("ssl.key.location") or os.environ.get("VAULT_CLIENT_KEY") or None,
        )
        self._vaults: dict[str, _Vault] = {}

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted, in Vault's text form."""
        vault = self._vault(key_id)
        return vault.run(vault.exchange.wrap(key_id, {}, plain))

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        vault = self._vault(key_id)
        return vault.run(vault.exchange.unwrap(key_id, {}, wrapped))

    def close(self) -> None:
        """Close the connections."""
        for vault in self._vaults.values():
            vault.close()

    def _vault(self, key_id: str) -> _Vault:
        address = self._settings.address or _address_of(key_id)
        if address not in self._vaults:
            self._vaults[address] = _Vault(replace(self._settings, address=address), self._tls)
        return self._vaults[address]


class _Vault:
    """One Vault, with its connections and the token of the last login."""

    def __init__(self, settings: VaultSettings, tls: TlsSettings) -> None:
        self._address = (settings.address or "").rstrip("/")
        self.exchange = VaultExchange(settings, program="this program")
        try:
            self._transport = HttpTransport(
                RegistrySettings(
                    urls=(self._address,),
                    tls=tls,
                    connect_timeout_s=CONNECT_TIMEOUT_S,
                    read_timeout_s=READ_TIMEOUT_S,
                )
            )
        except InvalidSettings:
            raise KeyWrapFailed(
                f"VAULT_ADDR, or the address in kmsKeyId, is {self._address[:200]!r}; expected one such as "
                "https://vault.example:8200"
            ) from None

    def run(self, script: VaultScript) -> bytes:
        """Return the result of a script."""
        try:
            request = next(script)
            while True:
                request = script.send(self._sent(request))
        except StopIteration as stop:
            result: bytes = stop.value
            return result

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _sent(self, request: VaultRequest) -> VaultReply:
        headers = {"Content-Type": "application/json", **request.headers}
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable()):
                raise KeyWrapFailed(f"The setting for the header {name} has characters that cannot be sent in a header")
        try:
            reply = self._transport.send(Request("POST", self._address + request.path, headers, request.body))
        except NoReply as error:
            raise KeyServiceUnavailable(f"Vault at {self._address} did not answer: {error.problem}") from None
        except InvalidSettings as error:  # of certificates
            raise KeyWrapFailed(f"Vault at {self._address} cannot be used: {error}") from None
        return VaultReply(reply.status, reply.body)


def _address_of(key_id: str) -> str:
    parts = urlsplit(key_id)
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise malformed(key_id, _EXPECTED)
    return f"{parts.scheme}://{parts.netloc}"
