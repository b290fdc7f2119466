"""JSON schemas with all of their keywords in Java, and patterns as automata, for what the limits of a type lack."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from counterfoil.converter.engines.java.source import ENGINE, JavaClass, joined, quoted
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.jsonschema.document import Draft
from counterfoil.schema.languages.jsonschema.view.facts import ConstrainedSchema, KeywordFacts
from counterfoil.schema.patterns.matching import expression_of, groups_of, needs_own_search
from counterfoil.schema.patterns.syntax import (
    Alternatives,
    Atomic,
    BackReference,
    BoundaryAssertion,
    Characters,
    Expression,
    Look,
    NumberedGroup,
    PatternDialect,
    PatternSequence,
    Repeated,
    Span,
    UnicodeProperty,
    complement,
    parts_of,
    spans_of,
    spell,
)

# Patterns of JSON schemas as automata in Java (``runtime/Automaton.java``).
#
# Java's own regular expressions differ from ECMA 262, search for a very long time for some texts, and need a stack as
# deep as a text is long. An automaton follows all ways through an expression at the same time. Back-references and
# atomic groups are no regular languages: patterns with these are written for Java (``runtime/TextPattern.java``), which
# counts the steps of a search, where they mean the same there, and are else left to the other engines.

_MOST_STATES: Final = 5_000
_KINDS: Final = {"^": 0, "$": 1, "b": 2, "B": 3}
_CHARACTER, _SPLIT, _PLACE, _LOOK, _MATCH = range(5)
_DIGITS: Final = string.digits + string.ascii_lowercase


def pattern_of(pattern: str, where: str) -> str:
    """Return a pattern as the Java expression of a ``TextPattern``. Raises ``EngineCannot``."""
    expression = expression_of(pattern)
    if expression is None:
        raise EngineCannot(ENGINE, field=where, why="a pattern that is none of ECMA 262")
    if not _is_regular(expression):
        if needs_own_search(expression) or not _is_alike(expression):
            raise EngineCannot(
                ENGINE, field=where, why="a pattern with a back-reference whose meaning in Java is another one"
            )
        return f"new TextPattern({joined(spell(expression, PatternDialect.JAVA))})"
    states, sets = _automaton_of(expression, where)
    return f"new TextPattern({joined(states)}, {joined(sets)})"


def _is_regular(part: Expression) -> bool:
    return not isinstance(part, BackReference | Atomic) and all(map(_is_regular, parts_of(part)))


def _is_alike(expression: Expression) -> bool:
    """Return whether Java means the same by a pattern with back-references or atomic groups.

    It forgets no groups of earlier rounds, and searches backwards only as far as it sees.
    """
    referred = {number for part in _all_of(expression) if isinstance(part, BackReference) for number in part.numbers}
    for part in _all_of(expression):
        if isinstance(part, Look) and part.is_behind:
            if any(isinstance(each, Repeated | BackReference | Atomic) for each in _all_of(part)):
                return False
        elif isinstance(part, Repeated) and groups_of(part.part) & referred:
            return False
    return True


def _all_of(part: Expression) -> Iterator[Expression]:
    """Yield a part and all parts in it."""
    yield part
    for each in parts_of(part):
        yield from _all_of(each)


def _automaton_of(expression: Expression, where: str) -> tuple[str, str]:
    """Return the states and the sets of an expression as the texts that ``Automaton`` reads."""
    maker = _Maker(where)
    maker.make(expression)
    states = " ".join(_base36(number) for state in maker.states for number in state)
    sets = ",".join(" ".join(f"{_base36(first)} {_base36(last)}" for first, last in spans) for spans in maker.sets)
    return states, sets or "1 0"


class _Maker:
    """Makes the states of an expression, each from the one that follows it."""

    def __init__(self, where: str) -> None:
        self.states: list[tuple[int, int, int, int]] = []
        self.sets: list[tuple[Span, ...]] = []
        self._where = where

    def make(self, expression: Expression) -> None:
        """Make all states; the first one is at 0."""
        self._state(_MATCH)  # its place is taken by the state that leads to the first one
        first = self._part(expression, self._state(_MATCH), is_behind=False)
        self.states[0] = (_SPLIT, first, first, 0)

    def _state(self, kind: int, *numbers: int) -> int:
        if len(self.states) >= _MOST_STATES:
            raise EngineCannot(ENGINE, field=self._where, why="a pattern whose repetitions are too large")
        first, second, third = (*numbers, 0, 0, 0)[:3]
        self.states.append((kind, first, second, third))
        return len(self.states) - 1

    def _part(self, part: Expression, after: int, *, is_behind: bool) -> int:
        """Return the first state of a part after which ``after`` comes."""
        match part:
            case Characters():
                return self._state(_CHARACTER, self._set(part), after)
            case PatternSequence(parts=parts):
                for each in parts if is_behind else reversed(parts):
                    after = self._part(each, after, is_behind=is_behind)
                return after
            case Alternatives(options=options):
                return self._choice([self._part(option, after, is_behind=is_behind) for option in options])
            case NumberedGroup(part=inner):
                return self._part(inner, after, is_behind=is_behind)
            case Repeated():
                return self._repeated(part, after, is_behind=is_behind)
            case BoundaryAssertion(kind=kind):
                return self._state(_PLACE, _KINDS[kind], after)
            case Look():
                return self._look(part, after)
            case BackReference() | Atomic():
                raise AssertionError(part)

    def _choice(self, firsts: list[int]) -> int:
        found = firsts[-1]
        for first in reversed(firsts[:-1]):
            found = self._state(_SPLIT, first, found)
        return found

    def _look(self, part: Look, after: int) -> int:
        first = self._part(part.part, self._state(_MATCH), is_behind=part.is_behind)
        return self._state(_LOOK, first, int(part.is_negated) + 2 * int(part.is_behind), after)

    def _repeated(self, part: Repeated, after: int, *, is_behind: bool) -> int:
        if part.most is None:
            again = self._state(_SPLIT, after, after)  # is completed when the state inside is known
            self.states[again] = (_SPLIT, self._part(part.part, again, is_behind=is_behind), after, 0)
            after = again
        else:
            end = after
            for _ in range(part.most - part.least):
                after = self._state(_SPLIT, self._part(part.part, after, is_behind=is_behind), end)
        for _ in range(part.least):
            after = self._part(part.part, after, is_behind=is_behind)
        return after

    def _set(self, characters: Characters) -> int:
        spans = _united(
            span
            for item in characters.items
            for span in (_of_property(item) if isinstance(item, UnicodeProperty) else (item,))
        )
        found = complement(spans) if characters.is_negated else spans
        if found not in self.sets:
            self.sets.append(found)
        return self.sets.index(found)


def _of_property(item: UnicodeProperty) -> tuple[Span, ...]:
    spans = spans_of(item.name)
    return complement(spans) if item.is_negated else spans


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in ascending order that do not touch."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _base36(number: int) -> str:
    made = ""
    while True:
        number, digit = divmod(number, 36)
        made = _DIGITS[digit] + made
        if not number:
            return made


# JSON schemas with all of their keywords in Java (``runtime/JsonTest.java``), for what the limits of a type lack.
#
# They judge a value together with its parts, as the validators of the SDK do. Refused are only references that lead
# nowhere known, and patterns that Java does not read.

_MOST_SCHEMAS: Final = 2_000
_MOST_LISTED: Final = 2_000
_LARGEST_EXPONENT: Final = 400
"""Of a number that others are divided by."""
_ANYTHING: Final = "null"
_SIZES: Final = {
    "min_length": "shortest",
    "max_length": "longest",
    "min_items": "fewestItems",
    "max_items": "mostItems",
    "min_properties": "fewestProperties",
    "max_properties": "mostProperties",
}


class JsonTests:
    """Writes schemas as constants, each once: schemas may contain themselves."""

    def __init__(self, java: JavaClass, draft: Draft) -> None:
        self._java = java
        self._has_additional_items = draft is not Draft.DRAFT_2020_12
        self._known: dict[ConstrainedSchema, str] = {}

    def name(self, schema: ConstrainedSchema, where: str) -> str:
        """Return the name of a schema, ``null`` for one that accepts everything. Raises ``EngineCannot``."""
        if schema.accepts_everything:
            return _ANYTHING
        found = self._known.get(schema)
        if found is not None:
            return found
        if len(self._known) >= _MOST_SCHEMAS:
            raise EngineCannot(ENGINE, field=where, why=f"a JSON schema of more than {_MOST_SCHEMAS:,} parts")
        made = self._known[schema] = self._java.fresh("T")
        self._java.member(f"static final JsonTest {made} = new JsonTest()")
        lines = [f"{made}.{line};" for line in self._lines(schema.facts, where)]
        method = self._java.fresh("test")
        self._java.method(f"static void {method}()", lines)
        self._java.static(f"{method}();")
        return made

    def forget(self, count: int) -> None:
        """Forget the schemas that were named after the first ``count``, whose constants were taken back."""
        while len(self._known) > count:
            self._known.popitem()

    @property
    def count(self) -> int:
        """How many schemas have a name."""
        return len(self._known)

    def _lines(self, facts: KeywordFacts, where: str) -> Iterator[str]:
        """Yield the Java statements that set the keywords of a new schema."""
        if facts.is_opaque:
            raise EngineCannot(ENGINE, field=where, why="a reference or a keyword of JSON Schema that is not known")
        if facts.is_false:
            yield "isFalse = true"
        if facts.types is not None:
            words = (f"JsonTest.{_TYPES[word]}" for word in sorted(facts.types))
            yield f"types = 0{''.join(f' | {word}' for word in words)}"
            yield f"countsFractions = {_word(facts.counts_fractions)}"
        if facts.values is not None:
            yield f"listed({self._values(facts.values, where)})"
        yield from self._scalars(facts, where)
        yield from self._items(facts, where)
        yield from self._properties(facts, where)
        yield from self._combined(facts, where)

    def _values(self, values: Sequence[Datum], where: str) -> str:
        """Return the values that a schema lists as a Java array."""
        if values and all(isinstance(each, str) for each in values):
            return self._java.words(values)
        if sum(map(_size_in_java, values)) > _MOST_LISTED:
            raise EngineCannot(ENGINE, field=where, why="a list of values that is too long for a Java method")
        return f"new Object[] {{{', '.join(map(self._value, values))}}}"

    def _value(self, value: object) -> str:
        """Return a JSON value that a schema lists as a Java expression."""
        match value:
            case None:
                return _ANYTHING
            case bool():
                return f"Boolean.{'TRUE' if value else 'FALSE'}"
            case str():
                return f"{self._words([value])}[0]"
            case list():
                return f"JsonTest.array(new Object[] {{{', '.join(map(self._value, value))}}})"
            case dict():
                parts = ", ".join(map(self._value, value.values()))
                return f"JsonTest.object({self._words(value)}, new Object[] {{{parts}}})"
        return f"JsonTest.number({joined(str(value))})"

    def _words(self, names: Iterable[str]) -> str:
        found = list(names)
        return self._java.words(found) if found else "new String[0]"

    def _scalars(self, facts: KeywordFacts, where: str) -> Iterator[str]:
        for word, limit in (("low", facts.minimum), ("high", facts.maximum)):
            if limit is not None:
                yield f"{word} = new JsonLimit({quoted(str(limit[0]))}, {_word(limit[1])})"
        if facts.multiple_of is not None:
            if not facts.multiple_of or abs(Decimal(facts.multiple_of).adjusted()) > _LARGEST_EXPONENT:
                raise EngineCannot(ENGINE, field=where, why="multipleOf of a number that is too large or too small")
            yield f"factor = new java.math.BigDecimal({quoted(str(facts.multiple_of))})"
        for name, word in _SIZES.items():
            size = getattr(facts, name)
            if size is not None:
                yield f"{word} = {size_of(size)}"
        if facts.pattern is not None:
            yield f"pattern = {pattern_of(facts.pattern, where)}"

    def _items(self, facts: KeywordFacts, where: str) -> Iterator[str]:
        if facts.prefix:
            yield f"first = {self._several(facts.prefix, where)}"
            yield f"isRestOfArray = {_word(self._has_additional_items)}"
        if facts.items is not None:
            yield f"items = {self.name(facts.items, where)}"
        if facts.items is not None or _accepts_all(facts.unevaluated_items):
            yield "listsAll = true"
        if facts.unevaluated_items is not None:
            yield f"otherItems = {self.name(facts.unevaluated_items, where)}"
        if facts.has_unique_items:
            yield "isUnique = true"
        if facts.contains is not None:
            yield f"contained = {self.name(facts.contains, where)}"
            yield "hasContained = true"
            yield f"marksContained = {_word(facts.marks_contained)}"
            yield f"fewestContained = {size_of(facts.min_contains)}"
            yield f"mostContained = {size_of(facts.max_contains)}"

    def _properties(self, facts: KeywordFacts, where: str) -> Iterator[str]:
        if facts.properties:
            yield f"declare({self._words(facts.properties)}, {self._several(facts.properties.values(), where)})"
        if facts.patterns:
            made = ", ".join(pattern_of(each, where) for each in facts.patterns)
            yield f"patterns = new TextPattern[] {{{made}}}"
            yield f"ofPatterns = {self._several(facts.patterns.values(), where)}"
        if facts.additional is not None or _accepts_all(facts.unevaluated_properties):
            yield "namesAll = true"
        others = (
            ("additional", facts.additional),
            ("names", facts.names),
            ("otherProperties", facts.unevaluated_properties),
        )
        for word, schema in others:
            if schema is not None:
                yield f"{word} = {self.name(schema, where)}"
        if facts.required:
            yield f"required = {self._words(sorted(facts.required))}"
        yield from self._demands(facts.needed_names, facts.needed_schemas, where)

    def _demands(
        self, names: Mapping[str, frozenset[str]], schemas: Mapping[str, ConstrainedSchema], where: str
    ) -> Iterator[str]:
        if names:
            yield f"demanding = {self._words(names)}"
            yield f"demanded = new String[][] {{{', '.join(self._words(sorted(each)) for each in names.values())}}}"
        if schemas:
            yield f"choosing = {self._words(schemas)}"
            yield f"chosen = {self._several(schemas.values(), where)}"

    def _combined(self, facts: KeywordFacts, where: str) -> Iterator[str]:
        for word, schemas in (("all", facts.all_of or None), ("any", facts.any_of), ("one", facts.one_of)):
            if schemas is not None:
                yield f"{word} = {self._several(schemas, where)}"
        if facts.refused is not None:
            yield f"refused = {self.name(facts.refused, where)}"
            yield "hasRefused = true"
        if facts.condition is not None:
            yield f"condition = {self.name(facts.condition, where)}"
            yield "hasCondition = true"
            for word, schema in (("consequence", facts.consequence), ("alternative", facts.alternative)):
                if schema is not None:
                    yield f"{word} = {self.name(schema, where)}"

    def _several(self, schemas: Iterable[ConstrainedSchema], where: str) -> str:
        return f"new JsonTest[] {{{', '.join(self.name(each, where) for each in schemas)}}}"


_TYPES: Final = {
    "null": "NULL",
    "boolean": "BOOLEAN",
    "number": "NUMBER",
    "integer": "INTEGER",
    "string": "TEXT",
    "array": "ARRAY",
    "object": "OBJECT",
}


def _accepts_all(schema: ConstrainedSchema | None) -> bool:
    return schema is not None and schema.accepts_everything


def _word(value: bool) -> str:  # noqa: FBT001 - the value that is spelt
    return "true" if value else "false"


def size_of(size: Datum) -> str:
    """Return a size as a Java expression, -1 for none."""
    return "-1L" if size is None else f"{min(int(size), 2**62)}L"


def _size_in_java(value: object) -> int:
    """Return about how many instructions a value takes."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return 1 + sum(map(_size_in_java, inner))
