"""Protobuf for Kafka: a serializer and a deserializer that find their schemas in a registry."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from google.protobuf.message import DecodeError as RuntimeDecodeError
from google.protobuf.message import EncodeError as RuntimeEncodeError
from google.protobuf.message import Message

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.protobuf.runtime import MessageClass
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.wire import ID_PREFIX_BYTES
from counterfoil.sdk.errors import InvalidSettings
from counterfoil.sdk.serde import MessageContext, field_of, header_name, read_header
from counterfoil.sdk.serde.base import with_entry
from counterfoil.sdk.serde.codec import Decode, OutOfRange, checked_flag, reads_numbers
from counterfoil.sdk.serde.confluent_settings import (
    ConfluentOption,
    deserializer_settings,
    flag,
    function,
    must_be,
    optional,
    serializer_settings,
)
from counterfoil.sdk.serde.deserializer import Deserializer
from counterfoil.sdk.serde.plans import ReadPlan
from counterfoil.sdk.serde.protobuf.codec import ProtobufCodec
from counterfoil.sdk.serde.protobuf.decode import parser_of
from counterfoil.sdk.serde.reading import Latest, OnForbidden
from counterfoil.sdk.serde.rules.settings import DEFAULT_RULES, Rules
from counterfoil.sdk.serde.serializer import Register, SchemaImport, Serializer
from counterfoil.sdk.serde.sources import AnyRegistry
from counterfoil.sdk.subjects import TOPIC, SubjectNaming

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

    from counterfoil.sdk.usage import Usage


# The schema of a generated class, with the files that it imports: what a serializer registers.
#
# Source: the behaviour of Confluent's serializers; ``google/protobuf/descriptor.proto``.

ReferenceSubject: TypeAlias = Callable[[str], str]
"""Names the subject of an imported file from its import path."""

_KNOWN_FOLDERS: Final = ("google/protobuf/", "google/type/", "confluent/")


def IMPORT_PATH(path: str) -> str:  # noqa: N802 - a constant to its users, as the strategies of subjects
    """Return the import path itself.

    >>> IMPORT_PATH("taxi/place.proto")
    'taxi/place.proto'
    """
    return path


def QUALIFIED(path: str) -> str:  # noqa: N802 - as above
    """Return the import path as a name with dots.

    >>> QUALIFIED("taxi/place.proto")
    'taxi.place'
    """
    return path.removesuffix(".proto").replace("/", ".")


def schema_of_class(class_: MessageClass) -> Schema:
    """Return the schema of the file that declares a generated class, a descriptor in base64 without references."""
    return _schema(class_.DESCRIPTOR.file)


def imports_of_class(
    class_: MessageClass, *, reference_subject: ReferenceSubject, skip_known_types: bool
) -> tuple[SchemaImport, ...]:
    """Return the imports of the file that declares a generated class.

    With ``skip_known_types`` they are without the files of Google and Confluent, which registries have built in.
    """
    return _imports(class_.DESCRIPTOR.file, reference_subject, skip_known_types=skip_known_types)


def checked_class(class_: object, setting: str) -> MessageClass:
    """Return the class if it is one of messages; raise ``InvalidSettings``."""
    if isinstance(class_, type) and issubclass(class_, Message) and hasattr(class_, "DESCRIPTOR"):
        return class_
    raise InvalidSettings(f"{setting} is {class_!r:.80}; expected a generated class of messages", setting=setting)


def _imports(file: FileDescriptor, subject: ReferenceSubject, *, skip_known_types: bool) -> tuple[SchemaImport, ...]:
    return tuple(
        SchemaImport(
            each.name, subject(each.name), _schema(each), _imports(each, subject, skip_known_types=skip_known_types)
        )
        for each in file.dependencies
        if not (skip_known_types and each.name.startswith(_KNOWN_FOLDERS))
    )


def _schema(file: FileDescriptor) -> Schema:
    return Schema(b64encode(file.serialized_pb).decode("ascii"), SchemaType.PROTOBUF)


# The serializer and the deserializer.

__all__ = ["IMPORT_PATH", "QUALIFIED", "ProtobufDeserializer", "ProtobufSerializer", "ReferenceSubject"]


_FIRST: Final = ID_PREFIX_BYTES + 1
"""The size of a frame before the first message of a file."""
_FAILURES: Final = (KeyError, AttributeError, TypeError, ValueError, RuntimeDecodeError, RuntimeEncodeError)
"""What happens to a message that is not one of the most frequent kind; the general way reads or refuses it."""

_DEPRECATED: Final = ConfluentOption(
    "use.deprecated.format",
    must_be(False, "message indexes without zigzag encoding cannot be distinguished from others"),  # noqa: FBT003 - the only value
    default=False,
)
_WRITE_OPTIONS: Final = (
    ConfluentOption("skip.known.types", flag, default=True),
    ConfluentOption("reference.subject.name.strategy", optional(function)),
    _DEPRECATED,
)
_READ_OPTIONS: Final = (_DEPRECATED,)


def confluent_writing(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> dict[str, Datum]:
    """Return the arguments of :class:`ProtobufSerializer` for the settings of confluent-kafka's.

    Raises ``InvalidSettings``.
    """
    settings, own = serializer_settings(conf, _WRITE_OPTIONS, (rule_conf, rule_registry))
    theirs = own["reference.subject.name.strategy"]
    return {
        **settings,
        "reference_subject": IMPORT_PATH if theirs is None else _adapted(theirs),
        "skip_known_types": own["skip.known.types"],
    }


def confluent_reading(
    conf: Mapping[str, object] | None, rule_conf: Mapping[str, object] | None = None, rule_registry: object = None
) -> dict[str, Datum]:
    """Return the arguments of :class:`ProtobufDeserializer` for the settings of confluent-kafka's.

    Raises ``InvalidSettings``.
    """
    return deserializer_settings(conf, _READ_OPTIONS, (rule_conf, rule_registry))[0]


def _adapted(theirs: Callable[..., str]) -> ReferenceSubject:
    """Return a strategy of confluent-kafka, ``(ctx, file)``, as one of this SDK."""
    return lambda path: theirs(None, SimpleNamespace(name=path))


class ProtobufSerializer(Serializer["Datum"]):
    """Writes messages and dicts as Protobuf, framed with the registry's id of their schema and their message indexes.

    ``model`` is a generated class: its file is registered, after the files that it imports. Without a class, ``schema``
    is the text of a ``.proto`` file, or with ``register="latest"`` the registry's. ``message`` is the full name of the
    message type for a schema with several; by default it is the first of the file.

    Values are messages, or dicts from the names of fields to values. ``reference_subject`` names the subject of an
    imported file by its path: ``IMPORT_PATH``, ``QUALIFIED`` or a function. A number in a dict that a field would have
    only rounded is an error, unless ``allow_rounding``. With ``skip_known_types`` the files of Google and Confluent are
    not registered, which registries have built in. The other arguments are those of
    :class:`~counterfoil.sdk.serde.serializer.Serializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry,
        schema: str | Schema | None = None,
        *,
        model: type[Message] | None = None,
        message: str | None = None,
        subject: SubjectNaming | str = TOPIC,
        register: Register = "auto",
        normalize: bool = False,
        reference_subject: ReferenceSubject = IMPORT_PATH,
        skip_known_types: bool = True,
        id_location: Literal["prefix", "header"] = "prefix",
        to_dict: Callable[[Datum, Datum], Datum] | None = None,
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
        allow_rounding: bool = False,
    ) -> None:
        classes = () if model is None else (checked_class(model, "model"),)
        own = schema_of_class(model) if model is not None and schema is None else None
        imports = (
            ()
            if own is None
            else imports_of_class(model, reference_subject=reference_subject, skip_known_types=skip_known_types)
        )
        super().__init__(
            ProtobufCodec(
                classes=classes,
                message=_message_name(classes, message),
                own=own,
                exact=not checked_flag(allow_rounding),
            ),
            registry,
            schema if own is None else own,
            imports=imports,
            subject=subject,
            register=register,
            normalize=normalize,
            id_location=id_location,
            to_dict=to_dict,
            latest_ttl_s=latest_ttl_s,
            rules=rules,
            clock=clock,
        )

        self._class = classes[0] if classes and not (self._is_more or self._is_refreshed) else None
        self._direct: dict[tuple[Datum, Datum], tuple[Datum, Datum, bytes]] = {}

    def __call__(self, value: Datum, ctx: MessageContext | None = None) -> bytes | None:
        """Return the message for ``value``; None for None, a tombstone. See :meth:`Serializer.__call__`."""
        try:
            class_, serialize, prefix = self._direct[ctx.topic, ctx.field]  # type: ignore[union-attr]  # None: below
            if type(value) is class_:
                message: bytes = prefix + serialize(value)
                return message
        except _FAILURES:
            pass
        written = super().__call__(value, ctx)
        if ctx is not None and self._class is not None and type(value) is self._class:
            plan = self._plans.found.get((ctx.topic, ctx.field))
            if plan is not None and self._has_short_way(plan, ctx):
                own = (ctx.topic, ctx.field), (self._class, self._class.SerializeToString, plan.prefix)
                self._direct = with_entry(self._direct, *own)
        return written

    def forget_short_ways(self) -> None:
        """Handle every record on the way that keeps keys for the rules of values."""
        super().forget_short_ways()
        self._direct = {}

    @classmethod
    def from_confluent(
        cls,
        msg_type: type[Message],
        schema_registry_client: AnyRegistry,
        conf: Mapping[str, object] | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> Self:
        """Return the serializer that confluent-kafka's ``ProtobufSerializer`` would be with the same arguments.

        ``schema_registry_client`` is a client of this SDK. The precedence of the settings is the same. Raises
        ``InvalidSettings`` for a setting that has no counterpart here.
        """
        return cls(schema_registry_client, model=msg_type, **confluent_writing(conf, rule_conf, rule_registry))


class ProtobufDeserializer(Deserializer["Datum"]):
    """Reads framed Protobuf with the schema that the frame or a header names.

    ``model`` is a generated class, or several, of which the one with the message's full name is used; a message of
    another type raises ``DecodeError``. Without a class, values are dynamic messages of the type that the message
    indexes lead to, or with ``reader`` or ``latest`` of the type of the same name in the reader's schema. ``message``
    is the full name of the only type that is read. With ``values="dict"`` values are dicts; a ``Timestamp`` or
    ``Duration`` in them that Python does not have is an error, or with ``out_of_range="number"`` its nanoseconds.

    Unknown fields are kept in messages. The other arguments are those of
    :class:`~counterfoil.sdk.serde.deserializer.Deserializer`.
    """

    def __init__(
        self,
        registry: AnyRegistry | None,
        *,
        model: type[Message] | Sequence[type[Message]] | None = None,
        message: str | None = None,
        values: Literal["message", "dict"] = "message",
        reader: str | Schema | None = None,
        latest: Latest = False,
        subject: SubjectNaming | str = TOPIC,
        id_location: Literal["any", "prefix"] = "any",
        from_dict: Callable[[Datum, Datum], Datum] | None = None,
        on_error: Literal["raise", "return"] = "raise",
        on_forbidden: OnForbidden = "raise",
        latest_ttl_s: float = 60.0,
        rules: Rules = DEFAULT_RULES,
        clock: Callable[[], float] = time.monotonic,
        out_of_range: OutOfRange = "error",
    ) -> None:
        models = model if isinstance(model, Sequence) else () if model is None else (model,)
        classes = tuple(checked_class(each, "model") for each in models)
        if values not in ("message", "dict"):
            raise InvalidSettings(f"values is {values!r}; expected 'message' or 'dict'", setting="values")
        if registry is None and reader is None and len({each.DESCRIPTOR.file for each in classes}) != 1:
            problem = "Without a registry, the classes of one file or the reader's schema are needed"
            raise InvalidSettings(problem, setting="model")
        super().__init__(
            ProtobufCodec(
                classes=classes,
                message=_message_name(classes, message),
                as_dict=values == "dict",
                far_as_numbers=reads_numbers(out_of_range),
            ),
            registry,
            reader=reader,
            latest=latest,
            subject=subject,
            id_location=id_location,
            from_dict=from_dict,
            on_error=on_error,
            on_forbidden=on_forbidden,
            latest_ttl_s=latest_ttl_s,
            rules=rules,
            clock=clock,
        )

        self._is_direct = self._is_plain and values == "message"
        self._direct: dict[bytes, Datum] = {}
        self._direct_named: dict[bytes, Datum] = {}
        self._size = _FIRST
        """The size of the prefix that is looked up first: that of the first message that was read."""

    def __call__(self, data: bytes | None, ctx: MessageContext | None = None) -> Datum:
        """Return the value of a message; None for None, a tombstone. See :meth:`Deserializer.__call__`."""
        size = self._size
        try:
            parse = self._direct[data[:size]]  # type: ignore[index]  # None: below
            if ctx is None or not ctx.headers:  # type: ignore[attr-defined]  # some contexts have them
                return parse(data[size:])  # type: ignore[index]  # as above
        except _FAILURES:
            pass
        try:
            parse, body = self._other(data, ctx)
            if parse is not None:
                return parse(body)
        except _FAILURES:
            pass
        return super().__call__(data, ctx)

    def _add_short_way(self, plan: ReadPlan, data: bytes, named: bytes | None) -> None:
        super()._add_short_way(plan, data, named)
        if self._is_direct:
            self._direct, self._direct_named = map(_parsers, (self._ready, self._named_ready))
            self._size = next(map(len, self._direct), _FIRST)

    def _other(self, data: Any, ctx: Any) -> tuple[Datum, Datum]:
        """Return the function that reads a message with another size of prefix, or with a header, and the body."""
        headers = None if ctx is None else ctx.headers
        if headers:
            return self._direct_named.get(read_header(headers, header_name(field_of(ctx))) or b""), data
        for size in self._sizes:
            parse = self._direct.get(data[:size])
            if parse is not None:
                return parse, data[size:]
        return None, None

    def observe(self, usage: Usage) -> Self:
        """Return this object, whose messages ``usage`` observes from now on. See :meth:`Deserializer.observe`."""
        self._is_direct = False
        return super().observe(usage)

    def forget_short_ways(self) -> None:
        """Handle every record on the way that keeps keys for the rules of values."""
        super().forget_short_ways()
        self._direct, self._direct_named = {}, {}

    @classmethod
    def from_confluent(
        cls,
        message_type: type[Message],
        conf: Mapping[str, object] | None = None,
        schema_registry_client: AnyRegistry | None = None,
        *,
        rule_conf: Mapping[str, object] | None = None,
        rule_registry: object = None,
    ) -> Self:
        """Return the deserializer that confluent-kafka's ``ProtobufDeserializer`` would be with the same arguments.

        ``schema_registry_client`` is a client of this SDK. Raises ``InvalidSettings`` for a setting that has no
        counterpart here.
        """
        return cls(schema_registry_client, model=message_type, **confluent_reading(conf, rule_conf, rule_registry))


def _parsers(ready: Mapping[bytes, Decode]) -> dict[bytes, Datum]:
    """Return the functions of the runtime that read messages of one class, by prefix or header."""
    return {prefix: parse for prefix, each in ready.items() if (parse := parser_of(each)) is not None}


def _message_name(classes: Sequence[Datum], message: str | None) -> str | None:
    names = [each.DESCRIPTOR.full_name for each in classes]
    if message is not None and names and names != [message]:
        problem = f"message is {message!r}, and the class is {' or '.join(names)}; one of the two is enough"
        raise InvalidSettings(problem, setting="message")
    return message
