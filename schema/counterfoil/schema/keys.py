"""Encryption keys, without I/O: the material of data encryption keys, their ciphers, and the protocol of Vault."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from random import SystemRandom
from secrets import token_bytes
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from counterfoil.schema.datum import Json
from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed, needed_by
from counterfoil.schema.rest.keys import Algorithm

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV


# The material of data encryption keys: Tink's Protobuf messages, so that clients that use Tink read it.
#
# Source: Tink's ``aes_gcm.proto`` and ``aes_siv.proto``.

_FIELD_AND_SIZE: Final = {
    Algorithm.AES128_GCM: (3, 16),
    Algorithm.AES256_GCM: (3, 32),
    Algorithm.AES256_SIV: (2, 64),
}
_VERSION_TAG: Final = b"\x08"
_LENGTH_DELIMITED: Final = 2


def new_material(algorithm: Algorithm) -> bytes:
    """Return a random key for ``algorithm``, as Tink's Protobuf message."""
    return _head(algorithm) + token_bytes(_FIELD_AND_SIZE[algorithm][1])


def key_of(material: bytes, algorithm: Algorithm) -> bytes:
    """Return the bytes of the key in ``material``; raise ``ValueError`` unless it is one for ``algorithm``.

    The message has a version as well, which is 0, and which is left out in Protobuf's canonical form.
    """
    head = _head(algorithm)
    written = material.removeprefix(_VERSION_TAG + b"\x00").removesuffix(_VERSION_TAG + b"\x00")
    for each in (material, written):
        if each.startswith(head) and len(each) == len(head) + _FIELD_AND_SIZE[algorithm][1]:
            return each[len(head) :]
    raise ValueError(f"it is no key for {algorithm}")


def _head(algorithm: Algorithm) -> bytes:
    number, size_bytes = _FIELD_AND_SIZE[algorithm]
    return bytes([number << 3 | _LENGTH_DELIMITED, size_bytes])


# The ciphers of data encryption keys, and the cipher of the local substitute for a key management service.
#
# AES-GCM (NIST SP 800-38D) writes a random nonce of 12 bytes, the ciphertext and the tag of 16 bytes; AES-SIV (RFC
# 5297) writes the synthetic nonce of 16 bytes and the ciphertext, so that equal values have equal ciphertexts. Both are
# Tink's raw form, with empty associated data.

_NONCE_BYTES: Final = 12
_LOCAL_KEY_BYTES: Final = 16
_random_bytes: Final = SystemRandom().randbytes  # never buffered: two processes must not draw the same nonce


class DamagedCiphertext(ValueError):
    """Bytes that are not a ciphertext of this key: another key wrote them, or they were changed."""


class Cipher(NamedTuple):
    """The two functions of a key; ``decrypt`` raises :class:`DamagedCiphertext`. Used by all threads."""

    encrypt: Callable[[bytes], bytes]
    decrypt: Callable[[bytes], bytes]


