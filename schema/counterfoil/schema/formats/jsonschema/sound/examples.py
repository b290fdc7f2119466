"""Values that a writer may write: made to fit what its schemas ask, then judged by them."""

from __future__ import annotations

from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.matching import matching_strings
from counterfoil.schema.formats.jsonschema.values import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from counterfoil.schema.formats.jsonschema.model import Number
    from counterfoil.schema.formats.jsonschema.sound.evaluate import Evaluator
    from counterfoil.schema.formats.jsonschema.sound.writers import Writer

_MAX_DEPTH: Final = 5
MAX_MADE: Final = 60
"""Characters, items or properties that are made in order to reach a limit."""
_WORDS: Final = ("", "a", "b", "A", "0", "1", "ab", "abc", "a0", "x-", "x-a", "S_", "I_1", "aa@b.c", "2020-01-01", "~")
_MAX_CANDIDATES: Final = 60
_MAX_OF_BRANCH: Final = 12


class Examples:
    """Makes values for writers."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def of(self, writer: Writer, depth: int = 0) -> Iterator[Any]:
        """Values that the writer surely may write, simple ones first."""
        if depth > _MAX_DEPTH or writer.is_nothing():
            return
        for value in islice(self._candidates(writer, depth), _MAX_CANDIDATES):
            if writer.kind in (None, type_of(value)) and self._evaluator.all_accept(writer.schemas, value):
                yield value

    def first(self, writer: Writer, depth: int = 0) -> list[Any]:
        """The first of them, as a list of one; empty where none is found."""
        return list(islice(self.of(writer, depth), 1))

    def _candidates(self, writer: Writer, depth: int) -> Iterator[Any]:
        self._evaluator.spend()
        listed = [value for facts in writer.facts() for value in facts.values or ()]
        alternatives = writer.alternatives()
        if listed:
            yield from listed
        elif alternatives and depth < _MAX_DEPTH:
            for alternative in alternatives:
                yield from islice(self._candidates(alternative, depth + 1), _MAX_OF_BRANCH)
        elif not alternatives:
            for kind in writer.kinds():
                yield from self._of_kind(kind, writer, depth)

    def _of_kind(self, kind: str, writer: Writer, depth: int) -> Iterable[Any]:
        match kind:
            case "number":
                return self._numbers(writer)
            case "string":
                return self._texts(writer)
            case "array":
                return self._arrays(writer, depth)
            case "object":
                return self.objects_with(writer, {}, depth)
        return (None,) if kind == "null" else (True, False)

    def _numbers(self, writer: Writer) -> Iterator[Number]:
        steps = [facts.multiple_of for facts in writer.facts() if facts.multiple_of]
        limits = [limit[0] for facts in writer.facts() for limit in (facts.minimum, facts.maximum) if limit]
        yield 0
        yield 1
        for limit in limits:
            yield from numbers_near(limit)
            for step in steps:
                if abs(Decimal(limit) / Decimal(step)) < 10**15:
                    whole = int(Decimal(limit) / Decimal(step))
                    yield from ((whole + more) * step for more in (0, 1, -1))
        yield from steps
        yield from (Decimal("0.5"), -1, 1000003)

    def _texts(self, writer: Writer) -> Iterator[str]:
        least, most = writer.least("min_length"), writer.most("max_length")
        for facts in writer.facts():
            if facts.pattern is not None:
                yield from texts_for(facts.pattern)
        for word in _WORDS:
            size = len(word) if least is None or least > MAX_MADE else max(len(word), int(least))
            yield word.ljust(size, word[-1:] or "a")[: None if most is None or most > MAX_MADE else max(int(most), 0)]

    def _arrays(self, writer: Writer, depth: int) -> Iterator[list[Any]]:
        least = min(int(writer.least("min_items") or 0), MAX_MADE)
        for size in dict.fromkeys((least, least + 1)):
            items: list[Any] = []
            for index in range(size):
                made = self._fresh_item(writer.item(index), items, depth)
                if not made:
                    break
                items += made
            yield list(items)
            wanted = [(facts.contains, facts.min_contains) for facts in writer.facts() if facts.contains is not None]
            for contained, count in wanted:
                made = self.first(writer.item(None).also(contained), depth + 1)
                yield [*items, *made * min(int(count), MAX_MADE)]
                yield [*made * max(min(int(count), MAX_MADE), len(items))]

    def _fresh_item(self, writer: Writer, items: list[Any], depth: int) -> list[Any]:
        """One more item, other than those before it where that is possible."""
        values = list(islice(self.of(writer, depth + 1), 1 + min(len(items), 5)))
        return [value for value in values if value not in items][:1] or values[:1]

    def objects_with(self, writer: Writer, given: Mapping[str, Any], depth: int = 0) -> Iterator[dict[str, Any]]:
        """Candidates for objects that hold ``given``: with what is required beside it, then with more."""
        names = _needed(writer, given)
        made = dict(given)
        for name in sorted(names - made.keys()):
            for value in self.first(writer.property(name), depth + 1):
                made[name] = value
        yield made
        least = min(int(writer.least("min_properties") or 0), MAX_MADE)
        fresh = [*_WORDS[1:], *(f"p{index}" for index in range(least))]
        yield from self._filled(writer, made, [*sorted(writer.names()), *fresh], max(least, len(made) + 2), depth)
        yield from self._filled(writer, made, fresh, least, depth)

    def _filled(
        self, writer: Writer, made: Mapping[str, Any], names: Iterable[str], size: int, depth: int
    ) -> Iterator[dict[str, Any]]:
        """Objects that grow, property by property, up to a size."""
        fuller = dict(made)
        for name in names:
            if len(fuller) >= size:
                return
            if name not in fuller:
                for value in self.first(writer.property(name), depth + 1):
                    fuller[name] = value
                    yield dict(fuller)


def _needed(writer: Writer, given: Iterable[str]) -> set[str]:
    """The names that an object with the properties ``given`` must have beside them."""
    every = writer.facts()
    names = {name for facts in every for name in facts.required}
    waiting = [*given, *names]
    for name in waiting:
        for facts in every:
            schema = facts.needed_schemas.get(name)
            needed = facts.needed_names.get(name, frozenset()) | (schema.facts.required if schema else frozenset())
            waiting += needed - names
            names |= needed
    return names


def numbers_near(limit: Number) -> Iterable[Number]:
    """A limit, and numbers on both sides of it."""
    return (limit, limit + 1, limit - 1, limit + Decimal("0.5"), limit - Decimal("0.5"))


def texts_for(pattern: str) -> Iterator[str]:
    """Texts that match a pattern or may: made from it, its own letters read naively, and common words."""
    yield from matching_strings(pattern)
    plain = "".join(character for character in pattern if character not in "^$()[]{}*+?|\\.")
    yield plain
    yield plain[:1]
    for part in pattern.strip("^$").split("|"):
        yield part.replace("\\", "")
    for word in _WORDS:
        yield plain + word
    yield from _WORDS
