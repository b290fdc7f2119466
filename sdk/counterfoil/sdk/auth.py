"""How a client proves who it is: the values of ``auth=``. No value prints a secret.

Sources: RFC 7617 (basic), RFC 6750 (bearer), RFC 6749 section 4.4 (client credentials), RFC 8707 (``resource``), RFC
7523 (``private_key_jwt``).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from counterfoil.sdk.connection.tls import TlsSettings
from counterfoil.sdk.errors import InvalidSettings

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