def cipher_of(material: bytes, algorithm: Algorithm) -> Cipher:
    """Return the cipher of a key in Tink's form; raise ``ValueError`` unless it is one for ``algorithm``."""
    key = key_of(material, algorithm)
    with needed_by("Encryption", extra="crypto"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

    return _siv(AESSIV(key)) if algorithm is Algorithm.AES256_SIV else _gcm(AESGCM(key))


def local_cipher(secret: str) -> Cipher:
    """Return the cipher that wraps keys with a secret: AES-128-GCM, with a key derived by HKDF (RFC 5869) with SHA-256.

    Source: the local KMS driver of Confluent's Python client (Apache 2.0), which reads keys wrapped here, and the
    reverse.
    """
    with needed_by("Encryption", extra="crypto"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return _gcm(AESGCM(HKDF(SHA256(), _LOCAL_KEY_BYTES, salt=None, info=b"").derive(secret.encode())))


def _gcm(aead: AESGCM) -> Cipher:
    from cryptography.exceptions import InvalidTag

    def encrypt(plain: bytes) -> bytes:
        nonce = _random_bytes(_NONCE_BYTES)
        return nonce + aead.encrypt(nonce, plain, None)

    def decrypt(data: bytes) -> bytes:
        try:
            return aead.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            raise DamagedCiphertext from None

    return Cipher(encrypt, decrypt)


def _siv(aead: AESSIV) -> Cipher:
    from cryptography.exceptions import InvalidTag

    associated = [b""]

    def encrypt(plain: bytes) -> bytes:
        return aead.encrypt(plain, associated)

    def decrypt(data: bytes) -> bytes:
        try:
            return aead.decrypt(data, associated)
        except (InvalidTag, ValueError):
            raise DamagedCiphertext from None

    return Cipher(encrypt, decrypt)


# HashiCorp Vault's transit engine as a key management service: what is sent to it, and how its answers are read.
#
# The id of a key is its address, ``https://vault.example:8200/transit/keys/NAME``, as in Confluent's clients. Requests
# are sent to one Vault only, the one of the settings: whoever chooses the id of a key must not send the token to
# another address.
#
# Source: HashiCorp's documentation of the transit secrets engine (encrypt, decrypt) and of the AppRole method (login).

_PATH: Final = re.compile(r"/((?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)+)keys/([A-Za-z0-9_-][A-Za-z0-9_.-]*)")
_TOKEN_PROPERTY: Final = "token.id"  # noqa: S105 - the name of a property, no token
_NAMESPACE_PROPERTY: Final = "namespace"
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_TEMPORARY: Final = frozenset({412, 429, 472, 473, 500, 502, 503, 504})
"""Sealed, standby, overloaded, or not yet up to date: Vault's answers that a later attempt may not receive."""

_MAX_REASON_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """The address of a Vault and the login: a token, or the role and secret ids of AppRole.

    The names are those of the environment that Vault's and Confluent's own programs read, see :meth:`of_environment`.
    """

    address: str | None = None
    token: str | None = field(default=None, repr=False)
    namespace: str | None = None
    role_id: str | None = None
    secret_id: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> VaultSettings:
        """Return the settings in the variables ``VAULT_…``; an empty one counts as not set."""
        names = ("ADDR", "TOKEN", "NAMESPACE", "APPROLE_ROLE_ID", "APPROLE_SECRET_ID", "CACERT")
        return cls(*(environment.get(f"VAULT_{name}") or None for name in names))


@dataclass(frozen=True, slots=True)
class VaultRequest:
    """A POST with a JSON body to ``path`` of the Vault."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VaultReply:
    """The status and the body of a response."""

    status: int
    body: bytes = field(repr=False)


VaultScript: TypeAlias = Generator[VaultRequest, VaultReply, bytes]
"""Yields requests, receives their replies, and returns bytes; raises ``KeyAccessDenied`` and ``KeyWrapFailed``."""


class VaultExchange:
    """Wraps with the transit engine of one Vault; its methods are scripts, which contain the login.

    ``program`` is the name of the running program in messages.
    """

    def __init__(self, settings: VaultSettings, *, program: str) -> None:
        self._settings = settings
        self._program = program
        self._token = settings.token

    def wrap(self, key_id: str, props: Mapping[str, str], plain: bytes) -> VaultScript:
        """Return ``plain`` encrypted, in Vault's text form."""
        answer = yield from self._request("encrypt", key_id, props, {"plaintext": b64encode(plain).decode()})
        return _text(answer, "ciphertext", key_id).encode()

    def unwrap(self, key_id: str, props: Mapping[str, str], wrapped: bytes) -> VaultScript:
        """Decrypt a wrapped key."""
        ciphertext = wrapped.decode("utf-8", errors="replace")
        answer = yield from self._request("decrypt", key_id, props, {"ciphertext": ciphertext})
        try:
            return b64decode(_text(answer, "plaintext", key_id), validate=True)
        except ValueError:
            raise _unreadable(key_id) from None

    def _request(
        self, action: str, key_id: str, props: Mapping[str, str], body: dict[str, str]
    ) -> Generator[VaultRequest, VaultReply, Json]:
        engine, name = self._place(key_id)
        namespace = props.get(_NAMESPACE_PROPERTY) or self._settings.namespace
        own = props.get(_TOKEN_PROPERTY)
        path = f"/v1/{engine}{action}/{name}"
        token = own or self._token
        answer = None
        if token:
            answer = yield _request(path, body, token=token, namespace=namespace)
        if (answer is None or answer.status in _REFUSALS) and not own and self._settings.role_id:
            token = self._token = yield from self._log_in(namespace)
            answer = yield _request(path, body, token=token, namespace=namespace)
        if answer is None:
            raise KeyAccessDenied(
                f"There is no token for the Vault key {key_id[:200]!r}; start {self._program} with the environment "
                "variable VAULT_TOKEN, or VAULT_APPROLE_ROLE_ID and VAULT_APPROLE_SECRET_ID"
            )
        return self._checked(answer, f"The Vault key {key_id[:200]!r}")

    def _place(self, key_id: str) -> tuple[str, str]:
        """Return the engine's path and the key's name; raise ``KeyWrapFailed`` for a key of another Vault."""
        address = self._settings.address
        if address is None:
            raise KeyWrapFailed(
                f"There are no settings of a Vault for {key_id[:200]!r}; start {self._program} with the environment "
                "variable VAULT_ADDR"
            )
        beginning = address.rstrip("/")
        if not key_id.startswith(f"{beginning}/"):
            raise KeyWrapFailed(
                f"kmsKeyId {key_id[:200]!r} is not in the Vault that {self._program} uses; expected {beginning}/…"
            )
        found = _PATH.fullmatch(key_id.removeprefix(beginning))
        if found is None:
            raise KeyWrapFailed(
                f"kmsKeyId {key_id[:200]!r} is not the address of a transit key; expected {beginning}/transit/keys/NAME"
            )
        return found[1], found[2]

    def _log_in(self, namespace: str | None) -> Generator[VaultRequest, VaultReply, str]:
        body = {"role_id": self._settings.role_id or "", "secret_id": self._settings.secret_id or ""}
        answer = yield _request("/v1/auth/approle/login", body, token=None, namespace=namespace)
        found = self._checked(answer, "The AppRole")
        token = found.get("auth", {}).get("client_token") if isinstance(found.get("auth"), dict) else None
        if not isinstance(token, str):
            raise KeyWrapFailed("Vault answered the login of the AppRole without a token")
        return token

    def _checked(self, answer: VaultReply, what: str) -> Json:
        """Return the JSON object in a response; raise an error for a response without one."""
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if answer.status in _REFUSALS:
            raise KeyAccessDenied(f"{what} is refused to {self._program} by Vault: {_reason(found)}")
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES or not isinstance(found, dict):
            kind = KeyServiceUnavailable if answer.status in _TEMPORARY else KeyWrapFailed
            raise kind(f"{what} cannot be used: Vault answered {answer.status}: {_reason(found)}")
        return found


def _request(path: str, body: dict[str, str], *, token: str | None, namespace: str | None) -> VaultRequest:
    headers = {"X-Vault-Request": "true"}
    if token:
        headers["X-Vault-Token"] = token
    if namespace:
        headers["X-Vault-Namespace"] = namespace
    return VaultRequest(path, headers, json.dumps(body).encode())


def _reason(found: object) -> str:
    errors = found.get("errors") if isinstance(found, dict) else None
    return (", ".join(map(str, errors)) if isinstance(errors, list) else "")[:_MAX_REASON_CHARS] or "it did not say why"


def _text(answer: Json, name: str, key_id: str) -> str:
    data = answer.get("data")
    found = data.get(name) if isinstance(data, dict) else None
    if not isinstance(found, str):
        raise _unreadable(key_id)
    return found


def _unreadable(key_id: str) -> KeyWrapFailed:
    return KeyWrapFailed(f"Vault's answer about the key {key_id[:200]!r} is not what its transit engine gives")
