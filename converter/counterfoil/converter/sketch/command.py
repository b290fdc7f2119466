"""``counterfoil sketch``: which offsets are read by which engine, what is printed, and samples for suggestions."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.schema.datum import JsonObject
from counterfoil.schema.exit_codes import ExitCode
from counterfoil.schema.plans.suggest import CountedSamples
from counterfoil.schema.plans.value_counts import FieldCounts, counts_of_values, field_counts
from counterfoil.schema.sampling import FORMS, read_moment_ms
from counterfoil.schema.sketch import (
    InvalidSketch,
    PartSketch,
    PlaceSketch,
    SchemaSketch,
    TopicSketch,
    read_sketch,
    write_sketch,
)
from counterfoil.schema.sketch.document import sketch_document
from counterfoil.schema.sketch.model import print_place
from counterfoil.sdk import Registry
from counterfoil.sdk.commands import STANDARD_OUTPUT

if TYPE_CHECKING:
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.converter.sketch.scan import SketchOptions
    from counterfoil.schema.plans.bridge import BridgeFile
    from counterfoil.sdk.commands.options import RegistryAccess
    from counterfoil.sdk.kafka import KafkaAccess


# The function of ``counterfoil sketch``: which offsets are read, by which engine, and what is printed.

_RANGE: Final = re.compile(r"(\d+):(\d*)-(\d*)")
_SHOWN_SYMBOLS: Final = 6


@dataclass(frozen=True, slots=True)
class SketchRequest:
    """What is read, and how: the arguments of the command.

    ``ranges`` are texts such as ``0:100-200``, ``since`` a moment or an age. ``key_subject`` and ``value_subject`` are
    None for the subjects that are named after the topic. ``publishes``: the registry stores the sketch.
    """

    topic: str
    ranges: tuple[str, ...] = ()
    since: str | None = None
    engine: str = "spark"
    key_subject: str | None = None
    value_subject: str | None = None
    jars: Path | None = None
    master: str | None = None
    out: Path | None = None
    publishes: bool = False
    as_json: bool = False


def sketch_topic(
    request: SketchRequest, options: SketchOptions, *, registry: RegistryAccess, kafka: KafkaAccess | None
) -> ExitCode:
    """Run ``counterfoil sketch``. The exit code is CANNOT_SAY if no record could be read."""
    from counterfoil.converter.kafka.cluster import named_cluster

    cluster = named_cluster(kafka)
    ranges = _ranges(cluster, request)
    started = time.monotonic()
    counted = _scan(request, options, registry, cluster, ranges)
    took_s = time.monotonic() - started
    sketch = replace(
        counted,
        topic=request.topic,
        offsets=ranges,
        share=options.share,
        key_subject=request.key_subject or f"{request.topic}-key",
        value_subject=request.value_subject or f"{request.topic}-value",
    )
    if request.publishes:
        _publish(sketch, registry)
    _write(request, sketch, took_s)
    return ExitCode.OK if sketch.key.records or sketch.value.records else ExitCode.CANNOT_SAY


def _scan(
    request: SketchRequest,
    options: SketchOptions,
    registry: RegistryAccess,
    cluster: Cluster,
    ranges: dict[int, tuple[int, int]],
) -> TopicSketch:
    from counterfoil.converter.sketch.scan import scan_alone, scan_with_spark

    client = registry.open()
    with client:
        if request.engine == "python":
            return scan_alone(cluster, request.topic, ranges, registry=client, options=options, say=_say)
        from counterfoil.converter.spark.options import SparkOptions
        from counterfoil.converter.spark.start import short_session

        with short_session(SparkOptions(request.master, request.jars), prefix="counterfoil-sketch-") as spark:
            total = sum(end - first for first, end in ranges.values())
            _say(f"reading {total:,} offsets of {len(ranges)} partitions with Spark")
            return scan_with_spark(
                spark, cluster.spark_options(), request.topic, ranges, registry=client, options=options
            )


def _publish(sketch: TopicSketch, access: RegistryAccess) -> None:
    """Store the sketch of the keys and that of the values, each with its subject, if there are any records."""
    from counterfoil.sdk import operations

    parts = (
        (sketch.key_subject, replace(sketch, value=PartSketch(), value_subject="")),
        (sketch.value_subject, replace(sketch, key=PartSketch(), key_subject="")),
    )
    with access.open() as registry:
        for subject, part in parts:
            if part.key.records or part.value.records:
                registry.call(operations.put_sketch(subject, sketch_document(part)))
                _say(f"sketch of {subject} stored in the registry")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _ranges(cluster: Cluster, request: SketchRequest) -> dict[int, tuple[int, int]]:
    """Return the offsets to read, by partition."""
    if not cluster.partition_count(request.topic):
        raise BridgeError(f"The cluster {cluster.bootstrap_servers} has no topic {request.topic}")
    bounds = cluster.watermarks(request.topic)
    if request.since is not None:
        first = cluster.offsets_since(request.topic, _moment_ms(request.since))
        bounds = {number: (max(low, first[number]), high) for number, (low, high) in bounds.items()}
    if not request.ranges:
        return bounds
    return dict(_limited(each, bounds, request.topic) for each in request.ranges)


def _limited(text: str, bounds: dict[int, tuple[int, int]], topic: str) -> tuple[int, tuple[int, int]]:
    match = _RANGE.fullmatch(text)
    if match is None:
        raise click.UsageError(f"--offsets is {text!r}; expected PARTITION:FROM-TO, such as 0:100-200 or 1:5000-")
    partition = int(match[1])
    if partition not in bounds:
        raise click.UsageError(f"--offsets {text}: topic {topic} has {len(bounds)} partitions, counted from 0")
    low, high = bounds[partition]
    first, end = max(low, int(match[2] or low)), min(high, int(match[3] or high))
    return partition, (min(first, end), end)


def _moment_ms(text: str) -> int:
    try:
        return read_moment_ms(text, now_s=time.time())
    except ValueError:
        raise click.UsageError(f"--since is {text!r}; expected {FORMS}") from None


def _write(request: SketchRequest, sketch: TopicSketch, took_s: float) -> None:
    if str(request.out) == STANDARD_OUTPUT:
        click.echo(write_sketch(sketch), nl=False)
        return
    if request.out is not None:
        try:
            request.out.write_text(write_sketch(sketch), encoding="utf-8")
        except OSError as refusal:
            raise BridgeError(f"The sketch cannot be written to {request.out}: {refusal.strerror}") from None
    if request.as_json:
        click.echo(json.dumps(sketch_document(sketch), ensure_ascii=False))
        return
    for line in _lines(sketch):
        click.echo(line)
    looked_at = sum(part.records + part.nulls + part.unread for _, part in sketch.parts()) // 2
    written = f"; written to {request.out}" if request.out is not None else ""
    click.echo(f"{looked_at:,} records in {took_s:.1f} s{written}")


def _lines(sketch: TopicSketch) -> Iterator[str]:
    sample = f", a sample of {sketch.share:.2%} of the records" if sketch.is_sample else ""
    yield f"topic {sketch.topic}{sample}"
    for word, (subject, part) in zip(("key", "value"), sketch.parts(), strict=True):
        if part.records or part.unread:
            yield from _part_lines(word, subject, part)


def _part_lines(word: str, subject: str, part: PartSketch) -> Iterator[str]:
    problems = "".join(f", {count:,} {kind}" for kind, count in sorted(part.problems.items()))
    yield f"{word}s, subject {subject}: {part.records:,} read, {part.nulls:,} null{problems}"
    for name, schema in sorted(part.by_writer.items()):
        uncertain = f", {schema.uncertain:,} with more than their fields show" if schema.uncertain else ""
        yield f"  schema id {name} ({schema.writer.schema_type}): {schema.records:,} records{uncertain}"
        yield from _table(schema)
        if schema.depth is not None:
            yield f"    places with more than {schema.depth} steps were left out, since there were too many"


def _table(schema: SchemaSketch) -> list[str]:
    rows = [_row(print_place(place), each, schema.records) for place, each in sorted(schema.places.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(4)] if rows else []
    return [
        "    " + "  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()
        for row in rows
    ]


def _row(place: str, sketch: PlaceSketch, records: int) -> Sequence[str]:
    share = f"{sketch.records / records:.1%}" if records else ""
    nulls = f"{sketch.nulls / sketch.values:.1%} null" if sketch.nulls else ""
    return place, sketch.kind, f"{sketch.values:,} values in {share}", nulls, _said(sketch)


def _said(sketch: PlaceSketch) -> str:
    """Return what a place holds: its range, its lengths, its symbols, its types."""
    said: list[str] = []
    if sketch.is_hidden:
        said.append("hidden")
    if sketch.least is not None and sketch.most is not None:
        said.append(f"{_instant(sketch.kind, sketch.least)} to {_instant(sketch.kind, sketch.most)}")
    if sketch.shortest is not None:
        said.append(f"length {sketch.shortest} to {sketch.longest}")
    if sketch.symbols:
        common = sorted(sketch.symbols.items(), key=lambda each: (-each[1], each[0]))
        shown = ", ".join(
            f"{json.dumps(text, ensure_ascii=False)} {count:,}" for text, count in common[:_SHOWN_SYMBOLS]
        )
        more = len(common) - _SHOWN_SYMBOLS
        said.append(f"{shown}{f' and {more} more' if more > 0 else ''}")
    if sketch.branches:
        said.append(", ".join(f"{name} {count:,}" for name, count in sorted(sketch.branches.items())))
    return "; ".join(said)


_UNITS: Final = {"date": 86_400.0, "millis": 1e-3, "micros": 1e-6, "nanos": 1e-9}


def _instant(kind: str, number: float) -> str:
    """Return a number, or the time that it is by the logical type of its place."""
    logical = kind.rpartition(" ")[2]
    unit = _UNITS.get(logical) or _UNITS.get(logical.rpartition("-")[2] if "timestamp" in logical else "")
    if unit is None:
        return f"{number:,}"
    try:
        moment = datetime.fromtimestamp(number * unit, UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return f"{number:,}"
    return moment.date().isoformat() if logical == "date" else moment.isoformat(timespec="milliseconds")


# The samples of ``bridge plan --suggest --sample``: sketches, JSON lines, or the topics of the bridge.

_NEWEST: Final = 10_000
"""How many records of each partition of a topic are read."""


def load_samples(
    names: Iterable[str], file: BridgeFile, *, registry: RegistryAccess, kafka: KafkaAccess | None
) -> CountedSamples:
    """Return the counted values of the bridge's two sides.

    A name is the source's or target's topic, of which the newest records are read, or a file: a sketch of one of the
    two topics, or values of the source (with ``target=`` in front: of the target) as lines of JSON.
    """
    known: dict[str, FieldCounts] = {}
    for name in names:
        side, counts = _sample(name, file, registry, kafka)
        known[side] = counts
    return CountedSamples(known.get("source", {}), known.get("target", {}))


def _sample(
    name: str, file: BridgeFile, registry: RegistryAccess, kafka: KafkaAccess | None
) -> tuple[str, FieldCounts]:
    side = {file.source_topic: "source", file.target_topic: "target"}.get(name)
    if side is not None and not Path(name).exists():
        with registry.open() as client:
            return side, _of_sketch(_scanned(name, client, kafka), side, file)
    named, _, rest = name.partition("=")
    path = Path(rest if named in {"source", "target"} else name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as refusal:
        topics = f"{file.source_topic} or {file.target_topic}"
        raise BridgeError(
            f"The sample {path} is neither the topic {topics}, nor can it be read: {why_unreadable(refusal)}"
        ) from None
    try:
        sketch = read_sketch(text)
    except InvalidSketch as invalid:
        if '"sketchVersion"' in text:
            raise BridgeError(f"The sample {path} cannot be read: {invalid}") from None
        side = named if named in {"source", "target"} else "source"
        return side, counts_of_values(_values(text, path))
    side = {file.source_topic: "source", file.target_topic: "target"}.get(sketch.topic)
    if side is None:
        raise BridgeError(
            f"The sample {path} is a sketch of {sketch.topic}; expected one of {file.source_topic} or "
            f"{file.target_topic}"
        )
    return side, _of_sketch(sketch, side, file)


def _of_sketch(sketch: TopicSketch, side: str, file: BridgeFile) -> FieldCounts:
    return field_counts(sketch.value, file.source_message if side == "source" else file.target_message)


def _values(text: str, path: Path) -> list[JsonObject]:
    values: list[JsonObject] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as invalid:
            raise BridgeError(f"The sample {path}, line {number}, is no JSON: {invalid}") from None
        if not isinstance(value, dict):
            raise BridgeError(f"The sample {path}, line {number}, is {line[:40]!r}; expected an object for each line")
        values.append(value)
    return values


def _scanned(topic: str, registry: Registry, kafka: KafkaAccess | None) -> TopicSketch:
    """Return the sketch of the newest records of a topic."""
    from counterfoil.converter.kafka.cluster import named_cluster
    from counterfoil.converter.sketch.scan import SketchOptions, scan_alone

    if kafka is None:
        raise BridgeError(f"The sample {topic} is a topic, which needs --bootstrap-servers")
    cluster = named_cluster(kafka)
    if not cluster.partition_count(topic):
        raise BridgeError(f"The sample {topic} is a topic that does not exist")
    ranges = {number: (max(first, end - _NEWEST), end) for number, (first, end) in cluster.watermarks(topic).items()}
    return scan_alone(cluster, topic, ranges, registry=registry, options=SketchOptions(), say=lambda _line: None)
