"""Texts like the ciphertexts that a rule ENCRYPT writes: base64 of bytes without any order."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEAST_BYTES: Final = 16
"""How many bytes a ciphertext has more than its text with the cipher that adds the fewest (AES256_SIV)."""

_EACH_LENGTH_TO: Final = 180
_FURTHER_LENGTHS: Final = (250, 400, 700, 1_500, 3_000, 10_000, 100_000)


def accepts_ciphertexts(may_be: Callable[[str], bool] | None, least_bytes: int = LEAST_BYTES) -> bool:
    """Return False if ``may_be`` returns False for whatever a text is encrypted to.

    ``least_bytes`` is the size of the ciphertext of an empty text.
    """
    return may_be is None or any(may_be(each) for each in _ciphertexts(least_bytes))


def _ciphertexts(least_bytes: int) -> Iterator[str]:
    """Yield texts as those are that a rule writes, of each length for short texts and of some for long ones."""
    lengths = (*range(_EACH_LENGTH_TO), *_FURTHER_LENGTHS)
    for length in lengths:
        data = hashlib.shake_128(length.to_bytes(4, "big")).digest(least_bytes + length)
        yield b64encode(data).decode("ascii")
