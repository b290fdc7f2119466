"""The findings of the comparison and of a pair walk, the places of nodes, and short descriptions for sentences."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import zip_longest
from typing import Final, NamedTuple, TypeAlias

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import ALWAYS, CompatibilityRule, Difference, DifferenceOrigin
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare import rules
from counterfoil.schema.languages.jsonschema.compare.nodes import (
    ArraySchema,
    BooleanSchema,
    CombinationSchema,
    ConditionSchema,
    ConstantSchema,
    Criterion,
    EmptySchema,
    EnumSchema,
    NegationSchema,
    Node,
    NothingSchema,
    NullSchema,
    NumericSchema,
    ObjectSchema,
    ReferenceSchema,
    Rest,
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.compare.translation import KEYWORDS_BY_KIND, value_text
from counterfoil.schema.languages.jsonschema.paths import path_at, steps_through
from counterfoil.schema.paths import FieldPath, branch
from counterfoil.schema.texts import Pointer

# The places of nodes and keywords in their text, and the steps that lead to them.
#
# A pointer leads to the changed keyword or the name in a list, or to the nearest thing around it that exists.

_OTHER_NAMES: Final = {
    "dependencies": ("dependentRequired", "dependentSchemas"),
    "additionalItems": ("items",),
    "prefixItems": ("items",),
    "minContains": ("contains",),
}
"""Other spellings of a keyword in other drafts, or the keyword that implies it."""
_TYPE_NAMES: Final[Mapping[type[Node], tuple[str, ...]]] = {
    TextSchema: ("string",),
    NumericSchema: ("number", "integer"),
    ObjectSchema: ("object",),
    ArraySchema: ("array",),
    BooleanSchema: ("boolean",),
    NullSchema: ("null",),
}
_KEYWORD_BY_KIND: Final[Mapping[type[Node], str]] = {EnumSchema: "enum", ConstantSchema: "const", NegationSchema: "not"}


class Spot(NamedTuple):
    """A place in a text: what ``steps`` lead to in the schema of a node, or the nearest existing place.

    A step into a list of words may be the word. With None as steps it is the keyword that makes the node another kind
    of schema than ``other``. The pointer is computed on request, since most spots are not used.
    """

    node: Node
    steps: tuple[str | int, ...] | None = ()
    other: Node | None = None

    @property
    def document(self) -> str:
        """The name of the document, empty for the schema's own."""
        return self.node.site.document

    def pointer(self) -> Pointer:
        """Return the JSON Pointer in the document."""
        node, steps = self.node, self.steps
        if steps is None:
            node = _part_unlike(node, self.other)
            steps = tuple(filter(None, [keyword_of(node)]))
        return pointer_in(node.site.pointer, node.site.value, steps)


def spot_at(node: Node | None, *steps: str) -> Spot | None:
    """Return the spot at ``steps`` in the node's schema; None without a node."""
    return None if node is None else Spot(node, steps)


def spot_of_kind(node: Node, other: Node | None) -> Spot:
    """Return the spot of the keyword that makes a node another kind of schema than ``other``."""
    return Spot(node, None, other)


def pointer_in(pointer: Pointer, value: Json, steps: Sequence[str | int]) -> Pointer:
    """Return the pointer of ``steps`` in the schema ``value`` at ``pointer``, as far as they exist."""
    if len(steps) == 1 and isinstance(value, dict) and steps[0] in value:
        return (*pointer, steps[0])
    for step, following in zip_longest(steps, steps[1:]):
        key: str | int | None = None
        if isinstance(value, dict):
            known = [each for each in (step, *_OTHER_NAMES.get(str(step), ())) if each in value]
            key = next((each for each in known if _holds(value[each], following)), next(iter(known), None))
        elif isinstance(value, list) and isinstance(step, int):
            key = step
        elif isinstance(value, list) and step in value:
            key = value.index(step)
        if key is None:
            break
        value = value[key]
        pointer = (*pointer, key)
    return pointer


def _holds(value: object, step: str | int | None) -> bool:
    return isinstance(value, (dict, list)) and step in value


