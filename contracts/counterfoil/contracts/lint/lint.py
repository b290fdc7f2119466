"""Which files are checked by themselves, the check from their texts to findings, and the repairs of ``--fix``."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from counterfoil.contracts.advice import advice_for
from counterfoil.contracts.baselines import (
    CheckedScope,
    linked_schemas,
    paths_below,
    read_head,
    reader_of,
    scope_of,
    undeclared_schemas,
)
from counterfoil.contracts.baselines.git import find_repository
from counterfoil.contracts.errors import InputNotFound, PreconditionFailed, absent
from counterfoil.contracts.findings import Finding
from counterfoil.contracts.lint import FileFindings, Fix
from counterfoil.contracts.lint.agreements import ReferredSchemaFiles, check_application, check_contract
from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.acceptance import STALE
from counterfoil.contracts.project.documents import read_project
from counterfoil.contracts.project.files import nearest_file, open_project
from counterfoil.contracts.project.languages import is_yaml
from counterfoil.contracts.project.model import Project, agreement_test
from counterfoil.contracts.project.subjects import (
    SubjectOrigin,
    Subjects,
    linked_notes,
    rivals_text,
    undeclared_text,
    unmapped_notes,
    unmapped_text,
    unused_lines,
    unused_text,
)
from counterfoil.schema.agreements import Agreement, Contract, DataProduct
from counterfoil.schema.agreements.documents import read_agreement
from counterfoil.schema.documents import InvalidDocument, Repair, conflict_in
from counterfoil.schema.documents.yaml_reader import read_yaml
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import print_path
from counterfoil.schema.reports import Severity
from counterfoil.schema.tags import has_tags, unencryptable_tags, unnamed_paths_of, unreached_tags
from counterfoil.schema.texts import Position

# The check of files by themselves: from their texts to findings. What is read, the caller passes in.


@dataclass(frozen=True, slots=True)
class LintInput:
    """The checked files: the paths of ``schemas`` of ``tree``, of ``agreements``, and of the ``project`` file.

    ``others`` are agreements that are not checked, in which the contracts of consumers may be. ``read`` returns the
    bytes of a file, None where there is none. ``all_paths`` are the paths to which entries of the project may apply.
    ``subjects`` are the subjects of all schema files, if they are known; ``undeclared`` returns the files that say they
    are schemas, and that nothing maps, ``linked`` the symbolic links that an entry of the project maps.
    """

    tree: SchemaTree
    read: Callable[[str], bytes | None]
    schemas: Sequence[str] = ()
    agreements: Sequence[str] = ()
    project: str | None = None
    others: Sequence[str] = ()
    all_paths: Sequence[str] = ()
    subjects: Subjects | None = None
    undeclared: Callable[[], Sequence[str]] = tuple
    linked: Sequence[str] = ()


BYTE_ORDER_MARK: Final = "\ufeff"
UNREACHED: Final = "tag-not-reached"
"""The rule about tags that no field rule reaches."""
UNENCRYPTABLE: Final = "tag-not-encryptable"
"""The rule about tags of what cannot be encrypted."""
TAKEN: Final = "subject-taken"
"""The rule about subjects that several files have."""
UNKNOWN_PATH: Final = "tag-path-unknown"
"""The rule about paths of metadata that name no field."""


@dataclass(frozen=True, slots=True)
class LintReport:
    """The files that were checked, and the findings, in the order of paths and positions.

    ``fixes`` are the repairs that were made before; None if none were asked for. ``note`` is a sentence about files
    that were not checked, usually empty.
    """

    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    fixes: tuple[Fix, ...] | None = None
    note: str = ""

    def count(self, severity: Severity) -> int:
        """Return the number of findings with this severity that are not approved."""
        return sum(finding.severity is severity and finding.approval is None for finding in self.findings)


def lint_files(given: LintInput, *, today: date) -> LintReport:
    """Return the report on the files that are checked; ``today`` decides which entries have expired."""
    findings: list[Finding] = []
    if given.project is not None:
        findings += _lint_project(given, given.project, today)
    for path in given.schemas:
        findings += _lint_schema(
            given.tree, path, given.subjects.tags_by_path(path) if given.subjects is not None else {}
        )
        findings += _lint_subjects(given.subjects, path)
    findings += _Agreements(given, today).lint()
    files = (*([given.project] if given.project is not None else []), *given.schemas, *given.agreements)
    ordered = sorted(findings, key=lambda one: (one.path, one.position or Position(0, 0), one.rule, one.text))
    undeclared, project = given.undeclared(), given.subjects.project if given.subjects is not None else None
    notes = [undeclared_text(undeclared)] if undeclared else []
    notes += [*linked_notes(given.linked), *unmapped_notes(project, given.schemas)]
    return LintReport(tuple(sorted(files)), tuple(ordered), note="; ".join(notes))


def _lint_project(given: LintInput, path: str, today: date) -> list[Finding]:
    findings = FileFindings(path)
    try:
        project = read_project((given.read(path) or b"").decode())
    except UnicodeDecodeError as error:
        findings.add("project-invalid", f"the file is not UTF-8 ({error.reason})", None)
        return findings.found
    except InvalidDocument as mistake:
        findings.add("project-invalid", mistake.problem, mistake.position, repair=mistake.repair)
        return findings.found
    moved = project.within(path.rpartition("/")[0])
    for unused in unused_lines(moved, given.all_paths):
        line = unused.line
        findings.add("project-line-unused", unused_text(unused), line.position, facts=tuple(line.files))
    for entry in project.stale({each.fingerprint for each in project.accepted}, on=today):
        fix = advice_for(STALE)
        facts = (entry.fingerprint,)
        findings.add(STALE, entry.text, entry.position, facts=facts, severity=Severity.WARNING, fix=fix)
    return findings.found


def _lint_schema(tree: SchemaTree, path: str, by_path: Mapping[str, Sequence[str]]) -> list[Finding]:
    names = tree.outline(path)
    findings = FileFindings(path, (names.name if names else None) or path)
    read = tree.read(path)
    if read.problem is not None:
        findings.add("schema-invalid", read.problem.text, read.problem.position)
    if read.has_byte_order_mark:
        text = "the file starts with a byte order mark, which some readers refuse"
        repair = Repair(Position(1, 1), BYTE_ORDER_MARK, "")
        findings.add("byte-order-mark", text, Position(1, 1), severity=Severity.WARNING, fix="", repair=repair)
    if read.problem is None:
        for missing in read.missing:
            findings.add("missing-import", missing.text, missing.position, severity=Severity.WARNING, fix="")
    if read.schema is not None:
        _add_warnings(read.schema, by_path, findings)
    return findings.found


def _lint_subjects(subjects: Subjects | None, path: str) -> list[Finding]:
    """Return findings about subjects that other files have as well, and unmapped files that this one refers to.

    Files whose names alone give them one subject may be those of several registries: that is a warning.
    """
    findings = FileFindings(path)
    for other in () if subjects is None else subjects.unmapped_references(path):
        rule = "reference-unmapped"
        findings.add(rule, unmapped_text(other), None, element=other, severity=Severity.ERROR, fix=advice_for(rule))
    rivals = {} if subjects is None else subjects.rivals(path)
    for subject, others in rivals.items():
        text = rivals_text(subject, others)
        is_named = subjects is not None and subjects.of(path).origin is SubjectOrigin.NAME
        severity = Severity.WARNING if is_named else Severity.ERROR
        findings.add(TAKEN, text, None, element=subject, severity=severity, fix=advice_for(TAKEN))
    return [*findings.found, *_lint_aliases(subjects, path)]


def _lint_aliases(subjects: Subjects | None, path: str) -> list[Finding]:
    """Return errors for aliases of a file's subjects that are subjects of other files, or their aliases."""
    findings = FileFindings(path)
    for alias, text in () if subjects is None else subjects.taken_aliases(path):
        findings.add(TAKEN, text, None, element=alias, severity=Severity.ERROR, fix=advice_for(TAKEN))
    return findings.found


