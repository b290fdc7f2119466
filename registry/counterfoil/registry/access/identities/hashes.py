"""Hashes of passwords: the kinds that are read, the one that is written, and the most that checking may cost.

Sources: RFC 9106 (Argon2) and the PHC string format; OWASP's password storage cheat sheet; crypt(5) for bcrypt;
Karapace's ``karapace/core/auth.py`` for the algorithm of its authorization file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import Final, Protocol

import argon2.low_level as argon2_code
import bcrypt
from argon2.exceptions import Argon2Error

ARGON2_MEMORY_KIB: Final = 19_456
ARGON2_TIME: Final = 2
ARGON2_LANES: Final = 1

_MAX_MEMORY_KIB: Final = 128 * 1024
_MAX_TIME: Final = 10
_MAX_LANES: Final = 4
_MIN_BCRYPT_COST: Final = 4
_MAX_BCRYPT_COST: Final = 14
_WEAK_BCRYPT_COST: Final = 10
_BCRYPT_BYTES: Final = 72
_MIN_SALT_BYTES: Final = 8
_MAX_SALT_BYTES: Final = 64
_MIN_DIGEST_BYTES: Final = 16
_MAX_DIGEST_BYTES: Final = 128
_SCRYPT_SPARE_BYTES: Final = 1024 * 1024
_OWASP_SCRYPT_WORK: Final = 2**14 * 8 * 5
_KARAPACE_ROUNDS: Final = 5000
_KARAPACE_SCRYPT: Final = (2**14, 8, 1)
TOKEN_PREFIX: Final = b"cfr_"
"""What API tokens begin with. As passwords they have another meaning."""
_DELETE: Final = 0x7F
MAX_PASSWORD_BYTES: Final = 1024

_ARGON2: Final = re.compile(
    r"\$argon2id\$v=19\$m=([0-9]{1,9}),t=([0-9]{1,9}),p=([0-9]{1,9})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)"
)
_BCRYPT: Final = re.compile(r"\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}")
_SCRYPT: Final = re.compile(
    r"\$scrypt\$ln=([0-9]{1,2}),r=([0-9]{1,4}),p=([0-9]{1,4})\$([A-Za-z0-9+/.]+)\$([A-Za-z0-9+/.]+)"
)
_PBKDF2: Final = re.compile(rf"\$pbkdf2-(sha1|sha256|sha512)\$i={_KARAPACE_ROUNDS}\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)")
_REFUSED: Final = (
    ("$apr1$", "MD5 of Apache"),
    ("$1$", "MD5 crypt"),
    ("$5$", "SHA-256 crypt"),
    ("$6$", "SHA-512 crypt"),
    ("$2x$", "bcrypt of a faulty version"),
    ("{SHA}", "SHA-1 without a salt"),
    ("{SSHA}", "SHA-1"),
    ("$argon2i$", "Argon2i"),
    ("$argon2d$", "Argon2d"),
)
_EXPECTED: Final = "expected $argon2id$, $scrypt$ or bcrypt ($2a$, $2b$, $2y$), as `counterfoil auth user` writes it"


class InvalidHash(ValueError):
    """A text that is no hash of a password that is accepted; the message says why, and never quotes it."""


class InvalidPassword(ValueError):
    """A password that cannot be set; the message describes one that can."""


class PasswordHash(Protocol):
    """The hash of one password. Two are equal if the same password was hashed with the same salt."""

    @property
    def text(self) -> str:
        """The hash as :func:`parse_hash` reads it."""
        ...

    @property
    def weakness(self) -> str | None:
        """The reason why it is easier to guess than it should be, or None."""
        ...

    def fits(self, password: bytes) -> bool:
        """Return whether it is the hash of ``password``. It takes long, and lets other threads run meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class Argon2Hash:
    """Argon2id, in the PHC string format."""

    text: str = field(repr=False)
    memory_kib: int
    time: int

    @property
    def weakness(self) -> str | None:
        """Whether it costs less than OWASP recommends."""
        if self.memory_kib * self.time >= ARGON2_MEMORY_KIB * ARGON2_TIME:
            return None
        return (
            f"argon2id with m={self.memory_kib}, t={self.time}; recommended is m={ARGON2_MEMORY_KIB}, t={ARGON2_TIME}"
        )

    def fits(self, password: bytes) -> bool:
        """Return whether it is the hash of ``password``."""
        try:
            return argon2_code.verify_secret(self.text.encode(), password, argon2_code.Type.ID)
        except Argon2Error:
            return False


