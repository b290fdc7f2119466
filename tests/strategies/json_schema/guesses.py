"""Values that fit a JSON schema or nearly fit it: made without the library, to check its verdicts."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

WORDS = ("", "a", "b", "c", "ab", "abc", "x1", "x", "z", "A", "0", "id", "abcdefg", "new0", "b1")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, -1, 2, 3, 0.5, 1.5, 2.5, 7, 12, 0.1, 5, 77)
_MERGED = ("properties", "patternProperties", "dependentRequired")


class Guesser:
    """Makes values for the schemas of one document."""

    def __init__(self, rng: random.Random, document: Any) -> None:
        self._rng = rng
        self._document = document

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Return a value that fits ``schema`` or nearly fits it; sometimes any value."""
        rng = self._rng
        if depth > 4 or rng.random() < 0.05:
            return self.any(depth)
        asked = self._gathered(schema, 0)
        if not asked or rng.random() < 0.05:
            return self.any(depth)
        if "const" in asked:
            return asked["const"]
        if asked.get("enum"):
            return rng.choice(asked["enum"])
        return self._of_kind(self._kind(asked), asked, depth)

    def any(self, depth: int = 0) -> Any:
        rng = self._rng
        if depth < 3 and rng.random() < 0.3:
            many = [self.any(depth + 1) for _ in range(rng.randrange(4))]
            return many if rng.random() < 0.5 else {rng.choice(WORDS): each for each in many}
        return rng.choice((*SCALARS, *WORDS))

    def changed(self, value: Any) -> Any:
        """Return a slightly different value."""
        rng = self._rng
        value = copy.deepcopy(value)
        if isinstance(value, dict):
            if value and rng.random() < 0.4:
                value.pop(rng.choice(sorted(value)))
            elif value and rng.random() < 0.5:
                name = rng.choice(sorted(value))
                value[name] = self.changed(value[name])
            else:
                value[rng.choice(WORDS)] = self.any(2)
            return value
        if isinstance(value, list):
            if value and rng.random() < 0.4:
                value.pop(rng.randrange(len(value)))
            elif value and rng.random() < 0.5:
                index = rng.randrange(len(value))
                value[index] = self.changed(value[index])
            else:
                value.insert(
                    rng.randrange(len(value) + 1), rng.choice(value) if value and rng.random() < 0.5 else self.any(2)
                )
            return value
        return self.any(2)

    def _gathered(self, schema: Any, depth: int) -> dict[str, Any]:
        """Return the keywords of a schema together with those beside it, one branch of each choice; approximately."""
        if not isinstance(schema, dict) or depth > 8:
            return {}
        rng = self._rng
        asked = {key: value for key, value in schema.items() if key not in ("allOf", "anyOf", "oneOf", "$ref", "if")}
        asked["$parts"] = [schema]
        beside = [self._target(schema[key]) for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in schema]
        beside += schema.get("allOf", [])
        beside += [rng.choice(schema[key]) for key in ("anyOf", "oneOf") if schema.get(key)]
        if "if" in schema:
            beside += [schema["if"], schema.get("then")] if rng.random() < 0.5 else [schema.get("else")]
        for keyword in ("dependentSchemas", "dependencies"):
            dependent = schema.get(keyword)
            for one in dependent.values() if isinstance(dependent, dict) else ():
                beside += [one] if rng.random() < 0.5 else []
        for other in beside:
            _merge(asked, self._gathered(other, depth + 1))
        return asked

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            anchored = [one for one in self._document.get("$defs", {}).values() if isinstance(one, dict)]
            found = [one for one in anchored if reference == f"#{one.get('$anchor')}"]
            return found[0] if found else self._document
        target = self._document
        for step in reference[2:].split("/"):
            target = target.get(step, {}) if isinstance(target, dict) else {}
        return target

    def _kind(self, asked: dict[str, Any]) -> str:
        named = asked.get("type")
        if isinstance(named, list) and named:
            return str(self._rng.choice(named))
        if isinstance(named, str):
            return named
        if asked.keys() & {
            "items",
            "prefixItems",
            "contains",
            "minItems",
            "maxItems",
            "uniqueItems",
            "unevaluatedItems",
        }:
            return "array"
        if asked.keys() & {"minLength", "maxLength", "pattern"}:
            return "string"
        if asked.keys() & {"minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"}:
            return "number"
        return self._rng.choice(("object", "object", "object", "string", "number", "array", "null", "boolean"))

    def _of_kind(self, kind: str, asked: dict[str, Any], depth: int) -> Any:
        rng = self._rng
        match kind:
            case "string":
                least, most = asked.get("minLength", 0), asked.get("maxLength", 12)
                return (rng.choice(WORDS) + rng.choice(WORDS))[:most].ljust(least, rng.choice("ab0"))
            case "integer" | "number":
                return self._number(kind, asked)
            case "array":
                return self._array(asked, depth)
            case "object":
                return self._object(asked, depth)
        return None if kind == "null" else rng.random() < 0.5

    def _number(self, kind: str, asked: dict[str, Any]) -> Any:
        rng = self._rng
        near = [asked[key] for key in asked if "imum" in key and not isinstance(asked[key], bool)] or [0, 5]
        value = rng.choice(near) + rng.choice((0, 0, 1, -1, 2, 0.5, -0.5))
        step = asked.get("multipleOf")
        if step and rng.random() < 0.8:
            value = round(rng.randrange(-3, 20) * step, 3)
        return int(value) if kind == "integer" or value == int(value) else value

    def _array(self, asked: dict[str, Any], depth: int) -> list[Any]:
        rng = self._rng
        items = asked.get("items")
        listed = asked.get("prefixItems") or (items if isinstance(items, list) else [])
        behind = asked.get("additionalItems") if isinstance(items, list) else items
        behind = asked.get("unevaluatedItems") if behind is None else behind
        size = max(asked.get("minItems", 0), rng.choice((0, 1, 1, 2, 3, len(listed))))
        made = [self.value(listed[at] if at < len(listed) else behind, depth + 1) for at in range(size)]
        for _ in range(rng.randrange(3) if "contains" in asked else 0):
            made.insert(rng.randrange(len(made) + 1), self.value(asked["contains"], depth + 1))
        return made[: max(asked.get("maxItems", 9), 1)]

    def _object(self, asked: dict[str, Any], depth: int) -> dict[str, Any]:
        rng = self._rng
        declared = asked.get("properties") or {}
        required = [name for name in asked.get("required") or [] if rng.random() < 0.95]
        names = {name for name in declared if rng.random() < 0.45} | set(required)
        if len(names) < asked.get("minProperties", 0) or rng.random() < 0.35:
            names |= {rng.choice(WORDS)}
        others = ("additionalProperties", "unevaluatedProperties")
        beside: Any = next((asked[key] for key in others if key in asked), {})
        patterns = asked.get("patternProperties") or {}
        made = {}
        for name in sorted(names):
            matching = [one for pattern, one in patterns.items() if pattern.strip("^$[]+")[:1] in name]
            schema = declared.get(name, rng.choice(matching) if matching else beside)
            made[name] = self.value(schema, depth + 1)
        return made


def _merge(asked: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if key in _MERGED and isinstance(asked.get(key), dict):
            asked[key] = {**value, **asked[key]}
        elif key == "required" and isinstance(asked.get(key), list):
            asked[key] = [*asked[key], *value]
        elif key.startswith("min") and isinstance(asked.get(key), int) and isinstance(value, int):
            asked[key] = max(asked[key], value)
        else:
            asked.setdefault(key, value)
