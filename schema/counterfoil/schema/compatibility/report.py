"""The result of a compatibility check: differences by earlier version and direction, with their identities."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.compatibility.rules import show
from counterfoil.schema.texts import print_pointer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.policies import CompatibilityLevel, Direction
    from counterfoil.schema.compatibility.rules import CompatibilityRule, Sentence
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.texts import Pointer


# The result of a compatibility check: differences, by earlier version and direction.


@dataclass(frozen=True, slots=True)
class DifferenceOrigin:
    """The declaration that contains the place of a difference on one side.

    ``holder`` is its name: the full name of an Avro type, or of a Protobuf message or enum; for a JSON document the
    name of its reference (empty for the schema's own). ``steps`` lead from there to the place; in a JSON document they
    are its pointer, and ``is_document`` is set. ``is_own`` is whether it is in the schema's own text, and not in a
    referenced one.
    """

    holder: str
    steps: Pointer
    is_own: bool
    is_document: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The holder and the steps as texts; in a document, its pointer is one text."""
        return (self.holder, *([print_pointer(self.steps)] if self.is_document else map(str, self.steps)))

    def below(self, *steps: str) -> DifferenceOrigin:
        """Return the place ``steps`` below this one, inside the same declaration."""
        return DifferenceOrigin(self.holder, (*self.steps, *steps), self.is_own)


@dataclass(eq=False, slots=True)
class Difference:
    """One reason why a reader cannot read everything that a writer may write: a rule, facts, and a place.

    ``kind`` is the rule, ``facts`` fill its sentence by their names; ``gist`` is a template of only those facts that
    identify the difference (the field's name, the missing symbols). The walk of each language has a subclass of its
    own, which has the place in the form of that walk. All other properties (texts, Confluent's path and message, JSON
    pointers) are computed from these at their use, since most differences are only counted. Differences are equal if
    all of these are.
    """

    kind: CompatibilityRule
    facts: Mapping[str, object]
    gist: str

    @property
    def rule(self) -> str:
        """The id of the rule, such as ``reader-field-missing-default``."""
        return self.kind.id

    @property
    def error_type(self) -> str:
        """Confluent's error type, such as ``READER_FIELD_MISSING_DEFAULT_VALUE``."""
        return self.kind.error_type

    @property
    def path(self) -> str:
        """Confluent's path of the place, such as ``/fields/1/type``; empty if it has none."""
        return ""

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of the path as a tuple if names in it may contain a ``/``; else None."""
        return None

    @property
    def detail(self) -> str:
        """The facts that identify it as a text: the field's name, the missing symbols."""
        return self.gist.format_map({name: show(fact) for name, fact in self.facts.items()})

    @property
    def own_facts(self) -> tuple[str, ...]:
        """The facts that distinguish it from others of its rule at its place, as texts."""
        return tuple(show(self.facts[name]) for _, name, _, _ in Formatter().parse(self.gist) if name)

    @property
    def sentence(self) -> Sentence:
        """The sentence that describes it, in which the names of the two sides can be chosen."""
        return self.kind.about(self.facts)

    @property
    def text(self) -> str:
        """The sentence with the two sides called "the reader" and "the writer"."""
        return self.sentence.render()

    @property
    def because(self) -> Difference | None:
        """The inner difference that causes this one, if the sentence names it; else None."""
        return None

    @property
    def origin_key(self) -> object:
        """What is the same for one difference that is found along several ways; by default, the difference itself."""
        return self

    @property
    def reader_pointer(self) -> Pointer:
        """The pointer of the place in the reader's own text, or of its nearest ancestor there."""
        return ()

    @property
    def writer_pointer(self) -> Pointer:
        """The pointer of the place in the writer's own text, or of its nearest ancestor there."""
        return ()

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader: names, also through references."""
        return ()

    @property
    def writer_path(self) -> FieldPath:
        """The steps to the place in the writer: names, also through references."""
        return self.reader_path

    @property
    def element(self) -> FieldPath:
        """The path that names the difference: the place in the reader, or in the writer if that is more precise."""
        return self.reader_path

    @property
    def reader_origin(self) -> DifferenceOrigin | None:
        """The declaration that contains the place on the reader's side; None if it is not known."""
        return None

    @property
    def writer_origin(self) -> DifferenceOrigin | None:
        """The declaration that contains the place on the writer's side; None if it is not known."""
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
    """An earlier version to compare with. ``version`` is None if versions have no numbers (a file in git)."""

    schema: ParsedSchema
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """The breaking differences of the candidate and one earlier version, in one direction."""

    earlier: Earlier
    direction: Direction
    reader: ParsedSchema
    writer: ParsedSchema
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class CompatibilityReport:
    """The verdict on a candidate. ``checked`` is the number of earlier versions that were compared."""

    level: CompatibilityLevel
    failures: tuple[Failure, ...] = ()
    checked: int = 0

    @property
    def is_compatible(self) -> bool:
        """Whether there is no breaking difference."""
        return not self.failures


# What identifies a difference between two schemas, so that it is known again after a change elsewhere.

Identity: TypeAlias = "str | Sequence[Identity] | None"
"""Facts that identify a finding: texts, and lists of them."""


def identity_of(difference: Difference) -> Identity:
    """Return what identifies a difference: the names on the path to its place, and its facts.

    The place inside a type that another file declares begins with the type's name. The difference further inside that
    causes this one is a part of it.
    """
    origin = difference.reader_origin
    inside = origin.names if origin is not None and not origin.is_own else ()
    inner = difference.because
    because = (inner.rule, identity_of(inner)) if inner is not None else ()
    return names_of(difference.element), difference.steps or (), inside, difference.own_facts, because


def names_of(path: FieldPath) -> Identity:
    """Return what identifies a place in a schema: the names of its steps."""
    return [(kind.value, name) for kind, name in path]


def without_message(path: FieldPath, schema: ParsedSchema) -> FieldPath:
    """Return the path without the name of the message with which the paths of differences in Protobuf begin."""
    name = (schema.name or "").rpartition(".")[2]
    return path[1:] if path and path[0].name == name and not schema.has_field_of_its_name else path
