"""The pair walk: the trees of a reader and a writer, walked together, and all their differences.

The results are those of the reference's checker, including its peculiarities, since clients parse them. Each pair of
nodes is compared once in a round. A pair that occurs again inside itself has its result of the round before, and is
compatible in the first; rounds are repeated until no further pairs become incompatible, so that recursive schemas are
compared completely.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.jsonschema.compare import rules
from counterfoil.schema.formats.jsonschema.compare.combined import compare_combinations
from counterfoil.schema.formats.jsonschema.compare.content_models import compare_arrays, compare_objects
from counterfoil.schema.formats.jsonschema.compare.findings import JsonDifference, at, at_kind
from counterfoil.schema.formats.jsonschema.compare.model import (
    Array,
    Choice,
    Combination,
    Constant,
    Criterion,
    Empty,
    Negation,
    Nothing,
    Numeric,
    Object,
    Reference,
    Text,
)
from counterfoil.schema.formats.jsonschema.compare.scalars import (
    compare_choices,
    compare_constants,
    compare_notes,
    compare_numbers,
    compare_texts,
)
from counterfoil.schema.formats.jsonschema.compare.translate import node_of
from counterfoil.schema.formats.jsonschema.compare.wording import describe
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference
from counterfoil.schema.steps import OutOfSteps, Steps, steps_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.jsonschema.compare.model import Node
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

MAX_DIFFERENCES: Final = 1000
"""The largest number of differences of one pair; recursive schemas could repeat them without bound."""

MIN_PAIRS: Final = 20_000
"""The largest number of compared pairs of nodes, for short texts.

