"""The policy SOUND: the differences of STRICT, corrected by proofs and by values, at the branch that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.compatibility.findings import Difference
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.languages.jsonschema.compare import rule_table as rules
from counterfoil.schema.languages.jsonschema.compare.findings import ValueDifference, pointer_in
from counterfoil.schema.languages.jsonschema.document import step_into
from counterfoil.schema.languages.jsonschema.json_values import print_exact
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.sound.inclusion import Inclusion, RefusalReason
from counterfoil.schema.languages.jsonschema.values.samples import Sampler
from counterfoil.schema.languages.jsonschema.values.solver import Solver
from counterfoil.schema.languages.jsonschema.view.evaluation import Evaluator
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.texts import Pointer, excerpt

# The place inside a condition or a combination where two schemas differ: the branch that changed, not the whole.
#
# A value is refused by a condition or a combination as a whole. The person who changed it looks for what was changed,
# so the two texts are compared there, keyword by keyword.

_CONDITION: Final = ("if", "then", "else")
_COMPOUND: Final = frozenset(("anyOf", "oneOf", "not", "contains", "propertyNames"))


def changed_place(
    reader: JsonSchema, writer: JsonSchema, pointer: Pointer, keyword: str
) -> tuple[Pointer, Pointer] | None:
    """Return the pointers in both texts to what differs below ``keyword`` of the schema at ``pointer``.

    A part that one side does not have is at the schema or list around it. None if the keyword has no parts, or if the
    writer has no schema at this pointer.
    """
    keywords = _CONDITION if keyword == "if" else (keyword,) if keyword in _COMPOUND else ()
    mine, theirs = (step_into(side.document, pointer) for side in (reader, writer))
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return None
    changed = [each for each in keywords if mine.get(each) != theirs.get(each)]
    if not changed:
        return None
    steps = _in_objects(mine, theirs, changed)
    return (*pointer, *steps[0]), (*pointer, *steps[1])


def _in_objects(mine: JsonObject, theirs: JsonObject, changed: Sequence[str]) -> tuple[Pointer, Pointer]:
    """Return the steps on both sides to the first of the changed members, or to what differs inside it."""
    key = next((each for each in changed if each in mine and each in theirs), changed[0])
    if key not in mine or key not in theirs:
        return ((key,) if key in mine else ()), ((key,) if key in theirs else ())
    inner = _below(mine[key], theirs[key])
    return (key, *inner[0]), (key, *inner[1])


def _below(mine: object, theirs: object) -> tuple[Pointer, Pointer]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        changed = [key for key in dict.fromkeys((*mine, *theirs)) if mine.get(key) != theirs.get(key)]
        return _in_objects(mine, theirs, changed) if changed else ((), ())
    if isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return _only_in(mine, theirs), _only_in(theirs, mine)
        index = next((index for index, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1]), None)
        if index is not None:
            inner = _below(mine[index], theirs[index])
            return (index, *inner[0]), (index, *inner[1])
    return (), ()


def _only_in(items: list[Json], others: list[Json]) -> Pointer:
    """Return the step to the first item that the other list does not have; none if it has all of them."""
    return next(((index,) for index, item in enumerate(items) if item not in others), ())


# The policy SOUND: the differences of STRICT, corrected by proofs and by values.
#
# Only what is proved to be compatible is compatible. If a value refutes it, the reasons are reported; if there is
# neither a proof nor a value, the differences of STRICT are reported, or else that nothing is proved.

MAX_STEPS: Final = 60_000
"""The largest number of steps of a decision, and again of the search for the reasons of a refusal."""

MAX_SAMPLES: Final = 200
"""The largest number of values that are tried if neither a proof nor a refutation was found."""
MAX_SAMPLING_STEPS: Final = 40_000
MAX_SAMPLING_LOOKS: Final = 10_000
MAX_SAMPLING_BUILT: Final = 1_500

_FAMILY_BY_KEYWORD: Final = {
    "exclusiveMaximum": "maximum",
    "exclusiveMinimum": "minimum",
    "minContains": "contains",
    "maxContains": "contains",
    "additionalItems": "items",
    "unevaluatedItems": "items",
    "unevaluatedProperties": "additionalProperties",
}


@dataclass(frozen=True, slots=True)
class InclusionDecision:
    """The result: whether a reader accepts everything that a writer writes.

    ``is_proved``: it does. ``reasons`` are why it does not, each with a value; ``is_all``: there are no others. Without
    a proof and without a reason it is unknown.
    """

    is_proved: bool
    reasons: tuple[RefusalReason, ...] = ()
    is_all: bool = True

    @property
    def is_refuted(self) -> bool:
        """Whether a value was found that the writer accepts and the reader refuses."""
        return any(reason.values for reason in self.reasons)


def _whole(root: WrittenSchema) -> ConstrainedSchema:
    return root


def decide(
    reader: JsonSchema,
    writer: JsonSchema,
    *,
    max_steps: int = MAX_STEPS,
    read_part: Callable[[WrittenSchema], ConstrainedSchema] = _whole,
    steps: Steps | None = None,
) -> InclusionDecision:
    """Return whether ``reader`` accepts every value that ``writer`` accepts, as far as ``max_steps`` steps show.

    ``read_part`` returns those constraints of the reader that count, from its root; all of them by default. ``steps``,
    if given, are those of the judgement: raises ``OutOfSteps`` if they do not suffice.
    """
    limits = (max_steps, steps)
    roots = (root_of(writer), root_of(reader))
    decision, is_read_one_way = _decide(roots, limits, read_part)
    if decision.is_proved and not is_read_one_way:
        others = tuple(root_of(each, marks_contained_in_2019=False) for each in (writer, reader))
        decision, _ = _decide((others[0], others[1]), limits, read_part)
    if not decision.is_proved and not decision.is_refuted:
        if _are_the_same(reader, writer):
            return InclusionDecision(is_proved=True)
        reasons = _sampled(roots, read_part, steps)
        decision = InclusionDecision(is_proved=False, reasons=(*reasons,), is_all=False)
    if steps is not None:
        steps.spend(0)  # of a decision that ended for want of steps nothing follows
    return decision


def _are_the_same(reader: JsonSchema, writer: JsonSchema) -> bool:
    """Return whether the documents of two schemas have the same content, whatever the order of their keys."""
    one, other = (
        [print_exact(document, sort_keys=True) for _, document in sorted(each.resolver.documents.items())]
        for each in (reader, writer)
    )
    return one == other and reader.resolver.documents.keys() == writer.resolver.documents.keys()


def is_proved(
    reader: JsonSchema,
    writer: JsonSchema,
    *,
    part: Callable[[WrittenSchema], ConstrainedSchema],
    max_steps: int = MAX_STEPS,
) -> bool:
    """Return whether it is proved that a part of ``reader`` accepts every value of the same part of ``writer``.

    ``part`` returns constraints of a root that all of its values keep. No reasons are searched for.
    """
    for is_marked in (True, False):
        written, read = (root_of(one, marks_contained_in_2019=is_marked) for one in (writer, reader))
        try:
            answer = Solver(Evaluator(max_steps)).solve([(part(written), True), (part(read), False)])
        except (OutOfSteps, ArithmeticError, RecursionError):
            return False
        if not answer.is_empty:
            return False
        if not any(root.source.has_contains_in_2019 for root in (written, read)):
            return True
    return True


def _decide(
    roots: tuple[WrittenSchema, WrittenSchema],
    limits: tuple[int, Steps | None],
    read_part: Callable[[WrittenSchema], ConstrainedSchema],
) -> tuple[InclusionDecision, bool]:
    """Return the decision for the interpretation of draft 2019-09 that the roots of the writer and the reader have.

    And whether there is only one interpretation.
    """
    written, root = roots
    read = read_part(root)
    evaluator = Evaluator(limits[0], steps=limits[1])
    solver = Solver(evaluator)
    try:
        answer = solver.solve([(written, True), (read, False)])
    except (OutOfSteps, ArithmeticError, RecursionError):
        return InclusionDecision(is_proved=False), True
    is_read_one_way = not any(each.source.has_contains_in_2019 for each in (written, root))
    if not answer.values:
        return InclusionDecision(is_proved=answer.is_empty), is_read_one_way
    evaluator.refill(limits[0])
    reasons, is_all = Inclusion(solver, written, read).reasons(answer.values[0])
    return InclusionDecision(is_proved=False, reasons=reasons, is_all=is_all), is_read_one_way


def _sampled(
    roots: tuple[WrittenSchema, WrittenSchema],
    read_part: Callable[[WrittenSchema], ConstrainedSchema],
    steps: Steps | None,
) -> list[RefusalReason]:
    """Return a reason with a value of the writer's that the reader refuses, found among samples; empty if none is.

    Used if the decision is unknown.
    """
    evaluator = Evaluator(MAX_SAMPLING_STEPS, steps=steps)
    written, read = roots[0], read_part(roots[1])
    samples = Sampler(Solver(Evaluator(MAX_SAMPLING_LOOKS, steps=steps)), budget=MAX_SAMPLING_BUILT).values(
        [(written, True)], [read]
    )
    try:
        for value in islice(samples, MAX_SAMPLES):
            if evaluator.accepts(read, value) is False and evaluator.accepts(written, value) is True:
                return [RefusalReason(rules.VALUE_REFUSED, (), read, "", "", (value,), written.pointer)]
    except (OutOfSteps, ArithmeticError, RecursionError):
        return []
    return []


def find_sound_differences(
    reader: JsonSchema,
    writer: JsonSchema,
    strict: Sequence[tuple[tuple[str, ...] | None, Difference]],
    steps: Steps | None = None,
) -> list[Difference]:
    """Return why ``reader`` does not accept everything that ``writer`` accepts.

    ``strict`` are the differences that break under STRICT, each with the steps of its path, in the order of the walk.
    Those that no value confirms are left out, and those that STRICT does not find are added. Raises ``OutOfSteps``.
    """
    decision = decide(reader, writer, steps=steps)
    if decision.is_proved:
        return []
    if not decision.is_refuted:
        return [difference for _, difference in strict] or [_unproved(reader, writer)]
    suspect = _Places()
    for reason in decision.reasons:
        for place in _places_of(reason):
            suspect.add(place)
    kept = [(way, one) for way, one in strict if way is None or not decision.is_all or suspect.touches(way)]
    reported = _Places()
    for way, _ in kept:
        reported.add(() if way is None else way)
    known_by_rule: dict[str, _Places] = {}
    added: list[Difference] = []
    for reason in decision.reasons:
        known = known_by_rule.setdefault(reason.rule.id, _Places())
        is_reported = any(map(reported.touches, _places_of(reason)))
        if reason.values and not is_reported and not known.touches(reason.steps):
            known.add(reason.steps)
            added.append(_at_the_change(reason, reader, writer))
    return [*(difference for _, difference in kept), *added]


class _Places:
    """A set of places in a schema that can be searched for the same, a containing or a contained place."""

    def __init__(self) -> None:
        self._places: set[tuple[str, ...]] = set()
        self._around: set[tuple[str, ...]] = set()

    def add(self, steps: tuple[str, ...]) -> None:
        """Add a place."""
        place = _in_families(steps)
        self._places.add(place)
        self._around.update(place[:length] for length in range(len(place) + 1))

    def touches(self, steps: tuple[str, ...]) -> bool:
        """Return whether one of the places is this one, contains it, or is inside it."""
        place = _in_families(steps)
        return place in self._around or any(place[:length] in self._places for length in range(len(place)))


def _in_families(steps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the steps with one keyword for each group of keywords that limit the same thing together."""
    return tuple(_FAMILY_BY_KEYWORD.get(step, step) for step in steps)


