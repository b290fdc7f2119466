"""One configuration for librdkafka and for Kafka's Java clients.

Both spellings are accepted. They meet in librdkafka's names, of which the Java client's are made::

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
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

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
