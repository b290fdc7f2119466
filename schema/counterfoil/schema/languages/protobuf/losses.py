"""Losses and changes of a message: a comparison of the message as it was written with the message as it was read.

Fields are matched by number. A field that the reader does not have is no loss, unless it is the set member of a oneof
that the reader has. Symbols of enums are compared by name: a number with another name in the reader is read as another
symbol, a number without a name there is kept as a number. Well-known types with different names have different
meanings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from counterfoil.schema.compatibility.rules import Sentence
from counterfoil.schema.languages.protobuf.compare.values import mean_different_things
from counterfoil.schema.languages.protobuf.messages import plain_json, unknown_numbers
from counterfoil.schema.languages.protobuf.runtime import is_map
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from counterfoil.schema.languages.protobuf.runtime import AnyField, AnyMessage


_WORDS_BY_TYPE: Final = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_") and isinstance(number, int)
}
_FORM_BY_WORDS: Final = {
    **dict.fromkeys(("double", "fixed64", "sfixed64"), "64 bits"),
    **dict.fromkeys(("float", "fixed32", "sfixed32"), "32 bits"),
    **dict.fromkeys(("string", "bytes", "message"), "length-delimited"),
    "group": "start and end marks",
}
_VARINT: Final = "varint"


@dataclass(frozen=True, slots=True)
class MessageLoss:
    """One lost or changed value: ``numbers`` are the field numbers that lead to it, ``sentence`` describes it.

    ``is_missing`` is true if values are lost, and false if a value is read as another one.
    """

    numbers: tuple[int, ...]
    sentence: Sentence
    is_missing: bool = False

    @property
    def text(self) -> str:
        """The sentence with the two sides called "the reader" and "the writer"."""
        return self.sentence.render(is_start=False)


def losses(
    written: AnyMessage, read: AnyMessage, above: tuple[int, ...] = (), *, only: Sequence[Collection[int]] = ()
) -> Iterator[MessageLoss]:
    """Yield every value of ``written`` that is lost or changed in ``read``, in the order of the field numbers.

    ``above`` are the field numbers that lead to the messages. ``only`` has, for each level, the numbers of the fields
    to compare; below its last level, all fields are compared.
    """
    known = read.DESCRIPTOR.fields_by_number
    set_numbers = {field.number for field, _ in written.ListFields()}
    for field in _fields(written, only[len(above)] if len(above) < len(only) else None):
        other = known.get(field.number)
        at = (*above, field.number)
        if field.number not in set_numbers:
            if other is not None and _have_defaults(field, other):
                yield from _Pair(written, field, read, other, at, only).of_unset()
        elif other is not None:
            yield from _Pair(written, field, read, other, at, only).of_set()
        elif _is_choice_lost(field, read):
            template = "field {number} is unknown to the reader, which sees nothing chosen in its oneof"
            yield MessageLoss(at, Sentence.of(template, {"number": field.number}))


@dataclass(frozen=True, slots=True)
class _Pair:
    """One field as it was written and as it was read."""

    written: AnyMessage
    field: AnyField
    read: AnyMessage
    other: AnyField
    at: tuple[int, ...]
    only: Sequence[Collection[int]]

    def of_unset(self) -> Iterator[MessageLoss]:
        """Yield the change of a field that was not written, if the reader has another default."""
        theirs, mine = (getattr(self.written, self.field.name), getattr(self.read, self.other.name))
        if not self._is_same(theirs, mine):
            template = "field {number} is not set: {theirs} for the writer, {mine} for the reader"
            facts = {"theirs": _shown(theirs, self.field), "mine": _shown(mine, self.other)}
            yield MessageLoss(self.at, Sentence.of(template, {"number": self.field.number, **facts}))

    def of_set(self) -> Iterator[MessageLoss]:
        """Yield the losses and changes of the values of a field."""
        try:
            theirs = _values(self.written, self.field)
        except UnicodeDecodeError:
            return  # the runtime does not return keys that are not UTF-8, so that nothing can be compared
        try:
            mine = _values(self.read, self.other)
        except UnicodeDecodeError as failure:
            yield self._loss(f"reading the value raises {type(failure).__name__}: {failure.reason}")
            return
        if is_map(self.other) != is_map(self.field):
            theirs, mine = (sorted(values, key=_key_of_entry) for values in (theirs, mine))
        if len(theirs) != len(mine):
            what = _shown(theirs[0], self.field)
            text = (
                f"of {len(theirs)} values {len(mine)} is kept" if mine else f"{what} is {self._whereabouts() or 'lost'}"
            )
            yield self._loss(text, is_missing=True)
            return
        for wrote, got in zip(theirs, mine, strict=True):
            yield from self._of_value(wrote, got)

    def _of_value(self, wrote: Any, got: Any) -> Iterator[MessageLoss]:
        if _is_message(self.field) and _is_message(self.other):
            if mean_different_things(wrote.DESCRIPTOR.full_name, got.DESCRIPTOR.full_name):
                yield self._loss(f"{_message_text(wrote)} is read as {_message_text(got)}")
                return
            yield from losses(wrote, got, self.at, only=self.only)
        elif not self._is_same(wrote, got):
            where = self._whereabouts()
            became = where or f"read as {_shown(got, self.other)}"
            yield self._loss(f"{_shown(wrote, self.field)} is {became}", is_missing=bool(where))

    def _is_same(self, wrote: Any, got: Any) -> bool:
        if self.field.enum_type and self.other.enum_type and not self._is_same_symbol(wrote):
            return False
        if _is_message(self.field):
            return isinstance(got, bytes) and type(wrote).FromString(got) == wrote
        if self.other.type == FieldDescriptor.TYPE_STRING and isinstance(got, bytes):
            return bool(self.field.type == FieldDescriptor.TYPE_STRING and wrote == got)  # a string that is not UTF-8
        if isinstance(wrote, str | bytes) or isinstance(got, str | bytes):
            return isinstance(got, str | bytes) and not isinstance(wrote, int | float) and _raw(wrote) == _raw(got)
        return not _is_message(self.other) and (wrote == got or (_is_nan(wrote) and _is_nan(got)))

    def _is_same_symbol(self, number: int) -> bool:
        """Return whether a number has a name in common on both sides.

        If one side has no name for it: whether the reader has none of the writer's names under another number.
        """
        names = {value.name for value in self.field.enum_type.values if value.number == number}
        known = {value.name for value in self.other.enum_type.values if value.number == number}
        elsewhere = {value.name for value in self.other.enum_type.values if value.number != number}
        return bool(names & known) if names and known else not names & elsewhere

    def _whereabouts(self) -> str:
        """Return in words why the reader's field has no value; empty if it was not lost in a known way."""
        oneof = self.other.containing_oneof
        chosen = self.read.WhichOneof(oneof.name) if oneof else None
        if chosen and chosen != self.other.name:
            return f"lost, since {chosen} of the same oneof came after it"
        return "kept as an unknown field, value lost" if self.other.number in unknown_numbers(self.read) else ""

    def _loss(self, text: str, *, is_missing: bool = False) -> MessageLoss:
        wrote, read = _written_as(self.field), _written_as(self.other)
        how = f"written and read as {wrote}" if wrote == read else f"written as {wrote}, read as {read}"
        facts = {"number": self.field.number, "how": how, "what": text}
        return MessageLoss(self.at, Sentence.of("field {number} {how}: {what}", facts), is_missing=is_missing)


