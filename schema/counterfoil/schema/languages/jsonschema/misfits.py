"""The misfits of two JSON schemas: which values the writer allows at a place, and the reader refuses or misreads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import zip_longest
from typing import Final

from counterfoil.schema.compatibility.misfits import MISSING, NULLABLE, OPTIONAL, Misfit, MisfitEffect, Misfits
from counterfoil.schema.datum import Json
from counterfoil.schema.languages.jsonschema.compare import rule_table as rules
from counterfoil.schema.languages.jsonschema.json_values import (
    TYPES,
    are_equal,
    is_integer,
    print_exact,
    type_of,
    value_words,
)
from counterfoil.schema.languages.jsonschema.paths import steps_through
from counterfoil.schema.languages.jsonschema.schema import JsonSchema
from counterfoil.schema.languages.jsonschema.sound.inclusion import RefusalReason
from counterfoil.schema.languages.jsonschema.sound.misreadings import (
    JsonMisreading,
    find_misreadings,
    places_of_other_meanings,
)
from counterfoil.schema.languages.jsonschema.sound.parts import OptionalSpelling, part_of, written_of
from counterfoil.schema.languages.jsonschema.sound.policy import decide, difference_of, is_proved
from counterfoil.schema.languages.jsonschema.view.facts import MAX_WIDTH, ConstrainedSchema, KeywordFacts, spread
from counterfoil.schema.languages.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, Step, StepKind, member

# Which kinds of values a writer's schemas allow at a place: the types, and the values that enums list.
#
# A misfit names them as facts. What the schemas say together is used only where it is certain: two that say different
# things may apply together, or each to other records.

_NUMBERS: Final = frozenset({"integer", "number"})
_ALL: Final = frozenset({*TYPES, "integer"})
_FEW_VALUES: Final[Mapping[str, tuple[Json, ...]]] = {"null": (None,), "boolean": (False, True)}


@dataclass(frozen=True, slots=True)
class WrittenKinds:
    """Types of which values may be written, and ``listed`` values: those of enums. A number may be an integer."""

    types: frozenset[str]
    listed: tuple[Json, ...] = ()

    @property
    def all_types(self) -> frozenset[str]:
        """The types, also those of listed values."""
        return self.types | {kind_of(each) for each in self.listed}

    def has(self, value: object) -> bool:
        """Return whether a value may be written."""
        return kind_of(value) in self.types or any(are_equal(value, each) for each in self.listed)

    def has_all(self, type_name: str) -> bool:
        """Return whether every value of a type may be written: it is among the types, or all its values are listed."""
        few = _FEW_VALUES.get(type_name)
        return type_name in self.types or (few is not None and all(self.has(each) for each in few))

    def without(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one allows and the other one does not."""
        types = frozenset(each for each in self.types if not other.has_all(each))
        return WrittenKinds(types, tuple(each for each in self.listed if not other.has(each)))

    def both(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one and another one allow."""
        listed = [each for each in self.listed if other.has(each)]
        listed += [each for each in other.listed if self.has(each) and not any(are_equal(each, one) for one in listed)]
        return WrittenKinds(self.types & other.types, tuple(listed))

    def either(self, other: WrittenKinds) -> WrittenKinds:
        """Return what this one or another one allows."""
        more = [each for each in other.listed if not any(are_equal(each, one) for one in self.listed)]
        return WrittenKinds(self.types | other.types, (*self.listed, *more))


_NO_KINDS: Final = WrittenKinds(frozenset())
_ANYTHING: Final = WrittenKinds(_ALL)


def kind_of(value: object) -> str:
    """Return the type of a value; of an integer, that."""
    found = type_of(value)
    return "integer" if found == "number" and is_integer(value) else found


def with_integers(types: frozenset[str]) -> frozenset[str]:
    """Return types with that of integers, if numbers are among them."""
    return types | _NUMBERS if "number" in types else types


def written_kinds(writers: Sequence[ConstrainedSchema]) -> WrittenKinds | None:
    """Return what may be written at the place of some schemas; None where they do not say it, or say different things.

    Conditions and negations are not looked at.
    """
    known: dict[int, WrittenKinds] = {}
    said = [found for each in writers if (found := _of(each, known)) != _ANYTHING]
    return said[0] if said and all(each == said[0] for each in said) else None


def accepted_kinds(reader: ConstrainedSchema) -> WrittenKinds | None:
    """Return what a schema accepts that states types, listed values and choices of these alone; None for another."""
    parts = spread([reader])
    return _of(reader, {}) if len(parts) < MAX_WIDTH and all(_states_kinds(each.facts) for each in parts) else None


def _states_kinds(facts: KeywordFacts) -> bool:
    return is_bare(replace(facts, values=None, scalars=frozenset(), any_of=None, all_of=()))


def is_bare(facts: KeywordFacts) -> bool:
    """Return whether a schema states nothing but types."""
    return replace(facts, types=None) == KeywordFacts(
        counts_fractions=facts.counts_fractions, marks_contained=facts.marks_contained
    )


def _of(schema: ConstrainedSchema, known: dict[int, WrittenKinds]) -> WrittenKinds:
    """Return what one schema allows; one that contains itself adds nothing there."""
    if schema.accepts_everything:
        return _ANYTHING
    if id(schema) not in known:
        known[id(schema)] = _ANYTHING
        known[id(schema)] = _of_facts(schema.facts, known)
    return known[id(schema)]


def _of_facts(facts: KeywordFacts, known: dict[int, WrittenKinds]) -> WrittenKinds:
    if facts.is_false:
        return _NO_KINDS
    found = _ANYTHING if facts.types is None else WrittenKinds(with_integers(facts.types))
    if facts.values is not None:
        found = found.both(WrittenKinds(frozenset(), tuple(facts.values)))
    for each in facts.all_of:
        found = found.both(_of(each, known))
    for branches in (facts.any_of, facts.one_of):
        if branches is not None:
            chosen = _NO_KINDS
            for each in branches:
                chosen = chosen.either(_of(each, known))
            found = found.both(chosen)
    return found


# The misfits of two JSON schemas: what the writer allows at a place, and the reader refuses or misreads.
#
# For each path that is read it is decided whether the writer's whole schema permits a value there that the reader's
# schema of that path refuses. What is neither proved nor refuted counts as a misfit. A property that the writer's
# schema permits and does not declare is not written, so that its values do not count.

_LIMITS: Final = frozenset(
    {
        *("minimum", "maximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems"),
        *("uniqueItems", "minProperties", "maxProperties"),
    }
)
"""The keywords whose value alone says what is written."""
_SHORT: Final = 40
_MAX_STEPS: Final = 10_000
"""The largest number of steps of the first, rough proof."""


def find_misfits(reader: JsonSchema, writer: JsonSchema) -> Misfits:
    """Return the misfits of a reader and a writer."""
    return _JsonMisfits(reader, writer)


class _JsonMisfits:
    """The misfits of two schemas; each path is decided once."""

    decodes_without_reader = True

    def __init__(self, reader: JsonSchema, writer: JsonSchema) -> None:
        self._reader = reader
        self._writer = writer
        self._known: dict[FieldPath, tuple[Misfit, ...]] = {}

    def at(self, path: FieldPath) -> Sequence[Misfit]:
        """Return the misfits that a reader of ``path`` meets, as those of any language."""
        if path not in self._known:
            found = [] if self._is_same else [_met_by(each, path) for each in self._found(path)]
            self._known[path] = tuple({(each.place, each.written): each for each in found}.values())
        return self._known[path]

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return None: properties have no other names."""
        del path
        return None

    @cached_property
    def _is_same(self) -> bool:
        """Whether it is certain that there is no misfit anywhere."""
        read, written = root_of(self._reader).text, root_of(self._writer).text
        return read is not None and read == written and not places_of_other_meanings(self._reader, self._writer)

    def _found(self, path: FieldPath) -> Iterator[Misfit]:
        if not is_proved(self._reader, self._writer, part=lambda root: part_of(root, path), max_steps=_MAX_STEPS):
            yield from self._refused(path)
        for misreading in find_misreadings(self._reader, self._writer, along=path):
            place = _place_in(misreading, path)
            if place is not None:
                yield _misread(misreading, place)

    def _refused(self, path: FieldPath) -> Iterator[Misfit]:
        decision = decide(self._reader, self._writer, read_part=lambda root: OptionalSpelling().of(part_of(root, path)))
        refuted = [reason for reason in decision.reasons if reason.values]
        counted = [reason for reason in refuted if not reason.is_undeclared]
        for reason in counted:
            yield from _refused(reason)
        is_decided = decision.is_proved or (refuted and decision.is_all)
        if not counted and not is_decided:
            yield self._unproved(path)

    def _unproved(self, path: FieldPath) -> Misfit:
        written = f"unproved {_short_digest(self._writer.canonical())}"
        text = rules.INCLUSION_UNPROVED.about({}).render()
        return Misfit(path, "proved", written, text, self._writer.base.pointer, MisfitEffect.REFUSED)


def _met_by(misfit: Misfit, path: FieldPath) -> Misfit:
    """Return a misfit with the path that is lost by it, if it is on the way to that."""
    place, read = (
        [_plain(each) for each in steps if each.kind is not StepKind.BRANCH] for steps in (misfit.place, path)
    )
    is_around = len(place) < len(read) and read[: len(place)] == place
    return replace(misfit, lost=path) if is_around else misfit


def _plain(step: Step) -> Step:
    """Return a step into any item or value for one into a certain one."""
    return {StepKind.ITEM: ITEMS, StepKind.VALUE: VALUES}.get(step.kind, step)


def _refused(reason: RefusalReason) -> Iterator[Misfit]:
    """Yield the misfits of one constraint of the reader: one for each value of an enum, and for each type."""
    text, place = difference_of(reason).text, steps_through(reason.steps)
    for expected, written, symbol in _facts(reason):
        yield Misfit(place, expected, written, text, reason.writer_pointer, MisfitEffect.REFUSED, symbol=symbol)


def _facts(reason: RefusalReason) -> Iterator[tuple[str, str, str]]:
    """Yield what a constraint expects and what is written instead, and that again if it is a symbol of an enum."""
    asked = reason.asked
    if asked.required:
        writers = [each.facts for each in spread(reason.writers, with_refused=False)]
        is_written = any(_may_be_written(each, name) for name in asked.required for each in writers)
        yield "required", OPTIONAL if is_written else MISSING, ""
    elif asked.values is not None:
        known = ", ".join(map(value_words, asked.values))
        yield from _of_kinds(known, _beside(WrittenKinds(frozenset(), tuple(asked.values)), reason), reason)
    elif asked.types is not None:
        known = " | ".join(sorted(reason.reader.facts.types or _types_of(asked)))
        found_kinds = written_kinds(reason.writers)
        types = frozenset[str]() if found_kinds is None else found_kinds.all_types - _types_of(asked)
        yield from ((known, written, "") for written in _named(types) or [_digest_of(reason)])
    elif (mine := accepted_kinds(reason.reader)) is not None:
        yield from _of_kinds(_said_by(reason.reader, reason.keyword), _beside(mine, reason), reason)
    else:
        yield _said_by(reason.reader, reason.keyword), _written(reason), ""


def _of_kinds(expected: str, found: WrittenKinds, reason: RefusalReason) -> Iterator[tuple[str, str, str]]:
    """Yield each listed value and each type that is written instead; what identifies the writer, if none is certain."""
    for value in found.listed:
        name = value if isinstance(value, str) else value_words(value)
        yield expected, *((NULLABLE, "") if value is None else (name, name))
    yield from ((expected, written, "") for written in _named(found.types))
    if found == _NO_KINDS:
        yield expected, _digest_of(reason), ""


def _named(types: frozenset[str]) -> list[str]:
    """Return the facts of types that are written."""
    named = types - {"integer"} if "number" in types else types
    return [NULLABLE if each == "null" else each for each in sorted(named)]


def _beside(accepted: WrittenKinds, reason: RefusalReason) -> WrittenKinds:
    """Return what is written that is not accepted; nothing where that is not certain.

    Of a type that is not accepted, and no listed value has, all values are refused. Of the type of a listed value, it
    depends on all that the writer says which values are refused.
    """
    written = written_kinds(reason.writers)
    if written is None:
        return _NO_KINDS
    found = written.without(accepted)
    is_shared = not found.types.isdisjoint(with_integers(frozenset(map(type_of, accepted.listed))))
    if is_shared and not all(is_bare(each.facts) for each in spread(reason.writers, with_refused=False)):
        return _NO_KINDS
    return found


def _may_be_written(writer: KeywordFacts, name: str) -> bool:
    """Return whether a schema says that there may be a property ``name``, and does not merely permit any other."""
    return any(not each.accepts_everything and not each.facts.is_false for each in writer.property(name)) or (
        name in writer.properties
    )


def _short_digest(text: str) -> str:
    """Return a short text that only equal texts share."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _short_text(value: object) -> str:
    """Return a value as JSON, or what identifies it, if that is long."""
    text = print_exact(value, sort_keys=True)
    return text if len(text) <= _SHORT else _short_digest(text)


def _types_of(facts: KeywordFacts) -> frozenset[str]:
    types = facts.types or frozenset()
    return types | {"integer"} if "number" in types and "integer" not in types else types


def _said_by(schema: ConstrainedSchema, keyword: str) -> str:
    """Return a keyword of a schema with its value."""
    own = written_of(schema)
    value = own.keywords if isinstance(own, WrittenSchema) else {}
    return f"{keyword} {_short_text(value[keyword])}" if keyword in value else f"no {keyword}" if keyword else "schema"


def _written(reason: RefusalReason) -> str:
    if reason.keyword not in _LIMITS:
        return _digest_of(reason)
    said = {_said_by(each, reason.keyword) for each in reason.writers}
    absent = f"no {reason.keyword}"
    return ", ".join(sorted(said - {absent})) or absent


def _digest_of(reason: RefusalReason) -> str:
    """Return what identifies the writer's schemas at a place."""
    texts = sorted(each.text or str(each.pointer) for each in reason.writers)
    return f"schema {_short_digest(' '.join(texts))}"


def _misread(misreading: JsonMisreading, place: FieldPath) -> Misfit:
    difference = misreading.difference()
    words = (misreading.read.word, misreading.written.word)
    return Misfit(place, *words, difference.text, difference.writer_pointer, MisfitEffect.MISREAD)


def _place_in(misreading: JsonMisreading, path: FieldPath) -> FieldPath | None:
    """Return the place of a misreading, if a reader of ``path`` meets it: there, or inside."""
    place: list[Step] = []
    wanted = [step for step in path if step.kind is not StepKind.BRANCH]
    for step, read in zip_longest(misreading.path, wanted):
        if step is None:
            return None
        found = ITEMS if isinstance(step, int) else member(step)
        if read is not None and read.kind is StepKind.VALUE and isinstance(step, str):
            found = read
        if read is not None and read != found and not (read.kind is StepKind.ITEM and isinstance(step, int)):
            return None
        place.append(read or found)
    return tuple(place)
