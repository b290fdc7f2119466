"""The result of a compatibility check: differences, by earlier version and direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
    from counterfoil.schema.formats.protocol import ParsedSchema
    from counterfoil.schema.place import Steps


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why a reader cannot read everything that a writer may write.

    ``rule`` is our word for it (``reader-field-missing-default``), ``error_type`` Confluent's
    (``READER_FIELD_MISSING_DEFAULT_VALUE``), ``path`` the place as Confluent counts it (``/fields/1/type``), ``detail``
    the bare fact that goes with it (the field's name, the missing symbols). ``text`` is one sentence for people; in it
    the two sides are called "the reader" and "the writer". ``reader_pointer`` and ``writer_pointer`` are JSON pointers
    of the place in each schema's own text, or of the nearest thing around it. ``place`` are the steps that lead to the
    place in the reader, through references; empty for the whole schema, None where the pointers alone say it.
    """

    rule: str
    error_type: str
    path: str
    detail: str
    text: str
    reader_pointer: str = ""
    writer_pointer: str = ""
    place: Steps | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version to judge against. ``version`` is None where the history has no numbers (a file in git)."""

    schema: ParsedSchema
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One earlier version that the candidate breaks with, in one direction."""

    earlier: Earlier
    direction: Direction
    reader: ParsedSchema
    writer: ParsedSchema
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class CompatibilityReport:
    """The verdict on a candidate. ``checked`` counts the earlier versions that were looked at."""

    level: CompatibilityLevel
    failures: tuple[Failure, ...] = ()
    checked: int = 0

    @property
    def is_compatible(self) -> bool:
        """Whether nothing was found."""
        return not self.failures
