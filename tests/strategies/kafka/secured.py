"""Listeners of a broker that require a login or a client certificate, and the properties files of their clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from local_services import Listener
from strategies.access.certificates import Authority

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from local_services import KafkaClient

_MODULES: Final = "org.apache.kafka.common.security"
PLAIN_USER, PLAIN_PASSWORD = "porter", "a plain secret"
SCRAM_USER, SCRAM_PASSWORD = "ride bridge", 'a "scram" \\ secret;'


def secured_listeners(folder: Path) -> tuple[Listener, ...]:
    """Return a listener with logins and one with certificates, which are written to ``folder``."""
    authority = Authority(folder)
    for name in ("broker", "client"):
        certificate, key = authority.issue(name)
        (folder / f"{name}.pem").write_bytes(key.read_bytes() + certificate.read_bytes())
    login = {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "plain.sasl.jaas.config": f'{_MODULES}.plain.PlainLoginModule required user_{PLAIN_USER}="{PLAIN_PASSWORD}";',
        "scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
    }
    tls = {**_stores(folder, "broker"), "ssl.client.auth": "required"}
    return Listener("LOGIN", "SASL_PLAINTEXT", login), Listener("TLS", "SSL", tls)


def _stores(folder: Path, name: str) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(folder / f"{name}.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / "authority.pem"),
    }


@dataclass(frozen=True)
class SecuredKafka:
    """The addresses of a broker's secured listeners; ``certificates`` is the folder of ``secured_listeners``."""

    login: str
    tls: str
    certificates: Path

    def add_user(self, broker: KafkaClient) -> None:
        """Give the user of ``scram_file`` its password."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(SCRAM_USER, info, SCRAM_PASSWORD.encode())
        for changed in broker.admin.alter_user_scram_credentials([change]).values():
            changed.result(60)

    def scram_file(self, path: Path) -> Path:
        """Write the settings of a client that logs in, as Java's clients name them."""
        quoted = SCRAM_PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
        jaas = f'{_MODULES}.scram.ScramLoginModule required username="{SCRAM_USER}" password="{quoted}";'
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}
        return _written(path, {"bootstrap.servers": self.login, **login})

    def plain_settings(self) -> dict[str, str]:
        """Return the settings of a client that logs in with another mechanism, as librdkafka names them."""
        login = {"sasl.username": PLAIN_USER, "sasl.password": PLAIN_PASSWORD}
        return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **login}

    def tls_file(self, path: Path) -> Path:
        """Write the settings of a client with a certificate, as Java's clients name them."""
        stores = _stores(self.certificates, "client")
        return _written(path, {"bootstrap.servers": self.tls, "security.protocol": "SSL", **stores})


def _written(path: Path, settings: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value.replace(chr(92), chr(92) * 2)}\n" for name, value in settings.items()))
    return path
