"""Names that are worth being a property: declared, asked for, matching a pattern, or nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.jsonschema.read.matching import matching_strings, stretched
from counterfoil.schema.formats.jsonschema.read.sites import Site, count_of, is_reachable, spread
from counterfoil.schema.formats.jsonschema.samples.holds import dependency_keywords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.samples.facts import Facts

FRESH_NAME: Final = "other"

MAX_NAMES: Final = 4
"""How many names that match a pattern are properties worth having."""

MAX_REFUSED: Final = 40
"""How many names in a row may be no property of an object before it is taken to be full."""

MAX_SIZE: Final = 300
"""How many properties or items a value may have."""

Step = str | int | None
"""The name of a property, the index of an item; None for any name or index that nothing is declared for."""


def asked_for(name: str, facts: Facts) -> Iterator[str]:
    """The names of properties that must be there where ``name`` is."""
    for part in facts.parts:
        for keyword in dependency_keywords(part):
            held = part.keywords.get(keyword)
            asked = held.get(name) if isinstance(held, dict) else None
            yield from asked if isinstance(asked, list) else ()


def telling_names(facts: Facts, other: list[Site]) -> Iterator[str]:
    """Names of properties worth having: declared on either side, asked for, of the patterns, and one of nobody's."""
    for part in (*other, *facts.parts):
        for keyword in ("properties", *dependency_keywords(part)):
            held = part.keywords.get(keyword)
            yield from held if isinstance(held, dict) else ()
        required = part.keywords.get("required")
        yield from (name for name in (required if isinstance(required, list) else []) if isinstance(name, str))
    yield from unnamed_names(facts, other)


def unnamed_names(facts: Facts, other: list[Site]) -> Iterator[str]:
    """Names that nobody declares: of the patterns, of lengths that are looked at, and any."""
    for part in (*other, *facts.parts):
        for pattern, _ in part.named("patternProperties"):
            yield from matching_strings(pattern)[:MAX_NAMES]
    for part in (*facts.parts, *other):
        names = part.one("propertyNames")
        for site in spread([names]) if names else ():
            wanted = site.keywords.get("pattern")
            yield from matching_strings(wanted)[:MAX_NAMES] if isinstance(wanted, str) else ()
            choices = site.keywords.get("enum")
            yield from (name for name in (choices if isinstance(choices, list) else []) if isinstance(name, str))
            limit = site.keywords.get("maxLength")
            if is_reachable(limit) and limit < MAX_SIZE:
                yield "n" * (count_of(limit) + 1)
    yield from (FRESH_NAME, "n", "")


def many_names(facts: Facts, other: list[Site]) -> Iterator[str]:
    """More names than an object needs, those worth having first."""
    yield from dict.fromkeys(telling_names(facts, other))
    for part in facts.parts:
        for pattern, _ in part.named("patternProperties"):
            yield from matching_strings(pattern)
            yield from (text for length in range(MAX_REFUSED) if (text := stretched(pattern, length)) is not None)
    yield from (f"n{index}" for index in range(MAX_SIZE))


def names_for(step: Step, facts: Facts, other: list[Site]) -> Iterator[str]:
    """The names that a step stands for; None for those that nobody declares, then all others."""
    if isinstance(step, str):
        yield step
    elif step is None:
        declared = {name for part in (*facts.parts, *other) for name, _ in part.named("properties")}
        names = dict.fromkeys((*unnamed_names(facts, other), *declared))
        yield from sorted(names, key=lambda name: name in declared)