def _add_warnings(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]], findings: FileFindings) -> None:
    """Add the mistakes that the schema's language forbids and registries accept."""
    for each in schema.warnings():
        place, element = schema.locate(each.pointer), print_path(schema.path_at(each.pointer))
        fix = advice_for(each.rule)
        findings.add(each.rule, each.text, place, element=element, severity=Severity.WARNING, fix=fix)
    if has_tags(schema.text, by_path):
        _add_tags(schema, by_path, findings)


def _add_tags(schema: ParsedSchema, by_path: Mapping[str, Sequence[str]], findings: FileFindings) -> None:
    """Add the tags that no field rule reaches or that mark what cannot be encrypted, and paths that mark nothing."""
    for each in unreached_tags(schema, by_path):
        findings.add(UNREACHED, each.text, schema.locate(each.pointer), element=each.place)
    for other in unencryptable_tags(schema, by_path):
        findings.add(UNENCRYPTABLE, other.text, schema.locate(other.pointer), element=other.place)
    for path in unnamed_paths_of(schema, by_path):
        findings.add(UNKNOWN_PATH, path.text, None, element=path.path)


class _Agreements:
    """The check of contract and product files, each of which is read once."""

    def __init__(self, given: LintInput, today: date) -> None:
        self._given = given
        self._today = today
        self._files = ReferredSchemaFiles(given.tree, frozenset(given.schemas), given.read)
        self._contracts: dict[str, tuple[str, Contract]] = {}
        self._has_others = False
        self._has_unreadable = False

    def lint(self) -> Iterable[Finding]:
        read = [(path, *self._read(path)) for path in self._given.agreements]
        self._check_ids([(path, agreement, findings) for path, agreement, findings in read if agreement])
        for path, agreement, findings in read:
            if isinstance(agreement, Contract):
                check_contract(agreement, findings, self._files, today=self._today)
                self._contracts.setdefault(agreement.id, (path, agreement))
        for _, agreement, findings in read:
            if isinstance(agreement, DataProduct):
                self._look_for(agreement)
                check_application(
                    agreement, findings, self._files, self._contracts, has_all_contracts=not self._has_unreadable
                )
        return [finding for _, _, findings in read for finding in findings.found]

    def _read(self, path: str) -> tuple[Agreement | None, FileFindings]:
        findings = FileFindings(path)
        try:
            reading = read_agreement((self._given.read(path) or b"").decode())
        except UnicodeDecodeError as error:
            findings.add("document-invalid", f"the file is not UTF-8 ({error.reason})", None)
            return None, findings
        if reading.agreement is not None:
            findings.subject = reading.agreement.id
        self._has_unreadable = self._has_unreadable or reading.agreement is None
        for fault in reading.faults:
            findings.add(fault.rule, fault.problem, fault.position, repair=fault.repair)
        return reading.agreement, findings

    def _check_ids(self, read: Sequence[tuple[str, Agreement, FileFindings]]) -> None:
        first: dict[tuple[type, str, str | None], str] = {}
        for path, agreement, findings in read:
            key = (type(agreement), agreement.id, agreement.version)
            if key in first:
                text = f"{first[key]} declares {agreement.id} {agreement.version} as well"
                place = agreement.places.get("id", agreement.position)
                findings.add("id-taken", text, place, facts=(agreement.id, agreement.version or ""))
            first.setdefault(key, path)

    def _look_for(self, application: DataProduct) -> None:
        """Read the contracts that are not checked if one of the application's is not among those that are."""
        if self._has_others or all(each.contract_id in self._contracts for each in application.expectations):
            return
        self._has_others = True
        for path in self._given.others:
            agreement, _ = self._read(path)
            if isinstance(agreement, Contract):
                self._contracts.setdefault(agreement.id, (path, agreement))


