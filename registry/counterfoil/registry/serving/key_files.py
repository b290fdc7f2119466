"""The files with private keys that a server's settings name: a warning, or an error, where others can read them."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.registry.settings import ServerSettings

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