def keyword_of(node: Node) -> str:
    """Return the keyword that determines the node's kind; empty if several do, or none."""
    if isinstance(node, ReferenceSchema):
        return node.keyword
    value = node.site.value
    if isinstance(node, CombinationSchema):
        is_listed = not node.is_synthetic and node.criterion.value not in value
        return "type" if is_listed else "" if node.is_synthetic else node.criterion.value
    if type(node) in _KEYWORD_BY_KIND or not isinstance(value, dict):
        return _KEYWORD_BY_KIND.get(type(node), "")
    named = value.get("type")
    names = named if isinstance(named, list) else [named]
    if any(name in names for name in _TYPE_NAMES.get(type(node), ())):
        return "type"
    return next((keyword for keyword in value if keyword in KEYWORDS_BY_KIND.get(type(node), ())), "")


def _part_unlike(node: Node, other: Node | None) -> Node:
    """Return the first part of a synthetic allOf whose kind ``other`` does not have; any other node unchanged."""
    if not isinstance(node, CombinationSchema) or not node.is_synthetic:
        return node
    others = other.branches if isinstance(other, CombinationSchema) and other.is_synthetic else (other,)
    known = {_kind(each) for each in others}
    return next((each for each in node.branches if _kind(each) not in known), node.branches[0])


def spot_of_branch(around: CombinationSchema, node: Node) -> Spot:
    """Return the spot of a branch of ``around``: its schema in a list, its word in a list of types, or the keyword."""
    if branch_step(around, node):
        return Spot(node)
    if around.is_synthetic:
        return spot_of_kind(node, None)
    named = (name for name in _TYPE_NAMES.get(type(node), ()) if name in around.site.value["type"])
    return next((Spot(around, ("type", name)) for name in named), spot_of_kind(around, None))


def spot_of_value(node: EnumSchema, *, known: frozenset[str]) -> Spot:
    """Return the spot of the first value of an ``enum`` that is not in ``known``; the keyword if there is none."""
    values = node.site.value["enum"]
    index = next((index for index, value in enumerate(values) if value_text(value) not in known), None)
    return Spot(node, ("enum",) if index is None else ("enum", index))


def branch_step(around: CombinationSchema, node: Node) -> FieldPath:
    """Return the step into a branch of ``around``; none if the branches are in no list of the text."""
    pairs = zip(around.indexes, around.branches, strict=False)
    return tuple(branch(index) for index, one in pairs if one is node)


def _kind(node: Node | None) -> object:
    return node.criterion if isinstance(node, CombinationSchema) else type(node)


# Short descriptions of nodes and values, for sentences.

_WORD_BY_KIND: Final = {
    EmptySchema: "anything",
    NothingSchema: "nothing",
    BooleanSchema: "a boolean",
    NullSchema: "null",
    TextSchema: "a string",
    ObjectSchema: "an object",
    ArraySchema: "an array",
    NegationSchema: "what a not leaves",
    ConditionSchema: "what an if decides",
    ReferenceSchema: "what a reference means",
}
_CRITERION_WORD: Final = {Criterion.ALL_OF: "all of", Criterion.ANY_OF: "any of", Criterion.ONE_OF: "one of"}
_SHOWN_VALUES: Final = 10
_SHOWN_DEPTH: Final = 2


def describe(node: Node, depth: int = _SHOWN_DEPTH) -> str:
    """Return a short description of a node: ``an integer``, ``one of (a string, null)``."""
    match node:
        case NumericSchema():
            return "an integer" if node.is_integer else "a number"
        case EnumSchema():
            return f"one of the values {listed(node.values)}"
        case ConstantSchema():
            return f"the value {node.value}"
        case CombinationSchema():
            branches = ", ".join(describe(branch, depth - 1) for branch in node.branches) if depth else "…"
            return f"{_CRITERION_WORD[node.criterion]} ({branches})"
    return _WORD_BY_KIND[type(node)]


def listed(values: Iterable[str]) -> str:
    """Return sorted values in one text, at most ten of them and the number of the others."""
    shown = sorted(values)
    more = f" and {len(shown) - _SHOWN_VALUES} more" if len(shown) > _SHOWN_VALUES else ""
    return ", ".join(shown[:_SHOWN_VALUES]) + more


# The equality of branches, so that equal ones count once.

_LONG: Final = 200
_NOT_CONTENT: Final = frozenset({"site", "source", "keyword", "key", "find", "found", "is_synthetic", "indexes"})


