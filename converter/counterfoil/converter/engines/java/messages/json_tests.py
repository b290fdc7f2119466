"""JSON schemas with all of their keywords in Java (``runtime/JsonTest.java``), for what the limits of a type lack.

They judge a value together with its parts, as the validators of the SDK do. Refused are only references that lead
nowhere known, and patterns that Java does not read.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterfoil.converter.engines.cannot import EngineCannot
from counterfoil.converter.engines.java.messages.patterns import pattern_of
from counterfoil.converter.engines.java.slots import ENGINE
from counterfoil.converter.engines.java.source import joined, quoted
from counterfoil.schema.formats.jsonschema.read.drafts import Draft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterfoil.converter.engines.java.source import JavaClass
    from counterfoil.schema.formats.jsonschema.view.facts import Facts, Schema

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
        self._known: dict[Schema, str] = {}

    def name(self, schema: Schema, where: str) -> str:
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

    def _lines(self, facts: Facts, where: str) -> Iterator[str]:
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

    def _values(self, values: Sequence[Any], where: str) -> str:
        """Return the values that a schema lists as a Java array."""
        if values and all(isinstance(each, str) for each in values):
            return self._java.words(values)
        if sum(map(_size_in_java, values)) > _MOST_LISTED:
            raise EngineCannot(ENGINE, field=where, why="a list of values that is too long for a Java method")
        return f"new Object[] {{{', '.join(map(self._value, values))}}}"

    def _value(self, value: Any) -> str:
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

    def _scalars(self, facts: Facts, where: str) -> Iterator[str]:
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

    def _items(self, facts: Facts, where: str) -> Iterator[str]:
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

    def _properties(self, facts: Facts, where: str) -> Iterator[str]:
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

    def _demands(self, names: Mapping[str, frozenset[str]], schemas: Mapping[str, Schema], where: str) -> Iterator[str]:
        if names:
            yield f"demanding = {self._words(names)}"
            yield f"demanded = new String[][] {{{', '.join(self._words(sorted(each)) for each in names.values())}}}"
        if schemas:
            yield f"choosing = {self._words(schemas)}"
            yield f"chosen = {self._several(schemas.values(), where)}"

    def _combined(self, facts: Facts, where: str) -> Iterator[str]:
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

    def _several(self, schemas: Iterable[Schema], where: str) -> str:
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


def _accepts_all(schema: Schema | None) -> bool:
    return schema is not None and schema.accepts_everything


def _word(value: bool) -> str:  # noqa: FBT001 - the value that is spelt
    return "true" if value else "false"


def size_of(size: Any) -> str:
    """Return a size as a Java expression, -1 for none."""
    return "-1L" if size is None else f"{min(int(size), 2**62)}L"


def _size_in_java(value: Any) -> int:
    """Return about how many instructions a value takes."""
    inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return 1 + sum(map(_size_in_java, inner))
