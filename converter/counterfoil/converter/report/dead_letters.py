"""Examples of dead letters for a report, in which values are hidden unless they are requested, and tagged ones always.

A dead letter holds its original, and the sentence of its reason may quote a value: both are hidden.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.protocol import KEY
from counterfoil.converter.kafka import origins as headers
from counterfoil.converter.kafka.origins import last_value, written_by
from counterfoil.converter.messages.table import make_reader, pack
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.table import resolved_references
from counterfoil.schema.model import ResolvedReference, Schema
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.plans import ConversionError, spelt_as_yaml
from counterfoil.schema.plans.casts import readable
from counterfoil.schema.plans.model import ConversionPlan
from counterfoil.schema.plans.tree import tree_of
from counterfoil.schema.sketch.model import DEFAULT_TAGS, WriterSchema, hidden_fields
from counterfoil.schema.texts import excerpt
from counterfoil.schema.wire import ID_PREFIX_BYTES

if TYPE_CHECKING:
    from counterfoil.converter.bridge import ResolvedBridge
    from counterfoil.converter.kafka.cluster import Cluster
    from counterfoil.sdk import Registry


HIDDEN: Final = "(hidden)"
_EXAMPLES: Final = 3
_TAIL: Final = 2000
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Example:
    """One dead letter: the place of its original, the field of its reason, its size; value and text if shown."""

    partition: int
    offset: int
    field: str
    size: int
    value: str = HIDDEN
    text: str = HIDDEN


@dataclass(slots=True)
class DeadLetters:
    """The dead letters at the end of a topic: counts by code, and a few examples of each. ``records`` were read."""

    records: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Example]] = field(default_factory=dict)


class Values:
    """Shows the values of a bridge's source without those of tagged fields.

    ``hidden_by_id`` has the names of tagged fields for each writer's schema id; None: everything is tagged.
    """

    def __init__(self, plan: ConversionPlan, read: Datum, hidden_by_id: Mapping[int, frozenset[str] | None]) -> None:
        self._plan = plan
        self._read = read
        self._hidden_by_id = hidden_by_id
        self._tree = tree_of(plan.source)

    def shown(self, value: bytes | None) -> str:
        """Return a value as text; ``HIDDEN`` if it cannot be read, or if it might be the value of a tagged field."""
        writer_id = _writer_id(value)
        hidden = self._hidden_by_id.get(writer_id)
        if value is None or hidden is None:
            return HIDDEN
        try:
            found = self._read(writer_id, value, ID_PREFIX_BYTES)
        except ConversionError:
            return HIDDEN
        if not hidden <= set(_names(found)):  # the tag is of a record's type, or of a field with an earlier name
            return HIDDEN
        return excerpt(spelt_as_yaml(_without(readable(self._tree, found), hidden)), _LONGEST)

    def text(self, value: bytes | None, where: str, text: str) -> str:
        """Return the sentence of a reason; ``HIDDEN`` if it may quote a tagged field, or is about a key."""
        if where.partition(".")[0] == KEY:
            return HIDDEN
        hidden = self._hidden_by_id.get(_writer_id(value))
        if hidden is None or (hidden and self.shown(value) == HIDDEN):
            return HIDDEN
        rows = [row for row in self._plan.described if where == row.target or where.startswith(f"{row.target}.")]
        used = {name for row in rows for name in re.findall(r"\w+", f"{row.target} {row.source}")}
        return HIDDEN if hidden and (not rows or used & hidden) else excerpt(text, _LONGEST)


def values_of(bridge: ResolvedBridge, registry: Registry) -> Values:
    """Return what shows the values of a bridge; tags are those of the writers' schemas in the registry."""
    from counterfoil.sdk import Visibility

    subject, tagged = bridge.file.source_subject, {}
    for schema_id, version in bridge.version_by_id.items():
        schema = registry.version(subject, version, visibility=Visibility.WITH_DELETED).schema
        references = resolved_references(
            schema, lambda each: registry.version(each.subject, each.version, visibility=Visibility.WITH_DELETED).schema
        )
        tagged[schema_id] = tagged_names(bridge.writer_by_id[schema_id], schema, references)
    newest = tagged[bridge.newest_id]
    hidden = {each: None if own is None or newest is None else own | newest for each, own in tagged.items()}
    packed = {each: pack(schema) for each, schema in bridge.writer_by_id.items()}
    return Values(bridge.plan, make_reader(pack(bridge.plan.source), packed), hidden)


def tagged_names(
    parsed: ParsedSchema, schema: Schema, references: tuple[ResolvedReference, ...] = ()
) -> frozenset[str] | None:
    """Return the names of the fields of a schema that are tagged PII; None if all of it is."""
    by_path = schema.metadata.tags if schema.metadata is not None else {}
    writer = WriterSchema(schema.schema_type, schema.text, references)
    found = hidden_fields(parsed, writer, tags=DEFAULT_TAGS, by_path=by_path)
    return None if found.is_all else found.names | {path.rpartition(".")[2] for path in found.paths}


def _writer_id(value: bytes | None) -> int:
    framed = value is not None and value[:1] == b"\x00" and len(value) >= ID_PREFIX_BYTES
    return int.from_bytes(value[1:ID_PREFIX_BYTES]) if framed and value is not None else -1


def _names(value: Datum) -> Iterator[str]:
    """Yield the names of all fields in a value."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _names(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _names(inner)


def _without(value: Datum, hidden: frozenset[str]) -> Datum:
    if isinstance(value, dict):
        return {name: HIDDEN if name in hidden else _without(inner, hidden) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without(inner, hidden) for inner in value]
    return value


def read_dead_letters(bridge: ResolvedBridge, cluster: Cluster, values: Values | None) -> DeadLetters:
    """Return the latest dead letters of a bridge; without ``values``, all of them are hidden."""
    topic = bridge.file.dead_letter_topic
    tails = {number: (max(first, end - _TAIL), end) for number, (first, end) in cluster.watermarks(topic).items()}
    return collect(cluster.read(topic, tails), bridge=bridge.file.name, source=bridge.file.source_topic, values=values)


def collect(messages: Iterable[Datum], *, bridge: str, source: str, values: Values | None) -> DeadLetters:
    """Return the dead letters of a bridge among ``messages``."""
    found = DeadLetters()
    for message in messages:
        own = message.headers() or []
        origin = written_by(own, bridge=bridge, topic=source)
        if origin is None:
            continue
        code, where, text = (
            (last_value(own, name) or b"").decode(errors="replace")
            for name in (headers.ERROR, headers.ERROR_FIELD, headers.ERROR_TEXT)
        )
        found.records += 1
        found.counts[code] += 1
        kept = found.examples.setdefault(code, [])
        if len(kept) < _EXAMPLES:
            value = message.value()
            shown = (HIDDEN, HIDDEN) if values is None else (values.shown(value), values.text(value, where, text))
            kept.append(Example(origin.partition, origin.offset, where, len(value or b""), *shown))
    return found
