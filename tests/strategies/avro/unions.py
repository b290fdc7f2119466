"""Random Avro records with unions whose values do not tell their branch, and the branch of each value in their bytes.

``branched`` reads bytes as the specification says ("Binary Encoding"), on its own: a value of a union is the name of
its branch and the value.
"""

from __future__ import annotations

import copy
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

WHOLES: Final = (0, 1, -1, 63, 64, 8191, 8192, -(2**31), 2**31 - 1)
REALS: Final = (0.0, 1.5, -0.25, 2.0**20)
TEXTS: Final = ("", "A", "B", "ab", "é")
SYMBOLS: Final = ("A", "B", "ab")
LOGICAL: Final[dict[str, tuple[dict[str, Any] | str, ...]]] = {
    "int": ("int", {"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}),
    "long": (
        "long",
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "logicalType": "timestamp-micros"},
    ),
    "bytes": ("bytes", {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}),
    "string": ("string", {"type": "string", "logicalType": "uuid"}),
}
NAMESPACES: Final = ("", "acme", "acme.old")


class Unions:
    """Draws schemas; every named type has a name of its own, some the same in two namespaces."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._names: set[str] = set()

    def root(self) -> dict[str, Any]:
        """Return a record of one to four fields."""
        fields = [{"name": f"f{number}", "type": self.type(0)} for number in range(self._rng.randint(1, 4))]
        return {"type": "record", "name": "Root", "namespace": "acme", "fields": fields}

    def type(self, depth: int) -> Any:
        kind = self._rng.choice(["union"] * 4 + ["array", "map", "record", "leaf"]) if depth < 3 else "leaf"
        if kind == "union":
            return self._union(depth)
        if kind == "array":
            return {"type": "array", "items": self.type(depth + 1)}
        if kind == "map":
            return {"type": "map", "values": self.type(depth + 1)}
        return self._record(depth) if kind == "record" else self._leaf()

    def _union(self, depth: int) -> list[Any]:
        kinds = ["int", "long", "float", "double", "string", "bytes", "boolean", "array", "map"]
        kinds += ["record", "record", "record", "enum", "enum", "fixed", "fixed"]
        branches = [self._branch(kind, depth) for kind in self._rng.sample(kinds, self._rng.randint(2, 4))]
        if self._rng.random() < 0.4:
            branches.insert(self._rng.randint(0, len(branches)), "null")
        return branches

    def _branch(self, kind: str, depth: int) -> Any:
        if kind == "array":
            return {"type": "array", "items": self._nested(depth)}
        if kind == "map":
            return {"type": "map", "values": self._nested(depth)}
        if kind == "record":
            return self._record(depth)
        if kind == "enum":
            return {"type": "enum", **self._named(), "symbols": list(SYMBOLS)}
        if kind == "fixed":
            return {"type": "fixed", **self._named(), "size": 2}
        return self._rng.choice(LOGICAL.get(kind, (kind,)))

    def _nested(self, depth: int) -> Any:
        return self._leaf() if depth > 1 or self._rng.random() < 0.5 else self.type(depth + 1)

    def _leaf(self) -> Any:
        return self._rng.choice(["int", "string", "double", ["null", "string"]])

    def _record(self, depth: int) -> dict[str, Any]:
        shapes = ([("x", "int")], [("x", "int")], [("x", "int"), ("y", "string")], [("z", None)])
        fields = [
            {"name": name, "type": self._nested(depth) if node is None else node}
            for name, node in self._rng.choice(shapes)
        ]
        return {"type": "record", **self._named(), "fields": fields}

    def _named(self) -> dict[str, str]:
        while True:
            name, namespace = f"N{self._rng.randint(0, 9 + len(self._names))}", self._rng.choice(NAMESPACES)
            if f"{namespace}.{name}" not in self._names:
                self._names.add(f"{namespace}.{name}")
                return {"name": name, "namespace": namespace}


def drawn(rng: Random, node: Any) -> Any:
    """Return a random value of a type as fastavro writes it: a value of a union is ``(name, value)``."""
    if isinstance(node, list):
        branch = rng.choice(node)
        return None if branch == "null" else (full_name(branch), drawn(rng, branch))
    kind = kind_of(node)
    if kind == "record":
        return {field["name"]: drawn(rng, field["type"]) for field in node["fields"]}
    if kind == "array":
        return [drawn(rng, node["items"]) for _ in range(rng.randint(0, 3))]
    if kind == "map":
        return {rng.choice(TEXTS): drawn(rng, node["values"]) for _ in range(rng.randint(0, 2))}
    if kind == "enum":
        return rng.choice(node["symbols"])
    if kind in {"bytes", "fixed"}:
        return rng.choice((b"\x00\x01", b"ab"))
    if kind in {"int", "long"}:
        return rng.choice(WHOLES)
    return rng.choice({"float": REALS, "double": REALS, "boolean": (True, False), "string": TEXTS}[kind])


def kind_of(node: Any) -> str:
    """Return the word of a type."""
    if isinstance(node, list):
        return "union"
    return str(node if isinstance(node, str) else node["type"])


def full_name(node: Any) -> str:
    """Return the name of a branch: the full name, or the word of a type without a name."""
    if isinstance(node, str) or "name" not in node:
        return kind_of(node)
    return f"{node.get('namespace', '')}.{node['name']}".lstrip(".")


def changed(rng: Random, node: Any) -> tuple[Any, dict[str, str]]:
    """Return a schema with equal branches, and its namespaces by those of the first.

    It has other namespaces, other orders of fields and, at times, of branches.
    """
    made = copy.deepcopy(node)
    others = {each: rng.choice([each, f"{each}.new".lstrip(".")]) for each in NAMESPACES}
    waiting = [made]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            if rng.random() < 0.3:
                rng.shuffle(part)
            waiting += part
        elif isinstance(part, dict):
            if "namespace" in part:
                part["namespace"] = others[part["namespace"]]
            rng.shuffle(part.get("fields", []))
            waiting += [field["type"] for field in part.get("fields", [])]
            waiting += [part[key] for key in ("items", "values") if key in part]
    return made, others


def altered(rng: Random, node: Any) -> Any:
    """Return a schema whose unions have other branches: fewer, more, renamed, in another order."""
    made = copy.deepcopy(node)
    waiting, number = [made], 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            number += 1
            _alter(rng, part, f"Other{number}")
            waiting += part
        elif isinstance(part, dict):
            waiting += [field["type"] for field in part.get("fields", [])]
            waiting += [part[key] for key in ("items", "values") if key in part]
    return made


def _alter(rng: Random, union: list[Any], name: str) -> None:
    kinds = {kind_of(branch) for branch in union}
    lacking = [kind for kind in ("null", "int", "long", "float", "double", "string", "bytes") if kind not in kinds]
    named = [branch for branch in union if isinstance(branch, dict) and "name" in branch]
    change = rng.choice(["fewer", "more", "record", "rename", "none"])
    if change == "fewer" and len(union) > 1:
        union.pop(rng.randrange(len(union)))
    elif change == "more" and lacking:
        union.insert(rng.randint(0, len(union)), rng.choice(lacking))
    elif change == "record":
        union.append({"type": "record", "name": name, "namespace": "x", "fields": [{"name": "x", "type": "int"}]})
    elif change == "rename" and named:
        rng.choice(named)["name"] = name
    if rng.random() < 0.3:
        rng.shuffle(union)


def without_logical_types(node: Any) -> Any:
    """Return a schema without logical types."""
    if isinstance(node, list):
        return [without_logical_types(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: each for key, each in node.items() if key not in {"logicalType", "precision", "scale"}}
    for key in ("items", "values"):
        if key in kept:
            kept[key] = without_logical_types(kept[key])
    if "fields" in kept:
        kept["fields"] = [{**each, "type": without_logical_types(each["type"])} for each in kept["fields"]]
    return kept


class _Bytes:
    def __init__(self, data: bytes, namespaces: dict[str, str]) -> None:
        self.data = data
        self.place = 0
        self._namespaces = namespaces
        self._known: dict[str, Any] = {}

    def take(self, size: int) -> bytes:
        self.place += size
        assert self.place <= len(self.data)
        return self.data[self.place - size : self.place]

    def long(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (value >> 1) ^ -(value & 1)

    def value(self, node: Any) -> Any:
        if isinstance(node, list):
            for each in node:
                self._learn(each)
            branch = self._learn(node[self.long()])
            return None if branch == "null" else (self._name(branch), self.value(branch))
        node = self._learn(node)
        kind = kind_of(node)
        if kind == "record":
            return {field["name"]: self.value(field["type"]) for field in node["fields"]}
        if kind in {"array", "map"}:
            return self._blocks(node, kind)
        if kind in {"int", "long"}:
            return self.long()
        if kind in {"float", "double"}:
            real = struct.unpack("<f" if kind == "float" else "<d", self.take(4 if kind == "float" else 8))[0]
            return real if real == real else "NaN"  # noqa: PLR0124 - NaN is not equal to itself
        if kind == "boolean":
            return self.take(1) == b"\x01"
        if kind == "enum":
            return node["symbols"][self.long()]
        found = self.take(node["size"] if kind == "fixed" else self.long())
        return found.decode() if kind == "string" else found

    def _learn(self, node: Any) -> Any:
        """Return the type that is named, and keep the names that are declared."""
        if isinstance(node, dict) and "name" in node:
            self._known[full_name(node)] = node
        return self._known.get(node, node) if isinstance(node, str) else node

    def _name(self, branch: Any) -> str:
        if isinstance(branch, str) or "name" not in branch:
            return kind_of(branch)
        namespace, _, name = full_name(branch).rpartition(".")
        return f"{self._namespaces.get(namespace, namespace)}.{name}".lstrip(".")

    def _blocks(self, node: Any, kind: str) -> Any:
        found: list[Any] = []
        while count := self.long():
            if count < 0:
                self.long()
            for _ in range(abs(count)):
                key = self.take(self.long()).decode() if kind == "map" else ""
                found.append((key, self.value(node["values" if kind == "map" else "items"])))
        return dict(found) if kind == "map" else [each for _, each in found]


def branched(node: Any, data: bytes, namespaces: dict[str, str] | None = None) -> Any:
    """Return the value of a message, with the branch of each value of a union: its full name in other namespaces."""
    read = _Bytes(data, namespaces or {})
    made = read.value(node)
    assert read.place == len(data)
    return made
