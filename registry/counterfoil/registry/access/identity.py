"""Who calls, and the counts about callers."""

from __future__ import annotations

import ipaddress
import math
import time
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hmac import compare_digest
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.registry.access.rules import GROUP, USER, OperationScope, is_name, is_user_name
from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.rest.object_forms import Document

# Who calls: what a request brings as proof, and what is known of the caller after it was examined.


@dataclass(frozen=True, slots=True)
class PresentedCredentials:
    """The proof of its sender's identity that a request brings.

    ``authorization`` is the value of its only ``Authorization`` header, ``address`` the peer's, ``headers`` are all
    headers of the request, for the rules about proxies, ``certificate`` is the client's in DER form.
    """

    authorization: bytes | None
    address: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    certificate: bytes | None = None

    def __repr__(self) -> str:
        """Return a text without the credentials, for logs."""
        return f"Credentials(address={self.address!r})"


@dataclass(frozen=True, slots=True)
class CallerIdentity:
    """A caller whose credentials were right.

    ``principal`` is ``User:NAME`` or ``Service:NAME``, ``groups`` are ``Group:NAME``, ``method`` is how it was
    proven (``password``, ``token``, ``jwt``, ``certificate``, ``proxy``, ``anonymous``). ``expires`` is a time in
    seconds since 1970. ``scopes`` limit the caller's rights; None does not. ``act`` is who acts for the principal.
    """

    principal: str
    groups: frozenset[str] = frozenset()
    method: str = ""
    issuer: str | None = None
    expires: float | None = None
    token_id: str | None = None
    scopes: tuple[OperationScope, ...] | None = None
    act: str | None = None


class UnprovenReason(Enum):
    """Why no caller was accepted; the value is the word in measures."""

    MISSING = "missing"  # no credentials, and anonymous callers are not let in
    WRONG = "wrong"  # whatever is wrong: one answer for all
    EXPIRED = "expired"  # a token that was right once
    MALFORMED = "malformed"  # the request itself is wrong, such as two Authorization headers
    THROTTLED = "throttled"  # too many failures
    UNAVAILABLE = "unavailable"  # it cannot be decided now: keys were never fetched, or the store cannot be reached


@dataclass(frozen=True, slots=True)
class UnprovenCaller:
    """No caller: why, and for ``THROTTLED`` and ``UNAVAILABLE`` after how many seconds to try again.

    ``method`` is how the caller was to be proven; an empty text if nothing was sent.
    """

    reason: UnprovenReason
    retry_after_s: int | None = None
    method: str = field(default="", compare=False)


class CallerProof(Protocol):
    """A caller that was proven before, by credentials that a next request may repeat."""

    @property
    def identity(self) -> CallerIdentity:
        """The caller."""
        ...

    def holds(self) -> bool:
        """Return whether these credentials still prove it."""
        ...


class Authenticator(Protocol):
    """Finds out who sent a request."""

    @property
    def takes_bearer(self) -> bool:
        """Whether tokens are accepted besides passwords, so that the answer to wrong credentials offers them."""
        ...

    def recall(self, header: bytes, /) -> CallerProof | None:
        """Return the caller that a header ``Authorization`` has proven before, if that still holds."""
        ...

    async def authenticate(self, credentials: PresentedCredentials) -> CallerIdentity | UnprovenCaller:
        """Return the caller, or why there is none."""
        ...


class ListedProxies(Protocol):
    """The proxies in front of a server, which send the requests of many clients over one connection."""

    def is_at(self, address: str, /) -> bool:
        """Return whether one of them has this address."""
        ...

    def client_address(self, address: str, headers: Sequence[tuple[bytes, bytes]], /) -> str:
        """Return the address of the client whose request was sent from ``address``."""
        ...


def no_proxies() -> ListedProxies | None:
    """Return None: all clients send their requests themselves."""
    return None


# Proxies in front of the server that have found out who calls, and say so in a header.
#
# Off unless the access file lists their addresses. The name of a header is compared exactly: one with an underscore is
# another name. A header that is there twice is refused, since nobody knows which of them the proxy wrote.

if TYPE_CHECKING:
    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Headers = Sequence[tuple[bytes, bytes]]

_FORWARDED_FOR: Final = b"x-forwarded-for"
_MAX_GROUPS: Final = 1000


