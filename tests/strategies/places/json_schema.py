"""The places of findings in JSON schemas: each rule's example, put into the places of schemas."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.compatibility.policies import CompatibilityPolicy
from counterfoil.schema.texts import print_pointer
from strategies.places.cases import BACKWARD, FORWARD, PlaceCase, lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from counterfoil.schema.compatibility.policies import CompatibilityLevel

FOLDER: Final = Path(__file__).parents[2] / "rules" / "json"
_FILE, _OTHER = "customer.schema.json", "inner.schema.json"
_CHANGED_BRANCH: Final = "combined-type-subschemas-changed"

PLACES: Final = {
    "additional-items-narrowed": ("/properties/point/additionalItems", "/properties/point/additionalItems", "point[]"),
    "additional-items-removed": ("/properties/point/additionalItems", "/properties/point/additionalItems", "point[]"),
    "additional-properties-narrowed": ("/additionalProperties", "/additionalProperties", "{}"),
    "additional-properties-removed": ("/additionalProperties", "/additionalProperties", "{}"),
    "combined-type-changed": ("/properties/id/allOf", "/properties/id/anyOf", "id"),
    "combined-type-subschemas-changed": ("/properties/id/oneOf/1/type", "/properties/id/oneOf/1/type", "id<1>"),
    "condition-narrowed": ("/then/required", "", ""),
    "contains-narrowed": ("/contains", "", "[]"),
    "dependency-array-added": ("/dependentRequired/street", "", "street"),
    "dependency-array-changed": ("/dependencies/street", "/dependencies/street", "street"),
    "dependency-array-extended": ("/dependencies/street", "/dependencies/street", "street"),
    "dependency-schema-added": ("/dependencies/street", "", "street"),
    "enum-array-changed": ("/properties/state/enum", "/properties/state/enum/1", "state"),
    "enum-array-narrowed": ("/properties/state/enum", "/properties/state/enum/2", "state"),
    "item-added-not-covered-by-partially-open-content-model": (
        "/properties/point/prefixItems/1",
        "/properties/point/items",
        "point[1]",
    ),
    "item-added-to-open-content-model": ("/properties/point/items/1", "/properties/point/items", "point[1]"),
    "item-removed-from-closed-content-model": (
        "/properties/point/prefixItems",
        "/properties/point/prefixItems/1",
        "point[1]",
    ),
    "item-removed-not-covered-by-partially-open-content-model": (
        "/properties/point/items",
        "/properties/point/prefixItems/1",
        "point[1]",
    ),
    "max-contains-added": ("/maxContains", "", ""),
    "max-contains-decreased": ("/maxContains", "/maxContains", ""),
    "min-contains-added": ("/contains", "", ""),
    "min-contains-increased": ("/minContains", "/contains", ""),
    "not-type-extended": ("/properties/id/not", "/properties/id/not", "id"),
    "number-limit-narrowed": ("/properties/amount/exclusiveMaximum", "/properties/amount", "amount"),
    "one-of-branches-overlap": ("/properties/amount/oneOf", "/properties/amount", "amount"),
    "optional-property-added-to-open-content-model": ("/properties/note", "/properties", "note"),
    "pattern-added": ("/properties/code/pattern", "/properties/code", "code"),
    "pattern-changed": ("/properties/code/pattern", "/properties/code/pattern", "code"),
    "pattern-properties-narrowed": ("/patternProperties/^x-", "", "{^x-}"),
    "product-type-extended": ("/properties/code/allOf/2", "/properties/code/allOf", "code"),
    "property-added-not-covered-by-partially-open-content-model": (
        "/properties/count",
        "/additionalProperties",
        "count",
    ),
    "property-names-narrowed": ("/propertyNames", "", ""),
    "property-removed-from-closed-content-model": ("/properties", "/properties/note", "note"),
    "property-removed-not-covered-by-partially-open-content-model": (
        "/additionalProperties",
        "/properties/count",
        "count",
    ),
    "required-attribute-added": ("/required/0", "", "id"),
    "required-property-added-to-open-content-model": ("/properties/note", "/properties", "note"),
    "required-property-added-to-unopen-content-model": ("/properties/note", "/properties", "note"),
    "required-property-default-not-applied": ("/required/0", "", "note"),
    "required-property-with-default-added-to-open-content-model": ("/properties/note", "/properties", "note"),
    "schema-added": ("/properties/tags/items", "/properties/tags", "tags[]"),
    "sum-type-narrowed": ("/properties/id/type", "/properties/id/type/2", "id"),
    "type-changed": ("/properties/id/type", "/properties/id/type", "id"),
    "type-narrowed": ("/properties/amount/type", "/properties/amount/type", "amount"),
    "undeclared-property-required": ("/required/0", "", "key"),
    "unevaluated-items-narrowed": (
        "/properties/point/unevaluatedItems",
        "/properties/point/unevaluatedItems",
        "point[]",
    ),
    "unevaluated-items-removed": (
        "/properties/point/unevaluatedItems",
        "/properties/point/unevaluatedItems",
        "point[]",
    ),
    "unevaluated-properties-narrowed": ("/unevaluatedProperties", "/unevaluatedProperties", "{}"),
    "unevaluated-properties-removed": ("/unevaluatedProperties", "/unevaluatedProperties", "{}"),
    "unique-items-added": ("/properties/tags/uniqueItems", "/properties/tags", "tags"),
    "value-refused": ("/properties/raw/type", "", "raw"),
}
"""For each rule that breaks: its place in the example's current schema, in the previous one, and its element.

