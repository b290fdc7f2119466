"""Who sent a request: the scheme of its credentials chooses the method; results are remembered."""

from __future__ import annotations

import base64
import binascii
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.registry.access.identities.issuers import IssuerKeys, origin_of
from counterfoil.registry.access.identities.jwt import JwtVerifier
from counterfoil.registry.access.identities.passwords import (
    PREFIX,
    PasswordChecks,
    PasswordVerifier,
    parse_token,
    verify_token,
)
from counterfoil.registry.access.identity import OTHER_METHOD, CallerIdentity, Throttle, UnprovenCaller, UnprovenReason
from counterfoil.registry.access.rules import ANONYMOUS, USER, is_user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.access.file.values import AccessFile, Issuer
    from counterfoil.registry.access.identities.certificates import PrincipalRules
    from counterfoil.registry.access.identities.jwt import VerifiedToken
    from counterfoil.registry.access.identities.passwords import StoredUser, TokenStore, WeakHashes
    from counterfoil.registry.access.identity import CallerProof, PresentedCredentials


# What was verified a moment ago, by a keyed digest of the header, so that it need not be verified at each request.

_Value = TypeVar("_Value")

_MAX_ENTRIES: Final = 20_000


class Remembered(Generic[_Value]):
    """A bounded memory of successes. The key is a digest over a random key of the process, never the header itself."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._entries: OrderedDict[bytes, _Value] = OrderedDict()

    def get(self, header: bytes) -> _Value | None:
        """Return the remembered result of a header."""
        return self._entries.get(sha256(self._key + header).digest())

    def put(self, header: bytes, value: _Value) -> None:
        """Remember ``value``."""
        digest = self._digest(header)
        self._entries[digest] = value
        self._entries.move_to_end(digest)
        if len(self._entries) > _MAX_ENTRIES:
            self._entries.popitem(last=False)

    def forget(self, header: bytes) -> None:
        """Forget the remembered result of a header."""
        self._entries.pop(self._digest(header), None)

    def _digest(self, header: bytes) -> bytes:
        return sha256(self._key + header).digest()


# Who sent a request: the scheme of its credentials chooses the method, and no other method is tried after it.

_ANY_OWNER: Final = "token"
"""The user name before an API token that is sent as a password, where it is not the owner's."""
DEFAULT_REMEMBERED_S: Final = 300.0
_MAX_IDENTITIES: Final = 10_000
_NOBODY_KNOWN: Final = CallerIdentity(ANONYMOUS, method="anonymous")
_WRONG: Final = UnprovenCaller(UnprovenReason.WRONG)


@dataclass(frozen=True, slots=True)
class _Proven:
    """The remembered result of a header: the caller, and the proof.

    That is a JWT, the user as it was declared, or the state of the store that had the API token.
    """

    identity: CallerIdentity
    generation: _Generation
    until: float = 0
    token: VerifiedToken | None = None
    user: StoredUser | None = None
    state: object = None

    def holds(self) -> bool:
        """Return whether the caller's proof is still declared, and its time is not over."""
        generation, user = self.generation, self.user
        if generation.is_over or generation.clock() >= self.until:
            return False
        if user is not None:
            return generation.users.get(user.name) is user
        if self.token is not None:
            return self.token.has_key
        return generation.tokens is not None and generation.tokens.state is self.state


class _Generation:
    """The methods that follow from one content of the access file. It is replaced as a whole, with its memory."""

    def __init__(
        self,
        file: AccessFile,
        passwords: PasswordVerifier,
        jwts: JwtVerifier,
        *,
        tokens: TokenStore | None,
        clock: Callable[[], float],
    ) -> None:
        self.file = file
        self.tokens = tokens
        self.clock = clock
        self.is_over = False
        self.users = file.users
        self.passwords = passwords
        self.jwts = jwts
        self.remembered: Remembered[_Proven] = Remembered()
        self._groups = _groups_by_member(file.groups)
        self.has_anonymous = file.has_anonymous
        self._identities: dict[CallerIdentity, CallerIdentity] = {}

    def with_groups(self, identity: CallerIdentity) -> CallerIdentity:
        """Return ``identity`` with the groups that the file gives to it.

        Equal ones are one object, by which the gate finds the compiled rights of a caller.
        """
        own = self._groups.get(identity.principal)
        found = identity if own is None else replace(identity, groups=identity.groups | own)
        if len(self._identities) >= _MAX_IDENTITIES:
            self._identities.clear()
        return self._identities.setdefault(found, found)


