"""The keys of one registry: found, created and unwrapped by scripts, and kept in memory."""

from __future__ import annotations

import logging
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Final
from weakref import proxy

from counterfoil.schema.errors import CounterfoilError, KeyWrapFailed, RegistryError
from counterfoil.schema.keys import Cipher, cipher_of, new_material
from counterfoil.schema.rest.keys import Algorithm, DekId, Kek, ShownDek
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk import operations
from counterfoil.sdk.client.cache import Cache
from counterfoil.sdk.encryption import KeyPolicy
from counterfoil.sdk.errors import EncryptionError, KeyMismatch, KeyMissing, KeyRefused, UnexpectedReply
from counterfoil.sdk.operations import Operation
from counterfoil.sdk.script import Script, Work
from counterfoil.sdk.serde.sources import SchemaCalls, T

if TYPE_CHECKING:
    from counterfoil.sdk.encryption.key_services import KeyServices


_LOG: Final = logging.getLogger(__name__)

_CAPACITY: Final = 1000
_KEK_TTL_S: Final = 60.0
_ROTATION_RETRY_S: Final = 60.0
_FAILURE_TTL_S: Final = 5.0
"""How long a key that cannot be used is not requested again, so that not every message waits for a time-out."""

_MS_OF_DAY: Final = 24 * 60 * 60 * 1000
_FIRST: Final = 1
_LATEST: Final = -1


@dataclass(frozen=True, slots=True)
class OpenKey:
    """A data encryption key, unwrapped. ``expires_s`` (epoch) is when writers need a new version."""

    version: int
    cipher: Cipher = field(repr=False)
    expires_s: float


