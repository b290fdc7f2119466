"""Key management services: their protocol, how they are found, and two that need no package: a local secret, Vault."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from threading import Lock
from typing import Final, Protocol
from urllib.parse import urlsplit

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed, MissingExtra, needed_by
from counterfoil.schema.keys import (
    DamagedCiphertext,
    VaultExchange,
    VaultReply,
    VaultRequest,
    VaultScript,
    VaultSettings,
    local_cipher,
)
from counterfoil.schema.rest.keys import ALTERNATE_IDS, Kek
from counterfoil.sdk.client.connection import HttpTransport
from counterfoil.sdk.client.settings import RegistrySettings, TlsSettings
from counterfoil.sdk.errors import EncryptionError, InvalidSettings, KeyRefused, KeyUnavailable
from counterfoil.sdk.transport import NoReply, Request

# The protocol of a key management service.

CONNECT_TIMEOUT_S: Final = 2.0
READ_TIMEOUT_S: Final = 10.0


class KeyService(Protocol):
    """A key management service, used by several threads.

    Raises ``KeyAccessDenied`` if the service refuses the key to the program, ``KeyServiceUnavailable`` if it does not
    answer, else ``KeyWrapFailed``.
    """

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted with the key ``key_id``."""

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Return the ``plain`` of :meth:`wrap`."""

    def close(self) -> None:
        """Close the connections."""


class KeyServiceMaker(Protocol):
    """The object of an entry point of the group ``counterfoil.key_services``, usually a class."""

    def __call__(self, conf: Mapping[str, str], /) -> KeyService:
        """Return the service for the settings of the program and the properties of the KEK, which come first."""


def malformed(key_id: str, expected: str) -> KeyWrapFailed:
    """Return the error for an id that is not one of a service."""
    return KeyWrapFailed(f"kmsKeyId {key_id[:200]!r} is not the id of a key; expected {expected}")


# The key management services of a program: which is used for a key encryption key, and what its errors mean.

SERVICES_GROUP: Final = "counterfoil.key_services"
"""The entry points of key management services: the name is the kmsType, the object makes the service of settings."""


class KeyServices:
    """The services that a program uses, each opened when it is first needed, and again in a forked process.

    ``conf`` are the program's settings for them. ``makers`` are used before those that are installed, by type.
    """

    def __init__(self, conf: Mapping[str, str], makers: Mapping[str, KeyServiceMaker] | None = None) -> None:
        self._conf = conf
        self._makers = dict(makers or {})
        self._opened: dict[tuple[object, ...], KeyService] = {}
        self._lock = Lock()

    def wrap(self, kek: Kek, plain: bytes) -> bytes:
        """Return ``plain`` wrapped by ``kek``; raise ``KeyRefused`` or ``KeyUnavailable``."""
        return self._with_each_id(kek, lambda service, key_id: service.wrap(key_id, plain))

    def unwrap(self, kek: Kek, wrapped: bytes) -> bytes:
        """Return the plain form of a key that ``kek`` wrapped; raise ``KeyRefused`` or ``KeyUnavailable``."""
        return self._with_each_id(kek, lambda service, key_id: service.unwrap(key_id, wrapped))

    def close(self) -> None:
        """Close the services."""
        with self._lock:
            opened, self._opened = self._opened, {}
        for (process, *_), service in opened.items():
            if process == os.getpid():
                service.close()

    def _with_each_id(self, kek: Kek, use: Callable[[KeyService, str], bytes]) -> bytes:
        """Return the result for the first id that can be used: the key's own, then those of alternate keys."""
        failures: list[Exception] = []
        try:
            service = self._service(kek)
            for key_id in self._ids(kek):
                try:
                    return use(service, key_id)
                except (KeyAccessDenied, KeyWrapFailed) as error:
                    failures.append(error)
        except (KeyAccessDenied, KeyWrapFailed, MissingExtra) as error:
            failures.append(error)
        except Exception as error:
            problem = f"its service failed with {type(error).__name__}"  # whose text may hold settings
            raise KeyRefused(f"{_named(kek)} cannot be used: {problem}", kek=kek.name) from error
        raise _failure(kek, failures) from None

    def _ids(self, kek: Kek) -> tuple[str, ...]:
        if ALTERNATE_IDS in kek.kms_props:
            return kek.kms_key_ids
        others = self._conf.get(ALTERNATE_IDS, "").split(",")
        return (kek.kms_key_id, *(each.strip() for each in others if each.strip()))

    def _service(self, kek: Kek) -> KeyService:
        conf = {**self._conf, **kek.kms_props}
        key = (os.getpid(), kek.kms_type, *sorted(conf.items()))
        with self._lock:
            if key not in self._opened:
                self._opened[key] = self._maker(kek.kms_type)(conf)
            return self._opened[key]

    def _maker(self, kms_type: str) -> KeyServiceMaker:
        if kms_type in self._makers:
            return self._makers[kms_type]
        entry = _installed().get(kms_type)
        if entry is None:
            there = ", ".join(sorted({*_installed(), *self._makers}))
            raise KeyWrapFailed(
                f"This program has no service for the kmsType {kms_type[:80]!r}; it has: {there}. Install a package "
                f"that brings one (an entry point of this name in the group {SERVICES_GROUP})"
            )
        with needed_by(f"The kmsType {kms_type}", extra=next(iter(entry.extras), None)):
            maker: KeyServiceMaker = entry.load()
        return maker


def _failure(kek: Kek, failures: list[Exception]) -> EncryptionError:
    is_temporary = any(isinstance(each, KeyServiceUnavailable) for each in failures)
    kind = KeyUnavailable if is_temporary else KeyRefused
    reasons = "; ".join(str(each) for each in failures)
    return kind(f"{_named(kek)} cannot be used: {reasons}", kek=kek.name)


def _named(kek: Kek) -> str:
    return f"The key encryption key {kek.name!r} ({kek.kms_type})"


@cache  # reads the metadata of every installed package
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=SERVICES_GROUP)}


# ``local-kms``: one secret for all keys, for trials and tests.

_SECRET: Final = "secret"  # noqa: S105 - the name of a setting, no secret
_VARIABLE: Final = "LOCAL_SECRET"


class LocalKeyService:
    """Wraps with the setting ``secret``, or with the environment variable ``LOCAL_SECRET``."""

    def __init__(self, conf: Mapping[str, str]) -> None:
        secret = conf.get(_SECRET) or os.environ.get(_VARIABLE)
        if not secret:
            raise KeyAccessDenied(
                f"There is no secret for local keys; give the setting {_SECRET!r} in the conf of the rules, or the "
                f"environment variable {_VARIABLE}"
            )
        self._cipher = local_cipher(secret)

    def wrap(self, key_id: str, plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        del key_id
        return self._cipher.encrypt(plain)

    def unwrap(self, key_id: str, wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        try:
            return self._cipher.decrypt(wrapped)
        except DamagedCiphertext:
            raise KeyWrapFailed(
                f"The key cannot be unwrapped with the local secret for {key_id[:200]!r}: another one wrapped it"
            ) from None

    def close(self) -> None:
        """Do nothing: there are no connections."""


# ``hcvault``: the transit engine of HashiCorp Vault, or of OpenBao, over HTTP.

_EXPECTED: Final = "https://vault.example:8200/transit/keys/NAME"


class VaultKeyService:
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
