"""The answer to whether a schema may follow others, as plain values, which can cross from one process to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from counterfoil.schema.compatibility.identity import identity_of, without_message
from counterfoil.schema.errors import JudgementUndecided
from counterfoil.schema.judgement.judge import judge
from counterfoil.schema.judgement.messages import confluent_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.identity import Identity
    from counterfoil.schema.compatibility.levels import CompatibilityLevel, Direction
    from counterfoil.schema.compatibility.policies import CompatibilityPolicy
    from counterfoil.schema.compatibility.report import Earlier
    from counterfoil.schema.judgement.judge import Budget, Judgement
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath


@dataclass(frozen=True, slots=True)
class Question:
    """Whether ``candidate`` may follow ``history``, which begins with the newest version."""

    candidate: ParsedSchema
    history: Sequence[Earlier]
    level: CompatibilityLevel
    policy: CompatibilityPolicy


class FoundDifference(NamedTuple):
    """A difference from the earlier version with the number ``version``, without the two schemas.

    ``path`` names it, without the name of the message with which the paths of Protobuf begin. There may be thousands,
    which cross from one process to another.
    """

    rule: str
    text: str
    path: FieldPath
    direction: Direction
    version: int | None
    identity: Identity


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: compatible, or the differences, and the messages for Confluent's clients.

    Only :func:`answer` lists the differences.
    """

    differences: tuple[FoundDifference, ...] = ()
    messages: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_compatible(self) -> bool:
        """Whether nothing was found."""
        return not self.messages


COMPATIBLE = Answer()
"""The answer that nothing was found."""


def answer(question: Question, budget: Budget) -> Answer:
    """Return the whole answer, with witnesses in its messages; raise ``JudgementUndecided``, ``InvalidSchema``."""
    judgement = judged(question, budget)
    if judgement.report.is_compatible:
        return COMPATIBLE
    return Answer(differences_in(judgement), messages_about(judgement))


def messages_only(question: Question, budget: Budget) -> Answer:
    """Return the answer without the differences, which many requests do not need."""
    judgement = judged(question, budget)
    return COMPATIBLE if judgement.report.is_compatible else Answer(messages=messages_about(judgement))


def judged(question: Question, budget: Budget) -> Judgement:
    """Return the judgement of a question."""
    return judge(question.candidate, question.history, question.level, policy=question.policy, budget=budget)


def differences_in(judgement: Judgement) -> tuple[FoundDifference, ...]:
    """Return the differences of a judgement as plain values."""
    return tuple(
        FoundDifference(
            each.difference.rule,
            each.difference.text,
            without_message(each.difference.element, each.failure.reader),
            each.failure.direction,
            each.failure.earlier.version,
            identity_of(each.difference),
        )
        for each in judgement.incompatibilities
    )


def messages_about(judgement: Judgement, *, is_whole: bool = False) -> tuple[str, ...]:
    """Return the messages of a judgement, with witnesses.

    With ``is_whole``, ``JudgementUndecided`` is raised if a search ended by its limits: one with more steps may find
    a witness.
    """
    found, ended = judgement.search()
    if is_whole and ended:
        raise JudgementUndecided("A search for a record that proves a difference needs more steps")
    return tuple(confluent_messages(judgement.report, witnesses=found))
