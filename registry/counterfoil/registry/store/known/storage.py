"""The database as it was when it was last reached: a storage over caches alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from counterfoil.registry.service.contact import StoreContact
from counterfoil.registry.service.storage import Load
from counterfoil.registry.store.postgres.reads import PostgresReads
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.changes import Written
    from counterfoil.registry.domain.scope_settings import ScopeSettings
    from counterfoil.registry.domain.versions import History, Use
    from counterfoil.registry.domain.writes.plan import Plan
    from counterfoil.registry.service.storage import Observer
    from counterfoil.registry.store.known.histories import KnownHistories
    from counterfoil.registry.store.known.ids import KnownIds
    from counterfoil.registry.store.known.scope_settings import KnownSettings
    from counterfoil.schema.contexts import QualifiedSubject


class NotInMemory(StoreUnavailable):
    """The requested data is not cached, and the database cannot be reached."""


class _NoConnections:
    """A replacement of connections that refuses every statement."""

    async def rows(self, statement: str, *arguments: object) -> NoReturn:
        """Raise ``NotInMemory``."""
        del statement, arguments
        raise NotInMemory("The store cannot be reached, and this is not in memory")


class LastKnown(PostgresReads):
    """A storage over the cached reads of another; every other read, and every write, raises ``NotInMemory``."""

    def __init__(self, *, histories: KnownHistories, settings: KnownSettings, ids: KnownIds) -> None:
        super().__init__(_NoConnections())
        self.contact = StoreContact()
        self._histories = histories
        self._settings = settings
        self._ids = ids

    def observe(self, observer: Observer) -> None:
        """Do nothing: nothing is written here."""

    async def catch_up(self) -> None:
        """Do nothing: there is no newer data."""

    async def catch_up_soon(self) -> None:
        """Do nothing: there is no newer data."""

    @property
    def has_current_ids(self) -> bool:
        """False: other servers may have written."""
        return False

    def last_known(self) -> LastKnown:
        """Return this storage."""
        return self

    async def history(self, subject: QualifiedSubject) -> History:
        """Return the cached versions of a subject."""
        found = self._histories.known(subject)
        return await super().history(subject) if found is None else found

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return the cached settings of a scope."""
        found = self._settings.known(scope)
        return await super().settings(scope) if found is None else found

    async def settings_revision(self) -> int:
        """Return a number that changes with every change of the cached settings."""
        return self._settings.changes

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return the cached fingerprint of an id's content."""
        found: UUID | None = self._ids.get(("guid", context, schema_id))
        return await super().guid_of_id(context, schema_id) if found is None else found

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the cached id of a content in a context."""
        found: int | None = self._ids.get(("id", context, guid))
        return await super().id_of_guid(context, guid) if found is None else found

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return the cached ids of a content."""
        found: Sequence[tuple[str, int]] | None = self._ids.get(("ids", guid))
        return await super().ids_of_guid(guid) if found is None else found

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """Return the cached versions with an id."""
        found: Sequence[Use] | None = self._ids.get(("uses", context, schema_id))
        return await super().uses(context, schema_id) if found is None else found

    async def contexts(self) -> Sequence[str]:
        """Return the cached contexts."""
        found: Sequence[str] | None = self._ids.get(("contexts",))
        return await super().contexts() if found is None else found

    @property
    def load(self) -> Load:
        """A load of zero: nothing waits here."""
        return Load()

    async def commit(self, plan: Plan) -> Written:
        """Raise ``NotInMemory``."""
        del plan
        raise NotInMemory("The store cannot be reached, and accepts no writes")

    async def check(self) -> None:
        """Raise ``NotInMemory``."""
        raise NotInMemory("The store cannot be reached")

    async def close(self) -> None:
        """Do nothing: the other storage is closed separately."""
