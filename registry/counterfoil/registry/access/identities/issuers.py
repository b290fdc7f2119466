"""The public keys of the issuers of JWTs: where they come from, how they are chosen, and how they are kept current."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import logging
import re
import ssl
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.access.file.values import Issuer


# The public keys of an issuer: read from a JWK set (RFC 7517), and chosen for a token.
#
# Keys that are unfit for signatures are left out: symmetric ones, short ones, ones for encryption, unknown curves.

if TYPE_CHECKING:
    PublicKey = RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey

MAX_KEYS: Final = 256
_MIN_RSA_BITS: Final = 2048
_MAX_RSA_BITS: Final = 8192
_MAX_PUBLISHED_KID_CHARACTERS: Final = 512
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
    """One key: the algorithms that it can verify, and its identity whatever its ``kid`` is."""

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
    return kid is None or (isinstance(kid, str) and len(kid) <= _MAX_PUBLISHED_KID_CHARACTERS)


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


# Where the keys of an issuer come from: its discovery document, an address, or a file.
#
# Nothing but the configured addresses, and the ``jwks_uri`` of a discovery document, is requested: no redirects, no
# proxies of the environment, HTTPS except to loopback, with limits of time and size.

DISCOVERY_PATH: Final = "/.well-known/openid-configuration"
_TIMEOUT_S: Final = 5.0
_MAX_BYTES: Final = 1024 * 1024
_MIN_AGE_S: Final = 300.0
_MAX_AGE_S: Final = 3600.0
_FILE_AGE_S: Final = 30.0
_REFRESH_SHARE: Final = 0.8
_OK: Final = 200
_MAX_AGE: Final = re.compile(r"(?:^|[,\s])max-age=([0-9]{1,9})(?:$|[,\s])", re.IGNORECASE)


class FetchFailed(Exception):
    """The keys could not be fetched; the message says why."""


@dataclass(frozen=True, slots=True)
class FetchedKeys:
    """Keys, and after how many seconds to fetch them again."""

    keys: KeySet
    refresh_s: float


class KeyOrigin(Protocol):
    """Where keys come from."""

    async def fetch(self) -> FetchedKeys:
        """Return the keys of now; raise ``FetchFailed``."""
        ...


class FileOrigin:
    """A JWK set in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def fetch(self) -> FetchedKeys:
        """Return the keys of the file."""
        try:
            data = await asyncio.to_thread(_read_bounded, self._path)
            return FetchedKeys(read_key_set(data), _FILE_AGE_S)
        except OSError as error:
            raise FetchFailed(f"{self._path} cannot be read: {error.strerror}") from None
        except InvalidKeySet as problem:
            raise FetchFailed(f"{self._path}: {problem}") from None


class WebOrigin:
    """The JWK set of an issuer on the network."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer

    async def fetch(self) -> FetchedKeys:
        """Return the keys that the issuer publishes."""
        try:
            trusted = await asyncio.to_thread(ssl.create_default_context, cafile=self._issuer.ca_file)
            async with asyncio.timeout(_TIMEOUT_S), _client(trusted) as client:
                address = self._issuer.jwks_url or await self._discovered(client)
                data, max_age_s = await _get(client, address)
                return FetchedKeys(read_key_set(data), max_age_s * _REFRESH_SHARE)
        except TimeoutError:
            raise FetchFailed(f"{self._issuer.name} did not answer within {_TIMEOUT_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise FetchFailed(f"{self._issuer.name}: {str(error) or type(error).__name__}") from None
        except (OSError, InvalidKeySet) as error:
            raise FetchFailed(f"{self._issuer.name}: {error}") from None

    async def _discovered(self, client: httpx.AsyncClient) -> str:
        place = self._issuer.name.removesuffix("/") + DISCOVERY_PATH
        data, _ = await _get(client, place)
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise FetchFailed(f"{place} is not JSON") from None
        if not isinstance(document, dict) or document.get("issuer") != self._issuer.name:
            raise FetchFailed(f"{place} is the document of another issuer than {self._issuer.name}")
        address = document.get("jwks_uri")
        if not isinstance(address, str) or not is_trusted_address(address):
            raise FetchFailed(f"{place} has no jwks_uri that begins with https://")
        return address


def origin_of(issuer: Issuer) -> KeyOrigin:
    """Return where the keys of ``issuer`` come from."""
    return FileOrigin(Path(issuer.jwks_file)) if issuer.jwks_file is not None else WebOrigin(issuer)


def is_trusted_address(address: str) -> bool:
    """Return whether an address has HTTPS, or is on loopback, and has neither a user nor a fragment.

    >>> [is_trusted_address(a) for a in ("https://login.example/keys", "http://localhost:80", "http://login.example")]
    [True, True, False]
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment or not address.isprintable():
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is ``localhost`` or an address of loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _client(trusted: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=trusted, trust_env=False, follow_redirects=False, timeout=_TIMEOUT_S)


