"""The form in which JSON schemas are compared: a tree of nodes, each of one kind.

A schema has many keywords side by side; the comparison needs one kind of schema at each place. Therefore a list of
types becomes an anyOf, an enum beside a type an allOf of both, keywords without a type a node of their kind, and a
schema without any constraint a node of its own. The trees are those that the reference compares, since its answers name
their places. They are separate from :mod:`~counterfoil.schema.languages.jsonschema.view.facts`, which represents what a
schema means and not how it is written.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from counterfoil.schema.datum import Json
from counterfoil.schema.texts import Pointer

if TYPE_CHECKING:
    from counterfoil.schema.languages.jsonschema.json_values import Number


class Criterion(Enum):
    """The number of branches of a combination that a value must fit."""

    ALL_OF = "allOf"
    ANY_OF = "anyOf"
    ONE_OF = "oneOf"


@dataclass(frozen=True, slots=True)
class Site:
    """The place from which a node was read: ``value`` is at the JSON Pointer ``pointer`` of ``document``.

    ``document`` is empty for the schema's own text, else the name of a document that it refers to.
    """

    document: str
    pointer: Pointer
    value: Json


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A schema at one place.

    ``site`` is where it was read; the nodes of one schema object share it. ``connect_type`` is the value of
    ``connect.type``. ``source`` is the schema as it was read, in drafts where two schemas are equal only if all of
    their keywords are.
    """

    site: Site
    identity: str | None = None
    title: str | None = None
    description: str | None = None
    default: Json = None
    has_default: bool = False
    connect_type: str | None = None
    source: Json = None
    key: str | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class EmptySchema(Node):
    """A schema that accepts every value: ``{}`` or ``true``."""


@dataclass(eq=False, slots=True, kw_only=True)
class NothingSchema(Node):
    """A schema that accepts no value: ``false``."""


@dataclass(eq=False, slots=True, kw_only=True)
class BooleanSchema(Node):
    """``"type": "boolean"``."""


@dataclass(eq=False, slots=True, kw_only=True)
class NullSchema(Node):
    """``"type": "null"``."""


@dataclass(eq=False, slots=True, kw_only=True)
class TextSchema(Node):
    """A string, with its limits."""

    min_length: Number | None = None
    max_length: Number | None = None
    pattern: str | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class NumericSchema(Node):
    """A number, with its limits; with ``is_integer``, an integer."""

    is_integer: bool = False
    minimum: Number | None = None
    maximum: Number | None = None
    exclusive_minimum: Number | None = None
    exclusive_maximum: Number | None = None
    multiple_of: Number | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """The rule for the properties or items that are not declared.

    ``is_allowed``: there may be any. ``schema`` is the schema that they must fit, or None.
    """

    is_allowed: bool = True
    schema: Node | None = None

    @property
    def is_open(self) -> bool:
        """Whether everything is allowed."""
        return self.is_allowed and self.schema is None

    def is_like(self, other: Rest) -> bool:
        """Return whether both allow everything, or nothing: there is nothing to compare."""
        return self.schema is None and other.schema is None and self.is_allowed is other.is_allowed


ANYTHING = Rest()
"""Everything is allowed: the keyword is absent or ``true``."""


@dataclass(eq=False, slots=True, kw_only=True)
class ObjectSchema(Node):
    """An object."""

    properties: Mapping[str, Node] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    patterns: Mapping[str, Node] = field(default_factory=dict)
    additional: Rest = ANYTHING
    unevaluated: Rest = ANYTHING
    needed_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needed_schemas: Mapping[str, Node] = field(default_factory=dict)
    min_properties: Number | None = None
    max_properties: Number | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class ArraySchema(Node):
    """An array. ``items`` is the schema of every item, ``tuple_items`` those of the first ones."""

    items: Node | None = None
    tuple_items: tuple[Node, ...] | None = None
    additional: Rest = ANYTHING
    unevaluated: Rest = ANYTHING
    min_items: Number | None = None
    max_items: Number | None = None
    has_unique_items: bool = False
    min_contains: Number | None = None
    max_contains: Number | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class EnumSchema(Node):
    """An ``enum``; ``values`` are texts that are the same for equal values."""

    values: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True, kw_only=True)
class ConstantSchema(Node):
    """A ``const``; ``value`` is a text as in :class:`EnumSchema`."""

    value: str = ""


@dataclass(eq=False, slots=True, kw_only=True)
class NegationSchema(Node):
    """``not``."""

    refused: Node


@dataclass(eq=False, slots=True, kw_only=True)
class ConditionSchema(Node):
    """A condition of ``if``, ``then`` and ``else``: different from other kinds, but not compared.

    ``content`` is a text that equal conditions share.
    """

    content: str = ""


@dataclass(eq=False, slots=True, kw_only=True)
class CombinationSchema(Node):
    """Branches of which all, any or exactly one must fit.

    ``is_synthetic``: an allOf of the parts of one schema object, which is not in the text. ``indexes`` are the numbers
    of the branches in the list of the text; empty if there is no such list.
    """

    criterion: Criterion
    branches: tuple[Node, ...] = ()
    indexes: tuple[int, ...] = ()
    is_synthetic: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class ReferenceSchema(Node):
    """A ``$ref``, or another ``keyword`` that refers.

    It is resolved when :meth:`target` is called, so that schemas may be recursive.
    """

    keyword: str
    text: str
    find: Callable[[], Node]
    found: Node | None = None

    def target(self) -> Node:
        """Return the node that it refers to; raise ``UnresolvedReference`` if there is none."""
        if self.found is None:
            self.found = self.find()
        return self.found
