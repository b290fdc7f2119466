"""The samples of ``bridge plan --suggest --sample``: sketches, JSON lines, or the topics of the bridge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.schema.sketch import InvalidSketch, read_sketch
from counterfoil.schema.suggestions.field_counts import counts_of_values, field_counts
from counterfoil.schema.suggestions.samples import Samples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterfoil.schema.bridges.model import BridgeFile
    from counterfoil.schema.sketch import TopicSketch
    from counterfoil.schema.suggestions.field_counts import FieldCounts
    from counterfoil.sdk import Registry
    from counterfoil.sdk.kafka.access import KafkaAccess
    from counterfoil.sdk.registry_options import RegistryAccess

_NEWEST: Final = 10_000
"""How many records of each partition of a topic are read."""


def load_samples(
    names: Iterable[str], file: BridgeFile, *, registry: RegistryAccess, kafka: KafkaAccess | None
) -> Samples:
    """Return the counted values of the bridge's two sides.

    A name is the source's or target's topic, of which the newest records are read, or a file: a sketch of one of the
    two topics, or values of the source (with ``target=`` in front: of the target) as lines of JSON.
    """
    known: dict[str, FieldCounts] = {}
    for name in names:
        side, counts = _sample(name, file, registry, kafka)
        known[side] = counts
    return Samples(known.get("source", {}), known.get("target", {}))


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


def _values(text: str, path: Path) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = []
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
    from counterfoil.converter.sketch.records import SketchOptions
    from counterfoil.converter.sketch.scan import scan_alone

    if kafka is None:
        raise BridgeError(f"The sample {topic} is a topic, which needs --bootstrap-servers")
    cluster = named_cluster(kafka)
    if not cluster.partition_count(topic):
        raise BridgeError(f"The sample {topic} is a topic that does not exist")
    ranges = {number: (max(first, end - _NEWEST), end) for number, (first, end) in cluster.watermarks(topic).items()}
    return scan_alone(cluster, topic, ranges, registry=registry, options=SketchOptions(), say=lambda _line: None)
