"""TLS of the server: the files in force, their change without closing a connection, and keys that others can read."""

from __future__ import annotations

import logging
import math
import os
import ssl
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509

from counterfoil.registry.access.file.values import FileSnapshot, InvalidAccessFile, is_being_written, is_unchanged
from counterfoil.registry.logs import LOGGER
from counterfoil.registry.settings_reading import KEY_PASSWORD_VARIABLE
from counterfoil.registry.telemetry import TlsState
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.registry.access.file.values import FileState
    from counterfoil.registry.settings import ServerSettings


# TLS of the server: the files that are in force, and the change to others without closing a connection.
#
# Each content of the files is a context of its own, so that certificate, key, authorities and revocations change at
# once. New connections are made with the newest one (:class:`NewestContext`). OpenSSL's callback for the name of the
# server could put another certificate in force as well, but the sessions that the first context remembers would be
# resumed after their certificate was revoked.

LOOK_EVERY_S: Final = 10.0

_VERIFY_MODES: Final = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_CRL: Final = b"-----BEGIN X509 CRL-----"
_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_MAX_PASSWORD_BYTES: Final = 1024
_WARNED_BEFORE_S: Final = {"certificate": 14 * 86_400.0, "list of revoked certificates": 3_600.0}
_WARN_EVERY_S: Final = 86_400.0


class TlsNotUsable(CounterfoilError):
    """Files of TLS with which a server cannot be started; the message names the file."""

    exit_code = ExitCode.PRECONDITION


@dataclass(frozen=True, slots=True)
class ServerTlsFiles:
    """Which files a server's TLS is made of, its oldest version, and whether clients must have certificates."""

    certificate: Path
    key: Path
    min_version: str
    verify_mode: ssl.VerifyMode
    client_ca: Path | None
    revocations: Path | None


def tls_files(settings: ServerSettings) -> ServerTlsFiles:
    """Return the files that ``settings`` name."""
    return ServerTlsFiles(
        certificate=Path(settings.tls_certificate),
        key=Path(settings.tls_key),
        min_version=settings.tls_min_version,
        verify_mode=_VERIFY_MODES[settings.tls_client_certificates],
        client_ca=Path(settings.tls_client_ca) if settings.tls_client_ca else None,
        revocations=Path(settings.tls_crl_file) if settings.tls_crl_file else None,
    )


class NewestContext(ssl.SSLContext):
    """Makes each connection with the context that is ``newest`` at that moment."""

    newest: ssl.SSLContext

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Return the TLS object of a new connection, as the event loop asks for it."""
        return self.newest.wrap_bio(*args, **options)


class ServingTls:
    """The TLS of a running server; ``context`` is what its sockets are opened with.

    Making one raises ``TlsNotUsable`` if the files cannot be used. Later such files are logged, and those before them
    stay in force.
    """

    def __init__(
        self,
        files: ServerTlsFiles,
        *,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._environment = environment
        self._clock = clock
        self._states: tuple[FileState, ...] = ()
        self._ends_s: dict[str, float] = {}
        self._warned_s = 0.0
        self._are_files_valid = True
        self.context = NewestContext(ssl.PROTOCOL_TLS_SERVER)
        self._load()
        self._warn_of_end()

    def state(self) -> TlsState:
        """Return the state of the certificate, for measures."""
        return TlsState(self._ends_s["certificate"], self._are_files_valid)

    def look(self, *, at_once: bool = False) -> None:
        """Put the files in force if they have changed; unless ``at_once``, not those of less than a second ago."""
        now_ns = int(self._clock() * 1e9)
        if not is_unchanged(self._states) and (at_once or not is_being_written(self._states, now_ns=now_ns)):
            try:
                self._load()
                LOGGER.info("the files of TLS were read again")
            except TlsNotUsable as mistake:
                self._are_files_valid = False
                LOGGER.error("the files of TLS cannot be used, those before stay in force: %s", mistake)
        self._warn_of_end()

    def _load(self) -> None:
        """Read all files and put them in force, or raise ``TlsNotUsable``."""
        read = FileSnapshot()
        try:
            password = _key_password(self._environment, read)
            context, ends_s = _context_of(self._files, read, password)
        except InvalidAccessFile as mistake:
            raise TlsNotUsable(str(mistake)) from None
        finally:
            self._states = read.states
        self.context.newest = context
        self._ends_s, self._are_files_valid, self._warned_s = ends_s, True, 0.0

    def _warn_of_end(self) -> None:
        now_s = self._clock()
        if now_s - self._warned_s < _WARN_EVERY_S:
            return
        self._warned_s = now_s
        for what, ends_s in self._ends_s.items():
            if ends_s - now_s < _WARNED_BEFORE_S[what]:
                hours = round((ends_s - now_s) / 3600)
                LOGGER.warning("the %s expires soon, or has expired", what, extra={"hours_left": hours})


def _context_of(
    files: ServerTlsFiles, read: FileSnapshot, password: bytes | None
) -> tuple[ssl.SSLContext, dict[str, float]]:
    """Return a context of the files as they are now, and when what is in them expires."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[files.min_version]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    ends_s = {"certificate": _expiry(files.certificate, read.read(files.certificate))}
    read.read(files.key)

    def given_password() -> bytes:
        if password is None:
            raise TlsNotUsable(
                f"{files.key} is encrypted; set {KEY_PASSWORD_VARIABLE}, or {KEY_PASSWORD_VARIABLE}_FILE to a file"
            )
        return password

    try:
        context.load_cert_chain(files.certificate, files.key, given_password)
    except (ssl.SSLError, OSError) as mistake:
        raise TlsNotUsable(_pair_problem(files, mistake, has_password=password is not None)) from None
    if files.client_ca is not None:
        read.read(files.client_ca)
        _ask_for_certificates(context, files.client_ca, files.verify_mode)
    if files.revocations is not None:
        ends_s["list of revoked certificates"] = _list_end(files.revocations, read.read(files.revocations))
        context.load_verify_locations(files.revocations)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    return context, ends_s