def key_of(node: Node) -> str:
    """Return a text that is the same for nodes of the same content.

    References are compared by their text, not by the schema that they lead to.
    """
    if node.key is None:
        key = value_text(node.source) if isinstance(node.source, dict) else _structure(node)
        is_long = len(key) > _LONG  # the keys of nodes inside one another would be as long as all their texts together
        node.key = sha256(key.encode("utf-8", "surrogatepass")).hexdigest() if is_long else key
    return node.key


def _structure(node: Node) -> str:
    content = [
        f"{each.name}={_text(getattr(node, each.name))}" for each in fields(node) if each.name not in _NOT_CONTENT
    ]
    return f"{type(node).__name__}({','.join(content)})"


def _text(value: object) -> str:
    match value:
        case Node():
            return key_of(value)
        case Rest():
            return f"{value.is_allowed} {_text(value.schema)}"
        case frozenset():
            return repr(sorted(value))
        case tuple():
            return f"[{','.join(map(_text, value))}]"
        case Mapping() if all(isinstance(each, Node | frozenset) for each in value.values()):
            return f"{{{','.join(f'{name!r}:{_text(value[name])}' for name in sorted(value))}}}"
    return repr(value)


# The findings of the comparison: differences with paths that are relative until the walk ends.


class PathPart(NamedTuple):
    """A part of the path to a place: the steps of the reported path, and those in the reader and in the writer.

    The steps in the two schemas are None if they follow from those of the reported path.
    """

    steps: tuple[str, ...]
    reader: FieldPath | None = None
    writer: FieldPath | None = None

    def in_reader(self) -> FieldPath:
        """Return the steps in the reader."""
        return steps_through(self.steps) if self.reader is None else self.reader

    def in_writer(self) -> FieldPath:
        """Return the steps in the writer."""
        return steps_through(self.steps) if self.writer is None else self.writer


@dataclass(eq=False, slots=True)
class JsonDifference(Difference):
    """A difference between two nodes.

    ``way`` leads from the walk's current node to the place, in parts, the outermost first; ``has_path`` is not set
    where the reference reports no place. ``reader`` and ``writer`` are the nodes (None for an absent side), and the
    spots are the places in the texts. For a spot in another document, the references are the spots in the schema's own
    text that lead there, if known. ``cause`` leads from the place to the incompatibility inside it that the finding's
    element names.
    """

    way: tuple[PathPart, ...]
    reader: Node | None
    writer: Node | None
    reader_spot: Spot | None
    writer_spot: Spot | None
    reader_reference: Spot | None = None
    writer_reference: Spot | None = None
    has_path: bool = True
    cause: tuple[PathPart, ...] = ()

    def within(self, way: tuple[PathPart, ...], reader: Spot | None, writer: Spot | None) -> JsonDifference:
        """Return the finding with another ``way``; ``reader`` and ``writer`` are the references that lead to it."""
        sides = (self.reader, self.writer, self.reader_spot, self.writer_spot)
        references = (self.reader_reference or reader, self.writer_reference or writer)
        return JsonDifference(self.kind, self.facts, self.gist, way, *sides, *references, self.has_path, self.cause)

    def at_cause(self, way: PathPart, cause: JsonDifference) -> JsonDifference:
        """Return the finding with the place of the incompatibility ``cause``, to which ``way`` leads."""
        return replace(
            self,
            cause=(way, *cause.way, *cause.cause),
            reader_spot=cause.reader_spot,
            writer_spot=cause.writer_spot,
            reader_reference=cause.reader_reference,
            writer_reference=cause.writer_reference,
        )

    @property
    def origin_key(self) -> object:
        """The rule, the two nodes and the facts."""
        return self.kind.id, id(self.reader), id(self.writer), self.detail

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of the path as the reference reports them; None if it reports no place."""
        return tuple(step for part in self.way for step in part.steps) if self.has_path else None

    @property
    def path(self) -> str:
        """The place as the reference writes it: ``#/properties/a/maxLength``."""
        return f"#/{'/'.join(self.steps or ())}" if self.has_path else ""

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader."""
        return tuple(step for part in (*self.way, *self.cause) for step in part.in_reader())

    @property
    def writer_path(self) -> FieldPath:
        """The steps to the place in the writer."""
        return tuple(step for part in (*self.way, *self.cause) for step in part.in_writer())

    @property
    def reader_pointer(self) -> Pointer:
        """The JSON Pointer to the keyword or name in the reader's own text."""
        return _pointer(self.reader_spot, self.reader_reference)

    @property
    def writer_pointer(self) -> Pointer:
        """The JSON Pointer to the keyword or name in the writer's own text."""
        return _pointer(self.writer_spot, self.writer_reference)

    @property
    def reader_origin(self) -> DifferenceOrigin | None:
        """The document of the reader that contains the place."""
        return _origin(self.reader_spot)

    @property
    def writer_origin(self) -> DifferenceOrigin | None:
        """The document of the writer that contains the place."""
        return _origin(self.writer_spot)


