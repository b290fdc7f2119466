"""From a value to a framed Avro message."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeAlias

from counterfoil.schema.fingerprint import content_guid
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.rest.versions import RegisteredSchema
from counterfoil.schema.wire import guid_prefix, id_prefix
from counterfoil.sdk.errors import EncodeError, InvalidSettings, RegistryUnavailable
from counterfoil.sdk.serde.avro_codec import compile_encoder
from counterfoil.sdk.serde.confluent_settings import serializer_settings
from counterfoil.sdk.serde.context import SerializationContext
from counterfoil.sdk.serde.headers import header_name, write_header
from counterfoil.sdk.serde.plans import PlanTable, WritePlan, field_of, load_avro, place, refuse_rules, topic_of
from counterfoil.sdk.subjects import TOPIC, resolve_subject

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.model import Reference
    from counterfoil.sdk.errors import SerdeError
    from counterfoil.sdk.serde.avro_codec import Encode
    from counterfoil.sdk.serde.plans import MessageContext, SchemaSource
    from counterfoil.sdk.subjects import Field, SubjectStrategy

Register: TypeAlias = Literal["auto", "lookup", "latest"] | dict[str, Any]
"""Where a serializer's schema id comes from.

``auto`` registers the schema, ``lookup`` expects it to be registered, ``latest`` takes the subject's latest version and
writes by it, ``{"id": 7}`` and ``{"metadata": {…}}`` take, and write by, the schema that they name.
"""

_OWN_SCHEMA = ("auto", "lookup")
_REFRESHED = ("latest", "metadata")


class AvroSerializer:
    """Writes values as Avro, framed with the id that the registry gives to their schema.

    ``schema`` is Avro schema text, or a ``Schema`` where it has references. ``subject`` names the subject of a topic
    (TOPIC, RECORD, TOPIC_RECORD or a function), and ``register`` says how the id is found (see :data:`Register`); every
    subject has its own id. ``strict`` refuses dict keys that are no fields. ``id_location`` puts the id before the body
    or, as a guid, into the record's headers. ``to_dict(value, ctx)`` turns objects into what the schema describes.
    With ``latest`` and ``metadata`` the registry is asked again after ``latest_ttl_s``, and while it cannot be asked
    the version at hand stays in use.

    One object serves all threads. Raises ``InvalidSettings`` and ``SchemaParseError`` at once; the registry is asked
    when the first value of a subject is written.
    """

    def __init__(
        self,
        registry: SchemaSource,
        schema: str | Schema | None = None,
        *,
        subject: SubjectStrategy | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        strict: bool = False,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Any, Any], Any] | None = None,
        latest_ttl_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registry = registry
        self._schema = Schema(schema) if isinstance(schema, str) else schema
        self._strategy = subject
        self._way, self._chosen = _read_register(register, self._schema)
        self._normalize = normalize
        self._strict = strict
        self._is_in_header = _read_location(id_location)
        self._to_dict = to_dict
        self._latest_ttl_s = latest_ttl_s
        self._clock = clock
        self._plans: PlanTable[tuple[str | None, str], WritePlan] = PlanTable()
        self._encoders: PlanTable[tuple[str, tuple[Reference, ...]], Encode] = PlanTable()
        self._parsed: AvroSchema | None = None
        if self._schema is not None and not self._schema.references:
            self._parsed = load_avro(registry, self._schema, validation=Validation.STRICT)
        self._is_plain = not (self._is_in_header or to_dict or self._way in _REFRESHED)

    @classmethod
    def from_confluent(
        cls,
        registry: SchemaSource,
        schema: str | Schema | None = None,
        to_dict: Callable[[Any, Any], Any] | None = None,
        conf: Mapping[str, Any] | None = None,
    ) -> Self:
        """The serializer that confluent-kafka's ``AvroSerializer`` would be with the same ``conf``.

        Its precedence holds: ``use.schema.id``, then ``use.latest.with.metadata``, ``use.latest.version``,
        ``auto.register.schemas``, and else a look-up. Raises ``InvalidSettings`` for what has no counterpart here.
        """
        return cls(registry, schema, to_dict=to_dict, **serializer_settings(conf or {}))

    def __call__(self, value: object, ctx: MessageContext | None = None) -> bytes | None:
        """The message for ``value``; None for None, a tombstone.

        Raises ``EncodeError`` with path, topic, field, subject and schema id, ``SubjectUnresolved``, and what the
        registry raises.
        """
        if value is None:
            return None
        try:
            plan = self._plans.found.get((ctx.topic, ctx.field))  # type: ignore[union-attr]  # None goes the slow way
        except AttributeError:
            plan = None
        if plan is None or not self._is_plain:
            return self._write(value, ctx)
        try:
            return plan.encode(value, plan.prefix)
        except EncodeError as error:
            self._raise_placed(error, plan, ctx)

    def bind(self, topic: str | None, field: Field = "value") -> Callable[[Any], bytes | None]:
        """A function of the value alone, for clients that know serializers as ``callable(value)``.

        The registry is asked at its first call. It cannot set headers.
        """
        context = SerializationContext(topic, field)

        def write(value: object) -> bytes | None:
            return self(value, context)

        return write

    def close(self) -> None:
        """Forget every plan; the registry, which others may use, stays open."""
        self._plans.clear()
        self._encoders.clear()

    # --- the slow way: what is not decided yet, or needs more than prefix and body ---------------------------------

    def _write(self, value: object, ctx: MessageContext | None) -> bytes:
        plan = self._plan(topic_of(ctx), field_of(ctx))
        try:
            body = plan.encode(self._plain_value(value, ctx), plan.prefix)
        except EncodeError as error:
            self._raise_placed(error, plan, ctx)
        if plan.header is not None:
            write_header(getattr(ctx, "headers", None), *plan.header)
        return body

    def _plain_value(self, value: object, ctx: MessageContext | None) -> object:
        if self._to_dict is None:
            return value
        try:
            return self._to_dict(value, ctx)
        except Exception as error:
            raise EncodeError(f"to_dict failed: {type(error).__name__}: {error}") from error

    def _raise_placed(self, error: SerdeError, plan: WritePlan, ctx: MessageContext | None) -> NoReturn:
        place(error, ctx, subject=plan.subject, schema_id=plan.schema_id)
        raise error

    def _plan(self, topic: str | None, field: Field) -> WritePlan:
        key = (topic, field)
        plan = self._plans.resolve(key, lambda: self._resolve(topic, field))
        if plan.expires_s is None or self._clock() < plan.expires_s:
            return plan
        try:
            return self._plans.put(key, self._resolve(topic, field))
        except RegistryUnavailable:
            return self._plans.put(key, plan.until(self._clock() + self._latest_ttl_s))

    def _resolve(self, topic: str | None, field: Field) -> WritePlan:
        own = self._own_schema()
        name = own.name if own else None
        subject = resolve_subject(self._strategy, topic=topic, field=field, record_name=name)
        found = self._find(subject)
        schema = self._schema if self._schema and self._way in _OWN_SCHEMA else found.schema
        refuse_rules(found.schema)
        refuse_rules(schema)
        header = (
            (header_name(field), guid_prefix(found.guid or self._guid_of(found.id))) if self._is_in_header else None
        )
        return WritePlan(
            encode=self._encoders.resolve((schema.text, schema.references), lambda: self._compile(schema)),
            prefix=b"" if header else id_prefix(found.id),
            header=header,
            subject=subject,
            schema_id=found.id,
            expires_s=self._clock() + self._latest_ttl_s if self._way in _REFRESHED else None,
        )

    def _own_schema(self) -> AvroSchema | None:
        """The tree of the schema that was given; with references it can be read only now."""
        if self._parsed is None and self._schema is not None:
            self._parsed = load_avro(self._registry, self._schema, validation=Validation.STRICT)
        return self._parsed

    def _find(self, subject: str) -> RegisteredSchema:
        match self._way, self._schema:
            case "auto", Schema() as own:
                return self._registry.register(subject, own, normalize=self._normalize)
            case "lookup", Schema() as own:
                return self._registry.lookup(subject, own, normalize=self._normalize)
            case "latest", _:
                return self._registry.version(subject, "latest")
            case "metadata", _:
                return self._registry.version_with_metadata(subject, self._chosen)
        held = self._registry.schema_by_id(self._chosen)
        return RegisteredSchema(subject, None, self._chosen, None, held)

    def _guid_of(self, schema_id: int) -> UUID:
        """The guid of a schema whose registry did not tell it: it follows from the content as it is stored."""
        held = self._registry.schema_by_id(schema_id)
        return content_guid(held.text, held.references, held.metadata, held.rule_set)

    def _compile(self, schema: Schema) -> Encode:
        parsed = self._parsed if schema is self._schema and self._parsed else load_avro(self._registry, schema)
        return compile_encoder(parsed, strict=self._strict)


def _read_register(register: Register, schema: Schema | None) -> tuple[str, Any]:
    if isinstance(register, str) and register in ("auto", "lookup", "latest"):
        if schema is None and register in _OWN_SCHEMA:
            raise InvalidSettings(f"register={register!r} needs a schema, and there is none", setting="schema")
        return register, None
    match register:
        case {"id": int() as schema_id, **more} if not more and id_prefix(schema_id):
            return "id", schema_id
        case {"metadata": Mapping() as properties, **more} if not more:
            return "metadata", dict(properties)
    expected = "'auto', 'lookup', 'latest', {'id': number} or {'metadata': {…}}"
    raise InvalidSettings(f"register is {register!r}; expected {expected}", setting="register")


def _read_location(id_location: str) -> bool:
    if id_location not in ("prefix", "header"):
        raise InvalidSettings(f"id_location is {id_location!r}; expected 'prefix' or 'header'", setting="id_location")
    return id_location == "header"
