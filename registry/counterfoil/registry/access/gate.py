"""The gate: finds out who sends a request, before its body is read, and limits requests of each sender."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from counterfoil.registry.access.identity import (
    ACCEPTED,
    NO_METHOD,
    OTHER_METHOD,
    AccessCounts,
    AccessState,
    Authenticator,
    Buckets,
    CallerIdentity,
    CallerProof,
    IssuerState,
    ListedProxies,
    PresentedCredentials,
    Rate,
    UnprovenCaller,
    UnprovenReason,
    no_proxies,
)
from counterfoil.registry.access.rights import CALLER, NOBODY, RENEWAL, Caller
from counterfoil.registry.access.rules import AccessRule, RulesInForce
from counterfoil.registry.http.answers import V1, error_answer, negotiate
from counterfoil.registry.http.envelope import CONNECTION, WholeAnswers, client_network, sender_of
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.errors import (
    BadRequest,
    NotAcceptable,
    RegistryError,
    StoreTimeout,
    StoreUnavailable,
    Unauthorized,
)

# Limits of how many requests and event streams one sender may have: a caller, or else an address.

_HEALTH: Final = frozenset({b"/health/live", b"/health/ready"})
_UNLIMITED_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def too_many() -> RegistryError:
    """Return the error of whatever is beyond a limit."""
    status = HTTPStatus.TOO_MANY_REQUESTS
    return RegistryError("Too many requests; try again later", status=status, code=status)


def too_many_requests(retry_after_s: int) -> Response:
    """Return the response to a request beyond a limit."""
    response = error_answer(too_many())
    response.headers["retry-after"] = str(retry_after_s)
    return response


def unrecorded(_scope: Scope, _status: int, _reason: UnprovenReason) -> None:
    """Do nothing: refusals are recorded nowhere."""


class RequestLimits:
    """How many requests a sender may send; 0 is no limit.

    ``writes_a_second`` is a further limit, of the requests that are not GET, HEAD or OPTIONS. ``burst`` is how many may
    come at once; 0 is as many as in a second.
    """

    def __init__(
        self, *, a_second: int, writes_a_second: int, burst: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._all = _buckets(a_second, burst, clock)
        self._writes = _buckets(writes_a_second, burst, clock)

    def counted(self, sender: str, method: str) -> int:
        """Count a request of ``sender`` and return 0; or return the whole seconds until there may be another one."""
        limits = [
            each for each in (self._all, None if method in _UNLIMITED_METHODS else self._writes) if each is not None
        ]
        wait_s = max((each.wait_s(sender) for each in limits), default=0.0)
        if not wait_s:
            for each in limits:
                each.take(sender)
        return math.ceil(wait_s)


class RateLimits:
    """Passes the requests that are within ``limits``.

    ``proxies`` returns the proxies in front of the server, by which a client without a name is counted. ``refused`` is
    called with each refusal, for the audit.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits,
        *,
        proxies: Callable[[], ListedProxies | None] = no_proxies,
        refused: Callable[[Scope, int, UnprovenReason], None] = unrecorded,
    ) -> None:
        self._app = app
        self._limits = limits
        self._proxies = proxies
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, or answer 429 before its body is read."""
        app: ASGIApp = self._app
        if scope["type"] == "http" and scope.get("raw_path") not in _HEALTH:
            wait_s = self._limits.counted(sender_of(scope, self._proxies()), scope["method"])
            if wait_s:
                app = too_many_requests(wait_s)
                self._refused(scope, HTTPStatus.TOO_MANY_REQUESTS, UnprovenReason.THROTTLED)
        await app(scope, receive, send)


def _buckets(a_second: int, burst: int, clock: Callable[[], float]) -> Buckets | None:
    return Buckets(Rate(burst or a_second, 1 / a_second), clock=clock) if a_second else None


class OpenStreams:
    """Counts the event streams of each sender: ``most`` are permitted where there is a gate; 0 is any number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    @contextmanager
    def another(self, scope: Scope, proxies: ListedProxies | None = None) -> Iterator[bool]:
        """Count one stream while this is open; it is whether its sender may have it."""
        sender = sender_of(scope, proxies)
        is_permitted = CALLER not in scope or not 0 < self._most <= self._open[sender]
        self._open[sender] += is_permitted
        try:
            yield is_permitted
        finally:
            self._open[sender] -= is_permitted
            if not self._open[sender]:
                del self._open[sender]


