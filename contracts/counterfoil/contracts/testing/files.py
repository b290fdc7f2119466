"""Records in a file: lines of ``counterfoil consume --json``, lines of hexadecimal digits, one message, a container.

Source of the last: Apache Avro 1.12, Object Container Files.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.contracts.errors import InvalidOperand
from counterfoil.contracts.records.producing import PartChoice, RecordMaker
from counterfoil.contracts.records.topic import TopicRecord
from counterfoil.contracts.testing.batches import RecordBatch
from counterfoil.contracts.testing.offline import bundled, registry_of
from counterfoil.contracts.values.form import read_json
from counterfoil.schema.errors import InvalidSchema, SchemaParseError
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation
from counterfoil.schema.position import Position
from counterfoil.schema.wire import id_prefix
from counterfoil.sdk.errors import SerdeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from counterfoil.sdk.client import Registry

_CONTAINER: Final = b"Obj\x01"
_SYNC_SIZE: Final = 16
_BATCH: Final = 5_000
_ID: Final = 1
_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "null": lambda data: data,
    "deflate": lambda data: zlib.decompress(data, -15),
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
}


class RecordFile:
    """The records of a file. ``registry`` opens what their schemas come from; ``has_ids``: their ids are its own."""

    def __init__(self, path: str, data: bytes, *, topic: str, registry: Callable[[], Registry]) -> None:
        self._path = path
        self._data = data
        self._topic = topic
        self._container = _Container(path, data) if data.startswith(_CONTAINER) else None
        self.registry = registry if self._container is None else self._container.registry
        self.has_ids = self._container is None

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the records; raise ``InvalidOperand`` for what is none."""
        records = iter(self._records())
        while batch := list(islice(records, _BATCH)):
            yield RecordBatch.of_records(batch)

    def _records(self) -> Iterable[TopicRecord]:
        if self._container is not None:
            return (self._record(number, data) for number, data in enumerate(self._container.messages()))
        if self._data[:1] in {b"\0", b"\1"}:
            return [self._record(0, self._data)]
        return self._of_lines()

    def _record(self, offset: int, value: bytes) -> TopicRecord:
        return TopicRecord(self._topic, 0, offset, None, None, value, ())

    def _of_lines(self) -> Iterator[TopicRecord]:
        maker = RecordMaker(self._topic, key=PartChoice(), value=PartChoice(), registry=self.registry)
        for number, line in enumerate(self._data.split(b"\n"), 1):
            if line.strip():
                try:
                    yield self._of_line(maker, number, line.decode())
                except (ValueError, SerdeError) as error:
                    position = Position(number, 1)
                    raise InvalidOperand(self._path, str(error), position=position, what="record") from None

    def _of_line(self, maker: RecordMaker, number: int, line: str) -> TopicRecord:
        if not line.lstrip().startswith("{"):
            return self._record(number - 1, bytes.fromhex(line.strip()))
        given = read_json(line)
        made = maker.make(given)
        offset = given.get("offset")
        return TopicRecord(
            self._topic,
            made.partition or 0,
            offset if isinstance(offset, int) else number - 1,
            made.timestamp_ms,
            made.key,
            made.value,
            tuple(made.headers),
        )


class _Container:
    """An object container file, whose values become messages with the id 1."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data
        metadata, self._at = self._metadata()
        name = metadata.get("avro.codec", b"null").decode("utf-8", "replace")
        if name not in _CODECS:
            raise self._invalid(f"its codec {name} is not among {', '.join(_CODECS)}")
        self._decompress = _CODECS[name]
        self._schema = Schema(metadata.get("avro.schema", b"").decode("utf-8", "replace"))

    def registry(self) -> Registry:
        """Return a client that has the schema of the file alone."""
        return registry_of(self._path, (bundled("file", _ID, self._schema),))

    def messages(self) -> Iterator[bytes]:
        """Yield the values as messages: a block is read as an array, since values in it have no lengths."""
        from counterfoil.sdk.serde.avro import AvroCodec
        from counterfoil.sdk.serde.avro_codec.varint import encode_long

        codec = AvroCodec(names_records=True)
        items = Schema(f'{{"type": "array", "items": {self._schema.text}}}')
        try:
            encode = codec.encoder(codec.parse(self._schema, (), validation=Validation.LENIENT))
            decode = codec.decoder(codec.parse(items, (), validation=Validation.LENIENT), None, b"")
        except (InvalidSchema, SchemaParseError) as error:
            raise self._invalid(f"its schema cannot be read: {error}") from None
        prefix = id_prefix(_ID)
        at = self._at
        while at < len(self._data):
            count, at = self._long(at)
            size, at = self._long(at)
            try:
                block = self._decompress(self._data[at : at + size])
                values: list[Any] = decode(encode_long(count) + block + b"\0", 0)
            except (SerdeError, OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                problem = error.problem if isinstance(error, SerdeError) else error
                raise self._invalid(f"the block at byte {at} cannot be read: {problem}") from None
            for value in values:
                yield encode(value, prefix)
            at += size + _SYNC_SIZE

    def _metadata(self) -> tuple[dict[str, bytes], int]:
        found: dict[str, bytes] = {}
        at = len(_CONTAINER)
        while True:
            count, at = self._long(at)
            if count == 0:
                return found, at + _SYNC_SIZE
            if count < 0:  # with the size of the block in front
                count, (_, at) = -count, self._long(at)
            for _ in range(count):
                name, at = self._bytes(at)
                found[name.decode("utf-8", "replace")], at = self._bytes(at)

    def _bytes(self, at: int) -> tuple[bytes, int]:
        size, at = self._long(at)
        if size < 0 or at + size > len(self._data):
            raise self._invalid("it ends inside its header")
        return self._data[at : at + size], at + size

    def _long(self, at: int) -> tuple[int, int]:
        from counterfoil.sdk.serde.avro_codec.varint import read_long

        try:
            return read_long(self._data, at)
        except (SerdeError, IndexError, ValueError):
            raise self._invalid(f"it ends at byte {at}") from None

    def _invalid(self, problem: str) -> InvalidOperand:
        return InvalidOperand(self._path, problem, what="object container file")
