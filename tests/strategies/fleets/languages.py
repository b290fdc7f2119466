"""The languages of schemas, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from strategies.fleets import avro, json_schema, protobuf

if TYPE_CHECKING:
    from collections.abc import Callable

    from strategies.fleets.shapes import Shape


@dataclass(frozen=True, slots=True)
class Language:
    """A language: the text of a schema, and the records that libraries of other projects write and read."""

    name: str
    kinds: tuple[str, ...]
    text: Callable[[Shape], str]
    written: Callable[[Shape, Any], bytes]
    read: Callable[[bytes, Shape, Shape], Any]


AVRO: Final = Language(avro.NAME, avro.KINDS, avro.text, avro.written, avro.read)
PROTOBUF: Final = Language(protobuf.NAME, protobuf.KINDS, protobuf.text, protobuf.written, protobuf.read)
JSON: Final = Language(json_schema.NAME, json_schema.KINDS, json_schema.text, json_schema.written, json_schema.read)
LANGUAGES: Final = {each.name: each for each in (AVRO, PROTOBUF, JSON)}
