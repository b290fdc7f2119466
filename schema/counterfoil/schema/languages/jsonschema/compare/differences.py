"""The pair walk: the trees of a reader and a writer, walked together, and all their differences.

The results are those of the reference's checker, including its peculiarities, since clients parse them. Each pair of
nodes is compared once in a round. A pair that occurs again inside itself has its result of the round before, and is
compatible in the first; rounds are repeated until no further pairs become incompatible, so that recursive schemas are
compared completely.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.compatibility.policies import CompatibilityPolicy, OutOfSteps, Steps, steps_for
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.jsonschema.compare import rules
from counterfoil.schema.languages.jsonschema.compare.combined import compare_combinations
from counterfoil.schema.languages.jsonschema.compare.content_models import (
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
    VerdictOf,
    at,
    at_kind,
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
from counterfoil.schema.languages.jsonschema.compare.places import describe
from counterfoil.schema.languages.jsonschema.compare.translation import node_of
from counterfoil.schema.languages.jsonschema.document import UnresolvedReference
from counterfoil.schema.patterns.matching import CountedPatterns

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from counterfoil.schema.languages.jsonschema.compare.content_models import Walk
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema


MAX_DIFFERENCES: Final = 1000
"""The largest number of differences that are returned; a difference may be found along more ways than can be listed."""

MAX_VERDICTS: Final = 2_000
"""The number of pairs compared for their verdict alone beyond which no branches are ranked by similarity."""

MAX_ROUNDS: Final = 50
"""The largest number of rounds for recursive schemas."""

_STEPS_A_PAIR: Final = 12
_STEPS_A_LOOK: Final = 2
_STEPS_A_FINDING: Final = 8
_LEAVES: Final[Mapping[type[Node], Callable[[Any, Any], Sequence[Part]] | None]] = {
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


_WITH_NODES: Final[Mapping[type[Node], Callable[[Walk, Any, Any], Comparing]]] = {
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
