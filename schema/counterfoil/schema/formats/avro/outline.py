"""The outline of an Avro schema: the named types that it declares, and those that it uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.avro.types import PRIMITIVE_KINDS, Kind
from counterfoil.schema.jsontext.document import read_json
from counterfoil.schema.outline import Outline, Use

if TYPE_CHECKING:
    from counterfoil.schema.pointer import Pointer

_NAMED = frozenset({Kind.RECORD.value, "error", Kind.ENUM.value, Kind.FIXED.value})
_BUILT_IN = frozenset(kind.value for kind in PRIMITIVE_KINDS) | _NAMED | {Kind.ARRAY.value, Kind.MAP.value}


def outline(text: str) -> Outline | None:
    """Return the full names that an Avro schema declares and uses; None if it is not JSON or nested too deeply."""
    walk = _Walk()
    try:
        node = read_json(text)
        walk.visit(node, "", ())
    except (SchemaParseError, RecursionError):
        return None
    used = tuple(Use(names, pointer) for names, pointer in walk.used.items() if not walk.declared.intersection(names))
    return Outline(name=_top_level_name(node), declared=frozenset(walk.declared), used=used)


@dataclass(slots=True)
class _Walk:
    """The walk over a document; ``used`` has the possible names of each use, and the JSON Pointer of the first one."""

    declared: set[str] = field(default_factory=set)
    used: dict[tuple[str, ...], Pointer] = field(default_factory=dict)

    def visit(self, node: Any, namespace: str, pointer: Pointer) -> None:
        """Collect the names at and below ``node``, which is at ``pointer`` inside ``namespace``."""
        if isinstance(node, str):
            self._use(node, namespace, pointer)
        elif isinstance(node, list):
            for index, branch in enumerate(node):
                self.visit(branch, namespace, (*pointer, index))
        elif isinstance(node, dict):
            self._visit_object(node, namespace, pointer)

    def _visit_object(self, node: dict[str, Any], namespace: str, pointer: Pointer) -> None:
        kind = node.get("type")
        if _is_named(node):
            full_name = _full_name(node, namespace)
            self.declared.add(full_name)
            namespace = full_name.rpartition(".")[0]
        elif not isinstance(kind, str) or kind not in _BUILT_IN:
            self.visit(kind, namespace, (*pointer, "type"))
        for key in ("items", "values"):
            self.visit(node.get(key), namespace, (*pointer, key))
        fields = node.get("fields")
        for index, declared in enumerate(fields if isinstance(fields, list) else ()):
            if isinstance(declared, dict):
                self.visit(declared.get("type"), namespace, (*pointer, "fields", index, "type"))

    def _use(self, name: str, namespace: str, pointer: Pointer) -> None:
        if name in _BUILT_IN:
            return
        qualified = f"{namespace}.{name}" if namespace and "." not in name else name
        self.used.setdefault((qualified,) if qualified == name else (qualified, name), pointer)


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
