"""The project's declarations about a schema file, its subjects, and notes about files and entries that map nothing."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final, Protocol
from urllib.parse import urlsplit

from counterfoil.contracts.project import SchemaTree
from counterfoil.contracts.project.languages import subject_in_name
from counterfoil.contracts.project.model import (
    FileMapping,
    NamedSubject,
    Project,
    ProjectSettings,
    SchemaLine,
    SubjectTerms,
    is_match,
)
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.languages.table import language_for

# What a project says of the files of a tree.


def mapping_of(project: Project | None, tree: SchemaTree, path: str) -> FileMapping | None:
    """Return the project's declarations about a file; None where no line maps it, or without a project."""
    if project is None:
        return None
    names = tree.outline(path)
    return project.mapping(path, name=names.name if names else None)


def settings_of(project: Project | None, tree: SchemaTree, path: str) -> ProjectSettings:
    """Return how the project has the file at ``path`` checked: the settings of all files where no line maps it."""
    if project is None:
        return ProjectSettings()
    names = tree.outline(path)
    return settings_at(project, path, names.name if names else None)


def settings_at(project: Project | None, path: str, name: str | None) -> ProjectSettings:
    """Return the settings of a file that may not exist any more, and declared ``name``."""
    if project is None:
        return ProjectSettings()
    mapping = project.mapping(path, name=name)
    return mapping.settings if mapping else project.settings


# Which subjects a schema file has: the one place that decides it, for every command.
#
# In this order: the subject that the command line names, what the project file says, the file's name if that ends in
# ``-key`` or ``-value``, and the name by which other files refer to the file.

_SHOWN_SUBJECTS: Final = 3


class SubjectOrigin(StrEnum):
    """The source of a file's subjects: the command line, the project, its name, or those who refer to it."""

    OPTION = "option"
    PROJECT = "project"
    NAME = "name"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class FileSubjects:
    """The subjects of the file at ``path``; none if nothing names them.

    ``mapping`` is what the project says of the file. ``older`` are other names by which files refer to it: the subject
    may have been registered under one of them.
    """

    path: str
    subjects: tuple[NamedSubject, ...] = ()
    origin: SubjectOrigin | None = None
    mapping: FileMapping | None = None
    older: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the subjects."""
        return tuple(each.name for each in self.subjects)

    @property
    def is_part(self) -> bool:
        """Whether the project says that the file is a part of other schemas."""
        return self.mapping is not None and self.mapping.line.is_part


class VersionLister(Protocol):
    """The part of a registry client that tells which subjects exist."""

    def versions(self, subject: str) -> Sequence[int]:
        """Return the numbers of the subject's active versions; raises ``SubjectNotFound``."""


