"""Conversion plans: how records of one schema become records of another, and the errors of planning and converting.

::

    CounterfoilError
    ├── PlanError                field, problem, expected: a rule that cannot be read
    │   └── ExpressionError      position: a formula that cannot be read
    ├── PlanUnfinished           a plan with problems cannot convert
    └── ConversionError          code, field, text: a value that a plan cannot convert
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.texts import excerpt

_MOST_LEVELS: Final = 8
_MOST_PARTS: Final = 60  # more are never shown
_PLAIN_KEY: Final = re.compile("[A-Za-z_][A-Za-z0-9_-]*")


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
    """Return a value as it is printed in messages: as YAML writes it, cut off when it is long.

    >>> shown({"lat": None, "names": ["Ada", True]})
    "{lat: null, names: ['Ada', true]}"
    """
    return excerpt(spelt_as_yaml(value))


def spelt_as_yaml(value: object, depth: int = 0) -> str:
    """Return a plain value as YAML writes it on one line; bytes, and what YAML has not, as Python does."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping | list | tuple) and depth >= _MOST_LEVELS:
        return "…"
    if isinstance(value, Mapping):
        entries = (
            f"{key if isinstance(key, str) and _PLAIN_KEY.fullmatch(key) else spelt_as_yaml(key)}: "
            f"{spelt_as_yaml(item, depth + 1)}"
            for key, item in islice(value.items(), _MOST_PARTS)
        )
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(spelt_as_yaml(item, depth + 1) for item in islice(value, _MOST_PARTS))}]"
    return f"{value:f}" if isinstance(value, Decimal) else repr(value)
