"""Inclusion of arrays."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.jsonschema import sound_rules as rules
from counterfoil.schema.formats.jsonschema.sound.examples import MAX_MADE
from counterfoil.schema.formats.jsonschema.sound.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.model import Number
    from counterfoil.schema.formats.jsonschema.sound.facts import Facts, Schema
    from counterfoil.schema.formats.jsonschema.sound.inclusion import Inclusion, Reason


def array_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    """Why arrays that the writer writes may be refused."""
    yield from _item_reasons(inclusion, writer, reader)
    yield from _count_reasons(inclusion, writer, reader)
    if reader.facts.contains is not None and not _contains_enough(
        inclusion, writer, reader.facts, reader.facts.contains
    ):
        missing = _lacking(inclusion, writer, reader.facts.contains)
        arrays = chain(([],), missing, _arrays(inclusion, writer, range(4)), inclusion.examples.of(writer))
        yield inclusion.reason(rules.CONTAINS_NARROWED, writer, reader, arrays, steps=("contains",))


def longest(writer: Writer) -> Number | None:
    """How long the writer's arrays can get; None where there is no limit."""
    most = writer.most("max_items")
    for index in range(writer.declared_items() + 1):
        if writer.item(index).is_nothing():
            return index if most is None else min(index, most)
    return most


def _item_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    most = longest(writer)
    declared = max(len(facts.prefix), writer.declared_items())
    for index in range(declared + 1):
        if most is not None and index >= most:
            return
        schema = facts.prefix[index] if index < len(facts.prefix) else facts.items
        if schema is None:
            continue
        has_tuple = bool(facts.prefix) or declared > 0
        steps = ("items", str(index)) if has_tuple and index < declared else ("items",)
        for reason in inclusion.reasons(writer.item(index), schema):
            arrays = (
                made
                for value in reason.values
                for start in _arrays(inclusion, writer, range(index, index + 1))
                for made in _put(inclusion, writer, start, index, value)
            )
            told = inclusion.reason(reason.rule, writer, reader, arrays)
            pointer = reason.writer_pointer or told.writer_pointer
            yield replace(reason, steps=steps + reason.steps, values=told.values, writer_pointer=pointer)


def _put(inclusion: Inclusion, writer: Writer, start: list[Any], index: int, value: Any) -> Iterator[list[Any]]:
    """Arrays that have ``value`` in one place."""
    least = min(int(writer.least("min_items") or 0), MAX_MADE)
    made = [*start[:index], value]
    yield made
    padded = list(made)
    while len(padded) < least:
        more = inclusion.examples.first(writer.item(len(padded)))
        if not more:
            return
        padded += more
    yield padded


def _arrays(inclusion: Inclusion, writer: Writer, sizes: range) -> Iterator[list[Any]]:
    """Arrays of certain sizes, without regard to what the writer asks of sizes."""
    for size in sizes:
        if size > MAX_MADE:
            return
        made: list[Any] = []
        for index in range(size):
            made += inclusion.examples.first(writer.item(index))
        if len(made) == size:
            yield made


def _count_reasons(inclusion: Inclusion, writer: Writer, reader: Schema) -> Iterator[Reason]:
    facts = reader.facts
    contained = [each.min_contains for each in writer.facts() if each.contains is not None]
    least, most = max(writer.least("min_items") or 0, *contained, 0), longest(writer)
    if facts.min_items is not None and facts.min_items > least:
        arrays = chain(_arrays(inclusion, writer, range(int(least), int(least) + 1)), inclusion.examples.of(writer))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, arrays, steps=("minItems",))
    if facts.max_items is not None and (most is None or most > facts.max_items):
        size = int(facts.max_items) + 1
        longer = _arrays(inclusion, writer, range(size, size + 1))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, longer, steps=("maxItems",))
    are_unique = any(each.has_unique_items for each in writer.facts()) or (most is not None and most <= 1)
    if facts.has_unique_items and not are_unique:
        arrays = chain(_equal_items(inclusion, writer), inclusion.examples.of(writer))
        yield inclusion.reason(rules.VALUE_REFUSED, writer, reader, arrays, steps=("uniqueItems",))


def _equal_items(inclusion: Inclusion, writer: Writer) -> Iterator[list[Any]]:
    least = min(int(writer.least("min_items") or 0), MAX_MADE)
    behind = writer.declared_items()
    for start in _arrays(inclusion, writer, range(behind, behind + 1)):
        for value in inclusion.examples.first(writer.item(None)):
            yield [*start, *[value] * max(2, least - behind)]
    for value in inclusion.examples.first(writer.item(0)):
        yield [value] * max(2, least)


def _contains_enough(inclusion: Inclusion, writer: Writer, facts: Facts, contains: Schema) -> bool:
    least, most = facts.min_contains, facts.max_contains
    if most is not None and not _contains_few(inclusion, writer, contains, most):
        return False
    if least <= 0:
        return True
    for theirs in writer.facts():
        if theirs.contains is not None and theirs.min_contains >= least:
            found = (
                writer.item(None).also(theirs.contains) if not writer.declared_items() else Writer((theirs.contains,))
            )
            if inclusion.includes(found, contains):
                return True
    if (writer.least("min_items") or 0) < least:
        return False
    return all(inclusion.includes(writer.item(index), contains) for index in range(writer.declared_items() + 1))


def _lacking(inclusion: Inclusion, writer: Writer, contains: Schema) -> Iterator[list[Any]]:
    """Arrays of items that the writer's contains takes and the reader's does not."""
    for theirs in writer.facts():
        if theirs.contains is not None:
            for reason in inclusion.reasons(writer.item(None).also(theirs.contains), contains):
                yield from ([value] * min(int(theirs.min_contains), MAX_MADE) for value in reason.values)


def _contains_few(inclusion: Inclusion, writer: Writer, contains: Schema, most: Number) -> bool:
    longest_array = longest(writer)
    if longest_array is not None and longest_array <= most:
        return True
    return any(
        theirs.contains is not None
        and theirs.max_contains is not None
        and theirs.max_contains <= most
        and inclusion.includes(Writer((contains,)), theirs.contains)
        for theirs in writer.facts()
    )
