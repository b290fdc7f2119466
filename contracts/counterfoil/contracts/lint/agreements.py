"""The check of contracts and expectations: of their fields, units, rules and files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final, NamedTuple

from counterfoil.contracts.lint import FileFindings
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.languages import language_of
from counterfoil.contracts.values.constraints import compile_rule
from counterfoil.schema.agreements import (
    Contract,
    DataProduct,
    Expectation,
    ExpectedRead,
    FieldPromise,
    Migration,
    Promise,
    SchemaLink,
    major_of,
)
from counterfoil.schema.agreements.findings import SchemaFacts
from counterfoil.schema.documents import InvalidDocument, Repair
from counterfoil.schema.paths import (
    KEY,
    FieldPath,
    InvalidPath,
    PathNotFound,
    StepKind,
    member,
    parse_path,
    print_path,
    resolve_path,
)
from counterfoil.schema.plans.bridge_document import read_bridge
from counterfoil.schema.texts import Position
from counterfoil.schema.units import currency_of, is_unit

_VERSION: Final = re.compile(r"v?\d+\.\d+\.\d+([-+].*)?", re.ASCII)
_SHORT_VERSION: Final = re.compile(r"v?\d+(\.\d+)?", re.ASCII)
_CEL: Final = "cel"


class ReferredSchemaFiles:
    """The schema files that contract files refer to. ``linted`` are those that are checked themselves."""

    def __init__(self, tree: SchemaTree, linted: frozenset[str], read: Callable[[str], bytes | None]) -> None:
        self._tree = tree
        self._linted = linted
        self._facts_by_path: dict[str, SchemaFacts] = {}
        self.read = read

    def linked(self, link: SchemaLink | None, findings: FileFindings) -> SchemaFacts | None:
        """Return the schema that a file refers to; None, with a finding, where it is missing or invalid."""
        if link is None or not link.is_file:
            return None
        path = below(findings.path, link.url)
        if not self._tree.has(path, language_of(path)):
            findings.add("schema-file-missing", f"there is no schema file {link.url}", link.position, facts=(link.url,))
            return None
        read = self._tree.read(path)
        if read.problem is not None and path not in self._linted:
            where = f"{link.url}:{read.problem.position}" if read.problem.position else link.url
            findings.add(
                "schema-invalid", f"{where} is no valid schema: {read.problem.text}", link.position, facts=(link.url,)
            )
        if read.schema is not None and path not in self._facts_by_path:
            self._facts_by_path[path] = SchemaFacts(read.schema)
        return self._facts_by_path.get(path)


def below(path: str, url: str) -> str:
    """Return the path that ``url`` leads to from the folder of the file at ``path``."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), url))


def check_contract(contract: Contract, findings: FileFindings, files: ReferredSchemaFiles, *, today: date) -> None:
    """Add the mistakes of a contract that is valid under its standard."""
    _check_head(contract, findings)
    for promise in contract.promises:
        _check_promise(promise, findings, files)
    for each in contract.migrations:
        _check_migration(each, contract, findings, files, today)
    by_name = {each.name: each for each in contract.promises}
    for level in contract.service_levels:
        for element in (level.element or "").split(","):
            name, _, path = element.strip().partition(".")
            about = by_name.get(name)
            schema = files.linked(about.schema, findings) if about is not None and path else None
            if schema is not None:
                text = f"slaProperties.{level.property}"
                _check_path_text(path, schema, findings, level.position or contract.position, about=text)


def _check_head(agreement: Contract | DataProduct, findings: FileFindings) -> None:
    if agreement.owner is None:
        findings.add("owner-missing", "the file names no team that owns it", agreement.position)
    if agreement.version is not None and not _VERSION.fullmatch(agreement.version):
        text = f"the version {agreement.version} is not of the form major.minor.patch"
        place = agreement.places.get("version", agreement.position)
        repair = _whole_version(agreement.version, place)
        findings.add("version-not-semantic", text, place, facts=(agreement.version,), repair=repair)


def _whole_version(version: str, place: Position) -> Repair | None:
    """Return a version of one or two numbers with the others, which are zero; None for any other text."""
    if not _SHORT_VERSION.fullmatch(version):
        return None
    return Repair(place, version, version + ".0" * (2 - version.count(".")))


