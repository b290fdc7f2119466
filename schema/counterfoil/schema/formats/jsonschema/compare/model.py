"""What a comparison sees of a JSON schema: a tree of nodes, each of one kind.

A schema says many things side by side; the comparison wants one kind of thing in each place. So a list of types is an
anyOf, an enum beside a type is an allOf of both, keywords without a type make a node of their kind that does not
insist on it, and a schema without any constraint is a node of its own. The trees are those that the reference compares,
since its answers name their places. So they are apart from the view in
:mod:`~counterfoil.schema.formats.jsonschema.view.facts`, which keeps what a schema means and not how it is written.

Source: recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.schema.formats.jsonschema.read.values import Number


class Criterion(Enum):
    """How many branches of a combination a value must fit."""

    ALL_OF = "allOf"
    ANY_OF = "anyOf"
    ONE_OF = "oneOf"


@dataclass(frozen=True, slots=True)
class Site:
    """Where a node was read: ``value`` is what stands at the JSON pointer ``pointer`` of ``document``.

    ``document`` is empty for the schema's own text, else the name of a document that it refers to.
    """

    document: str
    pointer: str
    value: Any


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A schema in one place.

    ``site`` is where it was read; nodes that stand side by side in one schema share it. ``connect_type`` is what
    ``connect.type`` says. ``source`` is the schema as it was read, where two schemas are the same only if all of their
    keywords are.
    """

    site: Site
    identity: str | None = None
    title: str | None = None
    description: str | None = None
    default: Any = None
    has_default: bool = False
    connect_type: str | None = None
    source: Any = None
    key: str | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class Empty(Node):
    """A schema that accepts every value: ``{}`` or ``true``."""


@dataclass(eq=False, slots=True, kw_only=True)
class Nothing(Node):
    """A schema that accepts no value: ``false``."""


@dataclass(eq=False, slots=True, kw_only=True)
class Boolean(Node):
    """``"type": "boolean"``."""


@dataclass(eq=False, slots=True, kw_only=True)
class Null(Node):
    """``"type": "null"``."""


@dataclass(eq=False, slots=True, kw_only=True)
class Text(Node):
    """A string, with its limits."""

    min_length: Number | None = None
    max_length: Number | None = None
    pattern: str | None = None


@dataclass(eq=False, slots=True, kw_only=True)
class Numeric(Node):
    """A number, with its limits; an integer where ``is_integer``."""

    is_integer: bool = False
    minimum: Number | None = None
    maximum: Number | None = None
    exclusive_minimum: Number | None = None
    exclusive_maximum: Number | None = None
    multiple_of: Number | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """What is said about the properties, or items, that nothing else speaks of.

    ``is_allowed`` is whether there may be any, ``schema`` what they must fit, if anything is asked of them.
    """

    is_allowed: bool = True
    schema: Node | None = None

    @property
    def is_open(self) -> bool:
        """Whether anything may be there."""
        return self.is_allowed and self.schema is None


ANYTHING = Rest()
"""Anything may follow: the keyword is absent or ``true``."""


@dataclass(eq=False, slots=True, kw_only=True)
class Object(Node):
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
class Array(Node):
    """An array. ``items`` is what every item must fit, ``tuple_items`` what the first ones must."""

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
class Choice(Node):
    """``enum``; ``values`` are texts that are equal for equal values."""

    values: frozenset[str] = frozenset()


@dataclass(eq=False, slots=True, kw_only=True)
class Constant(Node):
    """``const``; ``value`` is a text as in :class:`Choice`."""

    value: str = ""


@dataclass(eq=False, slots=True, kw_only=True)
class Negation(Node):
    """``not``."""

    refused: Node


@dataclass(eq=False, slots=True, kw_only=True)
class Condition(Node):
    """``if``, ``then``, ``else``: told apart from other kinds, never compared.

    ``content`` is a text that conditions share which say the same.
    """

    content: str = ""


@dataclass(eq=False, slots=True, kw_only=True)
class Combination(Node):
    """Branches of which all, any or exactly one must fit.

    ``is_synthetic`` is an allOf that no text has: what stands side by side in one schema. ``indexes`` are the numbers
    of the branches in the list of the text; empty where no text has such a list.
    """

    criterion: Criterion
    branches: tuple[Node, ...] = ()
    indexes: tuple[int, ...] = ()
    is_synthetic: bool = False


@dataclass(eq=False, slots=True, kw_only=True)
class Reference(Node):
    """A ``$ref``, or a ``keyword`` like it.

    What it means is found when it is asked for, so that schemas may contain themselves.
    """

    keyword: str
    text: str
    find: Callable[[], Node]

    def target(self) -> Node:
        """Return the node that is meant; ``UnresolvedReference`` where there is none."""
        return self.find()