class KeyStore:
    """The keys in the registry of ``calls``, which it does not keep alive; its methods are scripts.

    They raise ``EncryptionError``, and the errors of the registry. ``clock`` is the time of day in seconds.
    """

    def __init__(self, calls: SchemaCalls, services: KeyServices, clock: Callable[[], float]) -> None:
        self._calls: SchemaCalls = proxy(calls)
        self._services = services
        self._clock = clock
        self._keks: Cache[Kek] = Cache(_CAPACITY, time.monotonic, ttl_s=_KEK_TTL_S)
        self._keys: Cache[OpenKey] = Cache(_CAPACITY, time.monotonic)
        self._failures: dict[Hashable, tuple[EncryptionError, float]] = {}

    def key(self, policy: KeyPolicy, version: int) -> Script[OpenKey]:
        """Return the key with which a ciphertext was written."""
        return (yield from self._remembered(policy, version, lambda: self._read(policy, version)))

    def current(self, policy: KeyPolicy) -> Script[OpenKey]:
        """Return the key to write with; KEK and key are created if the registry has none."""
        version = _LATEST if policy.is_rotated else _FIRST
        return (yield from self._remembered(policy, "current", lambda: self._for_writing(policy, version)))

    def successor(self, policy: KeyPolicy, expired: OpenKey) -> Script[OpenKey]:
        """Return the key to write with after one that has expired, created here or by another writer."""
        return (yield from self._remembered(policy, expired, lambda: self._after(policy, expired)))

    # --- memory -----------------------------------------------------------------------------------------------------

    def _remembered(self, policy: KeyPolicy, which: Hashable, load: Callable[[], Script[OpenKey]]) -> Script[OpenKey]:
        """Return the key from memory or by a script; a failure is remembered for a short time."""
        key = (policy, which)
        failure, until_s = self._failures.get(key, (None, 0.0))
        if failure is not None and time.monotonic() < until_s:
            raise type(failure)(failure.problem, kek=failure.kek, subject=failure.subject)
        try:
            return (yield from self._keys.fetch(key, lambda: _refusals(policy, load())))
        except EncryptionError as error:
            error.subject = str(policy.subject)
            if len(self._failures) >= _CAPACITY:
                self._failures = {}
            self._failures[key] = error, time.monotonic() + _FAILURE_TTL_S
            raise

    # --- data encryption keys ---------------------------------------------------------------------------------------

    def _read(self, policy: KeyPolicy, version: int) -> Script[OpenKey]:
        kek = yield from self._kek(policy)
        found = yield from self._dek(policy, version, Visibility.WITH_DELETED)
        if found is None:
            raise (yield from self._no_dek(policy, f"version {version} of "))
        return (yield from self._opened(policy, kek, found))

    def _for_writing(self, policy: KeyPolicy, version: int) -> Script[OpenKey]:
        kek = yield from self._kek(policy)
        found = yield from self._dek(policy, version, Visibility.ACTIVE)
        if found is None:
            found = yield from self._create_dek(policy, kek, _FIRST)
        key = yield from self._opened(policy, kek, found)
        return (yield from self._after(policy, key)) if key.expires_s < self._clock() else key

    def _after(self, policy: KeyPolicy, expired: OpenKey) -> Script[OpenKey]:
        """Return the latest key, a new version if it has expired; while there is none, the expired one stays in use."""
        try:
            kek = yield from self._kek(policy)
            found = yield from self._dek(policy, _LATEST, Visibility.ACTIVE)
            if found is None or self._expiry_s(policy, found) < self._clock():
                number = expired.version if found is None else found.dek.id.version
                found = yield from self._create_dek(policy, kek, number + 1)
            return (yield from self._opened(policy, kek, found))
        except CounterfoilError as error:
            _LOG.warning(
                "Version %d of the key of subject %s under %s has expired and stays in use, since a new version could "
                "not be created (%s)",
                *(expired.version, policy.subject, policy.kek_name, type(error).__name__),
            )
            return replace(expired, expires_s=self._clock() + _ROTATION_RETRY_S)

    def _dek(self, policy: KeyPolicy, version: int, visibility: Visibility) -> Script[ShownDek | None]:
        operation = operations.dek(
            policy.kek_name, str(policy.subject), version, algorithm=policy.algorithm, visibility=visibility
        )
        return (yield from self._found(operation))

    def _create_dek(self, policy: KeyPolicy, kek: Kek, version: int) -> Script[ShownDek]:
        """Return a new version of a key, or the one that another writer has just created."""
        dek_id = DekId(policy.kek_name, policy.subject, policy.algorithm, version)
        wrapped = None
        if not kek.shared:
            material = new_material(policy.algorithm)
            wrapped = b64encode((yield Work(lambda: self._services.wrap(kek, material)))).decode()
        try:
            created = yield from self._sent_dek(dek_id, wrapped)
            # its age is counted by the clock of this program, or a clock that is ahead would expire it at once
            return replace(created, dek=replace(created.dek, ts=max(created.dek.ts, int(self._clock() * 1000))))
        except RegistryError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        found = yield from self._dek(policy, version, Visibility.ACTIVE)
        if found is not None:
            return found
        raise _of(
            KeyMissing,
            policy,
            f"{_named(policy, f'Version {version} of the')} is soft-deleted; undelete it, or delete it permanently so "
            "that a new one is created",
        )

    def _sent_dek(self, dek_id: DekId, wrapped: str | None) -> Script[ShownDek]:
        try:
            return (yield from self._calls.call(operations.create_dek(dek_id, wrapped)))
        except RegistryError as error:
            if error.status != HTTPStatus.METHOD_NOT_ALLOWED:
                raise
        return (yield from self._calls.call(operations.create_dek(dek_id, wrapped, has_subject_in_path=False)))

    def _opened(self, policy: KeyPolicy, kek: Kek, found: ShownDek) -> Script[OpenKey]:
        try:
            if found.plain is not None:
                material = b64decode(found.plain, validate=True)
            else:
                wrapped = b64decode(found.dek.wrapped, validate=True)
                material = yield Work(lambda: self._services.unwrap(kek, wrapped))
            cipher = cipher_of(material, found.dek.id.algorithm)
        except ValueError:  # also of base64
            raise _of(
                KeyMismatch,
                policy,
                f"{_named(policy, f'Version {found.dek.id.version} of the')} in the registry is not a key for "
                f"{found.dek.id.algorithm}; another program has stored it",
            ) from None
        return OpenKey(found.dek.id.version, cipher, self._expiry_s(policy, found))

    def _no_dek(self, policy: KeyPolicy, which: str) -> Script[EncryptionError]:
        """Return the error for a key that does not exist; a key for another algorithm is named."""
        others = []
        for algorithm in Algorithm:
            if algorithm is not policy.algorithm:
                listing = operations.dek_versions(
                    policy.kek_name, str(policy.subject), algorithm=algorithm, visibility=Visibility.WITH_DELETED
                )
                if (yield from self._found(listing)):
                    others.append(str(algorithm))
        if others:
            return _of(
                KeyMismatch,
                policy,
                f"The registry has no {which}{_named(policy, 'the')}, but keys for {', '.join(others)}; expected the "
                "encrypt.dek.algorithm with which the data was written",
            )
        return _of(
            KeyMissing,
            policy,
            f"The registry has no {which}{_named(policy, 'the')}; expected the registry, the subject and the key with "
            "which the data was written",
        )

    def _expiry_s(self, policy: KeyPolicy, found: ShownDek) -> float:
        if not policy.is_rotated:
            return float("inf")
        return (found.dek.ts + policy.expiry_days * _MS_OF_DAY) / 1000

    # --- key encryption keys ----------------------------------------------------------------------------------------

    def _kek(self, policy: KeyPolicy) -> Script[Kek]:
        key = (policy.kek_name, policy.context, policy.is_reading)
        kek = yield from self._keks.fetch(key, lambda: self._find_kek(policy))
        for name, held, wanted in (
            ("encrypt.kms.type", kek.kms_type, policy.kms_type),
            ("encrypt.kms.key.id", kek.kms_key_id, policy.kms_key_id),
        ):
            if wanted is not None and wanted != held:
                raise _of(
                    KeyMismatch,
                    policy,
                    f"The rule's {name} is {wanted!r}, and that of the key encryption key {kek.name!r} in the registry "
                    f"is {held!r}; expected the same",
                )
        return kek

    def _find_kek(self, policy: KeyPolicy) -> Script[Kek]:
        kek = yield from self._found(self._kek_operation(policy, Visibility.ACTIVE))
        if kek is not None:
            return kek
        name = f"The key encryption key {policy.kek_name!r}"
        deleted = yield from self._found(self._kek_operation(policy, Visibility.WITH_DELETED))
        if deleted is not None:
            raise _of(
                KeyMissing, policy, f"{name} is soft-deleted in the registry; undelete it, or change encrypt.kek.name"
            )
        if policy.is_reading:
            raise _of(KeyMissing, policy, f"{name} is not in the registry; expected the one the data was written with")
        if policy.kms_type is None or policy.kms_key_id is None:
            raise _of(
                KeyMissing,
                policy,
                f"{name} is not in the registry, and the rule does not say how to create it; expected the parameters "
                "encrypt.kms.type and encrypt.kms.key.id, or a key of this name in the registry",
            )
        return (yield from self._create_kek(policy, Kek(policy.kek_name, policy.kms_type, policy.kms_key_id)))

    def _create_kek(self, policy: KeyPolicy, new: Kek) -> Script[Kek]:
        try:
            return (yield from self._calls.call(operations.create_kek(new, context=policy.context)))
        except (RegistryError, UnexpectedReply) as error:
            if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
                problem = "The registry keeps no encryption keys (there is no /dek-registry/v1 at its URL)"
                raise _of(KeyMissing, policy, problem) from error
            if error.status != HTTPStatus.CONFLICT:
                raise
        return (yield from self._calls.call(self._kek_operation(policy, Visibility.ACTIVE)))

    def _kek_operation(self, policy: KeyPolicy, visibility: Visibility) -> Operation[Kek]:
        return operations.kek(policy.kek_name, visibility=visibility, context=policy.context)

    def _found(self, operation: Operation[T]) -> Script[T | None]:
        """Return the result of an operation; None if the registry has nothing of this name."""
        try:
            return (yield from self._calls.call(operation))
        except (RegistryError, UnexpectedReply) as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None


def _refusals(policy: KeyPolicy, script: Script[OpenKey]) -> Script[OpenKey]:
    """Return the result of a script; raise ``KeyRefused`` where the registry denies a key or cannot wrap it itself."""
    try:
        return (yield from script)
    except RegistryError as error:
        if error.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) and not isinstance(error, KeyWrapFailed):
            raise
        problem = f"The registry refuses {_named(policy, 'the')}: {error.message}"
        raise _of(KeyRefused, policy, problem) from error


def _of(kind: type[EncryptionError], policy: KeyPolicy, problem: str) -> EncryptionError:
    return kind(problem, kek=policy.kek_name, subject=str(policy.subject))


def _named(policy: KeyPolicy, article: str) -> str:
    return f"{article} {policy.algorithm} key of subject {str(policy.subject)!r} under {policy.kek_name!r}"
