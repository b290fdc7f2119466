"""A parsed Avro schema: parsing, the type tree with its texts, warnings, and the limit of its depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.jsontext import TextIndex, read_json
from counterfoil.schema.languages.avro.attributes import LOGICAL_TYPE_NAMES, SchemaFault, is_usable_default, show
from counterfoil.schema.languages.avro.declarations import TypeReader
from counterfoil.schema.languages.avro.printing import equivalence_key, print_canonical, print_normalized
from counterfoil.schema.languages.avro.types import (
    SHARED,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    Leaves,
    NamedType,
)
from counterfoil.schema.model import ResolvedReference, SchemaType
from counterfoil.schema.parsed import ParsedSchema, SchemaWarning, Validation, invalid_reference
from counterfoil.schema.texts import Pointer, Position

if TYPE_CHECKING:
    from counterfoil.schema.paths import FieldPath, PathTarget

# Warnings about what the Avro specification forbids or ignores although the reference registry accepts it.
#
# Source: Apache Avro 1.12 specification, "Complex Types" (defaults) and "Logical Types".


def find_warnings(root: AvroType) -> list[SchemaWarning]:
    """Return defaults that no reader can use, and logical types that every reader ignores, in the order of the text."""
    return list(_warnings(root, set()))


def _warnings(root: AvroType, seen: set[int]) -> Iterator[SchemaWarning]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield from _ignored(node)
        match node:
            case AvroRecord():
                yield from _unusable(node)
                waiting += [field.type for field in reversed(node.fields)]
            case AvroArray():
                waiting.append(node.items)
            case AvroMap():
                waiting.append(node.values)
            case AvroUnion():
                waiting += reversed(node.branches)


def _ignored(node: AvroType) -> Iterator[SchemaWarning]:
    name = node.properties.get("logicalType")
    if node.logical_type is None and isinstance(name, str) and name in LOGICAL_TYPE_NAMES:
        text = f"The logical type {name} is not valid on this {node.kind}, so that readers ignore it"
        yield SchemaWarning("ignored-logical-type", text, node.pointer)


def _unusable(record: AvroRecord) -> Iterator[SchemaWarning]:
    for field in record.fields:
        if field.has_default and not is_usable_default(field.type, field.default):
            text = f"The default {show(field.default)} of field {field.name} is no value of its type"
            yield SchemaWarning("unusable-default", text, (*field.pointer, "default"))


# A parsed Avro schema: the type tree and its texts.


class AvroSchema(ParsedSchema):
    """A parsed Avro schema.

    ``root`` is the type that the text declares; ``named`` maps full names to the types that the text and its references
    declare; ``supplied`` has the full names of those that references declare.
    """

    schema_type = SchemaType.AVRO

    def __init__(
        self, text: str, root: AvroType, named: Mapping[str, NamedType], *, supplied: frozenset[str] = frozenset()
    ) -> None:
        self.text = text
        self.root = root
        self.named: Mapping[str, NamedType] = MappingProxyType(dict(named))
        self.supplied = supplied

    @property
    def name(self) -> str | None:
        """The full name of the top-level type; None for a type without a name."""
        return self.root.full_name if isinstance(self.root, (AvroRecord, AvroEnum, AvroFixed)) else None

    @property
    def stands_alone(self) -> bool:
        """Whether the schema has no references."""
        return not self.supplied

    def canonical(self) -> str:
        """Return the text that a registry stores and returns; types of references are not declared in it."""
        return self._canonical

    def normalized(self) -> str:
        """Return the text with everything without meaning in a fixed order (``normalize=true``).

        Raises ``SchemaParseError`` for the few schemas that have no normal form, such as one with a property that has a
        number beyond 64 bits.
        """
        return self._normalized

    def resolved(self) -> str:
        """Return the canonical text with the declarations of all types of references in it (``format=resolved``)."""
        return print_canonical(self.root)

    def formatted(self, form: str) -> str | None:
        return self.resolved() if form == "resolved" else None

    def field_names(self) -> Sequence[str]:
        return tuple(field.name for field in self.root.fields) if isinstance(self.root, AvroRecord) else ()

    def is_equivalent(self, other: ParsedSchema) -> bool:
        """Return whether both are the same apart from attribute order; docs, aliases and enum defaults count."""
        if not isinstance(other, AvroSchema):
            return False
        if not self.supplied and not other.supplied and len(self.canonical()) != len(other.canonical()):
            return False  # another order has the same length: checked before the costly keys are computed
        return self.equivalence_key == other.equivalence_key

    @cached_property
    def equivalence_key(self) -> str:
        """A text that is the same for equivalent schemas, as a key."""
        return equivalence_key(self.root)

    def locate(self, pointer: Pointer) -> Position | None:
        return self._index.locate(pointer)

    def path_at(self, pointer: Pointer) -> FieldPath:
        from counterfoil.schema.languages.avro.paths import path_at

        return path_at(self.root, pointer)

    def target_of(self, path: FieldPath) -> PathTarget:
        from counterfoil.schema.languages.avro.paths import target_of

        return target_of(self.root, path)

    def warnings(self) -> Sequence[SchemaWarning]:
        return find_warnings(self.root)

    @cached_property
    def _index(self) -> TextIndex:
        return TextIndex(self.text)

    @cached_property
    def _canonical(self) -> str:
        return print_canonical(self.root, supplied=self.supplied)

    @cached_property
    def _normalized(self) -> str:
        supplied = {name: self.named[name] for name in self.supplied}
        try:
            return print_normalized(self.root, supplied=supplied)
        except SchemaFault as fault:
            raise fault.located(self.text) from None


# Walks over a type tree without recursion: the check of its depth, and the removal of pointers into another text.
#
# Every other walk is recursive and visits each record once. A text of little depth can still declare a chain of
# thousands of records, each with a field of the one before, and references put texts into texts; the limit keeps all
# such walks inside Python's stack.

MAX_TYPE_DEPTH: Final = 120
"""The largest number of nested types: an array of a map of a record is three."""


def is_too_deep(root: AvroType) -> bool:
    """Return whether a walk from ``root`` that visits each record once is deeper than ``MAX_TYPE_DEPTH``."""
    seen: set[int] = set()
    stack = [iter((root,))]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
        elif id(node) not in seen:
            seen.add(id(node))
            if len(stack) > MAX_TYPE_DEPTH:
                return True
            stack.append(iter(_inner_types(node)))
    return False


def clear_pointers(nodes: Iterable[NamedType]) -> None:
    """Empty the JSON Pointers of these types and everything in them, since their text is not the schema's own."""
    waiting: list[AvroType] = list(nodes)
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        node.pointer = ()
        if isinstance(node, AvroRecord):
            for member in node.fields:
                member.pointer = ()
        waiting.extend(_inner_types(node))


