"""The key that signs heads of the audit, and the public keys that verify them: Ed25519 in PEM files (RFC 8032)."""

from __future__ import annotations

import base64
import hashlib
import logging
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from counterfoil.registry.audit.file import SIGNATURE, signed_part
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from counterfoil.schema.rest.object_forms import Document


_LOGGER: Final = logging.getLogger(__name__)
_KEY: Final = "key"
_ID_DIGITS: Final = 16


class UnusableKey(CounterfoilError):
    """A file has no Ed25519 key of the kind that is needed."""

    exit_code = ExitCode.USAGE


class SigningKey:
    """The private key in the file ``path``, which is read again when it changes. Raises ``UnusableKey``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = _state(path)
        self._key = _private_key(path)
        self._id = _id_of(self._key.public_key())

    def signed(self, facts: Document) -> Document:
        """Return ``facts`` with the id of the key and the signature over them."""
        self._renew()
        facts = {**facts, _KEY: self._id}
        return {**facts, SIGNATURE: base64.b64encode(self._key.sign(signed_part(facts))).decode()}

    def _renew(self) -> None:
        """Read a file that was changed; one without a usable key is reported, and the old key stays."""
        try:
            state = _state(self._path)
            if state == self._state:
                return
            self._state = state
            self._key = _private_key(self._path)
        except UnusableKey as error:
            _LOGGER.error("the old key of the audit stays: %s", error)  # noqa: TRY400  no bug of ours
            return
        self._id = _id_of(self._key.public_key())
        _LOGGER.info("heads of the audit are signed by another key: %s", self._id)


class PublicKeys:
    """The keys in the files ``paths``: of one signing key and those before it. Raises ``UnusableKey``."""

    def __init__(self, paths: Iterable[Path]) -> None:
        keys = [_public_key(path) for path in paths]
        self._keys = {_id_of(key): key for key in keys}

    def mistake(self, facts: Document) -> str | None:
        """Return why the signature in ``facts`` is not one of these keys'; None if it is, or there are no keys."""
        if not self._keys:
            return None
        key, signature = facts.get(_KEY), facts.get(SIGNATURE)
        if not isinstance(signature, str) or not isinstance(key, str):
            return "it is not signed"
        if key not in self._keys:
            return f"it is signed by the key {key}; expected {', '.join(self._keys)}"
        try:
            self._keys[key].verify(base64.b64decode(signature), signed_part(facts))
        except (InvalidSignature, ValueError):
            return "its signature is wrong"
        return None


def _state(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise UnusableKey(f"{path} cannot be read: {error.strerror}") from None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _private_key(path: Path) -> Ed25519PrivateKey:
    try:
        found = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise UnusableKey(
            f"{path} has no private Ed25519 key without a password; `openssl genpkey -algorithm ed25519` makes one"
        )
    return found


def _public_key(path: Path) -> Ed25519PublicKey:
    try:
        found = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise UnusableKey(f"{path} has no public Ed25519 key; `openssl pkey -pubout -in KEY` prints that of a key")
    return found


def _id_of(key: Ed25519PublicKey) -> str:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:_ID_DIGITS]
