"""Which levels would accept a schema after a whole history, and which version stops it."""

from __future__ import annotations

from enum import Enum
from typing import Final

from counterfoil.schema.comparing.grid import DIRECTIONS, name_of
from counterfoil.schema.comparing.parts import Parts
from counterfoil.schema.comparing.question import ComparisonLimits, ComparisonQuestion
from counterfoil.schema.compatibility import CompatibilityLevel, Direction, Steps, steps_for
from counterfoil.schema.compatibility.findings import Earlier
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.judgement import find_breaking
from counterfoil.schema.rest.comparisons import LevelAnswer

_BOTH: Final = "both"


class _Outcome(Enum):
    """What is known of one version in one direction."""

    READS = "reads"
    BREAKS = "breaks"
    UNKNOWN = "unknown"


def answer_levels(
    question: ComparisonQuestion, limits: ComparisonLimits, steps: Steps
) -> Parts[tuple[LevelAnswer, ...]]:
    """Return the answer of each of the seven levels, as a registration under it would be judged.

    ``steps`` are those of all versions together. What they do not suffice for is not decided.
    """
    history = _JudgedHistory(question, limits, steps)
    yield from history.judge()
    return tuple(history.answer(level) for level in CompatibilityLevel)


class _JudgedHistory:
    """The versions of a history from the newest: each direction is judged up to the first version that fails."""

    def __init__(self, question: ComparisonQuestion, limits: ComparisonLimits, steps: Steps) -> None:
        self._question = question
        self._limits = limits
        self._steps = steps
        self._outcomes: dict[Direction, list[_Outcome]] = {each: [] for each in DIRECTIONS}

    def judge(self) -> Parts[None]:
        """Compare with the versions, as far as a level needs it."""
        for direction, outcomes in self._outcomes.items():
            for earlier in self._question.history:
                outcomes.append(self._outcome(earlier, direction))
                yield
                if outcomes[-1] is not _Outcome.READS:
                    break

    def answer(self, level: CompatibilityLevel) -> LevelAnswer:
        """Return the answer of one level."""
        in_force = level is self._question.level
        history = self._question.history if level.is_transitive else self._question.history[:1]
        for number, earlier in enumerate(history):
            outcomes = {each: self._at(each, number) for each in level.directions}
            broken = [each for each, outcome in outcomes.items() if outcome is _Outcome.BREAKS]
            if broken:
                direction = _BOTH if len(broken) > 1 else name_of(broken[0])
                return LevelAnswer(
                    level.value, accepted=False, refused_by=earlier.version, direction=direction, in_force=in_force
                )
            if _Outcome.UNKNOWN in outcomes.values():
                return LevelAnswer(level.value, accepted=None, in_force=in_force)
        return LevelAnswer(level.value, accepted=True, in_force=in_force)

    def _at(self, direction: Direction, number: int) -> _Outcome:
        """Return what is known; behind the first failure of a direction, which no level asks, nothing is."""
        outcomes = self._outcomes[direction]
        return outcomes[number] if number < len(outcomes) else _Outcome.UNKNOWN

    def _outcome(self, earlier: Earlier, direction: Direction) -> _Outcome:
        later = self._question.later.schema
        if later.schema_type is not earlier.schema.schema_type:
            return _Outcome.BREAKS
        most = self._limits.comparison_steps or steps_for(later, earlier.schema).left
        steps = self._steps.some(min(most, self._steps.left))
        try:
            found = find_breaking(later, earlier.schema, direction, policy=self._question.policy, steps=steps)
        except JudgementUndecided:
            if self._limits.is_whole:
                raise
            return _Outcome.UNKNOWN
        except InvalidSchema:  # a registration fails with it, too
            return _Outcome.BREAKS
        return _Outcome.BREAKS if found else _Outcome.READS
