"""The use of a subject: who reads it, who reads each of its fields, and which fields nobody reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from counterfoil.contracts.baselines.registry import read_version
from counterfoil.contracts.errors import NotKnown, UsageMistake
from counterfoil.contracts.generating.fields import paths_of
from counterfoil.contracts.usage.known_fields import nearest, require_field
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.paths import InvalidPath, parse_path
from counterfoil.schema.rest.usage import WHOLE_RECORD
from counterfoil.schema.rest.verdicts import FieldUse
from counterfoil.sdk import operations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.rest.verdicts import Consumer
    from counterfoil.sdk.client import Registry


class Selection(Enum):
    """Which fields and consumers are of interest."""

    ALL = "all"
    UNUSED = "unused"
    """Fields that nobody reads."""
    STALE = "stale"
    """Consumers that were not seen for long, and the fields that only these read."""


@dataclass(frozen=True, slots=True)
class SubjectUsage:
    """Who reads a subject, in one environment or, for None, in all; ``path`` is empty for all fields.

    ``fields`` are those of the latest version, and others that are read; one without consumers is read by nobody.
    """

    subject: str
    version: int
    environment: str | None
    path: str
    consumers: tuple[Consumer, ...]
    fields: tuple[FieldUse, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where declarations and observations do not agree; without any observation there is nothing to compare."""
        is_observed = any(each.last_seen is not None for each in self.consumers)
        return tuple(self._warnings()) if is_observed else ()

    def _warnings(self) -> Iterator[str]:
        for each in self.consumers:
            if each.origin != "declared":
                yield f"{each.application} was seen to read {self.subject}, and declares nothing"
            elif each.last_seen is None:
                yield f"{each.application} declares that it reads {self.subject}, and was never seen to"


def usage_of(
    registry: Registry, operand: str, *, environment: str | None = None, selection: Selection = Selection.ALL
) -> SubjectUsage:
    """Return the use of ``SUBJECT[.PATH]``.

    Raises ``NotKnown`` if the registry has no such subject, no such environment, or no version with such a field.
    """
    subject, version, path = _found(registry, operand)
    wanted = _steps(path)
    consumers = registry.call(operations.consumers(subject, environment=environment))
    read = registry.call(operations.read_fields(subject, environment=environment))
    if environment is not None and not any(environment in each.environments for each in consumers):
        _require_environment(registry, environment)
    require_field(registry, subject, wanted, read=[each.path for each in read])
    fields = [each for each in (*read, *_unread(registry, subject, version, read)) if _overlap(each.path, wanted)]
    if path and not fields:
        fields = [FieldUse(path, ())]  # a field of an earlier version, of the key, or inside of a union
    if selection is Selection.UNUSED:
        fields = [each for each in fields if not each.consumers]
    elif selection is Selection.STALE:
        consumers = tuple(each for each in consumers if _is_stale(each))
        fields = [each for each in fields if each.consumers and all(map(_is_stale, each.consumers))]
    ordered = tuple(sorted(fields, key=lambda each: each.path))
    return SubjectUsage(subject, version, environment, path, tuple(consumers), ordered)


def _found(registry: Registry, operand: str) -> tuple[str, int, str]:
    """Return the subject, its latest version and the path: both may have dots, so that the longest subject counts.

    A topic stands for the subject of its values.
    """
    parts = operand.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for subject in (name, f"{name}-value"):
            try:
                return subject, max(registry.versions(subject)), ".".join(parts[length:])
            except SubjectNotFound:
                continue
    known = registry.subjects()
    topics = [each.removesuffix("-value") for each in known]
    alike = nearest(operand, dict.fromkeys((*topics, *known)))
    raise NotKnown(f"The registry has neither a subject {operand!r} nor one with a field of this name{alike}")


def _require_environment(registry: Registry, environment: str) -> None:
    """Raise ``NotKnown`` for an environment that does not exist: nobody is live there."""
    known = [each.name for each in registry.call(operations.environments())]
    if environment not in known:
        raise NotKnown(f"The registry has no environment {environment!r}{nearest(environment, known)}")


def _unread(registry: Registry, subject: str, version: int, read: tuple[FieldUse, ...]) -> Iterator[FieldUse]:
    """Yield the fields of a version that nobody reads: none if somebody may read the whole record."""
    if any(each.path == WHOLE_RECORD for each in read):
        return
    schema = read_version(registry, subject, version).schema
    known = [parse_path(each.path) for each in read]
    for path in paths_of(schema) if schema is not None else ():
        if path != WHOLE_RECORD and not any(_overlap(path, steps) for steps in known):
            yield FieldUse(path, ())


def _overlap(path: str, steps: FieldPath) -> bool:
    """Return whether one of two paths is the other, or contains it; the whole record contains all."""
    if path == WHOLE_RECORD:
        return True
    own = parse_path(path)
    length = min(len(own), len(steps))
    return own[:length] == steps[:length]


def _steps(path: str) -> FieldPath:
    try:
        return parse_path(path) if path else ()
    except InvalidPath as mistake:
        raise UsageMistake(f"{path!r} is no path of a field: {mistake}") from None


def _is_stale(consumer: Consumer) -> bool:
    return consumer.activity in {"stale", "gone"}