@dataclass(frozen=True, slots=True)
class BcryptHash:
    """Bcrypt, as ``htpasswd -B`` writes it."""

    text: str = field(repr=False)
    cost: int

    @property
    def weakness(self) -> str | None:
        """Whether its cost is low; that of ``htpasswd`` is 5 by default."""
        return None if self.cost >= _WEAK_BCRYPT_COST else f"bcrypt with cost {self.cost}; recommended is argon2id"

    def fits(self, password: bytes) -> bool:
        """Return whether it is the hash of ``password``. Longer ones than 72 bytes are wrong instead of cut."""
        if len(password) > _BCRYPT_BYTES:
            bcrypt.checkpw(password[:_BCRYPT_BYTES], self.text.encode())  # costs as much as any other wrong password
            return False
        return bcrypt.checkpw(password, self.text.encode())


@dataclass(frozen=True, slots=True)
class ScryptHash:
    """Scrypt with its parameters."""

    n: int
    r: int
    p: int
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The hash in the PHC string format."""
        return (
            f"$scrypt$ln={self.n.bit_length() - 1},r={self.r},p={self.p}${_encoded(self.salt)}${_encoded(self.digest)}"
        )

    @property
    def weakness(self) -> str | None:
        """Whether it costs less than OWASP recommends."""
        if self.n * self.r * self.p >= _OWASP_SCRYPT_WORK:
            return None
        return f"scrypt with n={self.n}, r={self.r}, p={self.p}; recommended is argon2id"

    def fits(self, password: bytes) -> bool:
        """Return whether it is the hash of ``password``."""
        memory = 128 * self.n * self.r + 128 * self.r * self.p + _SCRYPT_SPARE_BYTES
        found = hashlib.scrypt(
            password, salt=self.salt, n=self.n, r=self.r, p=self.p, dklen=len(self.digest), maxmem=memory
        )
        return compare_digest(found, self.digest)


@dataclass(frozen=True, slots=True)
class Pbkdf2Hash:
    """PBKDF2 with as many rounds as in Karapace's authorization file."""

    algorithm: str
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    @property
    def text(self) -> str:
        """The hash in the PHC string format."""
        salt, digest = _encoded(self.salt), _encoded(self.digest)
        return f"$pbkdf2-{self.algorithm}$i={_KARAPACE_ROUNDS}${salt}${digest}"

    @property
    def weakness(self) -> str | None:
        """The rounds, which are a hundredth of the recommended number."""
        return f"PBKDF2-{self.algorithm} with {_KARAPACE_ROUNDS} rounds; recommended is argon2id"

    def fits(self, password: bytes) -> bool:
        """Return whether it is the hash of ``password``."""
        found = hashlib.pbkdf2_hmac(self.algorithm, password, self.salt, _KARAPACE_ROUNDS, len(self.digest))
        return compare_digest(found, self.digest)


def hash_password(password: bytes) -> str:
    """Return the hash of a new password, argon2id with its own salt; raise ``InvalidPassword`` for unusable ones."""
    if not password:
        raise InvalidPassword("the password is empty")
    if len(password) > MAX_PASSWORD_BYTES:
        raise InvalidPassword(f"the password has {len(password)} bytes; expected at most {MAX_PASSWORD_BYTES}")
    if password.startswith(TOKEN_PREFIX):
        raise InvalidPassword(f"the password begins with {TOKEN_PREFIX.decode()}, as API tokens do; take another one")
    if any(byte < ord(" ") or byte == _DELETE for byte in password):
        raise InvalidPassword("the password has a control character; Basic authentication cannot transmit it")
    return argon2_code.hash_secret(
        password, secrets.token_bytes(16), ARGON2_TIME, ARGON2_MEMORY_KIB, ARGON2_LANES, 32, argon2_code.Type.ID
    ).decode()


