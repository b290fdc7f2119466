"""A registry as the baseline: the active versions of the subject that each file belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from counterfoil.contracts.tree import Problem, ReadSchema
from counterfoil.schema.compatibility.policies import rules_policy
from counterfoil.schema.errors import ConfigNotFound, InvalidSchema, SchemaParseError, SubjectNotFound
from counterfoil.schema.parsed import Validation
from counterfoil.schema.parsing import parse_schema
from counterfoil.schema.references import resolved_references

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterfoil.contracts.baseline import Removed
    from counterfoil.contracts.subjects import Subjects
    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.model import Schema
    from counterfoil.schema.rest.versions import RegisteredSchema, VersionNumber


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
        return ReadSchema(label, label, texts, problem=Problem(error.problem, error.position))
    except InvalidSchema as error:
        return ReadSchema(label, label, texts, problem=Problem(error.message))
    return ReadSchema(label, label, texts, schema, references=references)
