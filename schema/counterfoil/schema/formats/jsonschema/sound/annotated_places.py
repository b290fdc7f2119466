"""The places in a value at which two schemas may have different annotations, found in the texts without any value.

All schemas that may apply to a part of the value are taken together, from all branches. Therefore an empty result is
certain.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.compare.meaning import are_other_meanings
from counterfoil.schema.formats.jsonschema.sound.annotations import KEYWORDS, has_annotations, inside, word_of
from counterfoil.schema.formats.jsonschema.view.facts import spread
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.values.samples import Step
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.paths.model import Step as PathStep

MAX_PLACES: Final = 2_000
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
        if len(seen) > MAX_PLACES:
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