def parse_hash(text: str) -> PasswordHash:
    """Return the hash that ``text`` is; raise ``InvalidHash`` for kinds that are refused, and for excessive costs."""
    for start, name in _REFUSED:
        if text.startswith(start):
            raise InvalidHash(f"a hash of a kind that is refused, {name}; {_EXPECTED}")
    if found := _ARGON2.fullmatch(text):
        return _argon2(found)
    if found := _BCRYPT.fullmatch(text):
        return _bcrypt(text, int(found[1]))
    if found := _SCRYPT.fullmatch(text):
        return _scrypt(found)
    if found := _PBKDF2.fullmatch(text):
        salt, digest = _decoded(found[2], "the salt"), _decoded(found[3], "the hash")
        _sized(salt, digest)
        return Pbkdf2Hash(found[1], salt, digest)
    raise InvalidHash(f"no hash of a known kind; {_EXPECTED}")


def karapace_hash(algorithm: str, salt: str, password_hash: str) -> PasswordHash:
    """Return the hash of an entry of Karapace's authorization file; raise ``InvalidHash`` if it is none."""
    digest = _decoded(password_hash, "password_hash")
    if not _MIN_DIGEST_BYTES <= len(digest) <= _MAX_DIGEST_BYTES:
        raise InvalidHash(f"password_hash has {len(digest)} bytes; expected {_MIN_DIGEST_BYTES} to {_MAX_DIGEST_BYTES}")
    try:
        salt_bytes = salt.encode()
    except UnicodeEncodeError:
        raise InvalidHash("the salt has half of a surrogate pair") from None
    if algorithm == "scrypt":
        n, r, p = _KARAPACE_SCRYPT
        return ScryptHash(n, r, p, salt_bytes, digest)
    if algorithm in {"sha1", "sha256", "sha512"}:
        return Pbkdf2Hash(algorithm, salt_bytes, digest)
    raise InvalidHash(f"algorithm must be one of scrypt, sha1, sha256, sha512, not {algorithm[:20]!r}")


def _argon2(found: re.Match[str]) -> Argon2Hash:
    memory_kib, time, lanes = map(int, found.group(1, 2, 3))
    _bounded("p", lanes, 1, _MAX_LANES)
    _bounded("m", memory_kib, 8 * lanes, _MAX_MEMORY_KIB)
    _bounded("t", time, 1, _MAX_TIME)
    _sized(_decoded(found[4], "the salt"), _decoded(found[5], "the hash"))
    return Argon2Hash(found[0], memory_kib, time)


def _bcrypt(text: str, cost: int) -> BcryptHash:
    _bounded("the cost", cost, _MIN_BCRYPT_COST, _MAX_BCRYPT_COST)
    try:
        bcrypt.checkpw(b"", (text[:4] + "04" + text[6:]).encode())
    except ValueError:
        raise InvalidHash("the salt of a bcrypt hash is malformed") from None
    return BcryptHash(text, cost)


def _scrypt(found: re.Match[str]) -> ScryptHash:
    log_n, r, p = map(int, found.group(1, 2, 3))
    _bounded("ln", log_n, 1, 20)
    _bounded("p", p, 1, _MAX_LANES)
    _bounded("r", r, 1, 1024)
    _bounded("the memory in KiB (2^ln * r / 8)", (2**log_n * r) // 8, 0, _MAX_MEMORY_KIB)
    salt, digest = (
        _decoded(text.replace(".", "+"), what) for text, what in ((found[4], "the salt"), (found[5], "the hash"))
    )
    _sized(salt, digest)
    return ScryptHash(2**log_n, r, p, salt, digest)


def _bounded(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidHash(f"{name} of a hash is {value}; expected {least} to {most}")


def _sized(salt: bytes, digest: bytes) -> None:
    _bounded("the length of the salt", len(salt), _MIN_SALT_BYTES, _MAX_SALT_BYTES)
    _bounded("the length", len(digest), _MIN_DIGEST_BYTES, _MAX_DIGEST_BYTES)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidHash(f"{what} is not base64") from None
