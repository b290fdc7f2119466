"""The contracts and consumers of one side, their schema files, and their topics before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from counterfoil.contracts.baselines import Baseline
from counterfoil.contracts.lint.agreements import below
from counterfoil.contracts.project import ReadSchema, SchemaTree
from counterfoil.contracts.project.languages import language_of
from counterfoil.contracts.project.model import Project
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.schema.agreements import (
    AgreementFault,
    AgreementReading,
    Contract,
    DataProduct,
    Expectation,
    Promise,
    SchemaLink,
    major_of,
)
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.agreements.findings import Offer
from counterfoil.schema.agreements.standards import INVALID
from counterfoil.schema.compatibility.findings import without_message
from counterfoil.schema.paths import FieldPath, InvalidPath, parse_path

# The contracts and consumers of one side, and the schema files that they are about.

_RETIRED: Final = "retired"
"""The status of a product that reads nothing any more."""


@dataclass(frozen=True, slots=True)
class AgreementFile:
    """A contract or product file: its path, its bytes, and the agreement that was read from it.

    ``is_stand_in``: it is the present file in the place of an earlier one that was not valid.
    """

    path: str
    data: bytes
    reading: AgreementReading
    is_stand_in: bool = False


def read_file(path: str, data: bytes) -> AgreementFile:
    """Return the contract or product of a file, with every mistake in it."""
    try:
        reading = read_agreement(data.decode())
    except UnicodeDecodeError as error:
        reading = AgreementReading(None, (AgreementFault(INVALID, f"the file is not UTF-8 ({error.reason})", None),))
    return AgreementFile(path, data, reading)


@dataclass(frozen=True, slots=True)
class DeclaredConsumer:
    """One input port of an application, with the path of its file."""

    path: str
    application: DataProduct
    expectation: Expectation

    @property
    def name(self) -> str:
        """The application's id, with its version where it has one."""
        version = self.application.version
        return f"{self.application.id} {version}" if version else self.application.id


@dataclass(frozen=True, slots=True)
class Agreements:
    """The contracts of a side by id, each with the path of its file, and its consumers in the order of paths."""

    files: Mapping[str, AgreementFile]
    contracts: Mapping[str, tuple[str, Contract]]
    consumers: tuple[DeclaredConsumer, ...]
    consumer_files: frozenset[str]
    _by_contract: Mapping[str, tuple[DeclaredConsumer, ...]]

    @classmethod
    def of(cls, files: Iterable[AgreementFile], *, consumer_files: frozenset[str]) -> Agreements:
        """Return the links that the files declare.

        Applications count if their files are among ``consumer_files``, and they are not retired. Of two contracts with
        one id, the one at the first path counts.
        """
        by_path = {file.path: file for file in sorted(files, key=lambda one: one.path)}
        contracts: dict[str, tuple[str, Contract]] = {}
        consumers = []
        for path, file in by_path.items():
            found = file.reading.agreement
            if isinstance(found, Contract):
                contracts.setdefault(found.id, (path, found))
            elif isinstance(found, DataProduct) and path in consumer_files and found.status != _RETIRED:
                consumers += [DeclaredConsumer(path, found, each) for each in found.expectations]
        by_contract: dict[str, list[DeclaredConsumer]] = {}
        for consumer in consumers:
            by_contract.setdefault(consumer.expectation.contract_id, []).append(consumer)
        index = {contract_id: tuple(readers) for contract_id, readers in by_contract.items()}
        return cls(by_path, contracts, tuple(consumers), consumer_files, index)

    @property
    def applications(self) -> int:
        """The number of applications that read something."""
        return len({each.path for each in self.consumers})

    def of_contract(self, contract_id: str) -> tuple[DeclaredConsumer, ...]:
        """Return the consumers of one contract."""
        return self._by_contract.get(contract_id, ())

    def same(self, consumer: DeclaredConsumer) -> DeclaredConsumer | None:
        """Return the input port of this side that is the same as one of another side; None without one."""
        wanted = consumer.expectation
        ports = [
            each
            for each in self.of_contract(wanted.contract_id)
            if each.application.id == consumer.application.id
            and (each.path == consumer.path or consumer.path not in self.files)
        ]
        return next((each for each in ports if each.expectation.name == wanted.name), ports[0] if ports else None)


class Links:
    """The schema files of one side that agreements refer to: by path, or else by their subject."""

    def __init__(self, tree: SchemaTree, project: Project | None) -> None:
        self.tree = tree
        self.subjects = Subjects(tree, project)
        self._path_by_subject: dict[str, str] | None = None

    def value_of(self, path: str, promise: Promise) -> str | None:
        """Return the path of the schema of a promise in the contract at ``path``; None where there is no such file."""
        link = promise.schema
        return self.file(path, link) if link is not None and link.is_file else self._of_subject(promise.subject)

    def key_of(self, path: str, promise: Promise) -> str | None:
        """Return the path of the schema of the keys; None where there is no such file."""
        key = promise.key
        if key is None:
            return None
        if key.schema is not None and key.schema.is_file:
            return self.file(path, key.schema)
        return self._of_subject(key.subject) if key.subject else None

    def file(self, path: str, link: SchemaLink | None) -> str | None:
        """Return the path of the schema file that ``link`` names in the file at ``path``; None where it is missing."""
        if link is None or not link.is_file:
            return None
        target = below(path, link.url)
        return target if self.tree.has(target, language_of(target)) else None

    def path_of(self, path: str, element: str) -> FieldPath:
        """Return the field path of an element that a finding about the schema at ``path`` has; () where it has none."""
        schema = self.tree.read(path).schema if element else None
        try:
            steps = parse_path(element) if schema is not None else ()
        except InvalidPath:  # an element of a language's own, such as an option of a file
            return ()
        return steps if schema is None else without_message(steps, schema)

    def _of_subject(self, subject: str) -> str | None:
        if self._path_by_subject is None:
            self._path_by_subject = {}
            for path in self.tree.paths:
                for named in self.subjects.known_as(path):
                    self._path_by_subject.setdefault(named, path)
        return self._path_by_subject.get(subject)


