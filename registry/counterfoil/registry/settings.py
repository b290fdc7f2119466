"""The server's settings as one table: each has one name in three spellings, and its permitted values.

``--read-timeout-s`` on the command line, ``COUNTERFOIL_READ_TIMEOUT_S`` in the environment, ``read_timeout_s`` in a
settings file. The table is :class:`ServerSettings` itself: options, reading, printing and the reference page are made
from its fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

T = TypeVar("T")

ENVIRONMENT_PREFIX: Final = "COUNTERFOIL_"
COMPAT_VERSIONS: Final = ("8", "7", "6", "5")
DEFAULT_STORE: Final = "sqlite:///counterfoil.db"
DEFAULT_MAX_KEYS: Final = 20_000
DEFAULT_KMS_TIMEOUT_S: Final = 5.0

_MIB: Final = 1024 * 1024
_HOUR_S: Final = 3600.0
_DAY_S: Final = 86_400.0
_MAX_COUNT: Final = 2**31 - 1
_PASSWORD_BEFORE_HOST: Final = re.compile(r"(://[^:@/?#]*):.*@")
_PASSWORD_IN_QUERY: Final = re.compile(r"([?&](?:ssl)?password=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table.

    ``default`` has the setting's type: a text, an integer, seconds (float), a switch (bool), or a list of texts
    (tuple). ``choices`` are the only permitted texts, if there are any; ``at_least`` and ``at_most`` bound numbers.
    """

    name: str
    default: Any
    about: str
    at_least: float = 0
    at_most: float = _MAX_COUNT
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The spelling on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def negative_flag(self) -> str:
        """The spelling on the command line that turns a switch off."""
        return "--no-" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The spelling in the environment."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def expected(self) -> str:
        """The description of the permitted values."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        match self.default:
            case bool():
                return "true or false"
            case int() | float():
                kind = "an integer" if isinstance(self.default, int) else "a number"
                return f"{kind} from {self.at_least:g} to {self.at_most:.0f}"
            case tuple():
                return "texts with commas between them"
            case _:
                return "a text"


def _setting(
    default: T,
    about: str,
    *,
    at_least: float = 0,
    at_most: float = _MAX_COUNT,
    choices: tuple[str, ...] = (),
) -> T:
    facts = {"about": about, "at_least": at_least, "at_most": at_most, "choices": choices}
    value: T = field(default=default, metadata=facts)
    return value


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The settings of a registry; the table ``docs/reference/settings.md`` describes each field."""

    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(8081, "Port to listen on; 0 lets the system choose.", at_most=65535)
    store: str = _setting(
        DEFAULT_STORE,
        "sqlite:///relative.db, sqlite:////absolute.db, sqlite:// for memory, or postgresql://user@host/database.",
    )
    workers: int = _setting(
        1, "Processes that serve the port together; more than one needs PostgreSQL.", at_least=1, at_most=256
    )
    max_body_bytes: int = _setting(
        10 * _MIB, "The largest accepted request body in bytes, decompressed; a larger one is answered 413.", at_least=1
    )
    max_header_bytes: int = _setting(
        64 * 1024, "The largest accepted request line and headers in bytes; larger ones are answered 431.", at_least=256
    )
    max_connections: int = _setting(
        10_000, "The largest number of open connections of one process; a further one is answered 503. 0: no limit."
    )
    read_timeout_s: float = _setting(
        30.0,
        "Seconds from the first byte of a request to its last, and until a client reads a part of a response; then the "
        "connection is closed (408).",
        at_least=0.1,
        at_most=_HOUR_S,
    )
    request_timeout_s: float = _setting(
        60.0, "Seconds until a response must have begun; then the response is 504.", at_least=0.1, at_most=_HOUR_S
    )
    keep_alive_s: int = _setting(
        75, "Seconds that an idle connection is kept for the client's next request.", at_most=_HOUR_S
    )
    stop_timeout_s: int = _setting(
        15, "Seconds that the server waits for running requests when it stops.", at_most=_HOUR_S
    )
    gzip_min_bytes: int = _setting(
        1024,
        "The smallest response in bytes that is compressed for a client that accepts gzip. 0: no response is "
        "compressed.",
    )
    cors_origins: tuple[str, ...] = _setting(
        (),
        "Origins whose web pages may send requests to this registry, such as https://ui.example; * is any. None: "
        "no CORS.",
    )
    compat_version: str = _setting(
        "8", "The major version of Confluent Schema Registry whose responses are returned.", choices=COMPAT_VERSIONS
    )
    withhold_new_fields: bool = _setting(
        default=False,
        about="Leave the fields that version 8 added out of responses, unless the request has the header "
        "Confluent-Accept-Unknown-Properties: true.",
    )
    cache_bytes: int = _setting(64 * _MIB, "Bytes of memory in which one process caches responses.", at_most=2**40)
    fast_lane: bool = _setting(default=True, about="Answer the most frequent requests from memory, before routing.")
    log_requests: bool = _setting(default=False, about="Write one log line for each request.")
    associations: bool = _setting(
        default=True,
        about="Store associations of topics with subjects; otherwise all requests about them are answered 404.",
    )
    kafka_cluster_id: str = _setting(
        "", "The id of the Kafka cluster that this registry belongs to, which GET /v1/metadata/id returns."
    )
    max_keys: int = _setting(DEFAULT_MAX_KEYS, "The largest number of keys in the DEK registry.")
    kms_timeout_s: float = _setting(
        DEFAULT_KMS_TIMEOUT_S, "Seconds to wait for a key management service.", at_least=0.01, at_most=_HOUR_S
    )
    max_waiting_writes: int = _setting(
        4096,
        "The largest number of writes of one process that wait for the store; further ones are answered 503.",
        at_least=1,
    )
    write_timeout_s: float = _setting(
        30.0,
        "Seconds from the arrival of a write until it must be stored; then it is answered 503.",
        at_least=0.1,
        at_most=_HOUR_S,
    )
    stale_reads_s: float = _setting(
        300.0,
        "Seconds for which known ids, versions and settings are read from memory while PostgreSQL cannot be reached, "
        "marked as "
        "stale. 0: they are not.",
        at_most=_DAY_S,
    )


SETTINGS: Final = tuple(Setting(each.name, each.default, **each.metadata) for each in fields(ServerSettings))
"""All settings, in the order in which they are shown."""


def masked(value: str) -> str:
    """Return ``value`` without the passwords of URLs in it.

    >>> masked("postgresql://me:secret@db/registry?password=x&pool_size=4")
    'postgresql://me:***@db/registry?password=***&pool_size=4'
    """
    return _PASSWORD_IN_QUERY.sub(r"\1***", _PASSWORD_BEFORE_HOST.sub(r"\1:***@", value))


def shown(value: object) -> str:
    """Return a setting's value as on the command line, without passwords."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return f"{value:g}"
        case _:
            return masked(str(value))