@dataclass(eq=False, slots=True)
class ValueDifference(Difference):
    """A difference that a value proves, or that no proof excludes.

    ``way`` are the steps of its path, ``pointers`` lead to it in the reader's and the writer's own text. With
    ``is_called_by_pointer``, its element is the place of the pointers.
    """

    way: tuple[str, ...]
    pointers: tuple[Pointer, Pointer]
    is_called_by_pointer: bool = False

    @property
    def path(self) -> str:
        """The place as Confluent would write it."""
        return f"#/{'/'.join(self.way)}"

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the path."""
        return self.way

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the place in the reader."""
        return steps_through(self.way)

    @property
    def element(self) -> FieldPath:
        """The place that names the difference."""
        return path_at(self.pointers[0] or self.pointers[1]) if self.is_called_by_pointer else self.reader_path

    @property
    def reader_pointer(self) -> Pointer:
        """The JSON Pointer in the reader's own text."""
        return self.pointers[0]

    @property
    def writer_pointer(self) -> Pointer:
        """The JSON Pointer in the writer's own text."""
        return self.pointers[1]


def at(
    rule: CompatibilityRule, reader: Node | None, writer: Node | None, /, *steps: str, **facts: object
) -> JsonDifference:
    """Return a difference between two nodes at ``steps`` inside them."""
    return JsonDifference(
        rule, facts, _gist(facts), (PathPart(steps),), reader, writer, spot_at(reader, *steps), spot_at(writer, *steps)
    )


def added(rule: CompatibilityRule, reader: Node, around: Node, keyword: str, /, **facts: object) -> JsonDifference:
    """Return a difference at the reader's node, which is missing under ``keyword`` of the writer's node ``around``."""
    return JsonDifference(rule, facts, _gist(facts), (), reader, around, spot_at(reader), spot_at(around, keyword))


def removed(rule: CompatibilityRule, around: Node, writer: Node, keyword: str, /, **facts: object) -> JsonDifference:
    """Return a difference at the writer's node, which is missing under ``keyword`` of the reader's node ``around``."""
    return JsonDifference(rule, facts, _gist(facts), (), around, writer, spot_at(around, keyword), spot_at(writer))


def at_kind(rule: CompatibilityRule, reader: Node, writer: Node, /, **facts: object) -> JsonDifference:
    """Return a difference between two nodes, at the keywords that make them different kinds of schemas."""
    return JsonDifference(
        rule, facts, _gist(facts), (), reader, writer, spot_of_kind(reader, writer), spot_of_kind(writer, reader)
    )


def _gist(facts: Mapping[str, object]) -> str:
    """Return the template of the shortest description: a name, the values, or the writer's and the reader's."""
    for fact in ("name", "values", "reason"):
        if fact in facts:
            return f"{{{fact}}}"
    if "count" in facts:
        return "{count} of {size}"
    return "{writer} to {reader}" if "writer" in facts else ""


def own_spot(spot: Spot | None) -> Spot | None:
    """Return the spot if it is in the schema's own text, else None."""
    return spot if spot is not None and not spot.document else None


def _pointer(spot: Spot | None, reference: Spot | None) -> Pointer:
    """Return the pointer in the schema's own text; empty if unknown."""
    own = own_spot(spot) or reference
    return own.pointer() if own is not None else ()


def _origin(spot: Spot | None) -> DifferenceOrigin | None:
    return (
        None
        if spot is None
        else DifferenceOrigin(spot.document, spot.pointer(), is_own=not spot.document, is_document=True)
    )


# The findings of a pair of nodes as one value, which each place of the pair refers to.
#
# A pair may occur at many places, and its findings are at each of them. They are not copied: the findings of a pair
# hold those of the pairs inside it. Paths are made when findings are read, and only as many as are read.

_MAX_COUNT: Final = 1_000
"""The largest number to which findings are counted; the places of one difference may be more than there are atoms."""


