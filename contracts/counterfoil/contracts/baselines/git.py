"""Reading a git repository, which is never changed: its files, states of its schema files, and their history."""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from counterfoil.contracts.errors import BaselineNotFound, GitFailed, GitMissing, NoRepository
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.languages import AGREEMENT_SUFFIXES, TYPE_BY_SUFFIX, YamlFiles, is_plain
from counterfoil.schema.parsed import Validation

# The interface of the history of a baseline: which files each commit before it changed, and the files at that time.


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """A commit, and the object ids of the files that it changed: before it and after it, None where there was none."""

    commit: str
    files: Mapping[str, tuple[str | None, str | None]]


class Past(Protocol):
    """The states that a branch was in, up to the one that is compared with."""

    @property
    def commits(self) -> Sequence[CommitChanges]:
        """The commits that changed agreements or schemas, newest first, with what they changed."""

    @property
    def is_cut(self) -> bool:
        """Whether commits are missing in this clone, so that what the oldest one has may be older."""

    def tree(self, commit: str) -> SchemaTree:
        """Return the schema files at a commit."""

    def yaml_files(self, commit: str) -> YamlFiles:
        """Return the YAML files at a commit."""

    def contents(self, object_ids: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of files, by object id."""


# A git repository: its commits, trees and files.
#
# Paths are given and returned relative to the top of the repository, with ``/``.

_REGULAR_MODES: Final = frozenset({"100644", "100755"})
_SUBMODULE_MODE: Final = "160000"
_SHORT_HASH_LENGTH: Final = 7
_LIST_TREE: Final = ("ls-tree", "-r", "-z", "--full-tree")
_OUTSIDE: Final = ("not a git repository", "must be run in a work tree")
"""What git says of a folder in no repository, and of one in a bare repository or in ``.git``."""
_COMMIT: Final = "commit "
"""The start of a record about a commit in the output of ``git log``."""
_SKIPPED: Final = "S"
"""The letter of a file of the index that a sparse checkout leaves out."""
_SETTINGS: Final = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.showRoot=true",
)


@dataclass(frozen=True, slots=True)
class Blob:
    """A regular file in a commit or in the index: its path, and the object id of its content."""

    path: str
    object_id: str


class GitRepository:
    """The repository that contains ``folder``. Made by :func:`open_repository`.

    Each start of git costs milliseconds, so that what was requested once is kept.
    """

    def __init__(self, folder: str, *, top: str) -> None:
        self.top = top
        self._folder = folder
        self._commit_by_ref: dict[str, str | None] = {}
        self._tree_by_commit: dict[str, Sequence[tuple[str, str, str]]] = {}

    def commit(self, ref: str) -> str | None:
        """Return the full hash of the commit that ``ref`` names; None when there is none in this clone."""
        if ref not in self._commit_by_ref:
            wanted = f"{ref}^{{commit}}"
            printed = run_git(
                self._folder, "rev-parse", "--verify", "--quiet", "--end-of-options", wanted, fails=(1, 128)
            )
            self._commit_by_ref[ref] = printed.decode().strip() or None
        return self._commit_by_ref[ref]

    def find_commits(self, refs: Sequence[str]) -> None:
        """Find the commits of several refs at once, which :meth:`commit` then returns."""
        given = "".join(f"{ref}^{{commit}}\n" for ref in refs).encode()
        printed = self._run_here("cat-file", "--batch-check", given=given).decode().splitlines()
        for ref, line in zip(refs, printed, strict=True):
            object_id, _, facts = line.partition(" ")
            self._commit_by_ref[ref] = object_id if facts.startswith("commit ") else None

    def known_as(self, ref: str) -> str | None:
        """Return ``ref`` if it exists, else the branch of that name in ``origin``, or None."""
        return next((name for name in (ref, f"origin/{ref}") if self.commit(name)), None)

    def is_shallow(self) -> bool:
        """Return whether the clone is shallow, so that commits that exist elsewhere are missing here."""
        return self._run_here("rev-parse", "--is-shallow-repository").strip() == b"true"

    def merge_base(self, first: str, second: str) -> str | None:
        """Return the best common ancestor of two commits; None when this clone has none."""
        return run_git(self._folder, "merge-base", first, second, fails=(1,)).decode().strip() or None

    def upstream_name(self, ref: str) -> str:
        """Return the branch that a symbolic ref such as ``origin/HEAD`` stands for, in short form."""
        return self._run_here("rev-parse", "--abbrev-ref", ref).decode().strip() or ref

    def commits_touching(self, commit: str, pathspecs: Sequence[str], *, limit: int) -> list[str]:
        """Return the hashes of the first-parent ancestors of ``commit`` that changed ``pathspecs``, newest first."""
        printed = self._run_here("rev-list", "--first-parent", f"--max-count={limit}", commit, "--", *pathspecs)
        return printed.decode().split()

    def changes_before(self, commit: str, pathspecs: Sequence[str]) -> list[CommitChanges]:
        """Return the first-parent ancestors of ``commit`` that changed ``pathspecs``, newest first, itself included.

        A merge has changed the files that differ from its first parent's.
        """
        shown = ("--first-parent", "-m", "--raw", "-z", "--no-abbrev", "--no-renames", f"--format={_COMMIT}%H")
        return list(_read_changes(_records(self._run_here("log", *shown, commit, "--", *pathspecs))))

    def blobs(self, commit: str, is_wanted: Callable[[str], bool]) -> list[Blob]:
        """Return the regular files of ``commit`` whose path satisfies ``is_wanted``.

        Links and submodules are left out.
        """
        return [
            Blob(path, object_id)
            for mode, object_id, path in self._tree(commit)
            if mode in _REGULAR_MODES and is_wanted(path)
        ]

    def submodules(self, commit: str) -> dict[str, str]:
        """Return the commits of the submodules that ``commit`` has, by their paths."""
        return {path: object_id for mode, object_id, path in self._tree(commit) if mode == _SUBMODULE_MODE}

    def current_submodules(self, *, is_staged: bool) -> dict[str, str]:
        """Return the commits of the submodules now, by path: those that are checked out, or those of the index."""
        found = {path: object_id for mode, object_id, _, path in self._staged() if mode == _SUBMODULE_MODE}
        if is_staged:
            return found
        return {path: self._checked_out(path) or object_id for path, object_id in found.items()}

    def _checked_out(self, path: str) -> str | None:
        """Return the commit that is checked out in the submodule at ``path``; None if it is not there."""
        folder = Path(self.top) / path
        if not (folder / ".git").exists():
            return None
        return run_git(str(folder), "rev-parse", "--verify", "--quiet", "HEAD", fails=(1, 128)).decode().strip() or None

    def _tree(self, commit: str) -> Sequence[tuple[str, str, str]]:
        """Return the mode, the object id and the path of everything in a commit."""
        known = self._tree_by_commit.get(commit)
        if known is None:
            rows = (line.partition("\t") for line in _records(self._run_here(*_LIST_TREE, commit)))
            known = [(*_mode_and_object(facts), path) for facts, _, path in rows]
            self._tree_by_commit = {commit: known}  # of the last one: a history has many
        return known

    def contents(self, object_ids: Iterable[str]) -> Mapping[str, bytes]:
        """Return the bytes of blobs, by object id."""
        wanted = list(dict.fromkeys(object_ids))
        if not wanted:
            return {}
        stream = self._run_here("cat-file", "--batch", given="".join(f"{one}\n" for one in wanted).encode())
        return _read_batch(stream, wanted)

    def working_paths(self) -> list[str]:
        """Return the paths of all files in the working tree that git tracks or would track, ignored ones left out."""
        return sorted({path for _, path in self._listed})

    @cached_property
    def _listed(self) -> Sequence[tuple[str, str]]:
        """The paths of the index and of the working tree, each with the letter that git gives it."""
        printed = self._run_here(
            "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard", "--full-name", "--", ":/"
        )
        return [(record[0], record[2:]) for record in _records(printed)]

    def sparse_blobs(self) -> list[Blob]:
        """Return the files that a sparse checkout leaves out of the working tree; they count as unchanged."""
        absent = {path for letter, path in self._listed if letter == _SKIPPED}
        return [blob for blob in self.staged_blobs() if blob.path in absent] if absent else []

    def staged_blobs(self) -> list[Blob]:
        """Return the regular files of the index, which the next commit will have. Files with conflicts are left out."""
        return [
            Blob(path, object_id)
            for mode, object_id, stage, path in self._staged()
            if stage == "0" and mode in _REGULAR_MODES
        ]

    def _staged(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the mode, the object id, the stage and the path of everything in the index."""
        for line in _records(self._run_here("ls-files", "-z", "--stage", "--full-name", "--", ":/")):
            facts, _, path = line.partition("\t")
            mode, object_id, stage = facts.split(" ")
            yield mode, object_id, stage, path

    def _run_here(self, *arguments: str, given: bytes | None = None) -> bytes:
        return run_git(self._folder, *arguments, given=given)


def open_repository(folder: str) -> GitRepository:
    """Return the repository that ``folder`` is in; raise ``NoRepository`` when it is in none."""
    found = find_repository(folder)
    if found is None:
        raise NoRepository(
            "this folder is not in the working tree of a git repository; "
            "compare with --against FILE or --against registry instead"
        )
    return found


def find_repository(folder: str) -> GitRepository | None:
    """Return the repository in whose working tree ``folder`` is; None when it is in none.

    Raises ``GitMissing`` where git is not installed.
    """
    try:
        printed = run_git(folder, "rev-parse", "--show-toplevel")
    except GitFailed as failure:
        if not any(words in str(failure) for words in _OUTSIDE):
            raise
        return None
    return GitRepository(folder, top=os.fsdecode(printed).removesuffix("\n"))


def reader_of_blobs(repository: GitRepository, blobs: Sequence[Blob]) -> Callable[[str], bytes | None]:
    """Return a function that reads the file at a path among ``blobs``, and returns None where there is none."""
    object_by_path = {blob.path: blob.object_id for blob in blobs}

    def read(path: str) -> bytes | None:
        object_id = object_by_path.get(path)
        return repository.contents([object_id])[object_id] if object_id else None

    return read


def short(commit: str) -> str:
    """Return the first digits of a commit's hash, as people write it."""
    return commit[:_SHORT_HASH_LENGTH]


def inside(path: str, folders: Sequence[str]) -> bool:
    """Return whether ``path`` is one of ``folders`` or below one.

    The empty folder is the top, which contains everything.
    """
    return any(folder in {"", path} or path.startswith(folder + posixpath.sep) for folder in folders)


def run_git(folder: str, *arguments: str, given: bytes | None = None, fails: Sequence[int] = ()) -> bytes:
    """Return the output of git: nothing for an exit status among ``fails``.

    Any other failure is a :class:`GitFailed`.
    """
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 (git's own arguments; a ref goes behind --end-of-options)
            ["git", *_SETTINGS, *arguments],  # noqa: S607 (the user's git, wherever it is)
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise GitMissing(
            "git is not installed, or not on the PATH: install it; a check without it needs --against FILE"
        ) from None
    if done.returncode == 0:
        return done.stdout
    if done.returncode in fails:
        return b""
    said = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
    raise GitFailed(f"git {arguments[0]} failed: {said}", status=done.returncode)


def _mode_and_object(facts: str) -> tuple[str, str]:
    mode, _, object_id = facts.split(" ")
    return mode, object_id


def _read_changes(records: Sequence[str]) -> Iterator[CommitChanges]:
    """Yield the commits of ``git log --raw -z``: a record for each commit, then two for each file that it changed."""
    commit, files = "", dict[str, tuple[str | None, str | None]]()
    remaining = iter(records)
    for each in remaining:
        record = each.removeprefix("\n")
        if record.startswith(_COMMIT):
            if commit:
                yield CommitChanges(commit, files)
            commit, files = record.removeprefix(_COMMIT), {}
        elif record.startswith(":"):
            _, _, before, after, _ = record.split(" ")
            files[next(remaining)] = (_object(before), _object(after))
    if commit:
        yield CommitChanges(commit, files)


def _object(object_id: str) -> str | None:
    """Return an object id; None for that of no file, which has only zeros."""
    return object_id if object_id.strip("0") else None


def _records(stream: bytes) -> list[str]:
    return [os.fsdecode(record) for record in stream.split(b"\0") if record]


def _read_batch(stream: bytes, wanted: Sequence[str]) -> dict[str, bytes]:
    """Return the contents in the output of ``git cat-file --batch``: for each object a head line, bytes, a line end."""
    contents: dict[str, bytes] = {}
    start = 0
    for object_id in wanted:
        end = stream.index(b"\n", start)
        facts = stream[start:end].decode().split(" ")
        if facts[-1] == "missing":
            raise BaselineNotFound(f"git object {object_id} is missing in this clone")
        size_bytes = int(facts[2])
        contents[object_id] = stream[end + 1 : end + 1 + size_bytes]
        start = end + size_bytes + 2
    return contents


def names_drive(path: str) -> bool:
    """Return whether a path begins with a drive of Windows, so that it is no path at a git ref.

    >>> names_drive("C:/schemas/ride.avsc"), names_drive("main:schemas/ride.avsc")
    (True, False)
    """
    return path[:1].isalpha() and path[1:2] == ":" and path[2:3] in {"/", "\\"}


def is_address(text: str) -> bool:
    """Return whether a text is the address of a server."""
    return text.lower().startswith(("http://", "https://"))


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
