"""Whether a JWT is accepted, in the order: form, header, issuer, key, signature, claims, binding.

``iss`` is read before the signature is verified, but only to choose among the configured issuers. None of ``jwk``,
``jku``, ``x5u`` and ``x5c`` of a header is used, and ``kid`` is only compared.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jwt

from counterfoil.registry.auth.jwt.claims import ExpiredToken, check_claims, identity_of
from counterfoil.registry.auth.jwt.fetching import origin_of
from counterfoil.registry.auth.jwt.jwks import IssuerKeys, KeysUnavailable
from counterfoil.registry.auth.jwt.reading import InvalidToken, read_token
from counterfoil.registry.domain.access.identity import Reason, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from counterfoil.registry.auth.jwt.issuers import Issuer
    from counterfoil.registry.auth.jwt.keys import IssuerKey, KeySet
    from counterfoil.registry.auth.jwt.reading import UnverifiedToken
    from counterfoil.registry.domain.access.identity import Identity

_LOGGER: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A JWT that was accepted: who it names, and the key without which it would not be.

    ``key_set`` is the set of the issuer that had the key.
    """

    identity: Identity
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
        """End the fetching of keys, except of those that ``after`` uses."""
        used = set() if after is None else set(map(id, after.keys_by_issuer.values()))
        for keys in self.keys_by_issuer.values():
            if id(keys) not in used:
                await keys.stop()

    async def verify(self, text: str, certificate: bytes | None = None) -> VerifiedToken | Refusal:
        """Return who ``text`` names, or why it is not accepted. ``certificate`` is the client's, in DER form."""
        try:
            return await self._verified(text, certificate)
        except ExpiredToken:
            return Refusal(Reason.EXPIRED)
        except InvalidToken as problem:
            _LOGGER.debug("a JWT was not accepted: %s", problem)
            return Refusal(Reason.WRONG)
        except KeysUnavailable as unavailable:
            return Refusal(Reason.UNAVAILABLE, unavailable.retry_after_s)

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
