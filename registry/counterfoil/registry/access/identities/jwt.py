"""JWTs: their form, their claims, and whether one is accepted."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import logging
import re
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import jwt

from counterfoil.registry.access.identities.issuers import IssuerKeys, KeysUnavailable, origin_of
from counterfoil.registry.access.identity import CallerIdentity, UnprovenCaller, UnprovenReason
from counterfoil.registry.access.rules import GROUP, USER, is_name, is_user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from counterfoil.registry.access.file.values import Issuer
    from counterfoil.registry.access.identities.issuers import IssuerKey, KeySet


# The form of a JWT: three parts of base64url, the first two JSON objects. Nothing here is verified.
#
# Sources: RFC 7515 (JWS), RFC 7519 (JWT), RFC 8725 (best current practices).

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


# The claims of a verified JWT: whether it is for us and now, and whom it names.

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


def identity_of(claims: Mapping[str, Any], issuer: Issuer) -> CallerIdentity:
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
    return CallerIdentity(
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


# Whether a JWT is accepted, in the order: form, header, issuer, key, signature, claims, binding.
#
# ``iss`` is read before the signature is verified, but only to choose among the configured issuers. None of ``jwk``,
# ``jku``, ``x5u`` and ``x5c`` of a header is used, and ``kid`` is only compared.

_LOGGER: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A JWT that was accepted: who it names, and the key without which it would not be.

    ``key_set`` is the set of the issuer that had the key.
    """

    identity: CallerIdentity
    keys: IssuerKeys
    key_set: KeySet | None
    thumbprint: bytes
    is_bound: bool
    """Whether it is valid only with the client certificate that it came with."""

    @property
    def has_key(self) -> bool:
        """Whether the key that verified it is still one of the issuer's."""
        return self.keys.latest is self.key_set or self.keys.holds(self.thumbprint)


class JwtVerifier:
    """The issuers of one access file. Keys of issuers that ``before`` has as well are taken from it."""

    def __init__(
        self,
        issuers: Iterable[Issuer],
        *,
        before: JwtVerifier | None = None,
        open_keys: Callable[[Issuer], IssuerKeys] = lambda issuer: IssuerKeys(issuer, origin_of(issuer)),
        clock: Callable[[], float] = time.time,
    ) -> None:
        known = {} if before is None else before.keys_by_issuer
        self._clock = clock
        self.keys_by_issuer: dict[str, IssuerKeys] = {}
        for issuer in issuers:
            kept = known.get(issuer.name)
            is_same = kept is not None and kept.issuer == issuer
            self.keys_by_issuer[issuer.name] = kept if kept is not None and is_same else open_keys(issuer)

    def start(self) -> None:
        """Begin to fetch keys; nothing waits for them."""
        for keys in self.keys_by_issuer.values():
            keys.start()

    async def stop(self, *, after: JwtVerifier | None = None) -> None:
        """End the fetching of keys, except of the keys that ``after`` uses."""
        used = set() if after is None else set(map(id, after.keys_by_issuer.values()))
        for keys in self.keys_by_issuer.values():
            if id(keys) not in used:
                await keys.stop()

    async def verify(self, text: str, certificate: bytes | None = None) -> VerifiedToken | UnprovenCaller:
        """Return who ``text`` names, or why it is not accepted. ``certificate`` is the client's, in DER form."""
        try:
            return await self._verified(text, certificate)
        except ExpiredToken:
            return UnprovenCaller(UnprovenReason.EXPIRED)
        except InvalidToken as problem:
            _LOGGER.debug("a JWT was not accepted: %s", problem)
            return UnprovenCaller(UnprovenReason.WRONG)
        except KeysUnavailable as unavailable:
            return UnprovenCaller(UnprovenReason.UNAVAILABLE, unavailable.retry_after_s)

    async def _verified(self, text: str, certificate: bytes | None) -> VerifiedToken:
        token = read_token(text)
        keys = self._issuer_of(token)
        _check_header(token, keys.issuer)
        key = await keys.find(token.header.get("kid"), token.algorithm)
        if key is None:
            raise InvalidToken("none of the issuer's keys fits")
        _check_signature(token, key)
        check_claims(token.claims, keys.issuer, now=self._clock(), certificate=certificate)
        identity = identity_of(token.claims, keys.issuer)
        return VerifiedToken(identity, keys, keys.latest, key.thumbprint, is_bound="cnf" in token.claims)

    def _issuer_of(self, token: UnverifiedToken) -> IssuerKeys:
        name = token.claims.get("iss")
        keys = self.keys_by_issuer.get(name) if isinstance(name, str) else None
        if keys is None:
            raise InvalidToken("iss is none of the configured issuers")
        return keys


def _check_header(token: UnverifiedToken, issuer: Issuer) -> None:
    if token.algorithm not in issuer.algorithms:
        raise InvalidToken("alg is none of the issuer's algorithms")
    if issuer.require_at_jwt and not token.is_access_token:
        raise InvalidToken("typ is not at+jwt")
    if not isinstance(token.header.get("kid", ""), str):
        raise InvalidToken("kid is no text")


def _check_signature(token: UnverifiedToken, key: IssuerKey) -> None:
    """Raise unless the signature is ``key``'s. The claims are examined elsewhere, since PyJWT converts their types."""
    unchecked = dict.fromkeys(("exp", "nbf", "iat", "aud", "iss", "sub", "jti"), False)
    options: Any = {"verify_signature": True, **{f"verify_{name}": value for name, value in unchecked.items()}}
    try:
        jwt.decode(token.text, key.public, algorithms=[token.algorithm], options=options)
    except jwt.PyJWTError:
        raise InvalidToken("the signature is wrong") from None
