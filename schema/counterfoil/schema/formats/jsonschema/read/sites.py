"""Schemas where they stand, and the simplest questions about one: what it refers to, what it holds side by side."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.jsonschema.read.drafts import Draft
from counterfoil.schema.formats.jsonschema.read.patterns import holds_match

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.read.resolve import Base
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

MAX_WIDTH: Final = 400
"""How many schemas may stand side by side in one place, references followed."""

MAX_DIGITS: Final = 5_000
MAX_COUNT_DIGITS: Final = 12

_MODERN: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_SINCE_DRAFT_7: Final = frozenset({"if", "then", "else"})
_SINCE_DRAFT_6: Final = frozenset({"contains", "propertyNames"})

NO_KEYWORDS: Final[Mapping[str, Any]] = {}


_LOOKING: Final = frozenset(
    {"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}
)


class Site(NamedTuple):
    """A schema and where it stands: its value (an object, true or false), its base, and the schema it is part of."""

    value: Any
    base: Base
    whole: JsonSchema

    @property
    def keywords(self) -> Mapping[str, Any]:
        """What the schema says; nothing for true and false, and nothing beside a ``$ref`` in drafts up to 7."""
        if not isinstance(self.value, dict):
            return NO_KEYWORDS
        if "$ref" in self.value and not self.base.draft.is_modern:
            return {"$ref": self.value["$ref"]}
        return self.value

    def child(self, value: Any, *steps: str | int) -> Site:
        """A schema inside this one."""
        return Site(value, self.whole.enter(value, self.base.below(*steps)), self.whole)

    def children(self, keyword: str) -> list[Site]:
        """The schemas of a keyword that holds a list of them."""
        held = self.keywords.get(keyword)
        items = held if isinstance(held, list) else []
        return [self.child(item, keyword, index) for index, item in enumerate(items)]

    def named(self, keyword: str) -> Iterator[tuple[str, Site]]:
        """The schemas of a keyword that holds an object of them."""
        held = self.keywords.get(keyword)
        for name, item in held.items() if isinstance(held, dict) else ():
            if isinstance(item, dict | bool):
                yield name, self.child(item, keyword, name)

    def one(self, keyword: str) -> Site | None:
        """The schema of a keyword that holds one; None where it holds none, or means nothing in this draft."""
        held = self.keywords.get(keyword)
        if not isinstance(held, dict | bool) or self.is_ignored(keyword):
            return None
        return self.child(held, keyword)

    def is_ignored(self, keyword: str) -> bool:
        """Whether the draft is too old for a keyword."""
        draft = self.base.draft
        if keyword in _MODERN:
            return not draft.is_modern
        if keyword in _SINCE_DRAFT_7:
            return draft is Draft.DRAFT_4 or draft is Draft.DRAFT_6
        return draft is Draft.DRAFT_4 and keyword in _SINCE_DRAFT_6

    def referred(self) -> list[Site]:
        """What its references mean; those that mean nothing are left out."""
        found = []
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            reference = self.keywords.get(keyword)
            if not isinstance(reference, str) or (keyword != "$ref" and not self.base.draft.is_modern):
                continue
            resolve = self.whole.resolve if keyword == "$ref" else self.whole.resolve_dynamic
            try:
                found.append(Site(*resolve(reference, self.base), self.whole))
            except InvalidSchema:
                continue
        return found

    def properties(self, name: str) -> list[Site]:
        """The schemas that a property of this name must fit; a schema of ``false`` where it may not be."""
        declared = self.keywords.get("properties")
        sites = []
        if isinstance(declared, dict) and isinstance(declared.get(name), dict | bool):
            sites.append(self.child(declared[name], "properties", name))
        if "patternProperties" in self.keywords:
            sites += [site for pattern, site in self.named("patternProperties") if holds_match(pattern, name)]
        rest = self.one("additionalProperties") or self._unevaluated("unevaluatedProperties")
        return sites or ([rest] if rest else [])

    def items(self, index: int) -> list[Site]:
        """The schemas that the item at an index must fit."""
        keyword = self.prefix_keyword
        held = self.keywords.get(keyword)
        prefix: list[Any] = held if isinstance(held, list) else []
        if index < len(prefix):
            return [self.child(prefix[index], keyword, index)]
        rest = (
            self.one("items")
            or (self.one("additionalItems") if isinstance(held, list) else None)
            or self._unevaluated("unevaluatedItems")
        )
        return [rest] if rest else []

    def _unevaluated(self, keyword: str) -> Site | None:
        """What is left over must fit, where nothing beside it could have looked at it."""
        return None if _LOOKING & self.keywords.keys() else self.one(keyword)

    @property
    def prefix_keyword(self) -> str:
        """The keyword that lists the schemas of the first items."""
        return "prefixItems" if self.base.draft is Draft.DRAFT_2020_12 else "items"

    def prefix(self) -> list[Site]:
        """The schemas of the first items."""
        return self.children(self.prefix_keyword)


def root_of(schema: JsonSchema) -> Site:
    """The schema itself, where it stands."""
    return Site(schema.document, schema.base, schema)


def spread(sites: list[Site]) -> list[Site]:
    """Every schema that speaks about the same value as ``sites`` do: combinations, conditions and references followed.

    Each once, in the order in which they are met, at most ``MAX_WIDTH``.
    """
    found: list[Site] = []
    seen: set[int] = set()
    waiting = list(sites)[::-1]
    while waiting and len(found) < MAX_WIDTH:
        site = waiting.pop()
        if not isinstance(site.value, dict) or id(site.value) in seen:
            continue
        seen.add(id(site.value))
        found.append(site)
        waiting.extend(reversed(_beside(site)))
    return found


def _beside(site: Site) -> list[Site]:
    beside = site.referred()
    for keyword in ("allOf", "anyOf", "oneOf"):
        beside += site.children(keyword)
    for keyword in ("not", "if", "then", "else"):
        if one := site.one(keyword):
            beside.append(one)
    keyword = "dependentSchemas" if site.base.draft.is_modern else "dependencies"
    beside += [dependent for _, dependent in site.named(keyword)]
    return beside


def is_number(value: Any) -> TypeGuard[int | Decimal]:
    """Whether a JSON value is a number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def is_reachable(value: Any) -> TypeGuard[int | Decimal]:
    """Whether a JSON value is a number that can be computed with: of no more than some thousand digits."""
    return is_number(value) and (isinstance(value, int) or abs(value.adjusted()) < MAX_DIGITS)


def count_of(limit: int | Decimal) -> int:
    """A limit as a number of things, cut where it is beyond any number of things that is worth having."""
    if isinstance(limit, Decimal) and limit.adjusted() > MAX_COUNT_DIGITS:
        return 10**MAX_COUNT_DIGITS
    return int(limit)


def plain(value: Any) -> Any:
    """A value with every whole number as an int, however it was spelt; equal values become alike."""
    match value:
        case Decimal():
            is_whole = value.is_finite() and value.adjusted() < MAX_WIDTH and value == value.to_integral_value()
            return int(value) if is_whole else value
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return value


def alike(value: Any) -> Any:
    """A key that JSON values share when they are equal: 1 and 1.0 do, 1 and true do not."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", tuple(alike(item) for item in value))
        case dict():
            return ("object", frozenset((key, alike(item)) for key, item in value.items()))
    return value