# Which files are checked: schema, contract and product files of a git working tree, or of a plain folder.


class Collected(NamedTuple):
    """The checked files, the project that applies, and the current folder relative to the root, a folder on disk."""

    given: LintInput
    project: Project | None
    prefix: str
    root: str


def collect(current: str, paths: Sequence[str], *, config: str | None = None, has_project: bool = True) -> Collected:
    """Return the files at ``paths``, which are relative to the folder ``current``; without paths, those below it.

    ``config`` is the path of the project file; without it the nearest one applies, and none if not ``has_project``.
    Raises ``InputNotFound``.
    """
    repository = find_repository(current)
    scope = scope_of(current, paths, repository=repository)
    top = repository.top if repository else None
    file, project = _project(current, config, scope.root, top) if has_project else (None, None)
    scope = replace(scope, project=project)
    tree = read_head(scope, repository=repository)
    listed = repository.working_paths() if repository else paths_below(scope.root, lambda _: True)
    is_agreement = agreement_test(project, scope.wanted)
    agreements = [path for path in dict.fromkeys((*listed, *scope.wanted)) if is_agreement(path)]
    read = reader_of(scope.root)
    for path in scope.wanted:
        if path and path not in tree.paths and not (Path(scope.root) / path).is_dir() and read(path) is None:
            raise InputNotFound(absent(path))
    wanted = [path for path in agreements if scope.is_wanted(path)]
    given = LintInput(
        tree=tree,
        read=read,
        schemas=[path for path in tree.paths if scope.is_wanted(path) and _is_schema(scope, path)],
        agreements=sorted(wanted),
        project=file if file is not None and scope.is_wanted(file) else None,
        others=sorted(set(agreements).difference(wanted)),
        all_paths=tree.paths,
        subjects=Subjects(tree, project),
        undeclared=partial(undeclared_schemas, scope, tree, listed, read),
        linked=linked_schemas(scope, listed),
    )
    return Collected(given, project, scope.prefix, scope.root)


