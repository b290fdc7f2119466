"""Serializing values as framed messages of any format: how the schema and its id are found, and the plan for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar

from counterfoil.schema.errors import CounterfoilError, SchemaParseError
from counterfoil.schema.model import Reference, ResolvedReference, Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import guid_prefix, id_prefix
from counterfoil.sdk.errors import EncodeError, InvalidSettings, SerdeError
from counterfoil.sdk.serde import SerializationContext, field_of, header_name, headers_of, place, topic_of, write_header
from counterfoil.sdk.serde.base import (
    Done,
    Serde,
    chosen,
    chosen_function,
    chosen_naming,
    chosen_schema,
    replaceable,
    use_defined_call,
    use_serializer_call,
    with_entry,
)
from counterfoil.sdk.serde.codec import AnyCodec, load_schema, parse_own
from counterfoil.sdk.serde.plans import Planner, PlanTable, WritePlan
from counterfoil.sdk.serde.rules import settings as keys
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, chosen_rules
from counterfoil.sdk.serde.sources import RegistrySource
from counterfoil.sdk.subjects import TOPIC, find_subject

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from uuid import UUID

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.rest.versions import RegisteredSchema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde import MessageContext
    from counterfoil.sdk.serde.codec import Codec, Encode
    from counterfoil.sdk.serde.plans import Build
    from counterfoil.sdk.serde.rules.plans import WriteRules
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.sources import AnyRegistry, SchemaCalls
    from counterfoil.sdk.subjects import Field, SubjectNaming


# How a serializer finds the schema of a subject and its id, and makes a plan for writing of them.

P = TypeVar("P")

Register: TypeAlias = Literal["auto", "lookup", "latest"] | dict[str, Any]
"""How a serializer finds its schema id.

``auto`` registers the schema, ``lookup`` requires that it is registered, ``latest`` writes with the subject's latest
version, and ``{"id": 7}`` and ``{"metadata": {…}}`` write with the schema that they name.
"""

_OWN_SCHEMA = ("auto", "lookup")
_REFRESHED = ("latest", "metadata")


@dataclass(frozen=True, slots=True)
class SchemaImport:
    """A schema that a program's own schema refers to, and that is registered before it.

    ``name`` is the name in the text that refers to it, ``subject`` its subject, ``imports`` what it refers to itself;
    ``schema`` has no references.
    """

    name: str
    subject: str
    schema: Schema
    imports: tuple[SchemaImport, ...] = ()


class _Found(NamedTuple):
    """The schema of a subject; ``guid`` is None if the registry does not return it."""

    id: int
    guid: UUID | None
    schema: Schema


class _Own(NamedTuple, Generic[P]):
    """The program's own schema, and its parsed form."""

    schema: Schema
    parsed: P


class _Compiled(NamedTuple, Generic[P]):
    """A schema, parsed; its encoder, and the suffix of its frames."""

    parsed: P
    encode: Encode
    suffix: bytes


