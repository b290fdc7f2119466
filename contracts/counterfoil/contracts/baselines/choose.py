"""The head and the baseline that the command line's arguments name.

``--against`` can name, in this order: the word ``registry``, a file, a git ref, a folder, ``SUBJECT@VERSION``. Without
it the baseline is the merge base with the default branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from counterfoil.contracts.baselines import (
    Baseline,
    CheckedScope,
    TreeBaseline,
    linked_schemas,
    match_paths,
    moved_submodules,
    neighbours,
    paths_below,
    read_head,
    read_schema_file,
    read_staged,
    reader_of,
    scope_of,
    undeclared_schemas,
)
from counterfoil.contracts.baselines.git import (
    Blob,
    GitPast,
    GitRepository,
    Past,
    default_base,
    find_repository,
    is_address,
    missing_ref,
    names_drive,
    open_repository,
    reader_of_blobs,
    short,
    states_at,
)
from counterfoil.contracts.baselines.operands import SUBJECT_VERSION, RegistryBaseline, RegistryReader
from counterfoil.contracts.errors import (
    BaselineNotFound,
    GitMissing,
    InputNotFound,
    NoRepository,
    PreconditionFailed,
    UsageMistake,
    absent,
)
from counterfoil.contracts.project import SchemaFile, SchemaTree
from counterfoil.contracts.project.files import ProjectFile
from counterfoil.contracts.project.languages import YamlFiles, has_schema_suffix, is_plain, is_yaml
from counterfoil.contracts.project.model import Project
from counterfoil.contracts.project.subjects import Subjects, settings_of
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation

REGISTRY: Final = "registry"
HEAD: Final = "HEAD"
IDL_SUFFIX: Final = ".avdl"


class NamedRegistry(NamedTuple):
    """A registry: its name in reports, and the function that opens it."""

    label: str
    open: Callable[[], RegistryReader]


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What to compare: ``paths`` relative to the folder ``current``, ``against`` as written or None.

    ``subjects`` are the subjects of files, by path relative to ``current``; ``registry`` opens the registry that
    ``registry_label`` names, and is None where no address is known; ``registry_at`` opens one that only the project
    names. ``is_transitive`` requests all of the history; None leaves that to the project's levels. ``project`` finds
    the project file up to a folder. With ``is_staged``, the files of the index are checked, not those of the working
    tree. With ``is_to_register``, what only registries refuse in a file is a fault, as it is against a registry.
    """

    current: str
    paths: tuple[str, ...] = ()
    against: str | None = None
    subjects: Mapping[str, str] | None = None
    registry: Callable[[], RegistryReader] | None = None
    registry_label: str = REGISTRY
    is_transitive: bool | None = None
    project: Callable[[str | None], ProjectFile | None] | None = None
    registry_at: Callable[[str], NamedRegistry] | None = None
    is_staged: bool = False
    is_to_register: bool = False

    @property
    def is_against_registry(self) -> bool:
        """Whether each file is compared with the versions of its subject."""
        return self.against == REGISTRY

    @property
    def validation(self) -> Validation:
        """How strictly the files of the head are read."""
        is_stored = self.is_to_register or self.is_against_registry or SUBJECT_VERSION.fullmatch(self.against or "")
        return Validation.STRICT if is_stored else Validation.FILE


