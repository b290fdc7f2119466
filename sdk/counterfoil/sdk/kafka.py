"""Kafka clusters: properties files, the settings of both kinds of clients, and reading ranges of a topic.

One configuration is for librdkafka and for Kafka's Java clients: both spellings are accepted. They meet in
librdkafka's names, of which the Java client's are made::

    Java                                        librdkafka
    security.protocol, client.id, …             the same
    sasl.jaas.config (PLAIN, SCRAM)             sasl.username, sasl.password
    ssl.truststore.location, …type=PEM          ssl.ca.location
    ssl.truststore.certificates                 ssl.ca.pem
    ssl.keystore.location, …type=PEM            ssl.certificate.location, ssl.key.location
    ssl.keystore.certificate.chain, …key        ssl.certificate.pem, ssl.key.pem
    ssl.endpoint.identification.algorithm=      ssl.endpoint.identification.algorithm=none

Errors name settings, and never repeat their values, which may be secrets.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.sampling import Offsets, turns_of
from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from counterfoil.sdk.serde import Record


# Properties files, as Kafka's own tools read them (``java.util.Properties``).

_COMMENT: Final = re.compile(r"[ \t\f]*[#!]")
_CONTINUED: Final = re.compile(r"(?:^|[^\\])(?:\\\\)*\\$")
_PAIR: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(text: str) -> dict[str, str]:
    r"""Return the names and values of a properties file; the last one of a name counts.

    >>> read_properties("a.b = 1\n# a comment\nc:two \\\n   lines")
    {'a.b': '1', 'c': 'two lines'}
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _PAIR.match(line)
        if match is not None and match[0]:
            found[_unescaped(match[1])] = _unescaped(match[2])
    return found


def _logical_lines(text: str) -> list[str]:
    """Return the lines that are neither blank nor comments, each with the lines that continue it."""
    lines: list[str] = []
    begun: str | None = None
    for line in re.split(r"\r\n|\r|\n", text):
        if begun is None and _COMMENT.match(line):
            continue
        whole = (begun or "") + line.lstrip(" \t\f")
        if _CONTINUED.search(whole):
            begun = whole[:-1]
        else:
            lines.append(whole)
            begun = None
    return [line for line in (*lines, begun or "") if line]


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROLS.get(match[2], match[2]), text)


# One configuration for librdkafka and for Kafka's Java clients.

_SAME: Final = (
    "security.protocol",
    "sasl.mechanism",
    "ssl.key.password",
    "client.id",
    "client.dns.lookup",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.ms",
    "reconnect.backoff.max.ms",
    "socket.connection.setup.timeout.ms",
)
_JAAS: Final = "sasl.jaas.config"
_USER: Final = "sasl.username"
_PASSWORD: Final = "sasl.password"  # noqa: S105 - the name of a setting
_HOSTS: Final = "ssl.endpoint.identification.algorithm"
_FROM_JAVA: Final[Mapping[str, tuple[str, ...]]] = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.truststore.certificates": ("ssl.ca.pem",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
}
_PEM_OF_JAVA: Final = {
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
_LOCATIONS: Final = {pem.replace(".pem", ".location"): pem for pem in _PEM_OF_JAVA}
_PORTABLE: Final = (*_SAME, _USER, _PASSWORD, _HOSTS, *_PEM_OF_JAVA)
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_LOGIN: Final = re.compile(r"\s*([\w.$]+)\s+\w+\s+(.*?)\s*;\s*", re.DOTALL)
_LOGIN_OPTION: Final = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s"';]+))""")
_PEM_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----")
_PEM_HINT: Final = (
    "a PKCS#12 store is converted by: openssl pkcs12 -in STORE -out FILE.pem; "
    "a JKS first by: keytool -importkeystore -srckeystore JKS -destkeystore STORE -deststoretype PKCS12"
)


