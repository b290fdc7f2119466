"""Whether a document is a valid JSON schema: keywords of the right shape, references with a target.

Only schemas that are reachable from the root are checked, as in the reference registry; each schema is checked once, so
that recursive references end. The check is not recursive, so that depth costs no stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.excerpt import excerpt
from counterfoil.schema.formats.jsonschema.read.patterns import fault_of_pattern
from counterfoil.schema.formats.jsonschema.read.resolve import UnresolvedReference
from counterfoil.schema.formats.jsonschema.read.shapes import Shape, has_shape, shapes_of
from counterfoil.schema.jsontext.document import locate
from counterfoil.schema.pointer import print_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.jsonschema.read.resolve import Base
    from counterfoil.schema.formats.jsonschema.schema import JsonSchema

_SCHEMA = (Shape.SCHEMA, Shape.FLAG_OR_SCHEMA, Shape.SCHEMA_OR_SCHEMAS)
_MAPS = (Shape.SCHEMA_MAP, Shape.DEFINITIONS, Shape.PATTERN_MAP, Shape.DEPENDENCIES)
_LISTS = (Shape.SCHEMAS, Shape.SCHEMA_OR_SCHEMAS)


def check_validity(schema: JsonSchema) -> None:
    """Raise ``SchemaParseError`` with line, column and pointer for the first invalid keyword."""
    _Check(schema).run()


class _Check:
    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._waiting: list[tuple[Any, Base]] = [(schema.document, schema.base)]
        self._seen: set[int] = set()

    def run(self) -> None:
        self._check_draft()
        while self._waiting:
            value, base = self._waiting.pop()
            if not isinstance(value, dict):
                if not isinstance(value, bool):
                    raise self._fault(base, "it is no schema", Shape.SCHEMA.value)
                continue
            if id(value) in self._seen:
                continue
            self._seen.add(id(value))
            self._waiting.extend(reversed([*self._next_of(value, base)]))

    def _check_draft(self) -> None:
        """Check the document's own ``$schema``; the reference registry does not check it inside the document."""
        document, base = self._schema.document, self._schema.base
        named = document.get("$schema") if isinstance(document, dict) else None
        if named is not None and not isinstance(named, str):
            raise self._fault(base.below("$schema"), f"$schema is {_shown(named)}", "a string: the URI of a draft")

    def _next_of(self, value: dict[str, Any], base: Base) -> Iterator[tuple[Any, Base]]:
        """Yield the schemas in ``value`` and of its reference, after checking its own keywords."""
        for keyword in ("$ref", "$dynamicRef") if base.draft.is_modern else ("$ref",):
            if keyword in value:
                yield from self._referred(value[keyword], keyword, base)
                if not base.draft.is_modern:
                    return
        shapes = shapes_of(value, base.draft)
        for keyword, held in value.items():
            shape = shapes.get(keyword)
            if shape is None:
                continue
            if not has_shape(held, shape, base.draft):
                raise self._wrong_shape(held, shape, base.below(keyword))
            for steps, child in _children(held, shape) if isinstance(held, dict | list) else ():
                yield child, self._schema.resolver.enter(child, base.below(keyword, *steps))

    def _referred(self, reference: Any, keyword: str, base: Base) -> Iterator[tuple[Any, Base]]:
        if not isinstance(reference, str):
            raise self._fault(base.below(keyword), f"{keyword} is {_shown(reference)}", "a string")
        try:
            yield self._schema.resolver.resolve(reference, base)
        except UnresolvedReference as unresolved:
            is_anchor = reference.startswith("#") and not reference.startswith("#/")
            if is_anchor and not base.draft.is_modern:
                return  # the reference registry accepts an unknown anchor; it has no effect
            known = ", ".join(unresolved.known) or "none, for no references were given"
            raise self._fault(
                base.below(keyword),
                f"the reference {reference!r} leads nowhere",
                f"a place in this document, or one of the names of its references ({known})",
            ) from unresolved

    def _wrong_shape(self, held: Any, shape: Shape, at: Base) -> SchemaParseError:
        """Return the fault of a value, with the place as exact as possible."""
        keyword = at.pointer[-1]
        if shape in _MAPS and isinstance(held, dict):
            for name, item in held.items():
                if shape is Shape.PATTERN_MAP and (why := fault_of_pattern(name)):
                    return self._fault(at.below(name), f"{_shown(name)} is no regular expression: {why}", shape.value)
                if not has_shape({name: item}, shape, at.draft):
                    return self._fault(at.below(name), f"{name} in {keyword} is {_shown(item)}", Shape.SCHEMA.value)
        if shape in _LISTS and isinstance(held, list):
            for index, item in enumerate(held):
                if not has_shape([item], shape, at.draft):
                    return self._fault(at.below(index), f"an entry of {keyword} is {_shown(item)}", Shape.SCHEMA.value)
        why = fault_of_pattern(held) if shape is Shape.PATTERN and isinstance(held, str) else None
        return self._fault(at, f"{keyword} is {_shown(held)}{f': {why}' if why else ''}", shape.value)

    def _fault(self, at: Base, problem: str, expected: str) -> SchemaParseError:
        path = print_pointer(at.pointer)
        if at.document:
            return SchemaParseError(f"in {at.document!r}: {problem}", path=path, expected=expected)
        position = locate(self._schema.text, at.pointer)
        return SchemaParseError(problem, position=position, path=path, expected=expected)


def _children(held: Any, shape: Shape) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if shape in _LISTS and isinstance(held, list):
        yield from (((index,), item) for index, item in enumerate(held))
    elif shape in _MAPS and isinstance(held, dict):
        yield from (((name,), item) for name, item in held.items() if isinstance(item, dict | bool))
    elif shape in _SCHEMA:
        yield (), held


def _shown(value: Any) -> str:
    from counterfoil.schema.formats.jsonschema.read.canonical import print_exact

    return excerpt(print_exact(value))
