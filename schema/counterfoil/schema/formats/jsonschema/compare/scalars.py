"""Comparison of scalar keywords: limits, patterns, numbers, enumerations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from counterfoil.schema.formats.jsonschema.compare import rules
from counterfoil.schema.formats.jsonschema.compare.bound_rules import BOUNDS
from counterfoil.schema.formats.jsonschema.compare.findings import JsonDifference, at, at_kind
from counterfoil.schema.formats.jsonschema.compare.places import spot_of_value
from counterfoil.schema.formats.jsonschema.compare.wording import listed
from counterfoil.schema.formats.jsonschema.read.canonical import print_number
from counterfoil.schema.formats.jsonschema.read.values import is_multiple

if TYPE_CHECKING:
    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.jsonschema.compare.model import Choice, Constant, Node, Numeric, Text
    from counterfoil.schema.formats.jsonschema.read.values import Number


def compare_bound(
    keyword: str, reader: Node, writer: Node, reader_limit: Number | None, writer_limit: Number | None
) -> list[JsonDifference]:
    """Return the finding about one limit of two nodes, in a list; empty if it is the same."""
    if reader_limit == writer_limit:
        return []
    rule = _bound_rule(keyword, reader_limit, writer_limit)
    return [at(rule, reader, writer, keyword, reader=_shown(reader_limit), writer=_shown(writer_limit))]


def _bound_rule(keyword: str, reader: Number | None, writer: Number | None) -> CompatibilityRule:
    """Return the rule about two limits that differ."""
    bound = BOUNDS[keyword]
    if writer is None:
        return bound.added
    if reader is None:
        return bound.removed
    return bound.increased if reader > writer else bound.decreased


def compare_notes(reader: Node, writer: Node) -> list[JsonDifference]:
    """Return the findings about the annotations of two nodes: id, title, description and default."""
    found: list[JsonDifference] = []
    if reader.identity != writer.identity:
        found.append(at(rules.ID_CHANGED, reader, writer))
    if reader.title != writer.title:
        found.append(at(rules.TITLE_CHANGED, reader, writer))
    if reader.description != writer.description:
        found.append(at(rules.DESCRIPTION_CHANGED, reader, writer))
    if reader.has_default != writer.has_default or reader.default != writer.default:
        found.append(at(rules.DEFAULT_CHANGED, reader, writer))
    return found


def compare_texts(reader: Text, writer: Text) -> list[JsonDifference]:
    """Return the findings about two string nodes."""
    return [
        *compare_bound("maxLength", reader, writer, reader.max_length, writer.max_length),
        *compare_bound("minLength", reader, writer, reader.min_length, writer.min_length),
        *_compare_patterns(reader, writer),
    ]


def _compare_patterns(reader: Text, writer: Text) -> list[JsonDifference]:
    if reader.pattern == writer.pattern:
        return []
    rule = rules.PATTERN_CHANGED
    if reader.pattern is None or writer.pattern is None:
        rule = rules.PATTERN_REMOVED if reader.pattern is None else rules.PATTERN_ADDED
    return [at(rule, reader, writer, "pattern", reader=reader.pattern or "none", writer=writer.pattern or "none")]


def compare_numbers(reader: Numeric, writer: Numeric) -> list[JsonDifference]:
    """Return the findings about two number nodes."""
    found = [
        *compare_bound("maximum", reader, writer, reader.maximum, writer.maximum),
        *compare_bound("minimum", reader, writer, reader.minimum, writer.minimum),
        *_compare_exclusive_maxima(reader, writer),
        *compare_bound("exclusiveMinimum", reader, writer, reader.exclusive_minimum, writer.exclusive_minimum),
        *_compare_multiples(reader, writer),
    ]
    if reader.is_integer != writer.is_integer:
        rule = rules.TYPE_NARROWED if reader.is_integer else rules.TYPE_EXTENDED
        found.append(at_kind(rule, reader, writer, reader=_type_name(reader), writer=_type_name(writer)))
    return found


def _compare_exclusive_maxima(reader: Numeric, writer: Numeric) -> list[JsonDifference]:
    """Return the finding about the exclusive maxima, which the reference compares by the reader's inclusive one.

    If the reader has no inclusive maximum, the reference fails; here the two exclusive limits are compared.
    """
    reader_limit, writer_limit = reader.exclusive_maximum, writer.exclusive_maximum
    if reader_limit is not None and writer_limit is not None and reader.maximum is not None:
        reader_limit = reader_limit if reader_limit == writer_limit else reader.maximum
    return compare_bound("exclusiveMaximum", reader, writer, reader_limit, writer_limit)


def _compare_multiples(reader: Numeric, writer: Numeric) -> list[JsonDifference]:
    rule = _multiple_rule(reader.multiple_of, writer.multiple_of)
    if rule is None:
        return []
    facts = {"reader": _shown(reader.multiple_of), "writer": _shown(writer.multiple_of)}
    return [at(rule, reader, writer, "multipleOf", **facts)]


def _multiple_rule(reader: Number | None, writer: Number | None) -> CompatibilityRule | None:
    if reader == writer:
        return None
    if reader is None:
        return rules.MULTIPLE_OF_REMOVED
    if writer is None:
        return rules.MULTIPLE_OF_ADDED
    if is_multiple(reader, writer):
        return rules.MULTIPLE_OF_EXPANDED
    return rules.MULTIPLE_OF_REDUCED if is_multiple(writer, reader) else rules.MULTIPLE_OF_CHANGED


def compare_choices(reader: Choice, writer: Choice) -> list[JsonDifference]:
    """Return the findings about two enumerations."""
    if reader.values == writer.values:
        return []
    if reader.values > writer.values:
        return [at(rules.ENUM_ARRAY_EXTENDED, reader, writer, "enum", values=listed(reader.values - writer.values))]
    if reader.values < writer.values:
        found = at(rules.ENUM_ARRAY_NARROWED, reader, writer, "enum", values=listed(writer.values - reader.values))
    else:
        facts = {"reader": listed(reader.values), "writer": listed(writer.values)}
        found = at(rules.ENUM_ARRAY_CHANGED, reader, writer, "enum", **facts)
    return [replace(found, writer_spot=spot_of_value(writer, known=reader.values))]


def compare_constants(reader: Constant, writer: Constant) -> list[JsonDifference]:
    """Return the findings about two constants."""
    if reader.value == writer.value:
        return []
    return [at(rules.ENUM_ARRAY_CHANGED, reader, writer, "const", reader=reader.value, writer=writer.value)]


def _type_name(node: Numeric) -> str:
    return "integer" if node.is_integer else "number"


def _shown(limit: Number | None) -> str:
    return "none" if limit is None else print_number(limit)
