"""How many records of a topic trigger a finding, as the sketch of the topic shows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from counterfoil.contracts.findings import TopicRecords
from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.parsed import ParsedSchema, Validation
from counterfoil.schema.texts import counted

if TYPE_CHECKING:
    from counterfoil.schema.sketch import PartSketch, SchemaSketch, TopicSketch, WriterSchema
    from counterfoil.schema.sketch.model import Count


# How many records of a topic trigger a finding, as the sketch of the topic shows it.


@dataclass(frozen=True, slots=True)
class SketchedTopics:
    """The sketches that findings are weighed with.

    With ``ignores_untriggered``, a finding that no record triggers is a notice, and one that only records of a schema
    trigger which was not compared is an error.
    """

    sketches: tuple[TopicSketch, ...]
    ignores_untriggered: bool = False

    def find_part(self, subject: str, schema: ParsedSchema) -> tuple[PartSketch, TopicSketch] | None:
        """Return the keys or values of a subject; if no sketch has it, the ones of a record with the same name."""
        parts = [(name, part, sketch) for sketch in self.sketches for name, part in reversed(sketch.parts())]
        for name, part, sketch in parts:
            if name == subject:
                return part, sketch
        for _, part, sketch in parts:
            if schema.name and any(_is_named_alike(each, schema) for each in part.by_writer.values()):
                return part, sketch
        return None

    def weigh(
        self,
        subject: str,
        schema: ParsedSchema,
        *,
        policy: CompatibilityPolicy,
        fingerprint: Callable[[Difference], str],
    ) -> WeighedSchema | None:
        """Return the schema weighed with the records of its subject; None if no sketch has them."""
        found = self.find_part(subject, schema)
        if found is None:
            return None
        part, sketch = found
        return WeighedSchema(schema, part, policy=policy, fingerprint=fingerprint, is_sample=sketch.is_sample)


@dataclass(frozen=True, slots=True)
class Unreported:
    """A finding about records of the topic that the comparison with the earlier versions does not have.

    ``writer`` is the id of their schema, ``count`` how many of them trigger it; None if it is not known.
    """

    writer: str
    records: int
    difference: Difference
    count: Count | None

    @property
    def text(self) -> str:
        """The finding in a sentence."""
        written = f"{counted(self.records, 'record', spec=',')} in the topic {'was' if self.records == 1 else 'were'}"
        said = self.difference.sentence.render(is_start=False)
        return f"{written} written with schema id {self.writer}, which was not compared: {said}; {_count_text(self)}"


def _count_text(found: Unreported) -> str:
    if found.count is None:
        return "the sketch cannot say how many of them cannot be read"
    return f"{'' if found.count.is_exact else 'at most '}{found.count.most:,} of them cannot be read"


class WeighedSchema:
    """One schema that is checked, weighed with the records of its subject."""

    def __init__(
        self,
        schema: ParsedSchema,
        part: PartSketch,
        *,
        policy: CompatibilityPolicy,
        fingerprint: Callable[[Difference], str],
        is_sample: bool,
    ) -> None:
        self._part = part
        self._is_sample = is_sample
        self._counts: dict[str, list[Count | None]] = {}
        self._found: list[tuple[str, Unreported]] = []
        self._unknown = 0
        self.total = part.records
        from counterfoil.schema.sketch import weigh

        for name, sketch in part.by_writer.items():
            try:
                weights = weigh(schema, _parsed(sketch.writer), sketch, policy=policy)
            except InvalidSchema:
                self._unknown += sketch.records
                continue
            for weight in weights:
                known_as = fingerprint(weight.difference)
                self._counts.setdefault(known_as, []).append(weight.count)
                self._found.append((known_as, Unreported(name, sketch.records, weight.difference, weight.count)))

    def records(self, fingerprint: str, *, is_known: bool) -> TopicRecords:
        """Return how many records trigger a finding.

        If not ``is_known``, it is not only about the records of this schema, and the sketch cannot say.
        """
        total, unread = self.total, self._part.unread + self._unknown
        counts = self._counts.get(fingerprint, [])
        if not is_known or self._unknown or None in counts:
            return TopicRecords(None, total, unread=unread, is_sample=self._is_sample)
        known = [each for each in counts if each is not None]
        triggering = min(sum(each.most for each in known), total)
        is_exact = all(each.is_exact for each in known)
        return TopicRecords(triggering, total, is_exact=is_exact, unread=unread, is_sample=self._is_sample)

    def unreported(self, reported: Collection[str]) -> Iterator[Unreported]:
        """Yield the findings that some records trigger, once each, but none with one of these fingerprints."""
        seen: set[str] = set()
        for fingerprint, found in self._found:
            is_harmless = found.count is not None and found.count.most == 0
            if fingerprint not in reported and fingerprint not in seen and not is_harmless:
                seen.add(fingerprint)
                yield found


@cache
def _parsed(writer: WriterSchema) -> ParsedSchema:
    return parse_schema(writer.text, writer.schema_type, references=writer.references, validation=Validation.LENIENT)


def _is_named_alike(sketch: SchemaSketch, schema: ParsedSchema) -> bool:
    try:
        return sketch.writer.schema_type is schema.schema_type and _parsed(sketch.writer).name == schema.name
    except InvalidSchema:
        return False
