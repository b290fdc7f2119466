"""Comparison of objects and arrays (what is declared, and what is allowed beside it), and of scalar keywords."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.jsontext import java_hash_order
from counterfoil.schema.languages.jsonschema.compare import content_rules, rules
from counterfoil.schema.languages.jsonschema.compare.findings import (
    Comparing,
    Findings,
    JsonDifference,
    Part,
    added,
    at,
    at_kind,
    below,
    listed,
    removed,
    spot_of_value,
)
from counterfoil.schema.languages.jsonschema.compare.nodes import (
    ArraySchema,
    ConstantSchema,
    EmptySchema,
    EnumSchema,
    Node,
    NothingSchema,
    NumericSchema,
    ObjectSchema,
    Rest,
    TextSchema,
)
from counterfoil.schema.languages.jsonschema.compare.rule_table import BOUNDS, RESTS
from counterfoil.schema.languages.jsonschema.json_values import Number, is_multiple, print_number

# Comparison of scalar keywords: limits, patterns, numbers, enumerations.


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


def compare_texts(reader: TextSchema, writer: TextSchema) -> list[JsonDifference]:
    """Return the findings about two string nodes."""
    return [
        *compare_bound("maxLength", reader, writer, reader.max_length, writer.max_length),
        *compare_bound("minLength", reader, writer, reader.min_length, writer.min_length),
        *_compare_patterns(reader, writer),
    ]


def _compare_patterns(reader: TextSchema, writer: TextSchema) -> list[JsonDifference]:
    if reader.pattern == writer.pattern:
        return []
    rule = rules.PATTERN_CHANGED
    if reader.pattern is None or writer.pattern is None:
        rule = rules.PATTERN_REMOVED if reader.pattern is None else rules.PATTERN_ADDED
    return [at(rule, reader, writer, "pattern", reader=reader.pattern or "none", writer=writer.pattern or "none")]


def compare_numbers(reader: NumericSchema, writer: NumericSchema) -> list[JsonDifference]:
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


def _compare_exclusive_maxima(reader: NumericSchema, writer: NumericSchema) -> list[JsonDifference]:
    """Return the finding about the exclusive maxima, which the reference compares by the reader's inclusive one.

    If the reader has no inclusive maximum, the reference fails; here the two exclusive limits are compared.
    """
    reader_limit, writer_limit = reader.exclusive_maximum, writer.exclusive_maximum
    if reader_limit is not None and writer_limit is not None and reader.maximum is not None:
        reader_limit = reader_limit if reader_limit == writer_limit else reader.maximum
    return compare_bound("exclusiveMaximum", reader, writer, reader_limit, writer_limit)


def _compare_multiples(reader: NumericSchema, writer: NumericSchema) -> list[JsonDifference]:
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


def compare_choices(reader: EnumSchema, writer: EnumSchema) -> list[JsonDifference]:
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


def compare_constants(reader: ConstantSchema, writer: ConstantSchema) -> list[JsonDifference]:
    """Return the findings about two constants."""
    if reader.value == writer.value:
        return []
    return [at(rules.ENUM_ARRAY_CHANGED, reader, writer, "const", reader=reader.value, writer=writer.value)]


def _type_name(node: NumericSchema) -> str:
    return "integer" if node.is_integer else "number"


def _shown(limit: Number | None) -> str:
    return "none" if limit is None else print_number(limit)


# Comparison of objects and arrays: what is declared, and what is allowed beside it.
#
# The effect of a property that only the reader declares depends on the writer's content model, since old records may
# contain what the writer did not declare; the effect of one that only the writer declares depends on the reader's.


class Walk(Protocol):
    """The walk that runs a comparison."""

    policy: CompatibilityPolicy

    @property
    def is_large(self) -> bool:
        """Whether so many pairs have been compared that only what the verdict needs is compared from now on."""

    def is_compatible(self, findings: Findings) -> bool:
        """Return whether none of the findings breaks under the policy."""

    def spend(self, steps: int = 1) -> None:
        """Count steps of the comparison; raise ``OutOfSteps`` if none are left."""

    def matches(self, pattern: str, name: str) -> bool:
        """Return whether a pattern matches a part of a property's name."""


