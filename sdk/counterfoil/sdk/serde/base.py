"""The common part of serializers and deserializers, and the ways to call them."""

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import update_wrapper
from operator import attrgetter
from types import MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar

from counterfoil.schema.errors import Forbidden, needed_by
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.sdk.errors import InvalidSettings, SchemaNotCached, SerdeError
from counterfoil.sdk.processes import PickledByArguments
from counterfoil.sdk.serde import MessageContext, Record, SerializationContext, field_of, place_denial, read_record
from counterfoil.sdk.subjects import Associated, Field, SubjectNaming, strategy_named

if TYPE_CHECKING:
    import pyarrow as pa

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.arrow import BatchReader
    from counterfoil.sdk.serde.codec import Decode, Encode
    from counterfoil.sdk.serde.plans import ReadPlan
    from counterfoil.sdk.serde.sources import RegistrySource
    from counterfoil.sdk.usage import Usage


# What serializers and deserializers have in common.

F = TypeVar("F")


class PlanMaker(Protocol):
    """Makes plans; ``subject`` names the subjects."""

    subject: SubjectNaming


class Serde(PickledByArguments):
    """A serializer or a deserializer: its registry, and the maker of its plans."""

    def __init__(self, source: RegistrySource, resolver: PlanMaker) -> None:
        self._source = source
        self._naming = resolver

    @property
    def is_async(self) -> bool:
        """Whether the registry is asynchronous, so that requests are sent by ``warm`` alone."""
        return self._source.is_async

    async def arun(self, script: Callable[[], Script[Datum]]) -> None:
        """Run the script of a ``SchemaNotCached`` that a rule raised, and wait for the registry.

        The rule's executor keeps what the script returns, so that the call can be repeated.
        """
        await self._source.arun(script())

    def set_cluster_id_resolver(self, resolver: Callable[[], str]) -> None:
        """Use the Kafka cluster's id, which ``resolver`` returns, for associations; confluent-kafka's clients call it.

        It has no effect on a strategy that has an id, or that does not request associations.
        """
        subject = self._naming.subject
        if isinstance(subject, Associated) and not isinstance(subject.cluster_id, str):
            self._naming.subject = Associated(subject.fallback, resolver)

    def build(self, conf: Mapping[str, object], is_key: bool) -> tuple[Self, dict[str, Datum]]:  # noqa: FBT001 - the signature of confluent-kafka's builders
        """Return this object and the settings that remain, as confluent-kafka's builders do."""
        del is_key
        return self, dict(conf)


class Done:
    """Something that can be awaited, and that is done already."""

    def __await__(self) -> Datum:
        """Return at once."""
        yield from ()


