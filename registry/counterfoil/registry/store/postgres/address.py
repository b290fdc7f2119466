"""The URL of a PostgreSQL store: the driver's part, and this registry's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from counterfoil.registry.domain.errors import StoreNotUsable

_DEFAULT_POOL_SIZE: Final = 10
_DEFAULT_TIMEOUT_S: Final = 10.0
_MAX_POOL_SIZE: Final = 1000
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
        user, has_password, _ = parts.netloc.rpartition("@")[0].partition(":")
        host = parts.netloc.rpartition("@")[2]
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError as error:
        raise StoreNotUsable(f"The store's URL cannot be read: {error}") from None
    del has_password
    shown = urlunsplit((parts.scheme, f"{user}@{host}" if user else host, unquote(parts.path), "", ""))
    pool_size = _number(query.pop("pool_size", _DEFAULT_POOL_SIZE), "pool_size", highest=_MAX_POOL_SIZE)
    timeout_s = _number(query.pop("timeout_s", _DEFAULT_TIMEOUT_S), "timeout_s", highest=3600)
    prepared = query.pop("prepared_statements", "auto")
    if prepared not in _PREPARED:
        raise StoreNotUsable(f"prepared_statements={prepared[:40]!r} in the store's URL; expected auto, on or off")
    dsn = urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))
    return PostgresAddress(dsn, shown, int(pool_size), timeout_s, _PREPARED[prepared])


def _number(given: str | float, name: str, *, highest: int) -> float:
    try:
        number = float(given)
    except ValueError:
        number = 0
    if not 0 < number <= highest or (name == "pool_size" and number != int(number)):
        raise StoreNotUsable(f"{name}={str(given)[:40]!r} in the store's URL; expected a number from 1 to {highest}")
    return number
