"""Pairs of Avro schemas from a seed: the same pairs on every machine, thousands a second.

``seeded_pairs(seed, count)`` makes a writer of every kind of type and a reader from it by a few edits, both ordinary
ones and special cases: aliases with and without namespace, aliases of existing fields, one short name in several
namespaces, types used in several places, recursive records, unions with exchanged branches, invalid defaults. Both
sides parse; nothing else is guaranteed.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.schema import parse_avro
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED: Final = ("record", "enum", "fixed")
SHORT_NAMES: Final = ("Order", "Item", "Color", "Hash", "Line")
NAMESPACES: Final = (None, None, "shop", "shop.v2", "other")
FIELD_NAMES: Final = ("a", "b", "c", "d", "e")
SYMBOLS: Final = ("A", "B", "C", "D")
LOGICAL_TYPES: Final = (
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
)
DEFAULTS: Final[tuple[Any, ...]] = (None, 0, 1, "A", "x", True, [], {}, 1.5)
MAX_DEPTH: Final = 3


def seeded_pairs(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Yield ``count`` pairs of texts, reader first; all different."""
    random = Random(seed)
    seen: set[tuple[str, str]] = set()
    while len(seen) < count:
        writer = _Maker(random).make()
        pair = (json.dumps(edited(random, writer)), json.dumps(writer))
        pair = pair if random.random() < 0.5 else (pair[1], pair[0])
        if pair not in seen and all(map(_parses, pair)):
            seen.add(pair)
            yield pair


def seeded_document(random: Random) -> Json:
    """Return one schema as JSON; in most cases it parses."""
    return _Maker(random).make()


def edited(random: Random, document: Json) -> Json:
    """Return ``document`` after up to four edits; not every result is a valid schema."""
    holder = {"type": copy.deepcopy(document)}
    for _ in range(random.choice((0, 1, 1, 1, 2, 3, 4))):
        container, key = random.choice(list(_places(holder, "type")))
        container[key] = _edit(random, container[key], holder)
    return holder["type"]


def _parses(text: str) -> bool:
    try:
        parse_avro(text, validation=Validation.LENIENT)
    except InvalidSchema:
        return False
    return True


