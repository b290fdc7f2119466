"""Values that both schemas accept and to which the reader gives another meaning: an addition of the policy SOUND.

They are searched for among generated values, in which each part with a known format or encoding is replaced by an
example of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.compare.findings import ValueDifference
from counterfoil.schema.formats.jsonschema.compare.meaning import examples_of, misreadings
from counterfoil.schema.formats.jsonschema.sound import rules
from counterfoil.schema.formats.jsonschema.sound.annotated_places import places_of_other_meanings
from counterfoil.schema.formats.jsonschema.sound.annotations import annotations_of
from counterfoil.schema.formats.jsonschema.values.samples import Sampler
from counterfoil.schema.formats.jsonschema.values.solver import Solver
from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
from counterfoil.schema.formats.jsonschema.view.written import root_of
from counterfoil.schema.steps import OutOfSteps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.formats.jsonschema.compare.meaning import Annotation
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.sound.annotations import Path
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.steps import Steps

MAX_VALUES: Final = 60
"""The largest number of generated values that vary everywhere."""
VALUES_A_PLACE: Final = 4
"""The number of values that are generated for each place with two possible meanings."""
MAX_PLACES: Final = 50
"""The largest number of such places for which values are generated."""
MAX_LOOKS: Final = 40_000
_MAX_LOOKS_A_VALUE: Final = 4_000


@dataclass(frozen=True, slots=True)
class Misreading:
    """A value to which the reader gives another meaning: the whole ``value``, and the ``path`` to the part concerned.

    ``written`` and ``read`` are the two annotations; ``text`` is like ``the date "2024-05-01" is read as a time``.
    """

    value: Any
    path: Path
    written: Annotation
    read: Annotation
    text: str

    def difference(self) -> ValueDifference:
        """Return the finding of SOUND."""
        keyword = self.read.keyword
        rule = rules.FORMAT_MISREAD if keyword == "format" else rules.CONTENT_MISREAD
        steps = (*self.read.steps, keyword)
        facts = {"keyword": keyword, "reader": self.read.word, "writer": self.written.word}
        pointers = ((*self.read.pointer, keyword), (*self.written.pointer, keyword))
        return ValueDifference(rule, facts, "{writer} as {reader}", steps, pointers, is_called_by_pointer=True)


class Meanings:
    """The comparison of the meanings that two schemas give to values."""

    def __init__(self, reader: JsonSchema, writer: JsonSchema, along: FieldPath | None = None) -> None:
        self.reader = root_of(reader)
        self.writer = root_of(writer)
        self._shown: Counter[Annotation] = Counter()
        self.places = places_of_other_meanings(reader, writer, along=along)[:MAX_PLACES]
        """The steps to the places at which meanings may differ, the nearest first."""

    def telling(self, value: Any) -> Any:
        """Return ``value`` with its annotated parts replaced by examples, as far as the writer accepts the result."""
        if not self.places:
            return value
        evaluator = Evaluator(_MAX_LOOKS_A_VALUE)
        try:
            examples = [
                (path, self._example(notes)) for path, notes in annotations_of(value, self.writer, evaluator).items()
            ]
            known = [(path, example) for path, example in examples if example is not None]
            changed = reduce(lambda whole, one: _with(whole, *one), known, value)
            if evaluator.may_accept(self.writer, changed):
                return changed
            for one in known:
                changed = _with(value, *one)
                value = changed if evaluator.may_accept(self.writer, changed) else value
        except OutOfSteps:
            pass
        return value

    def _example(self, notes: Sequence[Annotation]) -> Any:
        """Return the next example for the annotations ``notes``; None if none of them is known."""
        examples = next(filter(None, map(examples_of, notes)), ())
        number = self._shown[notes[0]]
        self._shown[notes[0]] += 1
        return examples[number % len(examples)] if examples else None

    def misreadings(self, value: Any) -> Iterator[Misreading]:
        """Yield each part of ``value``, which both schemas accept, to which the reader gives another meaning."""
        if not self.places:
            return
        evaluator = Evaluator(_MAX_LOOKS_A_VALUE)
        try:
            written, read = (annotations_of(value, root, evaluator) for root in (self.writer, self.reader))
        except OutOfSteps:
            return
        for path, notes in read.items():
            part = _at(value, path)
            for theirs, mine, text in misreadings(part, written.get(path, ()), notes):
                yield Misreading(value, path, theirs, mine, text)


def find_misreadings(
    reader: JsonSchema, writer: JsonSchema, *, along: FieldPath | None = None, steps: Steps | None = None
) -> list[Misreading]:
    """Return values of ``writer`` that ``reader`` accepts and misreads, one for each place and keyword.

    With a path as ``along``, values for each place there and inside are searched for, also of a schema that is used at
    several places. ``steps``, if given, are those of the judgement: raises ``OutOfSteps`` if they do not suffice.
    """
    meanings = Meanings(reader, writer, along)
    if not meanings.places:
        return []
    evaluator = Evaluator(MAX_LOOKS, steps=steps)
    solver = Solver(evaluator, trusts_unknown=True)
    found: dict[tuple[str, str], Misreading] = {}
    sides = ([(meanings.writer, True)], [meanings.reader])
    ways = [islice(Sampler(solver).values(*sides, steps), VALUES_A_PLACE) for steps in meanings.places]
    try:
        for value in chain(*ways, islice(Sampler(solver).values(*sides), MAX_VALUES)):
            changed = meanings.telling(value)
            if evaluator.may_accept(meanings.reader, changed):
                for each in meanings.misreadings(changed):
                    difference = each.difference()
                    found.setdefault((difference.path, difference.detail), each)
    except (OutOfSteps, ArithmeticError, RecursionError):
        pass  # what has been found until here is certain
    if steps is not None:
        steps.spend(0)
    return list(found.values())


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(value: Any, path: Path, part: Any) -> Any:
    """Return ``value`` with ``part`` at ``path``."""
    if not path:
        return part
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: _with(value[step], rest, part)}
    return [_with(item, rest, part) if index == step else item for index, item in enumerate(value)]
