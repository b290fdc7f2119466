"""A baseline: what schema files were before, in trees of files or in a registry, with files that were moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.project import FileProblem, ReadSchema, SchemaTree
from counterfoil.contracts.project.languages import YamlFiles
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, rules_policy
from counterfoil.schema.errors import ConfigNotFound, InvalidSchema, SchemaParseError, SubjectNotFound
from counterfoil.schema.languages.table import parse_schema, resolved_references
from counterfoil.schema.model import Schema
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from counterfoil.contracts.baselines.git import Past
    from counterfoil.contracts.project.subjects import Subjects
    from counterfoil.schema.rest.versions import RegisteredSchema, VersionNumber


# Matching of the schema files of two sides when files are moved and renamed.


def match_paths(head: SchemaTree, earlier: SchemaTree) -> dict[str, str]:
    """Return the file of ``earlier`` that each file of ``head`` comes from; a file without origin is left out.

    A file at its old place with its old name is itself. Then a name that is declared by one file on each side is the
    same schema in a moved file; then the files at the same path are the same schema with another name.
    """
    origin = {
        path: path
        for path in set(head.paths).intersection(earlier.paths)
        if head.data(path) == earlier.data(path) or _identity(head, path) == _identity(earlier, path)
    }
    later_by_name = _paths_by_identity(head, set(head.paths).difference(origin))
    earlier_by_name = _paths_by_identity(earlier, set(earlier.paths).difference(origin.values()))
    for name, paths in later_by_name.items():
        sources = earlier_by_name.get(name, [])
        if len(paths) == len(sources) == 1:
            origin[paths[0]] = sources[0]
    taken, earlier_paths = set(origin.values()), set(earlier.paths)
    for path in head.paths:
        if path not in origin and path in earlier_paths and path not in taken:
            origin[path] = path
    return origin


def _identity(tree: SchemaTree, path: str) -> str | None:
    """Return the identity of a schema whose file moves: its language and name, or its text if it has no name."""
    names = tree.outline(path)
    if names is None:
        return None
    return f"{tree.language(path)} {names.name or tree.content(path)[0]}"


def _paths_by_identity(tree: SchemaTree, paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        identity = _identity(tree, path)
        if identity is not None:
            found.setdefault(identity, []).append(path)
    return found


# The interface of a baseline to a check, and the baseline that consists of trees.
#
# For each checked file, a baseline has the earlier versions that it is compared with; it also has the removed files.


class Baseline(Protocol):
    """The source of the earlier versions of schemas."""

    @property
    def label(self) -> str:
        """The baseline's name in reports: ``main@8c1f2e0`` or a registry's address."""

    @property
    def note(self) -> str:
        """A sentence about the baseline for the report; usually empty."""

    @property
    def names_subjects(self) -> bool:
        """Whether it knows files by their subjects, so that a wrong name finds nothing."""

    @property
    def further(self) -> Sequence[Baseline]:
        """The baselines of the further subjects of files that have several; not read unless it knows subjects."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths of the files whose subjects it knows."""

    def subject(self, path: str) -> str | None:
        """Return the subject of the file at ``path`` if the baseline knows subjects; None otherwise."""

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return the baseline's own level for the file at ``path``; None if it has none."""

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return the baseline's own policy for the file at ``path``; None if it has none."""

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema] | None:
        """Return the earlier versions of the file at ``path``, newest first: all, or the newest alone.

        The sequence is empty for a new schema, and None if the baseline does not know which schema the file holds.
        """

    def removed(self) -> Sequence[Removed]:
        """Return the schemas of the baseline that were removed."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed schema file: its path, and the full name of what it declared, empty if it had none."""

    path: str
    name: str


class TreeBaseline:
    """Earlier states of the tree, newest first: commits, a folder, or a single file.

    ``head`` is the tree that is checked; ``is_wanted`` returns for a path of the newest state whether its removal
    matters; ``origin`` has, for the newest state, the file that each file of the head comes from, if paths and names do
    not show it. ``yaml_files`` lists the YAML files of the newest state; it is None where there are none to compare.
    ``past`` is the history of the newest state, None where it has none.
    """

    def __init__(
        self,
        head: SchemaTree,
        states: Iterable[SchemaTree],
        *,
        label: str,
        is_wanted: Callable[[str], bool],
        origin: Mapping[str, str] | None = None,
        note: str = "",
        yaml_files: Callable[[], YamlFiles] | None = None,
        past: Past | None = None,
    ) -> None:
        self.label = label
        self.past = past
        self.yaml_files = yaml_files
        self.note = note
        self.names_subjects = False
        self._head = head
        self._states = tuple(states)
        self._is_wanted = is_wanted
        self._origins: dict[int, Mapping[str, str]] = {} if origin is None else {0: origin}

    @property
    def newest(self) -> SchemaTree | None:
        """The newest state; None without one."""
        return self._states[0] if self._states else None

    @property
    def further(self) -> Sequence[Baseline]:
        """Nothing: trees have files, not subjects."""
        return ()

    @property
    def paths(self) -> Sequence[str]:
        """Nothing: trees have files, not subjects."""
        return ()

    def subject(self, path: str) -> str | None:
        """Return None: trees have files, not subjects."""
        del path
        return None

    def level(self, path: str) -> CompatibilityLevel | None:
        """Return None: trees have no level."""
        del path
        return None

    def policy(self, path: str) -> CompatibilityPolicy | None:
        """Return None: trees have no policy."""
        del path
        return None

    def history(self, path: str, *, is_transitive: bool) -> Sequence[ReadSchema]:
        """Return the distinct earlier contents of the schema at ``path``, newest first; moves are followed by name.

        Of a schema whose newest earlier content is its present one, only that is returned: nothing else is compared.
        """
        unchanged = self._unchanged(path)
        if unchanged is not None:
            return (unchanged,)
        found: dict[tuple[str, ...], ReadSchema] = {}
        for index in range(len(self._states) if is_transitive else min(1, len(self._states))):
            origin = self._origin(index).get(path)
            if origin is not None:
                content = self._states[index].content(origin)
                if content not in found:
                    found[content] = self._states[index].read(origin)
        return tuple(found.values())

    def _unchanged(self, path: str) -> ReadSchema | None:
        """Return the newest earlier version of the schema at ``path`` if nothing changed, without parsing it again."""
        origin = self._origin(0).get(path) if self._states else None
        if origin is None or self._states[0].content(origin) != self._head.content(path):
            return None
        return replace(self._head.read(path), label=self._states[0].label, path=origin)

    def removed(self) -> Sequence[Removed]:
        """Return the wanted files of the newest state that no file of the head comes from."""
        if not self._states:
            return ()
        newest, kept = self._states[0], set(self._origin(0).values())
        gone = (path for path in newest.paths if path not in kept and self._is_wanted(path))
        return tuple(Removed(path, _name(newest, path)) for path in gone)

    def _origin(self, index: int) -> Mapping[str, str]:
        if index not in self._origins:
            self._origins[index] = match_paths(self._head, self._states[index])
        return self._origins[index]


def _name(tree: SchemaTree, path: str) -> str:
    names = tree.outline(path)
    return (names and names.name) or ""


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
