"""Everything a client does: an operation and what is remembered of it, as scripts that both clients run.

``Registry`` and ``AsyncRegistry`` have these methods under the same names, and the result of the script is theirs. All
of them raise the registry's own errors (:mod:`counterfoil.schema.errors`) and ``RegistryUnavailable``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from counterfoil.schema.errors import SchemaNotFound
from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk import operations
from counterfoil.sdk.cache import Cache
from counterfoil.sdk.exchange import Clock, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from uuid import UUID

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.config import Config
    from counterfoil.schema.rest.modes import Mode
    from counterfoil.schema.rest.versions import (
        Compatibility,
        ContextId,
        RegisteredSchema,
        SubjectVersion,
        VersionNumber,
    )
    from counterfoil.sdk.operations import Operation
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.settings import RegistrySettings

T = TypeVar("T")


class Calls:
    """The calls of one client, with its caches."""

    def __init__(self, settings: RegistrySettings, clock: Clock | None = None) -> None:
        clock = clock or Clock()
        cache = settings.cache
        self._exchange = Exchange(settings, clock)
        self._schemas: Cache[Schema] = Cache(
            cache.capacity, clock.monotonic, remembers=SchemaNotFound, missing_ttl_s=cache.missing_ttl_s
        )
        self._registered: Cache[RegisteredSchema] = Cache(cache.capacity, clock.monotonic)
        self._latest: Cache[RegisteredSchema] = Cache(cache.capacity, clock.monotonic, ttl_s=cache.latest_ttl_s)

    def clear_cache(self) -> None:
        """Forget everything that is remembered: ids, registrations, latest versions, unknown ids."""
        self._schemas.forget()
        self._registered.forget()
        self._latest.forget()

    # --- any operation ---------------------------------------------------------------------------------------------

    def call(self, operation: Operation[T]) -> Script[T]:
        """Return the result of an operation of :mod:`counterfoil.sdk.operations`; no cache is read or changed."""
        return (yield from self._exchange.call(operation))

    def call_all(self, listing: Operation[tuple[T, ...]], *, page_size: int = 1000) -> Script[tuple[T, ...]]:
        """Return all entries of a listing, requested page by page; a registry that knows no pages gives all at once."""
        found: list[T] = []
        while True:
            page = yield from self._exchange.call(operations.page_of(listing, offset=len(found), limit=page_size))
            if found and page[:1] == tuple(found[:1]):  # it knows no pages: this is the whole listing again
                return tuple(found)
            found.extend(page)
            if len(page) != page_size:
                return tuple(found)

    # --- schemas by id and guid ------------------------------------------------------------------------------------

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> Script[Schema]:
        """The schema with this id; asked for once, since an id never changes its meaning.

        Ids are per context: ``subject`` (``:.context:`` or a qualified name) says where to look first. An unknown id
        raises ``SchemaNotFound`` and is not asked for again for ``missing_ttl_s``.
        """
        operation = operations.schema_by_id(schema_id, subject=subject)
        return (yield from self._schemas.fetch(operation.target, lambda: self._exchange.call(operation)))

    def schema_by_guid(self, guid: UUID | str) -> Script[Schema]:
        """The schema with this guid, in whatever context it is; asked for once."""
        operation = operations.schema_by_guid(guid)
        return (yield from self._schemas.fetch(operation.target, lambda: self._exchange.call(operation)))

    def schema_text_by_id(self, schema_id: int, *, subject: str | None = None) -> Script[str]:
        """The bare text of the schema with this id."""
        return (yield from self._exchange.call(operations.schema_text_by_id(schema_id, subject=subject)))

    def subjects_of_id(
        self, schema_id: int, *, subject: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[str, ...]]:
        """The subjects that have a version with this id, sorted; ``subject`` only picks the context."""
        operation = operations.subjects_of_id(schema_id, subject=subject, visibility=visibility)
        return (yield from self._exchange.call(operation))

    def versions_of_id(
        self, schema_id: int, *, subject: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[SubjectVersion, ...]]:
        """The subjects and versions with this id, sorted; ``subject`` only picks the context."""
        operation = operations.versions_of_id(schema_id, subject=subject, visibility=visibility)
        return (yield from self._exchange.call(operation))

    def ids_of_guid(self, guid: UUID | str) -> Script[tuple[ContextId, ...]]:
        """The ids of this content, by context; empty for an unknown guid."""
        return (yield from self._exchange.call(operations.ids_of_guid(guid)))

    # --- subjects and versions -------------------------------------------------------------------------------------

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Script[RegisteredSchema]:
        """The schema as it is registered under the subject: a new version, or the one that has this content.

        Repeating it is safe, and costs nothing: the answer is remembered. Raises ``IncompatibleSchema``,
        ``InvalidSchema``, ``OperationNotPermitted``.
        """
        operation = operations.register(subject, schema, normalize=normalize)

        def call() -> Script[RegisteredSchema]:
            found = yield from self._exchange.call(operation)
            self._latest.forget(_concerns(subject))
            self._schemas.forget_missing()  # its id may have been asked for before
            return found

        return (yield from self._registered.fetch((subject, operation.body, normalize), call))

    def lookup(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        visibility: Visibility = Visibility.ACTIVE,
    ) -> Script[RegisteredSchema]:
        """The version of the subject that has this content; remembered as a registration is.

        Raises ``SubjectNotFound``, ``SchemaNotFound``.
        """
        operation = operations.lookup(subject, schema, normalize=normalize, visibility=visibility)
        if visibility is not Visibility.ACTIVE:
            return (yield from self._exchange.call(operation))
        key = (subject, operation.body, normalize)
        return (yield from self._registered.fetch(key, lambda: self._exchange.call(operation)))

    def version(
        self, subject: str, number: VersionNumber = "latest", *, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[RegisteredSchema]:
        """A version of the subject: its number, or ``"latest"``, which is remembered for ``latest_ttl_s``.

        Raises ``SubjectNotFound``, ``VersionNotFound``, ``InvalidVersion``.
        """
        operation = operations.version(subject, number, visibility=visibility)
        if number != "latest" or visibility is not Visibility.ACTIVE:
            return (yield from self._exchange.call(operation))
        return (yield from self._latest.fetch((subject,), lambda: self._exchange.call(operation)))

    def version_with_metadata(self, subject: str, properties: Mapping[str, str]) -> Script[RegisteredSchema]:
        """The highest version whose metadata has all these properties; remembered for ``latest_ttl_s``."""
        operation = operations.version_with_metadata(subject, properties)
        return (yield from self._latest.fetch((subject, operation.query), lambda: self._exchange.call(operation)))

    def schema_text(
        self, subject: str, number: VersionNumber = "latest", *, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[str]:
        """The bare text of a version."""
        return (yield from self._exchange.call(operations.schema_text(subject, number, visibility=visibility)))

    def subjects(
        self, *, prefix: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[str, ...]]:
        """The names of subjects, sorted, of all contexts unless ``prefix`` picks some (``""``: the default context)."""
        return (yield from self._exchange.call(operations.subjects(prefix=prefix, visibility=visibility)))

    def versions(self, subject: str, *, visibility: Visibility = Visibility.ACTIVE) -> Script[tuple[int, ...]]:
        """The version numbers of the subject, ascending; raises ``SubjectNotFound``."""
        return (yield from self._exchange.call(operations.versions(subject, visibility=visibility)))

    def referenced_by(
        self, subject: str, number: VersionNumber = "latest", *, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[int, ...]]:
        """The ids of the schemas that refer to this version, ascending."""
        return (yield from self._exchange.call(operations.referenced_by(subject, number, visibility=visibility)))

    def delete_subject(self, subject: str, *, deletion: Deletion = Deletion.SOFT) -> Script[tuple[int, ...]]:
        """The versions that were deleted; ``PERMANENT`` needs a soft deletion before it.

        Raises ``SubjectNotFound``, ``SubjectSoftDeleted``, ``SubjectNotSoftDeleted``, ``ReferenceExists``.
        """
        return (yield from self._forgetting(subject, operations.delete_subject(subject, deletion=deletion)))

    def delete_version(self, subject: str, number: VersionNumber, *, deletion: Deletion = Deletion.SOFT) -> Script[int]:
        """The number of the version that was deleted; ``PERMANENT`` needs a soft deletion before it.

        Raises ``VersionNotFound``, ``VersionSoftDeleted``, ``VersionNotSoftDeleted``, ``ReferenceExists``.
        """
        return (yield from self._forgetting(subject, operations.delete_version(subject, number, deletion=deletion)))

    # --- compatibility ---------------------------------------------------------------------------------------------

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        *,
        version: VersionNumber | None = None,
        verbose: bool = True,
        normalize: bool = False,
    ) -> Script[Compatibility]:
        """Whether the subject's level allows the schema: as a registration would judge, or against one ``version``.

        A subject that does not exist allows everything. Raises ``VersionNotFound`` for a number that is not there,
        ``InvalidSchema`` when not ``verbose``.
        """
        operation = operations.check_compatibility(
            subject, schema, number=version, verbose=verbose, normalize=normalize
        )
        return (yield from self._exchange.call(operation))

    # --- config and mode: of a subject, of a context (":.context:"), or of the registry (None) -----------------------

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Script[Config]:
        """What is set for the subject, or with ``default_to_global`` what applies to it; raises ``ConfigNotFound``."""
        return (yield from self._exchange.call(operations.config(subject, default_to_global=default_to_global)))

    def set_config(
        self, subject: str | None, change: Config | CompatibilityLevel | str, *, clear: Iterable[str] = ()
    ) -> Script[Config]:
        """What is set now. A level alone is a change, too; ``clear`` names fields of ``Config`` to unset."""
        return (yield from self._exchange.call(operations.set_config(subject, change, clear=clear)))

    def delete_config(self, subject: str | None = None) -> Script[Config]:
        """What was set before; raises ``SubjectNotFound`` where nothing was."""
        return (yield from self._exchange.call(operations.delete_config(subject)))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> Script[Mode | None]:
        """The mode that is set, or with ``default_to_global`` the one that applies; raises ``ModeNotFound``."""
        return (yield from self._exchange.call(operations.mode(subject, default_to_global=default_to_global)))

    def set_mode(self, subject: str | None, new: Mode | str | None, *, force: bool = False) -> Script[Mode | None]:
        """The mode that is set now; None unsets it. ``force`` lets IMPORT be set where versions exist."""
        return (yield from self._exchange.call(operations.set_mode(subject, new, force=force)))

    def delete_mode(self, subject: str | None = None, *, recursive: bool = False) -> Script[Mode | None]:
        """The mode that was set before; ``recursive`` unsets those of the subjects of a context as well."""
        return (yield from self._exchange.call(operations.delete_mode(subject, recursive=recursive)))

    # --- the registry itself ---------------------------------------------------------------------------------------

    def ping(self) -> Script[None]:
        """Nothing, when the registry is there; raises ``RegistryUnavailable`` when it is not."""
        return (yield from self._exchange.call(operations.ping()))

    def schema_types(self) -> Script[tuple[str, ...]]:
        """The names of the schema types that the registry takes, sorted."""
        return (yield from self._exchange.call(operations.schema_types()))

    def contexts(self) -> Script[tuple[str, ...]]:
        """The names of the contexts, the default one, ``.``, first."""
        return (yield from self._exchange.call(operations.contexts()))

    def delete_context(self, context: str) -> Script[None]:
        """Nothing; raises ``ContextNotEmpty`` while the context holds schemas, soft-deleted ones included."""
        return (yield from self._exchange.call(operations.delete_context(context)))

    def _forgetting(self, subject: str, operation: Operation[T]) -> Script[T]:
        """The operation's result; what is remembered of the subject is forgotten, also when the reply was lost."""
        try:
            return (yield from self._exchange.call(operation))
        finally:
            self._registered.forget(_concerns(subject))
            self._latest.forget(_concerns(subject))


def _concerns(subject: str) -> Callable[[Hashable], bool]:
    """Whether a key of the caches by subject, a tuple that begins with one, is of this subject."""
    return lambda key: isinstance(key, tuple) and key[0] == subject
