"""The table of casts in the documentation: complete, and true in every engine."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from counterfoil.converter.engines.reference import ReferenceEngine
from counterfoil.schema.plans.types import casts, widens
from strategies.cases.each_case import check_each
from strategies.engines.cast_rows import PAGE, Row, language_of, rows_of, scalar_at, schema_of, trial_of
from strategies.engines.java import check

if TYPE_CHECKING:
    from strategies.engines.cast_rows import Trial
    from strategies.engines.java import Convert

TYPES = (
    "boolean", "int", "long", "uint32", "uint64", "float", "double", "number", "string", "bytes", "fixed(2)", "base64",
    "enum(A, B)", "enum(A, C)", "uuid", "decimal(9, 2)", "decimal(6, 1)", "decimal(20, 0)",
    "decimal(20, 6)", "date", "time-millis", "time-micros",
    "full-date", "date-time", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis",
    "local-timestamp-micros", "Timestamp", "Duration",
)  # fmt: skip


@cache
def table() -> list[Row]:
    """Return the rows of the page."""
    return rows_of(PAGE.read_text(encoding="utf-8"))


@cache
def trials() -> list[Trial]:
    """Return the rows, one trial for each pair of languages."""
    by_languages = sorted(table(), key=lambda row: row.languages)
    return [trial_of(rows) for _, rows in groupby(by_languages, key=lambda row: row.languages)]


def test_the_reference_gives_the_results_of_the_table():
    assert len(table()) > 200
    for trial in trials():
        engine = ReferenceEngine(trial.conversion)

        def right(place: int, trial: Trial = trial, engine: ReferenceEngine = engine) -> None:
            made = engine.convert_value(trial.messages[place])
            found = str(made.failure.code) if made.failure is not None else trial.shown(made.value or b"", place)
            assert found == trial.rows[place].result, trial.rows[place]

        check_each(((str(row), place) for place, row in enumerate(trial.rows)), right)


def test_the_table_has_every_cast():
    """A pair of types that can be cast has a row, or one of an equal pair (other units, other symbols)."""
    scalars = {word: scalar_at(schema_of([word], language_of(word)), 0) for word in TYPES}
    written = {(scalars[row.source].word, scalars[row.target].word) for row in table()}
    possible = {
        (one.word, other.word)
        for one in scalars.values()
        for other in scalars.values()
        if casts(one, other) and not widens(one, other) and one != other
    }
    assert possible - written == set()


def test_java_gives_the_results_of_the_table(convert: Convert) -> None:
    for trial in trials():
        check(trial.conversion, trial.messages, convert)