def _ask_for_certificates(context: ssl.SSLContext, authorities: Path, mode: ssl.VerifyMode) -> None:
    """Have clients prove who they are. There are no tickets, with which a session would outlive its certificate."""
    try:
        context.load_verify_locations(authorities)
    except ssl.SSLError:
        raise TlsNotUsable(f"{authorities} has no certificate in PEM form, or one that cannot be read") from None
    if not context.cert_store_stats()["x509_ca"]:
        raise TlsNotUsable(f"{authorities} has no certificate of an authority")
    context.verify_mode = mode
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0


def _list_end(path: Path, data: bytes) -> float:
    """Return when the first of the lists of revoked certificates ends."""
    texts = data.split(_CRL)[1:]
    try:
        lists = [x509.load_pem_x509_crl(_CRL + each) for each in texts]
    except ValueError:
        lists = []
    if not lists or b"BEGIN CERTIFICATE" in data:  # which would be an authority
        raise TlsNotUsable(f"{path} must have lists of revoked certificates in PEM form, and nothing else")
    return min(each.next_update_utc.timestamp() if each.next_update_utc else math.inf for each in lists)


def _expiry(path: Path, data: bytes) -> float:
    try:
        return x509.load_pem_x509_certificates(data)[0].not_valid_after_utc.timestamp()
    except ValueError:
        raise TlsNotUsable(f"{path} has no certificate in PEM form, or one that cannot be read") from None


def _pair_problem(files: ServerTlsFiles, mistake: OSError, *, has_password: bool) -> str:
    reason = mistake.reason if isinstance(mistake, ssl.SSLError) else mistake.strerror
    if reason == "KEY_VALUES_MISMATCH":
        return f"{files.key} is not the key of the certificate in {files.certificate}"
    hint = ", or the password is wrong" if has_password else ""
    expected = f"expected a certificate and its key in PEM form{hint} ({reason})"
    return f"{files.certificate} and {files.key} cannot be used; {expected}"


def _key_password(environment: Mapping[str, str], read: FileSnapshot) -> bytes | None:
    """Return the password of the key; from a file without the end of its line."""
    text, path = environment.get(KEY_PASSWORD_VARIABLE), environment.get(f"{KEY_PASSWORD_VARIABLE}_FILE")
    if text is not None and path is not None:
        raise TlsNotUsable(f"{KEY_PASSWORD_VARIABLE} and {KEY_PASSWORD_VARIABLE}_FILE are both set; set one of them")
    if path is not None:
        return read.read(Path(path), most=_MAX_PASSWORD_BYTES).rstrip(b"\r\n")
    return None if text is None else text.encode()


# The files with private keys that a server's settings name: a warning, or an error, where others can read them.

_LOGGER: Final = logging.getLogger(__name__)
_PRIVATE: Final = b"PRIVATE KEY-----"
_OTHERS: Final = stat.S_IROTH | stat.S_IWOTH
_MAX_BYTES: Final = 1024 * 1024


class FilesExposed(CounterfoilError):
    """A file with a secret can be read, or written, by others; the message names it."""

    exit_code = ExitCode.PRECONDITION


def check_key_files(settings: ServerSettings) -> None:
    """Log a warning for each key that others can read or write; with ``strict_files`` raise ``FilesExposed``."""
    found = list(_exposed(settings))
    if found and settings.strict_files:
        raise FilesExposed("; ".join(found))
    for each in found:
        _LOGGER.warning("%s", each)


def _exposed(settings: ServerSettings) -> Iterator[str]:
    """Yield a sentence for each file with a private key that others can read or write."""
    for name in ("tls_key", "tls_certificate", "audit_key_file"):
        path = getattr(settings, name)
        if path and (name != "tls_certificate" or _has_key(Path(path))):
            mode = _mode(Path(path))
            if mode & _OTHERS:
                verb = "read" if mode & stat.S_IROTH else "write"
                yield f"{name} {path} holds a private key, and others can {verb} it; chmod o-rwx {path}"


def _mode(path: Path) -> int:
    """Return the permissions of a file; 0 for one that is not there, which is reported where it is read."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0


def _has_key(path: Path) -> bool:
    """Return whether a PEM file has a private key besides certificates."""
    try:
        with path.open("rb") as file:
            return _PRIVATE in file.read(_MAX_BYTES)
    except OSError:
        return False
