"""Names that are used before the type is declared.

The specification requires the declaration before the use, in the order of the text. The reference accepts either order,
and prints the declaration where the name is used first.

Source: Apache Avro 1.12 for Java, whose parser resolves names at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from counterfoil.schema.formats.avro.read.names import split_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.types import Json
    from counterfoil.schema.pointer import Pointer

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


class Declaration(NamedTuple):
    """The declaration of a named type: the JSON object, the namespace around it, and its JSON Pointer."""

    value: dict[str, Any]
    namespace: str | None
    pointer: Pointer


def find_declarations(document: Json) -> dict[str, Declaration]:
    """Return the declarations of all named types in ``document``, by full name; of several of one name the first."""
    found: dict[str, Declaration] = {}
    waiting: list[tuple[Json, str | None, Pointer]] = [(document, None, ())]
    while waiting:
        value, namespace, pointer = waiting.pop()
        if isinstance(value, list):
            waiting += [(item, namespace, (*pointer, index)) for index, item in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            inner = namespace
            kind = value.get("type")
            if isinstance(kind, str) and kind in _NAMED and isinstance(value.get("name"), str):
                inner = _declared(Declaration(value, namespace, pointer), found)
            waiting += reversed([(part, inner, pointer + steps) for steps, part in _parts(value)])
    return found


def _declared(declaration: Declaration, found: dict[str, Declaration]) -> str | None:
    """Add a declaration to ``found``, and return the namespace inside it."""
    own = declaration.value.get("namespace")
    name, space = split_name(declaration.value["name"], own if isinstance(own, str) else declaration.namespace)
    found.setdefault(f"{space}.{name}" if space else name, declaration)
    return space


def _parts(value: dict[str, Any]) -> Iterator[tuple[Pointer, Json]]:
    """Yield the types inside a declaration, each with the steps to it."""
    fields = value.get("fields")
    for index, field in enumerate(fields if isinstance(fields, list) else ()):
        if isinstance(field, dict):
            yield ("fields", index, "type"), field.get("type")
    for key in ("items", "values"):
        yield (key,), value.get(key)
