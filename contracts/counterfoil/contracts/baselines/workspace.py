"""The files that are checked, of a working tree or a plain folder, and their states at earlier commits."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.git import CommitChanges, GitRepository, inside, reader_of_blobs, short
from counterfoil.contracts.errors import BaselineNotFound, InputNotFound
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.languages import (
    AGREEMENT_SUFFIXES,
    TYPE_BY_SUFFIX,
    YamlFiles,
    has_schema_suffix,
    is_plain,
    language_of,
    says_it_is_schema,
)
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import Validation
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
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


# States of a repository's schema files: at a commit, at the commits before it, and at the start of a branch.
#
# A commit that is not in this clone is a ``BaselineNotFound`` whose message says how to fetch it.

HISTORY_LIMIT: Final = 100
_HEAD: Final = "HEAD"
_REMOTE_HEAD: Final = "origin/HEAD"
_DEFAULT_BRANCHES: Final = (_REMOTE_HEAD, "origin/main", "origin/master", "main", "master")
_UNSHALLOW: Final = (
    "the clone is shallow: fetch the rest with `git fetch --unshallow`, or check out with `fetch-depth: 0` "
    "(actions/checkout) or `GIT_DEPTH: 0` (GitLab)"
)


def default_base(repository: GitRepository) -> tuple[str, str]:
    """Return the default branch, and the commit at which HEAD left it."""
    repository.find_commits((*_DEFAULT_BRANCHES, _HEAD))
    branch = next((name for name in _DEFAULT_BRANCHES if repository.commit(name)), None)
    if branch is None:
        cure = _UNSHALLOW if repository.is_shallow() else "name what to compare with: --against REF"
        raise BaselineNotFound(f"the default branch is unknown, since there is no origin/HEAD, main or master; {cure}")
    base = repository.merge_base(_HEAD, branch)
    if base is None:
        raise BaselineNotFound(f"this clone has no common ancestor of HEAD and {branch}; {_cure(repository, branch)}")
    if base == repository.commit(_HEAD) and repository.is_shallow():
        raise BaselineNotFound(f"HEAD is on {branch} and the commits before it are missing, since {_UNSHALLOW}")
    return (repository.upstream_name(branch) if branch == _REMOTE_HEAD else branch), base


def missing_ref(repository: GitRepository, ref: str) -> BaselineNotFound:
    """Return the error for a ref that does not exist in this clone."""
    return BaselineNotFound(f"there is no commit, file or folder {ref!r} here; {_cure(repository, ref)}")


def states_at(
    repository: GitRepository,
    commit: str,
    *,
    ref: str,
    is_schema: Callable[[str], bool],
    only_schemas: Callable[[Iterable[SchemaFile]], Iterable[SchemaFile]] = lambda files: files,
    also: Sequence[str] = (),
    is_transitive: bool = False,
) -> tuple[list[SchemaTree], str]:
    """Return the schema files at ``commit``, and at the commits before it that changed any, newest first.

    Without ``is_transitive`` the first state is the only one. The commits are those of the first-parent line, so each
    state is one that the branch itself was in, and at most ``HISTORY_LIMIT``; the second value is a sentence when there
    are more, and empty otherwise. ``is_schema`` says which files may be schemas by their paths, ``only_schemas`` which
    of these are schemas, and ``also`` has those of them without the usual suffix. ``ref`` is the name of the commit in
    messages.
    """
    commits = [commit]
    if is_transitive:
        if repository.is_shallow():
            raise BaselineNotFound(f"a transitive level needs the whole history of {ref}; {_UNSHALLOW}")
        suffixes = (f":(top,glob)**/*{suffix}" for suffix in TYPE_BY_SUFFIX)
        specs = [*suffixes, *(f":(top,literal){path}" for path in also)]
        commits += repository.commits_touching(commit, specs, limit=HISTORY_LIMIT + 1)[1:]
    cut = f"only the last {HISTORY_LIMIT} commits that changed schemas were read"
    states = _read_states(repository, commits[:HISTORY_LIMIT], ref, is_schema, only_schemas)
    return states, cut if len(commits) > HISTORY_LIMIT else ""


def _read_states(
    repository: GitRepository,
    commits: Sequence[str],
    ref: str,
    is_schema: Callable[[str], bool],
    only_schemas: Callable[[Iterable[SchemaFile]], Iterable[SchemaFile]],
) -> list[SchemaTree]:
    """Return the trees of ``commits``; a content that occurs in many of them is read once.

    Plain JSON files are read only when a schema refers to them.
    """
    listed = [repository.blobs(commit, lambda path: is_schema(path) or is_plain(path)) for commit in commits]
    blobs = [[blob for blob in at_commit if is_schema(blob.path)] for at_commit in listed]
    contents = repository.contents(blob.object_id for at_commit in blobs for blob in at_commit)
    newest = short(commits[0]) if commits[0].startswith(ref) else f"{ref}@{short(commits[0])}"
    return [
        SchemaTree(
            only_schemas([SchemaFile(blob.path, contents[blob.object_id]) for blob in at_commit]),
            label=label,
            validation=Validation.LENIENT,
            other=reader_of_blobs(repository, all_there),
        )
        for label, at_commit, all_there in zip((newest, *map(short, commits[1:])), blobs, listed, strict=True)
    ]


def _cure(repository: GitRepository, ref: str) -> str:
    if repository.is_shallow():
        return _UNSHALLOW
    return f"fetch it (`git fetch origin {ref.removeprefix('origin/')}`) or name another with --against"


# The history of the commit that is compared with, as git has it.

_SUFFIXES: Final = (*AGREEMENT_SUFFIXES, *TYPE_BY_SUFFIX)


class GitPast:
    """The commits of the first-parent line up to a commit, so that each state is one that the branch itself was in.

    ``also`` returns the paths of agreements and schemas without the usual suffix; ``read_tree`` returns the schema
    files at a commit, ``read_yaml`` its YAML files. Nothing is read before it is requested.
    """

    def __init__(
        self,
        repository: GitRepository,
        commit: str,
        *,
        read_tree: Callable[[str], SchemaTree],
        read_yaml: Callable[[str], YamlFiles],
        also: Callable[[], Iterable[str]],
    ) -> None:
        self._repository = repository
        self._commit = commit
        self._read_tree = read_tree
        self._also = also
        self._read_yaml = read_yaml
        self._tree_by_commit: dict[str, SchemaTree] = {}

    @cached_property
    def commits(self) -> Sequence[CommitChanges]:
        """The commits that changed agreements or schemas, newest first, with what they changed."""
        suffixes = (f":(top,glob)**/*{suffix}" for suffix in _SUFFIXES)
        specs = [*suffixes, *(f":(top,literal){path}" for path in self._also())]
        return self._repository.changes_before(self._commit, specs)

    @cached_property
    def is_cut(self) -> bool:
        """Whether commits are missing in this clone, so that what the oldest one has may be older."""
        return self._repository.is_shallow()

    def tree(self, commit: str) -> SchemaTree:
        """Return the schema files at a commit."""
        if commit not in self._tree_by_commit:
            self._tree_by_commit[commit] = self._read_tree(commit)
        return self._tree_by_commit[commit]

    def yaml_files(self, commit: str) -> YamlFiles:
        """Return the YAML files at a commit."""
        return self._read_yaml(commit)

    def contents(self, object_ids: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of files, by object id."""
        return self._repository.contents(object_ids)
