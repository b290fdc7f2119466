"""Values that both schemas accept and to which the reader gives another meaning, and the places where that may be."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.policies import OutOfSteps
from counterfoil.schema.languages.jsonschema.compare import rule_table as rules
from counterfoil.schema.languages.jsonschema.compare.findings import ValueDifference
from counterfoil.schema.languages.jsonschema.sound.annotations import (
    KEYWORDS,
    annotations_of,
    are_other_meanings,
    examples_of,
    has_annotations,
    inside,
    misreadings,
    word_of,
)
from counterfoil.schema.languages.jsonschema.values.samples import Sampler
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import spread
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.compatibility.policies import Steps
    from counterfoil.schema.languages.jsonschema.schema import JsonSchema
    from counterfoil.schema.languages.jsonschema.sound.annotations import Annotation, Path
    from counterfoil.schema.languages.jsonschema.values.samples import Step
    from counterfoil.schema.paths import FieldPath
    from counterfoil.schema.paths import Step as PathStep


# The places in a value at which two schemas may have different annotations, found in the texts without any value.
#
# All schemas that may apply to a part of the value are taken together, from all branches. Therefore an empty result is
# certain.

MAX_COMPARED_PLACES: Final = 2_000
"""The largest number of places that are compared."""

_MAX_INSIDE: Final = 3
"""How many steps inside a path every place is looked at, also of a schema that was compared at another place."""
_OF_NAMES: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems")


def places_of_other_meanings(
    reader: JsonSchema, writer: JsonSchema, *, along: FieldPath | None = None
) -> list[tuple[Step, ...]]:
    """Return the places in a value at which ``reader`` may give it another meaning than ``writer``.

    There are no others. If more than ``MAX_PLACES`` are compared, the root is added for the rest. A pair of schemas is
    compared at its first place alone; with ``along``, at every place on that path and inside.
    """
    if not (has_annotations(reader) and has_annotations(writer)):
        return []
    found: list[tuple[Step, ...]] = []
    waiting: deque[tuple[tuple[Step, ...], list[WrittenSchema], list[WrittenSchema]]] = deque(
        [((), [root_of(reader)], [root_of(writer)])]
    )
    seen: set[object] = set()
    wanted = None if along is None else [step for step in along if step.kind is not StepKind.BRANCH]
    while waiting:
        steps, mine, theirs = waiting.popleft()
        reading, writing = ([one for one in spread(side) if isinstance(one, WrittenSchema)] for side in (mine, theirs))
        sides = (frozenset(map(id, reading)), frozenset(map(id, writing)))
        is_deep = wanted is not None and len(steps) <= len(wanted) + _MAX_INSIDE
        key = (sides, steps) if is_deep else sides
        if not all(sides) or key in seen:
            continue
        seen.add(key)
        if len(seen) > MAX_COMPARED_PLACES:
            return [*found, ()]
        if _say_other_things(reading, writing):
            found.append(steps)
        on_path = wanted[len(steps)] if wanted is not None and len(steps) < len(wanted) else None
        for step, mine, theirs in _inside(reading, writing):
            if on_path is None or _is_on(on_path, step):
                waiting.append(((*steps, step), mine, theirs))
    return found


def _is_on(read: PathStep, step: Step) -> bool:
    """Return whether a step into a value may be a step of a path; None stands for other properties or items."""
    if step is None:
        return True
    if isinstance(step, int):
        return read.kind is StepKind.ITEM
    return read.kind is StepKind.VALUE or (read.kind is StepKind.MEMBER and read.name == step)


def _say_other_things(reader: list[WrittenSchema], writer: list[WrittenSchema]) -> bool:
    for keyword in KEYWORDS:
        written = {word for site in writer if (word := word_of(site, keyword))}
        read = {word for site in reader if (word := word_of(site, keyword))}
        if any(are_other_meanings(keyword, theirs, mine) for theirs in written for mine in read):
            return True
    return False


def _inside(
    reader: list[WrittenSchema], writer: list[WrittenSchema]
) -> Iterator[tuple[Step, list[WrittenSchema], list[WrittenSchema]]]:
    """Yield the places inside a value: each declared property, other properties, each listed item, other items.

    A place is a step with the schemas of both sides there; the step is None for other properties and items.
    """
    sides = (reader, writer)
    names = dict.fromkeys(name for side in sides for site in side for name, _ in site.named("properties"))
    for name in names:
        mine, theirs = ([one for site in side for one in inside(site, name)] for side in sides)
        yield name, mine, theirs
    mine, theirs = ([one for site in side for one in _others(site)] for side in sides)
    yield None, mine, theirs
    for index in range(max(len(site.facts.prefix) for side in sides for site in side)):
        mine, theirs = ([one for site in side for one in inside(site, index)] for side in sides)
        yield index, mine, theirs
    mine, theirs = ([one for site in side for one in _rest(site)] for side in sides)
    yield None, mine, theirs


def _others(site: WrittenSchema) -> Iterator[WrittenSchema]:
    yield from (one for _, one in site.named("patternProperties"))
    yield from (one for keyword in _OF_NAMES if (one := site.one(keyword)))


def _rest(site: WrittenSchema) -> Iterator[WrittenSchema]:
    yield from (one for keyword in _OF_ITEMS if (one := site.one(keyword)))


# Values that both schemas accept and to which the reader gives another meaning: an addition of the policy SOUND.
#
# They are searched for among generated values, in which each part with a known format or encoding is replaced by an
# example of it.

MAX_VALUES: Final = 60
"""The largest number of generated values that vary everywhere."""
VALUES_A_PLACE: Final = 4
"""The number of values that are generated for each place with two possible meanings."""
MAX_PLACES: Final = 50
"""The largest number of such places for which values are generated."""
MAX_LOOKS: Final = 40_000
_MAX_LOOKS_A_VALUE: Final = 4_000


@dataclass(frozen=True, slots=True)
class JsonMisreading:
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

    def misreadings(self, value: Any) -> Iterator[JsonMisreading]:
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
                yield JsonMisreading(value, path, theirs, mine, text)


def find_misreadings(
    reader: JsonSchema, writer: JsonSchema, *, along: FieldPath | None = None, steps: Steps | None = None
) -> list[JsonMisreading]:
    """Return values of ``writer`` that ``reader`` accepts and misreads, one for each place and keyword.

    With a path as ``along``, values for each place there and inside are searched for, also of a schema that is used at
    several places. ``steps``, if given, are those of the judgement: raises ``OutOfSteps`` if they do not suffice.
    """
    meanings = Meanings(reader, writer, along)
    if not meanings.places:
        return []
    evaluator = Evaluator(MAX_LOOKS, steps=steps)
    solver = Solver(evaluator, trusts_unknown=True)
    found: dict[tuple[str, str], JsonMisreading] = {}
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
