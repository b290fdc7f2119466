"""What a project says of the files of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.contracts.languages import AGREEMENT_SUFFIXES
from counterfoil.contracts.project.model import FILE_NAME, Settings
from counterfoil.contracts.yaml_files import is_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.contracts.project.model import FileMapping, Project
    from counterfoil.contracts.tree import SchemaTree


def mapping_of(project: Project | None, tree: SchemaTree, path: str) -> FileMapping | None:
    """Return what the project says of the file at ``path``; None where no line maps it, or without a project."""
    if project is None:
        return None
    names = tree.outline(path)
    return project.mapping(path, name=names.name if names else None)


def settings_of(project: Project | None, tree: SchemaTree, path: str) -> Settings:
    """Return how the project has the file at ``path`` checked: the settings of all files where no line maps it."""
    if project is None:
        return Settings()
    names = tree.outline(path)
    return settings_at(project, path, names.name if names else None)


def settings_at(project: Project | None, path: str, name: str | None) -> Settings:
    """Return the settings of a file that may not exist any more, and declared ``name``."""
    if project is None:
        return Settings()
    mapping = project.mapping(path, name=name)
    return mapping.settings if mapping else project.settings


def agreement_test(project: Project | None, named: Sequence[str]) -> Callable[[str], bool]:
    """Return the test for contract and product files: by suffix, by the project, or because they were named."""

    def test(path: str) -> bool:
        if path.endswith(AGREEMENT_SUFFIXES):
            return True
        if not is_yaml(path) or path.rpartition("/")[2] == FILE_NAME:
            return False
        return path in named or (project is not None and project.is_agreement(path))

    return test
