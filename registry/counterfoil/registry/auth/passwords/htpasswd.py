"""Files in the format of Apache's ``htpasswd``: a name and a hash in each line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.passwords.hashes import InvalidHash, parse_hash
from counterfoil.registry.domain.access.names import is_user_name
from counterfoil.schema.position import Position

if TYPE_CHECKING:
    from counterfoil.registry.auth.passwords.hashes import PasswordHash

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
            raise _mistake(
                path, number, f"{user.name} stands here a second time; first in line {users[user.name].line}"
            )
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
