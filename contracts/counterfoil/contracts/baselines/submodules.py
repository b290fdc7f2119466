"""Submodules of a git repository that were moved: their files are files of another repository, and not compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.baselines.git import inside, short
from counterfoil.contracts.baselines.workspace import schema_paths_below
from counterfoil.schema.counting import counted

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.git import GitRepository
    from counterfoil.contracts.baselines.workspace import Scope


def moved_submodules(repository: GitRepository, commit: str, scope: Scope, *, is_staged: bool) -> str:
    """Return a note about the submodules in ``scope`` that ``commit`` has at another commit than now.

    Submodules without schema files are left out, if they are checked out. Without a submodule to name it is empty.
    """
    before = repository.submodules(commit)
    if not before and not (Path(repository.top) / ".gitmodules").is_file():
        return ""
    now = repository.current_submodules(is_staged=is_staged)
    moved = (path for path in sorted(before.keys() | now.keys()) if before.get(path) != now.get(path))
    notes = (
        _note(repository, path, before.get(path), now.get(path))
        for path in moved
        if scope.is_wanted(path) or any(inside(each, [path]) for each in scope.wanted)
    )
    return "; ".join(note for note in notes if note)


def _note(repository: GitRepository, path: str, before: str | None, now: str | None) -> str:
    """Return the note about one submodule; empty if it has no schema files."""
    if now is None:
        return f"the submodule {path} was removed, and its schema files with it, if it had any"
    folder = Path(repository.top) / path
    change = f"was moved from {short(before)} to {short(now)}" if before else f"is new, at {short(now)}"
    if not (folder / ".git").exists():
        return f"the submodule {path} {change}, and is not checked out, so that its schema files are not compared"
    count = len(schema_paths_below(str(folder)))
    if not count:
        return ""
    files = counted(count, "schema file")
    return f"the submodule {path} {change}: it has {files}, and is not compared; run the check inside of it, too"
