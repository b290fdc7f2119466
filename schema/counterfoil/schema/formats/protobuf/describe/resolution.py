"""The files that a schema imports: from its references, from its descriptor set, or built in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.protobuf.describe.known_files import known_file
from counterfoil.schema.formats.protobuf.describe.reading import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.formats.protobuf.describe.reading import ReadText
    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile
    from counterfoil.schema.model import ResolvedReference


def resolve_imports(read: ReadText, references: Sequence[ResolvedReference]) -> Mapping[str, ProtoFile]:
    """Return every file that the schema imports, directly or not, by import path.

    A reference is found by its name, which is the import path; it takes precedence over a file of the descriptor set,
    and that over a built-in file. A path without a file is left out. Raises ``SchemaParseError`` with the name of the
    reference if its text cannot be parsed.
    """
    files = dict(read.imports)
    for reference in references:
        files[reference.reference.name] = _read_reference(reference)
    found: dict[str, ProtoFile] = {}
    waiting = [item.path for item in read.file.imports]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        file = files[path] if path in files else known_file(path)
        if file is not None:
            found[path] = file
            waiting.extend(item.path for item in file.imports)
    return found


def _read_reference(reference: ResolvedReference) -> ProtoFile:
    name = reference.reference.name
    try:
        return read_text(reference.text, path=name).file
    except SchemaParseError as error:
        subject, version = reference.reference.subject, reference.reference.version
        raise SchemaParseError(
            f"in the reference {name!r} (subject {subject}, version {version}): {error.problem}",
            position=error.position,
            path=error.path,
            expected=error.expected,
        ) from None