def _check_promise(promise: Promise, findings: FileFindings, files: ReferredSchemaFiles) -> None:
    schema = files.linked(promise.schema, findings)
    for field in promise.fields:
        _check_field(field, schema, findings)
    key = promise.key
    if key is not None:
        files.linked(key.schema, findings)
        if key.field is not None and schema is not None:
            place = promise.places.get("messageKey", promise.position)
            _check_path_text(key.field, schema, findings, place, about="messageKey")
    for rule in promise.quality:
        if rule.engine == _CEL and rule.implementation is not None:
            outcome = compile_rule(rule.implementation)
            name = f"the rule {rule.id}" if rule.id else "the rule"
            if outcome.problem is not None:
                rule_id = "cel-invalid" if outcome.is_compiled else "cel-unchecked"
                facts = (rule.id or "", rule.implementation)
                text = f"{name}: {outcome.problem}"
                findings.add(rule_id, text, rule.position, element=print_path(rule.path), facts=facts)
            if schema is not None:
                for path in outcome.reads:
                    _check_path(tuple(map(member, path)), schema, findings, rule.position, about=name)


def _check_field(field: FieldPromise, schema: SchemaFacts | None, findings: FileFindings) -> None:
    element = print_path(field.path)
    if field.unit is not None:
        _check_unit(field.unit, findings, field.places.get("unit", field.position), element)
    if field.is_personal and not field.classification:
        place = field.places.get("tags", field.position)
        findings.add("pii-unclassified", "it is personal data without a classification", place, element=element)
    facts = schema.at(field.path) if schema and _check_path(field.path, schema, findings, field.position) else None
    if facts is None:
        return
    if field.logical_type is not None and not facts.may_be(field.logical_type):
        text = f"it is {field.logical_type} here, and {facts.words} in the schema"
        place = field.places.get("logicalType", field.position)
        findings.add("type-differs", text, place, element=element, facts=(field.logical_type,))
    if field.is_required and facts.is_optional:  # what is around it may be missing: then nothing is promised
        text = "it is required here, and the schema allows records without it"
        findings.add("promise-unkept", text, field.places.get("required", field.position), element=element)


def _check_unit(unit: str, findings: FileFindings, position: Position, element: str) -> None:
    if not is_unit(unit):
        meant = currency_of(unit)
        repair = None if meant is None else Repair(position, unit, meant)
        findings.add("unit-unknown", f"{unit} is no unit", position, element=element, facts=(unit,), repair=repair)


def _check_path_text(text: str, schema: SchemaFacts, findings: FileFindings, position: Position, *, about: str) -> None:
    try:
        _check_path(parse_path(text), schema, findings, position, about=about)
    except InvalidPath as mistake:
        findings.add("path-missing", f"{about}: {mistake}", position, facts=(about, text))


def _check_path(
    path: FieldPath, schema: SchemaFacts, findings: FileFindings, position: Position, *, about: str = ""
) -> bool:
    """Return whether the schema has a path; add a finding where it has not."""
    mistake = _missing(schema, path)
    if mistake is not None:
        text = f"{about}: {mistake}" if about else str(mistake)
        findings.add("path-missing", text, position, element=print_path(path), facts=(about,) if about else ())
    return mistake is None


def _check_migration(
    migration: Migration, contract: Contract, findings: FileFindings, files: ReferredSchemaFiles, today: date
) -> None:
    versions = (migration.source, migration.target)
    majors = [major_of(each) for each in (*versions, contract.version)]
    if majors[0] == majors[1] or (all(map(str.isdecimal, majors)) and max(map(int, majors[:2])) > int(majors[2])):
        text = f"it leads from version {migration.source} to {migration.target}, and this is {contract.version}"
        findings.add("migration-version-unknown", text, migration.position, facts=versions)
    data = files.read(below(findings.path, migration.converter))
    if data is None:
        findings.add(
            "converter-missing",
            f"there is no file {migration.converter}",
            migration.position,
            facts=(migration.converter,),
        )
    else:
        try:
            read_bridge(data.decode())
        except InvalidDocument as mistake:
            findings.add(
                "converter-invalid",
                f"{migration.converter}:{mistake}",
                migration.position,
                facts=(migration.converter,),
            )
        except UnicodeDecodeError:
            findings.add(
                "converter-invalid",
                f"{migration.converter} is not UTF-8",
                migration.position,
                facts=(migration.converter,),
            )
    if migration.sunset is not None and migration.sunset < today:
        text = f"the migration from {migration.source} to {migration.target} was to end on {migration.sunset}"
        findings.add("sunset-passed", text, migration.position, facts=versions)