async def _get(client: httpx.AsyncClient, address: str) -> tuple[bytes, float]:
    """Return a document and for how long it may be kept."""
    wanted = {"Accept": "application/json", "Accept-Encoding": "identity"}
    async with client.stream("GET", address, headers=wanted) as answer:
        if answer.status_code != _OK:
            raise FetchFailed(f"{address} answered {answer.status_code}; expected 200")
        if "content-encoding" in answer.headers:
            raise FetchFailed(f"{address} answered with a compression that was not requested")
        data = bytearray()
        async for part in answer.aiter_raw():
            data += part
            if len(data) > _MAX_BYTES:
                raise FetchFailed(f"{address} answered more than 1 MiB")
        return bytes(data), _kept_s(answer.headers.get("cache-control", ""))


def _kept_s(cache_control: str) -> float:
    found = _MAX_AGE.search(cache_control)
    return min(_MAX_AGE_S, max(_MIN_AGE_S, float(found[1]))) if found else _MIN_AGE_S


def _read_bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InvalidKeySet("more than 1 MiB")
    return data


# The keys of one issuer, kept in memory: refreshed in the background, and once for a key that is not known yet.
#
# A failed fetch keeps the last keys for a day. Fetches of an issuer are 30 seconds apart, however many tokens are
# forged.

BETWEEN_FETCHES_S: Final = 30.0
_UNKNOWN_S: Final = 300.0
_MAX_UNKNOWN: Final = 128
_MAX_KID_CHARACTERS: Final = 512

_LOGGER: Final = logging.getLogger(__name__)


class KeysUnavailable(Exception):
    """The keys of an issuer were never fetched, or too long ago: nobody can say whether a token is right."""

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


class IssuerKeys:
    """The keys of ``issuer``, fetched from ``origin``."""

    def __init__(self, issuer: Issuer, origin: KeyOrigin, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = issuer
        self.failures = 0
        self._origin = origin
        self._clock = clock
        self._keys: KeySet | None = None
        self._fetched_at = 0.0
        self._tried_at: float | None = None
        self._refresh_s = BETWEEN_FETCHES_S
        self._unknown: OrderedDict[str, float] = OrderedDict()
        self._fetch: asyncio.Task[bool] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to fetch and to refresh in the background. Nothing waits for it."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh_for_ever())

    async def stop(self) -> None:
        """End the work in the background. A fetch under way is waited for, since requests wait for it as well."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        tasks = [task for task in (self._refreshing, self._fetch) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def age_s(self) -> float | None:
        """The seconds since the keys were fetched; None if they never were."""
        return None if self._keys is None else self._clock() - self._fetched_at

    @property
    def latest(self) -> KeySet | None:
        """The keys that were fetched last, however long ago; None if they never were."""
        return self._keys

    @property
    def left_s(self) -> float:
        """The seconds for which these can be used if no fetch succeeds."""
        return 0.0 if self._keys is None else self.issuer.jwks_stale_s - (self._clock() - self._fetched_at)

    def holds(self, thumbprint: bytes) -> bool:
        """Return whether the key with this thumbprint is still one of the issuer's."""
        keys = self._current()
        return keys is not None and thumbprint in keys.thumbprints

    async def find(self, kid: str | None, algorithm: str) -> IssuerKey | None:
        """Return the key for a token's header, or None; raise ``KeysUnavailable`` if the issuer's keys are unknown."""
        is_fresh = False
        if self._current() is None or (kid is not None and self._is_worth_a_fetch(kid)):
            is_fresh = await self._fetch_once()
        keys = self._current()
        if keys is None:
            raise KeysUnavailable(self._retry_after_s())
        if is_fresh and kid is not None and not keys.has(kid):
            self._remember_unknown(kid)
        return keys.find(kid, algorithm)

    def _current(self) -> KeySet | None:
        if self._keys is None or self._clock() - self._fetched_at > self.issuer.jwks_stale_s:
            return None
        return self._keys

    def _is_worth_a_fetch(self, kid: str) -> bool:
        if (self._keys is not None and self._keys.has(kid)) or len(kid) > _MAX_KID_CHARACTERS:
            return False
        until = self._unknown.get(kid)
        return until is None or self._clock() >= until

    def _remember_unknown(self, kid: str) -> None:
        self._unknown[kid] = self._clock() + _UNKNOWN_S
        if len(self._unknown) > _MAX_UNKNOWN:
            self._unknown.popitem(last=False)

    def _retry_after_s(self) -> int:
        since = 0.0 if self._tried_at is None else self._clock() - self._tried_at
        return max(1, int(BETWEEN_FETCHES_S - since) + 1)

    async def _fetch_once(self) -> bool:
        """Wait for the fetch that is under way, or for a new one, unless the last was a moment ago.

        Returns whether there was one and it was successful.
        """
        if self._fetch is None or self._fetch.done():
            if self._tried_at is not None and self._clock() - self._tried_at < BETWEEN_FETCHES_S:
                return False
            self._fetch = asyncio.create_task(self._fetch_now())
        return await asyncio.shield(self._fetch)

    async def _fetch_now(self) -> bool:
        self._tried_at = self._clock()
        try:
            fetched = await self._origin.fetch()
        except FetchFailed as failure:
            self.failures += 1
            self._refresh_s = BETWEEN_FETCHES_S
            _LOGGER.warning("the keys of an issuer could not be fetched: %s", failure)
            return False
        self._keys, self._fetched_at = fetched.keys, self._clock()
        self._refresh_s = fetched.refresh_s
        return True

    async def _refresh_for_ever(self) -> None:
        while True:
            await self._fetch_once()
            await asyncio.sleep(self._refresh_s)
