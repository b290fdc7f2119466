"""The executors of the rules ENCRYPT (fields) and ENCRYPT_PAYLOAD (whole messages).

Source: client-side field level encryption in Confluent's documentation, and the public classes of confluent-kafka 2.16,
whose messages these executors read, and the reverse.
"""

from __future__ import annotations

import binascii
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from counterfoil.schema.datum import Datum
from counterfoil.schema.keys import DamagedCiphertext
from counterfoil.sdk.encryption import (
    KeyPolicy,
    PlacePolicy,
    PlainValues,
    bytes_of_text,
    check_places,
    may_be_ciphertext,
    place_policy_of,
    policy_of,
    refusal,
)
from counterfoil.sdk.encryption.key_services import KeyServiceMaker, KeyServices
from counterfoil.sdk.encryption.keys import KeyStore, OpenKey
from counterfoil.sdk.errors import EncryptionError, KeyMissing, NotDecrypted, NotEncrypted
from counterfoil.sdk.script import Script
from counterfoil.sdk.serde.rules.protocol import (
    Change,
    FieldChanges,
    FieldType,
    OpenedText,
    RuleScope,
    SchemaField,
    Transform,
)

_MAGIC: Final = b"\x00"
_VERSION_BYTES: Final = 4
_PREFIX_BYTES: Final = len(_MAGIC) + _VERSION_BYTES
_MOST_LAYERS: Final = 8


