"""``azure-kms``: Azure Key Vault; the id of a key is its address, ``https://NAME.vault.azure.net/keys/KEY[/VERSION]``.

Keys are wrapped with RSA-OAEP and SHA-256. Key Vault does not write into a wrapped key which version of its own key
wrapped it. With the property ``encrypt.azure.key.version.save`` of the KEK the version is written before the wrapped
key (``azure:v1:``, 32 hexadecimal digits, a colon), as by Confluent's clients; without it, and without a version in the
key's id, keys that were wrapped before a rotation in Key Vault cannot be unwrapped after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.identity import ClientSecretCredential, DefaultAzureCredential
from azure.keyvault.keys import KeyClient
from azure.keyvault.keys.crypto import CryptographyClient, EncryptionAlgorithm

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed
from counterfoil.sdk.encryption.key_services import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, malformed

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


T = TypeVar("T")

_SAVE_VERSION: Final = "encrypt.azure.key.version.save"
_SAVED: Final = re.compile(rb"azure:v1:([0-9a-fA-F]{32}):", re.ASCII)
_PATH: Final = re.compile(r"/keys/([0-9A-Za-z-]+)(?:/([0-9A-Za-z]+))?/?")
_ALGORITHM: Final = EncryptionAlgorithm.rsa_oaep_256
_REFUSALS: Final = frozenset({401, 403})
_TEMPORARY: Final = frozenset({408, 429, 500, 502, 503, 504})
_OPTIONS: Final = {"connection_timeout": CONNECT_TIMEOUT_S, "read_timeout": READ_TIMEOUT_S, "retry_total": 1}


class AzureKeyService:
    """Wraps with keys of Azure Key Vault.

    The settings are those of Confluent's clients: ``tenant.id``, ``client.id`` and ``client.secret``; without them the
    sources of ``DefaultAzureCredential``. ``credential`` and the ``options`` of Azure's clients are for programs that
    make the service themselves.
    """

    def __init__(
        self, conf: Mapping[str, str], *, credential: TokenCredential | None = None, **options: object
    ) -> None:
        self._saves_version = conf.get(_SAVE_VERSION, "").lower() == "true"
        self._credential = credential or _credential_of(conf)
        self._options = {**_OPTIONS, **options}
        self._clients: dict[str, CryptographyClient] = {}
        self._lock = Lock()

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted, after the version of the key if it is to be saved."""
        if not self._saves_version:
            return self._answer(key_id, lambda: self._client(key_id).encrypt(_ALGORITHM, plain).ciphertext)
        vault, name, version = _parts(key_id)
        if version is None:
            version = self._answer(key_id, lambda: self._latest_version(vault, name))
        client = self._client(f"{vault}/keys/{name}/{version}")
        saved = b"azure:v1:%s:" % version.encode()
        if _SAVED.fullmatch(saved) is None:
            raise malformed(key_id, "a version of 32 hexadecimal digits, so that it can be saved")
        return saved + self._answer(key_id, lambda: client.encrypt(_ALGORITHM, plain).ciphertext)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key, with the version of the key that wrapped it if that was saved."""
        saved = _SAVED.match(wrapped)
        used = key_id
        if saved is not None:
            vault, name, _ = _parts(key_id)
            used = f"{vault}/keys/{name}/{saved[1].decode()}"
            wrapped = wrapped[saved.end() :]
        return self._answer(key_id, lambda: self._client(used).decrypt(_ALGORITHM, wrapped).plaintext)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _client(self, key_id: str) -> CryptographyClient:
        _parts(key_id)
        with self._lock:
            if key_id not in self._clients:
                self._clients[key_id] = CryptographyClient(key_id, self._credential, **self._options)
            return self._clients[key_id]

    def _latest_version(self, vault: str, name: str) -> str:
        with KeyClient(vault, self._credential, **self._options) as client:
            return client.get_key(name).properties.version or ""

    def _answer(self, key_id: str, call: Callable[[], T]) -> T:
        """Return the result of a call of Azure's client, with our errors instead of its own."""
        about = f"the Azure key {key_id[:200]!r}"
        try:
            return call()
        except ClientAuthenticationError as error:
            raise KeyAccessDenied(f"{about} is refused to this program: {_words(error)}") from None
        except (ServiceRequestError, ServiceResponseError) as error:
            raise KeyServiceUnavailable(f"Azure Key Vault did not answer for {about}: {_words(error)}") from None
        except HttpResponseError as error:
            if error.status_code in _REFUSALS:
                raise KeyAccessDenied(f"{about} is refused to this program: {_words(error)}") from None
            kind = KeyServiceUnavailable if error.status_code in _TEMPORARY else KeyWrapFailed
            raise kind(f"{about} cannot be used: {_words(error)}") from None
        except (AzureError, ValueError) as error:
            raise KeyWrapFailed(f"{about} cannot be used: {_words(error)}") from None


def _credential_of(conf: Mapping[str, str]) -> TokenCredential:
    tenant, client, secret = (conf.get(name) for name in ("tenant.id", "client.id", "client.secret"))
    if tenant and client and secret:
        return ClientSecretCredential(tenant, client, secret)
    return DefaultAzureCredential()


def _parts(key_id: str) -> tuple[str, str, str | None]:
    """Return the vault's address, the key's name, and its version if the id has one."""
    address = urlsplit(key_id)
    path = _PATH.fullmatch(address.path)
    if address.scheme != "https" or not address.netloc or "@" in address.netloc or path is None:
        raise malformed(key_id, "https://NAME.vault.azure.net/keys/KEY, with or without a version")
    return f"https://{address.netloc}", path[1], path[2]


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