class Subjects:
    """The subjects of the files of ``tree``, as ``project`` declares them; ``given`` are those of the command line.

    A project without any entry about schemas leaves the subjects to the names of files, as no project does. Files that
    the entries of a project do not map have no subjects.
    """

    def __init__(
        self, tree: SchemaTree, project: Project | None = None, given: Mapping[str, str] | None = None
    ) -> None:
        self.tree = tree
        self.project = project
        self._given = dict(given or {})
        self._declares = project is not None and bool(project.schemas)
        self._found: dict[str, FileSubjects] = {}
        self._registered: dict[str, str] = {}

    def of(self, path: str) -> FileSubjects:
        """Return the subjects of the file at ``path``."""
        if path not in self._found:
            self._found[path] = self._of(path)
        return self._found[path]

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names of the subjects of the file at ``path``."""
        return self.of(path).names

    def tags_by_path(self, path: str) -> dict[str, tuple[str, ...]]:
        """Return the tags that the project assigns by path to the schema of a file, under any of its subjects."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.of(path).subjects:
            metadata = each.terms.metadata
            for name, tags in () if metadata is None else metadata.tags.items():
                found[name] = tuple(dict.fromkeys((*found.get(name, ()), *tags)))
        return found

    def known_as(self, path: str) -> tuple[str, ...]:
        """Return the names by which contracts know a file: its subjects, and of an unmapped file that in its name."""
        found = self.of(path)
        own = subject_in_name(path) if found.mapping is None and not found.subjects else None
        return found.names if own is None else (own,)

    @cached_property
    def shared(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the files of each subject that several files have, sorted.

        Copies of one text that no project maps are not among them: they have the same versions.
        """
        paths: dict[str, list[str]] = {}
        for path in self.tree.paths:
            for name in self.names(path):
                paths.setdefault(name, []).append(path)
        return {name: tuple(held) for name, held in paths.items() if len(held) > 1 and not self._are_copies(held)}

    def _are_copies(self, paths: Sequence[str]) -> bool:
        is_mapped = any(self.of(path).origin is SubjectOrigin.PROJECT for path in paths)
        return not is_mapped and len({self.tree.content(path) for path in paths}) == 1

    def rivals(self, path: str) -> Mapping[str, tuple[str, ...]]:
        """Return the other files that have a subject of the file at ``path``, by subject."""
        shared = {name: self.shared[name] for name in self.names(path) if name in self.shared}
        return {name: tuple(each for each in paths if each != path) for name, paths in shared.items()}

    def taken_aliases(self, path: str) -> list[tuple[str, str]]:
        """Return the aliases of the subjects of a file that are taken, each with a sentence that says by what."""
        mapping = self.of(path).mapping
        names = self.names(path)
        if mapping is None or not names:
            return []
        aliases = dict.fromkeys(mapping.line.aliases)
        found = [(alias, alias_text(alias, names[0])) for alias in aliases if alias in self._path_by_name]
        return found + [
            (alias, other_alias_text(alias, *sorted({names[0], other})))
            for alias in aliases
            for other in self._subjects_by_alias.get(alias, ())
            if other != names[0]
        ]

    @cached_property
    def _path_by_name(self) -> Mapping[str, str]:
        """A file of each subject."""
        return {name: path for path in self.tree.paths for name in self.names(path)}

    @cached_property
    def _subjects_by_alias(self) -> Mapping[str, tuple[str, ...]]:
        """The subjects that have each alias."""
        found: dict[str, dict[str, None]] = {}
        for path in self.tree.paths:
            mapping = self.of(path).mapping
            for alias in mapping.line.aliases if mapping is not None else ():
                found.setdefault(alias, {}).update(dict.fromkeys(self.names(path)))
        return {alias: tuple(subjects) for alias, subjects in found.items()}

    def unmapped_references(self, path: str) -> tuple[str, ...]:
        """Return the files to which a file with a subject refers, and which the project maps to nothing."""
        if not self._declares or not self.names(path):
            return ()
        referred = dict.fromkeys(self.tree.referred(path).values())
        found = [self.of(each) for each in referred if each != path]
        return tuple(each.path for each in found if each.mapping is None and not each.subjects)

    def held_by(self, registry: VersionLister, paths: Iterable[str]) -> Subjects:
        """Return the subjects with those of ``paths`` that ``registry`` has under an older name.

        That is asked only of files whose subject is the name by which others refer to them, if there are several such
        names. Raises the errors of the client.
        """
        known = Subjects(self.tree, self.project, self._given)
        known._registered = {**self._registered}
        for path in paths:
            found = self.of(path)
            if not found.older or path in known._registered:
                continue
            candidates = (*found.names, *found.older)
            known._registered[path] = next((each for each in candidates if _exists(registry, each)), candidates[0])
        return known

    def restricted(self, wanted: Container[tuple[str, str]]) -> Subjects:
        """Return the same with those subjects of files alone that are among ``wanted``, pairs of path and subject."""
        known = Subjects(self.tree, self.project, self._given)
        for path in self.tree.paths:
            found = self.of(path)
            kept = tuple(each for each in found.subjects if (path, each.name) in wanted)
            known._found[path] = replace(found, subjects=kept)
        return known

    def _of(self, path: str) -> FileSubjects:
        mapping = mapping_of(self.project, self.tree, path) if self._declares else None
        if path in self._given:
            terms = mapping.line.terms if mapping is not None else SubjectTerms()
            return FileSubjects(path, (NamedSubject(self._given[path], terms),), SubjectOrigin.OPTION, mapping)
        if mapping is not None and not mapping.line.is_part:
            return FileSubjects(path, mapping.subjects, SubjectOrigin.PROJECT if mapping.subjects else None, mapping)
        own = None if self._declares else subject_in_name(path)
        if own is not None:
            return FileSubjects(path, (NamedSubject(own),), SubjectOrigin.NAME)
        if self._declares and mapping is None:
            return FileSubjects(path)
        return self._by_reference(path, mapping)

    def _by_reference(self, path: str, mapping: FileMapping | None) -> FileSubjects:
        names = self._names_in_use.get(path, ())
        if not names:
            return FileSubjects(path, mapping=mapping)
        name, *older = dict.fromkeys((self._canonical(path, names[0]), *names))
        terms = mapping.line.terms if mapping is not None else SubjectTerms()
        if path in self._registered:
            return FileSubjects(path, (NamedSubject(self._registered[path], terms),), SubjectOrigin.REFERENCE, mapping)
        unclear = self._unclear_names
        older = [each for each in older if each not in unclear]
        return FileSubjects(path, (NamedSubject(name, terms),), SubjectOrigin.REFERENCE, mapping, tuple(older))

    def _canonical(self, path: str, name: str) -> str:
        """Return the subject for a file to which others refer as ``name``: of a relative path the one from the root."""
        references = language_for(self.tree.language(path)).references
        return path if references.may_be_paths and _is_relative(name) else name

    @cached_property
    def _names_in_use(self) -> Mapping[str, tuple[str, ...]]:
        """The names by which files refer to each file, in the order of the paths of those that refer to it."""
        found: dict[str, dict[str, None]] = {}
        for asker in self.tree.paths:
            for name, target in self.tree.referred(asker).items():
                if target != asker:
                    found.setdefault(target, {}).setdefault(name)
        return {path: tuple(names) for path, names in found.items()}

    @cached_property
    def _unclear_names(self) -> frozenset[str]:
        """The names that mean several files, so that none of them can be said to be registered under it."""
        paths_by_name: dict[str, set[str]] = {}
        for path, names in self._names_in_use.items():
            for name in (self._canonical(path, names[0]), *names):
                paths_by_name.setdefault(name, set()).add(path)
        for path in self.tree.paths:
            mapping = mapping_of(self.project, self.tree, path) if self._declares else None
            own = [each.name for each in mapping.subjects] if mapping else [subject_in_name(path)]
            for name in filter(None, (*own, self._given.get(path))):
                paths_by_name.setdefault(name, set()).add(path)
        return frozenset(name for name, paths in paths_by_name.items() if len(paths) > 1)


def unmapped_text(path: str) -> str:
    """Return the sentence that the file at ``path``, to which another one refers, is not mapped."""
    return (
        f"counterfoil.yaml names no subject for {path}, to which the file refers; add a line under schemas, with "
        "part: true for a file that other schemas refer to"
    )


def rivals_text(subject: str, others: Sequence[str]) -> str:
    """Return the sentence that other files have the same subject."""
    have = "has" if len(others) == 1 else "have"
    return f"{' and '.join(others)} {have} the same subject {subject!r}; a subject has one file"


def shared_notes(subjects: Subjects, selected: Iterable[str]) -> list[str]:
    """Return the sentences about subjects that several files have by their names alone, without a project.

    Several of the files are among those that are ``selected``: a copy elsewhere may be what they are compared with.
    """
    if subjects.project is not None:
        return []
    wanted = {*selected}
    shared = [(name, paths) for name, paths in subjects.shared.items() if len(wanted.intersection(paths)) > 1]
    notes = [
        f"{' and '.join(paths)} have the subject {name!r} by their names; a subject has one file"
        for name, paths in shared[:_SHOWN_SUBJECTS]
    ]
    return (
        [*notes, f"and {len(shared) - _SHOWN_SUBJECTS} more subjects of several files"]
        if len(shared) > _SHOWN_SUBJECTS
        else notes
    )


def alias_text(alias: str, subject: str) -> str:
    """Return the sentence that an alias of a subject is the subject of a file."""
    return f"{alias!r} is an alias of {subject!r} and the subject of a file; keep one of them"


def other_alias_text(alias: str, subject: str, other: str) -> str:
    """Return the sentence that two subjects have one alias."""
    return f"{alias!r} is an alias of {subject!r} and of {other!r}; an alias is of one subject"


def _is_relative(name: str) -> bool:
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return not parts.scheme and not parts.netloc


def _exists(registry: VersionLister, subject: str) -> bool:
    try:
        return bool(registry.versions(subject))
    except SubjectNotFound:
        return False


# Notes about what a project file leaves out: files that say they are schemas, and entries that map no file.

_SHOWN_FILES = 3


def notes_of(
    project: Project | None, tree: SchemaTree, undeclared: Sequence[str], linked: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the sentences for a report; ``undeclared`` are the files that say they are schemas and are not checked.

    ``linked`` are symbolic links that would be schema files.
    """
    notes = [undeclared_text(undeclared)] if undeclared else []
    notes += linked_notes(linked)
    notes += [unused_text(each, of=" of counterfoil.yaml") for each in unused_lines(project, tree.paths)]
    return tuple(notes)


def linked_notes(paths: Sequence[str]) -> list[str]:
    """Return the sentence about symbolic links, if there are any: they are not followed."""
    if not paths:
        return []
    are, lead = (
        ("is a symbolic link and is", "file that it leads")
        if len(paths) == 1
        else (
            "are symbolic links and are",
            "files that they lead",
        )
    )
    return [f"{_names(paths)} {are} not checked; map the {lead} to"]


def unmapped_notes(project: Project | None, paths: Iterable[str]) -> list[str]:
    """Return the sentence about schema files that no entry of a project maps, if it has entries."""
    if project is None or not project.schemas:
        return []
    unmapped = sorted(path for path in paths if project.line_of(path) is None)
    if not unmapped:
        return []
    names, is_one = _names(unmapped), len(unmapped) == 1
    it = "it" if is_one else "them"
    return [f"no entry of counterfoil.yaml maps {names}, so that plan and schema register refuse {it}"]


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN_FILES} more" if len(paths) > _SHOWN_FILES else ""
    return f"{', '.join(paths[:_SHOWN_FILES])}{more}"