def compare_objects(walk: Walk, reader: ObjectSchema, writer: ObjectSchema) -> Comparing:
    """Return the findings about two object nodes."""
    walk.spend((len(reader.properties) + len(writer.properties)) // 4)
    found: list[Part] = []
    if reader.required or writer.required:
        found += _compare_required(reader, writer)
    found += yield from _compare_properties(walk, reader, writer)
    if any((reader.needed_names, writer.needed_names, reader.needed_schemas, writer.needed_schemas)):
        found += yield from _compare_dependencies(reader, writer)
    if not reader.additional.is_like(writer.additional):
        found += yield from compare_rest(
            "additionalProperties", (reader, reader.additional), (writer, writer.additional)
        )
    if not reader.unevaluated.is_like(writer.unevaluated):
        sides = (reader, reader.unevaluated), (writer, writer.unevaluated)
        found += yield from compare_rest("unevaluatedProperties", *sides)
    found += compare_bound("maxProperties", reader, writer, reader.max_properties, writer.max_properties)
    found += compare_bound("minProperties", reader, writer, reader.min_properties, writer.min_properties)
    return found


def _compare_required(reader: ObjectSchema, writer: ObjectSchema) -> list[JsonDifference]:
    found: list[JsonDifference] = []
    for name, node in reader.properties.items():
        if name not in writer.properties or (name in reader.required) == (name in writer.required):
            continue
        if name in writer.required:
            rule = content_rules.REQUIRED_ATTRIBUTE_REMOVED
        else:
            rule = (
                content_rules.REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED
                if node.has_default
                else content_rules.REQUIRED_ATTRIBUTE_ADDED
            )
        found.append(at(rule, reader, writer, "required", name, name=name))
    return found


def _compare_properties(walk: Walk, reader: ObjectSchema, writer: ObjectSchema) -> Comparing:
    found: list[Part] = []
    for name in java_hash_order([*writer.properties, *reader.properties]):
        mine, theirs = reader.properties.get(name), writer.properties.get(name)
        if mine is not None and theirs is not None:
            inner: list[Part] = [(yield mine, theirs)]
        elif theirs is not None:
            inner = yield from _removed_property(walk, reader, name, theirs)
        else:
            inner = yield from _added_property(walk, reader, writer, name)
        found += below(inner, "properties", name)
    return found


def _is_open(node: ObjectSchema | ArraySchema) -> bool:
    unevaluated = node.unevaluated
    return (
        node.additional.is_open
        and not (isinstance(node, ObjectSchema) and node.patterns)
        and unevaluated.is_allowed
        and (unevaluated.schema is None or isinstance(unevaluated.schema, EmptySchema))
    )


def _schema_beside(walk: Walk, node: ObjectSchema, name: str) -> Node | None:
    """Return the schema of ``node`` for the undeclared property ``name``; None if there is none."""
    for pattern, schema in node.patterns.items():
        if walk.matches(pattern, name):
            return schema
    if node.additional.schema is not None:
        return node.additional.schema
    return node.unevaluated.schema if node.additional.is_allowed else None


def _removed_property(walk: Walk, reader: ObjectSchema, name: str, writer: Node) -> Comparing:
    if _is_open(reader):
        return [removed(content_rules.PROPERTY_REMOVED_FROM_OPEN, reader, writer, "properties", name=name)]
    beside = _schema_beside(walk, reader, name)
    if beside is not None:
        inner = yield beside, writer
        covered = walk.is_compatible(inner)
        rule = content_rules.PROPERTY_REMOVED_COVERED if covered else content_rules.PROPERTY_REMOVED_NOT_COVERED
        return [inner, at(rule, beside, writer, name=name)]
    is_false = isinstance(writer, NothingSchema)
    rule = content_rules.FALSE_PROPERTY_REMOVED_FROM_CLOSED if is_false else content_rules.PROPERTY_REMOVED_FROM_CLOSED
    return [removed(rule, reader, writer, "properties", name=name)]


def _added_property(walk: Walk, parent: ObjectSchema, writer: ObjectSchema, name: str) -> Comparing:
    reader = parent.properties[name]
    is_required = name in parent.required
    if _is_open(writer):
        if isinstance(reader, EmptySchema):
            rule = content_rules.EMPTY_PROPERTY_ADDED_TO_OPEN
        elif not is_required:
            rule = content_rules.OPTIONAL_PROPERTY_ADDED_TO_OPEN
        elif reader.has_default:
            rule = content_rules.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN
        else:
            rule = content_rules.REQUIRED_PROPERTY_ADDED_TO_OPEN
        return [added(rule, reader, writer, "properties", name=name)]
    found: list[Part] = []
    beside = _schema_beside(walk, writer, name)
    if beside is not None:
        inner = yield reader, beside
        rule = (
            content_rules.PROPERTY_ADDED_COVERED
            if walk.is_compatible(inner)
            else content_rules.PROPERTY_ADDED_NOT_COVERED
        )
        found += [inner, at(rule, reader, beside, name=name)]
    if not is_required:
        rule = content_rules.OPTIONAL_PROPERTY_ADDED_TO_UNOPEN
    elif reader.has_default:
        rule = content_rules.REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN
    else:
        rule = content_rules.REQUIRED_PROPERTY_ADDED_TO_UNOPEN
    return [*found, added(rule, reader, writer, "properties", name=name)]


def _compare_dependencies(reader: ObjectSchema, writer: ObjectSchema) -> Comparing:
    found: list[Part] = []
    for name in {**writer.needed_names, **reader.needed_names}:
        mine, theirs = reader.needed_names.get(name), writer.needed_names.get(name)
        if mine == theirs:
            continue
        if theirs is None:
            rule = content_rules.DEPENDENCY_ARRAY_ADDED
        elif mine is None:
            rule = content_rules.DEPENDENCY_ARRAY_REMOVED
        elif mine > theirs:
            rule = content_rules.DEPENDENCY_ARRAY_EXTENDED
        else:
            rule = content_rules.DEPENDENCY_ARRAY_NARROWED if mine < theirs else content_rules.DEPENDENCY_ARRAY_CHANGED
        facts = {"name": name, "reader": _names(mine), "writer": _names(theirs)}
        found.append(at(rule, reader, writer, "dependencies", name, **facts))
    for name in {**writer.needed_schemas, **reader.needed_schemas}:
        schema, earlier = reader.needed_schemas.get(name), writer.needed_schemas.get(name)
        if schema is not None and earlier is not None:
            found += below([(yield schema, earlier)], "dependencies", name)
        else:
            added = earlier is None
            rule = content_rules.DEPENDENCY_SCHEMA_ADDED if added else content_rules.DEPENDENCY_SCHEMA_REMOVED
            found.append(at(rule, reader, writer, "dependencies", name, name=name))
    return found


def _names(names: frozenset[str] | None) -> str:
    return ", ".join(sorted(names or ())) or "nothing"


def compare_arrays(walk: Walk, reader: ArraySchema, writer: ArraySchema) -> Comparing:
    """Return the findings about two array nodes."""
    walk.spend(len(reader.tuple_items or ()) + len(writer.tuple_items or ()))
    found: list[Part] = [
        *compare_bound("maxItems", reader, writer, reader.max_items, writer.max_items),
        *compare_bound("minItems", reader, writer, reader.min_items, writer.min_items),
        *compare_bound("maxContains", reader, writer, reader.max_contains, writer.max_contains),
        *compare_bound("minContains", reader, writer, reader.min_contains, writer.min_contains),
    ]
    if reader.has_unique_items != writer.has_unique_items:
        rule = content_rules.UNIQUE_ITEMS_ADDED if reader.has_unique_items else content_rules.UNIQUE_ITEMS_REMOVED
        found.append(at(rule, reader, writer, "uniqueItems"))
    found += yield from _compare_items(reader, writer)
    if reader.tuple_items or writer.tuple_items:
        found += yield from _compare_tuples(walk, reader, writer)
    if not reader.additional.is_like(writer.additional):
        found += yield from compare_rest("additionalItems", (reader, reader.additional), (writer, writer.additional))
    if not reader.unevaluated.is_like(writer.unevaluated):
        sides = (reader, reader.unevaluated), (writer, writer.unevaluated)
        found += yield from compare_rest("unevaluatedItems", *sides)
    return found


def _compare_items(reader: ArraySchema, writer: ArraySchema) -> Comparing:
    if reader.items is not None and writer.items is not None:
        return below([(yield reader.items, writer.items)], "items")
    if reader.items is writer.items:
        return []
    rule = rules.SCHEMA_REMOVED if reader.items is None else rules.SCHEMA_ADDED
    return [replace(at(rule, reader, writer, "items"), has_path=False)]


def _compare_tuples(walk: Walk, reader: ArraySchema, writer: ArraySchema) -> Comparing:
    mine, theirs = reader.tuple_items or (), writer.tuple_items or ()
    found: list[Part] = []
    for index in range(max(len(mine), len(theirs))):
        if index >= len(mine):
            inner = yield from _removed_item(walk, reader, theirs[index], index)
        elif index >= len(theirs):
            inner = yield from _added_item(walk, mine[index], writer, index)
        else:
            inner = [(yield mine[index], theirs[index])]
        found += below(inner, "items", str(index))
    return found


def _schema_behind(node: ArraySchema) -> Node | None:
    """Return the schema for items after the declared ones; None if there is none."""
    if node.additional.schema is not None:
        return node.additional.schema
    return node.unevaluated.schema if node.additional.is_allowed else None


def _removed_item(walk: Walk, reader: ArraySchema, writer: Node, index: int) -> Comparing:
    if _is_open(reader):
        return [removed(content_rules.ITEM_REMOVED_FROM_OPEN, reader, writer, "prefixItems", name=index)]
    behind = _schema_behind(reader)
    if behind is not None:
        inner = yield behind, writer
        rule = (
            content_rules.ITEM_REMOVED_COVERED if walk.is_compatible(inner) else content_rules.ITEM_REMOVED_NOT_COVERED
        )
        return [inner, at(rule, behind, writer, name=index)]
    is_false = isinstance(writer, NothingSchema)
    rule = content_rules.FALSE_ITEM_REMOVED_FROM_CLOSED if is_false else content_rules.ITEM_REMOVED_FROM_CLOSED
    return [removed(rule, reader, writer, "prefixItems", name=index)]


def _added_item(walk: Walk, reader: Node, writer: ArraySchema, index: int) -> Comparing:
    if _is_open(writer):
        rule = (
            content_rules.EMPTY_ITEM_ADDED_TO_OPEN
            if isinstance(reader, EmptySchema)
            else content_rules.ITEM_ADDED_TO_OPEN
        )
        return [added(rule, reader, writer, "prefixItems", name=index)]
    behind = _schema_behind(writer)
    if behind is not None:
        inner = yield reader, behind
        rule = content_rules.ITEM_ADDED_COVERED if walk.is_compatible(inner) else content_rules.ITEM_ADDED_NOT_COVERED
        return [inner, at(rule, reader, behind, name=index)]
    return [added(content_rules.ITEM_ADDED_TO_CLOSED, reader, writer, "prefixItems", name=index)]


def compare_rest(keyword: str, reader_side: tuple[Node, Rest], writer_side: tuple[Node, Rest]) -> Comparing:
    """Return the findings about what two nodes allow beside what they declare.

    Each side is a node and its ``Rest`` under ``keyword``; the two differ.
    """
    rest = RESTS[keyword]
    (reader, mine), (writer, theirs) = reader_side, writer_side
    if mine.is_allowed != theirs.is_allowed:
        return [at(rest.added if mine.is_allowed else rest.removed, reader, writer, keyword)]
    if mine.schema is not None and theirs.schema is not None:
        return below([(yield mine.schema, theirs.schema)], keyword)
    return [at(rest.extended if mine.schema is None else rest.narrowed, reader, writer, keyword)]
