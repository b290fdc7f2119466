"""Changes of an htpasswd file: the whole file is replaced at once, other lines stay as they are."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.passwords.hashes import InvalidPassword, hash_password
from counterfoil.registry.auth.passwords.htpasswd import DISABLED, read_htpasswd
from counterfoil.registry.domain.access.names import is_user_name

if TYPE_CHECKING:
    from counterfoil.registry.auth.passwords.htpasswd import HtpasswdLine

_NEW_MODE = 0o600


class HtpasswdFile:
    """An htpasswd file that commands change. A file that does not exist has no users."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()  # the target of a symbolic link is replaced, not the link
        self._data = self._path.read_bytes() if self._path.exists() else b""

    @property
    def users(self) -> tuple[HtpasswdLine, ...]:
        """The users, in the order of the file."""
        return read_htpasswd(self._data, path=str(self._path))

    def add(self, name: str, password: bytes) -> None:
        """Add a user; raise ``InvalidAccessFile`` if there is one with this name."""
        if self._find(name) is not None:
            raise InvalidAccessFile(str(self._path), f"{name} exists; `auth user passwd` sets another password")
        if not is_user_name(name) or ":" in name or name.startswith("#"):
            raise InvalidAccessFile(
                str(self._path),
                "a name has 1 to 256 printable characters, no colon, no # at its beginning, and is not ANONYMOUS",
            )
        end = b"" if not self._data or self._data.endswith(b"\n") else b"\n"
        self._write(self._data + end + f"{name}:{_hashed(self._path, password)}\n".encode())

    def set_password(self, name: str, password: bytes) -> None:
        """Set another password; whoever is disabled stays disabled."""
        line = self._existing(name)
        self._replace(line, f"{DISABLED if line.is_disabled else ''}{_hashed(self._path, password)}")

    def disable(self, name: str) -> None:
        """Disable a user: the hash stays, and no password fits."""
        line = self._existing(name)
        self._replace(line, DISABLED + line.text.removeprefix(DISABLED))

    def enable(self, name: str) -> None:
        """Enable a user with the password from before."""
        line = self._existing(name)
        self._replace(line, line.text.removeprefix(DISABLED))

    def _find(self, name: str) -> HtpasswdLine | None:
        return next((line for line in self.users if line.name == name), None)

    def _existing(self, name: str) -> HtpasswdLine:
        line = self._find(name)
        if line is None:
            raise InvalidAccessFile(str(self._path), f"there is no user {name}; `auth user add` makes one")
        return line

    def _replace(self, line: HtpasswdLine, text: str) -> None:
        lines = self._data.split(b"\n")
        lines[line.line - 1] = f"{line.name}:{text}".encode()
        self._write(b"\n".join(lines))

    def _write(self, data: bytes) -> None:
        """Replace the file, with its owner and mode as far as that is permitted; a new one is for its owner alone."""
        found = self._path.stat() if self._path.exists() else None
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        place = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            place.chmod(_NEW_MODE if found is None else found.st_mode & 0o7777)
            place.replace(self._path)
        except BaseException:
            place.unlink()
            raise
        self._data = data


def _hashed(path: Path, password: bytes) -> str:
    try:
        return hash_password(password)
    except InvalidPassword as problem:
        raise InvalidAccessFile(str(path), str(problem)) from None
