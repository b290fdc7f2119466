"""Protobuf as a codec of serializers: Google's runtime writes and reads, with generated classes or without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.languages.protobuf.runtime import AnyDescriptor, MessageClass, PoolRefuses, pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.model import ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.schema.wire import encode_message_indexes, read_message_indexes
from counterfoil.sdk.errors import DecodeError, EncodeError, IncompatibleReader
from counterfoil.sdk.serde.codec import Decode, Encode, RowSource, changed
from counterfoil.sdk.serde.protobuf.decode import compile_choice, compile_decoder
from counterfoil.sdk.serde.protobuf.encode import compile_encoder
from counterfoil.sdk.serde.protobuf.message_types import MessageTypes, class_of, find_misreading, path_of

if TYPE_CHECKING:
    from counterfoil.schema.marks import FieldTags
    from counterfoil.sdk.serde.protobuf.rule_values import ProtobufRuleValues


class ProtobufCodec:
    """Protobuf, as messages of generated classes, as dynamic messages, or with ``as_dict`` as dicts.

    ``classes`` are generated classes: one for writing, any number for reading. ``message`` is the full name of the
    message type, for a schema with several; without both it is the first of the file for writing, and any for reading.
    ``own`` is the schema that was made of the class. ``exact`` refuses numbers in dicts that would be rounded. With
    ``far_as_numbers``, times in dicts that Python does not have are numbers of nanoseconds.
    """

    schema_type = SchemaType.PROTOBUF
    suffix_size = 1

    def __init__(
        self,
        *,
        classes: Sequence[MessageClass] = (),
        message: str | None = None,
        as_dict: bool = False,
        own: Schema | None = None,
        exact: bool = True,
        far_as_numbers: bool = False,
    ) -> None:
        self._is_exact = exact
        self._far_as_numbers = far_as_numbers
        self._class_by_name = {each.DESCRIPTOR.full_name: each for each in classes}
        self._names = frozenset((*self._class_by_name, *((message,) if message else ())))
        self._as_dict = as_dict
        self._own = own

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> MessageTypes:
        """Return the message types of the schema."""
        if self._own is not None and schema.text == self._own.text:
            return MessageTypes(next(iter(self._class_by_name.values())).DESCRIPTOR.file)
        parsed = parse_protobuf(schema.text, references, validation=validation)
        try:
            return MessageTypes(pooled_file(parsed, schema.text))
        except PoolRefuses as error:
            raise SchemaParseError(f"Google's runtime refuses the schema: {error}") from error

    def record_name(self, parsed: MessageTypes, suffix: bytes) -> str | None:
        """Return the full name of the message type that the message indexes lead to."""
        return str(self._named_type(parsed, suffix).full_name)

    def encoder(self, parsed: MessageTypes) -> Encode:
        """Return a function that writes messages and dicts."""
        descriptor = self._written_type(parsed)
        class_ = self._class_by_name.get(descriptor.full_name)
        if class_ is not None and class_.DESCRIPTOR.file is not parsed.file:
            wrong = find_misreading(descriptor, class_.DESCRIPTOR)
            if wrong is not None:
                raise EncodeError(
                    f"{wrong.path}: the class {descriptor.full_name} writes it as {wrong.writer}, and the schema reads "
                    f"it as {wrong.reader}",
                    path=wrong.path,
                    expected=wrong.reader,
                    got=wrong.writer,
                )
        return compile_encoder(descriptor, class_, exact=self._is_exact)

    def frame_suffix(self, parsed: MessageTypes) -> bytes:
        """Return the message indexes of the message type that is written."""
        return encode_message_indexes(path_of(self._written_type(parsed)))

    def suffix_end(self, data: bytes, offset: int) -> int:
        """Return the end of the message indexes that begin at ``offset``."""
        return read_message_indexes(data, offset)[1]

    def decoder(self, writer: MessageTypes | None, reader: MessageTypes | None, suffix: bytes) -> Decode:
        """Return a function that reads the message that ``suffix`` names, with the reader's fields by number."""
        found = _types_at(self._types_of_classes() if writer is None else writer, suffix)
        wanted = [each for each in found if each.full_name in self._names] if self._names else found
        if not wanted:
            return _refusal(f"The message is a {_listed(found)}; expected {_listed(sorted(self._names))}")
        if len(wanted) == 1:
            return self._decoder_of(wanted[0], reader)
        return compile_choice(wanted, lambda descriptor: self._decoder_of(descriptor, reader))

    def for_rules(self) -> ProtobufCodec:
        """Return the codec of messages."""
        return self._with_values(as_dict=False)

    def _with_values(self, *, as_dict: bool) -> ProtobufCodec:
        return self if as_dict is self._as_dict else changed(self, _as_dict=as_dict)

    def rule_values(self, parsed: MessageTypes, suffix: bytes, tags: FieldTags) -> ProtobufRuleValues:
        """Return how rules see messages of the type that ``suffix`` names."""
        from counterfoil.sdk.serde.protobuf.rule_values import ProtobufRuleValues

        descriptor = self._named_type(parsed, suffix)
        class_ = self._class_by_name.get(descriptor.full_name) or class_of(descriptor)
        return ProtobufRuleValues(
            descriptor,
            class_,
            tags,
            as_dict=self._as_dict,
            exact=self._is_exact,
            far_as_numbers=self._far_as_numbers,
        )

    def suffix_in(self, reader: MessageTypes, writer: MessageTypes, suffix: bytes) -> bytes:
        """Return the message indexes of the type of the same name in the reader's schema.

        Where it has none, a migration may make the type that the program reads, or else that at the same indexes.
        """
        named = self._named_type(writer, suffix)
        own = (reader.find(name) for name in sorted(self._names))
        at_indexes = () if self._names else reader.at(read_message_indexes(suffix)[0])
        found = next((each for each in (reader.find(named.full_name), *own, *at_indexes) if each is not None), None)
        return encode_message_indexes(path_of(_same_type(reader, named) if found is None else found))

    def to_migrate(self, writer: MessageTypes, suffix: bytes) -> ProtobufCodec:
        """Return the codec of messages that are migrated: also of a type that the program does not read."""
        if not self._names or any(each.full_name in self._names for each in _types_at(writer, suffix)):
            return self
        return changed(self, _class_by_name={}, _names=frozenset())

    def _named_type(self, parsed: MessageTypes, suffix: bytes) -> AnyDescriptor:
        """Return the message type that a frame's indexes mean, and that is read, if there are several."""
        found = _types_at(parsed, suffix)
        own = (each for each in found if each.full_name in self._names)
        return next(own, found[0])

    def row_source(self, writer: MessageTypes | None, reader: MessageTypes | None, suffix: bytes) -> RowSource:
        """Return the maker of rows from messages as dicts."""
        from counterfoil.sdk.serde.arrow import DictRowSource

        return DictRowSource(lambda: self._with_values(as_dict=True).decoder(writer, reader, suffix))

    def _written_type(self, parsed: MessageTypes) -> AnyDescriptor:
        name = next(iter(self._names), None)
        found = parsed.find(name)
        if found is None:
            problem = f"no message {name}" if name else "no message"
            raise EncodeError(f"The schema has {problem}; it has {_listed(parsed.declared)}")
        return found

    def _types_of_classes(self) -> MessageTypes:
        return MessageTypes(next(iter(self._class_by_name.values())).DESCRIPTOR.file)

    def _decoder_of(self, writer: AnyDescriptor, reader: MessageTypes | None) -> Decode:
        class_ = self._class_by_name.get(writer.full_name)
        if class_ is None:
            class_ = class_of(writer if reader is None else _same_type(reader, writer))
        wrong = None if class_.DESCRIPTOR is writer else find_misreading(class_.DESCRIPTOR, writer)
        if wrong is not None:
            problem = f"{wrong.path}: the writer's {wrong.writer} would be read as {wrong.reader}"
            raise IncompatibleReader(problem, path=wrong.path)
        return compile_decoder(class_, as_dict=self._as_dict, far_as_numbers=self._far_as_numbers)


def _types_at(types: MessageTypes, suffix: bytes) -> list[AnyDescriptor]:
    """Return the message types that a frame's indexes may mean."""
    path = read_message_indexes(suffix)[0]
    found = types.at(path)
    if found:
        return found
    problem = f"The message indexes {path} lead to no message of the writer's schema"
    raise DecodeError(f"{problem}; it has {_listed(types.declared.values())}")


def _refusal(problem: str) -> Decode:
    """Return a decoder for messages of a type that is not read, as they occur in topics with several types."""

    def decode(data: bytes, offset: int, /) -> Datum:
        del data
        raise DecodeError(problem, offset=offset)

    return decode


def _same_type(reader: MessageTypes, writer: AnyDescriptor) -> AnyDescriptor:
    found = reader.find(writer.full_name)
    if found is None:
        names = _listed(reader.declared.values())
        raise IncompatibleReader(f"The message is a {writer.full_name}; the reader's schema has {names}")
    return found


def _listed(types: Iterable[AnyDescriptor | str]) -> str:
    names = (each if isinstance(each, str) else each.full_name for each in types)
    return " or ".join(names) or "no message"
