"""The key management services of a program: which is used for a key encryption key, and what its errors mean."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from threading import Lock
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import KeyAccessDenied, KeyServiceUnavailable, KeyWrapFailed, MissingExtra
from counterfoil.schema.extras import needed_by
from counterfoil.schema.rest.keys import ALTERNATE_IDS
from counterfoil.sdk.errors import KeyRefused, KeyUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.rest.keys import Kek
    from counterfoil.sdk.encryption.services.service import KeyService, KeyServiceMaker
    from counterfoil.sdk.errors import EncryptionError

SERVICES_GROUP: Final = "counterfoil.key_services"
"""The entry points of key management services: the name is the kmsType, the object makes the service of settings."""


class KeyServices:
    """The services that a program uses, each opened when it is first needed, and again in a forked process.

    ``conf`` are the program's settings for them. ``makers`` are used before those that are installed, by type.
    """

    def __init__(self, conf: Mapping[str, str], makers: Mapping[str, KeyServiceMaker] | None = None) -> None:
        self._conf = conf
        self._makers = dict(makers or {})
        self._opened: dict[tuple[object, ...], KeyService] = {}
        self._lock = Lock()

    def wrap(self, kek: Kek, plain: bytes) -> bytes:
        """Return ``plain`` wrapped by ``kek``; raise ``KeyRefused`` or ``KeyUnavailable``."""
        return self._with_each_id(kek, lambda service, key_id: service.wrap(key_id, plain))

    def unwrap(self, kek: Kek, wrapped: bytes) -> bytes:
        """Return the plain form of what ``kek`` wrapped; raise ``KeyRefused`` or ``KeyUnavailable``."""
        return self._with_each_id(kek, lambda service, key_id: service.unwrap(key_id, wrapped))

    def close(self) -> None:
        """Close the services."""
        with self._lock:
            opened, self._opened = self._opened, {}
        for (process, *_), service in opened.items():
            if process == os.getpid():
                service.close()

    def _with_each_id(self, kek: Kek, use: Callable[[KeyService, str], bytes]) -> bytes:
        """Return the result for the first id that can be used: the key's own, then those of alternate keys."""
        failures: list[Exception] = []
        try:
            service = self._service(kek)
            for key_id in self._ids(kek):
                try:
                    return use(service, key_id)
                except (KeyAccessDenied, KeyWrapFailed) as error:
                    failures.append(error)
        except (KeyAccessDenied, KeyWrapFailed, MissingExtra) as error:
            failures.append(error)
        except Exception as error:
            problem = f"its service failed with {type(error).__name__}"  # whose text may hold settings
            raise KeyRefused(f"{_named(kek)} cannot be used: {problem}", kek=kek.name) from error
        raise _failure(kek, failures) from None

    def _ids(self, kek: Kek) -> tuple[str, ...]:
        if ALTERNATE_IDS in kek.kms_props:
            return kek.kms_key_ids
        others = self._conf.get(ALTERNATE_IDS, "").split(",")
        return (kek.kms_key_id, *(each.strip() for each in others if each.strip()))

    def _service(self, kek: Kek) -> KeyService:
        conf = {**self._conf, **kek.kms_props}
        key = (os.getpid(), kek.kms_type, *sorted(conf.items()))
        with self._lock:
            if key not in self._opened:
                self._opened[key] = self._maker(kek.kms_type)(conf)
            return self._opened[key]

    def _maker(self, kms_type: str) -> KeyServiceMaker:
        if kms_type in self._makers:
            return self._makers[kms_type]
        entry = _installed().get(kms_type)
        if entry is None:
            there = ", ".join(sorted({*_installed(), *self._makers}))
            raise KeyWrapFailed(
                f"This program has no service for the kmsType {kms_type[:80]!r}; it has: {there}. Install a package "
                f"that brings one (an entry point of this name in the group {SERVICES_GROUP})"
            )
        with needed_by(f"The kmsType {kms_type}", extra=next(iter(entry.extras), None)):
            maker: KeyServiceMaker = entry.load()
        return maker


def _failure(kek: Kek, failures: list[Exception]) -> EncryptionError:
    is_temporary = any(isinstance(each, KeyServiceUnavailable) for each in failures)
    kind = KeyUnavailable if is_temporary else KeyRefused
    reasons = "; ".join(str(each) for each in failures)
    return kind(f"{_named(kek)} cannot be used: {reasons}", kek=kek.name)


def _named(kek: Kek) -> str:
    return f"The key encryption key {kek.name!r} ({kek.kms_type})"


@cache  # reads the metadata of every installed package
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=SERVICES_GROUP)}
