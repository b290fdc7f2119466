"""The URL of a PostgreSQL store: the driver's part, and this registry's parameters."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from counterfoil.registry.domain.errors import StoreNotUsable

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEFAULT_POOL_SIZE: Final = 10
_DEFAULT_TIMEOUT_S: Final = 10.0
_MAX_POOL_SIZE: Final = 1000
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_PREPARED: Final = {"auto": None, "on": True, "off": False}


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """The address of the database, and the settings of its connections.

    ``dsn`` is for the driver; ``shown`` is the same without the password. ``pool_size`` limits the connections of this
    process; ``timeout_s`` limits each statement, and the wait for a connection. Without ``prepared_statements`` no
    state is kept on a connection between two statements; None means without if the connection goes through a pooler.
    """

    dsn: str
    shown: str
    pool_size: int = _DEFAULT_POOL_SIZE
    timeout_s: float = _DEFAULT_TIMEOUT_S
    prepared_statements: bool | None = None


def parse_address(url: str) -> PostgresAddress:
    """Parse ``url``; raise ``StoreNotUsable`` for an invalid part.

    >>> parse_address("postgresql://me:secret@db:5432/registry?pool_size=4").shown
    'postgresql://me@db:5432/registry'
    """
    try:
        parts = urlsplit(url)
        login, _, host = parts.netloc.rpartition("@")
        user = login.partition(":")[0]
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError as error:
        raise StoreNotUsable(f"The store's URL cannot be read: {error}") from None
    if ":" in parts.netloc and any("@" in each for each in (parts.path, parts.fragment, *query)):  # in a password
        raise StoreNotUsable(
            "The store's URL has an @ after the first /, ? or #; write it as %40, and in a password / as %2F, ? as %3F "
            "and # as %23"
        )
    shown = urlunsplit((parts.scheme, f"{user}@{host}" if user else host, unquote(parts.path), "", ""))
    pool_size = _number(query.pop("pool_size", _DEFAULT_POOL_SIZE), "pool_size", highest=_MAX_POOL_SIZE)
    timeout_s = _number(query.pop("timeout_s", _DEFAULT_TIMEOUT_S), "timeout_s", highest=3600)
    prepared = query.pop("prepared_statements", "auto")
    if prepared not in _PREPARED:
        raise StoreNotUsable(f"prepared_statements={prepared[:40]!r} in the store's URL; expected auto, on or off")
    for name in _FILES:
        if name in query and not Path(query[name]).is_file():
            raise StoreNotUsable(f"{name}={query[name][:200]!r} in the store's URL is no file")
    dsn = urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))
    return PostgresAddress(dsn, shown, int(pool_size), timeout_s, _PREPARED[prepared])


def is_server_verified(dsn: str, environment: Mapping[str, str]) -> bool:
    """Return whether connections cannot reach another server than the one that is meant: on this machine, or by TLS.

    >>> is_server_verified("postgresql://db/registry?sslmode=require", {})
    False
    >>> is_server_verified("postgresql://127.0.0.1/registry", {})
    True
    """
    parts = urlsplit(dsn)
    query = dict(parse_qsl(parts.query))
    if query.get("sslmode", environment.get("PGSSLMODE")) == "verify-full":
        return True
    named = query.get("host") or parts.netloc.rpartition("@")[2] or environment.get("PGHOST", "")
    return all(map(_is_on_this_machine, unquote(named).split(",")))


def _is_on_this_machine(host: str) -> bool:
    """Return whether ``host``, perhaps with a port, is a socket or a loopback address."""
    name = urlsplit(f"//{host}").hostname or ""
    return host.startswith(("/", "@")) or name in {"", "localhost"} or _is_loopback(name)


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _number(given: str | float, name: str, *, highest: int) -> float:
    try:
        number = float(given)
    except ValueError:
        number = 0
    if not 0 < number <= highest or (name == "pool_size" and number != int(number)):
        raise StoreNotUsable(f"{name}={str(given)[:40]!r} in the store's URL; expected a number from 1 to {highest}")
    return number
