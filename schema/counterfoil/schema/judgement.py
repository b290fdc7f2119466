"""The judgement of a schema against earlier versions: the reasons against it, and the values that prove them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.compatibility import (
    STEPS_A_CHARACTER,
    CompatibilityLevel,
    CompatibilityPolicy,
    Direction,
    Steps,
)
from counterfoil.schema.compatibility.findings import (
    BEYOND_LIMITS,
    CompatibilityReport,
    CompatibilityRule,
    Confirmation,
    Difference,
    Earlier,
    Failure,
    NoWitness,
    Witness,
)
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.logical_rules import RULES as TABLE_RULES
from counterfoil.schema.languages.table import language_for
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from counterfoil.schema.languages.table_types import Column


# The guard around searches and confirmations: a defect in them is logged, and never makes a request fail.
#
# A verdict does not depend on the record that proves it. So an exception in a search only means that there is no
# record.

LOGGER: Final = logging.getLogger("counterfoil.schema.witness")  # the name that settings of logging know
"""The logger of defects, each with its traceback and the two schemas."""

_LONGEST_TEXT: Final = 20_000

_Outcome = TypeVar("_Outcome")


def guarded(
    work: Callable[[], _Outcome],
    instead: Callable[[str], _Outcome],
    reader: ParsedSchema,
    writer: ParsedSchema,
) -> _Outcome:
    """Return the result of ``work``; if it raises, the result of ``instead``, called with the reason as a text.

    The exception is logged with both schemas as its notes, which is enough to report and reproduce the defect.
    """
    try:
        return work()
    except Exception as defect:  # no defect may make the request fail
        defect.add_note(f"The reader's schema ({reader.schema_type}):\n{excerpt(reader.text, _LONGEST_TEXT)}")
        defect.add_note(f"The writer's schema ({writer.schema_type}):\n{excerpt(writer.text, _LONGEST_TEXT)}")
        name = type(defect).__name__
        LOGGER.exception(
            "A search for a record failed with %s, which is a defect of counterfoil; please report it", name
        )
        return instead(f"the search failed with {name}, which is a defect of counterfoil and stands in its log")


# The check of a candidate against a subject's history under its compatibility level.

SCHEMA_TYPE_CHANGED: Final = CompatibilityRule(
    id="schema-type-changed",
    schema_type=None,
    error_type="",
    sentence="The schema is {candidate}, the earlier version {earlier}; "
    "a subject keeps one schema type unless its compatibility level is NONE",
    why="Records of one language cannot be read with a schema of another.",
    promises_witness=False,
)
"""The rule for two schemas in different languages; the reference has no error type for it."""


def check_compatibility(
    candidate: ParsedSchema,
    history: Iterable[Earlier],
    level: CompatibilityLevel,
    *,
    policy: CompatibilityPolicy = CompatibilityPolicy.STRICT,
    max_steps: int | None = None,
) -> CompatibilityReport:
    """Return whether ``candidate`` may follow ``history`` under ``level`` and ``policy``, and every reason why not.

    ``history`` is in order from the newest version and is consumed no further than needed: only the latest version for
    a level that is not transitive, else up to the first version that fails, which is the only one reported. A schema of
    another language fails under every level but NONE. Raises ``InvalidSchema`` for schemas that are nested too deep to
    be compared, and ``JudgementUndecided`` where a comparison needs more than ``max_steps`` steps (by default, those
    of :func:`~counterfoil.schema.compatibility.steps_for`).

    >>> from counterfoil.schema.languages.table import parse_schema
    >>> earlier = Earlier(parse_schema('"string"'), version=1)
    >>> report = check_compatibility(parse_schema('"int"'), [earlier], CompatibilityLevel.BACKWARD)
    >>> [difference.text for failure in report.failures for difference in failure.differences]
    ['The reader expects int, the writer writes string']
    """
    if not level.directions:
        return CompatibilityReport(level)
    checked = 0
    for earlier in history if level.is_transitive else islice(history, 1):
        checked += 1
        failures = _failures(candidate, earlier, level.directions, policy, max_steps)
        if failures:
            return CompatibilityReport(level, failures, checked)
    return CompatibilityReport(level, checked=checked)


def _failures(
    candidate: ParsedSchema,
    earlier: Earlier,
    directions: tuple[Direction, ...],
    policy: CompatibilityPolicy,
    max_steps: int | None,
) -> tuple[Failure, ...]:
    if candidate.schema_type is not earlier.schema.schema_type:
        difference = (_schema_type_changed(candidate, earlier.schema),)
        return (Failure(earlier, directions[0], *reader_and_writer(candidate, earlier, directions[0]), difference),)

    def differences_of(direction: Direction) -> tuple[Difference, ...]:
        steps = None if max_steps is None else Steps(max_steps)
        return find_breaking(candidate, earlier.schema, direction, policy=policy, steps=steps)

    return tuple(
        Failure(earlier, direction, *reader_and_writer(candidate, earlier, direction), differences)
        for direction in directions
        if (differences := differences_of(direction))
    )


def find_breaking(
    candidate: ParsedSchema,
    earlier: ParsedSchema,
    direction: Direction,
    *,
    policy: CompatibilityPolicy,
    steps: Steps | None = None,
) -> tuple[Difference, ...]:
    """Return the reasons against ``candidate`` after ``earlier``, of the same language, in one direction.

    ``steps`` are spent; by default those of :func:`~counterfoil.schema.compatibility.steps_for`. Raises
    ``InvalidSchema`` for schemas that are nested too deep, and ``JudgementUndecided`` where the steps do not suffice.
    """
    reader, writer = reader_and_writer(candidate, Earlier(earlier), direction)
    found = list(language_for(candidate.schema_type).find_differences(reader, writer, policy=policy, steps=steps))
    if policy is CompatibilityPolicy.LOGICAL:
        found += find_logical_differences(reader, writer, candidate=candidate, steps=steps)
    if direction is Direction.FORWARD:  # the earlier schema takes nothing away from the later one
        found = [each for each in found if not each.kind.is_of_change]
    of_candidate = "reader" if direction is Direction.BACKWARD else "writer"
    return tuple(each for each in found if each.kind.of_side in {"", of_candidate})


def reader_and_writer(
    candidate: ParsedSchema, earlier: Earlier, direction: Direction
) -> tuple[ParsedSchema, ParsedSchema]:
    """Return the reader and the writer of a comparison in one direction."""
    return (candidate, earlier.schema) if direction is Direction.BACKWARD else (earlier.schema, candidate)


def _schema_type_changed(candidate: ParsedSchema, earlier: ParsedSchema) -> Difference:
    facts = {"candidate": candidate.schema_type, "earlier": earlier.schema_type}
    return Difference(SCHEMA_TYPE_CHANGED, facts, "{earlier} to {candidate}")


# The confirmation of a verdict "compatible": generated values, written with one schema and read with the other.

DEFAULT_COUNT: Final = 200
"""The number of values that are written and read."""


def confirm_compatible(reader: ParsedSchema, writer: ParsedSchema, count: int = DEFAULT_COUNT) -> Confirmation:
    """Return how many of ``count`` values of ``writer`` mean the same to ``reader``, or the first that does not.

    The values are the same on every call; every branch of a union and every symbol of an enum are among the first.
    Encoder and decoder are of other projects. Read and written values are compared by their meaning: an instant with an
    instant, a decimal with a decimal. Raises nothing: schemas that the decoder refuses are reported in the result, and
    a defect of this function is logged.
    """
    return guarded(
        lambda: confirm_unguarded(reader, writer, count),
        lambda reason: Confirmation(0, reason=reason),
        reader,
        writer,
    )


def confirm_unguarded(reader: ParsedSchema, writer: ParsedSchema, count: int = DEFAULT_COUNT) -> Confirmation:
    """Return the confirmation, but raise the exceptions of defects; tests call it to see them."""
    if reader.schema_type is not writer.schema_type:
        return Confirmation(0, reason="the two schemas are of different languages")
    return language_for(writer.schema_type).confirm_compatible(reader, writer, count)


# The search for a witness of a difference, in any language.

_ABOUT_TABLES: Final = frozenset(rule.id for rule in TABLE_RULES)


def search_for_witness(
    reader: ParsedSchema, writer: ParsedSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a value of ``writer`` that ``reader`` cannot read because of ``difference``, or why none was found.

    Raises nothing: a schema that the decoder refuses has no witness; a search that fails with a defect finds none, and
    the defect is logged. ``steps`` are spent; by default, a search has steps of its own.
    """
    return guarded(
        lambda: search_unguarded(reader, writer, difference, steps=steps),
        lambda reason: NoWitness(0, reason),
        reader,
        writer,
    )


