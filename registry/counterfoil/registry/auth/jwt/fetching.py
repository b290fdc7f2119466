"""Where the keys of an issuer come from: its discovery document, an address, or a file.

Nothing but the configured addresses, and the ``jwks_uri`` of a discovery document, is requested: no redirects, no
proxies of the environment, HTTPS except to loopback, with limits of time and size.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

import httpx

from counterfoil.registry.auth.jwt.keys import InvalidKeySet, read_key_set

if TYPE_CHECKING:
    from counterfoil.registry.auth.jwt.issuers import Issuer
    from counterfoil.registry.auth.jwt.keys import KeySet

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
