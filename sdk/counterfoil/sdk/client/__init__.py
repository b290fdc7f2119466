"""``Registry``, the client for programs without an event loop, and the calls that both clients have."""

from __future__ import annotations

import time
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from counterfoil.schema.errors import RegistryError, SchemaNotFound
from counterfoil.schema.rest.versions import Deletion, Visibility
from counterfoil.sdk.client.cache import Cache
from counterfoil.sdk.errors import UnexpectedReply
from counterfoil.sdk.late_modules import LateModule
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.script import run, with_result
from counterfoil.sdk.subjects import ANY_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from counterfoil.sdk.client.settings import Auth, RegistrySettings
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.transport import Clock, Transport


# What the clients for threads and for the tasks of an event loop have in common: how they are made.


class RegistryClient(PickledByArguments):
    """A client of a schema registry; its first argument is a URL, or whole settings."""

    calls: Calls

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Return a client with the settings in ``COUNTERFOIL_REGISTRY_URL`` and the variables of the same prefix."""
        from counterfoil.sdk.client.settings_sources import settings_from_environment

        return cls(settings_from_environment(environment))

    @classmethod
    def from_confluent(cls, conf: Mapping[str, object]) -> Self:
        """Return a client of the registry that confluent-kafka's ``SchemaRegistryClient`` uses with the same dict."""
        from counterfoil.sdk.client.settings_sources import settings_from_confluent

        return cls(settings_from_confluent(conf))

    @classmethod
    def from_bundle(cls, path: str | Path, *, public_key_file: str | Path | None = None) -> Self:
        """Return a client that answers from a file of ``counterfoil bundle``, without a network.

        With ``public_key_file``, an Ed25519 key in a PEM file, only a bundle that this key has signed is accepted.
        Raises ``DamagedBundle``, and ``OSError`` for a file that cannot be read.
        """
        from counterfoil.sdk.client.bundle import URL, BundleTransport, read_bundle

        return cls(URL, transport=BundleTransport(read_bundle(path, public_key_file=public_key_file)))

    def clear_cache(self) -> None:
        """Clear the caches: ids, registrations, latest versions, unknown ids."""
        self.calls.clear_cache()


# The calls of a client, each an operation and its caching, as scripts that both clients run.
#
# ``Registry`` and ``AsyncRegistry`` have these methods under the same names; they return the script's result. All
# of them raise the registry's own errors (:mod:`counterfoil.schema.errors`) and ``RegistryUnavailable``.

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from uuid import UUID

    from counterfoil.schema.compatibility import CompatibilityLevel
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.subjects import Config, Mode
    from counterfoil.schema.rest.versions import (
        Compatibility,
        ContextId,
        RegisteredSchema,
        SubjectVersion,
        VersionNumber,
    )
    from counterfoil.sdk import operations
    from counterfoil.sdk.client.settings import RegistrySettings
    from counterfoil.sdk.operations import Operation
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.subjects import Field
    from counterfoil.sdk.transport import Clock
else:
    operations = LateModule("counterfoil.sdk.operations")

T = TypeVar("T")


