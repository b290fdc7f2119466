"""The schemas that records were written with, and what reads their values: each is opened once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.decoding.message import OpenedWriter, open_writer, parse_read, shown_frame
from counterfoil.contracts.testing.hidden import hidden_names
from counterfoil.schema.model import SchemaType
from counterfoil.sdk.errors import DecodeError, SerdeError
from counterfoil.sdk.serde.languages import LANGUAGES
from counterfoil.sdk.serde.reading import read_header_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.contracts.tree import ReadSchema
    from counterfoil.sdk.client import Registry
    from counterfoil.sdk.serde.codec import Codec, Decode

_OPTIONS: Final[Mapping[SchemaType, Mapping[str, Any]]] = {
    SchemaType.JSON: {"adds_defaults": False},
    SchemaType.PROTOBUF: {"as_dict": True},
}
"""The options with which values are plain, have nothing but what was written, and JSON is validated."""
_GUID_MAGIC: Final = 1
_ID_FRAME: Final = 5
_GUID_FRAME: Final = 17
UNFRAMED: Final = b""
"""The key of all messages without a frame."""


def codec_of(language: SchemaType) -> Codec[Any]:
    """Return the codec with which records are tested."""
    return LANGUAGES[language].make_codec(**_OPTIONS.get(language, {}))


def frame_key(data: bytes) -> bytes:
    """Return the bytes of a message that name its schema; ``UNFRAMED`` for one without a frame."""
    magic = data[0] if data else -1
    if magic == 0:
        return data[:_ID_FRAME]
    return data[:_GUID_FRAME] if magic == _GUID_MAGIC else UNFRAMED


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposed schema, which reads what was written, and writes what was read."""

    found: ReadSchema
    language: SchemaType


@dataclass
class Layout:
    """What reads messages of a writer with one suffix; each part is a function, or the error that all messages have."""

    opened: OpenedWriter
    suffix: bytes
    proposed: Any = None

    @cached_property
    def problem(self) -> SerdeError | None:
        """The error that all messages have, such as one about an index of a message that is not there; else None."""
        found = _or_error(lambda: self.decode)
        return found if isinstance(found, SerdeError) else None

    @cached_property
    def decode(self) -> Decode:
        """The function that reads a value as it was written."""
        return self.opened.codec.decoder(self.opened.parsed, None, self.suffix)

    @cached_property
    def decode_proposed(self) -> Any:
        """The function that reads a value with the proposed schema, or a ``SerdeError``."""
        if isinstance(self.proposed, SerdeError):
            return self.proposed
        return _or_error(lambda: self.opened.codec.decoder(self.opened.parsed, self.proposed, self.suffix))

    @cached_property
    def encode_proposed(self) -> Any:
        """The function that writes a value with the proposed schema, or a ``SerdeError``."""
        if isinstance(self.proposed, SerdeError):
            return self.proposed
        codec = self.opened.codec
        if codec.schema_type is SchemaType.PROTOBUF:
            name = codec.record_name(self.opened.parsed, self.suffix)
            codec = LANGUAGES[codec.schema_type].make_codec(message=name, as_dict=True)
        return _or_error(lambda: codec.encoder(self.proposed))

    def row_source(self, *, is_proposed: bool) -> Any:
        """Return what makes columns of messages; None for a language whose messages become values first."""
        if self.opened.codec.schema_type is not SchemaType.AVRO:
            return None
        return self.opened.codec.row_source(self.opened.parsed, self.proposed if is_proposed else None, self.suffix)


@dataclass
class Writer:
    """A writer's schema: its ``label``, such as ``id 7``, and its layouts by suffix."""

    label: str
    opened: OpenedWriter
    proposed: Any
    hidden: frozenset[str]
    _layouts: dict[bytes, Layout] = field(default_factory=dict)

    def layout(self, data: bytes, named: bytes | None) -> tuple[Layout, int, bytes]:
        """Return the layout of a message, where its value begins, and the bytes before it. Raises ``SerdeError``."""
        header = read_header_of(self.opened.codec, data, named=named)
        found = self._layouts.get(header.suffix)
        if found is None:
            found = self._layouts[header.suffix] = Layout(self.opened, header.suffix, self.proposed)
        return found, header.offset, data[: header.offset]


class Writers:
    """Opens writers. The registry is opened when it is first needed; its errors are raised."""

    def __init__(self, registry: Callable[[], Registry], proposed: Proposed | None = None) -> None:
        self._registry = registry
        self._proposed = proposed
        self._found: dict[bytes, Writer | SerdeError] = {}

    def find(self, key: bytes, data: bytes, named: bytes | None) -> Writer | SerdeError:
        """Return the writer of messages with a key; the error that all of them have if there is none."""
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._open(data, named)
        return found

    def _open(self, data: bytes, named: bytes | None) -> Writer | SerdeError:
        try:
            framed = data if named is None else named
            opened = open_writer(framed, registry=self._registry(), make_codec=codec_of)
        except SerdeError as error:
            return error
        wanted = self._proposed
        proposed = None if wanted is None else _or_error(lambda: self._parsed(opened, wanted))
        label = shown_frame(opened.frame)
        return Writer(label, opened, proposed, hidden_names(opened.schema, opened.writer))

    @staticmethod
    def _parsed(opened: OpenedWriter, proposed: Proposed) -> Any:
        if proposed.language is not opened.codec.schema_type:
            languages = f"{proposed.found.label} is {proposed.language}, the writer's is {opened.codec.schema_type}"
            raise DecodeError(f"The proposed schema has another language: {languages}")
        return parse_read(opened.codec, proposed.found)


def _or_error(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SerdeError as error:
        return error
