"""The access file of a running server and what its store declares: who calls, and the rules, united."""

from __future__ import annotations

import asyncio
import logging
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.registry.auth.authenticator import RegistryAuthenticator
from counterfoil.registry.auth.errors import InvalidAccessFile
from counterfoil.registry.auth.file.model import AccessFile
from counterfoil.registry.auth.file.warnings import Doubt, find_warnings
from counterfoil.registry.auth.file.watching import EVERY_S, WatchedAccessFile
from counterfoil.registry.auth.stored import StoredTokens, StoredUsers, WeakHashes
from counterfoil.registry.domain.access.measures import IssuerState
from counterfoil.registry.domain.access.policy import Policy
from counterfoil.registry.domain.access.roles import lacks_of
from counterfoil.registry.domain.access.rules import lets_anonymous_in
from counterfoil.registry.domain.access.stored import StoredAccess
from counterfoil.schema.errors import StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.registry.auth.certificates import PrincipalRules
    from counterfoil.registry.domain.access.records import AccessUser
    from counterfoil.registry.service.access.records import AccessRecords

_LOGGER: Final = logging.getLogger(__name__)


class AccessInForce:
    """The access file at ``path`` and ``records`` of a store, with their authenticator; each of them may be None.

    ``certificates`` and ``settings`` are those of :class:`RegistryAuthenticator`; ``note`` stores the hour of a token's
    use, ``renew`` another hash of a user's password. ``reloaded`` is called when another content of the file is in
    force. Making one reads the file, and raises ``InvalidAccessFile`` if a server cannot start with it.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        records: AccessRecords | None = None,
        certificates: PrincipalRules | None = None,
        note: Callable[[str, int], Awaitable[None]] | None = None,
        renew: Callable[[AccessUser, bytes], Awaitable[None]] | None = None,
        reloaded: Callable[[], None] | None = None,
        **settings: Any,
    ) -> None:
        prefix = None if certificates is None else certificates.prefix
        self._without_file = AccessFile(Path(), certificate_prefix=prefix)
        self._watched = None if path is None else WatchedAccessFile(path, certificate_prefix=prefix)
        self._records = records
        self._reloaded = reloaded
        self._stored = StoredAccess()
        self._users = StoredUsers()
        self._tokens = StoredTokens(has_user=self._has_user, note=note)
        tokens = None if records is None else self._tokens
        weak = None if renew is None else WeakHashes(self._users, renew)
        self.authenticator = RegistryAuthenticator(
            self.file, tokens=tokens, weak=weak, certificates=certificates, **settings
        )
        self._policy = self._united()
        if self._watched is not None:
            _log_warnings(self.file)

    @property
    def file(self) -> AccessFile:
        """What the access file declares, an empty one if there is none."""
        return self._without_file if self._watched is None else self._watched.current

    @property
    def issuers(self) -> Sequence[IssuerState]:
        """The state of each issuer's keys."""
        found = self.authenticator.issuers
        return [IssuerState(name, keys.age_s, keys.failures) for name, keys in found.items()]

    def policy(self) -> Policy:
        """Return the rules that hold now."""
        return self._policy

    @property
    def is_current(self) -> bool:
        """Whether the rules and the users are as new as every answered write to the store."""
        records = self._records
        return records is None or (records.is_current and records.known is self._stored)

    async def catch_up(self) -> None:
        """Make the rules and the users as new as every answered write; raise ``StoreUnavailable``.

        While the store cannot be reached, the file alone decides if nothing was ever stored.
        """
        if self._records is None:
            return
        try:
            await self._records.catch_up()
        except (StoreUnavailable, StoreTimeout):
            if self._watched is None or not self._records.known.is_empty:
                raise
        self._take(self._records.known)

    @property
    def is_valid(self) -> bool:
        """Whether the file as it is on the disk is the one in force; false after a mistake was found in it."""
        return self._watched is None or self._watched.mistake is None

    def request_reading(self) -> None:
        """Have the file read now if it has changed, as SIGHUP does."""
        if self._watched is not None:
            self._watched.request()

    async def run(self, *, every_s: float = EVERY_S) -> None:
        """Fetch the keys of issuers, and read the file again when it changes, until this is cancelled."""
        self.authenticator.start()
        try:
            if self._watched is None:
                await asyncio.Event().wait()
            else:
                await self._watched.watch(self._changed, every_s=every_s)
        finally:
            await self.authenticator.close()

    async def _changed(self, file: AccessFile) -> None:
        """Put another content in force. Rules come first, so that nobody has a right that is no longer in the file."""
        self._policy = self._united()
        await self.authenticator.replace(file)
        if self._reloaded is not None:
            self._reloaded()
        _log_warnings(file)

    def _take(self, stored: StoredAccess) -> None:
        """Put what a store declares in force, the rules first."""
        before, self._stored = self._stored, stored
        self._tokens.state = stored
        if stored.rules != before.rules:
            self._policy = self._united()
            self.authenticator.has_anonymous = lets_anonymous_in(stored.rules)
        if stored.roles != before.roles:
            for role in stored.roles.values():
                for lack in lacks_of(stored.operations_of(role)):
                    _LOGGER.warning("the store's role %s %s", role.name, lack)
        if stored.users != before.users:
            self.authenticator.set_users(self._users.of(stored))
            for name, prefix in product(stored.users, self.file.foreign_prefixes):
                if name.startswith(prefix):
                    _LOGGER.error(
                        "the store has the user %s, and an issuer or a proxy of the access file, or "
                        "tls_principal_rules, has the prefix %r, which could give this name: change the prefix",
                        name,
                        prefix,
                    )

    def _united(self) -> Policy:
        return Policy((*self.file.rules, *self._stored.rules), self.file.open_paths)

    def _has_user(self, principal: str) -> bool:
        return principal in self.file.enabled


def _log_warnings(file: AccessFile) -> None:
    for warning in find_warnings(file):
        _LOGGER.warning("the access file: %s", warning)


def require_private_files(file: AccessFile) -> None:
    """Raise ``InvalidAccessFile`` where others can read the file, or one that it names, and it holds secrets."""
    exposed = [each for each in find_warnings(file) if each.doubt is Doubt.READABLE]
    if exposed:
        raise InvalidAccessFile(exposed[0].place, f"strict_files is set, and others can read it: {exposed[0].text}")
