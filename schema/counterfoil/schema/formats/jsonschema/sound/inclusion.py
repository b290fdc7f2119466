"""Why a reader does not accept all that a writer writes: proofs by structure, refutations by value.

A reader's schema asks several things at once; the writer is included when each of them follows from what the writer's
schemas ask. Where one does not follow, a value is made that the writer accepts and the reader refuses; if none is
found, the reason stands without one, and nothing is decided by it. A pair that is met again while it is being proved
counts as proved: every value is finite, so a smallest value that breaks it would break it earlier.

Method: Pierce, Types and Programming Languages, chapter 21 (subtyping of recursive types).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema import sound_rules as rules
from counterfoil.schema.formats.jsonschema.sound.array_inclusion import array_reasons
from counterfoil.schema.formats.jsonschema.sound.disjointness import Disjointness
from counterfoil.schema.formats.jsonschema.sound.object_inclusion import object_reasons
from counterfoil.schema.formats.jsonschema.sound.scalar_inclusion import number_reasons, text_reasons
from counterfoil.schema.formats.jsonschema.sound.writers import Writer
from counterfoil.schema.formats.jsonschema.values import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.sound.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.sound.examples import Examples
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts, Schema

_MAX_CANDIDATES: Final = 40


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a reader may not accept something.

    ``steps`` lead to the place, ``reader`` is the schema there and ``keyword`` what in it asks too much. ``values``
    holds the one value that the writer accepts and the reader refuses, seen from where the reason is told; it is empty
    where no such value was found. ``name`` is the property or pattern in question.
    """

    rule: CompatibilityRule
    steps: tuple[str, ...]
    reader: Schema
    keyword: str = ""
    name: str = ""
    values: tuple[Any, ...] = ()
    writer_pointer: str = ""


