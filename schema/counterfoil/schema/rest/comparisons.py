"""Two schemas side by side, and bytes with what wrote them: values of ``/inspect/v1`` and of the pages.

The JSON of these values is that of this project's own API under ``/inspect/v1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from counterfoil.schema.rest.inspection import ReaderRow, ReferenceName, VersionName
from counterfoil.schema.rest.object_forms import form_of

# Operands of a comparison.


@dataclass(frozen=True, slots=True)
class Operand:
    """One side of a comparison: a version, or a draft (``version`` None), with its text and its language."""

    subject: str
    schema_type: str
    schema: str
    version: int | None = None
    registered: int | None = None
    references: tuple[ReferenceName, ...] = ()


OPERAND: Final = form_of(Operand)

# The changes between two schemas, with their places in both.


@dataclass(frozen=True, slots=True)
class PlacedChange:
    """One change: ``kind`` and ``path`` as ``counterfoil diff`` has them, with places in both laid-out texts.

    ``sign`` is ``+``, ``-`` or ``~``. The lines (from 1) are None for a side without the element. ``came_in`` is the
    version that made the change, None where the two sides are not versions of one subject. ``breaks`` are the
    directions in which a finding of the policy in force has the change's place: ``backward``, ``forward``.
    """

    sign: str
    kind: str
    path: str
    text: str
    earlier: str | None = None
    later: str | None = None
    earlier_line: int | None = None
    later_line: int | None = None
    earlier_pointer: str = ""
    later_pointer: str = ""
    came_in: int | None = None
    breaks: tuple[str, ...] = ()


PLACED_CHANGE: Final = form_of(PlacedChange)

# Verdicts by policy and direction, and findings with the records that prove them.


class CellAnswer(StrEnum):
    """What is known of one direction under one policy."""

    READS = "reads"
    BREAKS = "breaks"
    UNDECIDED = "undecided"
    """The comparison ended at its limits."""
    IMPOSSIBLE = "impossible"
    """The two are not of one language, or too deep to be compared."""


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """One cell of the grid of policies and directions.

    ``direction`` is ``backward`` (the later schema reads the earlier one's records) or ``forward``. ``findings`` is
    the number of reasons against it. ``proof`` says what shows the answer: ``200 values were written and read``, or why
    fewer; empty if nothing was tried.
    """

    policy: str
    direction: str
    answer: CellAnswer
    findings: int = 0
    proof: str = ""
    in_force: bool = False


VERDICT_CELL: Final = form_of(VerdictCell)


@dataclass(frozen=True, slots=True)
class ShownWitness:
    """A record that proves a finding.

    ``datum`` is what the writer writes, as JSON; ``body`` its bytes in hexadecimal digits, without framing; ``stop``
    where the reader stops and why; ``confirmed_by`` the decoder of another project with its error.
    """

    datum: str
    body: str
    stop: str
    confirmed_by: str


SHOWN_WITNESS: Final = form_of(ShownWitness)


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """One reason why one side cannot read what the other writes.

    ``policies`` are those of the grid under which it counts. The lines (from 1) and pointers are in the laid-out texts
    of the reader and the writer. ``no_witness`` says why there is no ``witness``. ``readers`` are applications whose
    contracts read its place. ``also_at`` are further paths at which the same cause is met, such as the other fields of
    one type; ``also_left`` is the number of those that are not listed.
    """

    rule: str
    direction: str
    sentence: str
    path: str
    policies: tuple[str, ...]
    reader_line: int | None = None
    writer_line: int | None = None
    reader_pointer: str = ""
    writer_pointer: str = ""
    fix: str = ""
    witness: ShownWitness | None = None
    no_witness: str = ""
    readers: tuple[ReaderRow, ...] = ()
    also_at: tuple[str, ...] = ()
    also_left: int = 0


PLACED_FINDING: Final = form_of(PlacedFinding)


@dataclass(frozen=True, slots=True)
class LevelAnswer:
    """Whether a level would accept the later schema after the history: ``refused_by`` is the version that stops it."""

    level: str
    accepted: bool | None
    refused_by: int | None = None
    direction: str = ""
    in_force: bool = False


LEVEL_ANSWER: Final = form_of(LevelAnswer)


@dataclass(frozen=True, slots=True)
class SchemaComparison:
    """Two schemas compared: verdicts, levels, changes, findings.

    ``note`` is the sentence for what makes the rest empty: equal texts, different languages, schemas too deep.
    ``witnesses_left`` are the findings for which no witness was searched for; ``at_seq`` is the number of the last
    change of the registry that the answer rests on.
    """

    earlier: Operand
    later: Operand
    policy: str
    level: str
    cells: tuple[VerdictCell, ...]
    levels: tuple[LevelAnswer, ...]
    changes: tuple[PlacedChange, ...]
    findings: tuple[PlacedFinding, ...]
    note: str = ""
    changes_left: int = 0
    findings_left: int = 0
    witnesses_left: int = 0
    at_seq: int = 0


SCHEMA_COMPARISON: Final = form_of(SchemaComparison)


@dataclass(frozen=True, slots=True)
class DraftFault:
    """Why a draft is no schema: a sentence, with line and column from 1 where they are known."""

    message: str
    line: int | None = None
    column: int | None = None
    pointer: str = ""


DRAFT_FAULT: Final = form_of(DraftFault)


@dataclass(frozen=True, slots=True)
class DraftVerdict:
    """What would happen if a draft were registered: nothing is written.

    ``fault`` is why it is no schema; then the rest is empty. ``known`` is the version that has the text already;
    ``next_version`` the number it would get, ``accepted`` whether it would be accepted, None if that is not decided;
    ``reasons`` are the messages of the refusal. ``readers`` are the applications that it would break.
    """

    subject: str
    schema_type: str
    fault: DraftFault | None = None
    accepted: bool | None = None
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    known: VersionName | None = None
    next_version: int | None = None
    canonical: str = ""
    comparison: SchemaComparison | None = None
    readers: tuple[ReaderRow, ...] = ()
    advice: tuple[str, ...] = ()


DRAFT_VERDICT: Final = form_of(DraftVerdict)

# Decoded bytes.


class FrameKind(StrEnum):
    """How bytes name the schema that wrote them."""

    ID = "id"
    """A zero byte and a schema id of four bytes."""
    GUID = "guid"
    """A one byte and a GUID."""
    HEADER = "header"
    """A header of the record."""
    SINGLE_OBJECT = "single-object"
    """Avro's single-object encoding: two bytes and a fingerprint."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DecodedNode:
    """Some bytes and what they mean: the bytes ``first`` to ``end`` (exclusive) of what was given.

    ``path`` is the field path, ``type`` the type in words, ``value`` the value as JSON (None for a node that only has
    parts); ``is_masked``: the field has a tag for personal data, and the value is shown on demand.
    """

    first: int
    end: int
    path: str
    type: str
    value: str | None = None
    depth: int = 0
    is_masked: bool = False


DECODED_NODE: Final = form_of(DecodedNode)


@dataclass(frozen=True, slots=True)
class DecodingFault:
    """Where decoding stopped: at a byte, in an element, with what was expected there."""

    offset: int
    path: str
    expected: str
    message: str


DECODING_FAULT: Final = form_of(DecodingFault)


@dataclass(frozen=True, slots=True)
class ReaderView:
    """What a reader's schema makes of the same bytes: the value as JSON, or why it cannot be read.

    With a value, ``fault`` says what of it is not as it was written. ``path`` is the element that the fault is about.
    """

    subject: str
    version: int
    value: str | None = None
    fault: str = ""
    path: str = ""


READER_VIEW: Final = form_of(ReaderView)


@dataclass(frozen=True, slots=True)
class DecodedBytes:
    """Bytes as a schema reads them.

    ``hexadecimal`` are all bytes in hexadecimal digits; ``frame`` how they name their schema; ``writers`` the versions
    with that schema; ``candidates`` the versions that read all bytes, where no frame names one. ``rest`` is the number
    of bytes that are left over. ``nodes_left`` were decoded and are not listed.
    """

    hexadecimal: str
    frame: FrameKind
    schema_type: str = ""
    id: int | None = None
    guid: str = ""
    writers: tuple[VersionName, ...] = ()
    nodes: tuple[DecodedNode, ...] = ()
    value: str | None = None
    fault: DecodingFault | None = None
    rest: int = 0
    nodes_left: int = 0
    candidates: tuple[VersionName, ...] = ()
    reader: ReaderView | None = None


DECODED_BYTES: Final = form_of(DecodedBytes)
