"""The material of data encryption keys: Tink's Protobuf messages, so that clients that use Tink read it.

Source: Tink's ``aes_gcm.proto`` and ``aes_siv.proto``.
"""

from __future__ import annotations

from secrets import token_bytes
from typing import Final

from counterfoil.schema.rest.keys import Algorithm

_FIELD_AND_SIZE: Final = {
    Algorithm.AES128_GCM: (3, 16),
    Algorithm.AES256_GCM: (3, 32),
    Algorithm.AES256_SIV: (2, 64),
}
_VERSION_TAG: Final = b"\x08"
_LENGTH_DELIMITED: Final = 2


def new_material(algorithm: Algorithm) -> bytes:
    """Return a random key for ``algorithm``, as Tink's Protobuf message."""
    return _head(algorithm) + token_bytes(_FIELD_AND_SIZE[algorithm][1])


def key_of(material: bytes, algorithm: Algorithm) -> bytes:
    """Return the bytes of the key in ``material``; raise ``ValueError`` unless it is one for ``algorithm``.

    The message has a version as well, which is 0, and which is left out in Protobuf's canonical form.
    """
    head = _head(algorithm)
    written = material.removeprefix(_VERSION_TAG + b"\x00").removesuffix(_VERSION_TAG + b"\x00")
    for each in (material, written):
        if each.startswith(head) and len(each) == len(head) + _FIELD_AND_SIZE[algorithm][1]:
            return each[len(head) :]
    raise ValueError(f"it is no key for {algorithm}")


def _head(algorithm: Algorithm) -> bytes:
    number, size_bytes = _FIELD_AND_SIZE[algorithm]
    return bytes([number << 3 | _LENGTH_DELIMITED, size_bytes])
