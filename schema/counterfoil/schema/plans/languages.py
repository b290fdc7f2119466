"""The table of languages: how schemas become trees, and what targets demand besides types. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from counterfoil.schema.model import SchemaType
from counterfoil.schema.plans.tree import NotPlannable

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.plans.model import BuildRecord, Op
    from counterfoil.schema.plans.tree import Node


# The table of languages: how the schemas of each become trees. A language is loaded when one of its schemas occurs.

_MODULE_BY_TYPE: Final = {SchemaType.AVRO: "avro", SchemaType.PROTOBUF: "protobuf", SchemaType.JSON: "jsonschema"}


def tree_of(schema: ParsedSchema) -> Node:
    """Return the schema's top-level type as a new tree. Raises ``NotPlannable`` if it has none, or is too deep."""
    try:
        tree: Node = _load(schema, "tree_of")(schema)
    except RecursionError:
        raise NotPlannable("the types of the schema are nested too deep; flatten them") from None
    return tree


def with_message(schema: ParsedSchema, message: str | None) -> ParsedSchema:
    """Return a Protobuf schema of which the message with this full name is used; other schemas unchanged."""
    if message is None or schema.schema_type is not SchemaType.PROTOBUF:
        return schema
    chosen: ParsedSchema = _load(schema, "MessageOf")(schema, message)
    return chosen


def meaning_of(schema: ParsedSchema) -> str:
    """Return a text that is equal for schemas whose values have the same meaning; a plan's hash is made of it."""
    text: str = _load(schema, "meaning_of")(schema)
    return text


def reading_notes(schema: ParsedSchema) -> tuple[str, ...]:
    """Return sentences about what of a source's schema is not checked when its records are read."""
    if schema.schema_type is not SchemaType.JSON:
        return ()
    notes: tuple[str, ...] = _load(schema, "reading_notes")(schema)
    return notes


def limits_of(schema: ParsedSchema) -> TargetLimits | None:
    """Return the demands of a target's schema on values besides their types; None if the types state all of them."""
    if schema.schema_type is not SchemaType.JSON:
        return None
    limits: TargetLimits = import_module("counterfoil.schema.plans.json_limits").JsonLimits(schema)
    return limits


def base_function(schema: ParsedSchema) -> Callable[[Any], Any] | None:
    """Return the function from values as the language's decoders return them to base values; None if they are equal."""
    function: Callable[[Any], Any] | None = _load(schema, "base_function")(schema)
    return function


def decoded_function(schema: ParsedSchema) -> Callable[[Any], Any] | None:
    """Return the function from base values to values that the language's encoders take; None if they are equal."""
    function: Callable[[Any], Any] | None = _load(schema, "decoded_function")(schema)
    return function


def _load(schema: ParsedSchema, name: str) -> Any:
    return getattr(import_module(f"counterfoil.schema.plans.{_MODULE_BY_TYPE[schema.schema_type]}"), name)


# The demands of a target's schema besides types: a protocol for the languages that have such demands.

MayBeNull: TypeAlias = "Callable[[Op], bool]"
Place: TypeAlias = tuple[str, ...]
"""Names of fields from the root; ``[]`` and ``{}`` are the elements of an array and of a map."""


class TargetLimits(Protocol):
    """The demands of a target's schema on values, besides their types."""

    def refusal(self, place: Place, node: Node, value: Any) -> str | None:
        """Return the demand at ``place`` that a value of its type does not meet; None if none is known."""

    def refusal_of_all(self, place: Place, node: Node, op: Op) -> str | None:
        """Return the demand that no result of the operation meets; None if one may fit."""

    def refuses_record(self, place: Place, node: Node, op: BuildRecord, may_be_null: MayBeNull) -> bool:
        """Return whether certainly no record that the operation builds is valid, since its fields do not go together.

        ``may_be_null`` returns whether an operation may return null.
        """
