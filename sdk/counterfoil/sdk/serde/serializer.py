"""Serializing values as framed messages of any format."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar

from counterfoil.schema.errors import CounterfoilError
from counterfoil.sdk.errors import EncodeError, SerdeError
from counterfoil.sdk.serde.context import SerializationContext, field_of, headers_of, topic_of
from counterfoil.sdk.serde.headers import write_header
from counterfoil.sdk.serde.places import place
from counterfoil.sdk.serde.renewal import Planner
from counterfoil.sdk.serde.rules import keys
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, chosen_rules
from counterfoil.sdk.serde.serde import Done, Serde, chosen, chosen_function, chosen_naming, chosen_schema
from counterfoil.sdk.serde.short_ways import replaceable, use_defined_call, use_serializer_call, with_entry
from counterfoil.sdk.serde.sources import Source
from counterfoil.sdk.serde.writing import WriteResolver
from counterfoil.sdk.subjects import TOPIC

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from counterfoil.schema.model import Schema
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.codec import Codec, Encode
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.serde.plans import WritePlan
    from counterfoil.sdk.serde.renewal import Build
    from counterfoil.sdk.serde.rules.settings import Rules
    from counterfoil.sdk.serde.sources import AnyRegistry
    from counterfoil.sdk.serde.writing import Import, Register
    from counterfoil.sdk.subjects import Field, SubjectNaming

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
    ``register`` is how the id is found (see :data:`~counterfoil.sdk.serde.writing.Register`); every subject has its own
    id. ``id_location`` puts the id before the body or, as a guid, into the record's headers. ``to_dict(value, ctx)``
    turns objects into the values of the codec. With ``latest`` and ``metadata`` the version is requested again within
    ``latest_ttl_s``, in the background; while the registry cannot be reached, the known version stays in use. ``rules``
    is how the rules of schemas are run.

    One object can be used by all threads. Raises ``InvalidSettings`` and ``SchemaParseError`` at once; the first
    request is sent when the first value of a subject is written, or by :meth:`warm`.
    """

    def __init__(
        self,
        codec: Codec[Any],
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        imports: Sequence[Import] = (),
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Any, Any], Any] | None = None,
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
        super().__init__(Source(registry), self._resolver)
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

        def encode_until_due(value: Any, prefix: bytes) -> bytes:
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

    def _plain_value(self, value: T_contra, ctx: MessageContext | None) -> Any:
        if self._to_dict is None:
            return value
        try:
            return self._to_dict(value, ctx)
        except Exception as error:
            raise EncodeError(f"to_dict failed: {type(error).__name__}: {error}") from error

    def _raise_placed(self, error: CounterfoilError, ctx: MessageContext | None, plan: WritePlan | None) -> NoReturn:
        place(error, ctx, subject=plan.subject if plan else None, schema_id=plan.schema_id if plan else None)
        raise error from error.__cause__  # what a fast way raised before is not shown
