"""A parsed JSON schema: parsing, whether a document is valid, the document with its references and texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext import TextIndex, locate
from counterfoil.schema.languages.jsonschema.document import Base, ReferenceResolver, UnresolvedReference, draft_of
from counterfoil.schema.languages.jsonschema.json_values import print_exact, read_exact_json
from counterfoil.schema.languages.jsonschema.keyword_checks import KeywordShape, has_shape, shapes_of
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, SchemaWarning, Validation, invalid_reference
from counterfoil.schema.patterns.matching import fault_of_pattern
from counterfoil.schema.texts import Pointer, Position, excerpt, print_pointer

if TYPE_CHECKING:
    from counterfoil.schema.paths import FieldPath, PathTarget

# A parsed JSON schema: the document, its references, and its texts.


class JsonSchema(ParsedSchema):
    """A parsed JSON schema.

    ``document`` is its value: dict, list, str, bool, None, int, and Decimal for numbers with a point or an exponent,
    keys in the order of the text. ``draft`` is its draft. ``references`` has the documents of its references, by name.
    """

    schema_type = SchemaType.JSON

    def __init__(self, text: str, document: object, references: Mapping[str, object] | None = None) -> None:
        self.text = text
        self.document = document
        self.draft = draft_of(document)
        self.references: Mapping[str, Json] = MappingProxyType(dict(references or {}))

    @property
    def name(self) -> str | None:
        """The schema's title; None if it has none."""
        title = self.document.get("title") if isinstance(self.document, dict) else None
        return title if isinstance(title, str) else None

    @property
    def base(self) -> Base:
        """The position of the document's root, against which references are resolved."""
        return self.resolver.root

    @cached_property
    def resolver(self) -> ReferenceResolver:
        """The resolver, with every document, ``$id`` and anchor of the schema."""
        return ReferenceResolver(self.document, self.references, self.draft)

    @property
    def stands_alone(self) -> bool:
        """Whether the schema has no references."""
        return not self.references

    def canonical(self) -> str:
        """Return the text that a registry stores and returns: compact, keys in the given order."""
        return self._canonical

    def normalized(self) -> str:
        """Return the canonical text with the keys of every object sorted (``normalize=true``)."""
        return self._normalized

    def field_names(self) -> Sequence[str]:
        properties = self.document.get("properties") if isinstance(self.document, dict) else None
        return tuple(properties) if isinstance(properties, dict) else ()

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether both have the same canonical text; the order of keys counts, as in the reference registry."""
        return isinstance(other, JsonSchema) and self._canonical == other.canonical()

    def warnings(self) -> Sequence[SchemaWarning]:
        from counterfoil.schema.languages.jsonschema.keyword_checks import find_warnings

        return find_warnings(self.document, self.resolver)

    def locate(self, pointer: Pointer) -> Position | None:
        return self._index.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.languages.jsonschema.paths import path_at

        return path_at(pointer)

    def target_of(self, path: FieldPath) -> PathTarget:
        from counterfoil.schema.languages.jsonschema.paths import target_of

        return target_of(self.document, self.resolver, path)

    @cached_property
    def _index(self) -> TextIndex:
        return TextIndex(self.text)

    @cached_property
    def _canonical(self) -> str:
        return print_exact(self.document)

    @cached_property
    def _normalized(self) -> str:
        return print_exact(self.document, sort_keys=True)


# Whether a document is a valid JSON schema: keywords of the right shape, references with a target.
#
# Only schemas that are reachable from the root are checked, as in the reference registry; each schema is checked once,
# so that recursive references end. The check is not recursive, so that depth costs no stack.

_SCHEMA = (KeywordShape.SCHEMA, KeywordShape.FLAG_OR_SCHEMA, KeywordShape.SCHEMA_OR_SCHEMAS)
_MAPS = (KeywordShape.SCHEMA_MAP, KeywordShape.DEFINITIONS, KeywordShape.PATTERN_MAP, KeywordShape.DEPENDENCIES)
_LISTS = (KeywordShape.SCHEMAS, KeywordShape.SCHEMA_OR_SCHEMAS)


def check_validity(schema: JsonSchema) -> None:
    """Raise ``SchemaParseError`` with line, column and pointer for the first invalid keyword."""
    _Check(schema).run()


class _Check:
    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._waiting: list[tuple[Json, Base]] = [(schema.document, schema.base)]
        self._seen: set[int] = set()

    def run(self) -> None:
        self._check_draft()
        while self._waiting:
            value, base = self._waiting.pop()
            if not isinstance(value, dict):
                if not isinstance(value, bool):
                    raise self._fault(base, "it is no schema", KeywordShape.SCHEMA.value)
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

    def _next_of(self, value: JsonObject, base: Base) -> Iterator[tuple[Json, Base]]:
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

    def _referred(self, reference: object, keyword: str, base: Base) -> Iterator[tuple[Json, Base]]:
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

    def _wrong_shape(self, held: object, shape: KeywordShape, at: Base) -> SchemaParseError:
        """Return the fault of a value, with the place as exact as possible."""
        keyword = at.pointer[-1]
        if shape in _MAPS and isinstance(held, dict):
            for name, item in held.items():
                if shape is KeywordShape.PATTERN_MAP and (why := fault_of_pattern(name)):
                    return self._fault(at.below(name), f"{_shown(name)} is no regular expression: {why}", shape.value)
                if not has_shape({name: item}, shape, at.draft):
                    return self._fault(
                        at.below(name), f"{name} in {keyword} is {_shown(item)}", KeywordShape.SCHEMA.value
                    )
        if shape in _LISTS and isinstance(held, list):
            for index, item in enumerate(held):
                if not has_shape([item], shape, at.draft):
                    return self._fault(
                        at.below(index), f"an entry of {keyword} is {_shown(item)}", KeywordShape.SCHEMA.value
                    )
        why = fault_of_pattern(held) if shape is KeywordShape.PATTERN and isinstance(held, str) else None
        return self._fault(at, f"{keyword} is {_shown(held)}{f': {why}' if why else ''}", shape.value)

    def _fault(self, at: Base, problem: str, expected: str) -> SchemaParseError:
        path = print_pointer(at.pointer)
        if at.document:
            return SchemaParseError(f"in {at.document!r}: {problem}", path=path, expected=expected)
        position = locate(self._schema.text, at.pointer)
        return SchemaParseError(problem, position=position, path=path, expected=expected)


def _children(held: object, shape: KeywordShape) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if shape in _LISTS and isinstance(held, list):
        yield from (((index,), item) for index, item in enumerate(held))
    elif shape in _MAPS and isinstance(held, dict):
        yield from (((name,), item) for name, item in held.items() if isinstance(item, dict | bool))
    elif shape in _SCHEMA:
        yield (), held


def _shown(value: object) -> str:
    from counterfoil.schema.languages.jsonschema.json_values import print_exact

    return excerpt(print_exact(value))


# Parsing of a text to a :class:`JsonSchema`.


def parse_json_schema(
    text: str, references: Sequence[ResolvedReference] = (), *, validation: Validation = Validation.STRICT
) -> JsonSchema:
    """Return the schema that ``text`` declares.

    ``references`` supply documents by name. ``validation`` decides whether keywords and references are checked. Raises
    ``SchemaParseError`` with line, column, JSON Pointer and what was expected; for a fault inside a reference, with the
    reference's subject and version.
    """
    document = _read(text)
    supplied = {reference.reference.name: _read_reference(reference) for reference in references}
    schema = JsonSchema(text, document, supplied)
    if validation is not Validation.LENIENT:
        check_validity(schema)
    return schema


def _read(text: str) -> Json:
    document = read_exact_json(text)
    if not isinstance(document, dict | bool):
        raise SchemaParseError(
            "a schema cannot be of this type", position=locate(text, ()), expected="an object, true or false"
        )
    return document


def _read_reference(reference: ResolvedReference) -> Json:
    try:
        return _read(reference.text)
    except SchemaParseError as error:
        raise invalid_reference(reference, error) from error
