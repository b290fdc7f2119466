"""What settings need of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from counterfoil.registry.settings_reading import SettingsNotUsable

if TYPE_CHECKING:
    from counterfoil.registry.settings import ServerSettings

_NEEDS: Final = (
    ("tls_certificate", "tls_key"),
    ("tls_key", "tls_certificate"),
    ("tls_client_ca", "tls_certificate"),
    ("tls_crl_file", "tls_client_ca"),
    ("tls_principal_rules", "tls_client_ca"),
    ("tls_principal_prefix", "tls_principal_rules"),
    ("redirect_port", "tls_certificate"),
    ("redirect_port", "public_url"),
    ("audit_reads", "audit_file"),
)
"""Settings that have an effect only with another one."""

_NO_CERTIFICATES: Final = "none"


def check_together(settings: ServerSettings) -> None:
    """Raise ``SettingsNotUsable`` for settings that are right one by one, and not together."""
    conflict = _conflict(settings)
    if conflict is not None:
        raise SettingsNotUsable(conflict)


def _conflict(settings: ServerSettings) -> str | None:
    for name, needed in _NEEDS:
        if getattr(settings, name) and not getattr(settings, needed):
            return f"{name} is set, and needs {needed}, which is not set"
    asks_for_certificates = settings.tls_client_certificates != _NO_CERTIFICATES
    if asks_for_certificates and not settings.tls_client_ca:
        return (
            f"tls_client_certificates is {settings.tls_client_certificates}, and needs tls_client_ca, which is not set"
        )
    if settings.tls_client_ca and not asks_for_certificates:
        return "tls_client_ca is set, and tls_client_certificates is none; expected optional or required"
    if settings.hsts_max_age_s and not (settings.tls_certificate or settings.auth_file):
        return (
            "hsts_max_age_s is set, and needs tls_certificate, or auth_file with a proxy that ends TLS; neither is set"
        )
    if settings.redirect_port and settings.redirect_port == settings.port:
        return f"redirect_port and port are both {settings.port}; expected two ports"
    if settings.public_url and not _is_address(settings.public_url):
        return f"public_url is {settings.public_url[:80]!r}; expected an address such as https://registry.example"
    return None


def _is_address(url: str) -> bool:
    """Return whether ``url`` is a scheme, a host, and perhaps a port and a path."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    is_plain = url.isascii() and url.isprintable() and not {" ", "@", "?", "#"} & set(url)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and has_port and is_plain
