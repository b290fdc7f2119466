"""What is decided once and used for every message after: how to write to a topic, how to read a prefix.

Plans stand in plain dictionaries that are replaced and never changed, so that looking one up takes no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from counterfoil.schema.formats.avro.parse import parse_avro
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import RulesNotSupported, SerdeError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.model import Reference, Rule, Schema
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.serde.avro_codec import Decode, Encode
    from counterfoil.sdk.subjects import Field

P = TypeVar("P")
K = TypeVar("K", bound=Hashable)


class SchemaSource(Protocol):
    """What serializers ask a registry; :class:`counterfoil.sdk.Registry` is one."""

    def register(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """The schema as it is registered under the subject."""

    def lookup(self, subject: str, schema: Schema, *, normalize: bool = False) -> RegisteredSchema:
        """The version of the subject that has this content."""

    def version(self, subject: str, number: Any = "latest") -> RegisteredSchema:
        """A version of the subject."""

    def version_with_metadata(self, subject: str, properties: Mapping[str, str]) -> RegisteredSchema:
        """The highest version whose metadata has these properties."""

    def schema_by_id(self, schema_id: int) -> Schema:
        """The schema with this id."""

    def schema_by_guid(self, guid: Any) -> Schema:
        """The schema with this guid."""


class MessageContext(Protocol):
    """What is known of the record at hand; our ``SerializationContext`` is one, and confluent-kafka's."""

    @property
    def topic(self) -> str | None:
        """The topic; None where it is not known."""

    @property
    def field(self) -> str:
        """``key`` or ``value``."""


Headers: TypeAlias = Any
"""Kafka headers: a list of (name, bytes) pairs, a dict, or None."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """How to write to one subject: ``encode(value, prefix)``, and the header to set when the id goes there."""

    encode: Encode
    prefix: bytes
    header: tuple[str, bytes] | None
    subject: str
    schema_id: int
    expires_s: float | None = None

    def until(self, expires_s: float) -> WritePlan:
        """The same plan with another end of its life, by the serializer's clock."""
        return replace(self, expires_s=expires_s)


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How to read data of one schema: ``decode(data, offset)``. ``schema_id`` or ``guid`` is what the frame said."""

    decode: Decode
    offset: int
    schema: Schema
    record_name: str | None
    schema_id: int | None
    guid: UUID | None
    expires_s: float | None = None


class PlanTable(Generic[K, P]):
    """Plans by key. ``found`` is the dictionary to look in; a miss goes to :meth:`resolve`."""

    def __init__(self) -> None:
        self.found: dict[K, P] = {}
        self._guard = Lock()
        self._lock_by_key: dict[K, Lock] = {}

    def resolve(self, key: K, build: Callable[[], P]) -> P:
        """The plan of ``key``, built by one thread while others that need it wait; other keys do not wait."""
        with self._guard:
            lock = self._lock_by_key.setdefault(key, Lock())
        try:
            with lock:
                plan = self.found.get(key)
                return self.put(key, build()) if plan is None else plan
        finally:
            with self._guard:
                self._lock_by_key.pop(key, None)

    def put(self, key: K, plan: P) -> P:
        """Keep the plan, in place of an earlier one."""
        with self._guard:
            self.found = {**self.found, key: plan}
        return plan

    def clear(self) -> None:
        """Forget every plan."""
        with self._guard:
            self.found = {}


def load_avro(registry: SchemaSource, schema: Schema, *, validation: Validation = Validation.LENIENT) -> AvroSchema:
    """The type tree of a schema, its references fetched from the registry, those that they need before them.

    Raises what the registry raises, ``SchemaParseError``, and ``SerdeError`` for a schema that is not Avro.
    """
    if schema.schema_type is not SchemaType.AVRO:
        raise SerdeError(f"The schema is {schema.schema_type.value}; expected AVRO")
    return parse_avro(schema.text, _resolve_references(registry, schema.references), validation=validation)


def _resolve_references(registry: SchemaSource, references: tuple[Reference, ...]) -> list[ResolvedReference]:
    resolved: dict[tuple[str, int], ResolvedReference] = {}
    open_references: set[tuple[str, int]] = set()

    def visit(wanted: tuple[Reference, ...]) -> None:
        for reference in wanted:
            key = (reference.subject, reference.version)
            if key in resolved or key in open_references:
                continue
            open_references.add(key)
            held = registry.version(reference.subject, "latest" if reference.version == -1 else reference.version)
            visit(held.schema.references)
            resolved[key] = ResolvedReference(reference, held.schema.text)

    visit(references)
    return list(resolved.values())


def refuse_rules(schema: Schema) -> None:
    """Raise ``RulesNotSupported`` when the schema carries a rule that a client must run."""
    if schema.rule_set is None:
        return
    rules = (*schema.rule_set.domain_rules, *schema.rule_set.encoding_rules)
    active: list[Rule] = [rule for rule in rules if not rule.disabled]
    if active:
        named = ", ".join(f"{rule.name!r} ({rule.type})" for rule in active)
        raise RulesNotSupported(f"The schema carries rules that this client does not run: {named}")


def topic_of(ctx: MessageContext | None) -> str | None:
    """The topic that a context tells; None without one."""
    topic = getattr(ctx, "topic", None)
    return topic if isinstance(topic, str) else None


def field_of(ctx: MessageContext | None) -> Field:
    """The half of the record that a context tells; the value without one."""
    return "key" if getattr(ctx, "field", None) == "key" else "value"


def place(error: SerdeError, ctx: MessageContext | None, *, subject: str | None = None, schema_id: int | None) -> None:
    """Put where it happened into an error that does not know it yet."""
    error.topic = error.topic or topic_of(ctx)
    error.field = error.field or field_of(ctx)
    error.subject = error.subject or subject
    error.schema_id = schema_id if error.schema_id is None else error.schema_id
