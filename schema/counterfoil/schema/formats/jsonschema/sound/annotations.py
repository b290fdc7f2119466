"""What a schema says about the meaning of the values inside a value: ``format`` and how a string is encoded.

Only what holds for the value counts: of a combination the branches that it fits, of a condition the side that applies.

Source: JSON Schema 2020-12, "Annotations", and the vocabularies for ``format`` and for contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from counterfoil.schema.formats.jsonschema.read.values import type_of
from counterfoil.schema.jsontext.document import pointer_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.read.sites import Site
    from counterfoil.schema.formats.jsonschema.samples.holds import Sieve
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

KEYWORDS: Final = ("format", "contentEncoding", "contentMediaType")
"""The keywords that say what a value means and refuse none."""

_MAX_DEPTH: Final = 60
"""How deep schemas may lead into each other for one value."""

Path: TypeAlias = tuple[str | int, ...]


class Annotation(NamedTuple):
    """A keyword that holds for a value, its word in lower case, and where it stands.

    ``steps`` lead from the root to the schema that says it, references followed, as in a difference's path; ``pointer``
    is its place in the text, empty where it stands in another one.
    """

    keyword: str
    word: str
    steps: tuple[str, ...]
    pointer: str


def has_annotations(schema: JsonSchema) -> bool:
    """Whether the schema, or what it refers to, may say anything of this kind; False is certain."""
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


def word_of(site: Site, keyword: str) -> str:
    """What one of ``KEYWORDS`` says in a schema, in lower case; empty where it is not there."""
    word = site.keywords.get(keyword)
    return word.lower() if isinstance(word, str) else ""


def annotations_of(value: Any, root: Site, sieve: Sieve) -> dict[Path, list[Annotation]]:
    """What is said about ``value``, which fits ``root``, and about what is inside it, by path.

    Raises ``OutOfBudget``.
    """
    found: dict[Path, list[Annotation]] = {}
    for path, annotation in _Walk(sieve).annotations(value, _At(root), 0):
        found.setdefault(path, []).append(annotation)
    return found


class _At(NamedTuple):
    """A schema, the steps that lead to it, and the path of the value that it speaks about."""

    site: Site
    steps: tuple[str, ...] = ()
    path: Path = ()

    def enter(self, site: Site, *path: str | int) -> _At:
        """A schema that stands inside this one, for the same value or a part of it."""
        added = pointer_steps(site.base.pointer[len(self.site.base.pointer) :])
        return _At(site, (*self.steps, *added), (*self.path, *path))


class _Walk:
    def __init__(self, sieve: Sieve) -> None:
        self._sieve = sieve

    def annotations(self, value: Any, at: _At, depth: int) -> Iterator[tuple[Path, Annotation]]:
        """Everything that the schema says about ``value``, and about what is inside it."""
        self._sieve.step()
        site = at.site
        if depth > _MAX_DEPTH or not isinstance(site.value, dict):
            return
        for keyword in KEYWORDS:
            word = word_of(site, keyword)
            if word and type_of(value) in ("string", "number"):
                pointer = "" if site.base.document else site.base.pointer
                yield at.path, Annotation(keyword, word, at.steps, pointer)
        for other in site.referred():
            yield from self.annotations(value, at._replace(site=other), depth + 1)
        for other in self._beside(value, site):
            yield from self.annotations(value, at.enter(other), depth + 1)
        for step, item in _parts(value):
            inner = site.items(step) if isinstance(step, int) else site.properties(step)
            for one in inner:
                yield from self.annotations(item, at.enter(one, step), depth + 1)

    def _beside(self, value: Any, site: Site) -> Iterator[Site]:
        """The other schemas inside this one that hold for the same value."""
        yield from site.children("allOf")
        for keyword in ("anyOf", "oneOf"):
            yield from (one for one in site.children(keyword) if self._sieve.fits(value, one))
        condition = site.one("if")
        if condition is not None:
            is_met = self._sieve.fits(value, condition)
            chosen = site.one("then" if is_met else "else")
            yield from [condition] if is_met else []
            yield from [chosen] if chosen else []
        if isinstance(value, dict):
            keyword = "dependentSchemas" if site.base.draft.is_modern else "dependencies"
            yield from (one for name, one in site.named(keyword) if name in value)


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    """What is inside a value, by name or index."""
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list) else []
