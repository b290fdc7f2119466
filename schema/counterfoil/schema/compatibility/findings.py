"""Compatibility rules as data, differences and their report, and witnesses, which prove a difference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Final, Literal, Self, TypeAlias

from counterfoil.schema.caches import cached_if_short
from counterfoil.schema.compatibility import CompatibilityLevel, CompatibilityPolicy, Direction
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.texts import Pointer, print_pointer

# Sentences about a reader and a writer, stored as values and rendered when they are printed.
#
# A sentence is a template and the facts that fill it. "The reader" and "the writer" in a template are placeholders of
# the two sides, and each caller that prints the sentence chooses their names. These words are never replaced in facts
# (names, texts, values of a schema).

Fact: TypeAlias = "str | tuple[str, ...] | Sentence"

_SIDE: Final = re.compile(r"\b([Tt])he (reader|writer)('s)?\b")


@dataclass(frozen=True, slots=True)
class SideNames:
    """The names of the reader and the writer, each in the plain form and as a possessive (``the reader's``)."""

    reader: str
    writer: str
    readers: str
    writers: str


PLAIN_NAMES: Final = SideNames("the reader", "the writer", "the reader's", "the writer's")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template for ``str.format``, and its facts: texts, tuples of texts, and sentences that continue it."""

    template: str
    facts: tuple[tuple[str, Fact], ...] = ()

    @classmethod
    def of(cls, template: str, facts: Mapping[str, object]) -> Self:
        """Return the sentence of ``template`` and ``facts``; facts other than sentences and tuples become texts."""
        return cls(template, tuple((name, _as_fact(fact)) for name, fact in facts.items()))

    def fact(self, name: str) -> Fact | None:
        """Return the fact named ``name``; None if there is none."""
        return next((fact for known, fact in self.facts if known == name), None)

    def render(self, names: SideNames = PLAIN_NAMES, *, is_start: bool = True) -> str:
        """Return the text, with ``names`` for the two sides.

        If ``is_start`` is false, the first letter of the template is in lower case; a fact at the start is unchanged.

        >>> sentence = Sentence.of("The reader lacks {name}", {"name": "the writer"})
        >>> sentence.render(SideNames("this schema", "that one", "this schema's", "that one's"), is_start=False)
        'this schema lacks the writer'
        """
        return "".join(self._rendered(names, is_start=is_start))

    def __str__(self) -> str:
        return self.render()

    def _rendered(self, names: SideNames, *, is_start: bool) -> Iterable[str]:
        fact_by_name = dict(self.facts)
        for index, piece in enumerate(_pieces(self.template)):
            if piece.fact is not None:
                yield _show(fact_by_name[piece.fact], names, is_start=is_start and index == 0)
            else:
                text: str = piece.text if piece.side is None else getattr(names, piece.side)
                is_capital = piece.is_capital and (is_start or index > 0)
                yield _with_first(text, is_capital=is_capital) if piece.side or index == 0 else text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a template: a text, the name of a side (a member of :class:`SideNames`), or the name of a fact."""

    text: str = ""
    side: str | None = None
    fact: str | None = None
    is_capital: bool = False


@cached_if_short(1024, longest=2_000)
def _pieces(template: str) -> tuple[_Piece, ...]:
    pieces: list[_Piece] = []
    for literal, fact, _, _ in Formatter().parse(template):
        pieces += _of_literal(literal)
        if fact is not None:
            pieces.append(_Piece(fact=fact))
    return tuple(pieces)


def _of_literal(literal: str) -> Iterable[_Piece]:
    end = 0
    for found in _SIDE.finditer(literal):
        if found.start() > end:
            yield _of_text(literal[end : found.start()])
        yield _Piece(side=f"{found[2]}s" if found[3] else found[2], is_capital=found[1] == "T")
        end = found.end()
    if end < len(literal):
        yield _of_text(literal[end:])


def _of_text(text: str) -> _Piece:
    return _Piece(text=text, is_capital=text[:1].isupper())


def _with_first(text: str, *, is_capital: bool) -> str:
    first = text[:1]
    return (first.upper() if is_capital else first.lower()) + text[1:]


def _as_fact(fact: object) -> Fact:
    return fact if isinstance(fact, Sentence | tuple) else str(fact)


def show(fact: object) -> str:
    """Return a fact as a text; the items of a tuple are joined with commas."""
    return ", ".join(fact) if isinstance(fact, tuple) else str(fact)


def _show(fact: Fact, names: SideNames, *, is_start: bool) -> str:
    return fact.render(names, is_start=is_start) if isinstance(fact, Sentence) else show(fact)


# A compatibility rule as data. Pair walks find the places where it applies; reports, pages and tests read the tables.
#
# Each language has its table in ``languages/<language>/compare/rules.py``;
# :mod:`counterfoil.schema.languages.rules` joins them.

ALWAYS: Final = frozenset(CompatibilityPolicy)
"""All policies: the rule breaks under every one."""
NEVER: Final[frozenset[CompatibilityPolicy]] = frozenset()
"""No policy: the difference is reported and breaks no reader."""


@dataclass(frozen=True, slots=True)
class CompatibilityRule:
    """One kind of difference between a writer and a reader.

    ``id`` is this project's name of the rule and unique across all languages. ``schema_type`` is the language (None:
    all of them). ``error_type`` is Confluent's name (empty if the reference has none). ``breaks`` are the policies
    under which the reader cannot read everything. ``sentence`` is the template of a
    :class:`Sentence`. ``why`` is what goes wrong with the records (or why
    nothing does), and ``fix`` how to correct it (empty: nothing needs to be corrected). ``forward_fix`` is the
    advice where the reader is deployed already and cannot be changed (empty: that of the language).
    ``promises_witness`` is whether every finite place of this rule has a datum that a decoder refuses or misreads; some
    checks are stricter than decoders, such as those of the names of records. ``is_of_change``: the rule is about what
    a later schema takes away from the one before, whatever is read; it does not break where the later one writes.
    ``of_side`` (``reader`` or ``writer``): the rule is about a fault of that schema alone, which counts while the
    schema is the one that is judged, and no longer when it is an earlier version.

    Each rule has a folder named after its id under ``tests/rules/`` with the schemas ``previous`` and ``current`` and
    the expected findings. The rule's page in the docs shows these schemas as its example.
    """

    id: str
    schema_type: SchemaType | None
    error_type: str
    sentence: str
    why: str
    fix: str = ""
    forward_fix: str = ""
    breaks: frozenset[CompatibilityPolicy] = ALWAYS
    promises_witness: bool = True
    is_of_change: bool = False
    of_side: str = ""

    @property
    def page(self) -> str:
        """The path of the rule's page below ``docs/reference/``."""
        folder = self.schema_type.value.lower() if self.schema_type else "logical"
        return f"rules/{folder}/{self.id}.md"

    def about(self, facts: Mapping[str, object]) -> Sentence:
        """Return the rule's sentence with these facts."""
        return Sentence.of(self.sentence, facts)


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


# The results of searches for witnesses and of confirmations.

SCHEMA_UNDECIDED: Final = "schema-undecided"
CONSUMER_UNDECIDED: Final = "consumer-undecided"
"""The rules of comparisons of a schema, and of what a consumer reads, that did not end within their limits."""
BEYOND_LIMITS: Final = "none was found within the limits of a search"
"""The reason of a search that has no steps left."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A datum that the writer may write and the reader cannot read, confirmed with a decoder of another project.

    ``datum_json`` is the datum as plain JSON: a union's value has no type name, bytes are text in which each character
    is one byte. ``body`` is the value of a message without framing: Avro binary, a Protobuf message, or JSON in UTF-8.
    ``stop`` is the place at which the reader stops and why; ``confirmed_by`` has the decoder's name and its error.
    """

    datum_json: str
    body: bytes
    stop: Sentence
    confirmed_by: str

    @property
    def step(self) -> str:
        """The place at which the reader stops and why, with the two sides called "the reader" and "the writer"."""
        return self.stop.render(is_start=False)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The result of writing generated values with the writer's schema and reading them with the reader's.

    ``round_tripped`` is the number of values that were read as they were written. ``counter_witness`` is the first that
    was not: it proves a verdict "compatible" wrong. ``reason`` is why fewer values than requested were read although
    nothing contradicts the verdict: the decoder refuses the schemas, or there are no more values of a limited size.
    """

    round_tripped: int
    counter_witness: Witness | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.counter_witness is not None:
            return f"value {self.round_tripped + 1} is not read as it was written: {self.counter_witness.confirmed_by}"
        return f"{self.round_tripped} values were written and read" + (f"; {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class NoWitness:
    """The result of a search without a witness: the number of data ``tried``, and the ``reason``. It is falsy."""

    tried: int
    reason: str

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"no witness found ({self.tried} tried): {self.reason}"
