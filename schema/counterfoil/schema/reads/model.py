"""Values of the judgement: offers, readers with the source of what is known of them, and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from counterfoil.schema.paths import KEY, StepKind
from counterfoil.schema.reads.facts import SchemaFacts
from counterfoil.schema.reads.rules import RULE_BY_ID

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from counterfoil.schema.agreements.model import Expectation, Promise
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer
    from counterfoil.schema.position import Position

_K = TypeVar("_K")
_T = TypeVar("_T")
_ACTIVE_DAYS: Final = 7
_STALE_DAYS: Final = 30
_MAX_TEXTS: Final = 50
"""How many declared schemas are remembered for each offer."""


class Origin(IntEnum):
    """The sources of what is known of a reader, by falling trust: a smaller number is more certain."""

    DECLARED = 1
    """In the consumer's own file."""
    RECORDED = 2
    """By the consumer's tests."""
    OBSERVED = 3
    """By the SDK, in one call of many."""
    READER_SCHEMA = 4
    """A reader schema that the consumer registered."""
    LINEAGE = 5
    """The columns that a Spark plan reads."""
    FETCHED = 6
    """Requests for the schema, which name the client: the whole record."""
    GROUP = 7
    """The broker's list of consumer groups: only that the consumer exists."""


class Activity(IntEnum):
    """How long ago a reader was seen: within a week, within 30 days, or longer ago."""

    ACTIVE = 1
    STALE = 2
    GONE = 3


@dataclass(frozen=True, slots=True)
class Reader:
    """A consumer that reads: what it expects, and how that is known.

    ``schema`` is that with which it reads, None where it is not known. ``last_seen`` is None for one never seen.
    """

    application: str
    expectation: Expectation
    origin: Origin = Origin.DECLARED
    last_seen: datetime | None = None
    version: str | None = None
    schema: ParsedSchema | None = None

    def activity(self, now: datetime, *, active_days: int = _ACTIVE_DAYS, stale_days: int = _STALE_DAYS) -> Activity:
        """Return how long ago the reader was seen; one that only declares itself counts as active."""
        if self.last_seen is None:
            return Activity.ACTIVE if self.origin <= Origin.RECORDED else Activity.GONE
        days = (now - self.last_seen).total_seconds() / 86_400
        if days < active_days:
            return Activity.ACTIVE
        return Activity.STALE if days < stale_days else Activity.GONE


class Offer:
    """What a producer offers: the schema of the records' values, and what the contract promises of them."""

    def __init__(
        self, schema: ParsedSchema, promise: Promise | None = None, *, key: ParsedSchema | None = None
    ) -> None:
        self.schema = schema
        self.promise = promise
        self.key_schema = key
        self._found: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
        self._found_by_text: dict[object, Any] = {}

    def once(self, find: Callable[[Offer, _K], _T], other: _K) -> _T:
        """Return the result of ``find`` about this offer and ``other``, an offer or a schema.

        It is found once as long as both exist, since many readers need the same one.
        """
        known = self._found.setdefault(other, {})
        if find not in known:
            known[find] = find(self, other)
        found: _T = known[find]
        return found

    def once_for_text(self, find: Callable[[Offer, ParsedSchema], _T], schema: ParsedSchema) -> _T:
        """Return the result of ``find`` about this offer and a schema of a reader.

        Many readers declare the same schema, each in a text of its own, so that it is found once for each content.
        """
        if not schema.stands_alone:
            return find(self, schema)
        key = (find, schema.schema_type, schema.canonical())
        if key not in self._found_by_text:
            if len(self._found_by_text) >= _MAX_TEXTS:
                self._found_by_text.clear()
            self._found_by_text[key] = find(self, schema)
        found: _T = self._found_by_text[key]
        return found

    def has(self, path: FieldPath) -> bool:
        """Return whether the schema of the values or of the keys has a path; headers have none."""
        first = path[0] if path else None
        if first is not None and first.kind is StepKind.HEADER:
            return True
        facts = self.key_facts if first == KEY else self.facts
        return facts is not None and facts.at(path) is not None

    @cached_property
    def facts(self) -> SchemaFacts:
        """The facts of the value's schema."""
        return SchemaFacts(self.schema)

    @cached_property
    def key_facts(self) -> SchemaFacts | None:
        """The facts of the key's schema; None without one."""
        return None if self.key_schema is None else SchemaFacts(self.key_schema)


class FormerFinding(NamedTuple):
    """What release 0.2.0 reported in the place of a finding: the rule, the path that is read, and the sentence."""

    rule: str
    element: FieldPath
    text: str


@dataclass(frozen=True, slots=True)
class ReadFinding:
    """One finding: the id of its rule, the place, the facts, and one sentence.

    ``element`` is the path that is read, and ``place`` that at which records differ: the same one, one inside it, or
    one around it. ``expected`` and ``written`` are the facts of what the reader expects there and what is written:
    words that do not change with the sentences, such as a type, ``missing``, ``nullable``, ``optional``, ``field 3``,
    or the symbol of an enum. ``pointer`` is the place in the new schema's text, empty where it has none; ``position``
    the place in the consumer's file or in the contract. ``application`` is the consumer that breaks, None for a finding
    about the contract itself. ``lost`` is the path that is lost where the place is on the way to it; None where it is
    the place with all that is inside. ``around`` is the place, and what is written there, because of which a path is
    not there. ``symbol`` is the name of the symbol of an enum that is written, and that the reader does not know.
    ``is_preexisting``: it was so before the change, so that the change is not the cause.
    ``former`` is what release 0.2.0 reported in its place, by which its approvals know it; it is set by the judgement
    of a pair.
    """

    rule: str
    text: str
    element: FieldPath
    place: FieldPath
    expected: str
    written: str
    pointer: Pointer = ()
    position: Position | None = None
    application: str | None = None
    lost: FieldPath | None = None
    around: tuple[FieldPath, str] | None = None
    symbol: str = ""
    is_preexisting: bool = False
    former: FormerFinding | None = field(default=None, compare=False, repr=False)

    @property
    def is_breaking(self) -> bool:
        """Whether the finding breaks: the rule does, and the change is the cause."""
        return RULE_BY_ID[self.rule].is_breaking and not self.is_preexisting

    @property
    def identity(self) -> tuple[object, ...]:
        """What identifies the finding: rule, consumer, the path that is read, the place, and what is written there."""
        return self.rule, self.application, self.element, self.place, self.written
