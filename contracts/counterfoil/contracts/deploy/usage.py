"""The use of a subject: who reads it and each of its fields, read from files or a registry, and printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.baselines.operands import read_version
from counterfoil.contracts.errors import NotKnown, PreconditionFailed, UsageMistake
from counterfoil.contracts.reports import printable
from counterfoil.contracts.values.fields import nearest, paths_of, require_field
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.errors import SubjectNotFound
from counterfoil.schema.paths import FieldPath, InvalidPath, parse_path
from counterfoil.schema.reports.forms import code, plain
from counterfoil.schema.rest.observations import TOPIC_STATS, WHOLE_RECORD, TopicStats, UsageOrigin
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE, Consumer, FieldUse
from counterfoil.schema.texts import counted
from counterfoil.sdk import operations
from counterfoil.sdk.commands import aligned

if TYPE_CHECKING:
    from pathlib import Path

    from counterfoil.sdk.client import Registry


# Files of observed reads: batches of the SDK as lines of JSON, and events of OpenLineage.

_KAFKA: Final = "kafka"


def read_batches(path: Path) -> list[JsonObject]:
    """Return the batches in a file, one or more lines of JSON; raise ``PreconditionFailed`` for another content.

    An event of OpenLineage (1.0, with the facet ``columnLineage`` of its outputs) becomes a batch of the topics that it
    reads, with the origin ``lineage``.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # texts in JSON may have other line ends
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise PreconditionFailed(f"{path} cannot be read: {problem}") from None
    batches: list[JsonObject] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            batches += _batches(line, f"{path}:{number}")
    return batches


