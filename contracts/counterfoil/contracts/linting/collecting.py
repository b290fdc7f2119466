"""Which files are checked: schema, contract and product files of a git working tree, or of a plain folder."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.contracts.baselines.git import find_repository
from counterfoil.contracts.baselines.workspace import (
    linked_schemas,
    paths_below,
    read_head,
    reader_of,
    scope_of,
    undeclared_schemas,
)
from counterfoil.contracts.errors import InputNotFound, absent
from counterfoil.contracts.linting.lint import LintInput
from counterfoil.contracts.project.finding import nearest_file, open_project
from counterfoil.contracts.project.mapping import agreement_test
from counterfoil.contracts.subjects import Subjects
from counterfoil.contracts.yaml_files import is_yaml
from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.contracts.baselines.workspace import Scope
    from counterfoil.contracts.project.model import Project


class Collected(NamedTuple):
    """What is checked, the project that applies, and the current folder relative to the root, a folder on disk."""

    given: LintInput
    project: Project | None
    prefix: str
    root: str


def collect(current: str, paths: Sequence[str], *, config: str | None = None, has_project: bool = True) -> Collected:
    """Return the files at ``paths``, which are relative to the folder ``current``; without paths, those below it.

    ``config`` is the path of the project file; without it the nearest one applies, and none if not ``has_project``.
    Raises ``InputNotFound``.
    """
    repository = find_repository(current)
    scope = scope_of(current, paths, repository=repository)
    top = repository.top if repository else None
    file, project = _project(current, config, scope.root, top) if has_project else (None, None)
    scope = replace(scope, project=project)
    tree = read_head(scope, repository=repository)
    listed = repository.working_paths() if repository else paths_below(scope.root, lambda _: True)
    is_agreement = agreement_test(project, scope.wanted)
    agreements = [path for path in dict.fromkeys((*listed, *scope.wanted)) if is_agreement(path)]
    read = reader_of(scope.root)
    for path in scope.wanted:
        if path and path not in tree.paths and not (Path(scope.root) / path).is_dir() and read(path) is None:
            raise InputNotFound(absent(path))
    wanted = [path for path in agreements if scope.is_wanted(path)]
    given = LintInput(
        tree=tree,
        read=read,
        schemas=[path for path in tree.paths if scope.is_wanted(path) and _is_schema(scope, path)],
        agreements=sorted(wanted),
        project=file if file is not None and scope.is_wanted(file) else None,
        others=sorted(set(agreements).difference(wanted)),
        all_paths=tree.paths,
        subjects=Subjects(tree, project),
        undeclared=partial(undeclared_schemas, scope, tree, listed, read),
        linked=linked_schemas(scope, listed),
    )
    return Collected(given, project, scope.prefix, scope.root)


def _is_schema(scope: Scope, path: str) -> bool:
    """Return whether a file of the tree is a schema: YAML, which may be there because it was named, if it is mapped."""
    return not is_yaml(path) or (scope.project is not None and scope.project.may_be_schema(path))


def _project(current: str, config: str | None, root: str, top: str | None) -> tuple[str | None, Project | None]:
    """Return the path of the project file below ``root``, and the project; None for one that is invalid."""
    place = Path(config) if config else nearest_file(current, top=top)
    if place is None:
        return None, None
    resolved = place.resolve()
    path = resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else None
    try:
        found = open_project(place)
        return path, found.below(root) if path is not None else found.project
    except CounterfoilError:
        if path is None:
            raise
        return path, None
