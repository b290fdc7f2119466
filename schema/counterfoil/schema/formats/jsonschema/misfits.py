"""The misfits of two JSON schemas: what the writer allows at a place, and the reader refuses or misreads.

For each path that is read it is decided whether the writer's whole schema permits a value there that the reader's
schema of that path refuses. What is neither proved nor refuted counts as a misfit. A property that the writer's schema
permits and does not declare is not written, so that its values do not count.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from counterfoil.schema.compatibility.misfits import MISSING, NULLABLE, OPTIONAL, Effect, Misfit
from counterfoil.schema.formats.jsonschema.paths import steps_through
from counterfoil.schema.formats.jsonschema.read.canonical import print_exact
from counterfoil.schema.formats.jsonschema.read.values import type_of
from counterfoil.schema.formats.jsonschema.read.words import value_words
from counterfoil.schema.formats.jsonschema.sound import rules
from counterfoil.schema.formats.jsonschema.sound.annotated_places import places_of_other_meanings
from counterfoil.schema.formats.jsonschema.sound.misreadings import find_misreadings
from counterfoil.schema.formats.jsonschema.sound.optional import OptionalSpelling, written_of
from counterfoil.schema.formats.jsonschema.sound.parts import part_of
from counterfoil.schema.formats.jsonschema.sound.policy import decide, difference_of, is_proved
from counterfoil.schema.formats.jsonschema.view.facts import spread
from counterfoil.schema.formats.jsonschema.view.kinds import (
    WrittenKinds,
    accepted_kinds,
    is_bare,
    with_integers,
    written_kinds,
)
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema, root_of
from counterfoil.schema.paths.model import ITEMS, VALUES, StepKind, member

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterfoil.schema.compatibility.misfits import Misfits
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.sound.inclusion import Reason
    from counterfoil.schema.formats.jsonschema.sound.misreadings import Misreading
    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema
    from counterfoil.schema.paths.model import FieldPath, Step

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
        """Return the misfits that a reader of ``path`` meets; see :class:`~.Misfits`."""
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
        return Misfit(path, "proved", written, text, self._writer.base.pointer, Effect.REFUSED)


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


def _refused(reason: Reason) -> Iterator[Misfit]:
    """Yield the misfits of one constraint of the reader: one for each value of an enum, and for each type."""
    text, place = difference_of(reason).text, steps_through(reason.steps)
    for expected, written, symbol in _facts(reason):
        yield Misfit(place, expected, written, text, reason.writer_pointer, Effect.REFUSED, symbol=symbol)


def _facts(reason: Reason) -> Iterator[tuple[str, str, str]]:
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


def _of_kinds(expected: str, found: WrittenKinds, reason: Reason) -> Iterator[tuple[str, str, str]]:
    """Yield each listed value and each type that is written instead; what identifies the writer, if none is certain."""
    for value in found.listed:
        name = value if isinstance(value, str) else value_words(value)
        yield expected, *((NULLABLE, "") if value is None else (name, name))
    yield from ((expected, written, "") for written in _named(found.types))
    if found == _NO_KINDS:
        yield expected, _digest_of(reason), ""


_NO_KINDS: Final = WrittenKinds(frozenset())


def _named(types: frozenset[str]) -> list[str]:
    """Return the facts of types that are written."""
    named = types - {"integer"} if "number" in types else types
    return [NULLABLE if each == "null" else each for each in sorted(named)]


def _beside(accepted: WrittenKinds, reason: Reason) -> WrittenKinds:
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


def _may_be_written(writer: Facts, name: str) -> bool:
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


def _types_of(facts: Facts) -> frozenset[str]:
    types = facts.types or frozenset()
    return types | {"integer"} if "number" in types and "integer" not in types else types


def _said_by(schema: Schema, keyword: str) -> str:
    """Return a keyword of a schema with its value."""
    own = written_of(schema)
    value = own.keywords if isinstance(own, WrittenSchema) else {}
    return f"{keyword} {_short_text(value[keyword])}" if keyword in value else f"no {keyword}" if keyword else "schema"


def _written(reason: Reason) -> str:
    if reason.keyword not in _LIMITS:
        return _digest_of(reason)
    said = {_said_by(each, reason.keyword) for each in reason.writers}
    absent = f"no {reason.keyword}"
    return ", ".join(sorted(said - {absent})) or absent


def _digest_of(reason: Reason) -> str:
    """Return what identifies the writer's schemas at a place."""
    texts = sorted(each.text or str(each.pointer) for each in reason.writers)
    return f"schema {_short_digest(' '.join(texts))}"


def _misread(misreading: Misreading, place: FieldPath) -> Misfit:
    difference = misreading.difference()
    words = (misreading.read.word, misreading.written.word)
    return Misfit(place, *words, difference.text, difference.writer_pointer, Effect.MISREAD)


def _place_in(misreading: Misreading, path: FieldPath) -> FieldPath | None:
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
