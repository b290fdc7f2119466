"""The registry of a serializer: a client of any kind, or an object that has some of a client's methods.

What is requested from a registry is written once, as scripts of :class:`SchemaCalls`. A :class:`RegistrySource` runs
them: in this thread, in a task, or, for an async client outside of its tasks, with what the client has in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

from counterfoil.schema.rest.versions import RegisteredSchema, VersionNumber, Visibility
from counterfoil.sdk.errors import InvalidSettings, SchemaNotCached
from counterfoil.sdk.script import Script, StepNeeded, run_in_memory
from counterfoil.sdk.subjects import ANY_CLUSTER, AssociationCalls, Field

if TYPE_CHECKING:
    from uuid import UUID

    from counterfoil.schema.model import Schema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.client.asynchronous import AsyncRegistry
    from counterfoil.sdk.operations import Operation


T = TypeVar("T")


class SchemaRequests(Protocol):
    """The requests of serializers to a registry, for an object that is not a client of this SDK."""

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return the schema as it is registered under the subject."""

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """Return the version of the subject that has this content."""

    def version(self, subject: str, number: VersionNumber = "latest") -> RegisteredSchema:
        """Return a version of the subject."""

    def version_with_metadata(self, subject: str, properties: Mapping[str, str]) -> RegisteredSchema:
        """Return the highest version whose metadata has these properties."""

    def schema_by_id(self, schema_id: int) -> Schema:
        """Return the schema with this id."""

    def schema_by_guid(self, guid: UUID) -> Schema:
        """Return the schema with this guid."""


AnyRegistry: TypeAlias = "Registry | AsyncRegistry | SchemaRequests"
"""What serializers accept as their registry."""


_CALLS: Final = (
    "register",
    "lookup",
    "version",
    "version_with_metadata",
    "schema_by_id",
    "schema_by_guid",
)
"""The methods of a :class:`SchemaRequests`; one that only reads, or only writes, may have some of them."""


class SchemaCalls(AssociationCalls, Protocol):
    """The scripts of a client's calls that serializers use; see :class:`counterfoil.sdk.client.Calls`."""

    def call(self, operation: Operation[T]) -> Script[T]:
        """Return the result of an operation of :mod:`counterfoil.sdk.operations`."""

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Script[RegisteredSchema]:
        """Return the schema as it is registered under the subject."""

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[RegisteredSchema]:
        """Return the version of the subject that has this content."""

    def version(
        self,
        subject: str,
        number: VersionNumber = "latest",
        *,
        visibility: Visibility = Visibility.ACTIVE,
        refresh: bool = False,
    ) -> Script[RegisteredSchema]:
        """Return a version of the subject."""

    def version_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, refresh: bool = False
    ) -> Script[RegisteredSchema]:
        """Return the highest version whose metadata has these properties."""

    def schema_by_id(self, schema_id: int) -> Script[Schema]:
        """Return the schema with this id."""

    def schema_by_guid(self, guid: UUID) -> Script[Schema]:
        """Return the schema with this guid."""


def _no_registry(kind: type) -> str:
    """Return the sentence that an object of this class is no registry."""
    problem = f"The registry is a {kind.__name__}; expected a Registry or an AsyncRegistry"
    if not kind.__module__.startswith("confluent_kafka."):
        return problem
    return f"{problem}, or the class of this name in counterfoil.sdk.confluent, which takes the same settings"


class RegistrySource:
    """A registry, and how its scripts are run. ``is_async``: a script that needs a request can only be awaited."""

    def __init__(self, registry: AnyRegistry | None) -> None:
        client: Any = registry
        if registry is not None and not any(hasattr(registry, name) for name in _CALLS):
            raise InvalidSettings(_no_registry(type(registry)), setting="registry")
        self._run = getattr(client, "run", None)
        self.is_async = iscoroutinefunction(self._run)
        self.calls: SchemaCalls = _DirectCalls(client) if self._run is None else client.calls

    def run(self, script: Script[T]) -> T:
        """Return the script's result; raise ``SchemaNotCached`` if it must be awaited."""
        if self._run is None:
            return run_in_memory(script)
        if not self.is_async:
            result: T = self._run(script)
            return result
        try:
            return run_in_memory(script)
        except StepNeeded:
            problem = "The schema is not in memory, and the registry is asynchronous; await warm() before this call"
            raise SchemaNotCached(problem) from None

    async def arun(self, script: Script[T]) -> T:
        """Return the script's result; a registry that is not asynchronous blocks the event loop."""
        if self._run is None or not self.is_async:
            return self.run(script)
        result: T = await self._run(script)
        return result


class _DirectCalls:
    """The calls of an object that has a client's methods: scripts without steps, since each method returns a result."""

    def __init__(self, source: SchemaRequests) -> None:
        self._source = source

    def call(self, operation: Operation[T]) -> Script[T]:
        kind = type(self._source).__name__
        problem = f"The registry is a {kind}, which has no {operation.name}; expected a Registry or an AsyncRegistry"
        raise InvalidSettings(problem, setting="registry")

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> Script[RegisteredSchema]:
        return _at_once(lambda: self._source.register(subject, schema, normalize=normalize))

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, visibility: Visibility = Visibility.ACTIVE
    ) -> Script[RegisteredSchema]:
        del visibility
        return _at_once(lambda: self._source.lookup(subject, schema, normalize=normalize))

    def version(
        self,
        subject: str,
        number: VersionNumber = "latest",
        *,
        visibility: Visibility = Visibility.ACTIVE,
        refresh: bool = False,
    ) -> Script[RegisteredSchema]:
        del visibility, refresh
        return _at_once(lambda: self._source.version(subject, number))

    def version_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, refresh: bool = False
    ) -> Script[RegisteredSchema]:
        del refresh
        return _at_once(lambda: self._source.version_with_metadata(subject, properties))

    def schema_by_id(self, schema_id: int) -> Script[Schema]:
        return _at_once(lambda: self._source.schema_by_id(schema_id))

    def schema_by_guid(self, guid: UUID) -> Script[Schema]:
        return _at_once(lambda: self._source.schema_by_guid(guid))

    def associated_subjects(
        self, topic: str, field: Field, *, namespace: str = ANY_CLUSTER, refresh: bool = False
    ) -> Script[tuple[str, ...]]:
        del topic, field, namespace, refresh  # such an object has no associations
        return _at_once(tuple)


def _at_once(call: Callable[[], T]) -> Script[T]:
    """Return a script that makes the call and has no steps."""
    yield from ()
    return call()