class Findings:
    """The findings of two nodes, in order.

    ``parts`` are single findings and those of other pairs. ``way``, if given, leads to the place of all of them;
    ``references``, if given, are the two nodes of which at least one is a reference to the compared ones.
    """

    __slots__ = ("changes_kind", "counts", "parts", "references", "way")
    counts: dict[frozenset[CompatibilityPolicy], int]

    def __init__(
        self, parts: Sequence[Part], *, way: PathPart | None = None, references: tuple[Node, Node] | None = None
    ) -> None:
        self.parts = parts
        self.way = way
        self.references = references
        counts: dict[frozenset[CompatibilityPolicy], int] = {}
        changes_kind = False
        for part in parts:
            if isinstance(part, Findings):
                for breaks, count in part.counts.items():
                    counts[breaks] = min(_MAX_COUNT, counts.get(breaks, 0) + count)
                changes_kind = changes_kind or part.changes_kind
            else:
                counts[part.kind.breaks] = counts.get(part.kind.breaks, 0) + 1
                changes_kind = changes_kind or (part.kind is rules.TYPE_CHANGED and not part.reader_path)
        self.counts = counts
        """The number of findings by the policies under which they break."""
        self.changes_kind: bool = changes_kind and (way is None or not way.in_reader())
        """Whether the two nodes are different kinds of schemas."""

    def __bool__(self) -> bool:
        return bool(self.counts)

    def breaking(self, policy: CompatibilityPolicy) -> int:
        """Return how many of the findings break under ``policy``, at most 1,000."""
        return min(_MAX_COUNT, sum(count for breaks, count in self.counts.items() if policy in breaks))

    def each(self, policy: CompatibilityPolicy | None = None) -> Iterator[JsonDifference]:
        """Yield the findings with their paths, in order: all, or those that break under ``policy``."""
        waiting = [_Position(iter((self,)), None, None, None)]
        while waiting:
            around = waiting[-1]
            part = next(around.parts, None)
            if part is None:
                waiting.pop()
            elif isinstance(part, Findings):
                if part.breaking(policy) if policy else part:
                    waiting.append(around.within(part))
            elif policy is None or policy in part.kind.breaks:
                yield around.located(part)


Part: TypeAlias = JsonDifference | Findings
Comparing: TypeAlias = "Generator[tuple[Node, Node], Findings, list[Part]]"
"""A comparison of two nodes: it yields the pairs of nodes inside them, and is sent the findings of each."""

NO_FINDINGS: Final = Findings(())


class VerdictOf(NamedTuple):
    """A pair of nodes of which it only matters whether one reads the other: no findings are needed."""

    reader: Node
    writer: Node


class SomeFinding(Findings):
    """The findings of a pair that is known to be incompatible, and of which nothing else is known."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(())
        self.counts = {ALWAYS: 1}


SOME_FINDING: Final = SomeFinding()


class _Ways(NamedTuple):
    """The ways to a place, the innermost first."""

    last: PathPart
    before: _Ways | None


class _Position(NamedTuple):
    """The position of a reading: the parts that are left, the ways to them, and the references that led there."""

    parts: Iterator[Part]
    ways: _Ways | None
    reader: Spot | None
    writer: Spot | None

    def within(self, part: Findings) -> _Position:
        ways = self.ways if part.way is None else _Ways(part.way, self.ways)
        reader, writer = self.reader, self.writer
        if part.references is not None:
            reader = own_spot(spot_of_kind(part.references[0], None)) or reader
            writer = own_spot(spot_of_kind(part.references[1], None)) or writer
        return _Position(iter(part.parts), ways, reader, writer)

    def located(self, found: JsonDifference) -> JsonDifference:
        """Return the finding with the whole path."""
        way: list[PathPart] = []
        ways = self.ways
        while ways is not None:
            way.append(ways.last)
            ways = ways.before
        return found.within((*reversed(way), *found.way), self.reader, self.writer)


def below(
    parts: Sequence[Part], *steps: str, reader: FieldPath | None = None, writer: FieldPath | None = None
) -> list[Part]:
    """Return the findings with ``steps`` before their paths.

    ``reader`` and ``writer`` are the steps in the two schemas, if they differ from ``steps``.
    """
    return [Findings(parts, way=PathPart(steps, reader, writer))] if any(parts) else []
