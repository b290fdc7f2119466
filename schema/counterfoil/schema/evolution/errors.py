"""The errors of planning and converting.

::

    CounterfoilError
    ├── PlanError                field, problem, expected: a rule that cannot be read
    │   └── ExpressionError      position: a formula that cannot be read
    ├── PlanUnfinished           a plan with problems cannot convert
    └── ConversionError          code, field, text: a value that a plan cannot convert
"""

from __future__ import annotations

from enum import StrEnum

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.excerpt import excerpt


class PlanError(CounterfoilError):
    """A rule that cannot be read.

    ``field`` is the target field of the rule (``"drop"`` for the list of dropped fields), ``problem`` what is wrong,
    ``expected`` what would be right. ``word`` is the word of the rule that is wrong, or empty.
    """

    def __init__(self, problem: str, *, field: str, expected: str, word: str = "") -> None:
        super().__init__(f"{field}: {problem}; expected {expected}")
        self.word = word
        self.field = field
        self.problem = problem
        self.expected = expected


class ExpressionError(PlanError):
    """A formula that cannot be read. ``position`` counts its characters from 1."""

    def __init__(self, problem: str, *, position: int, expected: str, field: str = "expr") -> None:
        super().__init__(f"{problem} at character {position}", field=field, expected=expected)
        self.bare_problem = problem
        self.position = position

    def under(self, field: str) -> ExpressionError:
        """Return the same error for the target field ``field``."""
        return ExpressionError(self.bare_problem, position=self.position, expected=self.expected, field=field)


class PlanUnfinished(CounterfoilError):
    """A plan that has problems cannot convert anything. ``problems`` are sentences, one for each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(f"The plan is not complete: {'; '.join(problems)}")
        self.problems = problems


class FailureCode(StrEnum):
    """Why one record could not be converted; the words are used in dead letters and in metrics."""

    CAST_FAILED = "cast-failed"
    LOOKUP_MISSING = "lookup-missing"
    NULL_NOT_ALLOWED = "null-not-allowed"
    OUT_OF_RANGE = "out-of-range"
    FORMAT_FAILED = "format-failed"
    PARSE_FAILED = "parse-failed"
    SPLIT_MISSING = "split-missing"
    DIVISION_BY_ZERO = "division-by-zero"
    OVERFLOW = "overflow"
    NOT_A_NUMBER = "not-a-number"
    UNION_BRANCH_MISSING = "union-branch-missing"
    NOT_FRAMED = "not-framed"
    UNKNOWN_SCHEMA_ID = "unknown-schema-id"
    UNDECODABLE = "undecodable"
    TRAILING_BYTES = "trailing-bytes"
    UNENCODABLE = "unencodable"


class ConversionError(CounterfoilError):
    """A value that a plan cannot convert.

    ``code`` is the reason as a word, ``field`` the path of the target field that could not be filled (empty when the
    record could not be read at all), ``text`` one sentence for people.
    """

    def __init__(self, code: FailureCode, field: str, text: str) -> None:
        super().__init__(f"{field}: {text} ({code})" if field else f"{text} ({code})")
        self.code = code
        self.field = field
        self.text = text


def shown(value: object) -> str:
    """Return a value as it is printed in messages: Python's spelling, cut off when it is long."""
    return excerpt(repr(value))