# The gate: finds out who sends a request, before its body is read, and answers those who cannot be let in.
#
# It decides nothing about rights: the routes do (:mod:`~counterfoil.registry.http.access`). It is part of the
# application only where authentication is set up.
#
# Source: RFC 9110, section 11; RFC 7617 (Basic); RFC 6750, section 3 (Bearer).

CERTIFICATE: Final = "counterfoil.certificate"
"""The key in the scope for the client's certificate in DER form; the server's connections leave it there."""

_AUTHORIZATION: Final = b"authorization"
_BASIC: Final = b'Basic realm="counterfoil", charset="UTF-8"'
_BEARER: Final = b'Bearer realm="counterfoil"'
_EXPIRED: Final = b', error="invalid_token", error_description="expired"'
_NOT_ACCEPTED: Final = b', error="invalid_token", error_description="not accepted"'

_LASTING: Final = b"/changes"
_READS: Final = frozenset({"GET", "HEAD"})
_COUNTED: Final = frozenset(
    {UnprovenReason.MISSING, UnprovenReason.WRONG, UnprovenReason.EXPIRED, UnprovenReason.MALFORMED}
)
_MAX_CALLERS: Final = 10_000
_RETRY_AFTER_S: Final = 1
_LONGEST_ACCEPT: Final = 256  # what is longer is not remembered, and such a refusal is in the first version's type


class StoredRules(Protocol):
    """Rules and users that other servers change, too."""

    @property
    def is_current(self) -> bool:
        """Whether they are as new as every answered write, so that no :meth:`catch_up` is needed."""

    async def catch_up(self) -> None:
        """Make them so; raise ``StoreUnavailable`` or ``StoreTimeout`` if that is not possible."""


@dataclass(frozen=True, slots=True)
class AccessControl:
    """What an application needs to demand credentials: who finds out who calls, and the rules that hold now.

    ``stored`` are the declarations that both use, if they are in a store. ``proxies`` returns the present list.
    ``keys`` returns the state of each issuer's keys, ``is_file_valid`` whether the access file could be read, if there
    is one.
    """

    authenticator: Authenticator
    policy: Callable[[], RulesInForce]
    stored: StoredRules | None = None
    proxies: Callable[[], ListedProxies | None] = no_proxies
    keys: Callable[[], Sequence[IssuerState]] = tuple
    is_file_valid: Callable[[], bool | None] = lambda: None

    @property
    def state(self) -> AccessState:
        """The state of the access control, for measures."""
        return AccessState(self.policy().digest, self.is_file_valid(), tuple(self.keys()))


@dataclass(slots=True, repr=False)  # its attributes are read faster than those of a named tuple
class _Known:
    """The header of a connection's last request, and whom it proves to a gate; None on a connection of a proxy.

    ``uses`` is where requests with remembered credentials of this method are counted.
    """

    header: bytes | None
    gate: AccessGate
    proof: CallerProof
    caller: Caller
    rules: Sequence[AccessRule]
    uses: list[int]

    def __repr__(self) -> str:
        """Return a text without the header."""
        return f"_Known(caller={self.caller.name!r})"


