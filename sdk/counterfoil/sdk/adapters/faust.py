"""A ``faust.Schema`` whose keys and values are framed with schema ids.

Faust passes no topic when it serializes, so each topic gets a copy of its schema that has the topic's name. Topics that
Faust derives, such as the one of ``group_by``, are written with the serializers of the topic that they come from;
values that are only passed on stay the bytes that they are.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from weakref import WeakKeyDictionary

from counterfoil.schema.errors import Forbidden, needed_by
from counterfoil.sdk.adapters.dead_letters import dead_letter, header_pairs, new_context
from counterfoil.sdk.errors import SchemaNotCached, SerdeError
from counterfoil.sdk.serde import SerializationContext, place_denial

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from faust.types import AppT, EventT, Message

    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.serde.deserializer import Deserializer
    from counterfoil.sdk.serde.multi import MultiDeserializer
    from counterfoil.sdk.serde.serializer import Serializer
    from counterfoil.sdk.subjects import Field


with needed_by("The adapter of Faust", extra="faust"):
    import faust
    from faust.exceptions import KeyDecodeError, ValueDecodeError
    from faust.types import ModelT, TopicT

if TYPE_CHECKING:
    AnyDeserializer: TypeAlias = "Deserializer[Datum] | MultiDeserializer"

_SENT: Final[WeakKeyDictionary[Message, set[tuple[str, ...]]]] = WeakKeyDictionary()
"""The topics that have a dead letter of a message; a message is one object for all agents that read its topic."""

_DECODE_ERRORS: Final = {"key": KeyDecodeError, "value": ValueDecodeError}


class RegistrySchema(faust.Schema):  # type: ignore[misc]  # Faust's types are not read
    """The ``schema`` of topics; the serializers have a ``Registry`` or an ``AsyncRegistry``.

    Keys and values without a serializer are serialized by Faust, and bytes are sent as they are. Records of Faust are
    written with the values of their fields, and read as the topic's ``key_type`` and ``value_type``. A message that
    cannot be read raises Faust's ``KeyDecodeError`` or ``ValueDecodeError``; with ``dead_letters``, a topic, it is sent
    there instead, once, and agents do not receive it. ``more`` are the arguments of ``faust.Schema``.
    """

    def __init__(
        self,
        *,
        serialize_key: Serializer[Datum] | None = None,
        serialize_value: Serializer[Datum] | None = None,
        deserialize_key: AnyDeserializer | None = None,
        deserialize_value: AnyDeserializer | None = None,
        dead_letters: TopicT | None = None,
        **more: object,
    ) -> None:
        super().__init__(**more)
        self._serializers: dict[Field, Serializer[Datum] | None] = {"key": serialize_key, "value": serialize_value}
        self._deserializers: dict[Field, AnyDeserializer | None] = {"key": deserialize_key, "value": deserialize_value}
        self._dead_letters = dead_letters
        self.topic: str | None = None

    def for_topic(self, name: str | None) -> RegistrySchema:
        """Return a copy that writes to the topic of this name. Topics with this schema have such a copy."""
        made = copy(self)
        made.topic = name
        return made

    # --- writing ----------------------------------------------------------------------------------------------------

    async def warm(self) -> None:
        """Send the registry's requests for writing to the topic now; raises the errors of the configuration."""
        for field, serializer in self._serializers.items():
            if serializer is not None:
                await serializer.warm(topic=self.topic, field=field)

    def dumps_key(self, app: AppT, key: object, *, serializer: object = None, headers: object) -> tuple[Datum, Datum]:
        """Return the key as bytes, and the headers."""
        if self._is_left_to_faust("key", key):
            return super().dumps_key(app, key, serializer=serializer, headers=headers)  # type: ignore[no-any-return]  # Faust's types
        return self._dumped("key", key, headers)

    def dumps_value(
        self, app: AppT, value: object, *, serializer: object = None, headers: object
    ) -> tuple[Datum, Datum]:
        """Return the value as bytes, and the headers."""
        if self._is_left_to_faust("value", value):
            return super().dumps_value(app, value, serializer=serializer, headers=headers)  # type: ignore[no-any-return]  # Faust's types
        return self._dumped("value", value, headers)

    def _is_left_to_faust(self, field: Field, value: object) -> bool:
        return self._serializers[field] is None or isinstance(value, bytes)

    def _dumped(self, field: Field, value: object, headers: object) -> tuple[bytes | None, Datum]:
        serializer = self._serializers[field]
        assert serializer  # noqa: S101 - the callers have checked it
        pairs = list(header_pairs(headers))
        return serializer(_plain(value), new_context(self.topic, field, pairs)), pairs

    # --- reading ----------------------------------------------------------------------------------------------------

    def loads_key(self, app: AppT, message: Message, *, loads: object = None, serializer: object = None) -> Datum:
        """Return the key of a message."""
        deserialize = self._deserializers["key"]
        if deserialize is None or message.key is None:
            return super().loads_key(app, message, loads=loads, serializer=serializer)
        return _loaded(deserialize, message, "key", self.key_type)

    def loads_value(self, app: AppT, message: Message, *, loads: object = None, serializer: object = None) -> Datum:
        """Return the value of a message."""
        deserialize = self._deserializers["value"]
        if deserialize is None or message.value is None:
            return super().loads_value(app, message, loads=loads, serializer=serializer)
        return _loaded(deserialize, message, "value", self.value_type)

    def compile(
        self,
        app: AppT,
        *,
        on_key_decode_error: Any = None,
        on_value_decode_error: Any = None,
        default_propagate: bool = False,
    ) -> Callable[..., Awaitable[EventT]]:
        """Return the function that makes events of the messages of a topic; Faust calls it with the topic's methods."""
        topic = getattr(on_value_decode_error, "__self__", None)
        if isinstance(topic, TopicT):
            topic.schema = self.for_topic(_name_of(topic))
            if self._dead_letters is not None:
                topic.on_key_decode_error = topic.on_value_decode_error = self._send_dead_letter
            on_key_decode_error, on_value_decode_error = topic.on_key_decode_error, topic.on_value_decode_error
        on_error = {KeyDecodeError: on_key_decode_error, ValueDecodeError: on_value_decode_error}
        make_event = super().compile(app)

        async def decode(message: Message, *, propagate: bool = default_propagate) -> Datum:
            try:
                while True:
                    try:
                        return await make_event(message, propagate=True)
                    except SchemaNotCached as missing:
                        await self._fetch(message, "key" if missing.field == "key" else "value")
            except (KeyDecodeError, ValueDecodeError) as error:
                handle = on_error[type(error)]
                if propagate or handle is None:
                    raise
                return await handle(error, message)

        return decode

    async def _fetch(self, message: Message, field: Field) -> None:
        """Wait for the schema of a message's key or value."""
        deserialize = self._deserializers[field]
        assert deserialize  # noqa: S101 - it has raised SchemaNotCached
        context = _context(message, field)
        try:
            await deserialize.warm(
                data=getattr(message, field), topic=context.topic, field=field, headers=context.headers
            )
        except Forbidden as error:
            place_denial(error, message, context)
            raise
        except SerdeError as error:
            _raise_for_faust(error, field)

    async def _send_dead_letter(self, error: Exception, message: Message) -> None:
        """Send one dead letter for a message, although Faust calls this for each agent that reads the topic."""
        letters = self._dead_letters
        assert letters  # noqa: S101 - this method is used only with dead letters
        names = tuple(letters.topics)
        if names in _SENT.get(message, ()):
            return
        await letters.send(**dead_letter(message, error.__cause__ or error))
        _SENT.setdefault(message, set()).add(names)


def _loaded(deserialize: AnyDeserializer, message: Message, field: Field, model: Any) -> Datum:
    context = _context(message, field)
    try:
        value = deserialize(getattr(message, field), context)
        return model.from_data(value, preferred_type=model) if _is_record(model) else value
    except SchemaNotCached:
        raise
    except Forbidden as error:
        place_denial(error, message, context)
        raise
    except (SerdeError, TypeError, ValueError) as error:  # Faust's models raise the latter two
        _raise_for_faust(error, field)


def _raise_for_faust(error: Exception, field: Field) -> NoReturn:
    raise _DECODE_ERRORS[field](str(error)) from error


def _is_record(model: object) -> bool:
    return isinstance(model, type) and issubclass(model, ModelT)


def _context(message: Message, field: Field) -> SerializationContext:
    return SerializationContext(message.topic, field, message.headers)


def _name_of(topic: TopicT) -> str | None:
    """Return the name of a topic; None for one with a pattern, or with several names."""
    return topic.topics[0] if len(topic.topics) == 1 else None


def _plain(value: object) -> Datum:
    """Return a value with dicts in place of Faust's records."""
    match value:
        case ModelT():
            return _plain(value.asdict())
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
