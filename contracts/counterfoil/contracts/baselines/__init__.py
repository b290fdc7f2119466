"""The files that are checked, and a baseline: what they were before, with files that were moved."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.baselines.git import GitRepository, inside, reader_of_blobs, short
from counterfoil.contracts.errors import InputNotFound
from counterfoil.contracts.project import ReadSchema, SchemaFile, SchemaTree
from counterfoil.contracts.project.languages import (
    YamlFiles,
    has_schema_suffix,
    is_plain,
    language_of,
    says_it_is_schema,
)
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import Validation
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.git import Past
    from counterfoil.contracts.project.files import ProjectFile
    from counterfoil.contracts.project.model import Project


# The files that are checked: those of a git working tree, or of a plain folder, restricted to the given paths.


@dataclass(frozen=True, slots=True)
class CheckedScope:
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
) -> CheckedScope:
    """Return the scope of ``paths``, which are relative to the folder ``current``; without paths, that folder.

    The root is the top of the ``repository``; without one, the nearest folder that contains everything. A path outside
    of the repository is an ``InputNotFound``, and a folder that cannot be read a ``PermissionError``.
    """
    current = str(Path(current).resolve())
    root = repository.top if repository else _common_root(current, paths)
    base = CheckedScope(root, _relative(current, root), ())
    wanted = tuple(dict.fromkeys(base.relative(path) for path in paths or (".",)))
    for path in wanted:
        if inside(path, [".."]):
            raise InputNotFound(f"{path!r} is outside of {root}, whose files are checked")
        _insist_on_rights(Path(root) / path)
    return CheckedScope(root, base.prefix, wanted, project.below(root) if project else None)


def _insist_on_rights(place: Path) -> None:
    """Raise ``PermissionError`` for a folder that cannot be read: git and a walk through it would find no files."""
    if place.is_dir():
        with os.scandir(place):
            pass


def read_head(
    scope: CheckedScope, *, repository: GitRepository | None, validation: Validation = Validation.FILE
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


def read_staged(
    scope: CheckedScope, repository: GitRepository, *, validation: Validation = Validation.FILE
) -> SchemaTree:
    """Return all schema files of the index, which is what the next commit will have."""
    blobs = repository.staged_blobs()
    schemas = [blob for blob in blobs if scope.may_be_schema(blob.path)]
    contents = repository.contents(blob.object_id for blob in schemas)
    files = (SchemaFile(blob.path, contents[blob.object_id]) for blob in schemas)
    kept = scope.only_schemas(files)
    return SchemaTree(kept, validation=validation, other=reader_of_blobs(repository, blobs))


def undeclared_schemas(
    scope: CheckedScope, tree: SchemaTree, paths: Iterable[str], read: Callable[[str], bytes | None]
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


def linked_schemas(scope: CheckedScope, paths: Iterable[str]) -> tuple[str, ...]:
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


def paths_below(root: str, is_wanted: Callable[[str], bool], *, is_whole: bool = False) -> list[str]:
    """Return the paths, relative to ``root``, of the files below it with such a path; hidden folders are left out.

    A folder that cannot be read has none, or, if ``is_whole``, is an ``OSError``.
    """

    def insist(error: OSError) -> None:
        if is_whole:
            raise error

    found: list[str] = []
    for folder, names, files in os.walk(root, onerror=insist):
        names[:] = sorted(name for name in names if not name.startswith("."))
        below = _relative(folder, root)
        found += filter(is_wanted, (posixpath.join(below, file) for file in files))
    return sorted(found)


def neighbours(place: Path) -> list[str]:
    """Return the schema files that the one at ``place`` may refer to, and itself, relative to its folder.

    They are those beside it; if the language refers by path, also those below.
    """
    if language_for(language_of(place.name)).references.reach_below:
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


# Submodules of a git repository that were moved: their files are files of another repository, and not compared.


def moved_submodules(repository: GitRepository, commit: str, scope: CheckedScope, *, is_staged: bool) -> str:
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


# Matching of the schema files of two sides when files are moved and renamed.


def match_paths(head: SchemaTree, earlier: SchemaTree) -> dict[str, str]:
    """Return the file of ``earlier`` that each file of ``head`` comes from; a file without origin is left out.

    A file at its old place with its old name is itself. Then a name that is declared by one file on each side is the
    same schema in a moved file; then the files at the same path are the same schema with another name.
    """
    origin = {
        path: path
        for path in set(head.paths).intersection(earlier.paths)
        if head.data(path) == earlier.data(path) or _identity(head, path) == _identity(earlier, path)
    }
    later_by_name = _paths_by_identity(head, set(head.paths).difference(origin))
    earlier_by_name = _paths_by_identity(earlier, set(earlier.paths).difference(origin.values()))
    for name, paths in later_by_name.items():
        sources = earlier_by_name.get(name, [])
        if len(paths) == len(sources) == 1:
            origin[paths[0]] = sources[0]
    taken, earlier_paths = set(origin.values()), set(earlier.paths)
    for path in head.paths:
        if path not in origin and path in earlier_paths and path not in taken:
            origin[path] = path
    return origin


def _identity(tree: SchemaTree, path: str) -> str | None:
    """Return the identity of a schema whose file moves: its language and name, or its text if it has no name."""
    names = tree.outline(path)
    if names is None:
        return None
    return f"{tree.language(path)} {names.name or tree.content(path)[0]}"


def _paths_by_identity(tree: SchemaTree, paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        identity = _identity(tree, path)
        if identity is not None:
            found.setdefault(identity, []).append(path)
    return found


# The interface of a baseline to a check, and the baseline that consists of trees.
#
# For each checked file, a baseline has the earlier versions that it is compared with; it also has the removed files.


class Baseline(Protocol):
    """The source of the earlier versions of schemas."""

    @property
    def label(self) -> str:
        """The baseline's name in reports: ``main@8c1f2e0`` or a registry's address."""

    @property
    def note(self) -> str:
        """A sentence about the baseline for the report; usually empty."""

    @property
    def names_subjects(self) -> bool:
        """Whether it knows files by their subjects, so that a wrong name finds nothing."""

    @property
    def further(self) -> Sequence[Baseline]:
        """The baselines of the further subjects of files that have several; not read unless it knows subjects."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the files whose subjects it knows."""

    def subject(self, path: str) -> str | None:
        """Return the subject of the file at ``path`` if the baseline knows subjects; None otherwise."""

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return the baseline's own level for the file at ``path``; None if it has none."""

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return the baseline's own policy for the file at ``path``; None if it has none."""

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema] | None:
        """Return the earlier versions of the file at ``path``, newest first: all, or the newest alone.

        The sequence is empty for a new schema, and None if the baseline does not know which schema the file holds.
        """

    def removed(self) -> Sequence[Removed]:
        """Return the schemas of the baseline that were removed."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed schema file: its path, and the full name of what it declared, empty if it had none."""

    path: str
    name: str