class _Maker:
    """One schema that is being made. ``declared`` are full names that may be used again."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._declared: list[str] = []
        self._open: list[str] = []

    def make(self) -> Json:
        kind = self._random.choice(("record", "record", "record", "record", "union", "enum", "fixed", "array", "map"))
        return self._of_kind(kind, MAX_DEPTH, None)

    def _type(self, depth: int, namespace: str | None) -> Json:
        kinds = ["primitive"] * 4 + ["logical"] + ["again"] * 2 + ["enum", "fixed"]
        if depth > 0:
            kinds += ["record", "record", "union", "union", "array", "map", "inside"]
        return self._of_kind(self._random.choice(kinds), depth, namespace)

    def _of_kind(self, kind: str, depth: int, namespace: str | None) -> Json:
        match kind:
            case "record":
                return self._record(depth, namespace)
            case "enum" | "fixed":
                return self._enum_or_fixed(kind, namespace)
            case "union":
                return self._union(depth, namespace)
            case "array":
                return {"type": "array", "items": self._type(depth - 1, namespace)}
            case "map":
                return {"type": "map", "values": self._type(depth - 1, namespace)}
            case "logical":
                return dict(self._random.choice(LOGICAL_TYPES))
            case "again" if self._declared:
                return self._random.choice(self._declared)
            case "inside" if self._open:  # a recursive record, where a value can end
                again = self._random.choice(self._open)
                return self._random.choice((["null", again], {"type": "array", "items": again}))
        return self._random.choice(PRIMITIVES)

    def _named(self, kind: str, namespace: str | None) -> tuple[dict[str, Json], str, str | None]:
        """Return a declaration without content, its full name, and the namespace inside it."""
        declared: dict[str, Json] = {"type": kind, "name": self._random.choice(SHORT_NAMES)}
        own = self._random.choice(NAMESPACES)
        if own is not None:
            declared["namespace"] = namespace = own
        if self._random.random() < 0.1:
            declared["aliases"] = [self._random.choice(("Was", "shop.Was", "other.Order"))]
        return declared, f"{namespace}.{declared['name']}" if namespace else declared["name"], namespace

    def _record(self, depth: int, namespace: str | None) -> Json:
        declared, full_name, inner = self._named("record", namespace)
        if self._random.random() < 0.03:
            declared["type"] = "error"
        self._open.append(full_name)
        names = self._random.sample(FIELD_NAMES, self._random.choice((0, 1, 1, 2, 2, 3, 4)))
        declared["fields"] = [self._field(name, depth, inner) for name in names]
        self._open.remove(full_name)
        self._declared.append(full_name)
        return declared

    def _field(self, name: str, depth: int, namespace: str | None) -> Json:
        declared: dict[str, Json] = {"name": name, "type": self._type(depth - 1, namespace)}
        if self._random.random() < 0.3:
            declared["default"] = self._random.choice(DEFAULTS)
        if self._random.random() < 0.08:
            declared["aliases"] = [self._random.choice((*FIELD_NAMES, "was"))]
        return declared

    def _enum_or_fixed(self, kind: str, namespace: str | None) -> Json:
        declared, full_name, _ = self._named(kind, namespace)
        if kind == "enum":
            declared["symbols"] = self._random.sample(SYMBOLS, self._random.choice((1, 2, 2, 3)))
            if self._random.random() < 0.3:
                declared["default"] = self._random.choice(declared["symbols"])
        else:
            declared["size"] = self._random.choice((0, 1, 4, 16))
        self._declared.append(full_name)
        return declared

    def _union(self, depth: int, namespace: str | None) -> Json:
        branches = [self._type(depth - 1, namespace) for _ in range(self._random.choice((1, 2, 2, 3, 4)))]
        plain = {json.dumps(branch): branch for branch in branches if not isinstance(branch, list)}
        return list(plain.values())


def _places(container: Json, key: Any) -> Iterator[tuple[Json, Any]]:
    """Yield the place of each type, outermost first."""
    yield container, key
    node = container[key]
    if isinstance(node, list):
        for index in range(len(node)):
            yield from _places(node, index)
    elif isinstance(node, dict):
        for inner in ("items", "values"):
            if inner in node:
                yield from _places(node, inner)
        for field in node.get("fields", ()):
            yield from _places(field, "type")


def _edit(random: Random, node: Json, whole: Json) -> Json:
    if isinstance(node, list):
        return _edit_union(random, node)
    word = node["type"] if isinstance(node, dict) else node
    if word not in (*NAMED, "error") or random.random() < 0.15:
        return _replace(random, node)
    if random.random() < 0.25:
        _rename(random, node, whole)
    elif word == "enum":
        _edit_enum(random, node)
    elif word == "fixed":
        node["size"] = random.choice((1, 4, 8))
    else:
        _edit_record(random, node)
    return node


def _replace(random: Random, node: Json) -> Json:
    choices = [
        random.choice(PRIMITIVES),
        random.choice(PRIMITIVES),
        ["null", node],
        [random.choice(PRIMITIVES), node],
        [node],
        {"type": "array", "items": node},
        {"type": "map", "values": node},
        dict(random.choice(LOGICAL_TYPES)),
    ]
    if isinstance(node, dict):
        choices += [node[inner] for inner in ("items", "values") if inner in node]
    return random.choice(choices)


def _edit_union(random: Random, node: list[Json]) -> Json:
    choice = random.choice(("drop", "drop", "shuffle", "add", "only"))
    if choice == "drop" and len(node) > 1:
        dropped = random.randrange(len(node))
        return [branch for index, branch in enumerate(node) if index != dropped]
    if choice == "add":
        return [*node, random.choice(PRIMITIVES)]
    if choice == "only" and node:
        return random.choice(node)
    return random.sample(node, len(node))


def _edit_record(random: Random, node: dict[str, Json]) -> None:
    fields = node["fields"]
    choice = random.choice(("add", "drop", "rename", "alias", "default", "shuffle", "kind"))
    if choice == "add":
        fields.insert(random.randint(0, len(fields)), _new_field(random))
    elif choice == "shuffle":
        random.shuffle(fields)
    elif choice == "kind":
        node["type"] = "error" if node["type"] == "record" else "record"
    elif fields:
        _edit_field(random, fields, choice)


def _new_field(random: Random) -> Json:
    name = random.choice(("x", "y", *FIELD_NAMES))
    enum = {"type": "enum", "name": f"New{random.randrange(10_000)}", "symbols": ["A", "B"], "default": "A"}
    drawn = random.choice(("int", "null", ["null", "string"], enum, {"type": "array", "items": "int"}))
    field = {"name": name, "type": drawn}
    return field | random.choice(({}, {"default": None}, {"default": random.choice(DEFAULTS)}))


def _edit_field(random: Random, fields: list[Json], choice: str) -> None:
    field = random.choice(fields)
    match choice:
        case "drop":
            fields.remove(field)
        case "rename":
            field.update(random.choice(({"aliases": [field["name"]]}, {"aliases": ["was", field["name"]]}, {})))
            field["name"] = f"{field['name']}x"
        case "alias":
            field["aliases"] = random.sample((*FIELD_NAMES, "was"), random.choice((1, 2)))
        case "default" if "default" in field:
            del field["default"]
        case "default":
            field["default"] = random.choice(DEFAULTS)


def _edit_enum(random: Random, node: dict[str, Json]) -> None:
    match random.choice(("drop", "add", "default", "no default", "shuffle")):
        case "drop" if len(node["symbols"]) > 1:
            node["symbols"].remove(random.choice(node["symbols"]))
        case "add":
            node["symbols"].append("Z")
        case "default":
            node["default"] = random.choice((*SYMBOLS, "Z"))  # also one that is not among the symbols
        case "no default":
            node.pop("default", None)
        case _:
            random.shuffle(node["symbols"])


def _rename(random: Random, node: dict[str, Json], whole: Json) -> None:
    """Change the name or namespace, with or without an alias; in half of the cases also wherever the type is used."""
    earlier = f"{node['namespace']}.{node['name']}" if node.get("namespace") else node["name"]
    match random.choice(("name", "name", "namespace", "dotted")):
        case "name":
            node["name"] = random.choice((f"{node['name']}X", *SHORT_NAMES))
        case "namespace":
            node["namespace"] = random.choice(("shop", "shop.v2", "elsewhere"))
        case _:
            node["name"] = f"dotted.{node['name']}"
    aliases = ([earlier], [earlier.rpartition(".")[2]], ["elsewhere.Thing", earlier], [f"wrong.{earlier}"])
    node.update(random.choice(({}, {"aliases": random.choice(aliases)})))
    later = node["name"] if "." in node["name"] or not node.get("namespace") else f"{node['namespace']}.{node['name']}"
    if random.random() < 0.5:
        for container, key in list(_places(whole, "type")):
            if container[key] == earlier:
                container[key] = later
