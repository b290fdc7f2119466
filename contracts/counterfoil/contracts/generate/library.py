"""The contracts of a folder, found by id, topic or path, and lines with examples of their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from counterfoil.contracts.check.agreements import Links, read_file
from counterfoil.contracts.errors import InputNotFound, InvalidOperand, PreconditionFailed
from counterfoil.contracts.generate import USUAL, ExampleShape, SeededChoices
from counterfoil.contracts.generate.examples import Examples, RecordExamples
from counterfoil.contracts.lint.lint import collect
from counterfoil.contracts.project import ReadSchema
from counterfoil.contracts.project.model import Project
from counterfoil.contracts.testing.record import RecordCheck
from counterfoil.contracts.values import one_line
from counterfoil.schema.agreements import Contract, DataProduct, Expectation, Promise
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.model import Schema, SchemaType
from counterfoil.schema.wire import id_prefix

# The contracts of a folder: those that ``counterfoil lint`` checks there, found by id, topic or path.


@dataclass(frozen=True)
class FoundContract:
    """A contract with the schemas of one of its topics: ``promise``. ``key`` is None if keys have no schema file.

    ``path`` is that of its file, from the root of the repository or folder.
    """

    path: str
    contract: Contract
    promise: Promise
    value: ReadSchema
    key: ReadSchema | None

    @property
    def id(self) -> str:
        """The id of the contract."""
        return self.contract.id

    @property
    def topic(self) -> str:
        """The topic."""
        return self.promise.topic

    @cached_property
    def examples(self) -> Examples:
        """The examples of values."""
        return examples_of(self.value, self.promise)

    @cached_property
    def key_examples(self) -> Examples | None:
        """The examples of keys; None without a schema of keys."""
        return None if self.key is None else examples_of(self.key, None)

    def records(self, value: Examples | None = None) -> RecordExamples:
        """Return the examples of whole records; ``value`` has those of another version of the schema."""
        return RecordExamples(self.promise, value or self.examples, self.key_examples)

    @cached_property
    def check(self) -> RecordCheck:
        """The check of records."""
        return RecordCheck(self.promise)


class ContractLibrary:
    """The contracts that belong to a folder: those of its repository or, without one, those below it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._collected = collect(folder, ())
        self._found: dict[tuple[str, str | None], FoundContract] = {}

    @property
    def project(self) -> Project | None:
        """The project that applies to the folder."""
        return self._collected.project

    @property
    def root(self) -> str:
        """The folder in which the contracts are."""
        return self._folder

    def find(self, name: str, topic: str | None = None) -> FoundContract:
        """Return the contract with an id, a topic, or the path of its file from the folder; read once.

        ``topic`` selects one of its topics; without it, it is ``name`` if that is one, or else the first. Raises
        ``InputNotFound`` without such a contract, ``InvalidOperand`` for an invalid one, and ``PreconditionFailed`` for
        one without a schema file.
        """
        found = self._found.get((name, topic))
        if found is None:
            found = self._found[name, topic] = self._find(name, topic)
        return found

    def readers(self, contract: str) -> list[tuple[DataProduct, Expectation]]:
        """Return the consumers of a contract, in the order of their files."""
        given = self._collected.given
        found = []
        for path in sorted((*given.agreements, *given.others)):
            data = given.read(path) or b""
            agreement = read_file(path, data).reading.agreement if contract.encode() in data else None
            if isinstance(agreement, DataProduct):
                found += [(agreement, each) for each in agreement.expectations if each.contract_id == contract]
        return found

    def product_files(self) -> list[Path]:
        """Return the places of the consumers' files: those below the folder, or else all that belong to it."""
        given = self._collected.given
        for paths in (given.agreements, (*given.agreements, *given.others)):
            files = ((path, read_file(path, given.read(path) or b"")) for path in paths)
            found = [path for path, file in files if isinstance(file.reading.agreement, DataProduct)]
            if found:
                return [Path(self._collected.root) / path for path in found]
        return []

    def _find(self, name: str, topic: str | None) -> FoundContract:
        candidates = [*self._candidates(name)]
        for path, contract in candidates:
            if contract.id == name or path in self._paths_of(name):
                return self._with_schemas(path, contract, topic or name, is_wanted=topic is not None)
        for path, contract in candidates:
            if any(each.topic == name for each in contract.promises):
                return self._with_schemas(path, contract, topic or name, is_wanted=topic is not None)
        known = sorted(each.id for _, each in self._candidates(""))
        listed = f"; known: {', '.join(known)}" if known else ", and no contract file (.odcs.yaml)"
        raise InputNotFound(f"there is no contract {name!r} here{listed}")

    def _paths_of(self, name: str) -> tuple[str, ...]:
        prefix = self._collected.prefix
        return (f"{prefix}/{name}" if prefix else name, name)

    def _candidates(self, text: str) -> Iterator[tuple[str, Contract]]:
        """Yield the contracts whose files contain a text, or are named by it."""
        given = self._collected.given
        for path in (*given.agreements, *given.others):
            data = given.read(path) or b""
            is_named = bool(text) and path in self._paths_of(text)
            if not is_named and text.encode() not in data:
                continue
            reading = read_file(path, data).reading
            if isinstance(reading.agreement, Contract) and not reading.faults:
                yield path, reading.agreement
            elif reading.faults and text and (is_named or f"id: {text}".encode() in data):
                fault = reading.faults[0]
                raise InvalidOperand(path, fault.problem, position=fault.position, what="contract")

    def _with_schemas(self, path: str, contract: Contract, topic: str, *, is_wanted: bool) -> FoundContract:
        promise = next((each for each in contract.promises if each.topic == topic), None)
        if promise is None and (is_wanted or not contract.promises):
            topics = ", ".join(each.topic for each in contract.promises) or "none"
            raise InputNotFound(f"the contract {contract.id} has no topic {topic!r}; its topics: {topics}")
        promise = promise or contract.promises[0]
        tree = self._collected.given.tree
        links = Links(tree, self._collected.project)
        place = links.value_of(path, promise)
        if place is None:
            raise PreconditionFailed(
                f"{path} has no schema file for {promise.topic}: add it under authoritativeDefinitions, with the type "
                f"schema, or map a file to the subject {promise.subject} in counterfoil.yaml"
            )
        key = links.key_of(path, promise)
        return FoundContract(
            path, contract, promise, _valid(tree.read(place)), None if key is None else _valid(tree.read(key))
        )


