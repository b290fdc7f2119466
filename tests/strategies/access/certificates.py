"""Certificates for tests: an authority, and certificates that it signs, as PEM files."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DAY = dt.timedelta(days=1)


class Authority:
    """A certificate authority; ``file`` is its certificate, ``revocations`` its list of revoked certificates."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        certificate = _unsigned(self._name, self._name, self._key).add_extension(constraints, critical=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(certificate.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        self.revocations = folder / f"{name}.crl"

    def issue(
        self,
        name: str,
        *,
        subject: str | None = None,
        names: Sequence[x509.GeneralName] = (),
        days: float = 1,
        password: bytes | None = None,
    ) -> tuple[Path, Path]:
        """Write a certificate for ``name`` at 127.0.0.1, and its key; an earlier one of this name is replaced.

        ``subject`` is another distinguished name (RFC 4514), ``names`` are further alternative names.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        distinguished = _named(name) if subject is None else x509.Name.from_rfc4514_string(subject)
        every = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), *names])
        certificate = _unsigned(distinguished, self._name, key, days=days).add_extension(every, critical=False)
        files = self._folder / f"{name}.crt", self._folder / f"{name}.key"
        encryption = NoEncryption() if password is None else BestAvailableEncryption(password)
        files[0].write_bytes(certificate.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        files[1].touch(mode=0o600)
        files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
        return files

    def revoke(self, *certificates: Path) -> None:
        """Write the list of revoked certificates anew: these are on it."""
        now = dt.datetime.now(dt.UTC)
        listed = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        listed = listed.last_update(now - _DAY).next_update(now + _DAY)
        for each in certificates:
            serial = x509.load_pem_x509_certificate(each.read_bytes()).serial_number
            revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now - _DAY).build()
            listed = listed.add_revoked_certificate(revoked)
        self.revocations.write_bytes(listed.sign(self._key, SHA256()).public_bytes(Encoding.PEM))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: float = 1
) -> x509.CertificateBuilder:
    """Return a certificate that is valid from two days ago until ``days`` from now."""
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * _DAY)
        .not_valid_after(now + days * _DAY)
    )