class Calls:
    """The calls of one client, with its caches."""

    def __init__(self, settings: RegistrySettings, clock: Clock | None = None) -> None:
        from counterfoil.sdk.client.connection import Exchange
        from counterfoil.sdk.transport import Clock

        clock = clock or Clock()
        cache = settings.cache
        self._exchange = Exchange(settings, clock)
        self._schemas: Cache[Schema] = Cache(
            cache.capacity,
            clock.monotonic,
            remembers=SchemaNotFound,
            missing_ttl_s=cache.missing_ttl_s,
            size_of=lambda schema: len(schema.text),
        )
        self._registered: Cache[RegisteredSchema] = Cache(
            cache.capacity, clock.monotonic, size_of=lambda found: len(found.schema.text)
        )
        self._latest: Cache[RegisteredSchema] = Cache(
            cache.capacity, clock.monotonic, ttl_s=cache.latest_ttl_s, size_of=lambda found: len(found.schema.text)
        )
        self._associated: Cache[tuple[str, ...]] = Cache(cache.capacity, clock.monotonic, ttl_s=cache.latest_ttl_s)

    def clear_cache(self) -> None:
        """Clear the caches: ids, registrations, latest versions, associations, unknown ids."""
        self._associated.forget()
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
        """Return the schema with this id; it is requested once, since the schema of an id never changes.

        Ids are per context: ``subject`` (``:.context:`` or a qualified name) names the context that is searched first.
        An unknown id raises ``SchemaNotFound`` and is not requested again for ``missing_ttl_s``.
        """
        operation = operations.schema_by_id(schema_id, subject=subject)
        return (yield from self._schemas.fetch(operation.target, lambda: self._exchange.call(operation)))

    def schema_by_guid(self, guid: UUID | str) -> Script[Schema]:
        """Return the schema with this guid, in any context; it is requested once."""
        operation = operations.schema_by_guid(guid)
        return (yield from self._schemas.fetch(operation.target, lambda: self._exchange.call(operation)))

    def schema_text_by_id(self, schema_id: int, *, subject: str | None = None) -> Script[str]:
        """Return the bare text of the schema with this id."""
        return (yield from self._exchange.call(operations.schema_text_by_id(schema_id, subject=subject)))

    def subjects_of_id(
        self, schema_id: int, *, subject: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[str, ...]]:
        """Return the subjects that have a version with this id, sorted; ``subject`` only names the context."""
        operation = operations.subjects_of_id(schema_id, subject=subject, visibility=visibility)
        return (yield from self._exchange.call(operation))

    def versions_of_id(
        self, schema_id: int, *, subject: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[SubjectVersion, ...]]:
        """Return the subjects and versions with this id, sorted; ``subject`` only names the context."""
        operation = operations.versions_of_id(schema_id, subject=subject, visibility=visibility)
        return (yield from self._exchange.call(operation))

    def ids_of_guid(self, guid: UUID | str) -> Script[tuple[ContextId, ...]]:
        """Return the ids of this content, by context; empty for an unknown guid."""
        return (yield from self._exchange.call(operations.ids_of_guid(guid)))

    # --- subjects and versions -------------------------------------------------------------------------------------

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Script[RegisteredSchema]:
        """Register the schema under the subject and return the new version, or the existing one with this content.

        Repeating it is safe, and sends no request: the result is cached. Raises ``IncompatibleSchema``,
        ``InvalidSchema``, ``OperationNotPermitted``.
        """
        operation = operations.register(subject, schema, normalize=normalize)

        def call() -> Script[RegisteredSchema]:
            found = yield from self._exchange.call(operation)
            self._latest.forget(_concerns(subject))
            self._schemas.forget_missing()  # its id may have been requested before
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
        """Return the version of the subject that has this content; it is cached like a registration.

        Raises ``SubjectNotFound``, ``SchemaNotFound``.
        """
        operation = operations.lookup(subject, schema, normalize=normalize, visibility=visibility)
        if visibility is not Visibility.ACTIVE:
            return (yield from self._exchange.call(operation))
        key = (subject, operation.body, normalize)
        return (yield from self._registered.fetch(key, lambda: self._exchange.call(operation)))

    def version(
        self,
        subject: str,
        number: VersionNumber = "latest",
        *,
        visibility: Visibility = Visibility.ACTIVE,
        refresh: bool = False,
    ) -> Script[RegisteredSchema]:
        """Return a version of the subject by its number, or ``"latest"``, which is cached for ``latest_ttl_s``.

        With ``refresh`` it is requested even if it is cached. Raises ``SubjectNotFound``, ``VersionNotFound``,
        ``InvalidVersion``.
        """
        operation = operations.version(subject, number, visibility=visibility)
        if number != "latest" or visibility is not Visibility.ACTIVE:
            return (yield from self._exchange.call(operation))
        return (yield from self._newest(self._latest, (subject,), operation, refresh=refresh))

    def version_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, refresh: bool = False
    ) -> Script[RegisteredSchema]:
        """Return the highest version whose metadata has all these properties; it is cached for ``latest_ttl_s``.

        With ``refresh`` it is requested even if it is cached.
        """
        operation = operations.version_with_metadata(subject, properties)
        return (yield from self._newest(self._latest, (subject, operation.query), operation, refresh=refresh))

    def associated_subjects(
        self, topic: str, field: Field, *, namespace: str = ANY_CLUSTER, refresh: bool = False
    ) -> Script[tuple[str, ...]]:
        """Return the subjects that are associated with the keys or the values of a topic; cached for ``latest_ttl_s``.

        ``namespace`` is the id of the Kafka cluster, ``"-"`` stands for any. Without an association, and in a registry
        that knows none, the result is empty. With ``refresh`` it is requested even if it is cached.
        """
        operation = operations.associated_subjects(namespace, topic, resource_type="topic", association_type=field)
        key = (topic, field, namespace)
        try:
            return (yield from self._newest(self._associated, key, operation, refresh=refresh))
        except (RegistryError, UnexpectedReply) as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        self._associated.put(key, ())
        return ()

    def schema_text(
        self, subject: str, number: VersionNumber = "latest", *, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[str]:
        """Return the bare text of a version."""
        return (yield from self._exchange.call(operations.schema_text(subject, number, visibility=visibility)))

    def subjects(
        self, *, prefix: str | None = None, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[str, ...]]:
        """Return the sorted names of all subjects, or of those with ``prefix`` (``""``: the default context)."""
        return (yield from self._exchange.call(operations.subjects(prefix=prefix, visibility=visibility)))

    def versions(self, subject: str, *, visibility: Visibility = Visibility.ACTIVE) -> Script[tuple[int, ...]]:
        """Return the version numbers of the subject, ascending; raise ``SubjectNotFound`` if it has none."""
        return (yield from self._exchange.call(operations.versions(subject, visibility=visibility)))

    def referenced_by(
        self, subject: str, number: VersionNumber = "latest", *, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[tuple[int, ...]]:
        """Return the ids of the schemas that refer to this version, ascending."""
        return (yield from self._exchange.call(operations.referenced_by(subject, number, visibility=visibility)))

    def delete_subject(self, subject: str, *, deletion: Deletion = Deletion.SOFT) -> Script[tuple[int, ...]]:
        """Delete a subject and return its versions; ``PERMANENT`` requires an earlier soft deletion.

        Raises ``SubjectNotFound``, ``SubjectSoftDeleted``, ``SubjectNotSoftDeleted``, ``ReferenceExists``.
        """
        return (yield from self._forgetting(subject, operations.delete_subject(subject, deletion=deletion)))

    def delete_version(self, subject: str, number: VersionNumber, *, deletion: Deletion = Deletion.SOFT) -> Script[int]:
        """Delete a version and return its number; ``PERMANENT`` requires an earlier soft deletion.

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
        """Return whether the subject's level allows the schema, as at a registration, or against one ``version``.

        A subject that does not exist allows everything. Raises ``VersionNotFound`` for a number that does not exist,
        ``InvalidSchema`` when not ``verbose``.
        """
        operation = operations.check_compatibility(
            subject, schema, number=version, verbose=verbose, normalize=normalize
        )
        return (yield from self._exchange.call(operation))

    # --- config and mode: of a subject, of a context (":.context:"), or of the registry (None) -----------------------

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Script[Config]:
        """Return the config of the subject, or with ``default_to_global`` the one in effect.

        Raise ``ConfigNotFound``.
        """
        return (yield from self._exchange.call(operations.config(subject, default_to_global=default_to_global)))

    def set_config(
        self, subject: str | None, change: Config | CompatibilityLevel | str, *, clear: Iterable[str] = ()
    ) -> Script[Config]:
        """Change the config and return the new one. ``change`` may be a level.

        ``clear`` names fields of ``Config`` to unset.
        """
        return (yield from self._exchange.call(operations.set_config(subject, change, clear=clear)))

    def delete_config(self, subject: str | None = None) -> Script[Config]:
        """Delete the config and return it; raise ``SubjectNotFound`` if there was none."""
        return (yield from self._exchange.call(operations.delete_config(subject)))

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> Script[Mode | None]:
        """Return the mode of the subject, or with ``default_to_global`` the one in effect; raise ``ModeNotFound``."""
        return (yield from self._exchange.call(operations.mode(subject, default_to_global=default_to_global)))

    def set_mode(self, subject: str | None, new: Mode | str | None, *, force: bool = False) -> Script[Mode | None]:
        """Set the mode and return it; None unsets it. ``force`` permits IMPORT where versions exist."""
        return (yield from self._exchange.call(operations.set_mode(subject, new, force=force)))

    def delete_mode(self, subject: str | None = None, *, recursive: bool = False) -> Script[Mode | None]:
        """Unset the mode and return the earlier one; ``recursive`` also unsets those of the context's subjects."""
        return (yield from self._exchange.call(operations.delete_mode(subject, recursive=recursive)))

    # --- the registry itself ---------------------------------------------------------------------------------------

    def ping(self) -> Script[None]:
        """Check that the registry can be reached; raise ``RegistryUnavailable`` if it cannot."""
        return (yield from self._exchange.call(operations.ping()))

    def schema_types(self) -> Script[tuple[str, ...]]:
        """Return the names of the schema types that the registry accepts, sorted."""
        return (yield from self._exchange.call(operations.schema_types()))

    def contexts(self) -> Script[tuple[str, ...]]:
        """Return the names of the contexts, the default one, ``.``, first."""
        return (yield from self._exchange.call(operations.contexts()))

    def delete_context(self, context: str) -> Script[None]:
        """Delete the context; raise ``ContextNotEmpty`` if it has schemas, including soft-deleted ones."""
        return (yield from self._exchange.call(operations.delete_context(context)))

    def _newest(self, cache: Cache[T], key: Hashable, operation: Operation[T], *, refresh: bool) -> Script[T]:
        """Return the operation's result, from the cache unless ``refresh``."""
        if not refresh:
            return (yield from cache.fetch(key, lambda: self._exchange.call(operation)))
        found = yield from self._exchange.call(operation)
        cache.put(key, found)
        return found

    def _forgetting(self, subject: str, operation: Operation[T]) -> Script[T]:
        """Return the operation's result, and remove the subject from the caches, even when the response was lost."""
        try:
            return (yield from self._exchange.call(operation))
        finally:
            self._registered.forget(_concerns(subject))
            self._latest.forget(_concerns(subject))


def _concerns(subject: str) -> Callable[[Hashable], bool]:
    """Return a function that tests whether a key of the caches, a tuple whose first part is a subject, has this one."""
    return lambda key: isinstance(key, tuple) and key[0] == subject


# ``Registry``: the client for programs without an event loop.

P = ParamSpec("P")
R = TypeVar("R")


def method_of(script: Callable[Concatenate[Calls, P], Script[R]]) -> Callable[Concatenate[Registry, P], R]:
    """Return a method that runs the script in this thread, with the script's parameters and docstring."""

    @wraps(script)
    def method(self: Registry, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(script(self.calls, *args, **kwargs))

    method.__wrapped__ = with_result(script)  # what inspect and help() read
    return method


class Registry(RegistryClient):
    """A client of a schema registry, usable by all threads of a program; a context manager.

    ``url`` is one URL, several joined by commas or in a list (tried in order), or whole ``RegistrySettings``. ``auth``
    is ``BasicAuth``, ``BearerToken``, ``TokenFile``, ``ClientCredentials``, a pair (user, password), a token, or a
    function that returns one; a user and password in the URL are used as well. Time-outs are on (2 s to connect, 10 s
    of silence, or ``timeout_s``), as are retries (3, or ``retries``). Ids and registrations are cached, so that a
    program requests each of them once.

    A copy that is pickled has connections and caches of its own.

    ``transport`` replaces HTTP, for example by a registry in memory; ``clock`` and ``sleep`` are for tests. Raises
    ``InvalidSettings``. No request is sent before the first call.
    """

    def __init__(
        self,
        url: str | Sequence[str] | RegistrySettings,
        *,
        auth: Auth | tuple[str, str] | str | None = None,
        timeout_s: float | None = None,
        retries: int | None = None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        from counterfoil.sdk.client.connection import HttpTransport
        from counterfoil.sdk.client.settings import RegistrySettings

        self.settings = RegistrySettings.of(url, auth=auth, timeout_s=timeout_s, retries=retries)
        self.calls = Calls(self.settings, clock)
        self._transport = HttpTransport(self.settings) if transport is None else transport
        self._sleep = sleep

    call = method_of(Calls.call)
    call_all = method_of(Calls.call_all)
    schema_by_id = method_of(Calls.schema_by_id)
    schema_by_guid = method_of(Calls.schema_by_guid)
    schema_text_by_id = method_of(Calls.schema_text_by_id)
    subjects_of_id = method_of(Calls.subjects_of_id)
    versions_of_id = method_of(Calls.versions_of_id)
    ids_of_guid = method_of(Calls.ids_of_guid)
    register = method_of(Calls.register)
    lookup = method_of(Calls.lookup)
    version = method_of(Calls.version)
    version_with_metadata = method_of(Calls.version_with_metadata)
    associated_subjects = method_of(Calls.associated_subjects)
    schema_text = method_of(Calls.schema_text)
    subjects = method_of(Calls.subjects)
    versions = method_of(Calls.versions)
    referenced_by = method_of(Calls.referenced_by)
    delete_subject = method_of(Calls.delete_subject)
    delete_version = method_of(Calls.delete_version)
    check_compatibility = method_of(Calls.check_compatibility)
    config = method_of(Calls.config)
    set_config = method_of(Calls.set_config)
    delete_config = method_of(Calls.delete_config)
    mode = method_of(Calls.mode)
    set_mode = method_of(Calls.set_mode)
    delete_mode = method_of(Calls.delete_mode)
    ping = method_of(Calls.ping)
    schema_types = method_of(Calls.schema_types)
    contexts = method_of(Calls.contexts)
    delete_context = method_of(Calls.delete_context)

    def run(self, script: Script[R]) -> R:
        """Return the result of a script of :attr:`calls`, or of one that is made of them."""
        return run(script, self._transport, self._sleep)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
