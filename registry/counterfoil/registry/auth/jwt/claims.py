"""The claims of a verified JWT: whether it is for us and now, and whom it names."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.auth.jwt.reading import InvalidToken
from counterfoil.registry.domain.access.identity import Identity
from counterfoil.registry.domain.access.names import GROUP, USER, is_name, is_user_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.registry.auth.jwt.issuers import Issuer

_CERTIFICATE: Final = "x5t#S256"
_MAX_GROUPS: Final = 1000


class ExpiredToken(InvalidToken):
    """A JWT that was accepted until it expired."""


def check_claims(claims: Mapping[str, Any], issuer: Issuer, *, now: float, certificate: bytes | None) -> None:
    """Raise ``InvalidToken`` unless the token is for this service, at this time, and for this connection."""
    _check_audience(claims.get("aud"), issuer)
    for name, expected in issuer.required_claims.items():
        if claims.get(name) != expected or not isinstance(claims[name], str):
            raise InvalidToken(f"the claim {name} has another value than the issuer's required_claims")
    if "cnf" in claims:
        _check_confirmation(claims["cnf"], certificate)
    _check_times(claims, issuer, int(now))


def identity_of(claims: Mapping[str, Any], issuer: Issuer) -> Identity:
    """Return who a verified token names."""
    name = claims.get(issuer.principal_claim)
    if not isinstance(name, str) or not is_name(name) or not is_user_name(issuer.prefix + name):
        raise InvalidToken(f"the claim {issuer.principal_claim} is no name of a user")
    groups = {group for path in issuer.groups_claims for group in _texts(_at_path(claims, path))}
    if len(groups) > _MAX_GROUPS:
        raise InvalidToken(f"more than {_MAX_GROUPS} groups")
    prefixed = (issuer.prefix + group for group in groups if is_name(group))
    act = claims.get("act")
    actor = act.get("sub") if isinstance(act, dict) else None
    return Identity(
        principal=USER + issuer.prefix + name,
        groups=frozenset(GROUP + group for group in prefixed if is_name(group)),
        method="jwt",
        issuer=issuer.name,
        expires=float(claims["exp"]),
        act=actor if isinstance(actor, str) and is_name(actor) else None,
    )


def _check_audience(audience: Any, issuer: Issuer) -> None:
    named = [audience] if isinstance(audience, str) else audience
    if not isinstance(named, list) or not all(isinstance(each, str) for each in named):
        raise InvalidToken("aud is neither a text nor a list of texts")
    if not set(named) & set(issuer.audience):
        raise InvalidToken("aud names other services")


def _check_times(claims: Mapping[str, Any], issuer: Issuer, now: int) -> None:
    """Raise unless the token is valid now. All times are compared as Python's exact numbers, however large they are."""
    expires = _time(claims, "exp")
    if expires is None:
        raise InvalidToken("no exp")
    for name in ("nbf", "iat"):
        begins = _time(claims, name)
        if begins is not None and begins > now + issuer.leeway_s:
            raise InvalidToken(f"{name} is in the future")
    if expires > now + issuer.max_lifetime_s + issuer.leeway_s:
        raise InvalidToken("exp is further away than max_lifetime_s")
    if expires <= now - issuer.leeway_s:
        raise ExpiredToken("expired")


def _time(claims: Mapping[str, Any], name: str) -> int | float | None:
    value = claims.get(name)
    if value is None and name not in claims:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise InvalidToken(f"{name} is no time")
    return value


def _check_confirmation(confirmation: Any, certificate: bytes | None) -> None:
    if not isinstance(confirmation, dict) or set(confirmation) != {_CERTIFICATE}:
        raise InvalidToken("cnf binds the token to something else than a client certificate")
    if certificate is None or confirmation[_CERTIFICATE] != certificate_thumbprint(certificate):
        raise InvalidToken("cnf binds the token to another client certificate")


def certificate_thumbprint(certificate: bytes) -> str:
    """Return the ``x5t#S256`` of a certificate in DER form (RFC 8705)."""
    return urlsafe_b64encode(hashlib.sha256(certificate).digest()).rstrip(b"=").decode()


def _at_path(claims: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as ``realm_access.roles``; names with dots, such as addresses, come first."""
    if path in claims:
        return claims[path]
    name, dot, rest = path.partition(".")
    inner = claims.get(name)
    return _at_path(inner, rest) if dot and isinstance(inner, dict) else None


def _texts(value: Any) -> Iterator[str]:
    """Yield the names of a claim: a text is split at spaces, other values than texts and lists of texts have none."""
    if isinstance(value, str):
        yield from value.split(" ")
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        yield from value