def search_unguarded(
    reader: ParsedSchema, writer: ParsedSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return the result of the search, but raise the exceptions of defects; tests call it to see them."""
    if reader.schema_type is not writer.schema_type:
        return NoWitness(0, "the two schemas are of different languages")
    if difference.rule in _ABOUT_TABLES:
        return NoWitness(0, "the rule is about the table in which records land, and not about reading them")
    return language_for(writer.schema_type).search_for_witness(reader, writer, difference, steps=steps)


# The judgement itself: the check, with the values that prove its reasons.

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

    The verdict is that of :func:`check_compatibility`: ``history`` is in order from
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
    if not budget.confirmed or policy in language_for(candidate.schema_type).policies_about_bytes:
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
    find = language_for(reader.schema_type).find_differences
    return tuple(find(reader, writer, policy=CompatibilityPolicy.SOUND))


# The differences that break a table of records, for schemas of any language: the policy LOGICAL.


def find_logical_differences(
    reader: ParsedSchema, writer: ParsedSchema, *, candidate: ParsedSchema, steps: Steps | None = None
) -> list[Difference]:
    """Return what breaks a table with the columns of ``reader`` and rows of ``writer``, in the order of the columns.

    ``candidate`` is the new one of the two schemas: if it has no table type, that is the only difference. With an
    earlier schema without a table type the result is empty. ``steps`` are spent for the columns, if there are some.
    Raises ``InvalidSchema`` for schemas that are nested too deep, and ``JudgementUndecided`` where the steps do not
    suffice.
    """
    from counterfoil.schema.languages.table_types import NotATable, compare_columns, not_a_table

    try:
        new = _column(candidate, steps)
    except NotATable as fault:
        pointers = (fault.pointer, ()) if candidate is reader else ((), fault.pointer)
        return [not_a_table(fault.reason, candidate.path_at(fault.pointer), pointers)]
    try:
        earlier = _column(writer if candidate is reader else reader, steps)
    except NotATable:
        return []
    is_named = language_for(candidate.schema_type).pointers_are_names  # a column's path is then that of its pointer
    sides = (new, earlier) if candidate is reader else (earlier, new)
    return compare_columns(*sides, path_at=reader.path_at if is_named else None)


def _column(schema: ParsedSchema, steps: Steps | None) -> Column:
    try:
        return language_for(schema.schema_type).table_column(schema, steps=steps)
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None