class WriteResolver(Generic[P]):
    """Makes plans for writing; its methods are scripts."""

    def __init__(
        self,
        codec: Codec[P],
        schema: Schema | None,
        *,
        imports: Sequence[SchemaImport],
        subject: SubjectNaming,
        register: Register,
        normalize: bool,
        is_in_header: bool,
        rules: Rules,
    ) -> None:
        self._codec = codec
        self._schema = schema
        self._imports = tuple(imports)
        self.subject = subject
        self._way, self._chosen = _read_register(register, schema)
        self._normalize = normalize
        self._is_in_header = is_in_header
        self._rules = rules
        self._encoders: PlanTable[tuple[str, tuple[Reference, ...]], _Compiled[P]] = PlanTable()
        self._own: _Own[P] | None = None
        self._parsed: P | None = None
        if schema is not None and not schema.references:
            self._parsed = self._parse(schema)

    def _parse(self, schema: Schema) -> P:
        """Return the given schema, parsed.

        Where another one is written with, this one names the record, and its references may be known only there.
        """
        try:
            return parse_own(self._codec, schema, list(_resolved(self._imports)))
        except SchemaParseError:
            if self._way in _OWN_SCHEMA:
                raise
            return self._codec.parse(schema, (), validation=Validation.LENIENT)

    @property
    def is_refreshed(self) -> bool:
        """Whether the schema of a subject may change, so that its plans expire."""
        return self._way in _REFRESHED

    def plan(self, source: RegistrySource, topic: str | None, field: Field, *, refresh: bool) -> Script[WritePlan]:
        """Return the plan for the keys or the values of a topic."""
        calls = source.calls
        own = yield from self._own_schema(calls)
        name = self._codec.record_name(own.parsed, self._codec.frame_suffix(own.parsed)) if own else None
        subject = yield from find_subject(
            calls, self.subject, topic=topic, field=field, record_name=name, refresh=refresh
        )
        found = yield from self._find(calls, subject, own, refresh=refresh)
        schema = own.schema if own and self._way in _OWN_SCHEMA else found.schema
        compiled = yield from self._compiled(calls, schema)
        ruled = schema if found.schema.rule_set is None else found.schema
        rules = yield from self._compiled_rules(source, compiled.parsed, ruled, (subject, topic, field))
        header = None
        if self._is_in_header:
            guid = found.guid or (yield from self._guid_of(calls, found.id))
            header = (header_name(field), guid_prefix(guid) + compiled.suffix)
        return WritePlan(
            encode=compiled.encode,
            prefix=b"" if header else id_prefix(found.id) + compiled.suffix,
            header=header,
            subject=subject,
            schema_id=found.id,
            rules=rules,
        )

    def clear(self) -> None:
        """Remove the compiled functions."""
        self._encoders.clear()

    def _own_schema(self, calls: SchemaCalls) -> Script[_Own[P] | None]:
        """Return the given schema; with references it can be read only here."""
        if self._own is None and self._schema is not None:
            schema = self._schema
            if self._imports and self._way in _OWN_SCHEMA:
                references = yield from self._registered_imports(calls, self._imports)
                schema = replace(schema, references=references)
            parsed = self._parsed
            if parsed is None:
                parsed = yield from load_schema(calls, self._codec, schema, validation=Validation.STRICT)
            self._own = _Own(schema, parsed)
        return self._own

    def _registered_imports(self, calls: SchemaCalls, imports: Sequence[SchemaImport]) -> Script[tuple[Reference, ...]]:
        """Return references to the imports, each registered or looked up after those that it refers to itself."""
        references = []
        for each in imports:
            needed = yield from self._registered_imports(calls, each.imports)
            schema = replace(each.schema, references=needed)
            call = calls.register if self._way == "auto" else calls.lookup
            found = yield from call(each.subject, schema, normalize=self._normalize)
            if found.version is None:  # a registry that returns only the id of a registration
                found = yield from calls.lookup(each.subject, schema, normalize=self._normalize)
            references.append(Reference(each.name, each.subject, found.version or -1))
        return tuple(references)

    def _find(
        self, calls: SchemaCalls, subject: str, own: _Own[P] | None, *, refresh: bool
    ) -> Script[RegisteredSchema | _Found]:
        match self._way, own:
            case "auto", _Own(schema=schema):
                return (yield from calls.register(subject, schema, normalize=self._normalize))
            case "lookup", _Own(schema=schema):
                return (yield from calls.lookup(subject, schema, normalize=self._normalize))
            case "latest", _:
                return (yield from calls.version(subject, "latest", refresh=refresh))
            case "metadata", _:
                return (yield from calls.version_with_metadata(subject, self._chosen, refresh=refresh))
        held = yield from calls.schema_by_id(self._chosen)
        return _Found(self._chosen, None, held)

    def _guid_of(self, calls: SchemaCalls, schema_id: int) -> Script[UUID]:
        """Return the guid of a schema, computed from the stored content if the registry did not return it."""
        from counterfoil.schema.fingerprint import content_guid

        held = yield from calls.schema_by_id(schema_id)
        return content_guid(held.text, held.references, held.metadata, held.rule_set)

    def _compiled_rules(
        self, source: RegistrySource, parsed: P, ruled: Schema, place: tuple[str, str | None, Field]
    ) -> Script[WriteRules | None]:
        """Return the rules of ``ruled`` for values of the parsed schema, if there are any."""
        if ruled.rule_set is None and self._rules.check is None:
            return None
        from counterfoil.sdk.serde.rules.plans import compile_write_rules
        from counterfoil.sdk.serde.rules.stages import RulePlace

        return (yield from compile_write_rules(self._codec, parsed, ruled, RulePlace(*place, source, self._rules)))

    def _compiled(self, calls: SchemaCalls, schema: Schema) -> Script[_Compiled[P]]:
        """Return the compiled functions of a schema; each content is compiled once."""
        key = (schema.text, schema.references)
        found = self._encoders.found.get(key)
        if found is not None:
            return found
        if self._own is not None and schema is self._own.schema:
            parsed = self._own.parsed
        else:
            parsed = yield from load_schema(calls, self._codec, schema)
        codec = self._codec
        return self._encoders.resolve(key, lambda: _Compiled(parsed, codec.encoder(parsed), codec.frame_suffix(parsed)))


