"""The files that are checked: those of a git working tree, or of a plain folder, restricted to the given paths."""

from __future__ import annotations

import os
import posixpath
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.baselines.git import inside, reader_of_blobs
from counterfoil.contracts.errors import InputNotFound
from counterfoil.contracts.languages import has_schema_suffix, is_plain, language_of, says_it_is_schema
from counterfoil.contracts.tree import SchemaFile, SchemaTree
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.contracts.baselines.git import GitRepository
    from counterfoil.contracts.project.finding import ProjectFile
    from counterfoil.contracts.project.model import Project


@dataclass(frozen=True, slots=True)
class Scope:
    """The folder and the files that are checked.

    ``root`` is the folder that all paths are relative to, ``prefix`` the current folder inside it, and ``wanted`` are
    the given files and folders; ``""`` is the root itself. ``project`` maps files, with paths relative to the root.
    """

    root: str
    prefix: str
    wanted: tuple[str, ...]
    project: Project | None = None

    def may_be_schema(self, path: str) -> bool:
        """Return whether the file at ``path`` may be a schema, by its name, by the project, or as it was given."""
        if has_schema_suffix(path) or path in self.wanted:
            return True
        return self.project is not None and self.project.may_be_schema(path)

    def only_schemas(self, files: Iterable[SchemaFile]) -> Iterable[SchemaFile]:
        """Return those of the files that may be schemas which are: some that the project maps are known by content."""
        project = self.project
        if project is None:
            return files
        return (file for file in files if self._is_named(file.path) or project.is_schema(file.path, file.data))

    def _is_named(self, path: str) -> bool:
        return has_schema_suffix(path) or path in self.wanted

    def is_wanted(self, path: str) -> bool:
        """Return whether ``path`` is one of the given paths, or below one."""
        return inside(path, self.wanted)

    def relative(self, path: str) -> str:
        """Return a path that was given relative to the current folder, relative to the root.

        It may lead out of the root.
        """
        return _relative(os.path.normpath(Path(self.root) / self.prefix / path), self.root)

    def missing(self, tree: SchemaTree) -> list[str]:
        """Return the wanted paths that are neither in ``tree`` nor a folder on disk."""
        return [path for path in self.wanted if path not in tree.paths and not (Path(self.root) / path).is_dir()]


def scope_of(
    current: str, paths: Sequence[str], *, repository: GitRepository | None, project: ProjectFile | None = None
) -> Scope:
    """Return the scope of ``paths``, which are relative to the folder ``current``; without paths, that folder.

    The root is the top of the ``repository``; without one, the nearest folder that contains everything. A path outside
    of the repository is an ``InputNotFound``.
    """
    current = str(Path(current).resolve())
    root = repository.top if repository else _common_root(current, paths)
    base = Scope(root, _relative(current, root), ())
    wanted = tuple(dict.fromkeys(base.relative(path) for path in paths or (".",)))
    for path in wanted:
        if inside(path, [".."]):
            raise InputNotFound(f"{path!r} is outside of {root}, whose files are checked")
    return Scope(root, base.prefix, wanted, project.below(root) if project else None)


def read_head(
    scope: Scope, *, repository: GitRepository | None, validation: Validation = Validation.FILE
) -> SchemaTree:
    """Return all schema files of the working tree, since files refer to one another.

    Files that git ignores are left out, unless their names are given. Files that are to be registered need a stricter
    ``validation``.
    """
    listed = repository.working_paths() if repository else paths_below(scope.root, scope.may_be_schema)
    wanted = (path for path in (*listed, *scope.wanted) if scope.may_be_schema(path))
    files = {path: file for path in wanted if (file := read_schema_file(scope.root, path)) is not None}
    if repository is not None:
        sparse = [blob for blob in repository.sparse_blobs() if scope.may_be_schema(blob.path)]
        contents = repository.contents(blob.object_id for blob in sparse)
        for blob in sparse:
            files.setdefault(blob.path, SchemaFile(blob.path, contents[blob.object_id]))
    return SchemaTree(scope.only_schemas(files.values()), validation=validation, other=reader_of(scope.root))


