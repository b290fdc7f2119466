"""The history of the commit that is compared with, as git has it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.languages import AGREEMENT_SUFFIXES, TYPE_BY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from counterfoil.contracts.baselines.git import GitRepository
    from counterfoil.contracts.past import CommitChanges
    from counterfoil.contracts.tree import SchemaTree
    from counterfoil.contracts.yaml_files import YamlFiles

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