class Inclusion:
    """Answers whether readers include writers; one of it shares its steps and what it has proved."""

    def __init__(self, evaluator: Evaluator, examples: Examples) -> None:
        self.evaluator = evaluator
        self.examples = examples
        self.disjointness = Disjointness(self)
        self._done: dict[tuple[object, ...], tuple[Reason, ...]] = {}
        self._active: set[tuple[object, ...]] = set()
        self._assumed: set[tuple[object, ...]] = set()

    def reasons(self, writer: Writer, reader: Schema) -> tuple[Reason, ...]:
        """Why ``reader`` may not accept everything that ``writer`` writes; empty when it is proved that it does."""
        self.evaluator.spend()
        if reader.accepts_everything or writer.is_nothing() or _says_the_same(writer, reader):
            return ()
        key = (writer.key(), id(reader))
        if key in self._done:
            return self._done[key]
        if key in self._active:
            self._assumed.add(key)
            return ()
        self._active.add(key)
        found = tuple(self._reasons(writer, reader))
        self._active.discard(key)
        self._assumed.discard(key)
        if found or not self._assumed:  # what rests on an open assumption is not kept
            self._done[key] = found
        return found

    def includes(self, writer: Writer, reader: Schema) -> bool:
        """Whether it is proved that ``reader`` accepts everything that ``writer`` writes."""
        return not self.reasons(writer, reader)

    def reason(
        self,
        rule: CompatibilityRule,
        writer: Writer,
        reader: Schema,
        candidates: Iterable[Any],
        *,
        steps: tuple[str, ...] = (),
        name: str = "",
    ) -> Reason:
        """A reason, with the first of ``candidates`` that the writer accepts and the reader refuses."""
        keyword = steps[0] if steps else ""
        pointer = writer.schemas[0].pointer if writer.schemas else ""
        for value in islice(candidates, _MAX_CANDIDATES):
            if writer.kind not in (None, type_of(value)) or self.evaluator.accepts(reader, value) is not False:
                continue
            if self.evaluator.all_accept(writer.schemas, value):
                return Reason(rule, steps, reader, keyword, name, (value,), pointer)
        return Reason(rule, steps, reader, keyword, name, (), pointer)

    def _reasons(self, writer: Writer, reader: Schema) -> list[Reason]:
        listed = [facts.values for facts in writer.facts() if facts.values is not None]
        if listed:
            return self._value_reasons(writer, reader, listed[0])
        found = [reason for kind in writer.kinds() for reason in self._kind_reasons(replace(writer, kind=kind), reader)]
        if not found or any(reason.values for reason in found):
            return found
        alternatives = writer.alternatives()
        if not alternatives:
            return found
        return [reason for alternative in alternatives for reason in self.reasons(alternative, reader)]

    def _value_reasons(self, writer: Writer, reader: Schema, values: Iterable[Any]) -> list[Reason]:
        """The same for a writer that writes no other than certain values."""
        for value in values:
            if writer.kind not in (None, type_of(value)):
                continue
            written = self.evaluator.all_accept(writer.schemas, value)
            if written is not False and self.evaluator.accepts(reader, value) is not True:
                return [self.reason(rules.VALUE_REFUSED, writer, reader, values)]
        return []

    def _kind_reasons(self, writer: Writer, reader: Schema) -> list[Reason]:
        facts = reader.facts
        if writer.kind in ("null", "boolean"):
            return self._value_reasons(writer, reader, (None, True, False))
        if self.disjointness.is_empty(writer):
            return []
        refused = self._refused_outright(writer, reader, facts)
        if refused is not None:
            return [refused]
        found: list[Reason] = []
        match writer.kind:
            case "number":
                found += number_reasons(self, writer, reader)
            case "string":
                found += text_reasons(self, writer, reader)
            case "array":
                found += array_reasons(self, writer, reader)
            case "object":
                found += object_reasons(self, writer, reader)
        for branch in facts.all_of:
            found += self.reasons(writer, branch)
        return [*found, *self._combined_reasons(writer, reader, facts)]

    def _refused_outright(self, writer: Writer, reader: Schema, facts: Facts) -> Reason | None:
        kind = str(writer.kind)
        knows_kind = facts.types is None or kind in facts.types or (kind == "number" and "integer" in facts.types)
        if facts.is_false or facts.is_opaque or facts.values is not None or not knows_kind:
            return self.reason(rules.VALUE_REFUSED, writer, reader, self.examples.of(writer))
        return None

    def _combined_reasons(self, writer: Writer, reader: Schema, facts: Facts) -> Iterator[Reason]:
        if facts.any_of is not None:
            inner = [self.reasons(writer, branch) for branch in facts.any_of]
            if all(inner):
                candidates = self._candidates(writer, inner)
                yield self.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("anyOf",))
        if facts.one_of is not None and not _chooses_alike(writer, facts.one_of):
            yield from self._one_of_reasons(writer, reader, facts.one_of)
        if facts.refused is not None and not self._leaves_alike(writer, facts.refused):
            candidates = self._refused_candidates(writer, facts.refused)
            yield self.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("not",))
        if facts.condition is not None and not self._meets_condition(writer, facts, facts.condition):
            candidates = self._condition_candidates(writer, facts, facts.condition)
            yield self.reason(rules.CONDITION_NARROWED, writer, reader, candidates, steps=("if",))

    def _one_of_reasons(self, writer: Writer, reader: Schema, branches: tuple[Schema, ...]) -> Iterator[Reason]:
        inner = [self.reasons(writer, branch) for branch in branches]
        for index, found in enumerate(inner):
            others = (*branches[:index], *branches[index + 1 :])
            if not found and all(self.disjointness.are_apart(writer, other) for other in others):
                return
        overlapping = (
            value
            for index, branch in enumerate(branches)
            for other in branches[:index]
            for value in islice(self.examples.of(writer.also(branch, other)), 3)
        )
        overlap = self.reason(rules.ONE_OF_OVERLAP, writer, reader, overlapping, steps=("oneOf",))
        if overlap.values:
            yield overlap
            return
        yield self.reason(rules.VALUE_REFUSED, writer, reader, self._candidates(writer, inner), steps=("oneOf",))

    def _candidates(self, writer: Writer, inner: Iterable[tuple[Reason, ...]]) -> Iterator[Any]:
        for found in inner:
            yield from (value for reason in found for value in reason.values)
        yield from self.examples.of(writer)

    def _refused_candidates(self, writer: Writer, refused: Schema) -> Iterator[Any]:
        mine = replace(Writer((refused,)), kind=writer.kind)
        for facts in writer.facts():
            if facts.refused is not None:
                yield from (value for reason in self.reasons(mine, facts.refused) for value in reason.values)
        yield from self.examples.of(writer.also(refused))

    def _leaves_alike(self, writer: Writer, refused: Schema) -> bool:
        if self.disjointness.are_apart(writer, refused):
            return True
        mine = replace(Writer((refused,)), kind=writer.kind)
        return any(facts.refused is not None and self.includes(mine, facts.refused) for facts in writer.facts())

    def _meets_condition(self, writer: Writer, facts: Facts, condition: Schema) -> bool:
        """Whether it is proved that what follows from a reader's condition is so in all that the writer writes."""
        meeting, failing = _sides_of_condition(writer, condition)
        return (
            facts.consequence is None
            or self.disjointness.are_apart(writer, condition)
            or self.includes(meeting, facts.consequence)
        ) and (
            facts.alternative is None or self.includes(writer, condition) or self.includes(failing, facts.alternative)
        )

    def _condition_candidates(self, writer: Writer, facts: Facts, condition: Schema) -> Iterator[Any]:
        meeting, failing = _sides_of_condition(writer, condition)
        if facts.consequence is not None:
            yield from (value for reason in self.reasons(meeting, facts.consequence) for value in reason.values)
        if facts.alternative is not None:
            yield from (value for reason in self.reasons(failing, facts.alternative) for value in reason.values)
        yield from islice(self.examples.of(meeting), _MAX_CANDIDATES // 2)
        for own in writer.facts():
            if own.condition is not None:  # what the writer's own condition leads to
                for asked in ((own.condition, own.consequence), (own.alternative,)):
                    sides = writer.also(*(schema for schema in asked if schema is not None))
                    yield from islice(self.examples.of(sides), _MAX_CANDIDATES // 4)
        yield from self.examples.of(failing)


def _sides_of_condition(writer: Writer, condition: Schema) -> tuple[Writer, Writer]:
    """What a writer writes where a condition holds, and where it does not, as far as it has the same condition."""
    alike = [facts for facts in writer.facts() if _are_same(condition, facts.condition)]
    return (
        writer.also(condition, *(facts.consequence for facts in alike if facts.consequence is not None)),
        writer.also(*(facts.alternative for facts in alike if facts.alternative is not None)),
    )


def _says_the_same(writer: Writer, reader: Schema) -> bool:
    return reader.text is not None and any(schema.text == reader.text for schema in writer.schemas)


def _are_same(left: Schema | None, right: Schema | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.text is not None and left.text == right.text


def _chooses_alike(writer: Writer, branches: tuple[Schema, ...]) -> bool:
    """Whether the writer has a oneOf of the same branches."""
    texts = sorted(branch.text or "" for branch in branches)
    return all(texts) and any(
        facts.one_of is not None and sorted(branch.text or "" for branch in facts.one_of) == texts
        for facts in writer.facts()
    )
