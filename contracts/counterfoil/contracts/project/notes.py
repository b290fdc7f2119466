"""Notes about what a project file leaves out: files that say they are schemas, and entries that match no file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.contracts.project.model import Project, SchemaLine
    from counterfoil.contracts.tree import SchemaTree

_SHOWN = 3


def notes_of(project: Project | None, tree: SchemaTree, undeclared: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences for a report; ``undeclared`` are the files that say they are schemas and are not checked."""
    notes = [undeclared_text(undeclared)] if undeclared else []
    notes += [f"no file matches {globs_of(each)} of counterfoil.yaml" for each in unused_lines(project, tree.paths)]
    return tuple(notes)


def undeclared_text(paths: Sequence[str]) -> str:
    """Return the sentence about files that say they are schemas, and are not checked."""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    names, is_one = f"{', '.join(paths[:_SHOWN])}{more}", len(paths) == 1
    return (
        f"{names} {'names' if is_one else 'name'} a $schema and {'is' if is_one else 'are'} not checked; "
        f"map {'it' if is_one else 'them'} in counterfoil.yaml, or end the name in .schema.json"
    )


def unused_lines(project: Project | None, paths: Iterable[str]) -> tuple[SchemaLine, ...]:
    """Return the entries of a project that map none of the files at ``paths``."""
    if project is None:
        return ()
    used = {id(line) for path in paths if (line := project.line_of(path)) is not None}
    return tuple(line for line in project.schemas if id(line) not in used)


def globs_of(line: SchemaLine) -> str:
    """Return the globs of an entry as a text."""
    text = ", ".join(line.files)
    return f"{text} (paths are written with /)" if chr(92) in text else text