For long texts it grows with their length: enough for each schema to be compared once, but not for each with each other.
"""

_SHORTEST_SCHEMA: Final = 10
"""The least number of characters of a schema in a text, with the name before it."""

MAX_ROUNDS: Final = 50
"""The largest number of rounds for recursive schemas."""


def walk(
    reader: JsonSchema,
    writer: JsonSchema,
    steps: Steps | None = None,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
) -> Sequence[JsonDifference]:
    """Return every difference, including those that do not break.

    ``policy`` decides which branches of a combination match. A reference that cannot be resolved is the only difference
    returned. Raises ``InvalidSchema`` for schemas that are nested too deeply, and ``OutOfSteps`` for too many pairs.
    """
    try:
        max_pairs = max(MIN_PAIRS, (len(reader.text) + len(writer.text)) // _SHORTEST_SCHEMA)
        return _Rounds(policy, max_pairs, steps or steps_for(reader, writer)).run(node_of(reader), node_of(writer))
    except UnresolvedReference as unresolved:
        return [at(rules.UNRESOLVED_REFERENCE, None, None, reason=str(unresolved))]
    except RecursionError:
        raise InvalidSchema("Invalid schema: it is nested too deep to be compared; flatten it") from None


class _Rounds:
    """One comparison of two trees; the :class:`~counterfoil.schema.formats.jsonschema.compare.content_models.Walk`."""

    def __init__(self, policy: CompatibilityPolicy, max_pairs: int, steps: Steps) -> None:
        self._steps = steps
        self._policy = policy
        self._pairs_left = max_pairs
        self._before: dict[tuple[int, int], Sequence[JsonDifference]] = {}
        self._known: dict[tuple[int, int], Sequence[JsonDifference]] = {}
        self._active: set[tuple[int, int]] = set()
        self._assumed = False

    def run(self, reader: Node, writer: Node) -> Sequence[JsonDifference]:
        incompatible: set[tuple[int, int]] = set()
        found: Sequence[JsonDifference] = ()
        for _ in range(MAX_ROUNDS):
            self._before, self._known, self._assumed = self._known, {}, False
            found = self.compare(reader, writer)
            broken = {pair for pair, findings in self._known.items() if not self.is_compatible(findings)}
            if not self._assumed or broken <= incompatible:
                break
            incompatible |= broken
        return found

    def is_compatible(self, findings: Iterable[JsonDifference]) -> bool:
        return not any(self._policy in finding.kind.breaks for finding in findings)

    def spend(self, steps: int = 1) -> None:
        self._steps.spend(steps)

    def matches(self, pattern: str, name: str) -> bool:
        self._steps.spend()
        return holds_match(pattern, name) is True

    def compare(self, reader: Node, writer: Node) -> Sequence[JsonDifference]:
        mine, theirs = _dereferenced(reader), _dereferenced(writer)
        found = self._known.get((id(mine), id(theirs)))
        if found is None:
            found = self._compare_meant(mine, theirs)
        self._steps.spend(1 + len(found))
        if found and (mine is not reader or theirs is not writer):
            return [finding.through(reader, writer) for finding in found]
        return found

    def _compare_meant(self, reader: Node, writer: Node) -> Sequence[JsonDifference]:
        pair = (id(reader), id(writer))
        if pair in self._active:
            self._assumed = True
            return self._before.get(pair, ())
        self._pairs_left -= 1
        if self._pairs_left < 0:
            raise OutOfSteps
        self._active.add(pair)
        found = self._known[pair] = tuple(self._judge(reader, writer)[:MAX_DIFFERENCES])
        self._active.discard(pair)
        return found

    def _judge(self, reader: Node, writer: Node) -> list[JsonDifference]:
        found = None
        if isinstance(reader, Combination) and not isinstance(writer, Combination):
            found = self._some_branch_reads(reader, writer)
        elif isinstance(writer, Combination) and not isinstance(reader, Combination):
            found = self._some_branch_is_read(reader, writer)
        if found is not None:
            return found
        if type(reader) is type(writer):
            return [*compare_notes(reader, writer), *self._compare_kinds(reader, writer)]
        is_bytes = reader.connect_type == writer.connect_type == "bytes"
        if isinstance(reader, Empty) or isinstance(writer, Nothing) or is_bytes:
            return []
        return [at_kind(rules.TYPE_CHANGED, reader, writer, reader=describe(reader), writer=describe(writer))]

    def _some_branch_reads(self, reader: Combination, writer: Node) -> list[JsonDifference] | None:
        """Return the findings if one compatible branch of the reader's is enough; None if there is none."""
        is_only = len(reader.branches) == 1
        for branch in reader.branches if is_only or reader.criterion is not Criterion.ALL_OF else ():
            inner = self.compare(branch, writer)
            if self.is_compatible(inner):
                return [*inner] if is_only else [*inner, at(rules.SUM_TYPE_EXTENDED, reader, writer)]
        return None

    def _some_branch_is_read(self, reader: Node, writer: Combination) -> list[JsonDifference] | None:
        """Return the findings if the reader accepts one branch of the writer's, all of which hold.

        None if it accepts none.
        """
        is_only = len(writer.branches) == 1
        for branch in writer.branches if is_only or writer.criterion is Criterion.ALL_OF else ():
            inner = self.compare(reader, branch)
            if self.is_compatible(inner):
                return [*inner] if is_only else [*inner, at(rules.PRODUCT_TYPE_NARROWED, reader, writer)]
        return None

    def _compare_kinds(self, reader: Node, writer: Node) -> list[JsonDifference]:
        match reader, writer:
            case (Text(), Text()):
                return compare_texts(reader, writer)
            case (Numeric(), Numeric()):
                return compare_numbers(reader, writer)
            case (Object(), Object()):
                return compare_objects(self, reader, writer)
            case (Array(), Array()):
                return compare_arrays(self, reader, writer)
            case (Choice(), Choice()):
                return compare_choices(reader, writer)
            case (Constant(), Constant()):
                return compare_constants(reader, writer)
            case (Combination(), Combination()):
                return compare_combinations(self, reader, writer)
            case (Negation(), Negation()):
                return self._compare_negations(reader, writer)
            case (Reference(), Reference()):
                return [*self.compare(reader, writer)]
        return []

    def _compare_negations(self, reader: Negation, writer: Negation) -> list[JsonDifference]:
        inner = self.compare(writer.refused, reader.refused)
        if not self.is_compatible(inner):
            return [at(rules.NOT_TYPE_EXTENDED, reader, writer, "not")]
        return [at(rules.NOT_TYPE_NARROWED, reader, writer, "not")] if inner else []


def _dereferenced(node: Node) -> Node:
    """Return the node that a reference leads to; any other node unchanged.

    If it leads to another reference, that is followed only if both sides are references then, as in the reference
    registry: there, a reference is another kind of schema than its target.
    """
    return node.target() if isinstance(node, Reference) else node
