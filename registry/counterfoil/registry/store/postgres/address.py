"""What is known of a PostgreSQL store before its driver is loaded: its URL, and its functions."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from counterfoil.registry.store.writes import StoreNotUsable

if TYPE_CHECKING:
    from collections.abc import Mapping


# The URL of a PostgreSQL store: the driver's part, and this registry's parameters.

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


# The functions in the database: they are part of the program, and each version has names of its own.

_CREATED: Final = re.compile(r"^CREATE FUNCTION (\w+)\(", re.MULTILINE)
_DIGITS: Final = 12
_OTHERS: Final = "pronamespace = 'counterfoil'::regnamespace AND right(proname, {length}) <> '{ending}'"
_COUNT: Final = "SELECT count(*) FROM pg_proc WHERE {others}"
_REMOVAL: Final = """
DO $$
DECLARE
  each regprocedure;
BEGIN
  PERFORM 1 FROM counterfoil.stamps FOR UPDATE;  -- after whatever they have under way
  FOR each IN SELECT oid FROM pg_proc WHERE {others} LOOP
    EXECUTE 'DROP FUNCTION ' || each;
  END LOOP;
END $$;
"""


class Functions:
    """The functions that ``source`` creates, under names that end in the digest of ``source``.

    So servers of several versions can use one database, as in an upgrade of one server after the other: each calls the
    functions that it was tested with. Equal names are equal functions.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._ending = "_" + hashlib.sha256(source.encode()).hexdigest()[:_DIGITS]

    def named(self, name: str) -> str:
        """Return the name in the database of the function ``name`` of ``source``."""
        return name + self._ending

    @cached_property
    def names(self) -> list[str]:
        """The sorted names in the database."""
        return sorted(self.named(name) for name in self._plain_names)

    @cached_property
    def creation(self) -> str:
        """The statements that create missing functions, in the first schema of the search path."""
        called = re.compile(rf"\b({'|'.join(self._plain_names)})(?=\()")
        text = called.sub(lambda found: self.named(found[1]), self._source)
        return text.replace("CREATE FUNCTION ", "CREATE OR REPLACE FUNCTION ")

    @property
    def removal_of_others(self) -> str:
        """The statement that removes the functions of all other versions, after their running calls."""
        return _REMOVAL.format(others=self._others)

    @property
    def count_of_others(self) -> str:
        """The query that counts the functions of all other versions."""
        return _COUNT.format(others=self._others)

    @property
    def _others(self) -> str:
        return _OTHERS.format(length=len(self._ending), ending=self._ending)

    @property
    def _plain_names(self) -> list[str]:
        return _CREATED.findall(self._source)


@cache
def own_functions() -> Functions:
    """Return the functions of this version."""
    return Functions(resources.files("counterfoil.registry.store.postgres").joinpath("commit.sql").read_text("utf-8"))
