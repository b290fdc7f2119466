"""Wrapping and unwrapping data encryption keys through key management services.

A driver is for one type of service. It wraps and unwraps bytes: the key in Tink's form, so that clients that use Tink
read it.
"""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Protocol

from counterfoil.registry.settings import DEFAULT_KMS_TIMEOUT_S
from counterfoil.schema.errors import InvalidKey, KeyAccessDenied, KeyWrapFailed
from counterfoil.schema.keys.material import new_material
from counterfoil.schema.rest.keys import Algorithm

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from counterfoil.schema.rest.keys import Kek


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
