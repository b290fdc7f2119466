"""The settings with which a client reaches a registry, as frozen values.

Nothing is read from the environment here; :mod:`counterfoil.sdk.settings_sources` does that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from counterfoil.sdk.auth import BasicAuth, BearerToken, auth_of
from counterfoil.sdk.connection.tls import TlsSettings
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.sdk.auth import Auth

_LONGEST_LABEL: Final = 63
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrySettings:
    """How often and how long a request is repeated.

    After a round over all URLs that failed comes a random pause between 0 and ``first_pause_s``·2ⁿ, at most
    ``max_pause_s``, or the time that the registry asks for; ``retries`` rounds after the first; no new round once
    ``total_s`` seconds are over.

    All calls of a client share ``budget`` rounds of retries (None: sixteen times ``retries``); every answered call
    gives a fifth of a round back, so that a failing registry does not get several times its usual number of requests.
    After ``breaker_failures`` calls in a row without an answer, no request is sent for ``breaker_pause_s`` seconds, and
    calls fail at once; then one call tries. 0 turns this off.
    """

    retries: int = 3
    first_pause_s: float = 0.5
    max_pause_s: float = 8.0
    total_s: float = 30.0
    budget: int | None = None
    breaker_failures: int = 5
    breaker_pause_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """The sizes of the caches, and how long entries are used.

    ``capacity`` counts the entries of each cache. Ids and registrations do not change and are cached until there is no
    room; ``latest_ttl_s`` is how long the latest version of a subject is cached, ``missing_ttl_s`` how long an unknown
    id.
    """

    capacity: int = 1000
    latest_ttl_s: float = 60.0
    missing_ttl_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """All settings of a client.

    ``urls`` are tried in order, then again from the first; they contain no credentials (``RegistrySettings.of`` moves
    them to ``auth``). ``read_timeout_s`` is the longest silence of the registry, ``retry.total_s`` bounds the whole
    call. ``proxy`` is a URL; the environment's proxies are not used.
    """

    urls: tuple[str, ...]
    auth: Auth | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout_s: float = 2.0
    read_timeout_s: float = 10.0
    tls: TlsSettings = field(default_factory=TlsSettings)
    proxy: str | None = field(default=None, repr=False)
    retry: RetrySettings = RetrySettings()
    cache: CacheSettings = CacheSettings()

    def __post_init__(self) -> None:
        if not self.urls:
            raise InvalidSettings("No registry URL is given; expected one such as http://localhost:8081", setting="url")
        for url in self.urls:
            _check_url(url)
        if self.proxy is not None:
            _check_proxy(self.proxy)
        for name, value in self.headers.items():
            _check_header(name, value)
        if isinstance(self.auth, BasicAuth | BearerToken):
            _check_header("Authorization", self.auth.header)
        _check_at_least(0, "retries", self.retry.retries)
        _check_at_least(0, "budget", self.retry.budget or 0)
        _check_at_least(0, "breaker_failures", self.retry.breaker_failures)
        _check_at_least(1, "capacity", self.cache.capacity)
        for name in ("connect_timeout_s", "read_timeout_s"):
            _check_positive(name, getattr(self, name))
        _check_positive("total_s", self.retry.total_s)
        for owner, name in (
            (self.retry, "first_pause_s"),
            (self.retry, "max_pause_s"),
            (self.retry, "breaker_pause_s"),
            (self.cache, "latest_ttl_s"),
            (self.cache, "missing_ttl_s"),
        ):
            _check_at_least(0, name, getattr(owner, name))

    @classmethod
    def of(
        cls,
        url: str | Sequence[str] | RegistrySettings,
        *,
        auth: Auth | tuple[str, str] | str | None = None,
        timeout_s: float | None = None,
        retries: int | None = None,
    ) -> RegistrySettings:
        """Return the settings for the arguments of a client.

        ``url`` is one URL, several joined by commas, or a list; a user and password in one become ``auth``; or it is
        whole settings, which the other arguments change. ``auth`` is also a pair (user, password), a token, or a
        function. ``timeout_s`` is ``read_timeout_s``, and bounds the connect time-out. Raises ``InvalidSettings``.
        """
        if isinstance(url, RegistrySettings):
            settings = url if auth is None else replace(url, auth=auth_of(auth))
        else:
            found, found_auth = _split_urls(url)
            settings = cls(urls=found, auth=auth_of(auth) or found_auth)
        if timeout_s is not None:
            connect_timeout_s = min(settings.connect_timeout_s, timeout_s)
            settings = replace(settings, read_timeout_s=timeout_s, connect_timeout_s=connect_timeout_s)
        if retries is not None:
            settings = replace(settings, retry=replace(settings.retry, retries=retries))
        return settings


def _split_urls(url: str | Sequence[str]) -> tuple[tuple[str, ...], Auth | None]:
    """Return the URLs without credentials, and the first credentials found in them."""
    texts: Sequence[object] = url.split(",") if isinstance(url, str) else url if isinstance(url, (list, tuple)) else ()
    if not texts or not all(isinstance(each, str) for each in texts):
        raise InvalidSettings(
            f"The registry URL is {url!r}; expected a text such as http://localhost:8081", setting="url"
        )
    auth: Auth | None = None
    urls = []
    for text in texts:
        bare, found = _split_credentials(str(text).strip())
        urls.append(bare)
        auth = auth or found
    return tuple(urls), auth


def _split_credentials(url: str) -> tuple[str, BasicAuth | None]:
    parts = _parts(url)
    userinfo, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, None
    user, _, password = userinfo.partition(":")
    return urlunsplit(parts._replace(netloc=host)), BasicAuth(unquote(user), unquote(password))


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InvalidSettings(f"The registry URL is not valid: {error}", setting="url") from None
    return parts


def _check_url(url: str) -> None:
    parts = _parts(url)
    if "@" in parts.netloc:
        raise InvalidSettings("A registry URL holds a password; give it as auth instead", setting="url")
    is_host = all(0 < len(label) <= _LONGEST_LABEL for label in (parts.hostname or "").removesuffix(".").split("."))
    if parts.scheme not in ("http", "https") or not is_host or parts.query or parts.fragment:
        raise InvalidSettings(
            f"The registry URL {url!r} is not valid; expected one such as http://localhost:8081", setting="url"
        )


def _check_proxy(url: str) -> None:
    parts = _parts(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:  # the URL may contain a password and is not printed
        raise InvalidSettings("The proxy is not valid; expected a URL such as http://proxy:3128", setting="proxy")


def _check_header(name: str, value: str) -> None:
    """Refuse a header that cannot be sent, such as a token with the line break of the file that it was read from."""
    if not _HEADER_NAME.fullmatch(name) or not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
        raise InvalidSettings(
            f"The header {name!r} cannot be sent; expected a name and a value of printable ASCII characters",
            setting=name,
        )


def _check_at_least(least: float, name: str, value: float) -> None:
    if not value >= least:
        raise InvalidSettings(f"The setting {name} is {value}; expected {least} or more", setting=name)


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise InvalidSettings(f"The setting {name} is {value}; expected more than 0 seconds", setting=name)
