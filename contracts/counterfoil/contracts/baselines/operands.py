"""Operands of a command line: a file, ``REF:path`` in git, ``SUBJECT@VERSION`` of a registry, or a folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from counterfoil.contracts.baselines import (
    CheckedScope,
    Removed,
    neighbours,
    paths_below,
    read_head,
    read_schema_file,
    reader_of,
    scope_of,
)
from counterfoil.contracts.baselines.git import (
    GitRepository,
    find_repository,
    inside,
    is_address,
    missing_ref,
    names_drive,
    open_repository,
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
from counterfoil.contracts.project import FileProblem, ReadSchema, SchemaTree
from counterfoil.contracts.project.languages import AGREEMENT_SUFFIXES, has_schema_suffix, is_yaml
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, rules_policy
from counterfoil.schema.errors import ConfigNotFound, InvalidSchema, SchemaParseError, SubjectNotFound
from counterfoil.schema.languages.table import parse_schema, resolved_references
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from counterfoil.contracts.project.model import Project
    from counterfoil.contracts.project.subjects import Subjects
    from counterfoil.schema.agreements import Agreement
    from counterfoil.schema.rest.versions import RegisteredSchema, VersionNumber


# A registry as the baseline: the active versions of the subject that each file belongs to.


class ConfigReader(Protocol):
    """The part of a subject's settings that the check reads."""

    @property
    def compatibility_level(self) -> CompatibilityLevel | None:
        """The level in effect; None when the registry's response has none."""

    @property
    def compatibility_policy(self) -> str | None:
        """The policy in effect; None when the registry's response has none."""


class RegistryReader(Protocol):
    """The part of a registry client that a baseline needs; ``counterfoil.sdk.Registry`` is one."""

    def versions(self, subject: str) -> Sequence[int]:
        """Return the numbers of the subject's active versions; raises ``SubjectNotFound``."""

    def version(self, subject: str, number: VersionNumber = "latest") -> RegisteredSchema:
        """Return one version of a subject."""

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> ConfigReader:
        """Return the settings of a subject; with ``default_to_global``, those in effect."""


class RegistryBaseline:
    """The versions that a registry holds of the subjects in ``subject_by_path``.

    ``version`` is the one version to compare with; None is the latest, or all of them where the level is transitive.
    ``further`` are baselines of the further subjects of files that have several. Everything is fetched when it is first
    needed, and once. Raises the errors of the client.
    """

    note = ""
    names_subjects = True

    def __init__(
        self,
        registry: RegistryReader,
        subject_by_path: Mapping[str, str],
        *,
        label: str,
        version: int | None = None,
        further: Sequence[RegistryBaseline] = (),
    ) -> None:
        self.label = label
        self.further: Sequence[RegistryBaseline] = further
        self._registry = registry
        self._subject_by_path = subject_by_path
        self._version = version
        self._config_by_subject: dict[str, ConfigReader | None] = {}

    @classmethod
    def of(cls, registry: RegistryReader, subjects: Subjects, paths: Iterable[str], label: str) -> RegistryBaseline:
        """Return the baseline for the files at ``paths``, whose first subjects it knows itself."""
        names = {path: subjects.names(path) for path in paths}
        number = max(map(len, names.values()), default=0)
        first, *further = (
            cls(registry, {path: each[index] for path, each in names.items() if len(each) > index}, label=label)
            for index in range(max(number, 1))
        )
        first.further = further
        return first

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the files whose subjects are known."""
        return tuple(self._subject_by_path)

    def subject(self, path: str) -> str | None:
        """Return the subject that the file at ``path`` belongs to; None when it is not known."""
        return self._subject_by_path.get(path)

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return the level in effect for the file's subject."""
        config = self._config(path)
        return config.compatibility_level if config else None

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return the policy in effect for the file's subject; raise ``BadRequest`` for an unknown policy."""
        config = self._config(path)
        policy = config.compatibility_policy if config else None
        return rules_policy(policy) if policy else None

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema] | None:
        """Return the versions of the file's subject, newest first."""
        subject = self.subject(path)
        if subject is None:
            return None
        if self._version is not None:
            return [read_version(self._registry, subject, self._version)]
        try:
            numbers = sorted(self._registry.versions(subject), reverse=True)
        except SubjectNotFound:
            return ()
        return [read_version(self._registry, subject, number) for number in (numbers if is_transitive else numbers[:1])]

    def removed(self) -> Sequence[Removed]:
        """Return nothing: a subject that no file belongs to may belong to another repository."""
        return ()

    def _config(self, path: str) -> ConfigReader | None:
        subject = self.subject(path)
        if subject is None:
            return None
        if subject not in self._config_by_subject:
            self._config_by_subject[subject] = self._fetch_config(subject)
        return self._config_by_subject[subject]

    def _fetch_config(self, subject: str) -> ConfigReader | None:
        try:
            return self._registry.config(subject, default_to_global=True)
        except ConfigNotFound:
            return None


def read_version(registry: RegistryReader, subject: str, version: VersionNumber) -> ReadSchema:
    """Return one version of a subject with everything it refers to, read leniently; raise the errors of the client."""
    registered = registry.version(subject, version)
    return read_schema(registry, registered.schema, f"{subject} version {registered.version or version}")


def read_schema(registry: RegistryReader, found: Schema, label: str) -> ReadSchema:
    """Return a schema of a registry with everything it refers to, read leniently; raise the errors of the client."""
    texts: tuple[str, ...] = (found.text,)
    try:
        references = resolved_references(found, lambda each: registry.version(each.subject, each.version).schema)
        texts = (found.text, *(one.text for one in references))
        schema = parse_schema(found.text, found.schema_type, references=references, validation=Validation.LENIENT)
    except SchemaParseError as error:
        return ReadSchema(label, label, texts, problem=FileProblem(error.problem, error.position))
    except InvalidSchema as error:
        return ReadSchema(label, label, texts, problem=FileProblem(error.message))
    return ReadSchema(label, label, texts, schema, references=references)


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
    """A contract or product file: its name on the command line, and its declarations."""

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
