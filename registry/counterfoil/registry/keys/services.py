"""Key management services: their drivers, and wrapping and unwrapping of keys through them."""

from __future__ import annotations

import asyncio
import binascii
import ssl
from base64 import b64decode, b64encode
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.settings import DEFAULT_KMS_TIMEOUT_S
from counterfoil.schema.errors import InvalidKey, KeyAccessDenied, KeyWrapFailed
from counterfoil.schema.keys import (
    DamagedCiphertext,
    VaultExchange,
    VaultReply,
    VaultSettings,
    local_cipher,
    new_material,
)
from counterfoil.schema.rest.keys import Algorithm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from importlib.metadata import EntryPoint

    import httpx

    from counterfoil.schema.keys import Cipher, VaultRequest, VaultScript
    from counterfoil.schema.rest.keys import Kek


# Wrapping and unwrapping data encryption keys through key management services.
#
# A driver is for one type of service. It wraps and unwraps bytes: the key in Tink's form, so that clients that use Tink
# read it.


class KmsDriver(Protocol):
    """A key management service. It must not block the event loop.

    Raises ``KeyAccessDenied`` if the service refuses the key to the registry, else ``KeyWrapFailed``.
    """

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted with the key ``key_id``; ``props`` are the key encryption key's own settings."""

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Return the ``plain`` of :meth:`wrap`."""

    async def close(self) -> None:
        """Close the connections."""


class KeyWrapping:
    """The drivers by the type of service; every call is limited to ``timeout_s``."""

    def __init__(self, drivers: Mapping[str, KmsDriver], *, timeout_s: float = DEFAULT_KMS_TIMEOUT_S) -> None:
        self._drivers = drivers
        self._timeout_s = timeout_s

    async def wrap(self, kek: Kek, plain: bytes) -> str:
        """Return the base64 of ``plain`` wrapped by ``kek``; raise ``InvalidKey`` if the registry may not use it."""
        driver = self._driver(kek)
        return b64encode(
            await self._with_each_id(kek, lambda key_id: driver.wrap(key_id, kek.kms_props, plain))
        ).decode()

    async def unwrap(self, kek: Kek, wrapped: str) -> bytes:
        """Unwrap the base64 text ``wrapped``."""
        driver = self._driver(kek)
        try:
            material = b64decode(wrapped, validate=True)
        except binascii.Error:
            raise KeyWrapFailed(
                f"What is kept as a key of {kek.name!r} is no base64, so it cannot be unwrapped"
            ) from None
        return await self._with_each_id(kek, lambda key_id: driver.unwrap(key_id, kek.kms_props, material))

    async def check(self, kek: Kek) -> None:
        """Check that the registry can wrap with ``kek``; raise the errors of :meth:`wrap` if not."""
        await self.wrap(kek, new_material(Algorithm.AES128_GCM))

    async def close(self) -> None:
        """Close the drivers' connections."""
        for driver in self._drivers.values():
            await driver.close()

    def _driver(self, kek: Kek) -> KmsDriver:
        if not kek.shared:
            raise InvalidKey(f"Key {kek.name!r} is not shared, so the registry may not use it; its users wrap keys")
        driver = self._drivers.get(kek.kms_type)
        if driver is None:
            there = ", ".join(sorted(self._drivers)) or "none"
            raise KeyWrapFailed(
                f"This registry has no driver for kmsType {kek.kms_type[:80]!r} of key {kek.name!r}; it has: {there}. "
                f"Install a package that brings one (entry point {kek.kms_type[:80]!r} in the group "
                "counterfoil.kms_drivers) where the registry runs, or register the key with shared=false, so that its "
                "users wrap keys themselves"
            )
        return driver

    async def _with_each_id(self, kek: Kek, use: Callable[[str], Awaitable[bytes]]) -> bytes:
        """Return the result of the first usable id of the key; raise the last one's error if there is none."""
        *others, last = kek.kms_key_ids
        try:
            async with asyncio.timeout(self._timeout_s):
                for key_id in others:
                    try:
                        return await use(key_id)
                    except (KeyWrapFailed, KeyAccessDenied):
                        continue
                return await use(last)
        except TimeoutError:
            raise KeyWrapFailed(
                f"The {kek.kms_type} of key {kek.name!r} did not answer within {self._timeout_s:g} s; try again later"
            ) from None