# The topics of contracts before and after a change, with what is offered of each.


@dataclass(frozen=True, slots=True)
class ContractTopic:
    """One topic of a contract on one side: the promise, the contract's file, and the files of the schemas."""

    path: str
    contract: Contract
    promise: Promise
    value_path: str | None
    key_path: str | None


def topics_of(path: str, contract: Contract, links: Links) -> tuple[ContractTopic, ...]:
    """Return the topics of the contract at ``path``."""
    return tuple(
        ContractTopic(path, contract, each, links.value_of(path, each), links.key_of(path, each))
        for each in contract.promises
    )


@dataclass(frozen=True)
class TopicChange:
    """A topic after a change, and before it; ``before`` is None for a new one."""

    before: ContractTopic | None
    after: ContractTopic
    schemas: TopicSchemas

    @cached_property
    def is_changed(self) -> bool:
        """Whether the contract's file or a schema is another one than before."""
        before, after = self.before, self.after
        if before is None or before.promise != after.promise:
            return True
        pairs = ((before.value_path, after.value_path), (before.key_path, after.key_path))
        return any(self.schemas.is_changed(*pair) for pair in pairs)

    @cached_property
    def later(self) -> Offer | None:
        """The offer after the change; None without a valid schema."""
        value = self.schemas.later(self.after.value_path)
        if value is None or value.schema is None:
            return None
        key = self.schemas.later(self.after.key_path)
        return Offer(value.schema, self.after.promise, key=key.schema if key is not None else None)

    @cached_property
    def earlier(self) -> Offer | None:
        """The offer before the change; None where there was none, or none is known."""
        before = self.before
        if before is None:
            return None
        value = self.schemas.earlier(before.value_path, self.after.value_path)
        if value is None or value.schema is None:
            return None
        key = self.schemas.earlier(before.key_path, self.after.key_path)
        return Offer(value.schema, before.promise, key=key.schema if key is not None else None)


@dataclass(frozen=True, slots=True)
class RemovedTopics:
    """Topics that a contract had, and has no longer, with the contract before and its path; none: it is gone itself."""

    path: str
    contract: Contract
    promises: tuple[Promise, ...]


class TopicSchemas:
    """The schemas of both sides, which are parsed when they are needed.

    ``before`` are the links of the earlier side; None for a baseline without files, which knows only what was before a
    file of the head.
    """

    def __init__(self, head: Links, before: Links | None, baseline: Baseline) -> None:
        self.head = head
        self.before = before
        self._baseline = baseline

    def is_changed(self, before: str | None, after: str | None) -> bool:
        """Return whether the schema at ``after`` is another one than that at ``before``; nothing is parsed."""
        if before is None or after is None:
            return before != after
        if self.before is None:
            first = self.earlier(before, after)
            return first is None or first.content != self.head.tree.content(after)
        return self.before.tree.content(before) != self.head.tree.content(after)

    def later(self, path: str | None) -> ReadSchema | None:
        """Return the schema after the change."""
        return None if path is None else self.head.tree.read(path)

    def earlier(self, before: str | None, after: str | None) -> ReadSchema | None:
        """Return the schema before the change, which is the same object where nothing changed."""
        if after is not None:
            history = self._baseline.history(after, is_transitive=False)
            if history and (self.before is None or history[0].path == before):
                return history[0]
        if before is None or self.before is None:
            return None
        return self.before.tree.read(before)


def changes_of(
    after: tuple[ContractTopic, ...], before: tuple[ContractTopic, ...] | None, schemas: TopicSchemas
) -> Iterator[TopicChange]:
    """Yield the topics of a contract, each with itself before the change; ``before`` is None for a new contract.

    Topics are the same if they have the same subject, or else the same name.
    """
    by_subject = {each.promise.subject: each for each in before or ()}
    by_name = {each.promise.name: each for each in before or ()}
    for each in after:
        yield TopicChange(by_subject.get(each.promise.subject) or by_name.get(each.promise.name), each, schemas)


def removed_topics(after: Agreements, before: Agreements) -> Iterator[RemovedTopics]:
    """Yield the topics that a side no longer has, by contract; all of them for a contract that is gone.

    A topic is kept if the contract still has it. A new major version may have another topic in its place, with the same
    subject or the same name.
    """
    for contract_id, (path, contract) in before.contracts.items():
        kept = after.contracts.get(contract_id)
        if kept is None:
            yield RemovedTopics(path, contract, ())
            continue
        promises = kept[1].promises
        is_new_major = major_of(kept[1].version) != major_of(contract.version)
        topics = {each.topic for each in promises}
        names = {each.subject for each in promises} | {each.name for each in promises}
        gone = tuple(
            each
            for each in contract.promises
            if each.topic not in topics and not (is_new_major and {each.subject, each.name} & names)
        )
        if gone:
            yield RemovedTopics(path, contract, gone)