def _batches(line: str, place: str) -> Iterator[JsonObject]:
    try:
        document = json.loads(line)
    except ValueError as error:
        raise PreconditionFailed(f"{place} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise PreconditionFailed(f"{place} is not a JSON object; expected a batch of usage, or an OpenLineage event")
    if document.get("kind") == "usage" and "reads" in document:
        yield document
    elif isinstance(document.get("job"), dict) and isinstance(document.get("inputs"), list):
        try:
            yield from list(_of_lineage(document))
        except (AttributeError, KeyError, TypeError) as error:
            raise PreconditionFailed(f"{place} is not an event of OpenLineage: {error!r}") from None
    else:
        raise PreconditionFailed(f"{place} is neither a batch of usage nor an OpenLineage event")


def _of_lineage(event: JsonObject) -> Iterator[JsonObject]:
    """Yield the batch of an OpenLineage event; none if it reads no topic."""
    topics = [each["name"] for each in event["inputs"] if str(each.get("namespace", "")).startswith(_KAFKA)]
    paths: dict[str, dict[str, int]] = {topic: {} for topic in topics}
    for output in event.get("outputs") or ():
        lineage = (output.get("facets") or {}).get("columnLineage") or {}
        used = [each for column in (lineage.get("fields") or {}).values() for each in column.get("inputFields") or ()]
        for each in (*used, *(lineage.get("dataset") or ())):
            if each.get("name") in paths:
                paths[each["name"]][each["field"]] = 1
    reads = [{"subject": f"{topic}-value", "paths": found or {"*": 1}} for topic, found in paths.items()]
    if reads:
        when = {"to": event["eventTime"]} if "eventTime" in event else {}
        yield {"application": event["job"]["name"], "origin": UsageOrigin.LINEAGE.value, "reads": reads, **when}


# The use of a subject: who reads it, who reads each of its fields, and which fields nobody reads.


class UsageSelection(Enum):
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
    registry: Registry, operand: str, *, environment: str | None = None, selection: UsageSelection = UsageSelection.ALL
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
    if selection is UsageSelection.UNUSED:
        fields = [each for each in fields if not each.consumers]
    elif selection is UsageSelection.STALE:
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


# The use of a subject, and what is in a topic, as text, as JSON and as Markdown.

SCHEMA_VERSION: Final = 1
_CONSUMERS: Final = ("application", "version", "known by", "first seen", "last seen", "activity", "live in")
_COUNTS: Final = ("schema id", "records", "subject", "version")


def text_usage(usage: SubjectUsage) -> str:
    """Return the consumers, the fields with who reads each, warnings, and a last line with the counts."""
    lines = [*aligned([_CONSUMERS, *map(_row, usage.consumers)]), ""] if usage.consumers else []
    lines += aligned([(each.path, _readers(each)) for each in usage.fields])
    lines += [f"warning: {each}" for each in usage.warnings]
    return "".join(f"{printable(line)}\n" for line in [*lines, _summary(usage)])


def markdown_usage(usage: SubjectUsage) -> str:
    """Return the same as Markdown, with a table of each."""
    parts = [f"### Who reads {code(usage.subject)}", ""]
    if usage.consumers:
        parts += [*_markdown_table(_CONSUMERS, [_row(each) for each in usage.consumers]), ""]
    if usage.fields:
        rows = [(each.path, _readers(each)) for each in usage.fields]
        parts += [*_markdown_table(("field", "read by"), rows), ""]
    parts += [f"- {plain(each)}" for each in usage.warnings]
    return "\n".join([*parts, plain(_summary(usage)), ""])


def json_usage(usage: SubjectUsage) -> str:
    """Return the same as indented JSON; times are epoch milliseconds."""
    document = {
        "schemaVersion": SCHEMA_VERSION,
        "kind": "usage",
        "subject": usage.subject,
        "version": usage.version,
        "environment": usage.environment,
        "path": usage.path,
        "consumers": [CONSUMER.write(each) for each in usage.consumers],
        "fields": [FIELD_USE.write(each) for each in usage.fields],
        "warnings": list(usage.warnings),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def text_topic(stats: TopicStats) -> str:
    """Return the schema ids of a topic with their counts, and a last line."""
    lines = aligned([_COUNTS, *_counts(stats)]) if stats.schemas else []
    return "".join(f"{printable(line)}\n" for line in [*lines, _topic_summary(stats)])


def markdown_topic(stats: TopicStats) -> str:
    """Return the same as Markdown."""
    rows = [f"### What is in {code(stats.topic)}", "", *_markdown_table(_COUNTS, _counts(stats)), ""]
    return "\n".join([*rows, plain(_topic_summary(stats)), ""])


def json_topic(stats: TopicStats) -> str:
    """Return the same as indented JSON, as the registry has it."""
    document = {"schemaVersion": SCHEMA_VERSION, "kind": "topic", **TOPIC_STATS.write(stats)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _row(consumer: Consumer) -> tuple[str, ...]:
    return (
        consumer.application,
        consumer.version,
        consumer.origin,
        _day(consumer.first_seen),
        _day(consumer.last_seen),
        consumer.activity or "never seen",
        ", ".join(consumer.environments),
    )


def _readers(field: FieldUse) -> str:
    return "; ".join(map(_reader, field.consumers)) or "nobody"


def _reader(consumer: Consumer) -> str:
    seen = "never seen" if consumer.last_seen is None else f"last seen {_day(consumer.last_seen)}"
    return f"{consumer.application} {consumer.version}".strip() + f" ({consumer.origin}, {seen})"


def _counts(stats: TopicStats) -> list[tuple[str, ...]]:
    return [
        (str(each.schema_id), str(each.count), each.subject or "", "" if each.version is None else str(each.version))
        for each in stats.schemas
    ]


def _summary(usage: SubjectUsage) -> str:
    where = "" if usage.environment is None else f" in {usage.environment}"
    unread = sum(not each.consumers for each in usage.fields)
    fields = f"{counted(len(usage.fields), 'field')}, {unread} without a known reader"
    return f"{usage.subject} version {usage.version}{where}: {counted(len(usage.consumers), 'consumer')}; {fields}"


def _topic_summary(stats: TopicStats) -> str:
    sample = "all records" if stats.is_complete else "a sample"
    oldest = "" if stats.oldest_version is None else f", oldest version {stats.oldest_version}"
    return (
        f"{stats.topic}: {counted(stats.records, 'record')} counted on {_day(stats.counted_ts)} ({sample}), "
        f"{counted(stats.tombstones, 'tombstone')}, {stats.undecodable} that cannot be read{oldest}"
    )


def _day(ts: int | None) -> str:
    return "" if not ts else datetime.fromtimestamp(ts / 1000, UTC).date().isoformat()


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(plain, row))} |"