def _is_schema(scope: CheckedScope, path: str) -> bool:
    """Return whether a file of the tree is a schema: YAML, which may be there because it was named, if it is mapped."""
    return not is_yaml(path) or (scope.project is not None and scope.project.may_be_schema(path))


def _project(current: str, config: str | None, root: str, top: str | None) -> tuple[str | None, Project | None]:
    """Return the path of the project file below ``root``, and the project; None for one that is invalid."""
    place = Path(config) if config else nearest_file(current, top=top)
    if place is None:
        return None, None
    resolved = place.resolve()
    path = resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else None
    try:
        found = open_project(place)
        return path, found.below(root) if path is not None else found.project
    except CounterfoilError:
        if path is None:
            raise
        return path, None


_MAX_ROUNDS: Final = 100
"""More than the mistakes that one file can have behind one another, of which only the first is seen."""
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""The ends of lines in YAML 1.1, by which places are counted."""
_QUOTES: Final = ("", "'", '"')


def fix_files(root: str, given: LintInput, report_on: Callable[[LintInput], LintReport]) -> tuple[Fix, ...]:
    """Make the repairs of the findings that ``report_on`` reports in the files below ``root``, and return them.

    Nothing is written if one of the files has an unresolved conflict of a merge, or cannot be written.
    """
    fixing = find_fixes(given, report_on)
    _write(root, fixing, given.read)
    return fixing.fixes


@dataclass(frozen=True, slots=True)
class Fixing:
    """The repairs of all files, and the bytes of each file that they change, before and after."""

    fixes: tuple[Fix, ...]
    before: Mapping[str, bytes | None]
    after: Mapping[str, bytes]


def find_fixes(given: LintInput, report_on: Callable[[LintInput], LintReport]) -> Fixing:
    """Return the repairs of the findings that ``report_on`` reports, until none is left; nothing is written.

    Raises ``PreconditionFailed`` if one of the files has an unresolved conflict of a merge.
    """
    _refuse_conflicts(given)
    before: dict[str, bytes | None] = {}
    texts: dict[str, str] = {}
    fixes: list[Fix] = []
    tried: set[Fix] = set()

    def read(path: str) -> bytes | None:
        if path in texts:
            return _bytes_of(texts[path])
        if path not in before:
            before[path] = given.read(path)
        return before[path]

    for _ in range(_MAX_ROUNDS):
        report = report_on(replace(given, read=read))
        wanted = sorted({*_wanted(report)} - tried, key=lambda one: (one.path, one.repair.position, one.rule))
        if not wanted:
            break
        tried.update(wanted)
        for path, of_file in groupby(wanted, key=lambda one: one.path):
            found = [*of_file]
            text, made = _repaired(path, _text_of(read(path)), found)
            if made:
                texts[path] = text
                fixes += made
                tried.difference_update(found)
                tried.update(made)
    after = {path: _bytes_of(text) for path, text in texts.items()}
    ordered = sorted(fixes, key=lambda one: (one.path, one.repair.position))
    return Fixing(tuple(ordered), {path: before[path] for path in texts}, after)


def _wanted(report: LintReport) -> Iterator[Fix]:
    """Yield the repairs of the findings that are not approved."""
    for finding in report.findings:
        if finding.repair is not None and finding.approval is None:
            yield Fix(finding.rule, finding.path, finding.repair)


def _refuse_conflicts(given: LintInput) -> None:
    own = [given.project] if given.project is not None else []
    for path in (*own, *given.schemas, *given.agreements):
        conflict = conflict_in((given.read(path) or b"").decode(errors="replace"))
        if conflict is not None:
            raise PreconditionFailed(
                f"{path}:{conflict} has an unresolved conflict of a merge, so nothing was fixed; keep one side first"
            )


def _text_of(data: bytes | None) -> str:
    """Return the text of a file; bytes that are not UTF-8 stay unchanged."""
    return (data or b"").decode(errors="surrogateescape")


def _bytes_of(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _repaired(path: str, text: str, fixes: Sequence[Fix]) -> tuple[str, list[Fix]]:
    """Return a text with repairs in it, and those that were made: all, or else the first that leaves it readable.

    Two keys that are meant to be the same are an example of repairs that cannot be made together.
    """
    for some in (fixes, *([each] for each in fixes)):
        changed, made = _edited(text, some)
        if made and _is_readable(path, changed):
            return changed, made
    return text, []


def _edited(text: str, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """Return a text with repairs in it, and those that were made: where the text is what is to be repaired."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
    edits: dict[int, tuple[str, str, Fix]] = {}
    for fix in fixes:
        repair = fix.repair
        line = repair.position.line - 1
        at = starts[line] + repair.position.column - 1 if line < len(starts) else len(text)
        for quote in _QUOTES:
            written = f"{quote}{repair.before}{quote}"
            if text.startswith(written, at):
                edits.setdefault(at, (written, f"{quote}{repair.after}{quote}", fix))
                break
    for at in sorted(edits, reverse=True):
        before, after, _ = edits[at]
        text = f"{text[:at]}{after}{text[at + len(before) :]}"
    return text, [fix for _, _, fix in edits.values()]


