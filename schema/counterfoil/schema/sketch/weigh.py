"""Weighing findings with the records of a topic: which findings they cannot trigger.

A finding says that some record that a writer may write cannot be read. Whether a topic has such a record is another
question, which a sketch answers: none, at most a number of them, or not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final, Protocol

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.model import SchemaType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.sketch.model import SchemaSketch


@dataclass(frozen=True, slots=True)
class Count:
    """How many records trigger a finding: at most ``most``, and with ``is_exact`` so many."""

    most: int
    is_exact: bool = False


class Questions(Protocol):
    """The questions that a language's rules put to a sketch."""

    def counts(
        self, reader: ParsedSchema, writer: ParsedSchema, differences: Sequence[Difference], sketch: SchemaSketch
    ) -> Sequence[Count | None]:
        """Return, for each difference, how many of the records in ``sketch`` trigger it; None if it is not known.

        If the result is zero for all differences of a policy that misses none, the reader reads every record.
        """


@dataclass(frozen=True, slots=True)
class Weight:
    """How many records of one schema trigger one finding; ``count`` is None if it is not known."""

    difference: Difference
    count: Count | None

    @property
    def is_harmless(self) -> bool:
        """Whether none of the records triggers the finding."""
        return self.count is not None and self.count.most == 0


def weigh(
    reader: ParsedSchema,
    writer: ParsedSchema,
    sketch: SchemaSketch,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
) -> tuple[Weight, ...]:
    """Return each finding about ``reader`` reading what ``writer`` writes, with how many records trigger it.

    ``sketch`` is that of records of ``writer``. A finding of a schema of another language is of no rule, and there is
    none in the result. Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    if reader.schema_type is not writer.schema_type:
        return ()
    found = format_for(reader.schema_type).find_differences(reader, writer, policy=policy)
    if not found:
        return ()
    questions: Questions = import_module(_MODULE_BY_LANGUAGE[reader.schema_type])
    counts = questions.counts(reader, writer, found, sketch)
    return tuple(Weight(difference, _limited(count, sketch)) for difference, count in zip(found, counts, strict=True))


def _limited(count: Count | None, sketch: SchemaSketch) -> Count | None:
    """Return a count of values as one of records; a record may have several values at one place."""
    if not sketch.records:
        return Count(0, is_exact=True)
    if count is None or (count.most == 0 and sketch.uncertain):
        return None
    return Count(min(count.most, sketch.records), count.is_exact)


_MODULE_BY_LANGUAGE: Final[Mapping[SchemaType, str]] = {
    SchemaType.AVRO: "counterfoil.schema.sketch.avro_questions",
    SchemaType.PROTOBUF: "counterfoil.schema.sketch.protobuf_questions",
    SchemaType.JSON: "counterfoil.schema.sketch.json_questions",
}
