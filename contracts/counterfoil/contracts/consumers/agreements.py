"""The contracts and consumers of one side, and the schema files that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.languages import language_of
from counterfoil.contracts.linting.agreements import below
from counterfoil.contracts.subjects import Subjects
from counterfoil.schema.agreements.document import read_agreement
from counterfoil.schema.agreements.model import Application, Contract, Fault, Reading
from counterfoil.schema.agreements.violations import INVALID
from counterfoil.schema.compatibility.identity import without_message
from counterfoil.schema.paths import InvalidPath, parse_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.schema.agreements.model import Expectation, Promise, SchemaLink
    from counterfoil.schema.paths import FieldPath

_RETIRED: Final = "retired"
"""The status of a product that reads nothing any more."""


@dataclass(frozen=True, slots=True)
class AgreementFile:
    """A contract or product file: its path, its bytes, and what was read of it.

    ``is_stand_in``: it is the present file in the place of an earlier one that was not valid.
    """

    path: str
    data: bytes
    reading: Reading
    is_stand_in: bool = False


def read_file(path: str, data: bytes) -> AgreementFile:
    """Return what a file declares, with every mistake in it."""
    try:
        reading = read_agreement(data.decode())
    except UnicodeDecodeError as error:
        reading = Reading(None, (Fault(INVALID, f"the file is not UTF-8 ({error.reason})", None),))
    return AgreementFile(path, data, reading)


@dataclass(frozen=True, slots=True)
class Consumer:
    """One input port of an application, with the path of its file."""

    path: str
    application: Application
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
    consumers: tuple[Consumer, ...]
    consumer_files: frozenset[str]
    _by_contract: Mapping[str, tuple[Consumer, ...]]

    @classmethod
    def of(cls, files: Iterable[AgreementFile], *, consumer_files: frozenset[str]) -> Agreements:
        """Return those that the files declare.

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
            elif isinstance(found, Application) and path in consumer_files and found.status != _RETIRED:
                consumers += [Consumer(path, found, each) for each in found.expectations]
        by_contract: dict[str, list[Consumer]] = {}
        for consumer in consumers:
            by_contract.setdefault(consumer.expectation.contract_id, []).append(consumer)
        index = {contract_id: tuple(readers) for contract_id, readers in by_contract.items()}
        return cls(by_path, contracts, tuple(consumers), consumer_files, index)

    @property
    def applications(self) -> int:
        """The number of applications that read something."""
        return len({each.path for each in self.consumers})

    def of_contract(self, contract_id: str) -> tuple[Consumer, ...]:
        """Return the consumers of one contract."""
        return self._by_contract.get(contract_id, ())

    def same(self, consumer: Consumer) -> Consumer | None:
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
