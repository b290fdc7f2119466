"""Parsing of an Avro schema text to a type tree.

It accepts and refuses the same texts as the reference registry. A text may use types of its references; these are read
first, in the order given, and their types are shared.

Source: Apache Avro 1.12 specification, "Schema Declaration".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.avro.read.attributes import SchemaFault
from counterfoil.schema.formats.avro.read.declarations import TypeReader
from counterfoil.schema.formats.avro.read.depth import MAX_TYPE_DEPTH, clear_pointers, is_too_deep
from counterfoil.schema.formats.avro.read.leaves import SHARED
from counterfoil.schema.formats.avro.schema import AvroSchema
from counterfoil.schema.jsontext.document import read_json
from counterfoil.schema.parsed import Validation, invalid_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.avro.read.leaves import Leaves
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.model import ResolvedReference


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