@dataclass(frozen=True)
class ComparedSides:
    """The two sides of a request.

    ``scope`` has the files of ``head``, the working tree, that are checked; ``baseline`` is what they are compared
    with. Raises ``PreconditionFailed`` and its subclasses when something does not exist, ``UsageMistake`` when an
    option is missing.
    """

    request: ComparisonRequest
    scope: CheckedScope
    head: SchemaTree
    repository: GitRepository | None
    project_file: ProjectFile | None = None

    @property
    def project(self) -> Project | None:
        """The project, with paths relative to the root of the scope; None where there is no project file."""
        return self.scope.project

    @cached_property
    def subjects(self) -> Subjects:
        """The subjects of all files."""
        return Subjects(self.head, self.project, self._given)

    @property
    def _given(self) -> dict[str, str]:
        """The subjects that the request names, by path."""
        return {self.scope.relative(path): subject for path, subject in (self.request.subjects or {}).items()}

    @cached_property
    def selected(self) -> tuple[str, ...]:
        """The paths of the files to check, sorted.

        Against a registry, files that the project declares to be parts of other schemas, and to which none refers, are
        not among them.
        """
        wanted = (path for path in self.head.paths if self.scope.is_wanted(path))
        if not self.request.is_against_registry:
            return tuple(wanted)
        return tuple(path for path in wanted if not (self.subjects.of(path).is_part and not self.subjects.names(path)))

    @cached_property
    def undeclared(self) -> tuple[str, ...]:
        """The files that say they are JSON schemas and are not checked, since nothing maps them."""
        root = self.scope.root
        if self.request.is_staged and self.repository is not None:
            blobs = self.repository.staged_blobs()
            return undeclared_schemas(
                self.scope, self.head, [blob.path for blob in blobs], reader_of_blobs(self.repository, blobs)
            )
        return undeclared_schemas(self.scope, self.head, self._listed, reader_of(root))

    @cached_property
    def linked(self) -> tuple[str, ...]:
        """The symbolic links that would be schema files if they were followed."""
        return linked_schemas(self.scope, self._listed)

    @cached_property
    def _listed(self) -> Sequence[str]:
        """The paths of the files of the working tree, or of a plain folder those that may be schemas."""
        if self.repository is not None:
            return self.repository.working_paths()
        return paths_below(self.scope.root, lambda path: is_plain(path) or self.scope.may_be_schema(path))

    @cached_property
    def earlier_project(self) -> Project | None:
        """The project as it was :attr:`before`; the present one where there was none that is valid."""
        baseline, place = self.before, self.project_file
        if place is None or baseline is None or baseline.yaml_files is None:
            return self.project
        folder = place.folder_below(self.scope.root)
        path = f"{folder}/{place.place.name}" if folder else place.place.name
        files = baseline.yaml_files()
        data = files.contents([path]).get(path) if path in files.paths else None
        if data is None:
            return self.project
        from counterfoil.contracts.project.documents import read_project  # PyYAML costs start time
        from counterfoil.schema.documents import InvalidDocument

        try:
            return read_project(data.decode()).within(folder)
        except (UnicodeDecodeError, InvalidDocument):
            return self.project

    @cached_property
    def yaml_files(self) -> YamlFiles:
        """The YAML files of the side that is checked; in a repository, those that git tracks or would track."""
        if self.request.is_staged and self.repository is not None:
            return _in_blobs(self.repository, self.repository.staged_blobs())
        root = self.scope.root
        listed = self.repository.working_paths() if self.repository else paths_below(root, is_yaml)
        return _on_disk(root, listed)

    @cached_property
    def before(self) -> TreeBaseline | None:
        """The files as they were: the baseline, or else the merge base with the default branch; None without one."""
        if isinstance(self.baseline, TreeBaseline):
            return self.baseline
        if self.repository is None or self.repository.commit(HEAD) is None:
            return None
        try:
            branch, base = default_base(self.repository)
        except PreconditionFailed:  # a shallow clone, or no default branch
            return None
        return self._at_commit(self.repository, base, ref=branch, is_transitive=False)

    @property
    def _is_transitive(self) -> bool:
        if self.request.is_transitive is not None:
            return self.request.is_transitive
        levels = (settings_of(self.project, self.head, path).level for path in self.selected)
        return any(level is not None and level.is_transitive for level in levels)

    @property
    def _registry(self) -> NamedRegistry | None:
        """The registry that the request names, or else the project; None where neither does."""
        request = self.request
        if request.registry is not None:
            return NamedRegistry(request.registry_label, request.registry)
        address = self.project.settings.registry if self.project else None
        return request.registry_at(address) if address and request.registry_at else None

    @cached_property
    def baseline(self) -> Baseline:
        """The baseline that ``against`` names."""
        against = self.request.against
        if against is None:
            return self._at_merge_base()
        if against == REGISTRY:
            return self._in_registry()
        if is_address(against):
            raise UsageMistake(
                f"{against!r} is an address; to compare with a registry: --against registry --registry {against}"
            )
        place = Path(self.scope.root) / self.scope.prefix / against
        if place.is_file():
            return self._at_file(place, label=against)
        if names_drive(against) and not place.exists():
            raise BaselineNotFound(absent(against))
        if self.repository is not None and (against == HEAD or self.repository.known_as(against)):
            return self._at_ref(self.repository, against)
        if place.is_dir():
            return self._at_folder(place, label=against)
        if self._registry is not None and (named := SUBJECT_VERSION.fullmatch(against)):
            return self._at_subject_version(named["subject"], named["version"])
        if self.repository is not None:
            raise missing_ref(self.repository, against)
        find_repository(self.request.current)  # without git, that is what is missing
        raise BaselineNotFound(
            f"there is no file or folder {against!r}, nor a git repository in which it could be a ref"
        )

    def _at_merge_base(self) -> Baseline:
        repository = self.repository or open_repository(self.request.current)
        if repository.commit(HEAD) is None:
            return self._before_everything()
        branch, base = default_base(repository)
        note = ""
        if base == repository.commit(HEAD):
            note = (
                f"{branch} has every commit that HEAD has, so only uncommitted changes are judged; --against HEAD^ "
                "judges the last commit"
            )
        return self._at_commit(repository, base, ref=branch, note=note)

    def _at_ref(self, repository: GitRepository, ref: str) -> Baseline:
        ref = repository.known_as(ref) or ref
        commit = repository.commit(ref)
        return self._at_commit(repository, commit, ref=ref) if commit else self._before_everything()

    def _before_everything(self) -> Baseline:
        self._insist_on_paths()
        note = "there is no commit yet, so every file is new"
        return TreeBaseline(
            self.head,
            (),
            label="the empty history",
            is_wanted=self.scope.is_wanted,
            note=note,
            yaml_files=lambda: YamlFiles((), lambda _: {}),
        )

    def _at_commit(
        self, repository: GitRepository, commit: str, *, ref: str, note: str = "", is_transitive: bool | None = None
    ) -> TreeBaseline:
        by_name = [path for path in self.head.paths if not has_schema_suffix(path)]
        states, cut = states_at(
            repository,
            commit,
            ref=ref,
            is_schema=self.scope.may_be_schema,
            only_schemas=self.scope.only_schemas,
            also=by_name,
            is_transitive=self._is_transitive if is_transitive is None else is_transitive,
        )
        self._insist_on_paths(known=states[0].paths)
        moved = moved_submodules(repository, commit, self.scope, is_staged=self.request.is_staged)
        notes = "; ".join(one for one in (note, cut, moved) if one)
        return TreeBaseline(
            self.head,
            states,
            label=states[0].label,
            is_wanted=self.scope.is_wanted,
            note=notes,
            yaml_files=lambda: _in_blobs(repository, repository.blobs(commit, is_yaml)),
            past=self._past(repository, commit, by_name),
        )

    def _past(self, repository: GitRepository, commit: str, by_name: Sequence[str]) -> Past:
        """Return the history of a commit; ``by_name`` are the schema files without the usual suffix."""

        def tree(earlier: str) -> SchemaTree:
            is_schema, only_schemas = self.scope.may_be_schema, self.scope.only_schemas
            [state], _ = states_at(
                repository, earlier, ref=short(earlier), is_schema=is_schema, only_schemas=only_schemas
            )
            return state

        def also() -> list[str]:
            project = self.project
            named = self.yaml_files.paths if project is not None else ()
            return [*by_name, *(path for path in named if project is not None and project.is_agreement(path))]

        return GitPast(
            repository,
            commit,
            read_tree=tree,
            read_yaml=lambda earlier: _in_blobs(repository, repository.blobs(earlier, is_yaml)),
            also=also,
        )

    def _at_file(self, place: Path, *, label: str) -> Baseline:
        """Return the one file at ``place``, with the other schemas of its folder as possible references."""
        self._insist_on_paths()
        files = (read_schema_file(str(place.parent), name) for name in neighbours(place))
        tree = SchemaTree(
            [file for file in files if file],
            label=label,
            validation=Validation.LENIENT,
            other=reader_of(str(place.parent)),
        )
        identity = _identity(tree, place.name)
        chosen = self.selected
        if len(chosen) > 1:
            chosen = tuple(path for path in chosen if _identity(self.head, path) == identity)
        if self.selected and not chosen:
            raise BaselineNotFound(
                f"none of the files to check declares {identity[1] or 'anything'} as {label} does; "
                "name the one to compare"
            )
        origin = dict.fromkeys(chosen, place.name)
        return TreeBaseline(self.head, [tree], label=label, is_wanted=lambda _: False, origin=origin)

    def _at_folder(self, place: Path, *, label: str) -> Baseline:
        """Return the folder at ``place``, with its files at the same paths as in the folder that is checked."""
        self._insist_on_paths()
        onto = self.scope.wanted[0] if len(self.scope.wanted) == 1 else self.scope.prefix
        prefix = f"{onto}/" if onto else ""
        paths = paths_below(str(place), lambda path: self.scope.may_be_schema(f"{prefix}{path}"), is_whole=True)
        files = (read_schema_file(str(place), path) for path in paths)
        laid = [SchemaFile(f"{prefix}{file.path}", file.data) for file in files if file]
        beside = reader_of(str(place))
        tree = SchemaTree(
            self.scope.only_schemas(laid),
            label=label,
            validation=Validation.LENIENT,
            other=lambda path: beside(path.removeprefix(prefix)) if path.startswith(prefix) else None,
        )
        origin = match_paths(self.head.only(self.selected), tree)  # the folder may be part of the head itself
        return TreeBaseline(
            self.head,
            [tree],
            label=label,
            is_wanted=self.scope.is_wanted,
            origin=origin,
            yaml_files=lambda: _on_disk(str(place), paths_below(str(place), is_yaml), prefix=prefix),
        )

    def _in_registry(self) -> Baseline:
        registry = self._registry
        if registry is None:
            from counterfoil.sdk.commands.options import MISSING_URL  # of the command line

            raise UsageMistake(f"{MISSING_URL}, or as registry in counterfoil.yaml")
        self._insist_on_paths()
        for path in self._given:
            if path not in self.selected:
                raise UsageMistake(f"--subject names {path!r}, which is not among the files to check")
        reader = registry.open()
        return RegistryBaseline.of(reader, self.subjects.held_by(reader, self.selected), self.selected, registry.label)

    def _at_subject_version(self, subject: str, version: str) -> Baseline:
        self._insist_on_paths()
        registry = self._registry
        if len(self.selected) != 1 or registry is None:
            raise UsageMistake(f"{subject}@{version} is one schema, so name the one file to compare with it")
        number = None if version == "latest" else int(version)
        label = f"{subject}@{version} in {registry.label}"
        return RegistryBaseline(registry.open(), {self.selected[0]: subject}, label=label, version=number)

    def _insist_on_paths(self, known: Sequence[str] = ()) -> None:
        for path in self.scope.missing(self.head):
            if not any(one == path or one.startswith(f"{path}/") for one in known):
                raise InputNotFound(f"{absent(path)}, neither here nor in the baseline")