def _resolved(imports: Sequence[SchemaImport]) -> Iterator[ResolvedReference]:
    """Yield the imports, each after those that it refers to itself."""
    for each in imports:
        yield from _resolved(each.imports)
        yield ResolvedReference(Reference(each.name, each.subject, -1), each.schema.text)


def _read_register(register: Register, schema: Schema | None) -> tuple[str, Datum]:
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


# Serializing values as framed messages of any format.

if TYPE_CHECKING:
    import typing_extensions

    T_contra = typing_extensions.TypeVar("T_contra", contravariant=True, default=Any)
else:
    T_contra = TypeVar("T_contra", contravariant=True)
"""The class of the values; for type checkers ``Any`` unless a model names it."""


class Serializer(Serde, Generic[T_contra]):
    """Writes values with a codec, framed with the registry's id of their schema.

    ``schema`` is schema text, or a ``Schema`` where it has references; ``imports`` are schemas that are registered
    before it. ``subject`` names the subject of a topic (TOPIC, RECORD, TOPIC_RECORD, ``Associated`` or a function), and
    ``register`` is how the id is found (see :data:`Register`); every subject has its
    own id. ``id_location`` puts the id before the body or, as a guid, into the record's headers. ``to_dict(value,
    ctx)`` turns objects into the values of the codec. With ``latest`` and ``metadata`` the version is requested again
    within ``latest_ttl_s``, in the background; while the registry cannot be reached, the known version stays in use.
    ``rules`` is how the rules of schemas are run.

    One object can be used by all threads. Raises ``InvalidSettings`` and ``SchemaParseError`` at once; the first
    request is sent when the first value of a subject is written, or by :meth:`warm`.
    """

    def __init__(
        self,
        codec: AnyCodec,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        imports: Sequence[SchemaImport] = (),
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._to_dict = chosen_function("to_dict", to_dict)
        is_in_header = chosen("id_location", id_location, ("prefix", "header")) == "header"
        self._resolver = WriteResolver(
            codec,
            chosen_schema("schema", schema, codec.schema_type),
            imports=imports,
            subject=chosen_naming(subject),
            register=register,
            normalize=normalize,
            is_in_header=is_in_header,
            rules=chosen_rules(rules),
        )
        super().__init__(RegistrySource(registry), self._resolver)
        is_refreshed = self._resolver.is_refreshed
        self._plans: Planner[tuple[str | None, str], WritePlan] = Planner(
            self._source, ttl_s=latest_ttl_s if is_refreshed else None, clock=clock
        )
        self._clock = clock
        self._is_refreshed = is_refreshed
        self._is_more = is_in_header or to_dict is not None
        self._ready: dict[tuple[str | None, str], tuple[Encode, bytes]] = {}
        """What a call needs of a plan, if that is all it needs; replaced and never changed, as the plans are."""
        keys.NEED.join(self)

    @replaceable
    def __call__(self, value: T_contra | None, ctx: MessageContext | None = None) -> bytes | None:
        """Return the message for ``value``; None for None, a tombstone.

        Raises ``EncodeError`` with path, topic, field, subject and schema id, ``ValidationError`` (JSON), ``RuleError``
        (a rule of the schema), ``SubjectUnresolved``, the registry's errors, and with an async registry
        ``SchemaNotCached``.
        """
        if value is None:
            return None
        try:
            encode, prefix = self._ready[ctx.topic, ctx.field]  # type: ignore[union-attr]  # None goes the slow way
        except (AttributeError, LookupError, TypeError):
            return self._write(value, ctx)
        try:
            return encode(value, prefix)
        except SerdeError as error:
            self._raise_placed(error, ctx, self._plans.found.get((topic_of(ctx), field_of(ctx))))

    def bind(self, topic: str | None, field: Field = "value") -> Callable[[T_contra | None], bytes | None]:
        """Return a function of the value alone, for clients that call serializers as ``callable(value)``.

        The first call sends requests to the registry. It cannot set headers.
        """
        context = SerializationContext(topic, field)

        def write(value: T_contra | None) -> bytes | None:
            return self(value, context)

        return write

    def warm(self, *, topic: str | None = None, field: Field = "value") -> Awaitable[None]:
        """Send the requests of the first message now, so that later calls send none.

        With an async registry the result must be awaited; with another one everything is done when the method returns.
        """
        if self._source.is_async:
            return self._plans.warm((topic, field), self._script(topic, field))
        self.header(topic, field)
        return Done()

    def header(self, topic: str | None, field: Field = "value") -> tuple[str, bytes] | None:
        """Return the header that names the schema of the next message to a topic; None if its prefix does.

        It is for clients that take headers before they call the serializer. The first call sends the requests of the
        first message.
        """
        context = SerializationContext(topic, field)
        try:
            return self._plan(context).header
        except CounterfoilError as error:
            place(error, context)
            raise

    def close(self) -> None:
        """Remove every plan; the registry and the rules' executors, which others may use, stay open."""
        self.forget_short_ways()
        self._plans.clear()
        self._resolver.clear()

    def forget_short_ways(self) -> None:
        """Handle every record on the way that keeps keys for the rules of values."""
        self._ready = {}
        use_defined_call(self)

    # --- the slow path: the first message of a subject, and messages with more than prefix and body
    # ---------------------------------

    def _write(self, value: T_contra, ctx: MessageContext | None) -> bytes:
        plan: WritePlan | None = None
        try:
            plan = self._plan(ctx)
            if self._has_short_way(plan, ctx):
                self._make_ready(topic_of(ctx), field_of(ctx), plan)
            plain = self._plain_value(value, ctx)
            rules = plan.rules
            body = plan.encode(plain, plan.prefix) if rules is None else rules.write(plain, plan.prefix, ctx)
            if plan.header is not None:
                write_header(headers_of(ctx), *plan.header)
        except CounterfoilError as error:
            self._raise_placed(error, ctx, plan)
        finally:
            if keys.NEED.is_there:
                rules = None if plan is None else plan.rules
                keys.keep(ctx, None if plan is None else value, None if rules is None else rules.redact_key)
        return body

    def _has_short_way(self, plan: WritePlan, ctx: MessageContext | None) -> bool:
        """Return whether a call needs nothing of the plan but its prefix and its encoder."""
        is_kept = keys.NEED.is_there and field_of(ctx) == "key"
        return plan.rules is None and not self._is_more and not is_kept

    def _make_ready(self, topic: str | None, field: Field, plan: WritePlan) -> None:
        if (topic, field) in self._ready and not self._is_refreshed:
            return  # the call came without a context, so that it could not look the way up

        def encode_until_due(value: Datum, prefix: bytes) -> bytes:
            if self._clock() < plan.due_s:
                return plan.encode(value, prefix)
            return self._write(value, SerializationContext(topic, field))

        encode = encode_until_due if self._is_refreshed else plan.encode
        self._ready = with_entry(self._ready, (topic, field), (encode, plan.prefix))
        use_serializer_call(self, self._ready)

    def _plan(self, ctx: MessageContext | None) -> WritePlan:
        topic, field = topic_of(ctx), field_of(ctx)
        return self._plans.get((topic, field), self._script(topic, field))

    def _script(self, topic: str | None, field: Field) -> Build[WritePlan]:
        def build(*, refresh: bool) -> Script[WritePlan]:
            return self._resolver.plan(self._source, topic, field, refresh=refresh)

        return build

    def _plain_value(self, value: T_contra, ctx: MessageContext | None) -> Datum:
        if self._to_dict is None:
            return value
        try:
            return self._to_dict(value, ctx)
        except Exception as error:
            raise EncodeError(f"to_dict failed: {type(error).__name__}: {error}") from error

    def _raise_placed(self, error: CounterfoilError, ctx: MessageContext | None, plan: WritePlan | None) -> NoReturn:
        place(error, ctx, subject=plan.subject if plan else None, schema_id=plan.schema_id if plan else None)
        raise error from error.__cause__  # what a fast way raised before is not shown
