"""The strings of a field that are checked to be UTF-8 by a reader and not by its writer.

A string of proto2 is not checked, one of proto3 is; in an edition the feature ``utf8_validation`` decides. A writer
that does not check can write bytes that are not UTF-8; the parser of a reader that checks refuses the whole message.

Source: the Protocol Buffers guide, "Feature settings for editions", and the behaviour of its runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.types.index import ENTRY_KEY, ENTRY_VALUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protobuf.types.index import FieldType, Held

_STRING: Final = "string"
_VALUE: Final = "the string"
_KEYS: Final = "the keys"
_VALUES: Final = "the values"


def newly_checked_strings(reader: FieldType, writer: FieldType) -> str:
    """Return the strings of a field that the reader checks to be UTF-8 and the writer does not, in words; else empty.

    The fields of messages are not compared, except if the other side is a map: then the message is compared with its
    entries.
    """
    as_entries = reader.holds.is_map or writer.holds.is_map
    checked, written = (_checks_by_part(field, as_entries=as_entries) for field in (reader, writer))
    return " and ".join(part for part, is_checked in checked.items() if is_checked and not written.get(part, True))


def _checks_by_part(field: FieldType, *, as_entries: bool) -> Mapping[str, bool]:
    """Return, by part of a field, whether its strings are checked; parts that hold no strings are left out."""
    holds, features = field.holds, field.features
    if not as_entries:
        return {_VALUE: features.checks_utf8} if _is_string(holds) else {}
    if holds.message is not None:
        entry = holds.message.fields
        parts = {_KEYS: entry.get(ENTRY_KEY), _VALUES: entry.get(ENTRY_VALUE)}
        return {part: inner.features.checks_utf8 for part, inner in parts.items() if inner and _is_string(inner.holds)}
    parts_of_map = {_KEYS: holds.key, _VALUES: holds.value}
    return {part: features.checks_utf8 for part, inner in parts_of_map.items() if inner and _is_string(inner)}


def _is_string(held: Held) -> bool:
    return held.scalar == _STRING