def _fields(message: AnyMessage, numbers: Collection[int] | None) -> list[AnyField]:
    """Return the fields of a message that have one of ``numbers``, or all of them, in the order of the numbers."""
    descriptor = message.DESCRIPTOR
    if numbers is None:
        return sorted(descriptor.fields, key=_number_of)
    known = descriptor.fields_by_number
    return [known[number] for number in sorted(numbers) if number in known]


def _values(message: AnyMessage, field: AnyField) -> list[Any]:
    """Return the values of a field, the entries of a map as messages; empty for an unset field with presence."""
    value = getattr(message, field.name)
    if is_map(field):
        return [_entry(field, key, value) for key in sorted(value, key=str)]
    if field.is_repeated:
        return [*value]
    return [value] if not field.has_presence or message.HasField(field.name) else []


def _entry(field: AnyField, key: Any, values: Any) -> AnyMessage:
    entry: AnyMessage = GetMessageClass(field.message_type)()
    entry.key = key
    if _is_message(field.message_type.fields_by_name["value"]):
        entry.value.CopyFrom(values[key])
        entry.value.SetInParent()
    else:
        entry.value = values[key]
    return entry


def _key_of_entry(value: Any) -> str:
    """Return the sort key that gives messages the order of a map's entries."""
    if not isinstance(value, Message):
        return ""
    fields = value.DESCRIPTOR.fields_by_number
    return str(getattr(value, fields[1].name)) if 1 in fields else ""


def _is_choice_lost(field: AnyField, read: AnyMessage) -> bool:
    """Return whether the reader has the oneof of a written field that is unknown to it, or one of its members."""
    oneof = field.containing_oneof
    if oneof is None or _is_synthetic(field):
        return False
    descriptor = read.DESCRIPTOR
    known = descriptor.fields_by_number
    return oneof.name in descriptor.oneofs_by_name or any(member.number in known for member in oneof.fields)


def _have_defaults(*fields: AnyField) -> bool:
    """Return whether the defaults of unset fields can be compared: all numbers or all texts."""
    if len({field.cpp_type == FieldDescriptor.CPPTYPE_STRING for field in fields}) > 1:
        return False
    return not any(field.is_repeated or _is_message(field) for field in fields)


def _is_synthetic(field: AnyField) -> bool:
    """Return whether the oneof of a field is the synthetic one of an optional field."""
    return len(field.containing_oneof.fields) == 1 and field.containing_oneof.name.endswith(f"_{field.name}")


def _is_message(field: AnyField) -> bool:
    return field.message_type is not None


def _written_as(field: AnyField) -> str:
    words = _WORDS_BY_TYPE[field.type]
    form = "packed" if field.is_repeated and field.is_packed else _FORM_BY_WORDS.get(words, _VARINT)
    words = "map" if is_map(field) else f"repeated {words}" if field.is_repeated else words
    return f"{words} ({form})"


def _number_of(field: AnyField) -> int:
    return int(field.number)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


def _raw(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _shown(value: Any, field: AnyField) -> str:
    if field.enum_type is not None:
        return f"{_symbol(field, value)} ({value})"
    return excerpt(f"{{{' '.join(str(value).split())}}}" if isinstance(value, Message) else repr(value))


def _message_text(message: AnyMessage) -> str:
    """Return a message of a well-known type in its JSON form without quotes: ``2024-05-01T12:34:56Z``."""
    return plain_json(message).strip('"') or "{}"


def _symbol(field: AnyField, number: int) -> str:
    known = field.enum_type.values_by_number.get(number)
    return known.name if known else "an unknown number"