def chosen(setting: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the value of a setting; raise ``InvalidSettings`` if it is none of its choices."""
    if value not in choices:
        expected = " or ".join(map(repr, choices))
        raise InvalidSettings(f"{setting} is {value!r}; expected {expected}", setting=setting)
    return value


def chosen_function(setting: str, value: F) -> F:
    """Return the function of a setting, which may be None; raise ``InvalidSettings`` if it cannot be called."""
    if value is not None and not callable(value):
        raise InvalidSettings(f"{setting} is a {type(value).__name__}; expected a function", setting=setting)
    return value


def chosen_naming(subject: SubjectNaming | str) -> SubjectNaming:
    """Return the strategy of the setting ``subject``; raise ``InvalidSettings`` if it is none."""
    if isinstance(subject, str):
        return strategy_named(subject)
    return subject if isinstance(subject, Associated) else chosen_function("subject", subject)


def chosen_schema(setting: str, value: object, schema_type: SchemaType) -> Schema | None:
    """Return the schema of a setting; raise ``InvalidSettings`` if it is neither a text nor a ``Schema``."""
    if value is None or isinstance(value, Schema):
        return value
    if isinstance(value, str):
        return Schema(value, schema_type)
    problem = f"{setting} is a {type(value).__name__}; expected the text of a schema, or a Schema"
    where = ", after the registry, which is the first argument" if hasattr(value, "schema_by_id") else ""
    raise InvalidSettings(problem + where, setting=setting)


def observer(usage: Usage) -> Usage:
    """Return the argument of ``observe``; raise ``InvalidSettings`` if it is no ``Usage``."""
    if not hasattr(usage, "observed"):
        raise InvalidSettings(
            f"usage is a {type(usage).__name__}; expected a Usage of counterfoil.sdk", setting="usage"
        )
    return usage


# The call of a serializer or deserializer, which the accelerator takes over for messages that have a short way.
#
# A message has a short way if it needs nothing of its plan but an encoder or a decoder. The method ``__call__`` in
# Python defines what a call does, also by a short way. Where the accelerator is installed, an object gets a call of its
# own as soon as it has a short way: it does the same for these messages, and calls the method for all others and after
# errors.

FunctionT = TypeVar("FunctionT", bound="Callable[..., object]")
K = TypeVar("K")
V = TypeVar("V")

_CALL: Final = "_call"
_CAPACITY: Final = 1000
"""How many short ways an object keeps at most."""

_MAX_WAYS: Final = 64
"""How many short ways the accelerator's call has at most, since it searches them; later ones are found in Python."""


class _Replaceable(property):
    """A method that is the object's attribute ``_call``, if it has one, else the function of the class.

    Python looks ``__call__`` up in the class alone, so that a property returns it; it takes no bytecode.
    """

    def __init__(self, function: Callable[..., Datum]) -> None:
        super().__init__(attrgetter(_CALL))
        self._function = function
        update_wrapper(self, function)

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, _CALL, self._function)

    def __call__(self, serde: object, *arguments: object, **options: object) -> Datum:
        """Call the method as a function of its class."""
        return getattr(serde, _CALL)(*arguments, **options)


def replaceable(function: FunctionT) -> FunctionT:
    """Return ``function``, the method ``__call__``, as one that :func:`use_short_ways` can replace."""
    method: Any = _Replaceable(function)
    return method  # type: ignore[no-any-return]  # it is called like the function


def with_entry(ways: Mapping[K, V], key: K, way: V) -> dict[K, V]:
    """Return the table with one more short way; a full one is begun anew."""
    return {**(ways if len(ways) < _CAPACITY else {}), key: way}


def use_serializer_call(serde: Any, ways: Mapping[tuple[str | None, str], tuple[Encode, bytes]]) -> None:
    """Let the accelerator, if there is one, call its own encoders in ``ways``, which are by topic and field."""
    accelerator = _accelerator_for(ways)
    own = [(*place, *way) for place, way in ways.items() if _is_of(accelerator, way[0])]
    if accelerator is not None and own:
        setattr(serde, _CALL, accelerator.SerializerCall(own, _defined(serde)))


def use_deserializer_call(serde: Any, ways: Mapping[bytes, Decode], prefix_size: int) -> None:
    """Let the accelerator, if there is one, call its own decoders in ``ways``, which are by prefix."""
    accelerator = _accelerator_for(ways)
    own = [way for way in ways.items() if _is_of(accelerator, way[1])]
    if accelerator is not None and own:
        setattr(serde, _CALL, accelerator.DeserializerCall(own, prefix_size, _defined(serde)))


def use_defined_call(serde: object) -> None:
    """Let the method handle every message."""
    vars(serde).pop(_CALL, None)


def _accelerator_for(ways: Mapping[Datum, Datum]) -> ModuleType | None:
    """Return the accelerator; None without one, and for more ways than it searches."""
    from counterfoil.sdk.serde.accelerator import find_accelerator

    return find_accelerator() if len(ways) <= _MAX_WAYS else None


def _is_of(accelerator: ModuleType | None, function: object) -> bool:
    """Return whether a function is a method of the accelerator.

    Any other one may do more than encode or decode, such as count messages or send requests, and must run once.
    """
    return accelerator is not None and type(getattr(function, "__self__", None)).__module__ == accelerator.__name__


def _defined(serde: object) -> Callable[..., Datum]:
    return MethodType(getattr(type(serde), _CALL), serde)


# Records of Kafka clients, of which a deserializer reads the key or the value.

T_co = TypeVar("T_co", covariant=True)