The rules of a single limit are in :func:`limits`. The place in the previous schema is empty if it has nothing of that
rule.
"""


def limits() -> dict[str, tuple[str, str, str]]:
    """Return the places of the rules about one limit: its keyword, or the schema if a side does not have it."""
    found = {}
    for folder in sorted(FOLDER.iterdir()):
        current = json.loads((folder / "current.json").read_text())
        previous = json.loads((folder / "previous.json").read_text())
        words = folder.name.rsplit("-", 1)
        keyword = "".join(word if index == 0 else word.capitalize() for index, word in enumerate(words[0].split("-")))
        for name, schema in current.get("properties", {}).items() if folder.name not in PLACES else ():
            if keyword in schema and words[1] in {"added", "decreased", "increased", "changed", "expanded"}:
                had = keyword in previous["properties"][name]
                pointer = f"/properties/{name}"
                found[folder.name] = (f"{pointer}/{keyword}", f"{pointer}/{keyword}" if had else pointer, name)
    return found


@dataclass(frozen=True)
class Around:
    """A schema inside a document: the document, the pointer and the element in it; the rule may become another one."""

    wrap: Callable[[Any], Any]
    pointer: str
    element: str
    rule: str | None = None


def _in(name: str, inner: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: inner}, **more}


def _node(schema: Any) -> dict[str, Any]:
    return _in("next", {"$ref": "#/definitions/Node"}) | {
        "properties": {"next": {"$ref": "#/definitions/Node"}, "value": schema}
    }


_NULL: Final = {"type": "null"}
_STRANGE: Final = "a/b.c ~d 𝄞"
AROUND: Final[dict[str, Around]] = {
    "the root": Around(lambda schema: schema, "", ""),
    "a property": Around(lambda schema: _in("outer", schema), "/properties/outer", "outer"),
    "a nested property": Around(
        lambda schema: _in("a", _in("b", _in("c", schema))), "/properties/a/properties/b/properties/c", "a.b.c"
    ),
    "a property with a strange name": Around(
        lambda schema: _in(_STRANGE, schema), print_pointer(("properties", _STRANGE)), f'"{_STRANGE}"'
    ),
    "items": Around(lambda schema: _in("list", {"type": "array", "items": schema}), "/properties/list/items", "list[]"),
    "values": Around(
        lambda schema: _in("map", {"type": "object", "additionalProperties": schema}),
        "/properties/map/additionalProperties",
        "map{}",
    ),
    "oneOf": Around(
        lambda schema: _in("payment", {"oneOf": [_NULL, schema]}),
        "/properties/payment/oneOf/1",
        "payment<1>",
        _CHANGED_BRANCH,
    ),
    "anyOf": Around(
        lambda schema: _in("payment", {"anyOf": [schema, _NULL]}),
        "/properties/payment/anyOf/0",
        "payment<0>",
        _CHANGED_BRANCH,
    ),
    "allOf": Around(
        lambda schema: _in("payment", {"allOf": [schema, {"type": "object", "title": "x"}]}),
        "/properties/payment/allOf/0",
        "payment<0>",
        _CHANGED_BRANCH,
    ),
    "allOf at the root": Around(
        lambda schema: {"type": "object", "allOf": [schema]}, "/allOf/0", "<0>", _CHANGED_BRANCH
    ),
    "oneOf by reference": Around(
        lambda schema: _in(
            "payment",
            {"oneOf": [_NULL, {"$ref": "#/definitions/Card"}, {"type": "integer"}]},
            definitions={"Card": schema},
        ),
        "/definitions/Card",
        "payment<1>",
        _CHANGED_BRANCH,
    ),
    "a definition": Around(
        lambda schema: _in("outer", {"$ref": "#/definitions/Inner"}, definitions={"Inner": schema}),
        "/definitions/Inner",
        "outer",
    ),
    "a definition in $defs, for items": Around(
        lambda schema: _in(
            "list", {"type": "array", "items": {"$ref": "#/$defs/Inner"}}, **{"$defs": {"Inner": schema}}
        ),
        "/$defs/Inner",
        "list[]",
    ),
    "a definition that refers to one": Around(
        lambda schema: _in(
            "outer",
            {"$ref": "#/definitions/First"},
            definitions={"First": _in("second", {"$ref": "#/definitions/Second"}), "Second": schema},
        ),
        "/definitions/Second",
        "outer.second",
    ),
    "a schema that holds itself": Around(
        lambda schema: _in("head", {"$ref": "#/definitions/Node"}, definitions={"Node": _node(schema)}),
        "/definitions/Node/properties/value",
        "head.value",
    ),
    "what depends on a property": Around(
        lambda schema: {"type": "object", "dependencies": {"street": schema}}, "/dependencies/street", "street"
    ),
}
_TRIED_EVERYWHERE: Final = (CompatibilityPolicy.STRICT, CompatibilityPolicy.SOUND)
_NOT_IN_LATER_DRAFTS: Final = frozenset({"what depends on a property"})


def cases() -> Iterator[PlaceCase]:
    """Yield every rule in every place, in both directions, under each policy under which it breaks."""
    for rule, (current, previous, element) in (PLACES | limits()).items():
        before, after = (json.loads((FOLDER / rule / f"{name}.json").read_text()) for name in ("previous", "current"))
        expected = json.loads((FOLDER / rule / "expected.json").read_text())
        policies = [
            policy
            for policy in CompatibilityPolicy
            if any(each["rule"] == rule for each in expected.get(policy, expected["STRICT"]))
        ]
        is_late = "/20" in after.get("$schema", "")
        for name, around in AROUND.items():
            if is_late and name in _NOT_IN_LATER_DRAFTS:
                continue
            for policy in policies if name == "the root" else [one for one in policies if one in _TRIED_EVERYWHERE]:
                is_strict = any(each["rule"] == rule for each in expected["STRICT"])
                if name == "what depends on a property" and policy is CompatibilityPolicy.SOUND:
                    continue  # another rule reports it there
                if name.startswith("allOf") and policy is CompatibilityPolicy.SOUND and after["type"] == "array":
                    continue  # beside an object, where there is no value
                if around.rule is not None and (
                    not is_strict or rule.endswith("-not-covered-by-partially-open-content-model")
                ):
                    continue  # found in the branches, where a change of the type is reported first
                for level, pointer in ((BACKWARD, current), (FORWARD, previous)):
                    if level is FORWARD and not is_strict:
                        continue
                    leaf = _Leaf(rule, before, after, pointer, element)
                    yield from _laid_out(leaf, name, around, level, policy)


@dataclass(frozen=True)
class _Leaf:
    rule: str
    before: Any
    after: Any
    pointer: str
    element: str


def _laid_out(
    leaf: _Leaf, name: str, around: Around, level: CompatibilityLevel, policy: CompatibilityPolicy
) -> Iterator[PlaceCase]:
    wrapped = [_with_draft(around.wrap(_without_draft(each)), each) for each in (leaf.before, leaf.after)]
    base, head = wrapped if level is BACKWARD else wrapped[::-1]
    for inlines in (False, True) if name == "the root" else (False,):
        old, new = lay_out(base, inlines=inlines), lay_out(head, inlines=inlines)
        yield PlaceCase(
            f"{leaf.rule} in {name}, {policy.name} {level.name}{' inline' if inlines else ''}",
            {_FILE: old.text},
            {_FILE: new.text},
            around.rule or leaf.rule,
            _FILE,
            new.line_by_pointer[around.pointer + leaf.pointer],
            _joined(around.element, leaf.element),
            level,
            policy,
        )


def dependants() -> Iterator[PlaceCase]:
    """Yield files that refer to the file with the change, twice."""
    for rule, (_, _, element) in (PLACES | limits()).items():
        before, after = (json.loads((FOLDER / rule / f"{name}.json").read_text()) for name in ("previous", "current"))
        expected = json.loads((FOLDER / rule / "expected.json").read_text())
        if not any(each["rule"] == rule for each in expected["STRICT"]):
            continue
        for name, pointer in (("first", "/properties/first/$ref"), ("second", "/properties/second/items/$ref")):
            reference = {"$ref": _OTHER}
            asking = {
                "$schema": after["$schema"],
                "type": "object",
                "properties": {"first": reference, "second": {"type": "array", "items": reference}},
            }
            laid_out = lay_out(asking, inlines=False)
            in_array = "second[]" if name == "second" else "first"
            yield PlaceCase(
                f"{rule} in another file, {name} reference",
                {_FILE: laid_out.text, _OTHER: json.dumps(before)},
                {_FILE: laid_out.text, _OTHER: json.dumps(after)},
                rule,
                _FILE,
                laid_out.line_by_pointer[pointer],
                _joined(in_array, element),
            )


def _joined(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer and inner and inner[0] not in "[{<" else outer + inner


def _without_draft(schema: Any) -> Any:
    return {key: value for key, value in schema.items() if key != "$schema"}


def _with_draft(document: Any, schema: Any) -> Any:
    return {"$schema": schema["$schema"], **document}


_TABLE: Final = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def _table(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": {"type": "integer"}, **properties}, "required": ["a"]}


_TEXT: Final = {"type": "string"}
TABLES: Final = {
    "logical-required-field-added": (
        _table(),
        {**_table(b=_TEXT), "required": ["a", "b"]},
        "/properties/b",
        "b",
    ),
    "logical-field-deleted": (_table(b=_TEXT), _table(), "/properties", "b"),
    "logical-nullable-to-non-nullable": (
        _table(b=_TEXT),
        {**_table(b=_TEXT), "required": ["a", "b"]},
        "/required/1",
        "b",
    ),
    "logical-type-mismatch": (_table(b=_TEXT), _table(b={"type": "boolean"}), "/properties/b/type", "b"),
    "logical-not-a-table": (
        _table(b=_TEXT),
        _table(b={"oneOf": [_TEXT, {"type": "integer"}]}),
        "/properties/b/oneOf",
        "b",
    ),
}
"""For each rule of tables: a schema before and after, the place of the finding in it, and its element."""


def tables() -> Iterator[PlaceCase]:
    """Yield the rules about tables, in every place of a table."""
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    for rule, (before, after, pointer, element) in TABLES.items():
        for name, around in AROUND.items():
            if around.rule is not None or name in {"a schema that holds itself", "what depends on a property"}:
                continue
            if rule == "logical-not-a-table" and around.pointer.startswith(("/definitions", "/$defs")):
                continue  # the element is then that of the definition
            old, new = (lay_out({**draft, **around.wrap(each)}, inlines=False) for each in (before, after))
            yield PlaceCase(
                f"{rule} in {name}",
                {_FILE: old.text},
                {_FILE: new.text},
                rule,
                _FILE,
                new.line_by_pointer[around.pointer + pointer],
                _joined(around.element, element),
                policy=CompatibilityPolicy.LOGICAL,
            )
        asking = lay_out({**draft, **_in("x", {"$ref": _OTHER})}, inlines=False)
        if rule != "logical-not-a-table":
            yield PlaceCase(
                f"{rule} in another file",
                {_FILE: asking.text, _OTHER: json.dumps(before)},
                {_FILE: asking.text, _OTHER: json.dumps(after)},
                rule,
                _FILE,
                asking.line_by_pointer["/properties/x/$ref"],
                f"x.{element}",
                policy=CompatibilityPolicy.LOGICAL,
            )
