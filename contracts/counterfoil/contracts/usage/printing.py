"""The use of a subject, and what is in a topic, as text, as JSON and as Markdown."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from counterfoil.contracts.reports.text import printable
from counterfoil.schema.counting import counted
from counterfoil.schema.reports.markdown import code, plain
from counterfoil.schema.rest.topic_stats import TOPIC_STATS
from counterfoil.schema.rest.verdicts import CONSUMER, FIELD_USE
from counterfoil.sdk.commands.output import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.contracts.usage.subject import SubjectUsage
    from counterfoil.schema.rest.topic_stats import TopicStats
    from counterfoil.schema.rest.verdicts import Consumer, FieldUse

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