class AccessGate:
    """Leaves the caller of each request in its scope, or answers 401, 400, 429 or 503.

    ``limits`` count refused credentials by address, since no caller can be counted. ``refused`` is called with each
    refusal, for the audit.
    """

    def __init__(
        self,
        app: ASGIApp,
        control: AccessControl,
        *,
        counts: AccessCounts | None = None,
        limits: RequestLimits | None = None,
        refused: Callable[[Scope, int, UnprovenReason], None] = unrecorded,
    ) -> None:
        self._app = app
        self._authenticator = control.authenticator
        self._recall = control.authenticator.recall
        self._policy = control.policy
        self._stored = control.stored
        self._proxies = control.proxies
        self._counts = counts or AccessCounts()
        self._limits = limits
        self._refused = refused
        self._rules = control.policy().rules
        self._callers: dict[int, Caller] = {}

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request with its caller to the application, or refuse it."""
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        header, is_repeated = None, False
        for name, value in scope["headers"]:
            if name == _AUTHORIZATION:
                header, is_repeated = value, header is not None
        policy, path = self._policy(), scope.get("raw_path", _LASTING)
        is_open = path in policy.open_paths or (policy.open_folders and policy.is_open(path))
        if header is None or is_repeated or scope["method"] == "OPTIONS" or is_open:
            return self._passed(scope, receive, send, header, is_repeated=is_repeated)
        caller = self._recalled(header, scope, policy)
        if caller is None:
            return self._passed(scope, receive, send, header, is_repeated=False)
        scope[CALLER] = caller
        if _LASTING in path:
            scope[RENEWAL] = partial(self._renewed, scope, header)
        return self._app(scope, receive, send)

    async def _passed(
        self, scope: Scope, receive: Receive, send: Send, header: bytes | None, *, is_repeated: bool
    ) -> None:
        """Pass a request whose credentials are not remembered to the application, or refuse it."""
        policy = self._policy()
        method, path = scope["method"], scope.get("raw_path")
        if method == "OPTIONS" or (header is None and path in _HEALTH and method in _READS):
            scope[CALLER] = NOBODY
        elif not (policy.is_open(path) and method in _READS):
            found = (
                UnprovenCaller(UnprovenReason.MALFORMED, method=OTHER_METHOD)
                if is_repeated
                else await self._found(scope, header)
            )
            self._count(found, header)
            if isinstance(found, UnprovenCaller):
                await self._refuse(self._limited(found, scope), scope, send)
                return
            scope[CALLER] = self._caller(found, self._policy())
            if path is None or _LASTING in path:
                scope[RENEWAL] = partial(self._renewed, scope, header)
        await self._app(scope, receive, send)

    def _recalled(self, header: bytes, scope: Scope, policy: RulesInForce) -> Caller | None:
        """Return the caller whom the header has proven before, if that can be decided without a request to the store.

        A connection knows the header of its last request, so that an equal one costs no digest. A connection of a proxy
        does not: by the time that the comparison takes, a client of the proxy could guess the header of another.
        """
        stored = self._stored
        if stored is not None and not stored.is_current:
            return None
        connection: WholeAnswers | None = scope.get(CONNECTION)
        known: _Known | None = None if connection is None else connection.known_caller
        if (
            known is not None
            and known.header == header
            and known.rules is policy.rules
            and known.gate is self
            and known.proof.holds()
        ):
            known.uses[0] += 1
            return known.caller
        proof = self._recall(header)
        if proof is None:
            return None
        caller = self._caller(proof.identity, policy)
        uses = self._counts.recalled_cell(proof.identity.method)
        uses[0] += 1
        if connection is not None and (known is None or known.header is not None or known.gate is not self):
            kept = None if self._is_shared(scope) else header
            connection.known_caller = _Known(kept, self, proof, caller, caller.rules, uses)
        return caller

    def _count(self, found: CallerIdentity | UnprovenCaller, header: bytes | None) -> None:
        """Count examined credentials."""
        outcome = found.reason.value if isinstance(found, UnprovenCaller) else ACCEPTED
        self._counts.attempts[found.method or (OTHER_METHOD if header else NO_METHOD), outcome] += 1
        self._counts.examined_headers += header is not None and found.method != OTHER_METHOD

    def _limited(self, refusal: UnprovenCaller, scope: Scope) -> UnprovenCaller:
        """Return ``refusal``, or that there were too many requests of this address.

        Whoever sends right credentials from there is not concerned, since these are counted by the caller's name.
        """
        if self._limits is None or refusal.reason not in _COUNTED:
            return refusal
        wait_s = self._limits.counted(client_network(scope, self._proxies()), scope["method"])
        return UnprovenCaller(UnprovenReason.THROTTLED, wait_s, refusal.method) if wait_s else refusal

    def _is_shared(self, scope: Scope) -> bool:
        proxies = self._proxies()
        return proxies is not None and proxies.is_at((scope.get("client") or ("", 0))[0])

    async def _renewed(self, scope: Scope, header: bytes | None) -> Caller | None:
        """Return the caller of a request as it is now; None if its credentials are no longer right."""
        found = await self._found(scope, header)
        return None if isinstance(found, UnprovenCaller) else self._caller(found, self._policy())

    async def _found(self, scope: Scope, header: bytes | None) -> CallerIdentity | UnprovenCaller:
        if self._stored is not None and not self._stored.is_current:
            try:
                await self._stored.catch_up()
            except (StoreUnavailable, StoreTimeout):
                return UnprovenCaller(UnprovenReason.UNAVAILABLE, _RETRY_AFTER_S)
        address, _ = scope.get("client") or ("", 0)
        credentials = PresentedCredentials(header, address, tuple(scope["headers"]), scope.get(CERTIFICATE))
        return await self._authenticator.authenticate(credentials)

    def _caller(self, identity: CallerIdentity, policy: RulesInForce) -> Caller:
        """Return the caller with its compiled rights; an authenticator that remembers an identity saves this."""
        rules = policy.rules
        if rules is not self._rules:
            self._rules = rules
            self._callers.clear()
        known = self._callers.get(id(identity))
        if known is None:
            if len(self._callers) >= _MAX_CALLERS:
                self._callers.clear()
            known = self._callers[id(identity)] = Caller.of(identity, rules)  # keeps the identity, and its id
        return known

    async def _refuse(self, refusal: UnprovenCaller, scope: Scope, send: Send) -> None:
        headers = scope["headers"]
        answer = _answer(_accepted(headers), refusal.reason)
        lines = list(answer.lines)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            lines += self._challenges(refusal, headers)
        elif refusal.reason is not UnprovenReason.MALFORMED:
            lines.append((b"retry-after", b"%d" % (refusal.retry_after_s or _RETRY_AFTER_S)))
        self._refused(scope, answer.status, refusal.reason)
        await send({"type": "http.response.start", "status": answer.status, "headers": lines})
        await send({"type": "http.response.body", "body": answer.body})

    def _challenges(self, refusal: UnprovenCaller, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return the lines that name the methods; a page's own request gets none for which its browser would ask."""
        lines = [] if (b"sec-fetch-dest", b"empty") in headers else [_BASIC]
        if self._authenticator.takes_bearer:
            had_bearer = any(name == _AUTHORIZATION and value[:7].lower() == b"bearer " for name, value in headers)
            error = _EXPIRED if refusal.reason is UnprovenReason.EXPIRED else _NOT_ACCEPTED
            lines.append(_BEARER + error if had_bearer else _BEARER)
        return [(b"www-authenticate", line) for line in lines]


