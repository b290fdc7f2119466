"""The protocol of a message format, parsing a schema with its references by it, and values that it refuses."""

from __future__ import annotations

import numbers
import struct
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeAlias, TypeVar

from counterfoil.schema.languages.table import resolving
from counterfoil.schema.model import ResolvedReference, Schema, SchemaType
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import InvalidSettings, SerdeError

if TYPE_CHECKING:
    import pyarrow as pa

    from counterfoil.schema.datum import Datum
    from counterfoil.schema.marks import FieldTags
    from counterfoil.schema.rest.versions import VersionNumber
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.serde.rules.values import RuleValues
    from counterfoil.sdk.serde.sources import SchemaCalls


# The protocol that a message format implements: how values of one schema language become bytes and are read again.
#
# :class:`~counterfoil.sdk.serde.serializer.Serializer` and :class:`~counterfoil.sdk.serde.deserializer.Deserializer` do
# everything else: subjects, schema ids, frames, references, caches, errors. A codec object has the options of its
# language, and no state that changes: all threads use it.

P = TypeVar("P")
"""The class of a parsed schema."""
C = TypeVar("C")

RowErrors: TypeAlias = "dict[int, SerdeError]"
"""The errors of rows with a value that does not fit the type of its column, by the number of the row."""


class Encode(Protocol):
    """A function that writes values of one schema."""

    def __call__(self, value: Datum, prefix: bytes, /) -> bytes:
        """Return ``prefix`` and the encoding of ``value``.

        Raises ``EncodeError`` with path, expected and got, or another ``SerdeError``, such as ``ValidationError``.
        """


class Decode(Protocol):
    """A function that reads values of one schema, perhaps as those of another."""

    def __call__(self, data: bytes, offset: int, /) -> Datum:
        """Return the value whose body begins at ``offset`` of ``data``.

        Raises ``DecodeError`` with offset and path, or another ``SerdeError``, such as ``ValidationError``.
        """


class MessageRows(Protocol):
    """Rows that are read from messages with one plan."""

    def extend(self, messages: list[bytes | None], start: int, prefix: bytes) -> int:
        """Add a row for each message from number ``start`` on, and return the number of the first that is not added.

        It is the first that does not begin with ``prefix``, after which the value begins, or that cannot be read.
        """

    def append(self, data: bytes, offset: int) -> None:
        """Add the row of a message whose value begins at ``offset``. Raises ``SerdeError``."""

    def append_null(self) -> None:
        """Add a row of nulls."""

    def table(self, wanted: pa.Schema | None, misfits: RowErrors | None = None) -> pa.Table:
        """Return all rows; columns of ``wanted`` may have its types already.

        ``misfits`` gets the error of each row with a value that does not fit the type of its column, which is null
        then; without it such a value raises ``SerdeError``.
        """


class RowSource(Protocol):
    """Makes the rows of tables for one plan."""

    def schema(self) -> Datum:
        """Return the ``pyarrow.Schema`` of the rows; None if it depends on the values. Raises ``SerdeError``."""

    def rows(self) -> MessageRows:
        """Return new rows. Raises ``SerdeError``."""


class Codec(Protocol[P]):
    """One message format, with its options.

    The last three methods are used for schemas with rules alone.
    """

    @property
    def schema_type(self) -> SchemaType:
        """The language of its schemas; a schema of another one is refused before it is parsed."""

    @property
    def suffix_size(self) -> int:
        """How many bytes the shortest suffix of a frame has: 0, and 1 for Protobuf."""

    def parse(self, schema: Schema, references: Sequence[ResolvedReference], *, validation: Validation) -> P:
        """Return the parsed schema.

        ``references`` are resolved, transitive, in dependency order. Raises ``SchemaParseError``.
        """

    def record_name(self, parsed: P, suffix: bytes) -> str | None:
        """Return the full name of the type of values with this suffix, for the subject's name; None if it has none."""

    def encoder(self, parsed: P) -> Encode:
        """Return a function that writes values of the schema."""

    def decoder(self, writer: P | None, reader: P | None, suffix: bytes) -> Decode:
        """Return a function that reads data of ``writer`` as values of ``reader`` (of ``writer`` without one).

        ``suffix`` is the suffix of the frame. ``writer`` is None for a deserializer that has no registry. Raises
        ``DecodeError``, such as ``IncompatibleReader``, if no data of the writer could be read.
        """

    def row_source(self, writer: P | None, reader: P | None, suffix: bytes) -> RowSource:
        """Return the maker of rows of a table from the messages that :meth:`decoder` reads, with the same arguments.

        Nothing is compiled before it is needed. pyarrow must be installed.
        """

    def frame_suffix(self, parsed: P) -> bytes:
        """Return the bytes between the schema's id and the body: the message indexes of Protobuf, else nothing."""

    def suffix_end(self, data: bytes, offset: int) -> int:
        """Return the end of the suffix that begins at ``offset``: ``offset`` itself for a format without suffixes.

        Raises ``WireError``.
        """

    def for_rules(self) -> Codec[P]:
        """Return the codec whose values are those that rules see; it itself, if its values are.

        It validates written values, if this codec does, and not the read ones, which rules may still change.
        """

    def rule_values(self, parsed: P, suffix: bytes, tags: FieldTags) -> RuleValues:
        """Return how rules see the values of a schema that have this suffix; ``tags`` are those of its fields."""

    def suffix_in(self, reader: P, writer: P, suffix: bytes) -> bytes:
        """Return the suffix of the reader's schema for the type that ``suffix`` means in the writer's."""

    def to_migrate(self, writer: P, suffix: bytes) -> Codec[P]:
        """Return the codec of messages that are migrated: also of a type that the program does not read."""