def check_application(
    application: DataProduct,
    findings: FileFindings,
    files: ReferredSchemaFiles,
    contracts: Mapping[str, tuple[str, Contract]],
    *,
    has_all_contracts: bool,
) -> None:
    """Add the mistakes of an application.

    ``contracts`` are those that are known, by id, with their files; ``has_all_contracts``: none was invalid.
    """
    _check_head(application, findings)
    for each in application.expectations:
        files.linked(each.reader_schema, findings)
        for read in each.reads or ():
            if read.unit is not None:
                _check_unit(read.unit, findings, read.places.get("unit", read.position), print_path(read.path))
        known = contracts.get(each.contract_id)
        if known is not None:
            _check_expectation(each, findings, files, known)
        elif has_all_contracts:
            text = f"no file here is the contract {each.contract_id}, so its reads are not compared with a schema"
            place = each.places.get("contractId", each.position)
            findings.add("contract-unknown", text, place, facts=(each.contract_id,))


def _check_expectation(
    expectation: Expectation, findings: FileFindings, files: ReferredSchemaFiles, known: tuple[str, Contract]
) -> None:
    path, contract = known
    if major_of(expectation.version) != major_of(contract.version):
        text = f"it reads version {expectation.version} of {contract.id}, and {path} is version {contract.version}"
        place = expectation.places.get("version", expectation.position)
        findings.add("contract-version-differs", text, place, facts=(contract.id, expectation.version))
        return
    topics = [
        _Topic(
            each,
            _quietly(each.schema, path, files),
            None if each.key is None else _quietly(each.key.schema, path, files),
        )
        for each in contract.promises
    ]
    for read in expectation.reads or ():
        _check_read(read, topics, findings)


class _Topic(NamedTuple):
    """A topic of a contract, with the schemas of its records that are known."""

    promise: Promise
    value: SchemaFacts | None
    key: SchemaFacts | None


def _quietly(link: SchemaLink | None, path: str, files: ReferredSchemaFiles) -> SchemaFacts | None:
    """Return the schema of a contract; its mistakes are reported at the schema."""
    return files.linked(link, FileFindings(path))


def _check_read(read: ExpectedRead, topics: list[_Topic], findings: FileFindings) -> None:
    """Add a finding where no schema of the contract has the path; one about the last of them."""
    first = read.path[0] if read.path else None
    if first is None or read.when_present:
        return
    if first.kind is StepKind.HEADER:
        declared = [header for each in topics for header in each.promise.headers]
        if declared and not any(header.name == first.name for header in declared):
            text = f"the contract has no header {first.name}; it has {', '.join(each.name for each in declared)}"
            findings.add("path-missing", text, read.position, element=print_path(read.path))
        return
    inside = read.path[1:] if first == KEY else read.path
    known = [schema for each in topics if (schema := each.key if first == KEY else each.value) is not None]
    missing = [mistake for schema in known if (mistake := _missing(schema, inside)) is not None]
    if known and len(missing) == len(known):
        findings.add("path-missing", str(missing[-1]), read.position, element=print_path(read.path))
        return
    for schema in known:
        facts = schema.at(read.path)
        if read.type is not None and facts is not None and not facts.may_be(read.type):
            text = f"it is read as {read.type}, and is {facts.words} in the schema"
            place = read.places.get("as", read.position)
            findings.add("type-differs", text, place, element=print_path(read.path), facts=(read.type,))


def _missing(schema: SchemaFacts, path: FieldPath) -> PathNotFound | None:
    try:
        resolve_path(schema.schema, path)
    except PathNotFound as mistake:
        return mistake
    return None