class _Executor:
    """The keys of one executor, by registry; a pickled executor has none of them."""

    def __init__(
        self, *, services: Mapping[str, KeyServiceMaker] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._makers = services
        self._clock = clock
        self._stores: WeakKeyDictionary[object, KeyStore] = WeakKeyDictionary()
        self._services: dict[tuple[object, ...], KeyServices] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Close the key management services, and forget the keys."""
        with self._lock:
            services, self._services = self._services, {}
            self._stores = WeakKeyDictionary()
        for each in services.values():
            each.close()

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (type(self), self._makers, self._clock)

    def _begin(self, scope: RuleScope) -> Script[_Use]:
        """Return the function that runs a rule; its key is fetched now if possible.

        A key that cannot be fetched is the failure of the rule for each message, for which the schema names an action.
        """
        use = _Use(scope, policy_of(scope), self._store(scope), self._clock)
        yield from use.prepare()
        return use

    def _store(self, scope: RuleScope) -> KeyStore:
        with self._lock:
            store = self._stores.get(scope.calls)
            if store is None:
                store = self._stores[scope.calls] = KeyStore(scope.calls, self._services_of(scope.conf), self._clock)
            return store

    def _services_of(self, conf: Mapping[str, object]) -> KeyServices:
        texts = {name: value for name, value in conf.items() if isinstance(value, str)}
        return self._services.setdefault(tuple(sorted(texts.items())), KeyServices(texts, self._makers))


def _remade(
    kind: type[_Executor], services: Mapping[str, KeyServiceMaker] | None, clock: Callable[[], float]
) -> _Executor:
    return kind(services=services, clock=clock)


class PayloadEncryption(_Executor):
    """Runs rules of the type ENCRYPT_PAYLOAD on the bytes of messages.

    ``services`` are key management services by type, used before those that are installed; ``clock`` is the time of day
    in seconds, by which keys expire.
    """

    def compile(self, scope: RuleScope) -> Script[Transform]:
        """Return the function that encrypts or decrypts the bytes of a message."""
        use = yield from self._begin(scope)
        return use.decrypt if use.policy.is_reading else use.encryptor()


class FieldEncryption(_Executor):
    """Runs rules of the type ENCRYPT on string and bytes fields; its arguments are those of ``PayloadEncryption``.

    The ciphertext of a string is written as base64. What Confluent's clients do not reach is refused when it is
    written, or encrypted (``encrypt.places``); when it is read, it may be plain text, which is counted.
    """

    def __init__(
        self, *, services: Mapping[str, KeyServiceMaker] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(services=services, clock=clock)
        self._plain = PlainValues()

    @property
    def plain_values(self) -> dict[tuple[str, str], int]:
        """How many values were read that were never encrypted, by subject and full name of the field.

        Those are only values at places that Confluent's clients do not reach.
        """
        return self._plain.counts()

    def check_places(self, scope: RuleScope, fields: Iterable[SchemaField]) -> None:
        """Raise ``RuleError`` if a tag of the rule marks a place that it would write as plain text."""
        keys = policy_of(scope)
        if not keys.is_reading:
            check_places(fields, place_policy_of(scope), keys, scope.rule.name)

    def compile_fields(self, scope: RuleScope) -> Script[FieldChanges]:
        """Return the function that compiles the rule for each field."""
        places = place_policy_of(scope)
        use = yield from self._begin(scope)
        return _reading(use, places, self._plain) if use.policy.is_reading else _writing(use, places)


class _Use:
    """One compiled rule: its policy, and its key in memory."""

    def __init__(self, scope: RuleScope, policy: KeyPolicy, store: KeyStore, clock: Callable[[], float]) -> None:
        self.policy = policy
        self._scope = scope
        self._store = store
        self._clock = clock
        self._key: OpenKey | None = None
        self._keys: dict[int, OpenKey] = {}

    def prepare(self) -> Script[None]:
        """Fetch the key, if it is known which one it will be."""
        try:
            if not self.policy.is_reading:
                self._key = yield from self._store.current(self.policy)
            elif not self.policy.is_rotated:
                self._keys = {1: (yield from self._store.key(self.policy, 1))}
        except EncryptionError:
            return  # raised again for each message, from memory

    def encryptor(self) -> Callable[[bytes], bytes]:
        """Return :meth:`encrypt`, or the function of the key itself if the key is known and does not expire."""
        return self.encrypt if self._key is None or self.policy.is_rotated else self._key.cipher.encrypt

    def encrypt(self, plain: bytes) -> bytes:
        """Return the ciphertext of bytes."""
        if not self.policy.is_rotated:
            return (self._key or self._current()).cipher.encrypt(plain)
        key = self._key
        if key is None or self._clock() > key.expires_s:
            key = self._current() if key is None else self._successor(key)
        return _MAGIC + key.version.to_bytes(_VERSION_BYTES, "big") + key.cipher.encrypt(plain)

    def decrypt(self, data: bytes) -> bytes:
        """Return the bytes that :meth:`encrypt` was given."""
        version, body = self._split(data) if self.policy.is_rotated else (1, data)
        key = self._keys.get(version) or self._read(version)
        try:
            return key.cipher.decrypt(body)
        except DamagedCiphertext:
            raise self.not_decrypted(
                f"{len(data)} bytes are not a ciphertext of version {version} of the key: another key wrote them, they "
                "were changed, or they were never encrypted"
            ) from None

    def not_decrypted(self, problem: str) -> NotDecrypted:
        """Return the error for data that are no ciphertext; it contains none of them."""
        return NotDecrypted(problem, kek=self.policy.kek_name, subject=str(self.policy.subject))

    def _split(self, data: bytes) -> tuple[int, bytes]:
        """Return the version of the key in the prefix of a ciphertext, and the rest."""
        version = int.from_bytes(data[1:_PREFIX_BYTES], "big", signed=True)
        if data[:1] != _MAGIC or len(data) < _PREFIX_BYTES or version < 1:
            raise self.not_decrypted(
                f"{len(data)} bytes do not begin with the version of a key; since encrypt.dek.expiry.days is set, "
                "expected 00 and a number of 4 bytes"
            )
        return version, data[_PREFIX_BYTES:]

    def _current(self) -> OpenKey:
        self._key = self._requested(lambda: self._store.current(self.policy))
        return self._key

    def _successor(self, expired: OpenKey) -> OpenKey:
        self._key = self._requested(lambda: self._store.successor(self.policy, expired))
        return self._key

    def _read(self, version: int) -> OpenKey:
        key = self._requested(lambda: self._store.key(self.policy, version))
        self._keys = {**self._keys, version: key}
        return key

    def _requested(self, script: Callable[[], Script[OpenKey]]) -> OpenKey:
        """Return the key of a script; its error is raised here, also if the script runs in a task beforehand."""

        def outcome() -> Script[OpenKey | EncryptionError]:
            try:
                return (yield from script())
            except EncryptionError as error:
                return error

        found = self._scope.request(outcome)
        if isinstance(found, EncryptionError):
            raise found
        return found


def _write_text(use: _Use, field: SchemaField) -> Change:
    encrypt = use.encryptor()

    def change(value: object, message: object) -> str | None:
        del message
        if value is None:
            return None
        if not isinstance(value, str):
            raise _unfit(use, field, value, "a str")
        return binascii.b2a_base64(encrypt(value.encode()), newline=False).decode("ascii")

    return change


def _read_text(use: _Use, field: SchemaField) -> Change:
    def change(value: Datum, message: Datum) -> str | None:
        del message
        if value is None:
            return None
        try:
            return use.decrypt(binascii.a2b_base64(value)).decode()
        except NotDecrypted as error:
            raise _placed(error, field) from None
        except (ValueError, TypeError):
            raise _placed(use.not_decrypted("it is not the base64 of encrypted UTF-8 text"), field) from None

    return change


def _write_bytes(use: _Use, field: SchemaField) -> Change:
    encrypt = use.encryptor()

    def change(value: object, message: object) -> bytes | None:
        del message
        if value is None:
            return None
        if not isinstance(value, bytes | bytearray | memoryview):
            raise _unfit(use, field, value, "bytes")
        return encrypt(bytes(value))

    return change


def _read_bytes(use: _Use, field: SchemaField) -> Change:
    def change(value: Datum, message: Datum) -> bytes | None:
        del message
        try:
            return None if value is None else use.decrypt(bytes(value))
        except NotDecrypted as error:
            raise _placed(error, field) from None

    return change


def _placed(error: NotDecrypted, field: SchemaField) -> NotDecrypted:
    place = field.place
    error.problem = f"{place[0].upper()}{place[1:]} cannot be decrypted: {error.problem}"
    return error


def _writing(use: _Use, places: PlacePolicy) -> FieldChanges:
    def compile_field(field: SchemaField) -> Change | None:
        if field.type is FieldType.NULL:
            return None
        compile_type = _WRITING.get(field.type)
        if compile_type is None or field.is_key or field.logical_type or (field.is_beyond and not places.encrypts_all):
            return _refuse(refusal(field, use.policy, places))
        return compile_type(use, field)

    return compile_field


def _refuse(error: NotEncrypted) -> Change:
    def change(value: object, message: object) -> Datum:
        del message
        if value is None:
            return None
        raise NotEncrypted(error.problem, kek=error.kek, subject=error.subject)

    return change


def _reading(use: _Use, places: PlacePolicy, plain: PlainValues) -> FieldChanges:
    def compile_field(field: SchemaField) -> Change | None:
        compile_type = None if field.is_key else _READING.get(field.type)
        if compile_type is None:
            return None
        if field.is_possible:
            return _opening(use)
        if field.logical_type:
            return _plain_only(use, field, places, plain)
        change = compile_type(use, field)
        return change if not field.is_beyond or places.refuses_plain else _tolerant(use, field, change, plain)

    return compile_field


def _opening(use: _Use) -> Change:
    """Return the function that decrypts a text if it is a ciphertext of the key; another text is returned as it is.

    A text may be encrypted several times: once for each branch of a schema that describes it.
    """

    def change(value: object, message: object) -> Datum:
        del message
        for _ in range(_MOST_LAYERS):
            data = bytes_of_text(value) if isinstance(value, str) else None
            if data is None or not may_be_ciphertext(data, use.policy):
                break
            try:
                value = OpenedText(use.decrypt(data).decode())
            except (NotDecrypted, UnicodeDecodeError):
                break
            except KeyMissing:
                if isinstance(value, OpenedText):
                    break  # a decrypted text that looks like a ciphertext of another version of the key
                raise
        return value

    return change


def _plain_only(use: _Use, field: SchemaField, places: PlacePolicy, plain: PlainValues) -> Change:
    """Return the function that counts the values of a logical type, which other clients have written as they are."""

    def change(value: object, message: object) -> Datum:
        del message
        if value is not None and places.refuses_plain:
            problem = f"values of the logical type {field.logical_type} are never encrypted"
            raise _placed(use.not_decrypted(problem), field)
        if value is not None:
            plain.add(str(use.policy.subject), field.full_name)
        return value

    return change


def _tolerant(use: _Use, field: SchemaField, decrypt: Change, plain: PlainValues) -> Change:
    """Return the function that decrypts a value, or returns one that is no ciphertext as it is, and counts it."""
    subject = str(use.policy.subject)

    def change(value: object, message: object) -> Datum:
        if value is None or value in ("", b""):
            return value
        data = bytes_of_text(value) if isinstance(value, str) else value
        if isinstance(data, bytes) and may_be_ciphertext(data, use.policy):
            try:
                return decrypt(value, message)
            except NotDecrypted:
                pass  # another program wrote plain text that looks like a ciphertext
        plain.add(subject, field.full_name)
        return value

    return change


def _unfit(use: _Use, field: SchemaField, value: object, expected: str) -> NotEncrypted:
    problem = f"The value of {field.place} is a {type(value).__name__}; expected {expected}"
    return NotEncrypted(problem, kek=use.policy.kek_name, subject=str(use.policy.subject))


_WRITING: Final = {FieldType.STRING: _write_text, FieldType.BYTES: _write_bytes}
_READING: Final = {FieldType.STRING: _read_text, FieldType.BYTES: _read_bytes}