class RecordReader(ABC, Generic[T_co]):
    """The ways to call a deserializer."""

    _returns_errors: bool

    @abstractmethod
    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> T_co | None:
        """Return the value of a message; None for None, a tombstone."""

    @abstractmethod
    def read_plan(self, data: bytes, ctx: MessageContext | None) -> ReadPlan:
        """Return the plan of a message."""

    @abstractmethod
    def empty_schema(self) -> Datum:
        """Return the Arrow schema of a table of no records; None if it is not known."""

    def read(self, record: Record, *, topic: str | None = None, field: Field = "value") -> T_co | None:
        """Return the key or the value of a record of a Kafka client, by its own topic and headers.

        ``record`` may be bytes, of ``topic``. Raises the same errors as calling the deserializer.
        """
        data, ctx = read_record(record, topic, field)
        try:
            return self(data, ctx)
        except Forbidden as error:
            place_denial(error, record, ctx)
            raise

    def many(self, records: Iterable[Record], *, topic: str | None = None, field: Field = "value") -> list[Datum]:
        """Return the keys or the values of many records, in order.

        A record is the bytes of a message of ``topic``, None, or a record of a Kafka client, which has its own topic
        and headers. A value that cannot be read is replaced by its error. Only a ``SerdeError`` replaces a value; the
        registry's errors and ``SchemaNotCached`` end the call. Python's garbage collector is paused during the call,
        since thousands of new values would start it without need.
        """
        ctx = SerializationContext(topic, field)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return [self._value_or_error(record, ctx) for record in records]
        finally:
            if was_enabled:
                gc.enable()

    def arrow(
        self,
        records: Iterable[Record],
        *,
        topic: str | None = None,
        field: Field = "value",
        schema: pa.Schema | None = None,
        errors: MutableMapping[int, SerdeError] | None = None,
    ) -> pa.Table:
        """Return the keys or the values of many records as an Arrow table: a row for each record, in order.

        A record is the same as for :meth:`many`. The fields of its value are the columns; a value that is no record is
        one column, ``value``. Values keep the types of their schema (for Avro see
        :mod:`counterfoil.sdk.serde.arrow.avro_types`; for JSON and Protobuf Arrow infers them), and are not converted
        by ``from_dict`` or to a model. None, a tombstone, is a row of nulls. Records of different writers have the
        columns of all of them, unless there is a reader's schema.

        With ``schema``, the table has its columns, cast to its types; columns that the values do not have are null.
        The first record that cannot be read raises its error; with ``errors``, a dict, each such record is a row of
        nulls, and ``errors[number of the row]`` is its error; so is a record with a value that does not fit the type
        that ``schema`` gives its column. With ``on_error="return"`` it is a row of nulls too. The registry's errors and
        ``SchemaNotCached`` end the call.

        Raises ``SerdeError`` for values that have no type in Arrow, or no common one, and ``MissingExtra`` without
        pyarrow, which the extra ``arrow`` installs.
        """
        reader = self.table_reader(topic=topic, field=field, errors=errors)
        reader.read(records)
        return reader.table(schema, self.empty_schema)

    def table_reader(
        self, *, topic: str | None, field: Field, errors: MutableMapping[int, SerdeError] | None
    ) -> BatchReader:
        """Return the reader of records into one table, with the arguments of :meth:`arrow`."""
        with needed_by("arrow()", extra="arrow"):
            from counterfoil.sdk.serde.arrow import BatchReader
        if errors is None and self._returns_errors:
            errors = {}
        return BatchReader(self.read_plan, ctx=SerializationContext(topic, field), errors=errors)

    def bind(self, topic: str | None, field: Field = "value") -> Callable[[bytes | None], T_co | None]:
        """Return a function of the data alone, for clients that call deserializers as ``callable(data)``."""
        context = SerializationContext(topic, field)

        def read(data: bytes | None) -> T_co | None:
            return self(data, context)

        return read

    def _value_or_error(self, record: Record, ctx: SerializationContext) -> Datum:
        try:
            if record.__class__ is bytes:
                return self(record, ctx)
            return self.read(record, topic=ctx.topic, field=field_of(ctx))
        except SchemaNotCached:
            raise
        except SerdeError as error:
            return error
