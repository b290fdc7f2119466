"""The settings of a client as frozen values: addresses, retries, caches, credentials, certificates."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.transport import RetrySettings

if TYPE_CHECKING:
    import ssl


# The certificates of a connection, and the context that httpx is given; files that change are read again.


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The certificates and keys of the connection: paths of PEM files.

    ``ca_file`` None: the certificate authorities that come with httpx. ``verify`` false: any certificate is accepted.
    A certificate and key that are replaced are used from the next new connection on.
    """

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    verify: bool = True


class ClientTlsFiles:
    """The TLS context of one client. Raises ``InvalidSettings`` for files that cannot be used."""

    def __init__(self, tls: TlsSettings) -> None:
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._versions = self._current_versions()

    def context(self) -> ssl.SSLContext | bool:
        """Return the context for httpx; True stands for its own."""
        if self._tls == TlsSettings():
            return True
        if self._context is None:
            self._context = _context_of(self._tls)
        return self._context

    def refresh(self) -> None:
        """Read the files again if they have changed; new connections then use them.

        While the certificate and the key do not belong together, since only one of them has been replaced, the known
        pair stays in use.
        """
        if self._context is None or not (self._tls.certificate_file or self._tls.ca_file):
            return
        versions = self._current_versions()
        if versions == self._versions:
            return
        try:
            _context_of(self._tls)  # the context in use is changed only when the files can be used
        except InvalidSettings:
            return
        _load(self._context, self._tls)
        self._versions = versions

    def _current_versions(self) -> tuple[object, ...]:
        files = (self._tls.ca_file, self._tls.certificate_file, self._tls.key_file)
        return tuple(_version(Path(file)) for file in files if file)


def _version(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def _context_of(tls: TlsSettings) -> ssl.SSLContext:
    import ssl

    try:
        context = ssl.create_default_context(cafile=tls.ca_file) if tls.ca_file else _default_context()
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load(context, tls)
    except (OSError, ValueError) as error:
        files = ", ".join(name for name in (tls.ca_file, tls.certificate_file, tls.key_file) if name)
        raise InvalidSettings(f"The TLS files {files} cannot be used: {error}", setting="tls") from error
    return context


def _load(context: ssl.SSLContext, tls: TlsSettings) -> None:
    if tls.ca_file:
        context.load_verify_locations(cafile=tls.ca_file)
    if tls.certificate_file:
        context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password)


def _default_context() -> ssl.SSLContext:
    """Return the certificate authorities that come with httpx."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


# How a client proves who it is: the values of ``auth=``. No value prints a secret.
#
# Sources: RFC 7617 (basic), RFC 6750 (bearer), RFC 6749 section 4.4 (client credentials), RFC 8707 (``resource``), RFC
# 7523 (``private_key_jwt``).

METHODS: Final = ("basic", "post", "private_key_jwt")


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """A user and a password."""

    user: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of ``Authorization``."""
        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that does not change."""

    token: str = field(repr=False)

    @property
    def header(self) -> str:
        """The value of ``Authorization``."""
        return bearer(self.token)


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file with a token, read again when it changes, such as a service account token that Kubernetes renews."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """OAuth's client credentials: a token is requested from ``token_url`` and renewed before it ends.

    ``method`` is how the client proves itself there: ``basic`` (a header), ``post`` (in the body) or
    ``private_key_jwt`` (a signed statement; ``private_key_file`` is a PEM file with an RSA or EC key, ``key_id`` its
    name). ``tls`` is for this address alone. The address must be HTTPS, except on this machine. Raises
    ``InvalidSettings``.
    """

    token_url: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scope: str | None = None
    audience: str | None = None
    resource: str | None = None
    method: Literal["basic", "post", "private_key_jwt"] = "basic"
    private_key_file: str | None = None
    key_id: str | None = None
    tls: TlsSettings = field(default_factory=TlsSettings)

    def __post_init__(self) -> None:
        if not _is_safe(self.token_url):
            raise InvalidSettings(
                f"The token address {self.token_url!r} is not valid; expected an https:// URL, since a secret is sent "
                "there",
                setting="token_url",
            )
        if self.method not in METHODS:
            raise InvalidSettings(f"method is {self.method!r}; expected one of {', '.join(METHODS)}", setting="method")
        needed = "private_key_file" if self.method == "private_key_jwt" else "client_secret"
        if not self.client_id or not getattr(self, needed):
            raise InvalidSettings(f"method {self.method!r} needs client_id and {needed}", setting=needed)


@dataclass(frozen=True, slots=True)
class ManagedIdentity:
    """A token of the machine's own identity in Azure, from the address ``url`` of its metadata, and renewed in time.

    The address has the query that names the resource, such as ``?api-version=2018-02-01&resource=api://registry``. No
    secret is sent there; the address must be HTTPS, or HTTP of this machine or of a link-local address. Raises
    ``InvalidSettings``.
    """

    url: str

    def __post_init__(self) -> None:
        if not _is_safe(self.url) and not _is_link_local(self.url):
            problem = "expected an https:// URL, or the link-local address of the machine's metadata"
            raise InvalidSettings(f"The token address {self.url!r} is not valid; {problem}", setting="url")


Headers: TypeAlias = Mapping[str, str]

TokenFunction: TypeAlias = Callable[[], str | Headers | Awaitable[str | Headers]]
"""A function that returns a token for each request; for ``AsyncRegistry`` it may be a coroutine function.

In place of the token, it may return headers, ``Authorization`` and others that a gateway wants beside it.
"""

Auth: TypeAlias = BasicAuth | BearerToken | TokenFile | ClientCredentials | ManagedIdentity | TokenFunction


def bearer(token: str) -> str:
    """Return the value of ``Authorization`` for a token."""
    return f"Bearer {token}"


def auth_of(auth: Auth | tuple[str, str] | str | None) -> Auth | None:
    """Return the value for an argument ``auth=``: a text is a token, a pair a user and a password."""
    match auth:
        case str():
            return BearerToken(auth)
        case (user, password):
            return BasicAuth(user, password)
        case None | BasicAuth() | BearerToken() | TokenFile() | ClientCredentials() | ManagedIdentity():
            return auth
        case _ if callable(auth):
            return auth
    raise InvalidSettings(
        f"auth is a {type(auth).__name__}; expected a token, a pair (user, password), BasicAuth, BearerToken, "
        "TokenFile, ClientCredentials, ManagedIdentity, or a function that returns a token",
        setting="auth",
    )


def _is_safe(url: str) -> bool:
    """Return whether a secret may be sent to ``url``: HTTPS, or an address of this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host) and "@" not in parts.netloc
    return parts.scheme == "http" and is_this_machine(host)


def _is_link_local(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and ip_address(parts.hostname or "").is_link_local
    except ValueError:
        return False


def is_this_machine(host: str) -> bool:
    """Return whether a host name or address is a loopback one."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# The settings with which a client reaches a registry, as frozen values.
#
# Nothing is read from the environment here; :mod:`counterfoil.sdk.client.settings_sources` does that.

_LONGEST_LABEL: Final = 63
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


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
