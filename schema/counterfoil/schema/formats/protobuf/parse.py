"""Parsing of a Protobuf schema's text and those of its references."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.describe.reading import read_text
from counterfoil.schema.formats.protobuf.describe.resolution import resolve_imports
from counterfoil.schema.formats.protobuf.read.validity import check_valid
from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.model import ResolvedReference


def parse_protobuf(
    text: str, references: Sequence[ResolvedReference] = (), *, validation: Validation = Validation.STRICT
) -> ProtobufSchema:
    """Return the schema that ``text`` declares: a ``.proto`` file, or a descriptor in base64.

    ``references`` are resolved, each with the path under which files import it as its name. Raises ``SchemaParseError``
    with line and column; unless validation is lenient, also for types that are not found and names declared twice, and
    for groups and defaults that registries do not accept, unless it is that of files.

    >>> parse_protobuf('syntax="proto3"; message A { int32 n=1; }').name
    'A'
    """
    read = read_text(text)
    imports = resolve_imports(read, references)
    by_name = {each.reference.name: each.reference for each in references}
    schema = ProtobufSchema(text, read.file, imports=imports, references=by_name)
    if validation is not Validation.LENIENT:
        check_valid(schema, can_be_stored=validation is not Validation.FILE)
    return schema
