"""A plan: the wanted state of each subject, the changes that lead to it, and how they are printed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from counterfoil.contracts.deploy.registration import RegistrationEntry, SchemaRegistry
from counterfoil.contracts.findings import CheckReport
from counterfoil.contracts.project.associations import TopicAssociation
from counterfoil.contracts.reports import printable
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.reports.forms import code, plain
from counterfoil.schema.rest.subjects import Config, Mode
from counterfoil.schema.rest.versions import Deletion, VersionNumber
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.sdk.operations import Operation


# The part of a registry client that plans need; ``counterfoil.sdk.Registry`` is one.

_T = TypeVar("_T")


class StateRegistry(SchemaRegistry, Protocol):
    """A registry whose subjects, configs and modes can be read and changed."""

    def subjects(self) -> Sequence[str]:
        """Return the names of all subjects with active versions."""

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return the settings of a subject; with ``default_to_global``, those in effect. Raises ``ConfigNotFound``."""

    def set_config(
        self, subject: str | None, change: Config | CompatibilityLevel | str, *, clear: Iterable[str] = ()
    ) -> Config:
        """Change settings and return the new ones; ``clear`` names those to unset."""

    def delete_config(self, subject: str | None = None) -> Config:
        """Delete the settings of a subject."""

    def set_mode(self, subject: str | None, new: Mode | str | None, *, force: bool = False) -> Mode | None:
        """Set the mode of a subject."""

    def call(self, operation: Operation[_T]) -> _T:
        """Return the result of any operation."""

    def call_all(self, listing: Operation[tuple[_T, ...]], *, page_size: int = 1000) -> tuple[_T, ...]:
        """Return all entries of a listing."""

    def delete_mode(self, subject: str | None = None, *, recursive: bool = False) -> Mode | None:
        """Unset the mode of a subject."""

    def delete_subject(self, subject: str, *, deletion: Deletion = Deletion.SOFT) -> Sequence[int]:
        """Delete a subject."""

    def delete_version(self, subject: str, number: VersionNumber, *, deletion: Deletion = Deletion.SOFT) -> int:
        """Delete a version."""


# What a plan consists of: the wanted state of each subject, and the changes that lead to it.


