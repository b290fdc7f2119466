"""The server's settings as one table: each has one name in three spellings, and its permitted values.

``--read-timeout-s`` on the command line, ``COUNTERFOIL_READ_TIMEOUT_S`` in the environment, ``read_timeout_s`` in a
settings file. The table is :class:`ServerSettings` itself: options, reading, printing and the reference page are made
from its fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")

ENVIRONMENT_PREFIX: Final = "COUNTERFOIL_"
COMPAT_VERSIONS: Final = ("8", "7", "6", "5")
DENIED_READS: Final = ("403", "404")
AUDIT_FAILURES: Final = ("continue", "refuse")
NO_PAGES: Final = "off"
PAGES: Final = (NO_PAGES, "read")
NAMES_IN_PATHS: Final = "path"
NAMES_IN_LINKS: Final = (NAMES_IN_PATHS, "query")
ON_OFF: Final = ("on", "off")
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
    ``parse_item`` raises ``ValueError`` for a text that is not permitted in a list.
    """

    name: str
    default: Any
    about: str
    at_least: float = 0
    at_most: float = _MAX_COUNT
    choices: tuple[str, ...] = ()
    parse_item: Callable[[str], object] | None = None

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
    parse_item: Callable[[str], object] | None = None,
) -> T:
    facts = {
        "about": about,
        "at_least": at_least,
        "at_most": at_most,
        "choices": choices,
        "parse_item": parse_item,
    }
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
    judgement_processes: int = _setting(
        2,
        "The largest number of processes that carry out long comparisons of schemas, for all workers together; they "
        "are started when first needed, and end after a minute without work.",
        at_least=1,
        at_most=64,
    )
    judgement_timeout_s: float = _setting(
        30.0,
        "Seconds of processor time after which a process that compares schemas is ended; the request is answered 503. "
        "Comparisons count their steps, and end long before.",
        at_least=0.1,
        at_most=_HOUR_S,
    )
    judgement_memory_bytes: int = _setting(
        512 * _MIB,
        "Bytes of memory that each of these processes may have; a comparison that needs more is answered 503.",
        at_least=128 * _MIB,
        at_most=2**40,
    )
    judgement_limit: int = _setting(
        8,
        "Long comparisons of one caller that may run or wait at a time, in each worker; further ones are answered 503. "
        "Callers take turns. 0: only the limit for all callers together, which is 64.",
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
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "Names by which a server that listens on a loopback address without authentication may be requested, besides "
        "localhost, names without a dot, and loopback addresses; such as that of a proxy on this machine. * is any.",
    )
    auth_file: str = _setting(
        "", "The access file: who may do what. It is read again when it changes. None: the store alone says it."
    )
    require_auth: bool = _setting(
        default=False,
        about="Refuse to start without authentication: with no access file, on a store that demands no credentials.",
    )
    denied_reads: str = _setting(
        "403",
        "The status of a denied read: 403, or 404, exactly as if it were absent, for tenants who may not know of each "
        "other's names and ids.",
        choices=DENIED_READS,
    )
    refusals: str = _setting(
        "on",
        "Whether refused registrations are kept, with their texts, for those who may read the subject: the newest "
        "10,000, for 30 days, in the database of the search index; in memory without one.",
        choices=ON_OFF,
    )
    password_checks: int = _setting(
        2, "The largest number of passwords that are examined at the same time.", at_least=1, at_most=64
    )
    wrong_passwords_percent: int = _setting(
        5,
        "The share of one core, in percent, that the examination of wrong passwords may take after the first two "
        "seconds of it. Other requests keep the rest; new logins wait meanwhile. 100: no limit.",
        at_least=1,
        at_most=100,
    )
    auth_cache_s: float = _setting(
        300.0, "Seconds for which right credentials are remembered. 0: every request costs a hash.", at_most=_DAY_S
    )
    token_max_days: int = _setting(365, "The longest life of an API token in days.", at_least=1, at_most=36_500)
    rate_limit: int = _setting(
        0,
        "Requests of one caller in a second, in each process; further ones are answered 429. Requests without a caller "
        "are counted by address. 0: no limit.",
    )
    rate_burst: int = _setting(
        0, "Requests that one caller may send at once, within these limits. 0: as many as in a second."
    )
    write_rate_limit: int = _setting(
        0, "Like rate_limit, for requests that are not GET, HEAD or OPTIONS alone. 0: no limit."
    )
    stream_limit: int = _setting(
        10,
        "Event streams that one caller may have open at a time, in each process, where authentication is set up. "
        "0: any number.",
    )
    tls_certificate: str = _setting(
        "", "PEM file with the server's certificate and those between it and its authority. None: no TLS."
    )
    tls_key: str = _setting(
        "",
        "PEM file with the key of tls_certificate. Its password is read from COUNTERFOIL_TLS_KEY_PASSWORD, or from the "
        "file that COUNTERFOIL_TLS_KEY_PASSWORD_FILE names.",
    )
    tls_min_version: str = _setting("1.2", "The oldest accepted version of TLS.", choices=("1.2", "1.3"))
    tls_client_certificates: str = _setting(
        "none", "Whether clients must have a certificate of tls_client_ca.", choices=("none", "optional", "required")
    )
    tls_client_ca: str = _setting("", "PEM file with the authorities whose client certificates are accepted.")
    tls_crl_file: str = _setting(
        "",
        "PEM file with the lists of revoked certificates of these authorities; an authority without a list that is "
        "still valid makes its certificates unusable. None: no certificate is revoked.",
    )
    tls_principal_rules: str = _setting(
        "",
        "Rules for the names of callers in their certificates, such as RULE:CN=(.*),OU=apps/$1/ or SAN-URI:DEFAULT. "
        "None: a certificate opens the connection, and names nobody.",
    )
    tls_principal_prefix: str = _setting(
        "", "The text before the names that tls_principal_rules finds, so that they are no names of other users."
    )
    public_url: str = _setting(
        "", "The address of this server for browsers, such as https://registry.example; redirect_port sends them there."
    )
    public_path: str = _setting(
        "",
        "The beginning of paths that a proxy in front of this server strips, such as /registry; links of pages begin "
        "with it. None: the path of public_url.",
    )
    ui: str = _setting(
        "read", "The web pages under /ui: off, or read for pages that show and change nothing.", choices=PAGES
    )
    ui_names: str = _setting(
        NAMES_IN_PATHS,
        "Where links of pages have the names of subjects: in the path, or in the query for a proxy that decodes %2F. "
        "Both are always answered.",
        choices=NAMES_IN_LINKS,
    )
    redirect_port: int = _setting(
        0,
        "A further port, without TLS: pages are redirected to public_url, and every other request is answered 403, "
        "since its credentials were not encrypted. 0: no such port.",
        at_most=65535,
    )
    hsts_max_age_s: int = _setting(
        0,
        "Seconds for which browsers use TLS alone for this server (HSTS); sent over TLS alone, that of the server "
        "or of a proxy that the access file lists. 0: they are not asked to.",
    )
    audit_file: str = _setting(
        "", "The file in which writes, refused requests and denials are recorded; - is standard output. None: no file."
    )
    audit_max_bytes: int = _setting(
        100 * _MIB, "Bytes after which the audit file is renamed and another begun.", at_least=1024, at_most=2**40
    )
    audit_key_file: str = _setting(
        "",
        "The private Ed25519 key (PEM) that signs heads of the audit. It is read again when it changes. None: no key.",
    )
    strict_files: bool = _setting(
        default=False,
        about="Refuse to start where others than owner and group can read the keys of TLS or of the audit, or a file "
        "with hashes of passwords; without it that is a warning in the log.",
    )
    audit_reads: tuple[str, ...] = _setting(
        (),
        "Subjects whose successful reads are recorded in the audit file, as in rules: orders.*, :.c:orders-value, "
        "context:.c, registry. They are not answered from memory. None: no reads are recorded.",
    )
    audit_keep_days: int = _setting(
        400, "Days for which the store keeps events of the audit; the journal is kept.", at_least=1, at_most=36_500
    )
    audit_on_failure: str = _setting(
        "continue",
        "While the audit file cannot be written: continue and count what is lost, or refuse all writes (503).",
        choices=AUDIT_FAILURES,
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
    search: str = _setting(
        "on",
        "Whether an index for the search is kept, in a file beside a SQLite store or in a schema of the database; "
        "without it subjects are found by prefix, and ids and guids.",
        choices=ON_OFF,
    )
    usage_active_days: float = _setting(
        7.0, "Days without an observed read after which a reader counts as stale.", at_least=0.01, at_most=3650
    )
    usage_stale_days: float = _setting(
        30.0,
        "Days without an observed read after which a reader counts as gone, and no longer for verdicts.",
        at_least=0.01,
        at_most=3650,
    )
    webhook_networks: tuple[str, ...] = _setting(
        (),
        "Networks that webhooks may be sent to beside the public one, such as 10.0.0.0/8 or 127.0.0.1; there also "
        "without encryption.",
        parse_item=ip_network,
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
