"""Parsing of ``.proto`` text as a syntax tree.

Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.protobuf.read.declarations import DeclarationReader, read_name, read_option_statement
from counterfoil.schema.languages.protobuf.read.syntax_tree import ImportKind, ProtoFile, ProtoImport, Rpc, Service
from counterfoil.schema.languages.protobuf.read.tokens import Cursor, read_string, read_text, read_word

if TYPE_CHECKING:
    from counterfoil.schema.languages.protobuf.read.syntax_tree import Extend, ProtoEnum, ProtoMessage, ProtoOption
    from counterfoil.schema.texts import Pointer, Position


SYNTAXES: Final = ("proto2", "proto3")
EDITIONS: Final = ("2023", "2024")

_IMPORT_KINDS: Final = {kind.value: kind for kind in ImportKind if kind.value}


def parse_file(text: str, *, path: str = "") -> ProtoFile:
    """Return the tree of a ``.proto`` text.

    ``path`` is the path under which other files import it. Names are not resolved. Raises ``SchemaParseError`` with
    line and column.
    """
    return _FileReader(text).read(path)


class _FileReader:
    """A parser of one file."""

    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._syntax: str | None = None
        self._edition: str | None = None
        self._package = ""
        self._package_position: Position | None = None
        self._imports: list[ProtoImport] = []
        self._options: list[ProtoOption] = []
        self._messages: list[ProtoMessage] = []
        self._enums: list[ProtoEnum] = []
        self._extends: list[Extend] = []
        self._services: list[Service] = []
        self._readers = {
            "package": self._read_package,
            "import": self._read_import,
            "option": self._read_option,
            "message": self._read_message,
            "enum": self._read_enum,
            "extend": self._read_extend,
            "service": self._read_service,
        }

    def read(self, path: str) -> ProtoFile:
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        self._read_syntax()
        self._declarations = DeclarationReader(cursor, syntax=self._syntax, edition=self._edition)
        while cursor.word:
            self._read_declaration()
        return ProtoFile(
            path,
            self._syntax,
            self._edition,
            self._package,
            tuple(self._imports),
            tuple(self._options),
            tuple(self._messages),
            tuple(self._enums),
            tuple(self._extends),
            tuple(self._services),
            position,
            (),
            doc,
            self._package_position,
        )

    def _read_syntax(self) -> None:
        cursor = self._cursor
        if cursor.word not in {"syntax", "edition"}:
            return
        known = SYNTAXES if cursor.advance() == "syntax" else EDITIONS
        cursor.expect("=")
        expected = " or ".join(f'"{value}"' for value in known)
        start = cursor.start
        value = read_string(cursor, expected)
        if value not in known:
            cursor.fail(f'"{value}" is not a known version of the language', expected=expected, offset=start)
        if known is SYNTAXES:
            self._syntax = value
        else:
            self._edition = value
        cursor.expect(";")

    def _read_declaration(self) -> None:
        cursor = self._cursor
        reader = self._readers.get(cursor.word)
        if reader is not None:
            reader()
        elif cursor.word in {"export", "local"}:
            self._read_visible()
        elif cursor.word in {"syntax", "edition"}:
            cursor.fail(f"'{cursor.word}' is not the first declaration", expected="it once, before everything else")
        elif not cursor.accept(";"):
            cursor.fail_unexpected("'message', 'enum', 'service', 'extend', 'import', 'option' or 'package'")

    def _read_package(self) -> None:
        cursor = self._cursor
        position = cursor.position()
        cursor.advance()
        if self._package:
            cursor.fail("the file has two packages", expected="one 'package'")
        self._package, self._package_position = read_word(cursor, "the package's name"), position
        cursor.expect(";")

    def _read_import(self) -> None:
        cursor = self._cursor
        position = cursor.position()
        cursor.advance()
        kind = _IMPORT_KINDS.get(cursor.word, ImportKind.PLAIN)
        if kind is not ImportKind.PLAIN:
            cursor.advance()
        path = read_text(cursor, "the path of the imported file, in quotes")
        cursor.expect(";")
        self._imports.append(ProtoImport(path, kind, position))

    def _read_option(self) -> None:
        self._options.append(read_option_statement(self._cursor, ()))

    def _read_message(self) -> None:
        self._messages.append(self._declarations.message(()))

    def _read_enum(self) -> None:
        self._enums.append(self._declarations.enum(()))

    def _read_extend(self) -> None:
        self._extends.append(self._declarations.extend(()))

    def _read_visible(self) -> None:
        visibility = self._cursor.advance()
        if self._cursor.word == "message":
            self._messages.append(self._declarations.message((), visibility=visibility))
        elif self._cursor.word == "enum":
            self._enums.append(self._declarations.enum((), visibility=visibility))
        else:
            self._cursor.fail_unexpected("'message' or 'enum'")

    def _read_service(self) -> None:
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        cursor.advance()
        name = read_name(cursor, "the service's name")
        pointer = (name,)
        rpcs: list[Rpc] = []
        options: list[ProtoOption] = []
        for _ in cursor.block():
            if cursor.word == "option":
                options.append(read_option_statement(cursor, pointer))
            elif cursor.word == "rpc":
                rpcs.append(self._read_rpc(pointer))
            else:
                cursor.fail_unexpected("'rpc', 'option' or '}'")
        self._services.append(Service(name, tuple(rpcs), tuple(options), position, pointer, doc))

    def _read_rpc(self, parent: Pointer) -> Rpc:
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        cursor.advance()
        name = read_name(cursor, "the method's name")
        pointer = (*parent, name)
        request, request_streaming = self._read_rpc_type()
        cursor.expect("returns")
        response, response_streaming = self._read_rpc_type()
        options: list[ProtoOption] = []
        if cursor.word == "{":
            for _ in cursor.block():
                if cursor.word != "option":
                    cursor.fail_unexpected("'option' or '}'")
                options.append(read_option_statement(cursor, pointer))
            cursor.accept(";")
        else:
            cursor.expect(";")
        return Rpc(
            name, request, response, request_streaming, response_streaming, tuple(options), position, pointer, doc
        )

    def _read_rpc_type(self) -> tuple[str, bool]:
        """Read and return the type in parentheses, and whether it is a stream."""
        cursor = self._cursor
        cursor.expect("(")
        name = read_word(cursor, "a message's name or 'stream'")
        is_streaming = name == "stream" and cursor.word != ")"
        if is_streaming:
            name = read_word(cursor, "a message's name")
        cursor.expect(")")
        return name, is_streaming
