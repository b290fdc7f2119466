"""Batches of records, keys that a JSON object has twice, and why a record cannot be read, without its values."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    IncompatibleReader,
    UnknownSchemaId,
    ValidationError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.contracts.records.topic import KafkaRecord
    from counterfoil.schema.datum import Datum
    from counterfoil.sdk.errors import SerdeError


# Batches of records as lists, one for each part; where they come from does not matter.

if TYPE_CHECKING:
    Headers = Sequence[tuple[str, bytes | None]] | None


@dataclass(slots=True)
class RecordBatch:
    """Records. A timestamp, in milliseconds, is None where there is none."""

    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    timestamps: list[int | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[Headers] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def size_bytes(self) -> int:
        """The bytes of all keys and values."""
        return sum(map(len, filter(None, self.values))) + sum(map(len, filter(None, self.keys)))

    @classmethod
    def of_messages(cls, messages: Sequence[Datum]) -> RecordBatch:
        """Return the batch of messages of confluent-kafka."""
        stamps = [each.timestamp() for each in messages]
        return cls(
            [each.partition() for each in messages],
            [each.offset() for each in messages],
            [moment if kind else None for kind, moment in stamps],
            [each.key() for each in messages],
            [each.value() for each in messages],
            [each.headers() for each in messages],
        )

    @classmethod
    def of_records(cls, records: Iterable[KafkaRecord]) -> RecordBatch:
        """Return the batch of single records."""
        made = cls()
        for each in records:
            made.partitions.append(each.partition)
            made.offsets.append(each.offset)
            made.timestamps.append(each.timestamp_ms)
            made.keys.append(each.key)
            made.values.append(each.value)
            made.headers.append(each.headers or None)
        return made


# JSON objects that have a key twice: readers keep the last value, the first one, or refuse the message.
#
# RFC 8259 leaves it open, so that consumers in different languages may see different values.

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"([ \t\r\n]*:)?', re.DOTALL)
"""A string of a JSON text; with a colon after it, it is a key."""


class _Repeated(Exception):
    """A key is there twice."""


def repeated_key(data: bytes) -> str | None:
    """Return a key that an object of a JSON text has twice, at any depth; None if there is none, or for no JSON.

    >>> repeated_key(b'{"a": 1, "b": {"c": 1, "c": 2}}'), repeated_key(b'[{"a": 1}, {"a": 2}]')
    ('c', None)
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    keys = [name for name, colon in _STRING.findall(text) if colon]
    if len(keys) == len(set(keys)) and not any("\\" in each for each in keys):
        return None  # the whole text has no key twice
    try:
        json.loads(text, object_pairs_hook=_object)
    except _Repeated as found:
        return str(found)
    except (ValueError, RecursionError):
        return None
    return None


def _object(pairs: list[tuple[str, Datum]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _Repeated(name)
        seen.add(name)


# Why a record cannot be read or written, in words that quote no value unless values may be shown.

_SAFE = (FrameError, IncompatibleReader, UnknownSchemaId)
"""Errors about schemas and frames, whose texts have no value of a record."""


def reason_of(error: SerdeError, *, shows_values: bool) -> str:
    """Return why a message cannot be read, or a value not be written."""
    if shows_values or isinstance(error, _SAFE):
        return error.problem
    if isinstance(error, ValidationError) and error.violations:
        first = error.violations[0]
        return f"{first.path or 'the value'} violates {first.keyword!r}"
    if isinstance(error, EncodeError) and error.expected is not None:
        return f"{error.path or 'the value'} is not {error.expected}"
    if isinstance(error, DecodeError):
        where = f" at {error.path}" if error.path else ""
        return f"the bytes are no value of the schema{where}{_byte(error)}"
    if isinstance(error, EncodeError):
        return f"{error.path or 'the value'} does not fit"
    return type(error).__name__


def _byte(error: DecodeError) -> str:
    return "" if error.offset is None else f" (byte {error.offset})"
