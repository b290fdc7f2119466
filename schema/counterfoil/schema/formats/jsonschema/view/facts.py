"""The constraints of a schema on values, by keyword, in one form for all drafts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.patterns import holds_match
from counterfoil.schema.formats.jsonschema.read.values import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.read.values import Number
    from counterfoil.schema.pointer import Pointer

    Limit = tuple[Number, bool]


MAX_WIDTH: Final = 400
"""The largest number of schemas that apply to one value, references included."""


class Schema:
    """A schema with its constraints; ``pointer`` is its JSON Pointer in a text, if it is part of one."""

    def __init__(self, facts: Facts | None = None, pointer: Pointer = (), text: str | None = None) -> None:
        self.pointer = pointer
        self.accepts_everything = False
        self._facts = facts
        self._text = text

    @property
    def text(self) -> str | None:
        """A text that only equal schemas share; None if none is known that includes all constraints."""
        return self._text

    @property
    def facts(self) -> Facts:
        """The constraints of the schema."""
        if self._facts is None:
            self._facts = self._read()
        return self._facts

    def _read(self) -> Facts:
        return Facts()

    @property
    def stands_for(self) -> tuple[Schema, bool]:
        """An equal schema and True, or the opposite schema and False; for most schemas, itself and True."""
        return self, True


class NegatedSchema(Schema):
    """A schema that accepts the values that another schema refuses."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(Facts(refused=schema), schema.pointer)
        self._negated = schema

    @property
    def stands_for(self) -> tuple[Schema, bool]:
        """The negated schema and False, with double negation removed."""
        schema, holds = self._negated.stands_for
        return schema, not holds


@dataclass(slots=True)
class Facts:
    """The constraints of one schema; None or an empty collection for an absent keyword.

    ``types`` may contain ``integer``; ``values`` are those of an enum or const, ``scalars`` the ones among them that
    are not arrays or objects, each with its type. A limit of numbers comes with whether the limit itself is excluded.
    ``is_opaque``: there are constraints that are not represented here. ``counts_fractions``: ``1.0`` is an integer.
    ``marks_contained``: items that fit ``contains`` count as evaluated.
    """

    is_false: bool = False
    is_opaque: bool = False
    counts_fractions: bool = True
    marks_contained: bool = False
    types: frozenset[str] | None = None
    values: list[Any] | None = None
    minimum: Limit | None = None
    maximum: Limit | None = None
    multiple_of: Number | None = None
    min_length: Number | None = None
    max_length: Number | None = None
    pattern: str | None = None
    properties: Mapping[str, Schema] = field(default_factory=dict)
    patterns: Mapping[str, Schema] = field(default_factory=dict)
    additional: Schema | None = None
    names: Schema | None = None
    required: frozenset[str] = frozenset()
    needed_names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needed_schemas: Mapping[str, Schema] = field(default_factory=dict)
    min_properties: Number | None = None
    max_properties: Number | None = None
    prefix: tuple[Schema, ...] = ()
    items: Schema | None = None
    min_items: Number | None = None
    max_items: Number | None = None
    has_unique_items: bool = False
    contains: Schema | None = None
    min_contains: Number = 1
    max_contains: Number | None = None
    unevaluated_properties: Schema | None = None
    unevaluated_items: Schema | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] | None = None
    one_of: tuple[Schema, ...] | None = None
    refused: Schema | None = None
    scalars: frozenset[tuple[str, Any]] = frozenset()
    condition: Schema | None = None
    consequence: Schema | None = None
    alternative: Schema | None = None

    def property(self, name: str, matches: Mapping[str, bool | None] | None = None) -> Iterator[Schema]:
        """Yield the schemas that certainly apply to the property ``name``.

        ``matches`` has the patterns that match its name, if known (None for an unknown match).
        """
        declared = self.properties.get(name)
        if declared is not None:
            yield declared
        is_other = declared is None
        for pattern, schema in self.patterns.items():
            is_match = holds_match(pattern, name) if matches is None else matches[pattern]
            if is_match:
                yield schema
            is_other = is_other and is_match is False
        rest = self.additional or (None if any(self.beside()) else self.unevaluated_properties)
        if is_other and rest is not None:
            yield rest

    def item(self, index: int) -> Schema | None:
        """Return the schema that certainly applies to the item at ``index``, apart from ``contains``."""
        if index < len(self.prefix):
            return self.prefix[index]
        is_looked_at = any(self.beside()) or (self.marks_contained and self.contains is not None)
        return self.items or (None if is_looked_at else self.unevaluated_items)

    def beside(self) -> Iterator[Schema]:
        """Yield the schemas that apply to the same value, at least in some branch; ``not`` is left out."""
        yield from self.all_of
        yield from self.any_of or ()
        yield from self.one_of or ()
        yield from self.needed_schemas.values()
        yield from (one for one in (self.condition, self.consequence, self.alternative) if one is not None)


def spread(schemas: Iterable[Schema], *, with_refused: bool = True) -> list[Schema]:
    """Return every schema that applies to the same value as ``schemas``, through combinations and references.

    Each once, the nearest first, at most ``MAX_WIDTH``. Without ``with_refused``, schemas under ``not`` are left out.
    """
    found: dict[Schema, None] = {}
    waiting = deque(schemas)
    while waiting and len(found) < MAX_WIDTH:
        schema = waiting.popleft()
        if schema in found or schema.accepts_everything:
            continue
        found[schema] = None
        waiting += schema.facts.beside()
        if with_refused and schema.facts.refused is not None:
            waiting.append(schema.facts.refused)
    return [*found]


ANYTHING: Final = Schema(text="true")
ANYTHING.accepts_everything = True


def listing(values: list[Any], text: str | None = None) -> Schema:
    """Return a schema that accepts exactly these values."""
    return Schema(Facts(values=values, scalars=scalars_of(values)), text=text)


def scalars_of(values: list[Any]) -> frozenset[tuple[str, Any]]:
    """Return those of ``values`` that are not arrays or objects, each with its type."""
    return frozenset((type_of(each), each) for each in values if not isinstance(each, dict | list))
