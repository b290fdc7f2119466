"""Whether a server demands credentials: because of its access file, or because its store says that all servers do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.registry.access.administration import AccessAdministration, Secrets
from counterfoil.registry.access.gate import AccessControl
from counterfoil.registry.access.questions import FileFacts
from counterfoil.registry.access.records import AccessRecords
from counterfoil.registry.audit.events import AuditEvent, EventKind
from counterfoil.registry.http.envelope import is_loopback
from counterfoil.registry.logs import LOGGER, tried
from counterfoil.schema.errors import CounterfoilError, RegistryError
from counterfoil.schema.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.registry.access.administration import NewToken
    from counterfoil.registry.access.file.in_force import AccessInForce
    from counterfoil.registry.access.identities.certificates import PrincipalRules
    from counterfoil.registry.access.identity import ListedProxies
    from counterfoil.registry.access.questions import FileDeclarations
    from counterfoil.registry.settings import ServerSettings
    from counterfoil.registry.store.protocol import Storage


_LOOK_EVERY_S: Final = 1.0


class AuthenticationMissing(CounterfoilError):
    """A server with ``--require-auth`` has no access file, and its store demands no credentials."""

    exit_code = ExitCode.USAGE


class ServerAccess:
    """The access control of one server over ``storage``.

    Making one reads the access file, if the settings name one, and raises ``InvalidAccessFile`` or
    ``InvalidPrincipalRules``. ``record`` has an event of the audit written; ``took`` counts
    the seconds that the examination of a password took. ``processor_time`` is the clock of the calling thread.
    """

    def __init__(
        self,
        storage: Storage,
        settings: ServerSettings,
        *,
        record: Callable[[AuditEvent], None] | None = None,
        took: Callable[[float], None] | None = None,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._settings = settings
        self._took = took
        self._processor_time = processor_time
        self._record = record
        self._records = AccessRecords(storage)
        self._certificates = _principal_rules(settings) if settings.tls_principal_rules else None
        self.administration = administration_of(
            storage, records=self._records, file=self._file, max_token_days=settings.token_max_days
        )
        self._in_force: AccessInForce | None = None
        if settings.auth_file:
            self._in_force = self._opened(Path(settings.auth_file))
            if settings.strict_files:
                from counterfoil.registry.access.file.in_force import require_private_files  # as slow as AccessInForce

                require_private_files(self._in_force.file)

    @property
    def control(self) -> AccessControl | None:
        """The gate by which the application demands credentials; None if it demands none."""
        found = self._in_force
        if found is None:
            return None
        return AccessControl(
            found.authenticator,
            found.policy,
            found,
            proxies=lambda: found.file.proxy,
            keys=lambda: found.issuers,
            is_file_valid=lambda: found.is_valid if self._settings.auth_file else None,
        )

    def proxies(self) -> ListedProxies | None:
        """Return the proxies in front of the server that are listed now."""
        return None if self._in_force is None else self._in_force.file.proxy

    def request_reading(self) -> None:
        """Have the access file read now if it has changed, as SIGHUP does."""
        if self._in_force is not None:
            self._in_force.request_reading()

    async def start(self) -> None:
        """Read the store's declarations; raise ``AuthenticationMissing`` if the settings demand missing ones."""
        await self._look()
        if self._settings.require_auth and self._in_force is None:
            raise AuthenticationMissing(
                "require_auth is set, and there is no authentication: name an access file with --auth-file, or run "
                "`counterfoil auth init --store URL`"
            )

    async def run(self, changed: Callable[[AccessControl | None], None]) -> None:
        """Follow the access file and the store until this is cancelled.

        ``changed`` is called when the store begins or ends to demand credentials.
        """
        watching = self._watching()
        try:
            while True:
                await asyncio.sleep(_LOOK_EVERY_S)
                before = self._in_force
                await tried(self._look, "a look for changes of access control", expected=(RegistryError,))
                if self._in_force is not before:
                    changed(self.control)
                    watching.cancel()
                    watching = self._watching()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    def _watching(self) -> asyncio.Task[None]:
        return asyncio.create_task(_forever() if self._in_force is None else self._in_force.run())

    async def _look(self) -> None:
        is_required = (await self._records.current()).is_required
        if self._settings.auth_file:
            return
        if is_required and self._in_force is None:
            self._in_force = self._opened(None)
        elif not is_required:
            self._in_force = None

    def _opened(self, path: Path | None) -> AccessInForce:
        from counterfoil.registry.access.file.in_force import AccessInForce  # hashes and signatures cost start time
        from counterfoil.registry.access.identities.passwords import CheckLimits, PasswordChecks

        found = AccessInForce(
            path,
            records=self._records,
            certificates=self._certificates,
            note=self.administration.note_use,
            renew=self.administration.renew_hash,
            reloaded=self._note_reload,
            checks=PasswordChecks(
                CheckLimits(
                    at_once=self._settings.password_checks, wrong_share=self._settings.wrong_passwords_percent / 100
                ),
                took=self._took,
                processor_time=self._processor_time,
            ),
            remembered_s=self._settings.auth_cache_s,
        )
        is_in_the_clear = not (self._settings.tls_certificate or is_loopback(self._settings.host))
        if is_in_the_clear and found.file.proxy is None:
            LOGGER.warning("passwords and tokens are sent to this server in the clear; set tls_certificate and tls_key")
        return found

    def _note_reload(self) -> None:
        if self._record is not None:
            self._record(AuditEvent(EventKind.FILE_RELOADED, {"resource": self._settings.auth_file}))

    def _file(self) -> FileDeclarations:
        return FileFacts() if self._in_force is None else self._in_force.file


def administration_of(
    storage: Storage,
    *,
    records: AccessRecords | None = None,
    file: Callable[[], FileDeclarations] = FileFacts,
    max_token_days: int,
) -> AccessAdministration:
    """Return the use cases of the records about access in ``storage``."""
    return AccessAdministration(
        storage,
        records=records or AccessRecords(storage),
        file=file,
        secrets=Secrets(_hash_password, _check_hash, _new_token),
        now_ms=lambda: time.time_ns() // 1_000_000,
        max_token_days=max_token_days,
    )


def _principal_rules(settings: ServerSettings) -> PrincipalRules:
    from counterfoil.registry.access.identities.certificates import parse_principal_rules  # it costs start time

    return parse_principal_rules(settings.tls_principal_rules, prefix=settings.tls_principal_prefix)


async def _forever() -> None:
    await asyncio.Event().wait()


def _hash_password(password: bytes) -> str:
    from counterfoil.registry.access.identities.hashes import hash_password  # it costs start time

    return hash_password(password)


def _check_hash(text: str) -> object:
    from counterfoil.registry.access.identities.hashes import parse_hash  # it costs start time

    return parse_hash(text)


def _new_token() -> NewToken:
    from counterfoil.registry.access.identities.passwords import generate_token  # it costs start time

    return generate_token()
