"""The pair walk: the trees of a reader and a writer, walked together, combinations of schemas included."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Final, NamedTuple

from counterfoil.schema.compatibility import CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.datum import Json
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.compare import rules
from counterfoil.schema.languages.jsonschema.compare.content_models import (
    Walk,
    compare_arrays,
    compare_choices,
    compare_constants,
    compare_notes,
    compare_numbers,
    compare_objects,
    compare_texts,
)
from counterfoil.schema.languages.jsonschema.compare.findings import (
    NO_FINDINGS,
    SOME_FINDING,
    Comparing,
    Findings,
    JsonDifference,
    Part,
    PathPart,
    VerdictOf,
    at,
    at_kind,
    below,
    branch_step,
    describe,
    key_of,
    spot_of_branch,
)
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
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.compare.translation import node_of
from counterfoil.schema.languages.jsonschema.document import UnresolvedReference
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.patterns.matching import CountedPatterns

# Comparison of combinations: the reader's branches are matched to the writer's.

_MAX_RANKED: Final = 8
"""The largest number of unmatched branches of each side that are ranked by similarity."""


def compare_combinations(walk: Walk, reader: CombinationSchema, writer: CombinationSchema) -> Comparing:
    """Return the findings about two combinations."""
    mine, theirs = _distinct(reader.branches), _distinct(writer.branches)
    found: list[Part] = []
    if reader.criterion is not writer.criterion:
        facts = {"reader": reader.criterion.value, "writer": writer.criterion.value}
        if not _is_extended(reader, writer):
            return [at_kind(rules.COMBINED_TYPE_CHANGED, reader, writer, **facts)]
        found.append(at_kind(rules.COMBINED_TYPE_EXTENDED, reader, writer, **facts))
    branches = _Branches(walk, reader, writer, mine, theirs)
    yield from branches.match()
    rule = _size_rule(reader, writer, len(mine), len(theirs))
    if rule is not None:
        found.append(branches.sized(rule))
    return found + branches.compared()


class _Branches:
    """The branches of two combinations.

    After :meth:`match`, ``_partner`` has the reader's branch for each of the writer's, and ``_changed`` the pairs of
    those without one, the most similar first.
    """

    def __init__(
        self,
        walk: Walk,
        reader: CombinationSchema,
        writer: CombinationSchema,
        mine: Sequence[Node],
        theirs: Sequence[Node],
    ) -> None:
        self._walk = walk
        self._reader, self._writer = reader, writer
        self._mine, self._theirs = mine, theirs
        self._inner_by_pair: dict[tuple[int, int], Findings] = {}
        self._is_read: dict[tuple[int, int], bool] = {}
        self._partner: Mapping[int, int] = {}
        self._changed: Sequence[tuple[int, int]] = ()

    def match(self) -> Generator[tuple[Node, Node], Findings, None]:
        """Match the branches."""
        mine, theirs = self._mine, self._theirs
        index_by_key = {key_of(branch): right for right, branch in enumerate(mine)}
        same = {left: index_by_key[key] for left, each in enumerate(theirs) if (key := key_of(each)) in index_by_key}
        likely: list[tuple[int, int]] = []
        for left, right in same.items():
            if self._walk.is_compatible((yield from self._inner(left, right))):
                likely.append((left, right))
        matching = match(len(theirs), len(mine), likely=dict(likely))
        try:
            pair = next(matching)
            while True:
                pair = matching.send((yield from self._reads(*pair)))
        except StopIteration as done:
            self._partner = done.value
        if self._walk.is_large:
            return
        for pair in self._partner.items():
            yield from self._inner(*pair)
        if len(self._partner) < max(len(mine), len(theirs)):
            self._changed = yield from self._ranked()

    def sized(self, rule: CompatibilityRule) -> JsonDifference:
        """Return the finding that one side has more branches, at its first branch without a counterpart."""
        found = at_kind(rule, self._reader, self._writer)
        if len(self._mine) > len(self._theirs):
            taken = {*self._partner.values(), *(right for _, right in self._changed)}
            added = next(node for right, node in enumerate(self._mine) if right not in taken)
            return replace(found, reader_spot=spot_of_branch(self._reader, added))
        taken = {*self._partner, *(left for left, _ in self._changed)}
        added = next(node for left, node in enumerate(self._theirs) if left not in taken)
        return replace(found, writer_spot=spot_of_branch(self._writer, added))

    def compared(self) -> list[Part]:
        """Return the findings between matched branches, and one finding if some branches have no match."""
        found: list[Part] = []
        criterion = self._reader.criterion.value
        for left, right in sorted(self._partner.items()):
            inner = self._inner_by_pair.get((left, right))
            if inner:
                reader, writer = self._branch_steps(left, right)
                found += below([inner], criterion, str(left), reader=reader, writer=writer)
        smaller = min(len(self._mine), len(self._theirs))
        if len(self._partner) < smaller:
            facts = {"reader": criterion, "count": len(self._partner), "size": smaller}
            changed = at_kind(rules.COMBINED_TYPE_SUBSCHEMAS_CHANGED, self._reader, self._writer, **facts)
            found.append(self._at_cause(changed))
        return found

    def _at_cause(self, changed: JsonDifference) -> JsonDifference:
        """Return the finding at the first incompatibility between the two most similar unmatched branches."""
        if not self._changed:
            return changed
        left, right = self._changed[0]
        cause = next(self._inner_by_pair[left, right].each(self._walk.policy), None)
        if cause is None:
            return changed
        self._walk.spend(len(cause.way))
        return changed.at_cause(PathPart((), *self._branch_steps(left, right)), cause)

    def _branch_steps(self, left: int, right: int) -> tuple[FieldPath, FieldPath]:
        """Return the steps into a branch of the reader's and into one of the writer's."""
        return branch_step(self._reader, self._mine[right]), branch_step(self._writer, self._theirs[left])

    def _ranked(self) -> Generator[tuple[Node, Node], Findings, list[tuple[int, int]]]:
        """Return the pairs of unmatched branches, the most similar first."""
        taken = set(self._partner.values())
        lefts = [left for left in range(len(self._theirs)) if left not in self._partner][:_MAX_RANKED]
        rights = [right for right in range(len(self._mine)) if right not in taken][:_MAX_RANKED]
        pairs: list[tuple[int, int]] = []
        for pair in product(lefts, rights):
            yield from self._inner(*pair)
        if len(lefts) == len(rights) == 1:
            return [(lefts[0], rights[0])]
        for left, right in sorted(product(lefts, rights), key=self._unlikeness):
            if all(left != other[0] and right != other[1] for other in pairs):
                pairs.append((left, right))
        return pairs

    def _unlikeness(self, pair: tuple[int, int]) -> tuple[bool, int, int]:
        inner = self._inner_by_pair[pair]
        return inner.changes_kind, inner.breaking(self._walk.policy), abs(pair[0] - pair[1])

    def _inner(self, left: int, right: int) -> Generator[tuple[Node, Node], Findings, Findings]:
        pair = (left, right)
        self._walk.spend(2)
        if pair not in self._inner_by_pair:
            self._inner_by_pair[pair] = yield self._mine[right], self._theirs[left]
        return self._inner_by_pair[pair]

    def _reads(self, left: int, right: int) -> Generator[tuple[Node, Node], Findings, bool]:
        """Return whether a branch of the reader's reads one of the writer's."""
        pair = (left, right)
        if pair in self._inner_by_pair or min(len(self._mine), len(self._theirs)) <= _MAX_RANKED:
            return self._walk.is_compatible((yield from self._inner(left, right)))
        self._walk.spend(2)
        if pair not in self._is_read:  # of many branches most do not belong together, and why is not reported
            verdict = yield VerdictOf(self._mine[right], self._theirs[left])
            self._is_read[pair] = self._walk.is_compatible(verdict)
        return self._is_read[pair]


def _distinct(branches: Sequence[Node]) -> list[Node]:
    """Return the branches without those that equal an earlier one."""
    return list({key_of(branch): branch for branch in reversed(branches)}.values())[::-1]


def _is_extended(reader: CombinationSchema, writer: CombinationSchema) -> bool:
    mine, theirs = len(reader.branches), len(writer.branches)
    return (
        reader.criterion is Criterion.ANY_OF
        or (mine == 1 and theirs == 1)
        or (theirs == 1 and reader.criterion is Criterion.ONE_OF)
        or (mine == 1 and writer.criterion is Criterion.ALL_OF)
    )


def _size_rule(
    reader: CombinationSchema, writer: CombinationSchema, mine: int, theirs: int
) -> CompatibilityRule | None:
    if mine > theirs:
        is_product = reader.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_EXTENDED if is_product else rules.SUM_TYPE_EXTENDED
    if mine < theirs:
        is_product = writer.criterion is Criterion.ALL_OF
        return rules.PRODUCT_TYPE_NARROWED if is_product else rules.SUM_TYPE_NARROWED
    return None


def match(
    left_size: int, right_size: int, *, likely: Mapping[int, int]
) -> Generator[tuple[int, int], bool, dict[int, int]]:
    """Return a largest matching of left to right indexes: the right index for each matched left one.

    It yields a pair of indexes where it needs to know whether they may be paired, and is sent the answer. ``likely``
    are the first pairs. Method: augmenting paths, searched breadth first (Berge's theorem), without recursion.
    """
    right_of = dict(likely)
    left_of = {right: left for left, right in right_of.items()}
    for start in range(left_size):
        if len(left_of) == right_size:
            break
        if start not in right_of:
            free, came_from = yield from _search(start, right_size, left_of)
            while free is not None:
                left = came_from[free]
                given_up = right_of.get(left)
                right_of[left], left_of[free] = free, left
                free = given_up
    return right_of


def _search(
    start: int, right_size: int, left_of: Mapping[int, int]
) -> Generator[tuple[int, int], bool, tuple[int | None, dict[int, int]]]:
    """Return an unmatched right side that an augmenting path from ``start`` reaches, and the path.

    The path maps each right side on the way to the left side from which it was reached. None if no path exists.
    """
    came_from: dict[int, int] = {}
    waiting = [start]
    for left in waiting:
        for right in range(right_size):
            if right in came_from or not (yield left, right):
                continue
            came_from[right] = left
            if right not in left_of:
                return right, came_from
            waiting.append(left_of[right])
    return None, came_from


# The pair walk: the trees of a reader and a writer, walked together, and all their differences.
#
# The results are those of the reference's checker, including its peculiarities, since clients parse them. Each pair of
# nodes is compared once in a round. A pair that occurs again inside itself has its result of the round before, and is
# compatible in the first; rounds are repeated until no further pairs become incompatible, so that recursive schemas are
# compared completely.
#
# Source: recorded answers of Confluent Schema Registry 8.5.

MAX_DIFFERENCES: Final = 1000
"""The largest number of differences that are returned; a difference may be found along more ways than can be listed."""

MAX_VERDICTS: Final = 2_000
"""The number of pairs compared for their verdict alone beyond which no branches are ranked by similarity."""

MAX_ROUNDS: Final = 50
"""The largest number of rounds for recursive schemas."""

_STEPS_A_PAIR: Final = 12
_STEPS_A_LOOK: Final = 2
_STEPS_A_FINDING: Final = 8
_LEAVES: Final[Mapping[type[Node], Callable[[Json, Json], Sequence[Part]] | None]] = {
    BooleanSchema: None,
    EnumSchema: compare_choices,
    ConditionSchema: None,
    ConstantSchema: compare_constants,
    EmptySchema: None,
    NothingSchema: None,
    NullSchema: None,
    NumericSchema: compare_numbers,
    TextSchema: compare_texts,
}
"""The kinds of nodes without nodes inside them, with the comparison of two of one kind beside their annotations."""
_WHOLES: Final = (ArraySchema, ObjectSchema, ReferenceSchema)
"""The kinds of nodes that are incompatible if nodes inside them are."""


def walk(
    reader: JsonSchema,
    writer: JsonSchema,
    steps: Steps | None = None,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    only_breaking: bool = False,
) -> Sequence[JsonDifference]:
    """Return every difference, including those that do not break, or with ``only_breaking`` those that do.

    ``policy`` decides which branches of a combination match, and what breaks. A reference that cannot be resolved is
    the only difference returned. Raises ``InvalidSchema`` for schemas that are nested too deeply, and ``OutOfSteps``
    for too many pairs.
    """
    try:
        rounds = _Rounds(policy, steps or steps_for(reader, writer))
        found = rounds.run(node_of(reader), node_of(writer))
        return rounds.listed(found, only_breaking=only_breaking)
    except UnresolvedReference as unresolved:
        return [at(rules.UNRESOLVED_REFERENCE, None, None, reason=str(unresolved))]
    except RecursionError:
        raise InvalidSchema("Invalid schema: it is nested too deep to be compared; flatten it") from None


class _Open(NamedTuple):
    """A pair of nodes that is being compared; ``references`` are the nodes that lead to it.

    With ``needs_verdict``, it only matters whether there is a finding that breaks.
    """

    references: tuple[Node, Node]
    nodes: tuple[Node, Node]
    comparing: Comparing
    needs_verdict: bool

    @property
    def breaks_with_parts(self) -> bool:
        """Whether the two nodes are incompatible if two nodes inside them are."""
        return all(isinstance(node, _WHOLES) for node in self.nodes)


class _Rounds:
    """One comparison of two trees; the :class:`~counterfoil.schema.languages.jsonschema.compare.content_models.Walk`.

    The pairs inside a pair are not compared by recursion, so that schemas may refer to one another as deeply as they
    want.
    """

    def __init__(self, policy: CompatibilityPolicy, steps: Steps) -> None:
        self.policy = policy
        self._steps = steps
        self._patterns = CountedPatterns(steps)
        self._before: dict[tuple[int, int], Findings] = {}
        self._known: dict[tuple[int, int], Findings] = {}
        self._verdicts: dict[tuple[int, int], Findings] = {}
        self._incompatible: set[tuple[int, int]] = set()
        self._active: set[tuple[int, int]] = set()
        self._assumed = False

    def run(self, reader: Node, writer: Node) -> Findings:
        """Return the findings of two trees; raise ``OutOfSteps`` if they are not known after the last round."""
        found = NO_FINDINGS
        for _ in range(MAX_ROUNDS):
            self._before, self._known, self._verdicts, self._assumed = self._known, {}, {}, False
            found = self._compare(reader, writer)
            judged = (self._known, self._verdicts)
            broken = {pair for each in judged for pair, found in each.items() if not self.is_compatible(found)}
            if not self._assumed or broken <= self._incompatible:
                return found
            self._incompatible |= broken
        if self.is_compatible(found):
            raise OutOfSteps
        return found

    def listed(self, found: Findings, *, only_breaking: bool) -> list[JsonDifference]:
        """Return the findings with their paths, as many as the steps suffice for and at least one."""
        listed: list[JsonDifference] = []
        for each in islice(found.each(self.policy if only_breaking else None), MAX_DIFFERENCES):
            listed.append(each)
            try:
                self._steps.spend(1 + len(each.way))
            except OutOfSteps:
                break
        return listed

    def is_compatible(self, findings: Findings) -> bool:
        return not findings.breaking(self.policy)

    @property
    def is_large(self) -> bool:
        return len(self._verdicts) > MAX_VERDICTS

    def spend(self, steps: int = 1) -> None:
        self._steps.spend(steps)

    def matches(self, pattern: str, name: str) -> bool:
        self._steps.spend()
        return self._patterns.holds_match(pattern, name) is True

    def _compare(self, reader: Node, writer: Node) -> Findings:
        """Return the findings of a pair, after those of all pairs inside it are known."""
        waiting: list[_Open] = []
        answer = self._answer((reader, writer), waiting)
        while waiting:
            last = waiting[-1]
            if last.needs_verdict and answer and last.breaks_with_parts and not self.is_compatible(answer):
                last.comparing.close()
                waiting.pop()
                answer = self._judged(last, SOME_FINDING)
                continue
            try:
                pair = next(last.comparing) if answer is None else last.comparing.send(answer)
            except StopIteration as done:
                waiting.pop()
                answer = self._closed(last, done.value)
            else:
                answer = self._answer(pair, waiting)
        return answer or NO_FINDINGS

    def _answer(self, asked: tuple[Node, Node], waiting: list[_Open]) -> Findings | None:
        """Return the findings of a pair; None if it must be compared, and then it is added to ``waiting``."""
        self._steps.spend(_STEPS_A_LOOK)
        reader, writer = asked
        mine, theirs = _dereferenced(reader), _dereferenced(writer)
        kind = type(mine)
        if kind is type(theirs) and kind in _LEAVES:
            return _through(self._compared(mine, theirs), (reader, writer), (mine, theirs))
        needs_verdict = isinstance(asked, VerdictOf) or (waiting and waiting[-1].needs_verdict)
        pair = _key((mine, theirs))
        found = self._known.get(pair)
        if found is None and needs_verdict:
            found = self._verdicts.get(pair)
        if found is None and pair in self._active:
            self._assumed = True
            unlisted = SOME_FINDING if pair in self._incompatible else NO_FINDINGS
            found = self._before.get(pair, unlisted)
        if found is None:
            self._steps.spend(_STEPS_A_PAIR)
            self._active.add(pair)
            judge = _WITH_NODES[kind] if kind is type(theirs) else _judge_kinds
            waiting.append(_Open((reader, writer), (mine, theirs), judge(self, mine, theirs), bool(needs_verdict)))
            return None
        return _through(found, (reader, writer), (mine, theirs))

    def _compared(self, reader: Node, writer: Node) -> Findings:
        """Return the findings of two nodes of one kind without nodes inside them."""
        found: Sequence[Part] = compare_notes(reader, writer)
        compare = _LEAVES[type(reader)]
        if compare is not None:
            if isinstance(reader, EnumSchema) and isinstance(writer, EnumSchema):
                self.spend(len(reader.values) + len(writer.values))
            found = [*found, *compare(reader, writer)]
        if not found:
            return NO_FINDINGS
        self._steps.spend(_STEPS_A_FINDING * len(found))
        return Findings(found)

    def _closed(self, compared: _Open, parts: Sequence[Part]) -> Findings:
        reader, writer = compared.nodes
        if type(reader) is type(writer) and (notes := compare_notes(reader, writer)):
            parts = [*notes, *parts]
        found = NO_FINDINGS
        if parts:
            self._steps.spend(_STEPS_A_FINDING * len(parts))
            found = Findings(parts)
        if compared.needs_verdict:
            return self._judged(compared, NO_FINDINGS if self.is_compatible(found) else SOME_FINDING)
        pair = _key(compared.nodes)
        self._known[pair] = found
        self._active.discard(pair)
        return _through(found, compared.references, compared.nodes)

    def _judged(self, compared: _Open, verdict: Findings) -> Findings:
        pair = _key(compared.nodes)
        self._verdicts[pair] = verdict
        self._active.discard(pair)
        return verdict


def _judge_kinds(walk: Walk, reader: Node, writer: Node) -> Comparing:
    """Return the findings of two nodes of different kinds."""
    found = None
    if isinstance(reader, CombinationSchema) and not isinstance(writer, CombinationSchema):
        found = yield from _some_branch_reads(walk, reader, writer)
    elif isinstance(writer, CombinationSchema) and not isinstance(reader, CombinationSchema):
        found = yield from _some_branch_is_read(walk, reader, writer)
    if found is not None:
        return found
    is_bytes = reader.connect_type == writer.connect_type == "bytes"
    if isinstance(reader, EmptySchema) or isinstance(writer, NothingSchema) or is_bytes:
        return []
    return [at_kind(rules.TYPE_CHANGED, reader, writer, reader=describe(reader), writer=describe(writer))]


def _some_branch_reads(
    walk: Walk, reader: CombinationSchema, writer: Node
) -> Generator[tuple[Node, Node], Findings, list[Part] | None]:
    """Return the findings if one compatible branch of the reader's is enough; None if there is none."""
    is_only = len(reader.branches) == 1
    for branch in reader.branches if is_only or reader.criterion is not Criterion.ALL_OF else ():
        inner = yield branch, writer
        if walk.is_compatible(inner):
            return [inner] if is_only else [inner, at(rules.SUM_TYPE_EXTENDED, reader, writer)]
    return None


def _some_branch_is_read(
    walk: Walk, reader: Node, writer: CombinationSchema
) -> Generator[tuple[Node, Node], Findings, list[Part] | None]:
    """Return the findings if the reader accepts one branch of the writer's, all of which hold.

    None if it accepts none.
    """
    is_only = len(writer.branches) == 1
    for branch in writer.branches if is_only or writer.criterion is Criterion.ALL_OF else ():
        inner = yield reader, branch
        if walk.is_compatible(inner):
            return [inner] if is_only else [inner, at(rules.PRODUCT_TYPE_NARROWED, reader, writer)]
    return None


def _compare_negations(walk: Walk, reader: NegationSchema, writer: NegationSchema) -> Comparing:
    inner = yield writer.refused, reader.refused
    if not walk.is_compatible(inner):
        return [at(rules.NOT_TYPE_EXTENDED, reader, writer, "not")]
    return [at(rules.NOT_TYPE_NARROWED, reader, writer, "not")] if inner else []


def _compare_references(walk: Walk, reader: ReferenceSchema, writer: ReferenceSchema) -> Comparing:
    del walk
    return [(yield reader, writer)]


_WITH_NODES: Final[Mapping[type[Node], Callable[[Walk, Json, Json], Comparing]]] = {
    ArraySchema: compare_arrays,
    CombinationSchema: compare_combinations,
    NegationSchema: _compare_negations,
    ObjectSchema: compare_objects,
    ReferenceSchema: _compare_references,
}
"""The kinds of nodes with nodes inside them, with the comparison of two of one kind beside their annotations."""


def _dereferenced(node: Node) -> Node:
    """Return the node that a reference leads to; any other node unchanged.

    If it leads to another reference, that is followed only if both sides are references then, as in the reference
    registry: there, a reference is another kind of schema than its target.
    """
    return node.target() if isinstance(node, ReferenceSchema) else node


def _key(nodes: tuple[Node, Node]) -> tuple[int, int]:
    return id(nodes[0]), id(nodes[1])


def _through(found: Findings, references: tuple[Node, Node], nodes: tuple[Node, Node]) -> Findings:
    if found is NO_FINDINGS or (references[0] is nodes[0] and references[1] is nodes[1]):
        return found
    return Findings((found,), references=references)