# A substitute for a key management service: one secret for all keys, for trials and tests.

LOCAL_SECRET: Final = "LOCAL_SECRET"  # noqa: S105 - the name of a variable, no secret
"""The environment variable with the secret, as in Confluent's clients."""

_SECRET_PROPERTY: Final = "secret"  # noqa: S105 - the name of a property, no secret


class RegistryLocalKms:
    """Wraps with ``secret``, or with the property ``secret`` of the key encryption key."""

    def __init__(self, secret: str | None) -> None:
        self._secret = secret

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted."""
        return self._cipher(key_id, props).encrypt(plain)

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key; raise ``KeyWrapFailed`` if it was wrapped with another secret."""
        try:
            return self._cipher(key_id, props).decrypt(wrapped)
        except DamagedCiphertext:
            raise KeyWrapFailed(
                f"A key cannot be unwrapped with the local secret for {key_id[:200]!r}: another one wrapped it"
            ) from None

    def _cipher(self, key_id: str, props: Mapping[str, str]) -> Cipher:
        secret = props.get(_SECRET_PROPERTY) or self._secret
        if not secret:
            raise KeyWrapFailed(
                f"There is no secret for the local key {key_id[:200]!r}; start the registry with the environment "
                f"variable {LOCAL_SECRET}, the same as its clients"
            )
        return local_cipher(secret)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


# HashiCorp Vault's transit engine as a key management service of the registry.


class RegistryVaultKms:
    """Wraps with the transit engine of one Vault."""

    def __init__(self, settings: VaultSettings) -> None:
        self._settings = settings
        self._exchange = VaultExchange(settings, program="the registry")
        self._client: httpx.AsyncClient | None = None

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        """Return ``plain`` encrypted, in Vault's text form."""
        return await self._run(self._exchange.wrap(key_id, props, plain))

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        """Decrypt a wrapped key."""
        return await self._run(self._exchange.unwrap(key_id, props, wrapped))

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _run(self, script: VaultScript) -> bytes:
        try:
            request = next(script)
            while True:
                request = script.send(await self._post(request))
        except StopIteration as stop:
            result: bytes = stop.value
            return result

    async def _post(self, request: VaultRequest) -> VaultReply:
        import httpx

        headers = {"Content-Type": "application/json", **request.headers}
        try:
            answer = await self._connected().post(request.path, content=request.body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise KeyWrapFailed(
                f"Vault at {self._settings.address} cannot be reached: {str(error) or type(error).__name__}"
            ) from None
        return VaultReply(answer.status_code, answer.content)

    def _connected(self) -> httpx.AsyncClient:
        """Return the client, which uses no redirects and no proxy, so that the token is sent to no other address."""
        if self._client is None:
            import httpx

            try:
                trusted = ssl.create_default_context(cafile=self._settings.ca_file)
            except OSError as error:
                raise KeyWrapFailed(f"VAULT_CACERT {self._settings.ca_file!r} cannot be read: {error}") from None
            address = self._settings.address or ""
            self._client = httpx.AsyncClient(base_url=address, verify=trusted, trust_env=False, timeout=None)  # noqa: S113 - the caller bounds all of it
        return self._client


# The drivers of a registry: its own, and those of other packages.

DRIVERS_GROUP: Final = "counterfoil.kms_drivers"
"""The entry points of drivers: the name is the kmsType, the object makes a driver of the environment."""


def open_kms(
    environment: Mapping[str, str],
    *,
    timeout_s: float = DEFAULT_KMS_TIMEOUT_S,
    brought: Iterable[EntryPoint] | None = None,
) -> KeyWrapping:
    """Return the key management services for which ``environment`` has settings.

    ``brought`` are the entry points of other packages' drivers, by default all that are installed.
    """
    drivers: dict[str, KmsDriver] = {
        "local-kms": RegistryLocalKms(environment.get(LOCAL_SECRET)),
        "hcvault": RegistryVaultKms(VaultSettings.of_environment(environment)),
    }
    for entry in _installed_drivers() if brought is None else brought:
        drivers[entry.name] = entry.load()(environment)
    return KeyWrapping(drivers, timeout_s=timeout_s)


@cache  # reads the metadata of every installed package, which takes longer than all else in the start of a registry
def _installed_drivers() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=DRIVERS_GROUP))
