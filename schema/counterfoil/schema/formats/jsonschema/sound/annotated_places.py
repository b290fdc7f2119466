"""Whether two schemas may say other things about one value: a look at both texts, before values are made for it.

The schemas that may speak about one value are taken together, whatever branch they stand in. So "no" is certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.annotations import KEYWORDS, has_annotations, word_of
from counterfoil.schema.formats.jsonschema.meaning import are_other_meanings
from counterfoil.schema.formats.jsonschema.sites import root_of, spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.sites import Site

MAX_PLACES: Final = 2_000
"""How many places are looked at; with more the answer is that they may."""

_OF_NAMES: Final = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems")


def may_misread(reader: JsonSchema, writer: JsonSchema) -> bool:
    """Whether ``reader`` may give a value of ``writer`` another meaning; False is certain."""
    if not (has_annotations(reader) and has_annotations(writer)):
        return False
    waiting = [([root_of(reader)], [root_of(writer)])]
    seen: set[tuple[frozenset[int], frozenset[int]]] = set()
    while waiting:
        sides = [spread(sites) for sites in waiting.pop()]
        key = (frozenset(id(site.value) for site in sides[0]), frozenset(id(site.value) for site in sides[1]))
        if not all(key) or key in seen:
            continue
        if len(seen) >= MAX_PLACES or _say_other_things(*sides):
            return True
        seen.add(key)
        waiting += _inside(*sides)
    return False


def _say_other_things(reader: list[Site], writer: list[Site]) -> bool:
    for keyword in KEYWORDS:
        written = {word for site in writer if (word := word_of(site, keyword))}
        read = {word for site in reader if (word := word_of(site, keyword))}
        if any(are_other_meanings(keyword, theirs, mine) for theirs in written for mine in read):
            return True
    return False


def _inside(reader: list[Site], writer: list[Site]) -> Iterator[tuple[list[Site], list[Site]]]:
    """The places inside a value: each property that is declared, the other ones, each item that is listed, the rest."""
    sides = (reader, writer)
    names = dict.fromkeys(name for side in sides for site in side for name, _ in site.named("properties"))
    for name in names:
        yield _both(*([one for site in side for one in site.properties(name)] for side in sides))
    yield _both(*([one for site in side for one in _others(site)] for side in sides))
    listed = max(len(site.prefix()) for side in sides for site in side)
    for index in range(listed):
        yield _both(*([one for site in side for one in site.items(index)] for side in sides))
    yield _both(*([one for site in side for one in _rest(site)] for side in sides))


def _both(reader: list[Site], writer: list[Site]) -> tuple[list[Site], list[Site]]:
    return reader, writer


def _others(site: Site) -> Iterator[Site]:
    yield from (one for _, one in site.named("patternProperties"))
    yield from (one for keyword in _OF_NAMES if (one := site.one(keyword)))


def _rest(site: Site) -> Iterator[Site]:
    yield from (one for keyword in _OF_ITEMS if (one := site.one(keyword)))