def _places_of(reason: RefusalReason) -> tuple[tuple[str, ...], ...]:
    return (reason.steps, _as_property(reason.steps), *reason.elsewhere)


def _as_property(steps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the place of the property for a place under ``required``; any other place unchanged."""
    return (*steps[:-2], "properties", steps[-1]) if len(steps) > 1 and steps[-2] == "required" else steps


def _unproved(reader: JsonSchema, writer: JsonSchema) -> Difference:
    """Return the difference that is reported if nothing is proved or refuted and STRICT finds nothing."""
    pointers = (reader.base.pointer, writer.base.pointer)
    return ValueDifference(rules.INCLUSION_UNPROVED, {}, "", (), pointers)


def _at_the_change(reason: RefusalReason, reader: JsonSchema, writer: JsonSchema) -> Difference:
    """Return the difference of a reason, at the part of a condition or combination that differs."""
    difference = difference_of(reason)
    schema = reason.reader
    if isinstance(schema, WrittenSchema) and not schema.base.document and isinstance(difference, ValueDifference):
        places = changed_place(reader, writer, schema.pointer, reason.keyword)
        if places is not None:
            return replace(difference, pointers=places)
    return difference


def difference_of(reason: RefusalReason) -> Difference:
    """Return the difference of SOUND that a reason is."""
    value: Json = reason.values[0]
    facts = {"value": excerpt(print_exact(value), 200), "name": reason.name}
    gist = "{name}" if reason.name else "{value}"
    return ValueDifference(reason.rule, facts, gist, reason.steps, (_pointer(reason), reason.writer_pointer))


def _pointer(reason: RefusalReason) -> Pointer:
    """Return the pointer to the keyword (or the name under it) in the reader's own text that refuses the value."""
    schema = reason.reader
    if not isinstance(schema, WrittenSchema) or schema.base.document:
        return schema.pointer
    steps: tuple[str, ...] = (_limiting_keyword(reason.keyword, schema.value),)
    if reason.keyword in reason.steps[-2:-1]:
        steps = reason.steps[-2:]
    elif not reason.keyword:
        steps = (_deciding_keyword(schema.value),) if reason.rule is rules.VALUE_REFUSED else ()
    return pointer_in(schema.pointer, schema.value, steps)


def _limiting_keyword(keyword: str, value: object) -> str:
    """Return the boolean ``exclusiveMaximum`` or ``exclusiveMinimum`` of draft-04 if it is true, else ``keyword``."""
    exclusive = f"exclusive{keyword[:1].upper()}{keyword[1:]}"
    return exclusive if isinstance(value, dict) and value.get(exclusive) is True else keyword


def _deciding_keyword(value: object) -> str:
    """Return the first of ``enum``, ``const`` and ``type`` that a schema has; empty if it has none."""
    keywords = value if isinstance(value, dict) else {}
    return next((keyword for keyword in ("enum", "const", "type") if keyword in keywords), "")
