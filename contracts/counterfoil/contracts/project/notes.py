"""Notes about what a project file leaves out: files that say they are schemas, and entries that map no file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.contracts.project.globs import is_match

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.contracts.project.model import Project, SchemaLine
    from counterfoil.contracts.subjects import Subjects
    from counterfoil.contracts.tree import SchemaTree

_SHOWN = 3


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
        for name, paths in shared[:_SHOWN]
    ]
    return [*notes, f"and {len(shared) - _SHOWN} more subjects of several files"] if len(shared) > _SHOWN else notes


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
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"{', '.join(paths[:_SHOWN])}{more}"


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
