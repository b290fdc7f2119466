"""Reading of a schema's text, or of its descriptor in base64, as a syntax tree.

A text that is not a ``.proto`` file may be a ``FileDescriptorProto``, or a ``FileDescriptorSet`` whose last file is the
schema and whose others are imports, in base64.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import SchemaParseError
from counterfoil.schema.formats.protobuf.print.printing import print_file
from counterfoil.schema.formats.protobuf.read.parser import parse_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile

MAX_CHARACTERS: Final = 4_000_000
"""The largest length of a text. Registries store schemas in Kafka records, by default up to a quarter of that size."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]++={0,2}\s*+")
_SHORTEST: Final = 4


@dataclass(frozen=True, slots=True)
class ReadText:
    """A syntax tree, and the files that were in the same descriptor set, by import path."""

    file: ProtoFile
    imports: Mapping[str, ProtoFile] = field(default_factory=dict)


def read_text(text: str, *, path: str = "") -> ReadText:
    """Return the tree of a text, which is a ``.proto`` file or a descriptor in base64.

    Raises ``SchemaParseError`` with line and column.
    """
    _check_size(text)
    _check_characters(text)
    if is_descriptor(text):
        found = _read_base64(text, path)
        if found is not None:
            return found
    file = parse_file(text, path=path)
    if _is_empty(file):
        raise SchemaParseError("the text declares nothing", expected="a file of Protobuf")
    return ReadText(file)


def is_descriptor(text: str) -> bool:
    """Return whether a text is a descriptor in base64: a ``.proto`` file with a declaration has other characters."""
    return len(text) >= _SHORTEST and _BASE64.fullmatch(text) is not None


def _check_size(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        raise SchemaParseError(
            f"the text has {len(text):,} characters", expected=f"at most {MAX_CHARACTERS:,}, more than a log can hold"
        )


def _check_characters(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SchemaParseError(
            f"half a surrogate pair at character {error.start + 1}", expected="text that UTF-8 can carry"
        ) from None


def _is_empty(file: ProtoFile) -> bool:
    heads = (file.syntax, file.edition, file.package, file.imports, file.options)
    return not any((*heads, file.messages, file.enums, file.extends, file.services))


def _read_base64(text: str, path: str) -> ReadText | None:
    try:
        data = b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    from counterfoil.schema.formats.protobuf.describe.descriptor_input import files_of_descriptor

    try:
        files = files_of_descriptor(data)
        if not files:
            return None
        *others, last = files
        # Printed and parsed again, so that every node has a position and the tree is that of the stored text.
        imports = {each.path: parse_file(print_file(each), path=each.path) for each in others}
        return ReadText(parse_file(print_file(last), path=path), imports)
    except SchemaParseError as error:
        problem, expected = error.problem, error.expected
    except (ValueError, KeyError) as error:  # names that are not UTF-8, map entries without a key
        problem, expected = str(error), "a whole descriptor"
    raise SchemaParseError(f"the descriptor declares what no file can: {problem}", expected=expected)