class TreeBaseline:
    """Earlier states of the tree, newest first: commits, a folder, or a single file.

    ``head`` is the tree that is checked; ``is_wanted`` returns for a path of the newest state whether its removal
    matters; ``origin`` has, for the newest state, the file that each file of the head comes from, if paths and names do
    not show it. ``yaml_files`` lists the YAML files of the newest state; it is None where there are none to compare.
    ``past`` is the history of the newest state, None where it has none.
    """

    def __init__(
        self,
        head: SchemaTree,
        states: Iterable[SchemaTree],
        *,
        label: str,
        is_wanted: Callable[[str], bool],
        origin: Mapping[str, str] | None = None,
        note: str = "",
        yaml_files: Callable[[], YamlFiles] | None = None,
        past: Past | None = None,
    ) -> None:
        self.label = label
        self.past = past
        self.yaml_files = yaml_files
        self.note = note
        self.names_subjects = False
        self._head = head
        self._states = tuple(states)
        self._is_wanted = is_wanted
        self._origins: dict[int, Mapping[str, str]] = {} if origin is None else {0: origin}

    @property
    def newest(self) -> SchemaTree | None:
        """The newest state; None without one."""
        return self._states[0] if self._states else None

    @property
    def further(self) -> Sequence[Baseline]:
        """Nothing: trees have files, not subjects."""
        return ()

    @property
    def paths(self) -> Sequence[str]:
        """Nothing: trees have files, not subjects."""
        return ()

    def subject(self, path: str) -> str | None:
        """Return None: trees have files, not subjects."""
        del path
        return None

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return None: trees have no level."""
        del path
        return None

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return None: trees have no policy."""
        del path
        return None

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema]:
        """Return the distinct earlier contents of the schema at ``path``, newest first; moves are followed by name.

        Of a schema whose newest earlier content is its present one, only that is returned: nothing else is compared.
        """
        unchanged = self._unchanged(path)
        if unchanged is not None:
            return (unchanged,)
        found: dict[tuple[str, ...], ReadSchema] = {}
        for index in range(len(self._states) if is_transitive else min(1, len(self._states))):
            origin = self._origin(index).get(path)
            if origin is not None:
                content = self._states[index].content(origin)
                if content not in found:
                    found[content] = self._states[index].read(origin)
        return tuple(found.values())

    def _unchanged(self, path: str) -> ReadSchema | None:
        """Return the newest earlier version of the schema at ``path`` if nothing changed, without parsing it again."""
        origin = self._origin(0).get(path) if self._states else None
        if origin is None or self._states[0].content(origin) != self._head.content(path):
            return None
        return replace(self._head.read(path), label=self._states[0].label, path=origin)

    def removed(self) -> Sequence[Removed]:
        """Return the wanted files of the newest state that no file of the head comes from."""
        if not self._states:
            return ()
        newest, kept = self._states[0], set(self._origin(0).values())
        gone = (path for path in newest.paths if path not in kept and self._is_wanted(path))
        return tuple(Removed(path, _name(newest, path)) for path in gone)

    def _origin(self, index: int) -> Mapping[str, str]:
        if index not in self._origins:
            self._origins[index] = match_paths(self._head, self._states[index])
        return self._origins[index]


def _name(tree: SchemaTree, path: str) -> str:
    names = tree.outline(path)
    return (names and names.name) or ""
