"""The judgement of a schema against earlier versions: the reasons against it, and the values that prove them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.compatibility.report import Failure
from counterfoil.schema.formats.table import format_for
from counterfoil.schema.judgement.check import check_compatibility, reader_and_writer
from counterfoil.schema.judgement.confirmation import confirm_compatible
from counterfoil.schema.judgement.witnesses import search_for_witness
from counterfoil.schema.steps import STEPS_A_CHARACTER, Steps
from counterfoil.schema.witness import BEYOND_LIMITS, NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.compatibility.report import CompatibilityReport, Difference, Earlier
    from counterfoil.schema.parsed import ParsedSchema

SEARCH_STEPS: Final = 1_500_000
"""The steps of all searches of one judgement of small schemas; an ordinary search takes a few thousand."""

MAX_SEARCHES_A_CAUSE: Final = 10
"""The largest number of ways to one difference for which a witness is searched for."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of comparisons, searches and confirmations; no verdict depends on those of searches.

    ``witnesses`` is the number of incompatibilities, from the first, for which :meth:`Judgement.witnesses` searches;
    None for all. ``confirmed`` is the number of generated values that are written and read in each direction in which
    the rules find nothing. Each search has limits of its own, for the number of steps and the size of the values.
    ``comparison_steps`` are the steps of each comparison; None for those that grow with the schemas. ``search_steps``
    are those of all searches together; None for those that grow with the schemas.
    """

    witnesses: int | None = None
    confirmed: int = 0
    comparison_steps: int | None = None
    search_steps: int | None = None


DEFAULT_BUDGET: Final = Budget()
"""The default: a search for a witness of every incompatibility, and no confirmation."""


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One reason why a candidate may not follow an earlier version; ``failure`` has the schemas and the direction.

    ``steps`` are those of all searches of one judgement.
    """

    failure: Failure
    difference: Difference
    steps: Steps | None = field(default=None, compare=False, repr=False)

    def search_for_witness(self) -> Witness | NoWitness:
        """Search for a value that proves it and return it, or why none was found; every call searches again."""
        if self.steps is not None and self.steps.left <= 0:
            return NoWitness(0, BEYOND_LIMITS)
        return search_for_witness(self.failure.reader, self.failure.writer, self.difference, steps=self.steps)


@dataclass(frozen=True, slots=True)
class UnreadValue:
    """A value that is not read as it was written, although the rules of the policy find nothing in that direction.

    ``failure`` has the two schemas and, as its differences, those of the policy SOUND.
    """

    failure: Failure
    witness: Witness


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of a judgement.

    ``report`` is the verdict. ``round_tripped`` is the number of generated values that were read as they were written,
    ``unread`` has the first value in each direction that was not.
    """

    report: CompatibilityReport
    budget: Budget
    round_tripped: int = 0
    unread: tuple[UnreadValue, ...] = ()
    search_steps: Steps = field(default_factory=lambda: Steps(SEARCH_STEPS), compare=False, repr=False)

    @property
    def incompatibilities(self) -> tuple[Incompatibility, ...]:
        """All reasons against the candidate, in the order of the report."""
        return tuple(
            Incompatibility(failure, difference, self.search_steps)
            for failure in self.report.failures
            for difference in failure.differences
        )

    def witnesses(self) -> dict[Difference, Witness]:
        """Search for as many witnesses as the budget permits, and return those that were found."""
        return self.search()[0]

    def search(self) -> tuple[dict[Difference, Witness], bool]:
        """Return what :meth:`witnesses` does, and whether a search ended by its limits."""
        found: dict[Difference, Witness] = {}
        ended = False
        searched: set[tuple[int, Difference]] = set()  # one difference is reported at every place of its pair
        searches: Counter[tuple[int, object]] = Counter()  # one difference is found along every way to its pair
        for each in self.incompatibilities[: self.budget.witnesses]:
            cause = (id(each.failure), each.difference)
            along_ways = (id(each.failure), each.difference.origin_key)
            if cause in searched or searches[along_ways] >= MAX_SEARCHES_A_CAUSE:
                continue
            searched.add(cause)
            searches[along_ways] += 1
            witness = each.search_for_witness()
            if isinstance(witness, Witness):
                found[each.difference] = witness
            else:
                ended = ended or witness.reason == BEYOND_LIMITS
        return found, ended


def judge(
    candidate: ParsedSchema,
    history: Sequence[Earlier],
    level: CompatibilityLevel,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    budget: Budget = DEFAULT_BUDGET,
) -> Judgement:
    """Judge whether ``candidate`` may follow ``history`` under ``level`` and ``policy``.

    The verdict is that of :func:`~counterfoil.schema.judgement.check.check_compatibility`: ``history`` is in order from
    the newest version, and the first version that fails is the only one reported. Searches for witnesses are done when
    :meth:`Judgement.witnesses` is called, confirmations at once. There is no I/O. Raises ``InvalidSchema`` for schemas
    that are nested too deep to be compared, and ``JudgementUndecided`` where the steps do not suffice.

    >>> from counterfoil.schema import CompatibilityLevel, Earlier, parse_schema
    >>> judgement = judge(parse_schema('"int"'), [Earlier(parse_schema('"string"'))], CompatibilityLevel.BACKWARD)
    >>> [each.difference.text for each in judgement.incompatibilities]
    ['The reader expects int, the writer writes string']
    >>> [witness.datum_json for witness in judgement.witnesses().values()]
    ['""']
    """
    steps = Steps(_search_steps(candidate, history) if budget.search_steps is None else budget.search_steps)
    report = check_compatibility(candidate, history, level, policy=policy, max_steps=budget.comparison_steps)
    if not budget.confirmed or policy in format_for(candidate.schema_type).policies_about_bytes:
        return Judgement(report, budget, search_steps=steps)
    round_tripped, unread = 0, []
    for earlier in history[: report.checked]:
        failed = {failure.direction for failure in report.failures if failure.earlier is earlier}
        for direction in (each for each in level.directions if each not in failed):
            reader, writer = reader_and_writer(candidate, earlier, direction)
            confirmation = confirm_compatible(reader, writer, budget.confirmed)
            round_tripped += confirmation.round_tripped
            if confirmation.counter_witness is not None:
                failure = Failure(earlier, direction, reader, writer, _unsound(reader, writer))
                unread.append(UnreadValue(failure, confirmation.counter_witness))
    return Judgement(report, budget, round_tripped, tuple(unread), steps)


def _search_steps(candidate: ParsedSchema, history: Sequence[Earlier]) -> int:
    """Return the steps of all searches about a candidate and the version that it is compared with first."""
    schemas = [candidate, *(each.schema for each in history[:1])]
    return SEARCH_STEPS + STEPS_A_CHARACTER * sum(len(each.text) + each.referenced_chars for each in schemas)


def _unsound(reader: ParsedSchema, writer: ParsedSchema) -> tuple[Difference, ...]:
    find = format_for(reader.schema_type).find_differences
    return tuple(find(reader, writer, policy=CompatibilityPolicy.SOUND))
