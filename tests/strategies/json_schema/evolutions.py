"""Pairs of JSON schemas with every keyword of draft-04 to 2020-12, the second an edit of the first; all from a seed.

The keywords that combine schemas are the most frequent: references, ``allOf``, conditions, ``unevaluated*``,
``dependent*``, ``contains``, ``propertyNames``. Some pairs are widenings by construction: the second schema accepts
everything that the first does.
"""

from __future__ import annotations

import copy
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from strategies.json_schema.guesses import Guesser

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

URI_BY_DRAFT = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
DRAFTS = (4, 6, 7, 2019, 2019, 2020, 2020, 2020)
TYPES = ("string", "integer", "number", "boolean", "null", "object", "array")
NAMES = ("a", "b", "c", "id", "x1")
PATTERNS = ("^x", "^a", "b$", "^[a-c]$", "^[a-z]+$", "[0-9]")
VALUES: tuple[Any, ...] = (0, 1, 2, "a", "b", "abc", None, True, False, 1.5, [], {}, [1], {"a": 1}, "")
_MODERN = 2019
_DROPPED = ("pattern", "format", "multipleOf", "uniqueItems", "propertyNames", "not", "type")
_LIMITS = (
    *(("minLength", -1), ("maxLength", 1), ("minItems", -1), ("maxItems", 1), ("minProperties", -1)),
    *(("maxProperties", 1), ("minimum", -1), ("maximum", 1), ("maxContains", 1)),
)