class PlannedChangeKind(StrEnum):
    """The kind of thing that a change concerns."""

    SCHEMA = "schema"
    LATEST = "latest"
    LEVEL = "level"
    POLICY = "policy"
    MODE = "mode"
    ALIAS = "alias"
    ASSOCIATION = "association"
    OWNER = "managed-by"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One change: ``before`` and ``after`` are the present and the future value; None is nothing.

    For a schema, ``before`` is the latest version and ``after`` the digest of the text and its references; ``path`` is
    its file. ``LATEST`` says that the latest version is another one than that of the file, which registering does not
    change: ``before`` is the latest, ``after`` the version of the file. For an alias, ``subject`` is the alias. An
    association is only ever created, and a subject only ever deleted: ``after`` is None.
    """

    kind: PlannedChangeKind
    subject: str
    before: str | None
    after: str | None
    path: str = ""

    @property
    def can_be_made(self) -> bool:
        """Whether applying a plan makes this change."""
        return self.kind is not PlannedChangeKind.LATEST


@dataclass(frozen=True, slots=True)
class WantedSubject:
    """The wishes of a project for a subject; None: the project does not determine it."""

    level: CompatibilityLevel | None = None
    policy: CompatibilityPolicy | None = None
    mode: Mode | None = None
    aliases: tuple[str, ...] = ()
    associations: tuple[TopicAssociation, ...] = ()
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class StatePlan:
    """The changes in the order in which they are made, those of a subject together.

    ``entries`` are the files in the order of references, ``report`` the verdict on those that are new, and ``wanted``
    the state of each subject. ``kept`` are the subjects that would be deleted if nobody used them, with who does.
    ``notes`` are sentences about files and entries that the plan leaves out.
    """

    registry: str
    changes: tuple[PlannedChange, ...]
    entries: tuple[RegistrationEntry, ...]
    report: CheckReport
    wanted: Mapping[str, WantedSubject] = field(default_factory=dict)
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def unmade(self) -> tuple[RegistrationEntry, ...]:
        """The files that are an earlier version, which applying the plan does not change."""
        return tuple(each for each in self.entries if each.repair)


# A plan as text, Markdown and JSON; the JSON is also the file that ``counterfoil apply`` takes.

SCHEMA_VERSION: Final = 1
_DIGEST_LENGTH: Final = 12


def text_plan(plan: StatePlan) -> str:
    """Return one line for each change, and their number."""
    lines = [printable(f"{_sign(change)} {change.subject}: {_what(change)}") for change in plan.changes]
    lines += [printable(f"= {subject}: kept, since {'; '.join(uses)}") for subject, uses in plan.kept.items()]
    lines += [printable(f"! {each.repair}") for each in plan.unmade]
    lines += [printable(f"note: {each}") for each in plan.notes]
    lines.append(printable(f"{counted(len(plan.changes), 'change')} for {plan.registry}"))
    return "".join(f"{line}\n" for line in lines)


def markdown_plan(plan: StatePlan) -> str:
    """Return the changes as a table in Markdown."""
    lines = [f"### {counted(len(plan.changes), 'change')} for {code(plan.registry)}", ""]
    if plan.changes:
        lines += ["| subject | change |", "|---|---|"]
    lines += [f"| {code(change.subject)} | {plain(_what(change))} |" for change in plan.changes]
    lines += ["", *(f"- {code(subject)} is kept: {plain('; '.join(uses))}" for subject, uses in plan.kept.items())]
    lines += ["", *(f"- {plain(each)}" for each in (*(entry.repair for entry in plan.unmade), *plan.notes))]
    return "".join(f"{line}\n" for line in lines).rstrip("\n") + "\n"


def json_plan(plan: StatePlan) -> str:
    """Return the plan as indented JSON; members are only ever added to this form."""
    return json.dumps(plan_document(plan), indent=2, ensure_ascii=False) + "\n"


def plan_document(plan: StatePlan) -> JsonObject:
    """Return the plan as plain values, which are equal if the plans are."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "plan",
        "registry": plan.registry,
        "changes": [
            {**asdict(change), "kind": str(change.kind), "path": change.path or None} for change in plan.changes
        ],
        **({"repairs": [each.repair for each in plan.unmade]} if plan.unmade else {}),
        **({"notes": list(plan.notes)} if plan.notes else {}),
        **({"kept": {subject: list(uses) for subject, uses in plan.kept.items()}} if plan.kept else {}),
    }


def is_pruning(document: Mapping[str, object]) -> bool:
    """Return whether a plan, as plain values, was made with ``--prune``: it deletes subjects, or keeps some in use."""
    changes = document.get("changes")
    deletes = isinstance(changes, list) and any(
        isinstance(each, dict) and each.get("kind") == PlannedChangeKind.SUBJECT for each in changes
    )
    return deletes or bool(document.get("kept"))


def _sign(change: PlannedChange) -> str:
    if change.before is None:
        return "+"
    return "-" if change.after is None else "~"


def _what(change: PlannedChange) -> str:
    if change.kind is PlannedChangeKind.SUBJECT:
        return "delete the subject, which this project owns and no file has"
    if change.kind is PlannedChangeKind.LATEST:
        return f"the latest is {change.before}, and {change.path} is {change.after}"
    if change.kind is PlannedChangeKind.ASSOCIATION:
        return f"associate it with the {change.after}"
    if change.kind is PlannedChangeKind.SCHEMA:
        what = "a new subject" if change.before is None else f"a new version after {change.before}"
        return f"{what} from {change.path} (sha256 {(change.after or '')[:_DIGEST_LENGTH]})"
    return f"{change.kind} {change.before or 'unset'} → {change.after}"
