"""The form of a JWT: three parts of base64url, the first two JSON objects. Nothing here is verified.

Sources: RFC 7515 (JWS), RFC 7519 (JWT), RFC 8725 (best current practices).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CHARACTERS: Final = 16 * 1024
_PARTS: Final = 3
_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]*")
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/jwt", "application/at+jwt"})
_ACCESS_TOKEN_TYPES: Final = frozenset({"at+jwt", "application/at+jwt"})


class InvalidToken(Exception):
    """A JWT that is not accepted. The reason is for logs: it quotes nothing of the token."""


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """A JWT as it was sent, whose signature is not verified yet."""

    text: str
    header: Mapping[str, Any]
    claims: Mapping[str, Any]

    @property
    def algorithm(self) -> Any:
        """The header's ``alg``, whatever it is."""
        return self.header.get("alg")

    @property
    def is_access_token(self) -> bool:
        """Whether its type says that it is an access token (RFC 9068)."""
        return str(self.header.get("typ")).lower() in _ACCESS_TOKEN_TYPES


def read_token(text: str) -> UnverifiedToken:
    """Return the parts of a JWT; raise ``InvalidToken`` for any other text, and for headers that are never accepted."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidToken("longer than 16 KiB")
    parts = text.split(".")
    if len(parts) != _PARTS:
        raise InvalidToken(f"{len(parts)} parts instead of 3")
    header, claims = (_json_object(_decoded(part)) for part in parts[:2])
    _decoded(parts[2])
    if "crit" in header or "b64" in header:
        raise InvalidToken("extensions that must be understood")
    kind = header.get("typ")
    if kind is not None and (not isinstance(kind, str) or kind.lower() not in _TYPES):
        raise InvalidToken("another type than JWT or at+jwt")
    return UnverifiedToken(text, header, claims)


def _decoded(part: str) -> bytes:
    """Return the bytes of one part. Each has only one text: without padding, and without bits that mean nothing."""
    if not _ALPHABET.fullmatch(part):
        raise InvalidToken("not base64url")
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        raise InvalidToken("not base64url") from None
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise InvalidToken("not base64url")
    return data


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode(), object_pairs_hook=_distinct, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidToken("not JSON") from None
    if not isinstance(value, dict):
        raise InvalidToken("not a JSON object")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(text)
