"""Confirmation of "compatible" for Protobuf: messages that the runtime writes with one schema and reads with the other.

The messages are of the types that a record can have: every type that both sides have by one name, and the first one.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.protobuf.witness import runtime
from counterfoil.schema.formats.protobuf.witness.losses import losses
from counterfoil.schema.formats.protobuf.witness.messages import NoMessage
from counterfoil.schema.formats.protobuf.witness.samples import samples
from counterfoil.schema.formats.protobuf.witness.ways import records
from counterfoil.schema.witness import Confirmation, Witness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.protobuf.describe.dynamic import AnyMessage
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.formats.protobuf.types.index import MessageType


def confirm_compatible(reader: ProtobufSchema, writer: ProtobufSchema, count: int) -> Confirmation:
    """Return how many of ``count`` messages of ``writer`` were read with ``reader`` without loss, or the first loss.

    A field that the reader does not have is no loss, unless it is the set member of a oneof that the reader has.
    """
    done = 0
    try:
        for record, read, mine in islice(_read(reader, writer), count):
            failure = runtime.read(read, runtime.write(record)) or _loss(record, read)
            if failure:
                return Confirmation(done, _counter_witness(record, mine, failure))
            done += 1
    except (runtime.RuntimeRefuses, InvalidSchema) as refused:
        return Confirmation(done, reason=str(refused))
    except RecursionError:
        return Confirmation(done, reason="the schemas are nested too deep")
    return Confirmation(done, reason="" if done == count else "no record of finite size exists")


def _read(reader: ProtobufSchema, writer: ProtobufSchema) -> Iterator[tuple[AnyMessage, AnyMessage, MessageType]]:
    """Yield records of the writer, of each type in turn, each with an empty message of the reader and its type."""
    readers, writers = runtime.runtime_of(reader), runtime.runtime_of(writer)
    pairs = dict.fromkeys(records(reader, writer))
    sources = deque((mine, samples(writers.new(theirs.full_name).DESCRIPTOR)) for mine, theirs in pairs)
    while sources:
        mine, source = sources.popleft()
        try:
            yield next(source), readers.new(mine.full_name), mine
        except NoMessage:
            continue
        sources.append((mine, source))


def _loss(record: AnyMessage, read: AnyMessage) -> Sentence | None:
    missing = read.FindInitializationErrors()
    if missing:
        return Sentence.of("IsInitialized() is False, missing {fields}", {"fields": tuple(missing)})
    return next((loss.sentence for loss in losses(record, read)), None)


def _counter_witness(record: AnyMessage, message: MessageType, failure: str | Sentence) -> Witness:
    said = failure if isinstance(failure, str) else failure.render(is_start=False)
    return Witness(
        datum_json=runtime.plain_json(record),
        body=runtime.write(record),
        stop=Sentence.of("message {name}: {what}", {"name": message.local_name, "what": failure}),
        confirmed_by=f"{runtime.runtime_name()}: {said}",
    )