class SchemaMaker:
    """Makes schemas of one draft."""

    def __init__(self, rng: random.Random, draft: int) -> None:
        self.rng = rng
        self.draft = draft
        self.definitions = "$defs" if draft >= _MODERN else "definitions"
        self._count = 0
        self._is_dynamic = False

    def document(self) -> dict[str, Any]:
        """Return a schema with definitions that it refers to, often recursively."""
        rng = self.rng
        self._count = rng.choice((0, 1, 2, 2))
        self._is_dynamic = self.draft >= _MODERN and rng.random() < 0.08
        root = self.composed(0, -1) if rng.random() < 0.6 else self.schema(0, -1)
        root = dict(root) if isinstance(root, dict) else {}
        made = {f"D{index}": self.definition(index) for index in range(self._count)}
        document = {"$schema": URI_BY_DRAFT[self.draft], **root}
        if self._is_dynamic:
            document |= {"$recursiveAnchor": True} if self.draft == _MODERN else {"$dynamicAnchor": "node"}
        return {**document, self.definitions: made} if made else document

    def definition(self, index: int) -> Any:
        made = self.composed(1, index) if self.rng.random() < 0.3 else self.schema(1, index)
        if index == 1 and isinstance(made, dict) and self.draft >= _MODERN and self.rng.random() < 0.5:
            made["$anchor"] = "one"
        return made

    def schema(self, depth: int, above: int, *, is_inside: bool = False) -> Any:
        """Return a schema; definitions up to ``above`` are referred to only inside a property or item."""
        rng = self.rng
        if rng.random() < 0.12:
            reference = self.reference(above, is_inside=is_inside)
            if reference:
                return reference
        if depth > 2 or rng.random() < 0.4:
            return rng.choice((self.types, self.text, self.number, self.listed))()
        return rng.choice((self.object, self.object, self.array, self.composed, self.combination))(depth, above)

    def inner(self, depth: int, above: int) -> Any:
        return self.schema(depth + 1, above, is_inside=True)

    def reference(self, above: int, *, is_inside: bool) -> dict[str, Any]:
        rng = self.rng
        if is_inside and self._is_dynamic and rng.random() < 0.6:
            return {"$recursiveRef": "#"} if self.draft == _MODERN else {"$dynamicRef": "#node"}
        known = [f"#/{self.definitions}/D{index}" for index in range(0 if is_inside else above + 1, self._count)]
        known += ["#"] if is_inside else []
        return {"$ref": rng.choice(known)} if known else {}

    def types(self) -> Any:
        rng = self.rng
        if self.draft > 4 and rng.random() < 0.2:
            return rng.choice((True, True, False))
        return rng.choice(({}, {"type": rng.choice(TYPES)}, {"type": rng.sample(TYPES, rng.randrange(1, 4))}))

    def text(self) -> dict[str, Any]:
        rng = self.rng
        parts: dict[str, Any] = {"minLength": rng.randrange(4), "maxLength": rng.randrange(1, 6)}
        parts |= {"pattern": rng.choice(PATTERNS), "format": "date"}
        return {**self.some({"type": "string"}, 0.75), **self.some(parts, 0.3)}

    def number(self) -> dict[str, Any]:
        rng = self.rng
        parts: dict[str, Any] = {"minimum": rng.randrange(-2, 4), "maximum": rng.randrange(2, 8)}
        if self.draft > 4:
            parts |= {"exclusiveMinimum": rng.choice((-2, 0, 2.5)), "exclusiveMaximum": rng.choice((2, 4, 7.5))}
        chosen = self.some({**parts, "multipleOf": rng.choice((1, 2, 3, 0.5, 0.1, 6))}, 0.3)
        if self.draft == 4:
            flags = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
            chosen |= {flag: True for flag, limit in flags.items() if limit in chosen and rng.random() < 0.4}
        return {**self.some({"type": rng.choice(("integer", "number"))}, 0.8), **chosen}

    def listed(self) -> dict[str, Any]:
        if self.draft > 4 and self.rng.random() < 0.4:
            return {"const": self.rng.choice(VALUES)}
        return {"enum": self.rng.sample(VALUES, self.rng.randrange(1, 4))}

    def object(self, depth: int, above: int) -> dict[str, Any]:
        rng = self.rng
        parts: dict[str, Any] = {
            "properties": {name: self.inner(depth, above) for name in rng.sample(NAMES, rng.randrange(4))},
            "required": rng.sample(NAMES, rng.randrange(1, 3)),
            "additionalProperties": rng.choice((True, False, False, self.inner(depth, above))),
        }
        rare: dict[str, Any] = {
            "patternProperties": {rng.choice(PATTERNS): self.inner(depth, above) for _ in range(rng.randrange(1, 3))},
            "minProperties": rng.randrange(3),
            "maxProperties": rng.randrange(1, 4),
            **self.dependencies(depth, above),
        }
        if self.draft > 4:
            rare["propertyNames"] = rng.choice(
                ({"maxLength": 1}, {"pattern": "^[a-z]"}, {"enum": ["a", "b"]}, {"minLength": 1}, False)
            )
        return {**self.some({"type": "object"}, 0.8), **self.some(parts, 0.5), **self.some(rare, 0.15)}

    def dependencies(self, depth: int, above: int) -> dict[str, Any]:
        rng = self.rng
        names, schemas = {rng.choice(NAMES): [rng.choice(NAMES)]}, {rng.choice(NAMES): self.schema(depth + 1, above)}
        if self.draft >= _MODERN:
            return {"dependentRequired": names, "dependentSchemas": schemas}
        if self.draft == 4:
            schemas = {name: one for name, one in schemas.items() if isinstance(one, dict)}
        return {"dependencies": {**names, **schemas}}

    def array(self, depth: int, above: int) -> dict[str, Any]:
        rng = self.rng
        listed = [self.inner(depth, above) for _ in range(rng.randrange(1, 3))]
        parts: dict[str, Any] = {"items": self.inner(depth, above)}
        if rng.random() < 0.35:
            behind = {"items" if self.draft == 2020 else "additionalItems": rng.choice((False, parts["items"]))}
            parts = {"prefixItems" if self.draft == 2020 else "items": listed, **self.some(behind, 0.5)}
        limits = {"minItems": rng.randrange(3), "maxItems": rng.randrange(1, 4), "uniqueItems": True}
        chosen = {**self.some({"type": "array"}, 0.8), **self.some(parts, 0.7), **self.some(limits, 0.2)}
        if self.draft > 4 and rng.random() < 0.3:
            chosen["contains"] = self.inner(depth, above)
            if self.draft >= _MODERN:
                chosen |= self.some({"minContains": rng.randrange(3), "maxContains": rng.randrange(1, 3)}, 0.25)
        return chosen

    def combination(self, depth: int, above: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.12:
            return {"not": self.schema(depth + 1, above)}
        if self.draft >= 7 and rng.random() < 0.3:
            parts = {word: self.schema(depth + 1, above) for word in ("then", "else")}
            return {"if": self.schema(depth + 1, above), **self.some(parts, 0.7)}
        branches = [self.schema(depth + 1, above) for _ in range(rng.randrange(1, 4))]
        return {rng.choice(("anyOf", "oneOf", "allOf", "allOf")): branches}

    def composed(self, depth: int, above: int) -> dict[str, Any]:
        """Return an object or array that combines several schemas, and is often closed around all of them."""
        rng = self.rng
        is_array = rng.random() < 0.25
        make = self.array if is_array else self.object
        made = make(depth + 1, above) if rng.random() < 0.6 else {"type": "array" if is_array else "object"}
        if self.draft >= _MODERN:  # beside unevaluated keywords, those that evaluate the rest would hide them
            for keyword in ("additionalProperties", "items") if rng.random() < 0.8 else ():
                made.pop(keyword, None)
        ways: dict[str, Callable[[], Any]] = {
            "allOf": lambda: [self.part(make, depth, above) for _ in range(rng.randrange(1, 3))],
            "anyOf": lambda: [self.part(make, depth, above) for _ in range(rng.randrange(1, 3))],
            "oneOf": lambda: [self.part(make, depth, above) for _ in range(rng.randrange(1, 3))],
        }
        for keyword in rng.sample(("allOf", "allOf", "anyOf", "oneOf"), rng.randrange(3)):
            made[keyword] = ways[keyword]()
        if self.draft >= 7 and rng.random() < 0.3:
            made["if"] = self.part(make, depth, above)
            made |= self.some({word: self.part(make, depth, above) for word in ("then", "else")}, 0.7)
        if self.draft >= _MODERN:
            if rng.random() < 0.4:
                made |= self.reference(above, is_inside=False)
            rest = rng.choice((False, False, False, self.inner(depth, above)))
            made |= self.some({"unevaluatedItems" if is_array else "unevaluatedProperties": rest}, 0.7)
        return made

    def part(self, make: Callable[[int, int], dict[str, Any]], depth: int, above: int) -> Any:
        reference = self.reference(above, is_inside=False) if self.rng.random() < 0.2 else {}
        if reference:
            return reference
        made = make(depth + 1, above)
        if self.rng.random() < 0.7:
            made.pop("additionalProperties", None)
        return made

    def some(self, parts: dict[str, Any], chance: float) -> dict[str, Any]:
        return {key: value for key, value in parts.items() if self.rng.random() < chance}

    def edited(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return ``document`` with one to three parts added, removed or changed."""
        edited: dict[str, Any] = copy.deepcopy(document)
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            self._edit(edited)
        return edited

    def _edit(self, document: dict[str, Any]) -> None:
        rng = self.rng
        places = [*_places(document)]
        place = document if rng.random() < 0.3 else rng.choice(places[: rng.choice((4, 8, 1000))])
        keywords = sorted(key for key in place if key not in ("$schema", self.definitions, "$anchor"))
        keywords = [key for key in keywords if not key.endswith("Anchor")]
        chance = rng.random()
        if chance < 0.3 and keywords:
            place.pop(rng.choice(keywords))
        elif chance < 0.6:
            self._edit_part(place, keywords)
        else:
            other = rng.choice((self.schema, self.object, self.array, self.composed))(2, self._count)
            if isinstance(other, dict):
                place.update(self.some(other, 0.5))
        if self.draft == 4:
            for flag, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
                if limit not in place:
                    place.pop(flag, None)

    def _edit_part(self, place: dict[str, Any], keywords: list[str]) -> None:
        """Change one keyword's value a little."""
        rng = self.rng
        if not keywords:
            return
        keyword = rng.choice(keywords)
        value = place[keyword]
        match value:
            case bool():
                if keyword not in ("exclusiveMinimum", "exclusiveMaximum"):
                    place[keyword] = not value
            case int():
                place[keyword] = max(value + rng.choice((-1, 1, 2)), 1 if keyword == "multipleOf" else 0)
            case list() if keyword in ("required", "enum", "allOf", "anyOf", "oneOf") and value:
                if rng.random() < 0.5 and len(value) > 1:
                    value.pop(rng.randrange(len(value)))
                elif keyword in ("required", "enum"):
                    more = rng.choice(NAMES if keyword == "required" else VALUES)
                    value += [] if more in value else [more]
                else:
                    value.append(self.schema(2, self._count))
            case dict() if keyword in ("properties", "patternProperties"):
                if rng.random() < 0.5 and value:
                    value.pop(rng.choice(sorted(value)))
                else:
                    value[rng.choice(NAMES if keyword == "properties" else PATTERNS)] = self.schema(2, self._count)

    def widened(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return ``document`` changed so that it accepts at least what it accepted."""
        wider: dict[str, Any] = copy.deepcopy(document)
        for _ in range(self.rng.choice((1, 1, 2))):
            place = self.rng.choice([*_widenable(wider)])
            self.rng.choice(self._widenings(place, is_root=place is wider))()
        return wider

    def _widenings(self, place: dict[str, Any], *, is_root: bool) -> list[Callable[[], Any]]:
        rng = self.rng
        known: list[Callable[[], Any]] = [lambda: place.update(title=rng.choice(("a", "b")))]
        known += [partial(place.update, change) for change in _looser_limits(place)]
        dropped = [keyword for keyword in _DROPPED if keyword in place]
        known += [partial(place.pop, keyword) for keyword in dropped]
        for keyword in ("required", "enum"):
            if place.get(keyword):
                known += [partial(_loosen, rng, place, keyword)] * 3
        if place.get("unevaluatedProperties") is False or place.get("additionalProperties") is False:
            known += [lambda: self._declare_property(place)] * 4
        rest = [keyword for keyword in ("unevaluatedProperties", "unevaluatedItems") if keyword in place]
        known += [partial(place.update, {keyword: True}) for keyword in rest]
        if "anyOf" in place:
            known += [lambda: place["anyOf"].append(self.schema(2, self._count))] * 2
        if not is_root and "$anchor" not in place:
            known.append(lambda: _wrap(rng, place))
        return known

    def _declare_property(self, place: dict[str, Any]) -> None:
        """Add an optional property to an object that is closed, in itself or in one of the schemas of its allOf."""
        name = self.rng.choice(("N", "M"))  # which no pattern matches
        if place.get("additionalProperties") is False:
            if name not in place.get("properties", {}):
                place.setdefault("properties", {})[name] = self.types()
            return
        parts = [part for part in place.get("allOf", ()) if isinstance(part, dict) and "$ref" not in part]
        parts = [part for part in parts if not part.keys() & {"additionalProperties", "unevaluatedProperties"}]
        chosen = self.rng.choice([place, *parts])
        if name not in chosen.get("properties", {}):
            # other schemas have evaluated the name already, so that its schema must accept everything
            chosen.setdefault("properties", {})[name] = {}


def evolutions(rng: random.Random, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield ``count`` pairs of schemas of one draft each, writer and reader."""
    for _ in range(count):
        maker = SchemaMaker(rng, rng.choice(DRAFTS))
        first = _telling(rng, maker)
        second = maker.edited(first)
        for _ in range(4):
            if second != first:
                break
            second = maker.edited(first)
        yield (first, second) if rng.random() < 0.6 else (second, first)


def widenings(rng: random.Random, count: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield ``count`` pairs of which the second accepts everything that the first does."""
    for _ in range(count):
        maker = SchemaMaker(rng, rng.choice(DRAFTS))
        first = _telling(rng, maker)
        while '"#' in json.dumps(first).replace(
            '"#/', ""
        ):  # a schema that refers to itself may become narrower elsewhere
            first = _telling(rng, maker)
        yield first, maker.widened(first)


def _telling(rng: random.Random, maker: SchemaMaker) -> dict[str, Any]:
    """Return a schema that accepts some guesses and refuses others; any schema after six attempts."""
    document = maker.document()
    for _ in range(6):
        guesser, fits = Guesser(rng, document), _judge(document)
        guesses = [fits(guesser.value(document)) for _ in range(12)]
        if len({*guesses}) > 1:
            break
        document = maker.document()
    return document


def _judge(document: dict[str, Any]) -> Callable[[Any], bool]:
    try:
        return jsonschema_rs.validator_for(document).is_valid
    except ValueError:
        return lambda _: True


def _loosen(rng: random.Random, place: dict[str, Any], keyword: str) -> None:
    """Remove one required name, or add one enum value."""
    if keyword == "enum":
        place["enum"] = [
            *place["enum"],
            rng.choice([value for value in ("new", 77) if value not in place["enum"]] or [78]),
        ]
    else:
        place["required"].pop(rng.randrange(len(place["required"])))
        if not place["required"]:
            del place["required"]


def _looser_limits(place: dict[str, Any]) -> Iterator[dict[str, int]]:
    for keyword, step in _LIMITS:
        limit = place.get(keyword)
        if isinstance(limit, int) and (limit + step >= 0 or keyword in ("minimum", "maximum")):
            yield {keyword: limit + step}


def _wrap(rng: random.Random, place: dict[str, Any]) -> None:
    """Put the same schema into an allOf, or into an anyOf with another branch."""
    inner = dict(place)
    place.clear()
    place.update({"anyOf": [inner, {"type": "null"}]} if rng.random() < 0.5 else {"allOf": [inner]})


def _places(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object schema in a schema."""
    if not isinstance(schema, dict):
        return
    yield schema
    for keyword, value in schema.items():
        if keyword in ("enum", "const", "required", "dependentRequired"):
            continue
        children = value if isinstance(value, list) else [value]
        if keyword in ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"):
            children = [*value.values()]
        for child in children:
            yield from _places(child)


def _widenable(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schemas in a schema that make the whole wider when they become wider."""
    yield schema
    if "$ref" in schema and not str(schema.get("$schema", "2020")).startswith("https"):
        return
    is_closed = schema.keys() & {"unevaluatedProperties", "unevaluatedItems"}
    children = [*schema.get("properties", {}).values(), schema.get("additionalProperties")]
    if isinstance(schema.get("items"), dict):
        children.append(schema["items"])
    if not is_closed:
        children += [*schema.get("allOf", ()), *schema.get("anyOf", ())]
    for child in children:
        if isinstance(child, dict):
            yield from _widenable(child)
