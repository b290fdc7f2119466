"""The server's settings, as one table: each has one name in three spellings and says what it may be.

``--read-timeout-s`` on the command line, ``COUNTERFOIL_READ_TIMEOUT_S`` in the environment, ``read_timeout_s`` in a
settings file. The table is :class:`ServerSettings` itself: options, reading, printing and the reference page come from
its fields.
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
_MAX_COUNT: Final = 2**31 - 1
_PASSWORD_BEFORE_HOST: Final = re.compile(r"(://[^:@/?#]*):.*@")
_PASSWORD_IN_QUERY: Final = re.compile(r"([?&](?:ssl)?password=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table.

    ``default`` has the setting's type: a text, an integer, seconds (float), a switch (bool), or a list of texts
    (tuple). ``choices`` are the only texts there are, when there are any; ``at_least`` and ``at_most`` bound numbers.
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
        """What a value must be, in words."""
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
    """How a registry runs; what each field means is said in the table, ``docs/reference/settings.md``."""

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
        10 * _MIB, "The largest request body that is taken, unpacked if it came packed; above it 413.", at_least=1
    )
    max_header_bytes: int = _setting(
        64 * 1024, "The largest request line and headers that are taken; above it 431.", at_least=256
    )
    max_connections: int = _setting(
        10_000, "Open connections of one process at most; one more is answered 503. 0: no limit."
    )
    read_timeout_s: float = _setting(
        30.0,
        "Seconds from the first byte of a request to its last, and for a client to take some of an answer; then the "
        "connection is cut (408).",
        at_least=0.1,
        at_most=_HOUR_S,
    )
    request_timeout_s: float = _setting(
        60.0, "Seconds until an answer must have begun; then it is 504.", at_least=0.1, at_most=_HOUR_S
    )
    keep_alive_s: int = _setting(
        75, "Seconds that an idle connection is kept for the client's next request.", at_most=_HOUR_S
    )
    stop_timeout_s: int = _setting(
        15, "Seconds that requests under way have to end when the server stops.", at_most=_HOUR_S
    )
    gzip_min_bytes: int = _setting(
        1024, "The smallest answer that is packed for a client that accepts gzip. 0: none is."
    )
    cors_origins: tuple[str, ...] = _setting(
        (), "Origins whose web pages may ask this registry, such as https://ui.example; * is any. None: no CORS."
    )
    compat_version: str = _setting(
        "8", "The major version of Confluent Schema Registry whose answers are given.", choices=COMPAT_VERSIONS
    )
    withhold_new_fields: bool = _setting(
        default=False,
        about="Leave the fields that version 8 added out of answers, unless the request says "
        "Confluent-Accept-Unknown-Properties: true.",
    )
    cache_bytes: int = _setting(64 * _MIB, "Memory of one process for answers that are given again.", at_most=2**40)
    fast_lane: bool = _setting(default=True, about="Answer from memory, ahead of routing, what is asked most.")
    log_requests: bool = _setting(default=False, about="Write one log line a request.")
    associations: bool = _setting(
        default=True, about="Keep associations of topics with subjects; without, all calls about them are answered 404."
    )
    kafka_cluster_id: str = _setting(
        "", "The id of the Kafka cluster that this registry is for, which GET /v1/metadata/id answers."
    )
    max_keys: int = _setting(DEFAULT_MAX_KEYS, "How many keys the DEK registry takes.")
    kms_timeout_s: float = _setting(
        DEFAULT_KMS_TIMEOUT_S, "Seconds that a key management service may take.", at_least=0.01, at_most=_HOUR_S
    )
    max_waiting_writes: int = _setting(
        4096, "Writes of one process that may wait for the store; further ones are refused with 503.", at_least=1
    )
    write_timeout_s: float = _setting(
        30.0,
        "Seconds that a write may wait for the store and take; then it is answered with 503.",
        at_least=0.1,
        at_most=_HOUR_S,
    )


SETTINGS: Final = tuple(Setting(each.name, each.default, **each.metadata) for each in fields(ServerSettings))
"""All settings, in the order in which they are shown."""


def masked(value: str) -> str:
    """``value`` without the passwords of a URL in it.

    >>> masked("postgresql://me:secret@db/registry?password=x&pool_size=4")
    'postgresql://me:***@db/registry?password=***&pool_size=4'
    """
    return _PASSWORD_IN_QUERY.sub(r"\1***", _PASSWORD_BEFORE_HOST.sub(r"\1:***@", value))


def shown(value: object) -> str:
    """A setting's value as it is written on the command line, without passwords."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return f"{value:g}"
        case _:
            return masked(str(value))