def examples_of(found: ReadSchema, promise: Promise | None) -> Examples:
    """Return the examples of a schema that was read."""
    read = _valid(found)
    language = read.schema.schema_type if read.schema is not None else None
    if language is None:  # an invalid one is refused before
        raise InvalidOperand(read.path, "it is empty")
    return Examples(Schema(read.content[0], language), read.references, promise=promise)


def of_schema(contract: FoundContract, found: ReadSchema) -> FoundContract:
    """Return the contract with another version of its schema."""
    return replace(contract, value=_valid(found))


def _valid(found: ReadSchema) -> ReadSchema:
    if found.problem is not None:
        raise InvalidOperand(found.path or found.label, found.problem.text, position=found.problem.position)
    if found.missing:
        lost = found.missing[0]
        raise InvalidOperand(found.path or found.label, lost.text, position=lost.position)
    return found


# Example records and golden vectors as lines of JSON, the same ones for the same seed.

SCHEMA_ID: Final = 1
"""The id in the frames of vectors, which no registry has given."""
_SPARSE: Final = ExampleShape(leaves_out=True)


def fixture_lines(found: FoundContract, *, count: int, seed: int) -> Iterator[str]:
    """Yield records of a contract's topic, as ``counterfoil produce`` reads them; the first one has no optional fields.

    Raises ``NoExample``.
    """
    choices = SeededChoices(f"fixtures {found.id} {seed}")
    records = found.records()
    for number in range(count):
        made = records.make(choices, USUAL if number else _SPARSE)
        line: JsonObject = {"topic": found.topic, "key": made.key}
        if made.key is not None:
            line["keyForm"] = "text" if found.key_examples is None else "schema"
        line |= {"value": made.value, "headers": [{"name": name, "text": text} for name, text in made.headers]}
        yield one_line(line)


def vector_lines(examples: Examples, *, count: int, seed: int, name: str) -> Iterator[str]:
    """Yield vectors of a schema: a value, its message in hexadecimal, and the value that is read from it.

    Raises ``NoExample``.
    """
    choices = SeededChoices(f"vectors {name} {seed}")
    prefix = id_prefix(SCHEMA_ID) + examples.suffix
    for number in range(count):
        value = examples.make(choices, USUAL if number else _SPARSE)
        data = examples.encode_in_order(examples.value(value), prefix)
        decoded = examples.show(data, len(prefix))
        line: JsonObject = {
            "name": f"{name} {number + 1}",
            "format": examples.schema.schema_type.value,
            "schema": examples.schema.text,
            "value": value,
            "bytes_hex": data.hex(),
            "framing": {"form": "prefix", "schema_id": SCHEMA_ID, "bytes": len(prefix)},
            "decoded": _in_order(decoded) if examples.schema.schema_type is SchemaType.PROTOBUF else decoded,
        }
        if examples.references:
            line["references"] = [{"name": each.reference.name, "schema": each.text} for each in examples.references]
        yield one_line(line)


def _in_order(value: object) -> Json:
    """Return a value whose keys are sorted."""
    match value:
        case dict():
            return {key: _in_order(value[key]) for key in sorted(value)}
        case list():
            return [_in_order(item) for item in value]
    return value