class AmbiguousHeader(Exception):
    """A header that must be there once is there several times."""


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """The proxies at ``networks``: which headers they write, and the secret by which they are recognised."""

    networks: tuple[Network, ...]
    user_header: str = "x-forwarded-user"
    groups_header: str | None = None
    secret_header: str | None = None
    secret: str | None = None
    prefix: str = ""

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"TrustedProxy(networks={self.networks!r}, user_header={self.user_header!r})"

    def is_at(self, address: str) -> bool:
        """Return whether a listed proxy has this address."""
        found = _address(address)
        return found is not None and any(found in network for network in self.networks)

    def identify(self, address: str, headers: Headers) -> CallerIdentity | UnprovenCaller | None:
        """Return whom a proxy names; a refusal where its headers are wrong; None if this is no statement of a proxy."""
        if not self.is_at(address):
            return None
        try:
            name = _only(headers, self.user_header)
            groups = None if self.groups_header is None else _only(headers, self.groups_header)
            secret = None if self.secret_header is None else _only(headers, self.secret_header)
        except AmbiguousHeader:
            return UnprovenCaller(UnprovenReason.WRONG)
        if name is None:
            return None
        if self.secret is not None and not compare_digest((secret or b""), self.secret.encode()):
            return UnprovenCaller(UnprovenReason.WRONG)
        return self._identity(name, groups or b"")

    def client_address(self, address: str, headers: Headers) -> str:
        """Return the client's address: the rightmost of ``X-Forwarded-For`` that is no listed proxy.

        It is the peer's where the peer is no listed proxy, since anybody can write the header.
        """
        if not self.is_at(address):
            return address
        listed = b",".join(value for name, value in headers if name == _FORWARDED_FOR).split(b",")
        for each in reversed(listed):
            text = each.strip().decode("latin-1")
            if not self.is_at(text):
                return text if _address(text) is not None else address
        return address

    def _identity(self, name: bytes, groups: bytes) -> CallerIdentity | UnprovenCaller:
        try:
            named = name.decode()
            listed = [self.prefix + group.strip() for group in groups.decode().split(",") if group.strip()]
        except UnicodeDecodeError:
            return UnprovenCaller(UnprovenReason.WRONG)
        if not is_name(named) or not is_user_name(self.prefix + named) or len(listed) > _MAX_GROUPS:
            return UnprovenCaller(UnprovenReason.WRONG)
        return CallerIdentity(
            USER + self.prefix + named, frozenset(GROUP + group for group in listed if is_name(group)), method="proxy"
        )


def parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that are written as addresses or in CIDR form; raise ``ValueError`` with the wrong one."""
    return tuple(ipaddress.ip_network(text, strict=True) for text in texts)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _only(headers: Headers, name: str) -> bytes | None:
    found = [value for key, value in headers if key == name.encode()]
    if len(found) > 1:
        raise AmbiguousHeader
    return found[0] if found else None


# What is counted about callers, for measures: by words from short lists, never by a principal or a subject.

ACCEPTED: Final = "accepted"
"""The outcome of credentials that have proven a caller; the others are the values of ``UnprovenReason``."""

NO_METHOD: Final = "none"
"""The method of a request without credentials."""

OTHER_METHOD: Final = "other"
"""The method of a scheme of ``Authorization`` that is not known, and of a header that is there twice."""

MEMBER: Final = "MEMBER"
"""Instead of an operation: the request needs credentials, and no operation."""

BUCKETS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""The upper bounds of the buckets of durations."""


class Durations:
    """The durations of one kind of work: the number in each bucket, of which the last one has all that are longer."""

    __slots__ = ("counts", "sum_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_S) + 1)
        self.sum_s = 0.0

    def record(self, duration_s: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKETS_S, duration_s)] += 1
        self.sum_s += duration_s

    def add(self, counts: list[int], sum_s: float) -> None:
        """Add the counts of another process."""
        self.counts = [one + other for one, other in zip(self.counts, counts, strict=True)]
        self.sum_s += sum_s

    def cumulated(self) -> list[tuple[str, float]]:
        """Return each bucket's upper bound with the number of durations in it or a bucket before it."""
        ends = [*map(str, BUCKETS_S), "+Inf"]
        return list(zip(ends, accumulate(map(float, self.counts)), strict=True))


class AccessCounts:
    """Counts of one process, or of several: examined credentials, remembered ones, denials, examined passwords."""

    def __init__(self) -> None:
        self.attempts: Counter[tuple[str, str]] = Counter()
        """Examined requests by method and outcome."""
        self.denials: Counter[str] = Counter()
        """Denied requests, and items of requests, by operation."""
        self.examined_headers = 0
        """Headers with credentials that were not remembered."""
        self.passwords = Durations()
        self._recalled: dict[str, list[int]] = {}

    @property
    def recalled(self) -> dict[str, int]:
        """The requests whose credentials were remembered, by method."""
        return {method: cell[0] for method, cell in self._recalled.items()}

    def recalled_cell(self, method: str) -> list[int]:
        """Return a list of one number, to which a request is added whose credentials of ``method`` were remembered."""
        return self._recalled.setdefault(method, [0])

    @property
    def by_outcome(self) -> Counter[tuple[str, str]]:
        """All requests by method and outcome, also where the credentials were remembered."""
        return self.attempts + Counter({(method, ACCEPTED): count for method, count in self.recalled.items()})

    def packed(self) -> Document:
        """Return the counts as JSON, for another process to add."""
        return {
            "attempts": [[*key, count] for key, count in self.attempts.items()],
            "recalled": self.recalled,
            "examined": self.examined_headers,
            "denials": self.denials,
            "passwords": [self.passwords.counts, self.passwords.sum_s],
        }

    def add(self, packed: Document) -> None:
        """Add the counts of another process."""
        for method, outcome, count in packed["attempts"]:
            self.attempts[method, outcome] += count
        for method, count in packed["recalled"].items():
            self.recalled_cell(method)[0] += count
        self.examined_headers += packed["examined"]
        self.denials.update(packed["denials"])
        self.passwords.add(*packed["passwords"])