def _inner_types(node: AvroType) -> Sequence[AvroType]:
    if isinstance(node, AvroRecord):
        return [member.type for member in node.fields]
    if isinstance(node, AvroUnion):
        return node.branches
    if isinstance(node, AvroArray):
        return (node.items,)
    return (node.values,) if isinstance(node, AvroMap) else ()


# Parsing of an Avro schema text to a type tree.
#
# It accepts and refuses the same texts as the reference registry. A text may use types of its references; these are
# read first, in the order given, and their types are shared.
#
# Source: Apache Avro 1.12 specification, "Schema Declaration".


def parse_avro(
    text: str,
    references: Sequence[ResolvedReference] = (),
    *,
    validation: Validation = Validation.STRICT,
) -> AvroSchema:
    """Return the schema that ``text`` declares.

    ``references`` are in dependency order: each may use the types of those before it. ``validation`` decides whether
    names and field defaults are checked. Raises ``SchemaParseError`` with line, column, JSON Pointer and what was
    expected; for a fault inside a reference, with the reference's subject and version.
    """
    reader = TypeReader(
        checks_names=validation is not Validation.LENIENT,
        checks_defaults=validation in (Validation.STRICT, Validation.FILE),
    )
    for reference in references:
        _read_reference(reader, reference)
    supplied = frozenset(reader.named)
    clear_pointers(reader.named.values())
    root = _read(reader, text, leaves=SHARED)
    if _may_be_deep([text, *(reference.text for reference in references)]) and is_too_deep(root):
        raise _too_deep()
    return AvroSchema(text, root, reader.named, supplied=supplied)


def _read(reader: TypeReader, text: str, *, leaves: Leaves | None = None) -> AvroType:
    document = read_json(text)
    try:
        return reader.read_document(document, leaves=leaves)
    except SchemaFault as fault:
        raise fault.located(text) from None
    except RecursionError:  # each name that is used before its declaration nests the reading deeper
        raise _too_deep() from None


def _read_reference(reader: TypeReader, reference: ResolvedReference) -> None:
    try:
        _read(reader, reference.text)
    except SchemaParseError as error:
        raise invalid_reference(reference, error) from error


def _too_deep() -> SchemaParseError:
    return SchemaParseError("types lie too deep in each other", expected=f"at most {MAX_TYPE_DEPTH} levels")


def _may_be_deep(texts: Sequence[str]) -> bool:
    """Return whether the texts have enough brackets to be nested too deeply.

    Every level needs a bracket, and counting is much cheaper than a walk.
    """
    return sum(text.count("{") + text.count("[") for text in texts) > MAX_TYPE_DEPTH
