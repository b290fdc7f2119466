"""Values of the judgement: facts of fields, offers, readers with their judgements, findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from counterfoil.schema.agreements import RULE_BY_ID, Expectation, Promise
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import KEY, FieldPath, PathNotFound, Step, StepKind, resolve_path
from counterfoil.schema.plans.tree import (
    ArrayType,
    Leaf,
    MapType,
    Node,
    NotPlannable,
    NullType,
    Opaque,
    RecordField,
    RecordType,
    UnionType,
    tree_of,
)
from counterfoil.schema.texts import Pointer, Position

# What a schema of any language says of the field at a path: its logical types, and whether it may be missing.
#
# Source of the logical types: Open Data Contract Standard 3.2.0, ``logicalType``; ``bytes`` is added to them.

_INTEGERS: Final = frozenset({"int", "long", "uint32", "uint64"})
_TYPES_BY_WORD: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_INTEGERS, frozenset({"integer", "number"})),
    **dict.fromkeys(("float", "double", "number", "decimal", "big-decimal"), frozenset({"number"})),
    "boolean": frozenset({"boolean"}),
    **dict.fromkeys(("string", "enum", "uuid", "duration"), frozenset({"string"})),
    **dict.fromkeys(("bytes", "fixed"), frozenset({"bytes"})),
    "base64": frozenset({"bytes", "string"}),
    "date": frozenset({"date"}),
    "full-date": frozenset({"date", "string"}),
    "date-time": frozenset({"timestamp", "string"}),
}
_MOMENTS: Final = frozenset({"date", "time", "timestamp"})


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """The facts about a field.

    ``types`` has the logical types of each branch, None where the schema does not determine its types; ``words``
    describe the type. ``may_be_missing``: null is permitted, or a record without the field or the things around it;
    ``is_optional``: null is permitted, or the field may be left out, where the things around it are present;
    ``may_be_absent`` and ``may_be_null`` tell the two apart. ``symbols`` are the symbols of an enum. ``pointer`` is the
    place of the field in the schema's text.
    """

    types: tuple[frozenset[str], ...] | None = None
    words: str = "of an unknown type"
    may_be_missing: bool = False
    may_be_null: bool = False
    may_be_absent: bool = False
    symbols: tuple[str, ...] | None = None
    pointer: Pointer = ()

    @property
    def is_optional(self) -> bool:
        """Whether there may be no value although the record around the field is there."""
        return self.may_be_null or self.may_be_absent

    def may_be(self, logical_type: str) -> bool:
        """Return whether a value may have the logical type; numbers and texts may stand for dates and times."""
        return self.types is None or any(_fits(each, logical_type) for each in self.types)

    def is_always(self, logical_type: str) -> bool:
        """Return whether every value but null has the logical type."""
        return self.types is None or all(_fits(each, logical_type) for each in self.types)


_UNKNOWN: Final = FieldFacts()


class SchemaFacts:
    """The facts of one schema; its tree of types is read once, and each path that exists is resolved once."""

    def __init__(self, schema: ParsedSchema) -> None:
        self.schema = schema
        self._root: Node | None = None
        self._found: dict[FieldPath, FieldFacts] = {}
        try:
            self._root = tree_of(schema)
        except NotPlannable:  # such as a Protobuf file without messages: only whether a path exists is known
            self._root = None

    def at(self, path: FieldPath) -> FieldFacts | None:
        """Return the facts about the field at ``path``; None if the schema has no such path."""
        inside = path[1:] if path and path[0] == KEY else path
        known = self._found.get(inside)
        if known is not None:
            return known
        try:
            pointer = resolve_path(self.schema, inside).pointer
        except PathNotFound:
            return None
        facts = _UNKNOWN if self._root is None else _follow(self._root, inside)
        found = self._found[inside] = replace(facts, pointer=pointer)
        return found


def _follow(root: Node, path: FieldPath) -> FieldFacts:
    node, may_be_missing = root, False
    is_of_branch, last = False, None
    rest = list(path)
    while rest:
        step = rest.pop(0)
        has_null, branches = _branches(node)
        is_of_branch, last = False, None
        if step.kind is StepKind.BRANCH:
            found = next((each for each in branches if step.name in _names(each)), None)
            is_of_branch = len(branches) > 1
        else:
            only = branches[0] if len(branches) == 1 else None
            if isinstance(only, RecordType) and step.kind is StepKind.MEMBER:
                field = _field(only, step, rest)
                if field is None and only is root and step.name in (only.name, only.full_name):
                    continue
                last = field
                found = None if field is None else field.type
            else:
                found = _part(only, step)
        if found is None:
            return _UNKNOWN
        may_be_missing = may_be_missing or has_null or is_of_branch or (last is not None and last.may_be_absent)
        node = found
    facts = _facts(node)
    may_be_absent = last is not None and last.may_be_absent
    may_be_null = facts.may_be_null if last is None or not may_be_absent else facts.may_be_null and last.has_null
    return replace(
        facts,
        may_be_missing=may_be_missing or facts.is_optional,
        may_be_null=is_of_branch or may_be_null,
        may_be_absent=may_be_absent,
    )


def _field(record: RecordType, step: Step, rest: list[Step]) -> RecordField | None:
    """Return the field of a step; that of a oneof's branch needs the next step, too."""
    field = next((each for each in record.fields if each.name == step.name), None)
    if field is None and rest and rest[0].kind is StepKind.BRANCH:
        chosen = rest[0].name
        field = next((each for each in record.fields if each.oneof == step.name and each.name == chosen), None)
        if field is not None:
            rest.pop(0)
    return field