def for_librdkafka(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as librdkafka names them; those that have no other name are unchanged.

    Raises ``InvalidSettings`` for those of Java that cannot be translated.
    """
    found = dict(settings)
    if "sasl.mechanisms" in found:
        found.setdefault("sasl.mechanism", found.pop("sasl.mechanisms"))
    for store in ("truststore", "keystore"):
        _translate_store(found, store)
    if _JAAS in found:
        found |= _login(found.pop(_JAAS), found.get("sasl.mechanism"))
    if found.get(_HOSTS) == "":
        found[_HOSTS] = "none"
    return found


def with_files_read(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings with librdkafka's names in which the contents of PEM files replace their paths.

    So they can be used on other machines. Raises ``InvalidSettings`` for a file that cannot be read.
    """
    found = for_librdkafka(settings)
    for location, pem in _LOCATIONS.items():
        if location in found:
            found[pem] = _read(location, found.pop(location))
    for pem in found.keys() & _PEM_OF_JAVA.keys():
        found[pem] = _blocks(found[pem], "PRIVATE KEY" if pem == "ssl.key.pem" else "CERTIFICATE", pem)
    return found


def for_java(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as Kafka's Java clients name them, with the contents of PEM files.

    Raises ``InvalidSettings`` for a setting that only librdkafka has, or that has another meaning there.
    """
    found = with_files_read(settings)
    for name in found:
        if name not in _PORTABLE:
            known = ", ".join(sorted({*_PORTABLE, *_LOCATIONS, _JAAS, *_FROM_JAVA}))
            hint = f"; {_PEM_HINT}" if name.startswith(("ssl.keystore.", "ssl.truststore.")) else ""
            raise InvalidSettings(
                f"The setting {name} cannot be given to both Kafka clients of a bridge, librdkafka and Java's{hint}; "
                f"these can: {known}",
                setting=name,
            )
    java: dict[str, str] = {name: found[name] for name in _SAME if name in found}
    if "security.protocol" in java:
        java["security.protocol"] = java["security.protocol"].upper()
    if java.get("security.protocol", "").startswith("SASL_"):
        java[_JAAS] = _jaas(found)
    if _HOSTS in found:
        java[_HOSTS] = "" if found[_HOSTS] == "none" else found[_HOSTS]
    return java | _java_stores(found)


def _translate_store(found: dict[str, str], store: str) -> None:
    """Replace Java's names for a store of PEM texts; librdkafka itself has a PKCS#12 ``ssl.keystore.location``."""
    kind, location = found.pop(f"ssl.{store}.type", None), f"ssl.{store}.location"
    if kind is not None and kind.upper() != "PEM":
        raise InvalidSettings(f"ssl.{store}.type must be PEM; {_PEM_HINT}", setting=f"ssl.{store}.type")
    if kind is None and location in found and store == "truststore":
        raise InvalidSettings(f"{location} needs ssl.{store}.type=PEM, and a PEM file; {_PEM_HINT}", setting=location)
    for name, others in _FROM_JAVA.items():
        if name in found and name.startswith(f"ssl.{store}.") and not (name == location and kind is None):
            found |= dict.fromkeys(others, found.pop(name))


def _login(jaas: str, mechanism: str | None) -> dict[str, str]:
    """Return user and password of ``sasl.jaas.config``."""
    match = _LOGIN.fullmatch(jaas)
    module = match[1] if match else ""
    if mechanism not in _MODULES or module != _MODULES[mechanism]:
        raise InvalidSettings(
            f"{_JAAS} must be the login module of sasl.mechanism, and ends with a semicolon; "
            f"the mechanisms {', '.join(_MODULES)} are supported there",
            setting=_JAAS,
        )
    options = {
        each[1]: re.sub(r"\\(.)", r"\1", each[2] or each[3] or "") or each[4] or ""
        for each in _LOGIN_OPTION.finditer(match[2] if match else "")
    }
    if not {"username", "password"} <= options.keys():
        raise InvalidSettings(f'{_JAAS} needs username="…" and password="…"', setting=_JAAS)
    return {_USER: options["username"], _PASSWORD: options["password"]}


def _jaas(found: Mapping[str, str]) -> str:
    mechanism = found.get("sasl.mechanism", "")
    if mechanism not in _MODULES or _USER not in found or _PASSWORD not in found:
        raise InvalidSettings(
            f"A bridge needs {_USER}, {_PASSWORD} and one of these in sasl.mechanism: {', '.join(_MODULES)}",
            setting="sasl.mechanism",
        )
    user, password = (re.sub(r'(["\\])', r"\\\1", found[name]) for name in (_USER, _PASSWORD))
    return f'{_MODULES[mechanism]} required username="{user}" password="{password}";'


def _java_stores(found: Mapping[str, str]) -> dict[str, str]:
    """Return the certificates and the key, as texts that Java reads without files."""
    java = {name: found[pem] for pem, name in _PEM_OF_JAVA.items() if pem in found}
    for store in ("truststore", "keystore"):
        if any(name.startswith(f"ssl.{store}.") for name in java):
            java[f"ssl.{store}.type"] = "PEM"
    key = java.get("ssl.keystore.key")
    if (key is None) != ("ssl.keystore.certificate.chain" not in java):
        raise InvalidSettings(
            "A client certificate needs a key, and a key a certificate: ssl.certificate.location, ssl.key.location",
            setting="ssl.key.location",
        )
    if key is not None and not re.search("BEGIN (ENCRYPTED )?PRIVATE KEY", key):
        raise InvalidSettings(
            "The key of ssl.key.location is not PKCS#8, which Java needs: openssl pkcs8 -topk8 -in FILE -out NEW",
            setting="ssl.key.location",
        )
    return java


def _read(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not a PEM file"
        raise InvalidSettings(f"The file {path} of {name} cannot be read: {problem}", setting=name) from None


def _blocks(pem: str, kind: str, name: str) -> str:
    """Return the blocks of one kind in lines, which OpenSSL needs; a text may have certificates and a key."""
    blocks = [
        "\n".join((f"-----BEGIN {each[1]}-----", *wrap("".join(each[2].split()), 64), f"-----END {each[1]}-----", ""))
        for each in _PEM_BLOCK.finditer(pem)
        if each[1].endswith(kind)
    ]
    if not blocks:
        raise InvalidSettings(f"{name} has no PEM block {kind}", setting=name)
    return "".join(blocks)


# How a Kafka cluster is reached.


@dataclass(frozen=True, slots=True)
class KafkaAccess:
    """How a Kafka cluster is reached: its addresses, and further settings, such as those of its login.

    The settings are spelt as librdkafka or as Kafka's Java clients name them; they are not in ``repr``.
    """

    servers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client_settings(self) -> dict[str, object]:
        """Return the settings of a client of confluent-kafka, which is librdkafka's."""
        return {"bootstrap.servers": self.servers, "log_level": 0, **for_librdkafka(self.settings)}

    def java_settings(self) -> dict[str, str]:
        """Return the settings of a Java client; raise ``InvalidSettings`` if it has no such settings."""
        return {"bootstrap.servers": self.servers, **for_java(self.settings)}

    def with_files_read(self) -> KafkaAccess:
        """Return the same access for other machines: with the contents of certificate files instead of their paths."""
        return replace(self, settings=with_files_read(self.settings))


# The records of a topic in ranges of offsets, and the settings of a consumer that reads them.
#
# The consumer is given its partitions, so that it joins no group, and it commits nothing.

READING: Final[Mapping[str, object]] = {
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 50,
}
"""The settings of a consumer that reads ranges, besides addresses and ``group.id``."""

_BATCH_MESSAGES: Final = 5_000
_POLL_S: Final = 0.2
_DROP_S: Final = 0.01


class RangeReader:
    """Reads ranges of one topic with a ``consumer`` of confluent-kafka.

    ``failed`` makes the exception for a ``KafkaError``; ``silent`` the one for a topic that gives nothing for
    ``idle_s`` seconds although its end is not reached. With ``waits_for_end``, the end of what can be read now is not
    the end of a range: a transaction may still be open.
    """

    def __init__(
        self,
        consumer: Any,
        topic: str,
        *,
        idle_s: float,
        failed: Callable[[Any], Exception],
        silent: Callable[[], Exception],
        waits_for_end: bool = True,
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._idle_s = idle_s
        self._failed = failed
        self._silent = silent
        self._waits_for_end = waits_for_end

    def read(self, ranges: Mapping[int, tuple[int, int | None]]) -> Iterator[list[Record]]:
        """Yield lists of the records in ranges of offsets, the end of each exclusive, in order within a partition.

        A range without an end is read for ever. Offsets without a record, as after compaction, are left out.
        """
        from confluent_kafka import TopicPartition

        rest = {number: end for number, (first, end) in ranges.items() if end is None or first < end}
        if not rest:
            return
        self._consumer.assign([TopicPartition(self._topic, number, ranges[number][0]) for number in sorted(rest)])
        missing = sum(end - ranges[number][0] for number, end in rest.items() if end is not None)
        heard_s = time.monotonic()
        is_beyond = False
        while rest:
            is_endless = None in rest.values()
            if is_beyond:  # a partition that is done gives more and more, which others wait behind
                messages = self._consumer.consume(_BATCH_MESSAGES, timeout=_DROP_S)
            else:
                most = 1 if is_endless else max(1, min(_BATCH_MESSAGES, missing))
                messages = self._consumer.consume(most, timeout=_POLL_S)
            if messages:
                heard_s = time.monotonic()
            elif not is_endless and time.monotonic() - heard_s > self._idle_s:
                raise self._silent()
            found = self._within(messages, rest)
            missing -= len(found)
            is_beyond = not is_endless and len(messages) > len(found)
            if found:
                yield found

    def sample(self, offsets: Offsets) -> Iterator[list[Record]]:
        """Yield lists of the records at these offsets."""
        for turn in turns_of(offsets):
            for messages in self.read(turn.spans):
                found = [each for each in messages if turn.takes(each.partition(), each.offset())]
                if found:
                    yield found

    def _within(self, messages: list[Record], rest: dict[int, int | None]) -> list[Record]:
        """Return the records among ``messages`` that are in range; remove partitions that reach their end."""
        from confluent_kafka import KafkaError

        found = []
        for message in messages:
            partition, error = message.partition(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's own name
                raise self._failed(error)
            if partition not in rest:
                continue
            end = rest[partition]
            if error is None and (end is None or message.offset() < end):
                found.append(message)
            is_end = error is not None and not self._waits_for_end
            if end is not None and (is_end or message.offset() >= end - 1):
                del rest[partition]
        return found
