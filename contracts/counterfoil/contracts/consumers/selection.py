"""Which files a check with consumers reads, on both sides."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from counterfoil.contracts.baseline import TreeBaseline
from counterfoil.contracts.baselines.git import inside
from counterfoil.contracts.baselines.workspace import paths_below, reader_of
from counterfoil.contracts.consumers.agreements import AgreementFile, Agreements, read_file
from counterfoil.contracts.consumers.check import ConsumerRequest
from counterfoil.contracts.consumers.history import ConsumerHistory
from counterfoil.contracts.errors import InputNotFound
from counterfoil.contracts.languages import AGREEMENT_SUFFIXES
from counterfoil.contracts.project.mapping import agreement_test
from counterfoil.contracts.tree import SchemaTree
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.contracts.baselines.choose import Comparison
    from counterfoil.contracts.model import Gate
    from counterfoil.contracts.yaml_files import YamlFiles


def request_of(comparison: Comparison, folders: Sequence[str], gate: Gate | None) -> ConsumerRequest:
    """Return what is compared: the contracts of the repository, the consumers in ``folders`` and of the project.

    ``folders`` are folders and files relative to the current folder; they may be outside of the repository or ignored
    by git, and then nothing in them counts as changed. Raises ``InputNotFound``.
    """
    selection = _Selection(comparison, folders)
    head, baseline = comparison.yaml_files, comparison.baseline
    unversioned = selection.unversioned(head)
    files = {path: read_file(path, each) for path, each in {**selection.contents(head), **unversioned}.items()}
    before, tree_before, history = None, None, None
    if isinstance(baseline, TreeBaseline) and baseline.yaml_files is not None:
        earlier = selection.contents(baseline.yaml_files())
        known = {path: _unless_same(files.get(path), path, each) for path, each in earlier.items()}
        known.update({path: files[path] for path in unversioned})
        before = Agreements.of(known.values(), consumer_files=selection.consumers(known))
        tree_before = baseline.newest or SchemaTree((), validation=Validation.LENIENT)
        if baseline.past is not None:
            history = ConsumerHistory(baseline.past, is_agreement=selection.is_agreement, project=comparison.project)
    return ConsumerRequest(
        after=Agreements.of(files.values(), consumer_files=selection.consumers(files)),
        before=before,
        tree=comparison.head,
        tree_before=tree_before,
        baseline=baseline,
        is_wanted=comparison.scope.is_wanted,
        project=comparison.project,
        gate=gate,
        history=history,
    )


def _unless_same(now: AgreementFile | None, path: str, data: bytes) -> AgreementFile:
    """Return what a file declared before: what it declares now if it is unchanged, or was not valid before."""
    if now is not None and now.data == data:
        return now
    was = read_file(path, data)
    return replace(now, is_stand_in=True) if now is not None and was.reading.agreement is None else was


class _Selection:
    """The test for the files of agreements."""

    def __init__(self, comparison: Comparison, folders: Sequence[str]) -> None:
        self._root = comparison.scope.root
        self._repository = comparison.repository
        self._project = comparison.project
        self._given = tuple(comparison.scope.relative(path) for path in folders)
        for path, given in zip(self._given, folders, strict=True):
            if not (Path(self._root) / path).exists() and not self._was_there(comparison, path):
                raise InputNotFound(f"there is no file or folder {given!r}, which --consumers names")
        self.is_agreement = agreement_test(self._project, (*self._given, *comparison.scope.wanted))

    @staticmethod
    def _was_there(comparison: Comparison, path: str) -> bool:
        """Return whether a folder was removed by the change."""
        baseline = comparison.baseline
        if not isinstance(baseline, TreeBaseline) or baseline.yaml_files is None:
            return False
        return any(inside(each, [path]) for each in baseline.yaml_files().paths)

    def contents(self, side: YamlFiles) -> Mapping[str, bytes]:
        """Return the bytes of the agreements of a side."""
        return side.contents([path for path in side.paths if self.is_agreement(path)])

    def unversioned(self, head: YamlFiles) -> Mapping[str, bytes]:
        """Return the bytes of the product files that were named and are not in the tree that is checked."""
        known, read = {*head.paths, *self._tracked()}, reader_of(self._root)
        found = (path for given in self._given for path in _below(self._root, given) if path not in known)
        return {path: data for path in found if (data := read(path)) is not None}

    def _tracked(self) -> Sequence[str]:
        return () if self._repository is None else self._repository.working_paths()

    def consumers(self, paths: Mapping[str, AgreementFile]) -> frozenset[str]:
        """Return the paths among ``paths`` whose applications are consumers."""
        return frozenset(
            path
            for path in paths
            if inside(path, self._given) or (self._project is not None and self._project.is_consumer(path))
        )


def _below(root: str, path: str) -> list[str]:
    """Return the agreements below a folder, or the path itself if it is that of a file."""
    place = Path(root) / path
    if not place.is_dir():
        return [path]
    listed = paths_below(os.path.normpath(place), lambda name: name.endswith(AGREEMENT_SUFFIXES))
    return [posixpath.join(path, each) for each in listed]
