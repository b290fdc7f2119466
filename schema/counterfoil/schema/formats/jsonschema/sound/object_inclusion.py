"""Inclusion of objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema import sound_rules as rules
from counterfoil.schema.formats.jsonschema.patterns import holds_match
from counterfoil.schema.formats.jsonschema.sound.examples import MAX_MADE, texts_for
from counterfoil.schema.formats.jsonschema.sound.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.sound.facts import Schema
    from counterfoil.schema.formats.jsonschema.sound.inclusion import Inclusion, Reason

_FRESH = ("zz", "other", "q1", "~", "Zz9", "0", "a", "b", "x")
"""Names that a schema seldom declares."""


def object_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    """Why objects that the writer writes may be refused."""
    yield from _required_reasons(inclusion, writer, reader)
    yield from _declared_reasons(inclusion, writer, reader)
    yield from _pattern_reasons(inclusion, writer, reader)
    yield from _additional_reasons(inclusion, writer, reader)
    yield from _name_reasons(inclusion, writer, reader)
    yield from _count_reasons(inclusion, writer, reader)
    yield from _dependency_reasons(inclusion, writer, reader)


def _required_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    for name in sorted(facts.required):
        if writer.requires(name):
            continue
        rule = rules.UNDECLARED_PROPERTY_REQUIRED
        declared = facts.properties.get(name)
        if declared is not None and isinstance(declared.value, dict) and "default" in declared.value:
            rule = rules.DEFAULT_NOT_APPLIED
        examples = inclusion.examples.objects_with(writer, {})
        yield inclusion.reason(rule, writer, reader, examples, steps=("required", name), name=name)


def _declared_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    for name, schema in reader.facts.properties.items():
        inner = inclusion.reasons(writer.property(name), schema)
        yield from _told(inclusion, writer, reader, inner, _Telling((name,), ("properties", name)))


def _pattern_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    for pattern, schema in reader.facts.patterns.items():
        steps = ("patternProperties", pattern)
        for name in sorted(writer.names()):
            if holds_match(pattern, name) is not False:
                inner = inclusion.reasons(writer.property(name), schema)
                yield from _told(inclusion, writer, reader, inner, _Telling((name,), steps))
        inner = inclusion.reasons(writer.matching(pattern), schema)
        names = [name for name in texts_for(pattern) if holds_match(pattern, name)]
        telling = _Telling(names, steps, rules.PATTERN_PROPERTIES_NARROWED, pattern)
        yield from _told(inclusion, writer, reader, inner, telling)


def _additional_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    if facts.additional is None:
        return
    steps = ("additionalProperties",)
    for name in sorted(writer.names() - facts.properties.keys()):
        if not any(holds_match(pattern, name) for pattern in facts.patterns):
            inner = inclusion.reasons(writer.property(name), facts.additional)
            yield from _told(inclusion, writer, reader, inner, _Telling((name,), ("properties", name)))
    for pattern in sorted({pattern for each in writer.facts() for pattern in each.patterns} - facts.patterns.keys()):
        inner = inclusion.reasons(writer.matching(pattern), facts.additional)
        names = [name for name in texts_for(pattern) if holds_match(pattern, name)]
        yield from _told(inclusion, writer, reader, inner, _Telling(names, steps))
    inner = inclusion.reasons(writer.undeclared(), facts.additional)
    yield from _told(inclusion, writer, reader, inner, _Telling(_FRESH, steps))


def _name_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    names = reader.facts.names
    if names is None:
        return
    asked = Writer(tuple(each.names for each in writer.facts() if each.names is not None), kind="string")
    if inclusion.includes(asked, names):
        return
    accepts = inclusion.evaluator.accepts
    if _is_closed(writer) and all(accepts(names, name) for name in writer.names()):
        return
    words = chain(
        (value for reason in inclusion.reasons(asked, names) for value in reason.values),
        sorted(writer.names()),
        _FRESH,
        (name for facts in writer.facts() for pattern in facts.patterns for name in texts_for(pattern)),
    )
    candidates = (
        made
        for word in words
        for value in inclusion.examples.first(writer.property(word))
        for made in inclusion.examples.objects_with(writer, {word: value})
    )
    yield inclusion.reason(rules.PROPERTY_NAMES_NARROWED, writer, reader, candidates, steps=("propertyNames",))


def _is_closed(writer: Writer) -> bool:
    """Whether it writes only properties that it declares."""
    return any(
        facts.additional is not None and facts.additional.value is False and not facts.patterns
        for facts in writer.facts()
    )


def _count_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    required = {name for each in writer.facts() for name in each.required}
    least = max(writer.least("min_properties") or 0, len(required))
    if facts.min_properties is not None and facts.min_properties > least:
        candidates = inclusion.examples.objects_with(writer, {})
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("minProperties",))
    most = writer.most("max_properties")
    if _is_closed(writer):
        declared = len({name for each in writer.facts() for name in each.properties})
        most = declared if most is None else min(most, declared)
    if facts.max_properties is not None and (most is None or most > facts.max_properties):
        candidates = _crowded(inclusion, writer, int(facts.max_properties) + 1)
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("maxProperties",))


def _crowded(inclusion: Inclusion, writer: Writer, count: int) -> Iterator[dict[str, Any]]:
    """Objects of a certain number of properties."""
    if count > MAX_MADE:
        return
    for start in inclusion.examples.objects_with(writer, {}):
        made = dict(start)
        for name in (*sorted(writer.names()), *_FRESH, *(f"p{index}" for index in range(count))):
            if len(made) >= count:
                break
            if name not in made:
                made |= _made_property(inclusion, writer, name)
        yield made


def _dependency_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    for name, needed in facts.needed_names.items():
        given = {each for theirs in writer.facts() for each in (*theirs.required, *theirs.needed_names.get(name, ()))}
        if needed <= given | {name} or writer.property(name).is_nothing():
            continue
        candidates = _objects_with(inclusion, writer, name)
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("dependencies", name))
    for name, schema in facts.needed_schemas.items():
        theirs = [each.needed_schemas[name] for each in writer.facts() if name in each.needed_schemas]
        if writer.property(name).is_nothing():
            continue
        inner = inclusion.reasons(writer.also(*theirs), schema)
        if inner:
            values = (value for reason in inner for value in reason.values)
            beside = _made_property(inclusion, writer, name)
            with_name = (
                made for value in values for made in inclusion.examples.objects_with(writer, {**beside, **value})
            )
            candidates = chain(with_name, _objects_with(inclusion, writer, name))
            yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, candidates, steps=("dependencies", name))


def _made_property(inclusion: Inclusion, writer: Writer, name: str) -> dict[str, Any]:
    """An object of one property; empty where no value for it is found."""
    return dict.fromkeys([name], *made) if (made := inclusion.examples.first(writer.property(name))) else {}


def _objects_with(inclusion: Inclusion, writer: Writer, name: str) -> Iterator[dict[str, Any]]:
    for value in inclusion.examples.first(writer.property(name)):
        yield from inclusion.examples.objects_with(writer, {name: value})


@dataclass(frozen=True, slots=True)
class _Telling:
    """How reasons inside a property are told of the whole object: at ``steps``, for a property of one of ``names``."""

    names: Iterable[str]
    steps: tuple[str, ...]
    rule: CompatibilityRule | None = None
    name: str = ""


def _told(
    inclusion: Inclusion, writer: Writer, reader: Schema, inner: Iterable[Reason], telling: _Telling
) -> Iterator[Reason]:
    """Reasons inside a property, told of the whole object: with objects that hold the value in such a property."""
    for reason in inner:
        objects = (
            made
            for value in reason.values
            for each in telling.names
            for made in inclusion.examples.objects_with(writer, {each: value})
        )
        told = inclusion.reason(telling.rule or reason.rule, writer, reader, objects)
        yield replace(
            reason,
            rule=told.rule,
            steps=telling.steps + reason.steps,
            values=told.values,
            name=telling.name or reason.name,
            writer_pointer=reason.writer_pointer or told.writer_pointer,
        )