def _part(node: Node | None, step: Step) -> Node | None:
    if isinstance(node, ArrayType) and step.kind is StepKind.ITEM:
        return node.items
    if isinstance(node, MapType) and step.kind is StepKind.VALUE:
        return node.values
    return None


def _branches(node: Node) -> tuple[bool, list[Node]]:
    """Return whether a type permits null, and its other branches."""
    if isinstance(node, NullType):
        return True, []
    if not isinstance(node, UnionType):
        return False, [node]
    return any(isinstance(each, NullType) for each in node.branches), [
        each for each in node.branches if not isinstance(each, NullType)
    ]


def _names(node: Node) -> Iterator[str]:
    yield node.kind
    if isinstance(node, RecordType | Leaf):
        yield from (name for name in (node.name, node.full_name) if name)


def _facts(node: Node) -> FieldFacts:
    has_null, branches = _branches(node)
    types = [_types(each) for each in branches]
    symbols = branches[0].symbols if len(branches) == 1 and isinstance(branches[0], Leaf) else ()
    return FieldFacts(
        types=tuple(each for each in types if each is not None) if None not in types else None,
        words=" or ".join(_words(each) for each in branches) or "null",
        may_be_missing=has_null,
        may_be_null=has_null,
        symbols=symbols or None,
    )


def _types(node: Node) -> frozenset[str] | None:
    match node:
        case Opaque():
            return None
        case RecordType():
            return frozenset({"object"})
        case MapType():
            return frozenset({"map", "object"})
        case ArrayType():
            return frozenset({"array", "vector"})
        case Leaf():
            word = node.scalar.word
            if word.startswith("time-"):
                return frozenset({"time"})
            if "timestamp" in word:
                return frozenset({"timestamp"})
            return _TYPES_BY_WORD.get(word, _TYPES_BY_WORD.get(node.scalar.base))
    return frozenset()


def _words(node: Node) -> str:
    if isinstance(node, Leaf):
        return f"{node.scalar}{f' {node.name}' if node.name else ''}"
    return node.words if isinstance(node, Opaque) else str(node.kind)


def _fits(types: frozenset[str], logical_type: str) -> bool:
    if logical_type in types:
        return True
    return logical_type in _MOMENTS and not _MOMENTS & types and bool({"integer", "string"} & types)


# Values of the judgement: offers, readers with the source of what is known of them, and findings.

_K = TypeVar("_K")
_T = TypeVar("_T")
_ACTIVE_DAYS: Final = 7
_STALE_DAYS: Final = 30
_MAX_TEXTS: Final = 50
"""How many declared schemas are remembered for each offer."""


class ReaderOrigin(IntEnum):
    """The sources of knowledge about a reader, by falling trust: a smaller number is more certain."""

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
    """A consumer that reads: its expectations, and how they are known.

    ``schema`` is that with which it reads, None where it is not known. ``last_seen`` is None for one never seen.
    """

    application: str
    expectation: Expectation
    origin: ReaderOrigin = ReaderOrigin.DECLARED
    last_seen: datetime | None = None
    version: str | None = None
    schema: ParsedSchema | None = None

    def activity(self, now: datetime, *, active_days: int = _ACTIVE_DAYS, stale_days: int = _STALE_DAYS) -> Activity:
        """Return how long ago the reader was seen; one that only declares itself counts as active."""
        if self.last_seen is None:
            return Activity.ACTIVE if self.origin <= ReaderOrigin.RECORDED else Activity.GONE
        days = (now - self.last_seen).total_seconds() / 86_400
        if days < active_days:
            return Activity.ACTIVE
        return Activity.STALE if days < stale_days else Activity.GONE


class Offer:
    """The offer of a producer: the schema of the records' values, and the contract's promises about them."""

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
    """The finding that release 0.2.0 reported in another's place: the rule, the path that is read, and the sentence."""

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
        """The identity of the finding: rule, consumer, the path that is read, the place, and the type written there."""
        return self.rule, self.application, self.element, self.place, self.written
