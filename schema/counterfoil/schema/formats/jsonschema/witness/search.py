"""The search for a value that shows one difference, built from both schemas and confirmed by another validator.

Values that the writer's schema accepts are varied along the difference's path, the most promising ones first. Each is
validated with the reader's schema and, if that refuses it because of this difference, with the writer's, which must
accept it. The value found is then made as small as possible.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.jsonschema.sound.misreadings import VALUES_A_PLACE, Meanings, find_misreadings
from counterfoil.schema.formats.jsonschema.sound.rules import CONTENT_MISREAD, FORMAT_MISREAD
from counterfoil.schema.formats.jsonschema.validity import check_validity
from counterfoil.schema.formats.jsonschema.values.samples import MAX_BUILT, MAX_VARIATIONS, Sampler
from counterfoil.schema.formats.jsonschema.values.solver import Solver
from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.formats.jsonschema.witness.places import place_of
from counterfoil.schema.formats.jsonschema.witness.shrinking import smaller
from counterfoil.schema.formats.jsonschema.witness.validator import SchemaValidator, ValidatorRefuses, validator_name
from counterfoil.schema.formats.jsonschema.witness.wording import step_in_words, value_text, way_in_words
from counterfoil.schema.steps import OutOfSteps, Steps, steps_for
from counterfoil.schema.witness import BEYOND_LIMITS, Confirmation, NoWitness, Witness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.sound.misreadings import Misreading
    from counterfoil.schema.formats.jsonschema.values.samples import Step
    from counterfoil.schema.formats.jsonschema.view.facts import Schema
    from counterfoil.schema.formats.jsonschema.witness.validator import Failure

MAX_TRIED: Final = 240
"""The largest number of values that are tried for one difference."""

MAX_FURTHER: Final = 40
"""The largest number of further values after one that may come from the difference, for one that certainly does."""

MAX_LOOKS: Final = 80_000
"""The largest number of evaluated schemas for all values together; a schema that is used twice counts twice."""

MAX_LOOKS_A_VALUE: Final = 4_000
"""The largest number of schemas that may be evaluated for one value; with more, the slower validator is not called."""

MAX_REFUSALS: Final = 5
"""The largest number of values about which the validator cannot decide, before the search ends."""

USUAL_SIZE: Final = 100_000
"""The number of characters of both schemas up to which the limits apply; for larger ones fewer values are tried."""

MAX_SHRINKINGS: Final = 40

_STEPS_A_LOOK: Final = 30
"""The steps of a schema that a validator evaluates."""
_STEPS_A_VALUE: Final = 100

MISREADINGS: Final = frozenset({FORMAT_MISREAD.id, CONTENT_MISREAD.id})
"""The rules of differences in values that both sides accept."""
_CACHE_CHARS: Final = 100_000
"""The characters of the schemas whose validators are cached for the search for the next difference."""


def search_for_witness(
    reader: JsonSchema, writer: JsonSchema, difference: Difference, *, steps: Steps | None = None
) -> Witness | NoWitness:
    """Return a value that ``writer`` accepts and ``reader`` refuses, or the number of tries and why none was found."""
    try:
        search = Search(reader, writer, steps or steps_for(reader, writer))
        if difference.rule in MISREADINGS:
            return search.for_misreading(difference)
        return search.for_difference(difference)
    except OutOfSteps:
        return NoWitness(0, BEYOND_LIMITS)
    except (RecursionError, InvalidSchema, ValidatorRefuses) as problem:
        return NoWitness(0, "the schemas are nested too deep" if isinstance(problem, RecursionError) else str(problem))


class _Side:
    """A schema with its validator; raises ``InvalidSchema`` and ``ValidatorRefuses``."""

    def __init__(self, schema: JsonSchema) -> None:
        check_validity(schema)  # a schema that was stored long ago may be invalid
        self.validator = SchemaValidator(schema)
        self.root = root_of(schema)


@cached_by_size(_CACHE_CHARS, size_of=lambda _, reader, writer: len(reader.text) + len(writer.text), keeps_large=True)
def _sides_of(reader: JsonSchema, writer: JsonSchema) -> tuple[_Side, _Side]:
    return _Side(reader), _Side(writer)


class Search:
    """One search, with a validator for each side; raises ``InvalidSchema`` and ``ValidatorRefuses``."""

    def __init__(self, reader: JsonSchema, writer: JsonSchema, steps: Steps) -> None:
        self._steps = steps
        self._schemas = (reader, writer)
        reading, writing = _sides_of(reader, writer)
        self._reader, self._reader_root = reading.validator, reading.root
        self._writer, self._writer_root = writing.validator, writing.root
        self._tried = 0
        self._reason = ""
        self._refusals = 0
        self._evaluator = Evaluator(MAX_LOOKS, steps=steps)
        self._solver = Solver(self._evaluator, trusts_unknown=True)
        self._judged = Evaluator(MAX_LOOKS_A_VALUE, remembers=False)
        size = len(reader.text) + len(writer.text)
        self._share = min(1.0, USUAL_SIZE / size)

    def for_difference(self, difference: Difference) -> Witness | NoWitness:
        """Return a witness that certainly comes from ``difference``, or else one that may come from it."""
        place = place_of(difference)
        second: tuple[Any, Failure] | None = None
        left = max(1, int(MAX_TRIED * self._share))
        for value in self._values([place.steps, ()] if place.steps else [()]):
            if left == 0 or self._refusals > MAX_REFUSALS:
                break
            left -= 1
            failures = self._failures(value)
            exact, near = _first(failures, place.explains), _first(failures, place.is_near)
            if not (exact or (near and second is None)) or not self._is_written(value):
                continue
            if exact:
                return self._witness(value, exact, place.explains)
            if near:
                second, left = (value, near), min(left, MAX_FURTHER)
        if second:
            return self._witness(*second, place.is_near)
        return NoWitness(self._tried, self._reason or f"{validator_name()} accepts them under the reader's schema")

    def for_misreading(self, difference: Difference) -> Witness | NoWitness:
        """Return a value that both validators accept and that the reader misreads as in ``difference``."""
        for each in find_misreadings(*self._schemas):
            self._tried += 1
            if each.difference() == difference and self._is_written(each.value) and not self._failures(each.value):
                return _misread_witness(each)
        return NoWitness(self._tried, "no value that both schemas accept shows it")

    def for_confirmation(self, count: int) -> Confirmation:
        """Return how many of ``count`` values the reader accepts with the same meaning, up to the first that fails."""
        accepted = 0
        meanings = Meanings(*self._schemas)
        try:
            at_places = [islice(self._values([steps]), VALUES_A_PLACE) for steps in meanings.places]
            anywhere = self._values([()], variations=count)
            for made in islice(chain(*at_places, anywhere), max(1, int(count * 2 * self._share))):
                value = meanings.telling(made)
                self._tried += 1
                if not self._is_written(value):
                    continue
                self._bound(value, self._reader_root)
                failures = self._reader.failures(value)
                if failures:
                    return Confirmation(accepted, self._witness(value, failures[0], lambda _: True))
                misread = next(meanings.misreadings(value), None)
                if misread is not None:
                    return Confirmation(accepted, _misread_witness(misread))
                accepted += 1
                if accepted == count:
                    return Confirmation(accepted)
        except ValidatorRefuses as refused:
            return Confirmation(accepted, reason=str(refused))
        return Confirmation(accepted, reason=self._reason or "no more values of bearable size are found")

    def _values(self, ways: list[tuple[Step, ...]], *, variations: int = MAX_VARIATIONS) -> Iterator[Any]:
        for steps in ways:
            try:
                yield from Sampler(
                    self._solver, budget=max(20, int(MAX_BUILT * self._share)), variations=variations
                ).values([(self._writer_root, True)], [self._reader_root], steps)
            except OutOfSteps:
                self._reason = "the writer's values are too many to be tried"
        if not self._tried:
            self._reason = "no value of the writer's schema was found"

    def _failures(self, value: Any) -> list[Failure]:
        """Return the failures of ``value`` for the reader; empty also if the validator cannot decide."""
        self._tried += 1
        try:
            self._bound(value, self._reader_root)
            return [] if self._reader.accepts(value) else self._reader.failures(value)
        except ValidatorRefuses as refused:
            self._refusals += 1
            self._reason = str(refused)
            return []

    def _bound(self, value: Any, root: Schema) -> None:
        """Raise ``ValidatorRefuses`` if a validator would evaluate too many schemas for ``value``."""
        self._judged.refill(MAX_LOOKS_A_VALUE)
        try:
            self._judged.may_accept(root, value)
        except OutOfSteps:
            with suppress(OutOfSteps):
                self._evaluator.spend(MAX_LOOKS_A_VALUE)
            raise ValidatorRefuses("the schemas branch too much to be tried") from None
        finally:
            self._steps.spend(_STEPS_A_VALUE + _STEPS_A_LOOK * (MAX_LOOKS_A_VALUE - max(0, self._judged.left)))

    def _is_written(self, value: Any) -> bool:
        try:
            self._bound(value, self._writer_root)
            return self._writer.accepts(value)
        except ValidatorRefuses as refused:
            self._reason = str(refused)
            return False

    def _witness(self, value: Any, failure: Failure, is_meant: Callable[[Failure], bool]) -> Witness:
        with suppress(OutOfSteps):
            value, failure = self._smallest(value, failure, is_meant)
        text = value_text(value)
        return Witness(
            datum_json=text,
            body=text.encode(),
            stop=step_in_words(failure),
            confirmed_by=f"{validator_name()}: {failure.message}",
        )

    def _smallest(self, value: Any, failure: Failure, is_meant: Callable[[Failure], bool]) -> tuple[Any, Failure]:
        """Return a smaller value with a failure that is meant, too."""
        most = int(MAX_SHRINKINGS * self._share)
        for _ in range(most):
            for less in islice(smaller(value), most):
                still = _first(self._failures(less), is_meant)
                if still and self._is_written(less):
                    value, failure = less, still
                    break
            else:
                return value, failure
        return value, failure


def _misread_witness(misread: Misreading) -> Witness:
    text = value_text(misread.value)
    way = way_in_words(misread.path)
    return Witness(
        datum_json=text,
        body=text.encode(),
        stop=Sentence.of("{way}: {text}" if way else "{text}", {"way": way, "text": misread.text}),
        confirmed_by=f"{validator_name()}: accepted by both schemas; {misread.text}",
    )


def _first(failures: list[Failure], is_meant: Callable[[Failure], bool]) -> Failure | None:
    """Return the first failure for which ``is_meant`` holds; one inside a combination only if there is no other."""
    return min(filter(is_meant, failures), key=lambda failure: failure.is_inner, default=None)
