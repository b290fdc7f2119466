"""The annotations of a schema on the parts of a value: ``format`` and how a string is encoded.

Only those that apply to the value are collected: of a combination the branches that the value fits, of a condition the
side that applies.

Source: JSON Schema 2020-12, "Annotations", and the vocabularies for ``format`` and for contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.formats.jsonschema.compare.meaning import Annotation
from counterfoil.schema.formats.jsonschema.read.values import type_of
from counterfoil.schema.formats.jsonschema.view.written import WrittenSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.formats.jsonschema.view.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.view.facts import Schema

KEYWORDS: Final = ("format", "contentEncoding", "contentMediaType")
"""The keywords that state what a value means; they refuse no value."""

_MAX_DEPTH: Final = 60
"""The largest number of schemas that are entered one inside the other for one value."""

Path: TypeAlias = tuple[str | int, ...]


def has_annotations(schema: JsonSchema) -> bool:
    """Return whether the schema or its references may contain one of ``KEYWORDS``; False is certain."""
    if any(f'"{keyword}"' in schema.text for keyword in KEYWORDS) or "\\" in schema.text:  # keys may be escaped
        return True
    waiting: list[Any] = [*schema.references.values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not value.keys().isdisjoint(KEYWORDS):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def word_of(site: WrittenSchema, keyword: str) -> str:
    """Return the value of one of ``KEYWORDS`` in a schema, in lower case; empty if absent."""
    word = site.keywords.get(keyword)
    return word.lower() if isinstance(word, str) else ""


def inside(site: WrittenSchema, step: str | int) -> Iterator[WrittenSchema]:
    """Yield the schemas that certainly apply to a property or an item of a value."""
    found: Iterable[Schema | None] = [site.facts.item(step)] if isinstance(step, int) else site.facts.property(step)
    yield from (one for one in found if isinstance(one, WrittenSchema))


def annotations_of(value: Any, root: WrittenSchema, evaluator: Evaluator) -> dict[Path, list[Annotation]]:
    """Return the annotations on ``value``, which fits ``root``, and on its parts, by path.

    Raises ``OutOfSteps``.
    """
    found: dict[Path, list[Annotation]] = {}
    for path, annotation in _Walk(evaluator).annotations(value, _At(root), 0):
        found.setdefault(path, []).append(annotation)
    return found


class _At(NamedTuple):
    """A schema, the steps that lead to it, and the path of the value to which it applies."""

    site: WrittenSchema
    steps: tuple[str, ...] = ()
    path: Path = ()

    def enter(self, site: WrittenSchema, *path: str | int) -> _At:
        """Return the position of a schema inside this one, for the same value or a part of it."""
        added = map(str, site.base.pointer[len(self.site.base.pointer) :])
        return _At(site, (*self.steps, *added), (*self.path, *path))


class _Walk:
    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def annotations(self, value: Any, at: _At, depth: int) -> Iterator[tuple[Path, Annotation]]:
        """Yield every annotation of the schema on ``value`` and on its parts, with its path."""
        self._evaluator.spend()
        site = at.site
        if depth > _MAX_DEPTH or not isinstance(site.value, dict):
            return
        for keyword in KEYWORDS:
            word = word_of(site, keyword)
            if word and type_of(value) in ("string", "number"):
                pointer = () if site.base.document else site.base.pointer
                yield at.path, Annotation(keyword, word, at.steps, pointer)
        for other in site.referred:
            yield from self.annotations(value, at._replace(site=other), depth + 1)
        for other in self._beside(value, site):
            yield from self.annotations(value, at.enter(other), depth + 1)
        for step, item in _parts(value):
            for one in inside(site, step):
                yield from self.annotations(item, at.enter(one, step), depth + 1)

    def _beside(self, value: Any, site: WrittenSchema) -> Iterator[WrittenSchema]:
        """Yield the other schemas inside this one that apply to the same value."""
        yield from site.children("allOf")
        for keyword in ("anyOf", "oneOf"):
            yield from (one for one in site.children(keyword) if self._evaluator.may_accept(one, value))
        condition = site.one("if")
        if condition is not None:
            is_met = self._evaluator.may_accept(condition, value)
            chosen = site.one("then" if is_met else "else")
            yield from [condition] if is_met else []
            yield from [chosen] if chosen else []
        if isinstance(value, dict):
            needed = site.facts.needed_schemas.items()
            yield from (one for name, one in needed if name in value and isinstance(one, WrittenSchema))


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """Return the properties or items of a value with their names or indexes; empty for a scalar."""
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list) else []