def open_comparison(request: ComparisonRequest) -> ComparedSides:
    """Read the head that ``request`` names, and return it with its baseline, which is read when it is first used."""
    repository = _repository_for(request)
    project = request.project(repository.top if repository else None) if request.project else None
    scope = scope_of(request.current, request.paths, repository=repository, project=project)
    _refuse_idl(scope)
    if not request.is_staged:
        head = read_head(scope, repository=repository, validation=request.validation)
        return ComparedSides(request, scope, head, repository, project)
    if repository is None:
        raise NoRepository("this folder is not in the working tree of a git repository, so nothing is staged")
    staged = read_staged(scope, repository, validation=request.validation)
    return ComparedSides(request, scope, staged, repository, project)


def _repository_for(request: ComparisonRequest) -> GitRepository | None:
    """Return the repository of the files; None where there is none, or no git and what to compare with is named."""
    try:
        return find_repository(request.current)
    except GitMissing:
        if request.against is None or request.is_staged:
            raise
        return None


def _refuse_idl(scope: CheckedScope) -> None:
    """Raise ``UsageMistake`` for a file in Avro IDL, which nothing here can read."""
    for path in scope.wanted:
        if path.endswith(IDL_SUFFIX):
            raise UsageMistake(
                f"{path} is in Avro IDL, which counterfoil does not read; make schema files of it with Avro's own tool "
                f"(java -jar avro-tools.jar idl2schemata {path} schemas/), keep them in the repository, and check those"
            )


