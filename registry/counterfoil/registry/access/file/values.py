"""The files of administrators as values: access files, issuers, htpasswd files, and whether they have changed."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.registry.access.identities.hashes import InvalidHash, InvalidPassword, hash_password, parse_hash
from counterfoil.registry.access.rules import USER, is_user_name, lets_anonymous_in
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.registry.access.identities.hashes import PasswordHash
    from counterfoil.registry.access.identities.passwords import StoredUser
    from counterfoil.registry.access.identity import TrustedProxy
    from counterfoil.registry.access.resources import AccessOperation
    from counterfoil.registry.access.rules import AccessRule


# What can be wrong with files that administrators write.


class InvalidAccessFile(CounterfoilError):
    """An access file, or a file that it names, cannot be used: ``problem`` is the mistake, ``position`` its place."""

    exit_code = ExitCode.PRECONDITION

    def __init__(self, path: str, problem: str, *, position: Position | None = None) -> None:
        super().__init__(f"{path}:{position}: {problem}" if position is not None else f"{path}: {problem}")
        self.path = path
        self.problem = problem
        self.position = position


# What is configured of one issuer of JWTs.

ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""What an issuer may sign with: signatures with a private key. ``none`` and HS256 to HS512 can never be listed."""

MAX_LEEWAY_S: Final = 300


@dataclass(frozen=True, slots=True)
class Issuer:
    """One issuer: ``name`` is its ``iss``, exactly; ``prefix`` stands before its names of users and groups.

    Its keys are at ``jwks_url``, in ``jwks_file``, or where its discovery document says.
    """

    name: str
    audience: tuple[str, ...]
    prefix: str = ""
    algorithms: tuple[str, ...] = ALGORITHMS
    jwks_url: str | None = None
    jwks_file: str | None = None
    jwks_stale_s: int = 86_400
    ca_file: str | None = None
    leeway_s: int = 30
    max_lifetime_s: int = 86_400
    require_at_jwt: bool = False
    required_claims: Mapping[str, str] = field(default_factory=dict)
    principal_claim: str = "sub"
    groups_claims: tuple[str, ...] = ()


# What an access file declares, as values.


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was read: its digest and the result of ``stat``; None for one that could not be read."""

    path: Path
    digest: bytes | None = None
    signature: tuple[int, int, int, int] | None = None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceInFile:
    """Where something was declared."""

    path: str
    position: Position

    def __str__(self) -> str:
        return f"{self.path}:{self.position.line}"


@dataclass(frozen=True, slots=True)
class AccessFile:
    """The content of an access file and of the files that it names.

    ``rules`` are all of them, with those of the administrators and of anonymous callers. ``groups`` has the members of
    each group, ``places`` where users and groups were declared, by principal. ``certificate_prefix`` is before the
    names of callers in their certificates, as the server's settings declare; None if these name nobody.
    """

    path: Path
    admins: tuple[str, ...] = ()
    issuers: tuple[Issuer, ...] = ()
    users: Mapping[str, StoredUser] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Mapping[str, frozenset[AccessOperation]] = field(default_factory=dict)
    rules: tuple[AccessRule, ...] = ()
    open_paths: frozenset[bytes] = frozenset()
    proxy: TrustedProxy | None = None
    certificate_prefix: str | None = None
    places: Mapping[str, PlaceInFile] = field(default_factory=dict)
    states: tuple[FileState, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The principals of its users, and its groups."""
        return tuple(self.places)

    @property
    def enabled(self) -> frozenset[str]:
        """The principals of its users that are not disabled."""
        return frozenset(USER + user.name for user in self.users.values() if not user.is_disabled)

    @property
    def foreign_prefixes(self) -> tuple[str, ...]:
        """The beginnings of the names that issuers, a proxy and certificates give; an empty text for any name."""
        return tuple(prefix for _, prefix in self.prefixes)

    @property
    def prefixes(self) -> tuple[tuple[str, str], ...]:
        """The sources of names outside of the file, each with the prefix of its names."""
        found = [(issuer.name, issuer.prefix) for issuer in self.issuers]
        found += [("the proxy", self.proxy.prefix)] if self.proxy is not None else []
        found += [("client certificates", self.certificate_prefix)] if self.certificate_prefix is not None else []
        return tuple(found)

    @property
    def has_anonymous(self) -> bool:
        """Whether requests without credentials are let in: some rule gives rights to them."""
        return lets_anonymous_in(self.rules)


# Files in the format of Apache's ``htpasswd``: a name and a hash in each line.

