"""Files with private keys that others can read: a warning, or a refusal to start."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from counterfoil.registry.serving.tls import FilesExposed, check_key_files
from counterfoil.registry.settings import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path

KEY = "-----BEGIN PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\n"


@pytest.mark.parametrize("name", ["tls_key", "audit_key_file", "tls_certificate"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o642])
def test_a_key_is_for_its_owner_and_group(
    tmp_path: Path, name: str, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "key.pem"
    file.write_text(CERTIFICATE + KEY)
    file.chmod(mode)
    is_exposed = mode in {0o644, 0o642}
    with caplog.at_level(logging.WARNING):
        check_key_files(ServerSettings(**{name: str(file)}))
    assert [f"{name} {file} holds a private key" in line for line in caplog.messages] == [True] * is_exposed
    strict = ServerSettings(**{name: str(file)}, strict_files=True)
    if is_exposed:
        with pytest.raises(FilesExposed, match=f"{name} .* chmod o-rwx"):
            check_key_files(strict)
    else:
        check_key_files(strict)


def test_certificates_are_public_and_absent_files_are_reported_where_they_are_read(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_text(CERTIFICATE)
    certificate.chmod(0o644)
    absent = str(tmp_path / "absent")
    check_key_files(
        ServerSettings(tls_certificate=str(certificate), tls_key=absent, audit_key_file=absent, strict_files=True)
    )
