"""Which names a schema text declares and which it uses, found without parsing the schema.

This is what finding the files that a schema refers to takes, in trees where most files are never parsed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.avro.types import PRIMITIVE_KINDS, Kind
from counterfoil.schema.json_text import read_json

_NAMED = frozenset({Kind.RECORD.value, "error", Kind.ENUM.value, Kind.FIXED.value})
_BUILT_IN = frozenset(kind.value for kind in PRIMITIVE_KINDS) | _NAMED | {Kind.ARRAY.value, Kind.MAP.value}


@dataclass(frozen=True, slots=True)
class Outline:
    """The names in a schema text.

    ``name`` is the full name of the top-level type, None where it has none. ``declared`` are all full names declared
    inside. ``used`` are the names used and not declared inside, each as the full names it may stand for, best first.
    """

    name: str | None
    declared: frozenset[str]
    used: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=8192)
def outline(text: str) -> Outline | None:
    """The names in ``text``; None where it is not JSON or too deep to walk."""
    walk = _Walk()
    try:
        node = read_json(text)
        walk.visit(node, "")
    except (SchemaParseError, RecursionError):
        return None
    used = tuple(names for names in walk.used if not walk.declared.intersection(names))
    return Outline(name=_top_level_name(node), declared=frozenset(walk.declared), used=used)


@dataclass(slots=True)
class _Walk:
    declared: set[str] = field(default_factory=set)
    used: dict[tuple[str, ...], None] = field(default_factory=dict)

    def visit(self, node: Any, namespace: str) -> None:
        """Collect the names at and below ``node``, which stands in ``namespace``."""
        if isinstance(node, str):
            self._use(node, namespace)
        elif isinstance(node, list):
            for branch in node:
                self.visit(branch, namespace)
        elif isinstance(node, dict):
            self._visit_object(node, namespace)

    def _visit_object(self, node: dict[str, Any], namespace: str) -> None:
        kind = node.get("type")
        if _is_named(node):
            full_name = _full_name(node, namespace)
            self.declared.add(full_name)
            namespace = full_name.rpartition(".")[0]
        elif not isinstance(kind, str) or kind not in _BUILT_IN:
            self.visit(kind, namespace)
        for inner in (node.get("items"), node.get("values")):
            self.visit(inner, namespace)
        fields = node.get("fields")
        for declared in fields if isinstance(fields, list) else ():
            if isinstance(declared, dict):
                self.visit(declared.get("type"), namespace)

    def _use(self, name: str, namespace: str) -> None:
        if name in _BUILT_IN:
            return
        qualified = f"{namespace}.{name}" if namespace and "." not in name else name
        self.used[(qualified,) if qualified == name else (qualified, name)] = None


def _full_name(node: dict[str, Any], namespace: str) -> str:
    name = str(node["name"])
    if "." in name:
        return name
    own = node.get("namespace", namespace)
    return f"{own}.{name}" if own and isinstance(own, str) else name


def _top_level_name(node: Any) -> str | None:
    return _full_name(node, "") if isinstance(node, dict) and _is_named(node) else None


def _is_named(node: dict[str, Any]) -> bool:
    kind = node.get("type")
    return isinstance(kind, str) and kind in _NAMED and isinstance(node.get("name"), str)