MAX_BYTES: Final = 16 * 1024 * 1024
DISABLED: Final = "!"
"""Before a hash: the user is disabled. Apache's own programs take it for a hash that no password has."""


@dataclass(frozen=True, slots=True)
class HtpasswdLine:
    """One user: the name, the hash as it is written, the hash as a value, and whether the user is disabled."""

    name: str
    text: str
    stored: PasswordHash
    line: int
    is_disabled: bool = False


def read_htpasswd(data: bytes, *, path: str) -> tuple[HtpasswdLine, ...]:
    """Return the users of a file; raise ``InvalidAccessFile`` with ``path`` and line."""
    if len(data) > MAX_BYTES:
        raise InvalidAccessFile(path, f"the file has {len(data)} bytes; expected at most {MAX_BYTES}")
    users: dict[str, HtpasswdLine] = {}
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip() or raw.lstrip().startswith(b"#"):
            continue
        user = _user(raw.rstrip(b"\r"), number, path)
        if user.name in users:
            raise _mistake(path, number, f"{user.name} is here a second time; first in line {users[user.name].line}")
        users[user.name] = user
    return tuple(users.values())


def _user(raw: bytes, number: int, path: str) -> HtpasswdLine:
    try:
        name, colon, text = raw.decode().partition(":")
    except UnicodeDecodeError:
        raise _mistake(path, number, "the line is not UTF-8") from None
    if not colon:
        raise _mistake(path, number, "expected a name, a colon and a hash")
    if not is_user_name(name):
        raise _mistake(
            path, number, "expected the name of a user before the colon: 1 to 256 printable characters, not ANONYMOUS"
        )
    is_disabled = text.startswith(DISABLED)
    try:
        return HtpasswdLine(name, text, parse_hash(text.removeprefix(DISABLED)), number, is_disabled)
    except InvalidHash as problem:
        raise _mistake(path, number, f"{name} has {problem}" if "kind" in str(problem) else str(problem)) from None


def _mistake(path: str, line: int, problem: str) -> InvalidAccessFile:
    return InvalidAccessFile(path, problem, position=Position(line, 1))


# Files as they are at one moment, and whether they are still the same.

_SETTLED_NS: Final = 10_000_000_000
"""A file that was modified less than this before it was read may be modified again within the clock's resolution."""
_HALF_WRITTEN_NS: Final = 1_000_000_000


class FileSnapshot:
    """Reads files, and records the state of each, also of files that cannot be read."""

    def __init__(self) -> None:
        self._states: dict[Path, FileState] = {}

    @property
    def states(self) -> tuple[FileState, ...]:
        """The states of the files that were read."""
        return tuple(self._states.values())

    def read(self, path: Path, *, most: int = MAX_BYTES) -> bytes:
        """Return the content of a file; raise ``InvalidAccessFile`` if it cannot be read or is too large."""
        self._states[path] = FileState(path)
        try:
            found = path.stat()
            with path.open("rb") as file:
                data = file.read(most + 1)
        except FileNotFoundError:
            raise InvalidAccessFile(str(path), "there is no such file") from None
        except OSError as error:
            raise InvalidAccessFile(str(path), f"the file cannot be read: {error.strerror}") from None
        self._states[path] = FileState(path, hashlib.sha256(data).digest(), _signature(found), found.st_mode)
        if len(data) > most:
            raise InvalidAccessFile(str(path), f"the file has more than {most} bytes")
        return data


def is_unchanged(states: Iterable[FileState]) -> bool:
    """Return whether all files are as they were. They are read if the result of ``stat`` does not prove it."""
    return all(map(_is_as_before, states))


def is_being_written(states: Iterable[FileState], *, now_ns: int) -> bool:
    """Return whether one of the files was written less than a second before ``now_ns``."""
    return any(0 <= now_ns - _modified_ns(state.path) < _HALF_WRITTEN_NS for state in states)


def _modified_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _is_as_before(state: FileState) -> bool:
    try:
        signature = _signature(state.path.stat())
        if signature == state.signature and time.time_ns() - signature[0] > _SETTLED_NS:
            return True
        return state.digest is not None and hashlib.sha256(state.path.read_bytes()).digest() == state.digest
    except OSError:
        return state.digest is None


def _signature(found: os.stat_result) -> tuple[int, int, int, int]:
    """Return numbers that differ after a file is written or replaced, or a symbolic link to it is changed."""
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


# Changes of an htpasswd file: the whole file is replaced at once, other lines stay as they are.

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