def _is_readable(path: str, text: str) -> bool:
    """Return whether a repaired text is still YAML; a file of another language stays unchanged."""
    if not is_yaml(path):
        return True
    try:
        read_yaml(text)
    except InvalidDocument:
        return False
    return True


def _write(root: str, fixing: Fixing, read: Callable[[str], bytes | None]) -> None:
    """Write the repaired files below ``root``, all of them or, if a new one cannot be written, none.

    Raises ``PreconditionFailed`` if a file has changed meanwhile.
    """
    written: list[tuple[str, str]] = []
    try:
        for path, data in fixing.after.items():
            place = os.path.realpath(Path(root) / path)
            written.append((_written_beside(place, data), place))
        for path, was in fixing.before.items():
            if read(path) != was:
                raise PreconditionFailed(f"{path} was changed while it was checked, so nothing was fixed; run it again")
        for beside, place in written:
            Path(beside).replace(place)
    finally:
        for beside, _ in written:
            with suppress(FileNotFoundError):
                Path(beside).unlink()


def _written_beside(place: str, data: bytes) -> str:
    """Write a file with the permissions of the one at ``place`` into its folder, and return the path."""
    folder, name = os.path.split(place)
    descriptor, beside = tempfile.mkstemp(prefix=f".{name}.", suffix=".new", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(place, beside)
    except OSError:
        Path(beside).unlink()
        raise
    return beside
