"""States of a repository's schema files: at a commit, at the commits before it, and at the start of a branch.

A commit that is not in this clone is a ``BaselineNotFound`` whose message says how to fetch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.git import reader_of_blobs, short
from counterfoil.contracts.errors import BaselineNotFound
from counterfoil.contracts.languages import TYPE_BY_SUFFIX, is_plain
from counterfoil.contracts.tree import SchemaFile, SchemaTree
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterfoil.contracts.baselines.git import GitRepository

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
    return BaselineNotFound(f"git knows no commit {ref!r} here, nor is it a file or folder; {_cure(repository, ref)}")


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
