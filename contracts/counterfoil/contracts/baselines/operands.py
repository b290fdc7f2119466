"""Reading one schema by its name: a file, ``REF:path`` in git, or ``SUBJECT@VERSION`` in a registry."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.baselines.git import open_repository
from counterfoil.contracts.baselines.history import missing_ref, states_at
from counterfoil.contracts.baselines.registry import read_version
from counterfoil.contracts.baselines.workspace import neighbours, read_schema_file, reader_of, scope_of
from counterfoil.contracts.errors import InputNotFound, InvalidOperand, NoRepository, UsageMistake
from counterfoil.contracts.languages import has_schema_suffix
from counterfoil.contracts.tree import SchemaTree
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.contracts.baselines.git import GitRepository
    from counterfoil.contracts.baselines.registry import RegistryReader
    from counterfoil.contracts.tree import ReadSchema

SUBJECT_VERSION: Final = re.compile(r"(?P<subject>.+)@(?P<version>latest|[1-9][0-9]*)")


class Operand(NamedTuple):
    """A schema, and where it was found: as the file at ``path`` of ``tree``, or without one in a registry."""

    read: ReadSchema
    tree: SchemaTree | None = None
    path: str = ""


def read_operand(operand: str, current: str, *, registry: Callable[[], RegistryReader] | None) -> ReadSchema:
    """Return the schema of :func:`find_operand`."""
    return find_operand(operand, current, registry=registry).read


def find_operand(operand: str, current: str, *, registry: Callable[[], RegistryReader] | None) -> Operand:
    """Return the schema that ``operand`` names, relative to the folder ``current``; it is read leniently and is valid.

    A name that fits several forms is read as a file if there is one, else as a file in git, else as a version of a
    subject. Raises ``InputNotFound``, ``BaselineNotFound`` for a ref that does not exist in this clone,
    ``InvalidOperand`` for a text that is no schema, and the errors of the registry's client.
    """
    found = _find(operand, current, registry)
    if found.read.problem is not None:
        raise InvalidOperand(operand, found.read.problem.text, position=found.read.problem.position)
    return found


def _find(operand: str, current: str, registry: Callable[[], RegistryReader] | None) -> Operand:
    place = Path(current) / operand
    if place.is_file():
        return _read_file(place, operand)
    ref, separator, path = operand.partition(":")
    if separator and ref and path:
        return _read_in_git(open_repository(current), ref, path, current)
    if named := SUBJECT_VERSION.fullmatch(operand):
        if registry is None:
            raise UsageMistake(f"{operand} is in a registry, which needs --registry URL or COUNTERFOIL_REGISTRY_URL")
        version = named["version"]
        return Operand(read_version(registry(), named["subject"], "latest" if version == "latest" else int(version)))
    raise InputNotFound(f"{operand!r} is no file here, and neither REF:PATH nor SUBJECT@VERSION")


def _read_file(place: Path, operand: str) -> Operand:
    """Return the file, with the schemas that it may refer to: those of its repository, or else of its folder."""
    root, path = str(place.parent), place.name
    try:
        repository = open_repository(root)
        scope = scope_of(root, [place.name], repository=repository)
        root, path = repository.top, scope.wanted[0]
        names = [path, *(one for one in repository.working_paths() if has_schema_suffix(one))]
    except NoRepository:
        names = neighbours(place)
    files = (read_schema_file(root, name) for name in dict.fromkeys(names))
    tree = SchemaTree(
        [file for file in files if file], label=operand, validation=Validation.LENIENT, other=reader_of(root)
    )
    return Operand(tree.read(path), tree, path)


def _read_in_git(repository: GitRepository, ref: str, path: str, current: str) -> Operand:
    """Return the file at a commit.

    As in git, ``path`` starts at the top of the repository, or at ``current`` with ``./``.
    """
    ref = repository.known_as(ref) or ref
    commit = repository.commit(ref)
    if commit is None:
        raise missing_ref(repository, ref)
    if path.startswith(("./", "../")):
        path = scope_of(current, [path], repository=repository).wanted[0]
    path = posixpath.normpath(path)
    states, _ = states_at(repository, commit, ref=ref, is_schema=lambda one: has_schema_suffix(one) or one == path)
    if path not in states[0].paths:
        raise InputNotFound(f"{ref} has no file {path!r}; paths start at the top of the repository, or with ./ here")
    return Operand(states[0].read(path), states[0], path)
