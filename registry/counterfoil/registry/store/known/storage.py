"""The database as it was when it was last reached: a storage that answers from memory alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from counterfoil.registry.service.contact import StoreContact
from counterfoil.registry.service.storage import Load
from counterfoil.registry.store.postgres.reads import PostgresReads
from counterfoil.schema.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from counterfoil.registry.domain.versions import History
    from counterfoil.registry.service.storage import Appended, Observer, Plan, ScopeSettings, Use
    from counterfoil.registry.store.known.histories import KnownHistories
    from counterfoil.registry.store.known.ids import KnownIds
    from counterfoil.registry.store.known.settings import KnownSettings
    from counterfoil.schema.contexts import QualifiedSubject


class NotInMemory(StoreUnavailable):
    """What is requested is not known without the database."""


class _NoConnections:
    """In the place of connections: every statement is refused."""

    async def rows(self, statement: str, *arguments: object) -> NoReturn:
        """Raise ``NotInMemory``."""
        del statement, arguments
        raise NotInMemory("The store is away, and this is not in memory")


class LastKnown(PostgresReads):
    """What is in memory of the reads of a storage; every other read, and every write, raises ``NotInMemory``."""

    def __init__(self, *, histories: KnownHistories, settings: KnownSettings, ids: KnownIds) -> None:
        super().__init__(_NoConnections())
        self.contact = StoreContact()
        self._histories = histories
        self._settings = settings
        self._ids = ids

    def observe(self, observer: Observer) -> None:
        """Do nothing: nothing is written here."""

    async def catch_up(self) -> None:
        """Return: there is nothing newer."""

    async def catch_up_soon(self) -> None:
        """Return: there is nothing newer."""

    @property
    def has_current_ids(self) -> bool:
        """False: other servers may have written."""
        return False

    def last_known(self) -> LastKnown:
        """This storage."""
        return self

    async def history(self, subject: QualifiedSubject) -> History:
        """Return the versions that were known of a subject."""
        found = self._histories.known(subject)
        return await super().history(subject) if found is None else found

    async def settings(self, scope: QualifiedSubject) -> ScopeSettings:
        """Return what was known to be stored for a scope."""
        found = self._settings.known(scope)
        return await super().settings(scope) if found is None else found

    async def settings_revision(self) -> int:
        """Return a number that changes with every change of any config or mode that this server knows of."""
        return self._settings.changes

    async def guid_of_id(self, context: str, schema_id: int) -> UUID | None:
        """Return what an id was known to stand for."""
        found: UUID | None = self._ids.get(("guid", context, schema_id))
        return await super().guid_of_id(context, schema_id) if found is None else found

    async def id_of_guid(self, context: str, guid: UUID) -> int | None:
        """Return the id that a content was known to have in a context."""
        found: int | None = self._ids.get(("id", context, guid))
        return await super().id_of_guid(context, guid) if found is None else found

    async def ids_of_guid(self, guid: UUID) -> Sequence[tuple[str, int]]:
        """Return the ids that a content was known to have."""
        found: Sequence[tuple[str, int]] | None = self._ids.get(("ids", guid))
        return await super().ids_of_guid(guid) if found is None else found

    async def uses(self, context: str, schema_id: int) -> Sequence[Use]:
        """Return the versions that were known to hold an id."""
        found: Sequence[Use] | None = self._ids.get(("uses", context, schema_id))
        return await super().uses(context, schema_id) if found is None else found

    async def contexts(self) -> Sequence[str]:
        """Return the contexts that were known."""
        found: Sequence[str] | None = self._ids.get(("contexts",))
        return await super().contexts() if found is None else found

    @property
    def load(self) -> Load:
        """Nothing waits here."""
        return Load()

    async def commit(self, plan: Plan) -> Appended | None:
        """Raise ``NotInMemory``."""
        del plan
        raise NotInMemory("The store is away, and takes no writes")

    async def check(self) -> None:
        """Raise ``NotInMemory``."""
        raise NotInMemory("The store is away")

    async def close(self) -> None:
        """Do nothing: the storage that this is a view of is closed by itself."""
