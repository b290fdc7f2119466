"""The rules of the content of objects and arrays: declared properties and items, and the rest.

A content model is open if anything is allowed beside what is declared, closed if nothing is, and partially open if the
rest must fit a schema. Whether an addition breaks depends on the writer's model, since old records may contain what the
writer did not declare; whether a removal breaks depends on the reader's.
"""

from __future__ import annotations

from typing import Final

from counterfoil.schema.compatibility.findings import CompatibilityRule
from counterfoil.schema.languages.jsonschema.compare.rule_table import NOT_LENIENT, breaking, harmless

PROPERTY_REMOVED_FROM_OPEN: Final = harmless(
    "PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL",
    "The reader does not declare property {name} and takes any other property",
    why="An open reader accepts properties that it does not know.",
)
EMPTY_PROPERTY_ADDED_TO_OPEN: Final = harmless(
    "PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader declares property {name} and accepts anything in it",
    why="Whatever old records hold under that name is accepted.",
)
REQUIRED_PROPERTY_ADDED_TO_OPEN: Final = breaking(
    "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader requires property {name}, which the writer does not declare",
    why="Records without the property were valid and may exist; others may hold anything under that name.",
    fix="Make the property optional, and close the schema against unknown properties before declaring new ones.",
    promises_witness=True,
)
REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN: Final = breaking(
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader requires property {name}, which the writer does not declare; a default does not fill it in",
    why="An open writer may have put anything under that name, and validators do not fill in defaults.",
    fix="Make the property optional, and close the schema against unknown properties before declaring new ones.",
    breaks=NOT_LENIENT,
    promises_witness=True,
)
OPTIONAL_PROPERTY_ADDED_TO_OPEN: Final = breaking(
    "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader restricts property {name}, of which the writer says nothing and in which it takes anything",
    why="An open writer allows any value under that name; the reader refuses those that do not fit.",
    fix="Close the schema with additionalProperties: false before declaring new properties, or accept any value.",
    breaks=NOT_LENIENT,
    promises_witness=True,
)
FALSE_PROPERTY_REMOVED_FROM_CLOSED: Final = harmless(
    "PROPERTY_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "The reader does not declare property {name}, which the writer could not write anyway",
    why="The writer's schema for the property is false, so no record holds it.",
)
PROPERTY_REMOVED_FROM_CLOSED: Final = breaking(
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "The reader refuses property {name}, which the writer declares",
    why="A closed reader refuses every record that holds a property which it does not declare.",
    fix="Keep the property, or open the schema for unknown properties first.",
    breaks=NOT_LENIENT,
    promises_witness=True,
)
PROPERTY_REMOVED_COVERED: Final = harmless(
    "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader does not declare property {name}; what it asks of other properties takes it",
    why="The reader's schema for undeclared properties accepts whatever the writer's property held.",
)
PROPERTY_REMOVED_NOT_COVERED: Final = breaking(
    "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader does not declare property {name}; what it asks of other properties refuses some of its values",
    why="The reader judges the property by its schema for undeclared properties, which is narrower.",
    fix="Keep the property, or widen the schema for undeclared properties.",
    breaks=NOT_LENIENT,
)
PROPERTY_ADDED_COVERED: Final = harmless(
    "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader declares property {name} and takes all that the writer could write under that name",
    why="The writer's schema for undeclared properties is no wider than the reader's new property.",
)
PROPERTY_ADDED_NOT_COVERED: Final = breaking(
    "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader's property {name} refuses some values that the writer could write under that name",
    why="The writer allows undeclared properties to hold more than the reader's new property accepts.",
    fix="Make the new property at least as wide as the writer's schema for undeclared properties.",
    breaks=NOT_LENIENT,
)
REQUIRED_PROPERTY_ADDED_TO_UNOPEN: Final = breaking(
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "The reader requires property {name}, which the writer does not declare",
    why="No record, or not every record, holds the property; the reader refuses those without it.",
    fix="Make the property optional.",
    promises_witness=True,
)
REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN: Final = harmless(
    "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "The reader requires property {name}, which the writer does not declare, and gives it a default",
    why="Readers that fill in defaults can read the record; validators do not fill them in, see the policy SOUND.",
)
OPTIONAL_PROPERTY_ADDED_TO_UNOPEN: Final = harmless(
    "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",
    "The reader declares the optional property {name}, which the writer does not declare",
    why="Records without an optional property are valid.",
)
REQUIRED_ATTRIBUTE_ADDED: Final = breaking(
    "REQUIRED_ATTRIBUTE_ADDED",
    "The reader requires property {name}, the writer does not",
    why="Records without the property were valid and may exist; the reader refuses them.",
    fix="Leave the property optional.",
    forward_fix="Keep the property required: deployed readers refuse records without it. Make it optional in one "
    "release and leave it out in a later one.",
    promises_witness=True,
)
REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED: Final = harmless(
    "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED",
    "The reader requires property {name}, the writer does not, and gives it a default",
    why="Readers that fill in defaults can read the record; validators do not fill them in, see the policy SOUND.",
)
REQUIRED_ATTRIBUTE_REMOVED: Final = harmless(
    "REQUIRED_ATTRIBUTE_REMOVED",
    "The reader does not require property {name}, the writer does",
    why="An optional property may be there.",
)
DEPENDENCY_ARRAY_ADDED: Final = breaking(
    "DEPENDENCY_ARRAY_ADDED",
    "The reader wants {reader} wherever property {name} is, the writer does not",
    why="Records with the one and without the others were valid and may exist.",
    fix="Leave the dependency out.",
    promises_witness=True,
)
DEPENDENCY_ARRAY_REMOVED: Final = harmless(
    "DEPENDENCY_ARRAY_REMOVED",
    "The reader asks for nothing where property {name} is, the writer for {writer}",
    why="Records that hold the other properties as well stay valid.",
)
DEPENDENCY_ARRAY_EXTENDED: Final = breaking(
    "DEPENDENCY_ARRAY_EXTENDED",
    "The reader wants {reader} wherever property {name} is, the writer only {writer}",
    why="Records without the properties that were added to the list were valid and may exist.",
    fix="Keep the list, or shorten it.",
    promises_witness=True,
)
DEPENDENCY_ARRAY_NARROWED: Final = harmless(
    "DEPENDENCY_ARRAY_NARROWED",
    "The reader wants {reader} wherever property {name} is, the writer {writer}",
    why="Records that hold all of the longer list hold all of the shorter one.",
)
DEPENDENCY_ARRAY_CHANGED: Final = breaking(
    "DEPENDENCY_ARRAY_CHANGED",
    "The reader wants {reader} wherever property {name} is, the writer {writer}",
    why="Records have what the writer requires and may lack what the reader requires.",
    fix="Keep the list, or shorten it.",
    promises_witness=True,
)
DEPENDENCY_SCHEMA_ADDED: Final = breaking(
    "DEPENDENCY_SCHEMA_ADDED",
    "The reader has a schema for objects with property {name}, the writer has none",
    why="Records with the property were valid whatever else they held.",
    fix="Leave the dependency out.",
)
DEPENDENCY_SCHEMA_REMOVED: Final = harmless(
    "DEPENDENCY_SCHEMA_REMOVED",
    "The reader has no schema for objects with property {name}, the writer has one",
    why="With fewer requirements, the reader accepts all that it accepted before.",
)
ITEM_REMOVED_FROM_OPEN: Final = harmless(
    "ITEM_REMOVED_FROM_OPEN_CONTENT_MODEL",
    "The reader says nothing about item {name} and takes anything there",
    why="An open reader accepts items that it does not know.",
)
EMPTY_ITEM_ADDED_TO_OPEN: Final = harmless(
    "ITEM_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader declares item {name} and accepts anything in it",
    why="Whatever old records hold in that place is accepted.",
)
ITEM_ADDED_TO_OPEN: Final = breaking(
    "ITEM_ADDED_TO_OPEN_CONTENT_MODEL",
    "The reader restricts item {name}, of which the writer says nothing and in which it takes anything",
    why="An open writer allows any value in that place; the reader refuses those that do not fit.",
    fix="Close the array against further items before declaring new ones, or accept any value.",
)
ITEM_ADDED_TO_CLOSED: Final = harmless(
    "ITEM_ADDED_TO_CLOSED_CONTENT_MODEL",
    "The reader declares item {name}, which the writer does not have",
    why="Shorter arrays are valid, and no record has an item in that place.",
)
FALSE_ITEM_REMOVED_FROM_CLOSED: Final = harmless(
    "ITEM_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "The reader does not declare item {name}, which the writer could not write anyway",
    why="The writer's schema for the item is false, so no record has it.",
)
ITEM_REMOVED_FROM_CLOSED: Final = breaking(
    "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",
    "The reader refuses item {name}, which the writer declares",
    why="A closed reader refuses every array that is longer than what it declares.",
    fix="Keep the item, or open the array for further items first.",
)
ITEM_REMOVED_COVERED: Final = harmless(
    "ITEM_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader does not declare item {name}; what it asks of further items takes it",
    why="The reader's schema for further items accepts whatever the writer's item held.",
)
ITEM_REMOVED_NOT_COVERED: Final = breaking(
    "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader does not declare item {name}; what it asks of further items refuses some of its values",
    why="The reader judges the item by its schema for further items, which is narrower.",
    fix="Keep the item, or widen the schema for further items.",
)
ITEM_ADDED_COVERED: Final = harmless(
    "ITEM_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader declares item {name} and takes all that the writer could write there",
    why="The writer's schema for further items is no wider than the reader's new item.",
)
ITEM_ADDED_NOT_COVERED: Final = breaking(
    "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    "The reader's item {name} refuses some values that the writer could write there",
    why="The writer allows further items to hold more than the reader's new item accepts.",
    fix="Make the new item at least as wide as the writer's schema for further items.",
)

UNIQUE_ITEMS_ADDED: Final = breaking(
    "UNIQUE_ITEMS_ADDED",
    "The reader refuses arrays with equal items, the writer writes them",
    why="Arrays with equal items were valid and may exist.",
    fix="Leave uniqueItems out.",
)
UNIQUE_ITEMS_REMOVED: Final = harmless(
    "UNIQUE_ITEMS_REMOVED",
    "The reader takes arrays with equal items, the writer does not write them",
    why="Arrays without equal items stay valid.",
)

CONTENT_RULES: Final = tuple(value for value in list(globals().values()) if isinstance(value, CompatibilityRule))
"""Every rule of this module, in the order above."""
