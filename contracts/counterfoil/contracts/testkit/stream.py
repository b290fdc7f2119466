"""Records of a topic for the tests of its consumers: real messages, written by the serializers of this project."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from counterfoil.contracts.baselines.operands import read_operand, read_schema
from counterfoil.contracts.errors import UsageMistake
from counterfoil.contracts.generate import USUAL, ExampleShape, SeededChoices
from counterfoil.contracts.generate.examples import Examples
from counterfoil.contracts.generate.library import FoundContract, of_schema
from counterfoil.contracts.testkit.session import ContractSession
from counterfoil.schema.compatibility import CompatibilityLevel
from counterfoil.schema.datum import Datum
from counterfoil.schema.model import Reference, Schema
from counterfoil.schema.rest.versions import Visibility
from counterfoil.sdk.client import Registry
from counterfoil.sdk.serde import SerializationContext
from counterfoil.sdk.serde.deserializer import Deserializer
from counterfoil.sdk.serde.serializer import Serializer
from counterfoil.sdk.subjects import Field
from counterfoil.sdk.testing.registries import InMemoryRegistry
from counterfoil.sdk.usage import Usage

LATEST: Final = "latest"
ALL_LIVE: Final = "all-live"
_URL: Final = "COUNTERFOIL_REGISTRY_URL"
_NEVER_S: Final = 10_000_000.0


@dataclass(frozen=True)
class StreamRecord:
    """A record, with the attributes that records of aiokafka and kafka-python have.

    ``decoded`` and ``decoded_key`` are value and key as deserializers return them; with ``--record-reads`` and
    ``--check-reads`` what is read of them is noted, and so is :meth:`header`.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]
    schema_id: int
    _read: Callable[[StreamRecord, Field], Datum] = field(repr=False, compare=False)
    _note: Callable[[str], None] = field(repr=False, compare=False)

    @property
    def decoded(self) -> Datum:
        """The value as a deserializer returns it."""
        return self._read(self, "value")

    @property
    def decoded_key(self) -> Datum:
        """The key as a deserializer returns it; bytes without a schema of keys."""
        return self._read(self, "key")

    def header(self, name: str) -> bytes | None:
        """Return the value of a header; None without it."""
        self._note(f"$header.{name}")
        return dict(self.headers).get(name)

    def as_confluent(self) -> ConfluentRecord:
        """Return the record with the methods of confluent-kafka's messages."""
        return ConfluentRecord(self)


