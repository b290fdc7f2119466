"""An issuer of JWTs for tests: keys, the JWK set that it publishes, and tokens, also such as no honest issuer makes."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from counterfoil.registry.access.identities.issuers import FetchedKeys, FetchFailed, read_key_set

NOW = 1_800_000_000
ISSUER = "https://login.example/realms/main"
AUDIENCE = "schema-registry"


@cache
def private_key(kind: str) -> Any:
    """Return one key of a kind: ``RS256``, ``ES256``, ``EdDSA``; more of the same kind as ``ES256/2``."""
    algorithm = kind.partition("/")[0]
    if algorithm.startswith(("RS", "PS")):
        return rsa.generate_private_key(65537, 2048)
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    curves: dict[str, type[ec.EllipticCurve]] = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
    return ec.generate_private_key(curves[algorithm]())


def public_jwk(kind: str, kid: str | None, **members: Any) -> dict[str, Any]:
    """Return the public key of a kind as a JWK."""
    algorithm = get_default_algorithms()[kind.partition("/")[0]]
    jwk: dict[str, Any] = algorithm.to_jwk(private_key(kind).public_key(), as_dict=True)
    jwk.pop("key_ops", None)
    if kid is not None:
        jwk["kid"] = kid
    return {**jwk, **members}


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a token that is accepted, with changes; None takes a claim away."""
    usual = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": NOW - 10, "exp": NOW + 600}
    return {name: value for name, value in {**usual, **changed}.items() if value is not None}


def token(given: dict[str, Any] | None = None, *, kind: str = "ES256", kid: str | None = "k1", **header: Any) -> str:
    """Return a token that is signed with the key of ``kind``."""
    return signed(json.dumps(claims() if given is None else given), kind=kind, kid=kid, **header)


def signed(payload: str | bytes, *, kind: str = "ES256", kid: str | None = "k1", **header: Any) -> str:
    """Return ``payload``, whatever it is, with a valid signature. ``alg`` of ``header`` replaces the true one."""
    algorithm = kind.partition("/")[0]
    fields = {"alg": algorithm, "typ": "JWT", **({} if kid is None else {"kid": kid}), **header}
    return signed_text(json.dumps({name: value for name, value in fields.items() if value is not None}), payload, kind)


def signed_text(header: str, payload: str | bytes, kind: str = "ES256") -> str:
    """Return header and payload as they are, with a valid signature."""
    body = payload.encode() if isinstance(payload, str) else payload
    text = f"{encoded(header.encode())}.{encoded(body)}"
    algorithm = get_default_algorithms()[kind.partition("/")[0]]
    return f"{text}.{encoded(algorithm.sign(text.encode(), private_key(kind)))}"


def encoded(data: bytes) -> str:
    """Return base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def hmac_token(secret: bytes, *, kid: str = "k1") -> str:
    """Return a token that is signed symmetrically, with the issuer's public key as the secret."""
    header = encoded(json.dumps({"alg": "HS256", "typ": "JWT", "kid": kid}).encode())
    text = f"{header}.{encoded(json.dumps(claims()).encode())}"
    return f"{text}.{encoded(get_default_algorithms()['HS256'].sign(text.encode(), secret))}"


class Published:
    """An origin of keys in memory: it counts the fetches, and can fail."""

    def __init__(self, *jwks: dict[str, Any], refresh_s: float = 240.0) -> None:
        self.jwks = list(jwks)
        self.refresh_s = refresh_s
        self.fetches = 0
        self.fails = False

    async def fetch(self) -> FetchedKeys:
        """Return the keys."""
        self.fetches += 1
        if self.fails:
            raise FetchFailed("the issuer is down")
        return FetchedKeys(read_key_set(json.dumps({"keys": self.jwks}).encode()), self.refresh_s)


assert jwt.__version__ >= "2.15"
