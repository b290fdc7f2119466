"""A registry with TLS that demands client certificates and names callers by them; certificates, right and wrong ones.

The folder has, for each of :data:`CERTIFICATES`, ``NAME.crt`` and ``NAME.key`` in PEM form and ``NAME.p12`` with both,
and ``authority.pem``, ``authority.p12`` with what signed the server's certificate.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)

from local_services.process import Service, free_port
from strategies.access.certificates import Authority

CERTIFICATES: Final = ("caller", "nobody", "expired", "revoked", "stranger")
"""One that names a caller, one that no rule is about, and three that open no connection."""

STORE_PASSWORD: Final = "a password"
_ACCESS: Final = """\
users: {alice: "$2b$04$abcdefghijklmnopqrstuu7VQ2pXyvLUnrHMUSLbAhPmJ4cBYVdFm"}
rules: [{allow: developer, to: "User:cert:caller", on: "*"}]
"""


def start_certified_registry(folder: Path) -> dict[str, str]:
    """Start the registry with its files in the new ``folder``; return the arguments of ``CertifiedRegistry``."""
    folder.mkdir()
    authority, stranger = Authority(folder), Authority(folder, "another-authority")
    for name in CERTIFICATES:
        issuer = stranger if name == "stranger" else authority
        files = issuer.issue(name, days=-1 if name == "expired" else 1)
        _write_store(folder / f"{name}.p12", *files)
    for each in (authority, stranger):
        _write_truststore(each.file)
    authority.revoke(folder / "revoked.crt")
    certificate, key = authority.issue("server", days=30)
    (folder / "access.yaml").write_text(_ACCESS)
    (folder / "access.yaml").chmod(0o600)
    port, log = free_port(), folder / "certified.log"
    settings = {
        "PORT": str(port),
        "STORE": f"sqlite:///{folder}/certified.db",
        "AUTH_FILE": str(folder / "access.yaml"),
        "TLS_CERTIFICATE": str(certificate),
        "TLS_KEY": str(key),
        "TLS_CLIENT_CERTIFICATES": "required",
        "TLS_CLIENT_CA": str(authority.file),
        "TLS_CRL_FILE": str(authority.revocations),
        "TLS_PRINCIPAL_RULES": "RULE:CN=(caller|expired|revoked|stranger)/$1/",
        "TLS_PRINCIPAL_PREFIX": "cert:",
    }
    environment = {f"COUNTERFOIL_{name}": value for name, value in settings.items()}
    counterfoil = str(Path(sys.executable).with_name("counterfoil"))
    registry = Service("the registry with certificates", [counterfoil, "serve"], log=log, environment=environment)
    url = f"https://127.0.0.1:{port}"
    registry.wait_ready(lambda: f"listening on {url}" in log.read_text())
    return {"url": url, "folder": str(folder)}


@dataclass(frozen=True, slots=True)
class CertifiedRegistry:
    """The registry at ``url``, with the certificates in ``folder``."""

    url: str
    folder: str

    def environment(self) -> dict[str, str]:
        """Return what programs need that use the registry."""
        return {
            "CERTIFIED_URL": self.url,
            "CERTIFICATES": self.folder,
            "CERTIFICATES_PASSWORD": STORE_PASSWORD,
        }


def _write_store(path: Path, certificate: Path, key: Path) -> None:
    """Write certificate and key as one file in PKCS #12 form, as Java's programs read them."""
    loaded = load_pem_private_key(key.read_bytes(), None)
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    path.write_bytes(serialize_key_and_certificates(b"client", loaded, found, None, encryption))  # type: ignore[arg-type]  # it is an EC key


def _write_truststore(authority: Path) -> None:
    found = PKCS12Certificate(x509.load_pem_x509_certificate(authority.read_bytes()), b"authority")
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    authority.with_suffix(".p12").write_bytes(serialize_java_truststore([found], encryption))