class ConfluentRecord:
    """A record with the methods of confluent-kafka's ``Message``."""

    def __init__(self, record: StreamRecord) -> None:
        self._record = record

    def error(self) -> None:
        """Return None: it is no error of the consumer."""

    def topic(self) -> str:
        """Return the topic."""
        return self._record.topic

    def partition(self) -> int:
        """Return the partition."""
        return self._record.partition

    def offset(self) -> int:
        """Return the offset."""
        return self._record.offset

    def key(self) -> bytes | None:
        """Return the bytes of the key."""
        return self._record.key

    def value(self) -> bytes:
        """Return the bytes of the value."""
        return self._record.value

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers."""
        return self._record.headers


class Stream:
    """Makes records of topics, with a registry in the memory of the process.

    ``registry`` is its client, for the deserializers of the program. It is part of the extra ``registry``.
    """

    def __init__(self, session: ContractSession) -> None:
        self._session = session
        self.registry = InMemoryRegistry(level=CompatibilityLevel.NONE).client()
        self._contract_by_id: dict[int, str] = {}
        self._offsets: dict[str, int] = {}

    def examples(
        self,
        contract: str,
        n: int = 20,
        *,
        topic: str | None = None,
        schema: str | Sequence[str] = LATEST,
        unknown_enum: bool = False,
        missing_optional: bool = False,
        seed: int = 0,
    ) -> list[StreamRecord]:
        """Return ``n`` records of a contract's topic, the same ones for the same ``seed``.

        ``schema`` is ``latest``, the schema file of the contract; ``all-live``, which takes turns with every version of
        the subject in the registry, those that were deleted softly among them; or the name of a schema, or several: a
        file, ``REF:PATH`` in git, ``SUBJECT@VERSION``. With ``unknown_enum`` enums have a value that the schema does
        not have, written with a later schema; with ``missing_optional`` everything is absent that may be.

        Raises ``InputNotFound`` and ``InvalidOperand`` for the contract and its schema, ``UsageMistake`` for
        ``all-live`` without a registry, and ``NoExample`` if no value keeps the rules.
        """
        found = self._session.library().find(contract, topic)
        versions = [*self._versions(found, schema)]
        shape = (
            ExampleShape(leaves_out=missing_optional, has_unknown_symbols=unknown_enum)
            if missing_optional or unknown_enum
            else USUAL
        )
        writers = [_Writer(self.registry, each, shape) for each in versions]
        for writer in writers:
            self._contract_by_id[writer.schema_id] = found.id
        choices = SeededChoices(f"{found.id} {seed}")
        return [self._record(found, writers[index % len(writers)], choices) for index in range(n)]

    def deserializer(self, contract: str, **options: object) -> Deserializer[Datum]:
        """Return a deserializer of the values of a contract, which is observed; ``options`` are those of its class."""
        from counterfoil.sdk.serde.multi import LANGUAGES

        language = self._session.library().find(contract).examples.schema.schema_type
        return self.observe(LANGUAGES[language].make_deserializer(self.registry, **options))

    def observe(self, deserializer: Deserializer[Datum]) -> Deserializer[Datum]:
        """Return a deserializer of the program, of which what is read is noted; its client is ``registry``."""
        recorder = self._session.recorder
        if recorder is None:
            return deserializer
        usage = Usage("tests", recorder.sink(self._contract_by_id.get), one_in=1, every_s=_NEVER_S)
        recorder.add_usage(usage)
        return deserializer.observe(usage)

    def _versions(self, found: FoundContract, schema: str | Sequence[str]) -> Iterator[FoundContract]:
        if schema == LATEST:
            yield found
        elif schema == ALL_LIVE:
            client = self._opened(found)
            for number in client.versions(found.promise.subject, visibility=Visibility.WITH_DELETED):
                held = client.version(found.promise.subject, number, visibility=Visibility.WITH_DELETED)
                yield of_schema(found, read_schema(client, held.schema, f"{found.promise.subject} version {number}"))
        else:
            for each in [schema] if isinstance(schema, str) else schema:
                root = self._session.library().root
                yield of_schema(found, read_operand(each, root, registry=lambda: self._opened(found)))

    def _opened(self, found: FoundContract) -> Registry:
        """Return a client of the registry that has the subjects: of the environment, the project or the contract."""
        from counterfoil.sdk.client import Registry

        project = self._session.library().project
        declared = next((each.registry for each in found.contract.servers if each.registry is not None), None)
        url = os.environ.get(_URL) or (project.settings.registry if project is not None else None) or declared
        if url is None:
            raise UsageMistake(
                f"the versions of {found.promise.subject} are in a registry, and none is known: set {_URL}, or "
                "`registry` in counterfoil.yaml or for a server of the contract"
            )
        return Registry.from_environment({**os.environ, _URL: url})

    def _record(self, found: FoundContract, writer: _Writer, choices: SeededChoices) -> StreamRecord:
        offset = self._offsets[found.topic] = self._offsets.get(found.topic, -1) + 1
        key, value, headers = writer.record(choices)
        return StreamRecord(
            found.topic,
            0,
            offset,
            key,
            value,
            headers,
            writer.schema_id,
            lambda record, part: self._decoded(found, writer, record, part),
            lambda path: self._note(found.id, path),
        )

    def _note(self, contract: str, path: str) -> None:
        if self._session.recorder is not None:
            self._session.recorder.note(contract, (path,))

    def _decoded(self, found: FoundContract, writer: _Writer, record: StreamRecord, part: Field) -> Datum:
        examples = writer.value if part == "value" else writer.key
        data = record.value if part == "value" else record.key
        recorder = self._session.recorder
        if data is None:
            return None
        if examples is None:
            self._note(found.id, "$key")
            return data
        value = examples.decode(data, PREFIX_BYTES + len(examples.suffix))
        if recorder is None:
            return value
        return recorder.recorded(found.id, examples, value, is_key=part == "key")


PREFIX_BYTES: Final = 5


class _Writer:
    """Writes records with one version of a contract's schema, which is registered."""

    def __init__(self, registry: Registry, found: FoundContract, shape: ExampleShape) -> None:
        self._found = found
        self._shape = shape
        self.value = found.examples.with_unknown_symbols() if shape.has_unknown_symbols else found.examples
        self.key = found.key_examples
        self._records = found.records(self.value)
        self.schema_id, self._write_value = _serializer(registry, found.promise.subject, self.value)
        self._write_key: Callable[[Datum, SerializationContext], bytes | None] | None = None
        if self.key is not None:
            subject = found.promise.key.subject if found.promise.key is not None else None
            _, self._write_key = _serializer(registry, subject or f"{found.topic}-key", self.key)

    def record(self, choices: SeededChoices) -> tuple[bytes | None, bytes, list[tuple[str, bytes]]]:
        """Return key, value and headers of a record."""
        made = self._records.make(choices, self._shape)
        value = self._write_value(self.value.value(made.value), SerializationContext(self._found.topic))
        if self.key is None or self._write_key is None:
            key = None if made.key is None else str(made.key).encode()
        else:
            key = self._write_key(self.key.value(made.key), SerializationContext(self._found.topic, "key"))
        return key, value or b"", [(name, text.encode()) for name, text in made.headers]


def _serializer(
    registry: Registry, subject: str, examples: Examples
) -> tuple[int, Callable[[Datum, SerializationContext], bytes | None]]:
    """Return the id of a schema that is registered now, and the serializer of its values."""
    earlier: list[Reference] = []
    for each in examples.references:
        language = examples.schema.schema_type
        place = f"{subject}.{each.reference.name}"
        registry.register(place, Schema(each.text, language, tuple(earlier)))
        earlier.append(Reference(each.reference.name, place, registry.version(place).version or 1))
    schema = Schema(examples.schema.text, examples.schema.schema_type, tuple(earlier))
    schema_id = registry.register(subject, schema).id
    return schema_id, Serializer(examples.codec, registry, register={"id": schema_id}, subject=lambda *_: subject)
