"""The result of a compatibility check: differences, by earlier version and direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
    from counterfoil.schema.compatibility.sentences import Sentence
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.place import Steps


@dataclass(frozen=True, slots=True)
class Origin:
    """The declaration that holds the place of a difference on one side, in whichever text that stands.

    ``holder`` names it: an Avro type, a Protobuf message or enum by its full name, a JSON document by the name of the
    reference that supplies it (empty for the schema's own). ``steps`` lead on from there; in a JSON document they are
    one, a JSON pointer. ``is_own`` says whether the schema's own text holds it, and not one that it refers to.
    """

    holder: str
    steps: tuple[str, ...]
    is_own: bool

    def below(self, *steps: str) -> Origin:
        """The place that ``steps`` lead to from this one, inside the same declaration."""
        return Origin(self.holder, (*self.steps, *steps), self.is_own)


Origins: TypeAlias = "tuple[Origin | None, Origin | None]"
"""The origin on the reader's and on the writer's side; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason why a reader cannot read everything that a writer may write.

    ``rule`` is our word for it (``reader-field-missing-default``), ``error_type`` Confluent's
    (``READER_FIELD_MISSING_DEFAULT_VALUE``), ``path`` the place as Confluent counts and spells it
    (``/fields/1/type``), ``detail`` the bare fact that goes with it (the field's name, the missing symbols).
    ``sentence`` says it for people, whatever they call the two sides. ``reader_pointer`` and ``writer_pointer`` are
    JSON pointers of the place in each schema's own text, or of the nearest thing around it. ``steps`` are the steps of
    the path one by one where names in it may hold a ``/`` (JSON Schema, columns of a table); None where there is no
    such path. ``origins`` finds which declarations hold the place, when it is called: most are never asked for.
    ``because`` is the difference further inside that this one comes from, where the sentence names it. ``place`` leads
    to the place in the reader, through references and in names; None where the pointers alone say it.
    """

    rule: str
    error_type: str
    path: str
    detail: str
    sentence: Sentence
    reader_pointer: str = ""
    writer_pointer: str = ""
    steps: tuple[str, ...] | None = None
    origins: Callable[[], Origins] | None = field(default=None, compare=False, repr=False)
    because: Difference | None = None
    place: Steps | None = None

    @property
    def text(self) -> str:
        """The sentence with the two sides called "the reader" and "the writer"."""
        return self.sentence.render()

    @property
    def reader_origin(self) -> Origin | None:
        """The declaration that holds the place on the reader's side; None where that is not known."""
        return self.origins()[0] if self.origins else None

    @property
    def writer_origin(self) -> Origin | None:
        """The same on the writer's side."""
        return self.origins()[1] if self.origins else None


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
