"""The certificates of a connection, and the context that httpx is given; files that change are read again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.sdk.errors import InvalidSettings

if TYPE_CHECKING:
    import ssl


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The certificates and keys of the connection: paths of PEM files.

    ``ca_file`` None: the certificate authorities that come with httpx. ``verify`` false: any certificate is accepted.
    A certificate and key that are replaced are used from the next new connection on.
    """

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = field(default=None, repr=False)
    verify: bool = True


class TlsFiles:
    """The TLS context of one client. Raises ``InvalidSettings`` for files that cannot be used."""

    def __init__(self, tls: TlsSettings) -> None:
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        self._versions = self._current_versions()

    def context(self) -> ssl.SSLContext | bool:
        """Return the context for httpx; True stands for its own."""
        if self._tls == TlsSettings():
            return True
        if self._context is None:
            self._context = _context_of(self._tls)
        return self._context

    def refresh(self) -> None:
        """Read the files again if they have changed; new connections then use them.

        While the certificate and the key do not belong together, since only one of them has been replaced, the known
        pair stays in use.
        """
        if self._context is None or not (self._tls.certificate_file or self._tls.ca_file):
            return
        versions = self._current_versions()
        if versions == self._versions:
            return
        try:
            _context_of(self._tls)  # the context in use is changed only when the files can be used
        except InvalidSettings:
            return
        _load(self._context, self._tls)
        self._versions = versions

    def _current_versions(self) -> tuple[object, ...]:
        files = (self._tls.ca_file, self._tls.certificate_file, self._tls.key_file)
        return tuple(_version(Path(file)) for file in files if file)


def _version(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


def _context_of(tls: TlsSettings) -> ssl.SSLContext:
    import ssl

    try:
        context = ssl.create_default_context(cafile=tls.ca_file) if tls.ca_file else _default_context()
        if not tls.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        _load(context, tls)
    except (OSError, ValueError) as error:
        files = ", ".join(name for name in (tls.ca_file, tls.certificate_file, tls.key_file) if name)
        raise InvalidSettings(f"The TLS files {files} cannot be used: {error}", setting="tls") from error
    return context


def _load(context: ssl.SSLContext, tls: TlsSettings) -> None:
    if tls.ca_file:
        context.load_verify_locations(cafile=tls.ca_file)
    if tls.certificate_file:
        context.load_cert_chain(tls.certificate_file, tls.key_file, tls.key_password)


def _default_context() -> ssl.SSLContext:
    """Return the certificate authorities that come with httpx."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)