def undeclared_text(paths: Sequence[str]) -> str:
    """Return the sentence about files that say they are schemas, and are not checked."""
    names, is_one = _names(paths), len(paths) == 1
    return (
        f"{names} {'names' if is_one else 'name'} a $schema and {'is' if is_one else 'are'} not checked; "
        f"map {'it' if is_one else 'them'} in counterfoil.yaml, or end the name in .schema.json"
    )


@dataclass(frozen=True, slots=True)
class UnusedLine:
    """An entry that maps no file; ``taken`` are the files that it matches and an earlier entry maps."""

    line: SchemaLine
    taken: tuple[str, ...] = ()


def unused_lines(project: Project | None, paths: Iterable[str]) -> tuple[UnusedLine, ...]:
    """Return the entries of a project that map none of the files at ``paths``."""
    if project is None:
        return ()
    listed = [*paths]
    used = {id(line) for path in listed if (line := project.line_of(path)) is not None}
    return tuple(
        UnusedLine(line, tuple(path for path in listed if is_match(path, line.files)))
        for line in project.schemas
        if id(line) not in used
    )


def unused_text(unused: UnusedLine, *, of: str = "") -> str:
    """Return the sentence that an entry maps no file: nothing matches, or entries before it map what does.

    ``of`` follows the globs of the entry.
    """
    globs = globs_of(unused.line)
    if not unused.taken:
        return f"no file matches {globs}{of}"
    are = "is" if len(unused.taken) == 1 else "are"
    return f"the entry {globs}{of} maps no file, since {_names(unused.taken)} {are} mapped by an entry before it"


def globs_of(line: SchemaLine) -> str:
    """Return the globs of an entry as a text."""
    text = ", ".join(line.files)
    return f"{text} (paths are written with /)" if chr(92) in text else text
