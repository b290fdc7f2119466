"""Files in a folder that was empty, as one commit of a git repository if a tutorial needs one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.git import run_git
from counterfoil.contracts.errors import PreconditionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

BRANCH: Final = "main"
_AUTHOR: Final = ("-c", "user.name=counterfoil", "-c", "user.email=tutorial@counterfoil.invalid")
_UNSIGNED: Final = ("-c", "commit.gpgSign=false", "-c", "core.hooksPath=/dev/null")


@contextmanager
def empty_folder(folder: Path, *, needs_git: bool) -> Iterator[Path]:
    """Yield a folder that is there and empty; one that was made is removed again if the block fails.

    Raises ``PreconditionFailed`` for a folder with something in it, for a file, and if git is needed and missing.
    """
    if needs_git:
        run_git(".", "--version")
    if folder.exists() and not folder.is_dir():
        raise PreconditionFailed(f"{folder} is a file; give a folder that does not exist yet, or an empty one")
    if folder.is_dir() and any(folder.iterdir()):
        raise PreconditionFailed(
            f"{folder} is not empty, and nothing was written; give a folder that does not exist yet, or an empty one"
        )
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
    except BaseException:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files, by their paths with ``/`` below the folder; a path that ends in ``/`` is a folder."""
    for path, text in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="\n")


def commit_files(folder: Path, message: str) -> None:
    """Make the folder a git repository with one commit on the branch ``main``, of all files in it."""
    run_git(str(folder), "init", "--quiet", f"--initial-branch={BRANCH}")
    run_git(str(folder), "add", "--all")
    run_git(str(folder), *_AUTHOR, *_UNSIGNED, "commit", "--quiet", "--message", message)
