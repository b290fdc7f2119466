from __future__ import annotations

import asyncio
import hashlib
import hmac
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from counterfoil.registry.keys.services import KeyWrapping, RegistryLocalKms, open_kms
from counterfoil.schema.errors import InvalidKey, KeyWrapFailed
from counterfoil.schema.rest.keys import Kek

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN = b"\x1a\x10" + bytes(16)


def derived(secret: str) -> bytes:
    """HKDF (RFC 5869) with SHA-256, no salt and no info, first 16 bytes, by hand."""
    extracted = hmac.digest(bytes(32), secret.encode(), hashlib.sha256)
    return hmac.digest(extracted, b"\x01", hashlib.sha256)[:16]


def test_the_local_secret_wraps_as_in_the_clients() -> None:
    wrapped = asyncio.run(RegistryLocalKms("mysecret").wrap("id", {}, PLAIN))
    assert len(wrapped) == 12 + len(PLAIN) + 16
    assert AESGCM(derived("mysecret")).decrypt(wrapped[:12], wrapped[12:], None) == PLAIN
    theirs = bytes(12) + AESGCM(derived("mysecret")).encrypt(bytes(12), PLAIN, None)
    assert asyncio.run(RegistryLocalKms("mysecret").unwrap("id", {}, theirs)) == PLAIN


def test_a_keks_own_secret_goes_before_the_servers() -> None:
    wrapped = asyncio.run(RegistryLocalKms("mysecret").wrap("id", {"secret": "own"}, PLAIN))
    assert asyncio.run(RegistryLocalKms("own").unwrap("id", {}, wrapped)) == PLAIN


@pytest.mark.parametrize("wrapped", [b"", b"short", bytes(60)])
def test_what_another_secret_wrapped_is_refused(wrapped: bytes) -> None:
    with pytest.raises(KeyWrapFailed, match="local secret"):
        asyncio.run(RegistryLocalKms("mysecret").unwrap("id", {}, wrapped))


def test_a_missing_secret_is_named() -> None:
    with pytest.raises(KeyWrapFailed, match="LOCAL_SECRET"):
        asyncio.run(RegistryLocalKms(None).wrap("id", {}, PLAIN))


class ReversingKms:
    """A driver of another package."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.suffix = environment["SUFFIX"].encode()

    async def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> bytes:
        return plain[::-1] + key_id.encode() + props.get("p", "").encode() + self.suffix

    async def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> bytes:
        return wrapped.removesuffix(key_id.encode() + props.get("p", "").encode() + self.suffix)[::-1]

    async def close(self) -> None:
        self.suffix = b""


class ReversingEntry(EntryPoint):
    """The entry point of that package."""

    def __init__(self) -> None:
        super().__init__("aws-kms", "reversing:ReversingKms", "counterfoil.kms_drivers")

    def load(self) -> type[ReversingKms]:
        return ReversingKms


def test_a_package_can_bring_a_driver() -> None:
    kek = Kek("k", "aws-kms", "arn:aws:kms:x", {"p": "q"}, shared=True)

    async def story() -> None:
        wrapping = open_kms({"SUFFIX": "!"}, brought=[ReversingEntry()])
        wrapped = await wrapping.wrap(kek, PLAIN)
        assert await wrapping.unwrap(kek, wrapped) == PLAIN
        await wrapping.close()

    asyncio.run(story())


def test_a_kek_that_is_not_shared_is_not_used() -> None:
    with pytest.raises(InvalidKey, match="not shared"):
        asyncio.run(KeyWrapping({}).wrap(Kek("k", "local-kms", "id"), PLAIN))