class RegistryAuthenticator:
    """Authenticates by an access file, API tokens, and certificates; it belongs to one event loop."""

    def __init__(
        self,
        file: AccessFile,
        *,
        tokens: TokenStore | None = None,
        weak: WeakHashes | None = None,
        certificates: PrincipalRules | None = None,
        checks: PasswordChecks | None = None,
        throttle: Throttle | None = None,
        remembered_s: float = DEFAULT_REMEMBERED_S,
        open_keys: Callable[[Issuer], IssuerKeys] = lambda issuer: IssuerKeys(issuer, origin_of(issuer)),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self._weak = weak
        self._certificates = certificates
        self._checks = checks or PasswordChecks()
        self._throttle = throttle or Throttle()
        self._remembered_s = remembered_s
        self._open_keys = open_keys
        self._clock = clock
        self._stored_users: Mapping[str, StoredUser] = {}
        self.has_anonymous = False
        """Whether requests without credentials are let in, whatever the access file says."""
        self._now = self._generation(file, before=None)

    @property
    def takes_bearer(self) -> bool:
        """Whether tokens are accepted besides passwords."""
        return self._tokens is not None or bool(self._now.jwts.keys_by_issuer)

    @property
    def issuers(self) -> Mapping[str, IssuerKeys]:
        """The keys of each issuer, for measures."""
        return self._now.jwts.keys_by_issuer

    def start(self) -> None:
        """Begin to fetch the keys of issuers; nothing waits for them."""
        self._now.jwts.start()

    async def replace(self, file: AccessFile) -> None:
        """Continue with another content of the access file: all results are forgotten."""
        before, self._now = self._now, self._generation(file, before=self._now.jwts)
        before.is_over = True
        self._now.jwts.start()
        await before.jwts.stop(after=self._now.jwts)

    def set_users(self, users: Mapping[str, StoredUser]) -> None:
        """Set the users of the store; who has the name of one in the access file is not one of them."""
        self._stored_users = users
        self._add_users(self._now)

    async def close(self) -> None:
        """End all work in the background, and forget all results."""
        self._now.is_over = True
        await self._now.jwts.stop()
        self._checks.close()

    async def authenticate(self, credentials: PresentedCredentials) -> CallerIdentity | UnprovenCaller:
        """Return the caller, or why there is none."""
        now = self._now
        header = credentials.authorization
        if header is None:
            return self._without_header(now, credentials)
        recalled = self.recall(header)
        if recalled is not None:
            return recalled.identity
        found = await self._examined(now, header, credentials)
        if isinstance(found, UnprovenCaller):
            return replace(found, method=_method(header))
        identity, until = now.with_groups(found.identity), self._clock() + self._remembered_s
        if found.token is None or not found.token.is_bound:
            until = until if identity.expires is None else min(until, identity.expires)
            until = until if found.token is None else min(until, self._clock() + found.token.keys.left_s)
            now.remembered.put(header, replace(found, identity=identity, until=until))
        return identity

    def recall(self, header: bytes, /) -> CallerProof | None:
        """Return the caller that a header has proven before, if that still holds."""
        remembered = self._now.remembered
        proven = remembered.get(header)
        if proven is None or proven.holds():
            return proven
        remembered.forget(header)
        return None

    async def _examined(
        self, now: _Generation, header: bytes, credentials: PresentedCredentials
    ) -> _Proven | UnprovenCaller:
        scheme, _, rest = header.partition(b" ")
        match scheme.lower():
            case b"basic":
                return await self._basic(now, rest.strip(), credentials)
            case b"bearer":
                return await self._bearer(now, rest.strip(), credentials)
            case _:
                return _WRONG

    async def _basic(
        self, now: _Generation, encoded: bytes, credentials: PresentedCredentials
    ) -> _Proven | UnprovenCaller:
        try:
            user, colon, password = base64.b64decode(encoded, validate=True).partition(b":")
            name = user.decode()
        except (binascii.Error, UnicodeDecodeError):
            return _WRONG
        if password.startswith(PREFIX.encode()):
            return await self._token(now, password, user_name=name)
        if not colon or not is_user_name(name):
            return _WRONG
        found = await now.passwords.verify(name, password, _address(now.file, credentials))
        if isinstance(found, UnprovenCaller):
            return found
        if self._weak is not None:
            self._weak.note(found, password)
        return _Proven(CallerIdentity(USER + found.name, method="password"), now, user=found)

    async def _bearer(
        self, now: _Generation, sent: bytes, credentials: PresentedCredentials
    ) -> _Proven | UnprovenCaller:
        if sent.startswith(PREFIX.encode()):
            return await self._token(now, sent)
        if not sent.isascii():
            return _WRONG
        found = await now.jwts.verify(sent.decode(), credentials.certificate)
        return found if isinstance(found, UnprovenCaller) else _Proven(found.identity, now, token=found)

    async def _token(self, now: _Generation, sent: bytes, *, user_name: str | None = None) -> _Proven | UnprovenCaller:
        """Return the owner of an API token. As a password it needs the user name ``token``, or the owner's."""
        token = parse_token(sent.decode("latin-1"))
        if token is None or self._tokens is None:
            return _WRONG
        state = self._tokens.state
        found = await verify_token(token, self._tokens, clock=self._clock)
        if isinstance(found, UnprovenCaller):
            return found
        if user_name not in {None, _ANY_OWNER, found.principal.partition(":")[2]}:
            return _WRONG
        self._tokens.note_use(token.id)
        return _Proven(found, now, state=state)

    def _without_header(self, now: _Generation, credentials: PresentedCredentials) -> CallerIdentity | UnprovenCaller:
        named = None if now.file.proxy is None else now.file.proxy.identify(credentials.address, credentials.headers)
        if isinstance(named, UnprovenCaller):
            return replace(named, method="proxy")
        if named is None and credentials.certificate is not None and self._certificates is not None:
            named = self._by_certificate(credentials.certificate, self._certificates)
            if isinstance(named, UnprovenCaller):
                return replace(named, method="certificate")
        if named is not None:
            return now.with_groups(named)
        return _NOBODY_KNOWN if now.has_anonymous or self.has_anonymous else UnprovenCaller(UnprovenReason.MISSING)

    def _by_certificate(self, certificate: bytes, rules: PrincipalRules) -> CallerIdentity | UnprovenCaller:
        found = rules.identify(certificate)
        if found is None:
            return _WRONG
        return (
            UnprovenCaller(UnprovenReason.EXPIRED)
            if found.expires is not None and found.expires <= self._clock()
            else found
        )

    def _generation(self, file: AccessFile, *, before: JwtVerifier | None) -> _Generation:
        """Return the methods that follow from a content of the access file, with the users of the store."""
        passwords = PasswordVerifier(file.users, checks=self._checks, throttle=self._throttle)
        jwts = JwtVerifier(file.issuers, before=before, open_keys=self._open_keys, clock=self._clock)
        made = _Generation(file, passwords, jwts, tokens=self._tokens, clock=self._clock)
        self._add_users(made)
        return made

    def _add_users(self, generation: _Generation) -> None:
        if self._stored_users or generation.users is not generation.file.users:
            generation.users = {**self._stored_users, **generation.file.users}
            generation.passwords = PasswordVerifier(generation.users, checks=self._checks, throttle=self._throttle)


def _method(header: bytes) -> str:
    """Return the method of credentials that were refused."""
    scheme, _, rest = header.partition(b" ")
    sent = rest.strip()
    match scheme.lower():
        case b"basic":
            with suppress(binascii.Error):
                sent = base64.b64decode(sent, validate=True).partition(b":")[2]
            return "token" if sent.startswith(PREFIX.encode()) else "password"
        case b"bearer":
            return "token" if sent.startswith(PREFIX.encode()) else "jwt"
        case _:
            return OTHER_METHOD


def _address(file: AccessFile, credentials: PresentedCredentials) -> str:
    """Return the client's address, which wrong passwords are counted by."""
    if file.proxy is None:
        return credentials.address
    return file.proxy.client_address(credentials.address, credentials.headers)


def _groups_by_member(groups: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for group, members in groups.items():
        for member in members:
            found.setdefault(member, set()).add(group)
    return {member: frozenset(names) for member, names in found.items()}