def _in_blobs(repository: GitRepository, blobs: Sequence[Blob]) -> YamlFiles:
    """Return the YAML files among ``blobs``, which are read at once."""
    object_by_path = {blob.path: blob.object_id for blob in blobs if is_yaml(blob.path)}

    def contents(paths: Sequence[str]) -> Mapping[str, bytes]:
        found = repository.contents(object_by_path[path] for path in paths)
        return {path: found[object_by_path[path]] for path in paths}

    return YamlFiles(tuple(sorted(object_by_path)), contents)


def _on_disk(root: str, paths: Sequence[str], *, prefix: str = "") -> YamlFiles:
    """Return the YAML files among ``paths`` below ``root``, each with ``prefix`` in front of its path."""
    read = reader_of(root)

    def contents(wanted: Sequence[str]) -> Mapping[str, bytes]:
        found = ((path, read(path.removeprefix(prefix))) for path in wanted)
        return {path: data for path, data in found if data is not None}

    return YamlFiles(tuple(sorted(f"{prefix}{path}" for path in paths if is_yaml(path))), contents)


def _identity(tree: SchemaTree, path: str) -> tuple[SchemaType, str | None]:
    """Return the language and the name of the schema in a file."""
    names = tree.outline(path)
    return tree.language(path), names.name if names else None