@dataclass(frozen=True, slots=True)
class IssuerState:
    """The keys of an issuer: how old they are (None: never fetched), and how often a fetch has failed."""

    name: str
    age_s: float | None
    failures: int


@dataclass(frozen=True, slots=True)
class AccessState:
    """The access control of a process.

    ``is_file_valid`` is None without an access file; ``rules`` is a digest of the rules in force.
    """

    rules: str
    is_file_valid: bool | None = None
    issuers: tuple[IssuerState, ...] = ()


# Token buckets: how often something may be done, for each of many senders, in a bounded memory.

MAX_ENTRIES: Final = 100_000
_IPV6_NETWORK: Final = 64
"""Whoever has one IPv6 address usually has this network."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many attempts are permitted at once, and then one in how many seconds; or how much of something else."""

    burst: float
    every_s: float


class Buckets:
    """Buckets of one rate. A full one is not kept; beyond ``most`` the one that was used least recently is dropped."""

    def __init__(self, rate: Rate, *, most: int = MAX_ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._most = most
        self._clock = clock
        self._taken: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._taken)

    def wait_s(self, key: Hashable, amount: float = 1) -> float:
        """Return the seconds until ``amount`` may be taken; 0 if it may be now."""
        taken = self._now_taken(key)
        return max(0.0, (taken + amount - self._rate.burst) * self._rate.every_s)

    def take(self, key: Hashable, amount: float = 1) -> None:
        """Count one attempt, or another ``amount``."""
        self._keep(key, self._now_taken(key) + amount)

    def give_back(self, key: Hashable) -> None:
        """Count one attempt less, since it was right."""
        self._keep(key, self._now_taken(key) - 1)

    def _now_taken(self, key: Hashable) -> float:
        entry = self._taken.get(key)
        if entry is None:
            return 0.0
        taken, at = entry
        return max(0.0, taken - (self._clock() - at) / self._rate.every_s)

    def _keep(self, key: Hashable, taken: float) -> None:
        self._taken.pop(key, None)
        if taken > 0:
            self._taken[key] = (taken, self._clock())
            if len(self._taken) > self._most:
                self._taken.popitem(last=False)


def network_of(address: str) -> str:
    """Return the name that stands for one sender: an IPv4 address, the /64 of an IPv6 address, or the text itself.

    Most addresses are IPv4, and are not parsed: whoever sends from many of them must not take time by that.

    >>> network_of("2001:db8::1:2"), network_of("::ffff:10.0.0.1"), network_of("10.0.0.1")
    ('2001:db8::', '10.0.0.1', '10.0.0.1')
    """
    return _parsed_network(address) if ":" in address or "%" in address else address


@cached_if_short(4096, longest=100)
def _parsed_network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK), strict=False).network_address)


# Throttling of wrong passwords: by name and address, and by address, in a bounded memory.
#
# Each is a bucket from which an attempt takes a token; an attempt with the right password puts it back. Nobody is
# locked out: what is remembered as right is not counted, and a bucket fills again.

BY_NAME: Final = Rate(burst=10, every_s=6.0)
BY_ADDRESS: Final = Rate(burst=100, every_s=0.6)


class Throttle:
    """The throttle of wrong passwords of one process."""

    def __init__(self, *, most: int = MAX_ENTRIES, clock: Callable[[], float] = time.monotonic) -> None:
        self._by_name = Buckets(BY_NAME, most=most, clock=clock)
        self._by_address = Buckets(BY_ADDRESS, most=most, clock=clock)

    def begin(self, name: str, address: str) -> int | None:
        """Count an attempt and return None; or, if there were too many, return after how many seconds to try again."""
        network = network_of(address)
        wait_s = max(self._by_address.wait_s(network), self._by_name.wait_s((name, network)))
        if wait_s > 0:
            return math.ceil(wait_s)
        self._by_address.take(network)
        self._by_name.take((name, network))
        return None

    def cancel(self, name: str, address: str) -> None:
        """Uncount an attempt, since the password was right, or was not examined."""
        network = network_of(address)
        self._by_address.give_back(network)
        self._by_name.give_back((name, network))
