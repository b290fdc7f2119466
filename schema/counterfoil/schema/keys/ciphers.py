"""The ciphers of data encryption keys, and the cipher of the local substitute for a key management service.

AES-GCM (NIST SP 800-38D) writes a random nonce of 12 bytes, the ciphertext and the tag of 16 bytes; AES-SIV (RFC 5297)
writes the synthetic nonce of 16 bytes and the ciphertext, so that equal values have equal ciphertexts. Both are Tink's
raw form, with empty associated data.
"""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.schema.extras import needed_by
from counterfoil.schema.keys.material import key_of
from counterfoil.schema.rest.keys import Algorithm

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

_NONCE_BYTES: Final = 12
_LOCAL_KEY_BYTES: Final = 16
_random_bytes: Final = SystemRandom().randbytes  # never buffered: two processes must not draw the same nonce


class DamagedCiphertext(ValueError):
    """Bytes that are not a ciphertext of this key: another key wrote them, or they were changed."""


class Cipher(NamedTuple):
    """The two functions of a key; ``decrypt`` raises :class:`DamagedCiphertext`. Used by all threads."""

    encrypt: Callable[[bytes], bytes]
    decrypt: Callable[[bytes], bytes]


def cipher_of(material: bytes, algorithm: Algorithm) -> Cipher:
    """Return the cipher of a key in Tink's form; raise ``ValueError`` unless it is one for ``algorithm``."""
    key = key_of(material, algorithm)
    with needed_by("Encryption", extra="crypto"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

    return _siv(AESSIV(key)) if algorithm is Algorithm.AES256_SIV else _gcm(AESGCM(key))


def local_cipher(secret: str) -> Cipher:
    """Return the cipher that wraps keys with a secret: AES-128-GCM, with a key derived by HKDF (RFC 5869) with SHA-256.

    Source: the local KMS driver of Confluent's Python client (Apache 2.0), which reads keys wrapped here, and the
    reverse.
    """
    with needed_by("Encryption", extra="crypto"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return _gcm(AESGCM(HKDF(SHA256(), _LOCAL_KEY_BYTES, salt=None, info=b"").derive(secret.encode())))


def _gcm(aead: AESGCM) -> Cipher:
    from cryptography.exceptions import InvalidTag

    def encrypt(plain: bytes) -> bytes:
        nonce = _random_bytes(_NONCE_BYTES)
        return nonce + aead.encrypt(nonce, plain, None)

    def decrypt(data: bytes) -> bytes:
        try:
            return aead.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            raise DamagedCiphertext from None

    return Cipher(encrypt, decrypt)


def _siv(aead: AESSIV) -> Cipher:
    from cryptography.exceptions import InvalidTag

    associated = [b""]

    def encrypt(plain: bytes) -> bytes:
        return aead.encrypt(plain, associated)

    def decrypt(data: bytes) -> bytes:
        try:
            return aead.decrypt(data, associated)
        except (InvalidTag, ValueError):
            raise DamagedCiphertext from None

    return Cipher(encrypt, decrypt)