def read_staged(scope: Scope, repository: GitRepository, *, validation: Validation = Validation.FILE) -> SchemaTree:
    """Return all schema files of the index, which is what the next commit will have."""
    blobs = repository.staged_blobs()
    schemas = [blob for blob in blobs if scope.may_be_schema(blob.path)]
    contents = repository.contents(blob.object_id for blob in schemas)
    files = (SchemaFile(blob.path, contents[blob.object_id]) for blob in schemas)
    kept = scope.only_schemas(files)
    return SchemaTree(kept, validation=validation, other=reader_of_blobs(repository, blobs))


def undeclared_schemas(
    scope: Scope, tree: SchemaTree, paths: Iterable[str], read: Callable[[str], bytes | None]
) -> tuple[str, ...]:
    """Return the files among ``paths`` that say they are JSON schemas, that are no schema files, and nothing refers to.

    They are not checked: their names do not show a schema, and the project does not map them.
    """
    plain = [path for path in paths if is_plain(path) and scope.is_wanted(path) and path not in tree.paths]
    found = [path for path in plain if says_it_is_schema(read(path) or b"")]
    if not found:
        return ()
    referred = {target for path in tree.paths for target in tree.referred(path).values()}
    return tuple(sorted({*found} - referred))


def linked_schemas(scope: Scope, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the symbolic links among ``paths`` that would be schema files if they were followed."""
    root = Path(scope.root)
    wanted = (path for path in paths if scope.is_wanted(path) and scope.may_be_schema(path))
    return tuple(sorted(path for path in wanted if (root / path).is_symlink() and (root / path).is_file()))


def reader_of(root: str) -> Callable[[str], bytes | None]:
    """Return a function that reads a file below ``root``, and returns None where there is no regular file."""

    def read(path: str) -> bytes | None:
        file = read_schema_file(root, path)
        return file.data if file else None

    return read


def schema_paths_below(root: str) -> list[str]:
    """Return the paths, relative to ``root``, of the schema files below it; hidden folders are left out."""
    return paths_below(root, has_schema_suffix)


def paths_below(root: str, is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the paths, relative to ``root``, of the files below it with such a path; hidden folders are left out."""
    found: list[str] = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        below = _relative(folder, root)
        found += filter(is_wanted, (posixpath.join(below, file) for file in files))
    return sorted(found)


def neighbours(place: Path) -> list[str]:
    """Return the schema files that the one at ``place`` may refer to, and itself, relative to its folder.

    They are those beside it; if the language refers by path, also those below.
    """
    if format_for(language_of(place.name)).references.reach_below:
        return sorted({place.name, *schema_paths_below(str(place.parent))})
    return sorted({place.name, *(one.name for one in place.parent.iterdir() if has_schema_suffix(one.name))})


def read_schema_file(root: str, path: str) -> SchemaFile | None:
    """Return the file at ``path`` below ``root``, or None where there is no regular file; links are not followed."""
    place = Path(root) / path
    try:
        is_regular = stat.S_ISREG(place.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return SchemaFile(path, place.read_bytes()) if is_regular else None


def shown_path(path: str, prefix: str) -> str:
    """Return ``path`` relative to the folder ``prefix``; both are relative to the same root.

    >>> shown_path("schemas/order.avsc", "services/billing")
    '../../schemas/order.avsc'
    """
    steps = prefix.split("/") if prefix else []
    parts = path.split("/")
    shared = 0
    while shared < min(len(steps), len(parts) - 1) and steps[shared] == parts[shared]:
        shared += 1
    return "/".join([".."] * (len(steps) - shared) + parts[shared:])


def _relative(path: str, root: str) -> str:
    relative = Path(os.path.relpath(path, root)).as_posix()
    return "" if relative == "." else relative


def _common_root(current: str, paths: Sequence[str]) -> str:
    """Return the nearest folder that contains the current one and all of ``paths``."""
    places = [os.path.normpath(Path(current) / path) for path in paths]
    return os.path.commonpath(
        [current, *(place if Path(place).is_dir() else str(Path(place).parent) for place in places)]
    )
