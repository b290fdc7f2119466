"""Reading what a command line names: a file, ``REF:path`` in git, ``SUBJECT@VERSION`` of a registry, or a folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from counterfoil.contracts.baselines import RegistryReader, read_version
from counterfoil.contracts.baselines.git import (
    GitRepository,
    find_repository,
    inside,
    is_address,
    names_drive,
    open_repository,
)
from counterfoil.contracts.baselines.workspace import (
    CheckedScope,
    missing_ref,
    neighbours,
    paths_below,
    read_head,
    read_schema_file,
    reader_of,
    scope_of,
    states_at,
)
from counterfoil.contracts.errors import (
    GitMissing,
    InputNotFound,
    InvalidOperand,
    NoRepository,
    UsageMistake,
    about_backslashes,
    absent,
)
from counterfoil.contracts.project import ReadSchema, SchemaTree
from counterfoil.contracts.project.languages import AGREEMENT_SUFFIXES, has_schema_suffix, is_yaml
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from counterfoil.contracts.project.model import Project
    from counterfoil.schema.agreements import Agreement


_AGREEMENT: Final = "contract or product file"
SUBJECT_VERSION: Final = re.compile(r"(?P<subject>.+)@(?P<version>latest|[1-9][0-9]*)")


class FoundOperand(NamedTuple):
    """A schema, and where it was found: as the file at ``path`` of ``tree``, or without one in a registry.

    ``root`` is the folder to which paths of the tree are relative.
    """

    read: ReadSchema
    tree: SchemaTree | None = None
    path: str = ""
    root: str = ""


class ReadAgreement(NamedTuple):
    """A contract or product file: what the command line called it, and what it declares."""

    label: str
    agreement: Agreement


class Folder(NamedTuple):
    """A folder with schema files, as ``operand`` names it: their paths in ``tree`` by their paths inside the folder.

    ``agreements`` are the bytes of its contract and product files by their paths inside the folder. ``root`` is the
    folder to which paths of the tree are relative.
    """

    operand: str
    tree: SchemaTree
    path_by_name: Mapping[str, str]
    agreements: Mapping[str, bytes]
    root: str = ""

    def _label(self, name: str) -> str:
        return f"{self.operand}{'' if self.operand.endswith((':', '/')) else '/'}{name}"

    def read_agreement(self, name: str) -> ReadAgreement:
        """Return a contract or product file of the folder; raise ``InvalidOperand`` if it is not valid."""
        return _read_agreement(self._label(name), self.agreements[name])

    def read(self, name: str) -> ReadSchema:
        """Return the schema of a file of the folder; raise ``InvalidOperand`` if it is none."""
        label = self._label(name)
        found = self.tree.read(self.path_by_name[name])
        if found.problem is not None:
            raise InvalidOperand(label, found.problem.text, position=found.problem.position)
        return replace(found, label=label)


def find_folder(
    operand: str, current: str, project_at: Callable[[str], Project | None] = lambda _: None
) -> Folder | None:
    """Return the folder that ``operand`` names, relative to the folder ``current``; None if it names none.

    ``project_at`` returns the project that maps the files below a root, with paths relative to it.
    It is a folder on disk, or ``REF:PATH`` of a folder in git with schema files below it; ``REF:`` is the whole commit.
    Raises ``BaselineNotFound`` for a ref that does not exist in this clone.
    """
    place = Path(current) / operand
    if place.is_dir():
        repository = find_repository(str(place))
        scope = scope_of(str(place), [], repository=repository)
        scope = replace(scope, project=project_at(scope.root))
        tree = read_head(scope, repository=repository, validation=Validation.LENIENT)
        listed = repository.working_paths() if repository else paths_below(scope.root, is_yaml)
        read = reader_of(scope.root)
        contents = ((path, read(path)) for path in _agreements_in(listed, scope.wanted[0]))
        held = {path: data for path, data in contents if data is not None}
        return _folder(operand, tree, scope.wanted[0], held, scope.root)
    ref, separator, path = operand.partition(":")
    if place.is_file() or not (separator and ref) or is_address(operand) or names_drive(operand):
        return None
    repository = _repository_of(operand, current)
    scope = CheckedScope(repository.top, "", (), project_at(repository.top))
    tree, path = _state(repository, ref, path or ".", current, scope)
    folder = "" if path == "." else path
    found = _folder(operand, tree, folder, _agreements_at(repository, ref, folder), repository.top)
    return found if path not in tree.paths and (found.path_by_name or found.agreements) else None


def _agreements_in(paths: Iterable[str], folder: str) -> list[str]:
    return [path for path in paths if path.endswith(AGREEMENT_SUFFIXES) and path != folder and inside(path, [folder])]


def _agreements_at(repository: GitRepository, ref: str, folder: str) -> dict[str, bytes]:
    """Return the contract and product files below a folder at a commit."""
    commit = repository.commit(repository.known_as(ref) or ref) or ref
    object_by_path = {blob.path: blob.object_id for blob in repository.blobs(commit, is_yaml)}
    wanted = _agreements_in(object_by_path, folder)
    contents = repository.contents(object_by_path[path] for path in wanted)
    return {path: contents[object_by_path[path]] for path in wanted}


def _folder(operand: str, tree: SchemaTree, folder: str, agreements: Mapping[str, bytes], root: str) -> Folder:
    paths = [path for path in tree.paths if inside(path, [folder])]
    within = {posixpath.relpath(path, folder or "."): path for path in paths}
    named = {posixpath.relpath(path, folder or "."): data for path, data in agreements.items()}
    return Folder(operand, tree, within, named, root)


def read_agreement_operand(operand: str, current: str) -> ReadAgreement:
    """Return the contract or product file that ``operand`` names: a YAML file on disk or, as ``REF:PATH``, in git.

    Raises ``InputNotFound``, ``BaselineNotFound``, and ``InvalidOperand`` for a file that is not valid.
    """
    place = Path(current) / operand
    if place.is_file():
        return _read_agreement(operand, place.read_bytes())
    ref, separator, path = operand.partition(":")
    if not (separator and ref and path) or names_drive(operand):
        raise InputNotFound(f"there is no file '{operand}', and it is not REF:PATH{about_backslashes(operand)}")
    found = _read_in_git(_repository_of(operand, current), ref, path, current)
    return _read_agreement(operand, b"" if found.tree is None else found.tree.data(found.path))


def _read_agreement(label: str, data: bytes) -> ReadAgreement:
    from counterfoil.schema.agreements.documents import read_agreement  # PyYAML costs start time

    try:
        reading = read_agreement(data.decode())
    except UnicodeDecodeError as error:
        raise InvalidOperand(label, f"it is not UTF-8 ({error.reason})", what=_AGREEMENT) from None
    if reading.agreement is None or reading.faults:
        fault = reading.faults[0]
        raise InvalidOperand(label, fault.problem, position=fault.position, what=_AGREEMENT)
    return ReadAgreement(label, reading.agreement)


def read_operand(operand: str, current: str, *, registry: Callable[[], RegistryReader] | None) -> ReadSchema:
    """Return the schema of :func:`find_operand`."""
    return find_operand(operand, current, registry=registry).read


def find_operand(operand: str, current: str, *, registry: Callable[[], RegistryReader] | None) -> FoundOperand:
    """Return the schema that ``operand`` names, relative to the folder ``current``; it is read leniently and is valid.

    A name that fits several forms is read as a file if there is one, else as a file in git, else as a version of a
    subject. Raises ``InputNotFound``, ``BaselineNotFound`` for a ref that does not exist in this clone,
    ``InvalidOperand`` for a text that is no schema, and the errors of the registry's client.
    """
    found = _find(operand, current, registry)
    if found.path.endswith(AGREEMENT_SUFFIXES) and found.read.problem is not None:
        raise UsageMistake(f"{operand} is a contract or product file, and a schema is expected here")
    if found.read.problem is not None:
        raise InvalidOperand(operand, found.read.problem.text, position=found.read.problem.position)
    return found


def _find(operand: str, current: str, registry: Callable[[], RegistryReader] | None) -> FoundOperand:
    place = Path(current) / operand
    if place.is_file():
        return _read_file(place, operand)
    if is_address(operand):
        raise UsageMistake(f"{operand!r} is an address; name a schema as SUBJECT@VERSION, with --registry URL")
    if names_drive(operand):
        raise InputNotFound(absent(operand, what="file"))
    if place.is_dir():
        raise InputNotFound(f"{operand} is a folder; name a file in it")
    ref, separator, path = operand.partition(":")
    if separator and ref and path:
        return _read_in_git(_repository_of(operand, current), ref, path, current)
    if named := SUBJECT_VERSION.fullmatch(operand):
        if registry is None:
            raise UsageMistake(f"{operand} is in a registry, which needs --registry URL or COUNTERFOIL_REGISTRY_URL")
        version = named["version"]
        return FoundOperand(
            read_version(registry(), named["subject"], "latest" if version == "latest" else int(version))
        )
    raise InputNotFound(
        f"there is no file '{operand}', and it is neither REF:PATH nor SUBJECT@VERSION{about_backslashes(operand)}"
    )


def _repository_of(operand: str, current: str) -> GitRepository:
    found = find_repository(current)
    if found is None:
        raise InputNotFound(f"{operand!r} is no file here, and no REF:PATH: this folder is in no git repository")
    return found


def _read_file(place: Path, operand: str) -> FoundOperand:
    """Return the file, with the schemas that it may refer to: of its repository; without one or git, of its folder."""
    root, path = str(place.parent), place.name
    try:
        repository = open_repository(root)
        scope = scope_of(root, [place.name], repository=repository)
        root, path = repository.top, scope.wanted[0]
        names = [path, *(one for one in repository.working_paths() if has_schema_suffix(one))]
    except (NoRepository, GitMissing):
        names = neighbours(place)
    files = (read_schema_file(root, name) for name in dict.fromkeys(names))
    tree = SchemaTree(
        [file for file in files if file], label=operand, validation=Validation.LENIENT, other=reader_of(root)
    )
    return FoundOperand(tree.read(path), tree, path, root)


def _read_in_git(repository: GitRepository, ref: str, path: str, current: str) -> FoundOperand:
    """Return the file at a commit."""
    tree, path = _state(repository, ref, path, current)
    if path not in tree.paths:
        raise InputNotFound(f"{ref} has no file {path!r}; paths start at the top of the repository, or with ./ here")
    return FoundOperand(tree.read(path), tree, path, repository.top)


def _state(
    repository: GitRepository, ref: str, path: str, current: str, scope: CheckedScope | None = None
) -> tuple[SchemaTree, str]:
    """Return the schema files at a commit, and the path from the top of the repository.

    ``scope`` says which files are schemas besides those whose names show it.

    As in git, ``path`` starts at the top of the repository, or at ``current`` with ``./``.
    """
    ref = repository.known_as(ref) or ref
    commit = repository.commit(ref)
    if commit is None:
        raise missing_ref(repository, ref)
    scope = scope or CheckedScope(repository.top, "", ())
    if path.startswith(("./", "../")):
        path = scope_of(current, [path], repository=repository).wanted[0]
    path = posixpath.normpath(path)
    may_be_schema = scope.may_be_schema
    states, _ = states_at(
        repository,
        commit,
        ref=ref,
        is_schema=lambda one: may_be_schema(one) or one == path,
        only_schemas=scope.only_schemas,
    )
    return states[0], path