class _Answer(NamedTuple):
    """The status, the header lines and the body of a refusal, as they are for all with the same reason."""

    status: int
    lines: tuple[tuple[bytes, bytes], ...]
    body: bytes


@cached_if_short(1024, longest=500)
def _answer(accept: bytes, reason: UnprovenReason) -> _Answer:
    """Return the answer to a refused request; made once, since whoever guesses passwords gets it again and again."""
    error = _error(reason)
    response = error_answer(error, _media_type(accept))
    lines = tuple(each for each in response.raw_headers if each[0] != b"retry-after")
    return _Answer(response.status_code, lines, bytes(response.body))


def _error(reason: UnprovenReason) -> RegistryError:
    match reason:
        case UnprovenReason.MALFORMED:
            return BadRequest("The request has more than one Authorization header; expected one")
        case UnprovenReason.THROTTLED:
            return too_many()
        case UnprovenReason.UNAVAILABLE:
            return StoreUnavailable(
                "It cannot be decided now whether the credentials are right; try again later",
                status=HTTPStatus.SERVICE_UNAVAILABLE,
            )
        case _:
            return Unauthorized("Unauthorized")


def _accepted(headers: list[tuple[bytes, bytes]]) -> bytes:
    accept = b",".join([value for name, value in headers if name == b"accept"])
    return accept if len(accept) <= _LONGEST_ACCEPT else b""


def _media_type(accept: bytes) -> str:
    try:
        return negotiate(accept.decode("latin-1"))
    except NotAcceptable:
        return V1