class BareBodies:
    """The part of a codec whose bodies follow the schema's id: frames have no suffix."""

    suffix_size = 0

    def frame_suffix(self, parsed: object) -> bytes:
        """Return nothing."""
        del parsed
        return b""

    def suffix_end(self, data: bytes, offset: int) -> int:
        """Return ``offset``."""
        del data
        return offset

    def suffix_in(self, reader: object, writer: object, suffix: bytes) -> bytes:
        """Return nothing."""
        del reader, writer, suffix
        return b""

    def to_migrate(self, writer: object, suffix: bytes) -> Self:
        """Return this codec."""
        del writer, suffix
        return self


AnyCodec: TypeAlias = "Codec[Any]"
"""A codec of any language; what its parsed schemas are is known to the codec alone."""


def changed(codec: C, **attributes: object) -> C:
    """Return a copy of a codec with other values of some of its attributes."""
    made = copy(codec)
    vars(made).update(attributes)
    return made


# Parsing a schema of a registry: its references, and theirs before them, are fetched by one script.

ParsedT = TypeVar("ParsedT")


def parse_own(codec: Codec[ParsedT], schema: Schema, references: Sequence[ResolvedReference] = ()) -> ParsedT:
    """Return the parsed form of a program's own schema, without a request.

    Raises ``SchemaParseError``, and ``SerdeError`` for a schema of another language.
    """
    _check_type(codec, schema)
    return codec.parse(schema, references, validation=Validation.STRICT)


def load_schema(
    calls: SchemaCalls, codec: Codec[ParsedT], schema: Schema, *, validation: Validation = Validation.LENIENT
) -> Script[ParsedT]:
    """Return the parsed form of a schema, with its references fetched from the registry.

    Raises the registry's errors, ``SchemaParseError``, and ``SerdeError`` for a schema of another language.
    """
    _check_type(codec, schema)
    references = yield from resolve_references(calls, schema)
    return codec.parse(schema, references, validation=validation)


def _check_type(codec: Codec[ParsedT], schema: Schema) -> None:
    if schema.schema_type is not codec.schema_type:
        raise SerdeError(f"The schema is {schema.schema_type.value}; expected {codec.schema_type.value}")


def resolve_references(calls: SchemaCalls, schema: Schema) -> Script[tuple[ResolvedReference, ...]]:
    """Return the schemas of the references and of theirs, each after those that it needs."""
    walk = resolving(schema)
    try:
        wanted = next(walk)
        while True:
            number: VersionNumber = "latest" if wanted.version == -1 else wanted.version
            held = yield from calls.version(wanted.subject, number)
            wanted = walk.send(held.schema)
    except StopIteration as end:
        found: tuple[ResolvedReference, ...] = end.value
        return found


# Values of which only a part can be written, or that Python does not have: settings of serializers, and numbers.

_SINGLE: Final = struct.Struct("<f")

OutOfRange: TypeAlias = Literal["error", "number"]
"""What a date or time is read as that Python does not have: an error, or the number in the message."""


def checked_flag(allow_rounding: object) -> bool:
    """Return the setting ``allow_rounding``. Raises ``InvalidSettings``."""
    if not isinstance(allow_rounding, bool):
        problem = f"allow_rounding is {allow_rounding!r}; expected True or False"
        raise InvalidSettings(problem, setting="allow_rounding")
    return allow_rounding


def reads_numbers(out_of_range: object) -> bool:
    """Return whether the setting ``out_of_range`` is ``"number"``. Raises ``InvalidSettings``."""
    if out_of_range not in ("error", "number"):
        problem = f"out_of_range is {out_of_range!r}; expected 'error' or 'number'"
        raise InvalidSettings(problem, setting="out_of_range")
    return out_of_range == "number"


def is_rounded(number: object, size: int) -> bool:
    """Return whether a float of ``size`` bytes has a real number of Python only rounded.

    A float of Python is written as the nearest one of 4 bytes, so that it never is.
    """
    if isinstance(number, float) or number != number:  # noqa: PLR0124 - not a number
        return False
    number = int(number) if isinstance(number, numbers.Integral) else number  # those of numpy equal a rounded float
    try:
        wide = float(number)  # type: ignore[arg-type]  # the caller has a number
        nearest = _SINGLE.unpack(_SINGLE.pack(wide))[0] if size == _SINGLE.size else wide
    except OverflowError:
        return True
    return bool(wide != number) or (isinstance(number, numbers.Rational) and bool(nearest != number))
