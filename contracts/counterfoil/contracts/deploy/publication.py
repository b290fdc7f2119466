"""Contract files as a registry takes them: the text of each, with the schema files to which it refers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.contracts.check.agreements import Links, read_file
from counterfoil.contracts.deploy.registration import FileRegistration, SchemaRegistry
from counterfoil.contracts.errors import PreconditionFailed
from counterfoil.contracts.lint.agreements import below
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.model import Project
from counterfoil.contracts.project.subjects import Subjects
from counterfoil.schema.agreements import Agreement, Contract, DataProduct, Migration, major_of
from counterfoil.schema.errors import SchemaNotFound, SubjectNotFound, VersionNotFound
from counterfoil.schema.model import Schema
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.rest.contracts import NewContract
from counterfoil.schema.rest.verdicts import ContractMigration

if TYPE_CHECKING:
    from counterfoil.contracts.lint.lint import LintInput


class PublishedContractFiles:
    """The contract and product files of ``given``, whose schema files are those that they name, or of their subjects.

    Files that are not valid refer to nothing.
    """

    def __init__(self, given: LintInput, project: Project | None) -> None:
        self._tree = given.tree
        self._read = given.read
        self._project = project
        links = Links(given.tree, project)
        files = [read_file(path, given.read(path) or b"") for path in given.agreements]
        self._files = [(each, _schema_paths(each.path, each.reading.agreement, links)) for each in files]

    @property
    def schemas(self) -> tuple[str, ...]:
        """The paths of the schema files."""
        return tuple(sorted({path for _, paths in self._files for path in paths.values()}))

    def contracts(self, registry: SchemaRegistry) -> tuple[NewContract, ...]:
        """Return the contracts, which must be valid; ``registry`` has the files that schema files refer to.

        Raises ``PreconditionFailed`` if it does not have one of them.
        """
        return tuple(
            NewContract(file.data.decode(), {name: self._schema(name, path, registry) for name, path in paths.items()})
            for file, paths in self._files
        )

    def migrations(self) -> tuple[ContractMigration, ...]:
        """Return the migrations of the contracts, whose converters are valid bridge files.

        The application that runs a bridge is taken to have the bridge's name. A contract with several migrations
        between two versions has one for each of its topics; then the name of the bridge is part of the id.
        """
        found = [
            self._migration(file.path, file.reading.agreement, each)
            for file, _ in self._files
            if isinstance(file.reading.agreement, Contract)
            for each in file.reading.agreement.migrations
        ]
        number = Counter(each.id for each in found)
        return tuple(replace(each, id=f"{each.id}-{each.bridge}") if number[each.id] > 1 else each for each in found)

    def _migration(self, path: str, contract: Contract, given: Migration) -> ContractMigration:
        bridge = read_bridge((self._read(below(path, given.converter)) or b"").decode()).name
        return ContractMigration(
            id=f"{contract.id}-{given.source}-{given.target}",
            contract=contract.id,
            source=major_of(given.source),
            target=major_of(given.target),
            bridge=bridge,
            application=bridge,
            sunset="" if given.sunset is None else given.sunset.isoformat(),
        )

    def _schema(self, name: str, path: str, registry: SchemaRegistry) -> Schema:
        return schema_to_send(self._tree, self._project, name, path, registry)


def schema_to_send(
    tree: SchemaTree, project: Project | None, subject: str, path: str, registry: SchemaRegistry
) -> Schema:
    """Return the schema in the file at ``path`` as a registry takes it, with references to registered versions.

    Raises ``PreconditionFailed`` if not all that it refers to is, ``InvalidOperand`` if it is no valid schema.
    """
    referred = tree.referred(path).values()
    known = Subjects(tree, project)
    named = {each: names[0] for each in referred if (names := known.known_as(each))}
    subjects = Subjects(tree, given={**named, path: subject})  # files that nothing maps have the names of references
    try:
        return FileRegistration(tree, [path], subjects=subjects, registry=registry).schema(path)
    except (SubjectNotFound, SchemaNotFound, VersionNotFound) as missing:
        raise PreconditionFailed(
            f"{path} refers to {', '.join(referred)}, and not all of it is registered ({missing}); register it "
            "first, for example with counterfoil apply"
        ) from None


def renewed(given: ContractMigration, held: ContractMigration | None) -> ContractMigration:
    """Return a migration of a file as it is to be stored, where the registry has one of this id already.

    The registry's other facts about the application stay, and the later of the two last days counts.
    """
    if held is None:
        return given
    sunset = max(given.sunset, held.sunset) if given.sunset and held.sunset else ""
    application = held.application if held.bridge == given.bridge else given.application
    return replace(given, application=application, sunset=sunset, create_ts=held.create_ts)


def _schema_paths(path: str, agreement: Agreement | None, links: Links) -> Mapping[str, str]:
    """Return the paths of the schema files of an agreement, by the text of the link or by subject."""
    return {name: file for name, file in _linked(path, agreement, links) if file is not None}


def _linked(path: str, agreement: Agreement | None, links: Links) -> Iterator[tuple[str, str | None]]:
    if isinstance(agreement, DataProduct):
        for expectation in agreement.expectations:
            if expectation.reader_schema is not None:
                yield expectation.reader_schema.url, links.file(path, expectation.reader_schema)
    if isinstance(agreement, Contract):
        for promise in agreement.promises:
            link = promise.schema
            name = link.url if link is not None and link.is_file else promise.subject
            yield name, links.value_of(path, promise)
            key = promise.key
            if key is not None and key.subject is not None:
                yield key.subject, links.key_of(path, promise)
            elif key is not None and key.schema is not None:
                yield key.schema.url, links.key_of(path, promise)
