"""The public keys of an issuer: read from a JWK set (RFC 7517), and chosen for a token.

Keys that are unfit for signatures are left out: symmetric ones, short ones, ones for encryption, unknown curves.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

MAX_KEYS: Final = 256
_MIN_RSA_BITS: Final = 2048
_MAX_RSA_BITS: Final = 8192
_MAX_KID_CHARACTERS: Final = 512
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("e", "kty", "n"),
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
}
"""What a public key consists of, in the order of its thumbprint (RFC 7638)."""
_READERS: Final[Mapping[str, Callable[[dict[str, Any]], Any]]] = {
    "RSA": RSAAlgorithm.from_jwk,
    "EC": ECAlgorithm.from_jwk,
    "OKP": OKPAlgorithm.from_jwk,
}
_EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA_ALGORITHMS: Final = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})


class InvalidKeySet(Exception):
    """A document that is no JWK set."""


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """One key: the algorithms that it can verify, and what identifies it whatever its ``kid`` is."""

    kid: str | None
    algorithms: frozenset[str]
    thumbprint: bytes
    public: PublicKey


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of an issuer at one moment."""

    keys: tuple[IssuerKey, ...]
    thumbprints: frozenset[bytes]

    @classmethod
    def of(cls, keys: tuple[IssuerKey, ...]) -> KeySet:
        """Return the set of ``keys``."""
        return cls(keys, frozenset(key.thumbprint for key in keys))

    def has(self, kid: str) -> bool:
        """Return whether a key has this ``kid``."""
        return any(key.kid == kid for key in self.keys)

    def find(self, kid: str | None, algorithm: str) -> IssuerKey | None:
        """Return the one key for a token with this header, or None. Without ``kid`` only one key may fit."""
        fitting = [key for key in self.keys if algorithm in key.algorithms and kid in {None, key.kid}]
        return fitting[0] if len(fitting) == 1 else None


def read_key_set(data: bytes) -> KeySet:
    """Return the usable keys of a JWK set; raise ``InvalidKeySet`` for another document."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidKeySet("not JSON") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise InvalidKeySet("no JWK set: it has no list of keys")
    if len(entries) > MAX_KEYS:
        raise InvalidKeySet(f"{len(entries)} keys; expected at most {MAX_KEYS}")
    found = (_key(entry) for entry in entries if isinstance(entry, dict))
    return KeySet.of(tuple(key for key in found if key is not None))


def _key(entry: dict[str, Any]) -> IssuerKey | None:
    """Return a usable key, or None. Only the members of public keys are read."""
    kind = entry.get("kty")
    kid = entry.get("kid")
    if not isinstance(kind, str) or kind not in _MEMBERS or not _is_for_signatures(entry) or not _is_kid(kid):
        return None
    members = {name: entry.get(name) for name in _MEMBERS[kind]}
    if not all(isinstance(value, str) for value in members.values()):
        return None
    try:
        public = _READERS[kind](members)
    except (PyJWTError, ValueError, TypeError):
        return None
    algorithms = _algorithms_of(public)
    if "alg" in entry:
        algorithms &= {entry["alg"]} if isinstance(entry["alg"], str) else set()
    if not algorithms:
        return None
    digest = hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest()
    return IssuerKey(kid, algorithms, digest, public)


def _is_for_signatures(entry: Mapping[str, Any]) -> bool:
    uses = entry.get("key_ops", ["verify"])
    return entry.get("use", "sig") == "sig" and isinstance(uses, list) and "verify" in uses


def _is_kid(kid: Any) -> bool:
    return kid is None or (isinstance(kid, str) and len(kid) <= _MAX_KID_CHARACTERS)


def _algorithms_of(public: Any) -> frozenset[str]:
    match public:
        case RSAPublicKey() if _MIN_RSA_BITS <= public.key_size <= _MAX_RSA_BITS:
            return _RSA_ALGORITHMS
        case EllipticCurvePublicKey() if public.curve.name in _EC_ALGORITHMS:
            return frozenset({_EC_ALGORITHMS[public.curve.name]})
        case Ed25519PublicKey():
            return frozenset({"EdDSA"})
        case _:
            return frozenset()
