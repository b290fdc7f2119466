"""The result of a compatibility check: differences, by earlier version and direction."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING

from counterfoil.schema.compatibility.sentences import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.compatibility.sentences import Sentence
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath


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
        """Return the place that ``steps`` lead to from this one, inside the same declaration."""
        return Origin(self.holder, (*self.steps, *steps), self.is_own)


@dataclass(eq=False, slots=True)
class Difference:
    """One reason why a reader cannot read everything that a writer may write: a rule, facts, and a place.

    ``kind`` is the rule, ``facts`` fill its sentence by their names; ``gist`` is a template of those facts alone that
    tell what it is about (the field's name, the missing symbols). The walk of each language makes differences of a
    class of its own, which knows the place as the walk met it. Everything else (texts, Confluent's path and message,
    JSON pointers) is worked out from these when it is asked for, since most differences are only counted. Differences
    are equal where all of that is.
    """

    kind: CompatibilityRule
    facts: Mapping[str, object]
    gist: str

    @property
    def rule(self) -> str:
        """Our word for it, such as ``reader-field-missing-default``."""
        return self.kind.id

    @property
    def error_type(self) -> str:
        """Confluent's word for it, such as ``READER_FIELD_MISSING_DEFAULT_VALUE``."""
        return self.kind.error_type

    @property
    def path(self) -> str:
        """The place as Confluent counts and spells it, such as ``/fields/1/type``; empty where it names none."""
        return ""

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of the path one by one, where names in it may hold a ``/``; else None."""
        return None

    @property
    def detail(self) -> str:
        """The bare fact that goes with it: the field's name, the missing symbols."""
        return self.gist.format_map({name: show(fact) for name, fact in self.facts.items()})

    @property
    def own_facts(self) -> tuple[str, ...]:
        """The facts that tell it from others of its rule at its place, one by one."""
        return tuple(show(self.facts[name]) for _, name, _, _ in Formatter().parse(self.gist) if name)

    @property
    def sentence(self) -> Sentence:
        """What it says to people, whatever they call the two sides."""
        return self.kind.about(self.facts)

    @property
    def text(self) -> str:
        """The sentence with the two sides called "the reader" and "the writer"."""
        return self.sentence.render()

    @property
    def because(self) -> Difference | None:
        """The difference further inside that this one comes from, where the sentence names it."""
        return None

    @property
    def reader_pointer(self) -> str:
        """The JSON pointer of the place in the reader's own text, or of the nearest thing around it."""
        return ""

    @property
    def writer_pointer(self) -> str:
        """The same in the writer's text."""
        return ""

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader, in names and through references."""
        return ()

    @property
    def writer_path(self) -> FieldPath:
        """The same in the writer."""
        return self.reader_path

    @property
    def element(self) -> FieldPath:
        """What the difference is called after: the place in the reader, or in the writer where that says more."""
        return self.reader_path

    @property
    def reader_origin(self) -> Origin | None:
        """The declaration that holds the place on the reader's side; None where that is not known."""
        return None

    @property
    def writer_origin(self) -> Origin | None:
        """The same on the writer's side."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Difference) and self._renderings() == other._renderings()

    def __hash__(self) -> int:
        return hash((self.kind.id, self.path, self.detail))

    def _renderings(self) -> tuple[object, ...]:
        pointers = (self.reader_pointer, self.writer_pointer)
        return (self.kind.id, self.path, self.detail, self.sentence, self.element, self.because, *pointers)


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
