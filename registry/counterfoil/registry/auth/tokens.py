"""API tokens: their form, how they are made, how one is recognised.

``cfr_`` + 12 characters of public id + ``_`` + 43 characters of secret + 6 of checksum, all base62. The checksum is the
CRC-32 of everything before it, by which scanners for leaked secrets distinguish a token from a similar text. The secret
has 256 random bits, so that a fast hash of it is enough to store.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import time
import zlib
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.auth.passwords.hashes import TOKEN_PREFIX
from counterfoil.registry.domain.access.identity import Identity, Reason, Refusal
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.domain.access.rules import Scope

PREFIX: Final = TOKEN_PREFIX.decode()
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_LENGTH: Final = 12
_SECRET_LENGTH: Final = 43
_CHECKSUM_LENGTH: Final = 6
_FORM: Final = re.compile(
    rf"{PREFIX}([0-9A-Za-z]{{{_ID_LENGTH}}})_([0-9A-Za-z]{{{_SECRET_LENGTH}}})([0-9A-Za-z]{{{_CHECKSUM_LENGTH}}})"
)
_STORE_RETRY_S: Final = 1


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token as its owner has it: the public id, and the secret part, which is shown once."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """What the owner sends."""
        body = f"{PREFIX}{self.id}_{self.secret}"
        return body + _checksum(body)

    @property
    def digest(self) -> bytes:
        """What is stored of the secret: its SHA-256."""
        return hashlib.sha256(self.secret.encode()).digest()

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"ApiToken(id={self.id!r})"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A token as it is stored. ``owner`` is a principal; ``is_active`` is false if it or its owner was disabled."""

    id: str
    digest: bytes
    owner: str
    expires: float
    scopes: tuple[Scope, ...] | None = None
    is_active: bool = True


class TokenStore(Protocol):
    """Where tokens are stored."""

    @property
    def state(self) -> object:
        """What is stored now. While it is the same object, what was found about a token holds until it expires."""
        ...

    def note_use(self, token_id: str, /) -> None:
        """Record that a token was used, without waiting."""
        ...

    async def find_token(self, token_id: str, /) -> StoredToken | None:
        """Return a token by its id, as it is now; raise ``StoreUnavailable`` if that is unknown."""
        ...


def generate_token() -> ApiToken:
    """Return a new token."""
    return ApiToken(_random(_ID_LENGTH), _random(_SECRET_LENGTH))


def parse_token(text: str) -> ApiToken | None:
    """Return the token that ``text`` is, or None if its form or its checksum is wrong.

    >>> parse_token(generate_token().text) is not None
    True
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    token = ApiToken(found[1], found[2])
    return token if token.text == text else None


async def verify_token(
    token: ApiToken, store: TokenStore, *, clock: Callable[[], float] = time.time
) -> Identity | Refusal:
    """Return the owner of a token, without groups, or why it is not accepted."""
    try:
        stored = await store.find_token(token.id)
    except (StoreUnavailable, StoreTimeout):
        return Refusal(Reason.UNAVAILABLE, _STORE_RETRY_S)
    if stored is None or not compare_digest(stored.digest, token.digest) or not stored.is_active:
        return Refusal(Reason.WRONG)
    if clock() >= stored.expires:
        return Refusal(Reason.EXPIRED)
    return Identity(stored.owner, method="token", expires=stored.expires, token_id=stored.id, scopes=stored.scopes)


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), ""
    for _ in range(_CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
