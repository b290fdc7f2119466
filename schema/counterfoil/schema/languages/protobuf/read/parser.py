"""Parsing of ``.proto`` text as a syntax tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    MAX_TAG,
    SPECIAL_OPTIONS,
    EnumConstant,
    Extend,
    ExtensionRange,
    ImportKind,
    Label,
    ProtoEnum,
    ProtoField,
    ProtoFile,
    ProtoImport,
    ProtoMapType,
    ProtoMessage,
    ProtoOneOf,
    ProtoOption,
    ProtoRange,
    Reserved,
    Rpc,
    Service,
)
from counterfoil.schema.languages.protobuf.read.tokens import (
    INT32_MAX,
    Cursor,
    is_word,
    read_int,
    read_option,
    read_options,
    read_string,
    read_text,
    read_word,
)
from counterfoil.schema.texts import Pointer, Position

# Parsing of messages, enums, extend blocks and their content.
#
# Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.

_FIELD: Final = re.compile(
    r"[ \t\r\n]*+(?:(optional|required|repeated)[ \t\r\n]++)?+"
    r"([A-Za-z_.][A-Za-z0-9_.]*+|map[ \t]*+<[ \t]*+([A-Za-z0-9_.]++)[ \t]*+,[ \t]*+([A-Za-z0-9_.]++)[ \t]*+>)"
    r"[ \t\r\n]++([A-Za-z_][A-Za-z0-9_]*+)"
    r"[ \t\r\n]*+=[ \t\r\n]*+(0|[1-9][0-9]{0,8})[ \t\r\n]*+;(?![ \t]*/)"
)
_CONSTANT: Final = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*+)[ \t\r\n]*+=[ \t\r\n]*+(0|[1-9][0-9]{0,8})[ \t\r\n]*+;(?![ \t]*/)"
)
_NUMBER_STARTS: Final = "-0123456789"
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]+")
_LABELS: Final = {label.value: label for label in Label}
_VISIBILITIES: Final = frozenset(("export", "local"))
_NUMBER: Final = "a whole number of 32 bits"
_NOT_FIELDS: Final = frozenset(
    ("option", "reserved", "message", "enum", "extend", "oneof", "extensions", "group", "map", *_LABELS, *_VISIBILITIES)
)


class Body:
    """The content of a message's braces that was read so far."""

    __slots__ = ("all_fields", "enums", "extends", "extensions", "fields", "messages", "oneofs", "options", "reserved")

    def __init__(self) -> None:
        self.fields: list[ProtoField] = []
        self.all_fields: list[ProtoField] = []
        self.oneofs: list[ProtoOneOf] = []
        self.messages: list[ProtoMessage] = []
        self.enums: list[ProtoEnum] = []
        self.extends: list[Extend] = []
        self.options: list[ProtoOption] = []
        self.reserved: list[Reserved] = []
        self.extensions: list[ExtensionRange] = []


class DeclarationReader:
    """A parser of the declarations of one file.

    ``syntax`` and ``edition`` are as in :class:`~counterfoil.schema.languages.protobuf.read.syntax_tree.ProtoFile`: a
    field needs a label in proto2, and reserved names have no quotes in editions.
    """

    def __init__(self, cursor: Cursor, *, syntax: str | None, edition: str | None) -> None:
        self._cursor = cursor
        self._needs_labels = edition is None and syntax != "proto3"
        self._has_bare_names = edition is not None
        self._readers: dict[str, Callable[[Body, Pointer], None]] = {
            "message": self._nested_message,
            "enum": self._nested_enum,
            "oneof": self._oneof,
            "option": self._option,
            "reserved": self._reserved,
            "extensions": self._extensions,
            "extend": self._nested_extend,
            "export": self._visible,
            "local": self._visible,
        }

    def message(self, parent: Pointer, *, visibility: str = "") -> ProtoMessage:
        """Read and return the message whose keyword ``message`` is at the cursor."""
        cursor = self._cursor
        doc, start = cursor.doc(), cursor.start
        cursor.advance()
        name = read_name(cursor, "the message's name")
        return self._body(name, (*parent, name), doc, start, visibility=visibility)

    def enum(self, parent: Pointer, *, visibility: str = "") -> ProtoEnum:
        """Read and return the enum whose keyword ``enum`` is at the cursor."""
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        cursor.advance()
        name = read_name(cursor, "the enum's name")
        pointer = (*parent, name)
        constants: list[EnumConstant] = []
        options: list[ProtoOption] = []
        reserved: list[Reserved] = []
        for _ in cursor.block():
            if cursor.word == "option":
                options.append(read_option_statement(cursor, pointer))
            elif cursor.word == "reserved":
                reserved.append(self._read_reserved(pointer, maximum=INT32_MAX))
            else:
                constants.append(self._constant(pointer))
        return ProtoEnum(name, tuple(constants), tuple(options), tuple(reserved), position, pointer, doc, visibility)

    def extend(self, parent: Pointer) -> Extend:
        """Read and return the extend block whose keyword ``extend`` is at the cursor."""
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        cursor.advance()
        extendee = read_word(cursor, "the name of the message to extend")
        fields = [self._field(parent) for _ in cursor.block()]
        return Extend(extendee, tuple(fields), position, parent, doc)

    def _body(
        self, name: str, pointer: Pointer, doc: str, start: int, *, visibility: str = "", is_group: bool = False
    ) -> ProtoMessage:
        cursor = self._cursor
        position = cursor.position(start)
        cursor.descend()
        cursor.expect("{")
        body = Body()
        empty: Position | None = None
        while True:
            fields = self._quick_fields(pointer, needs_labels=self._needs_labels)
            body.fields += fields
            body.all_fields += fields
            if cursor.accept("}"):
                break
            reader = self._readers.get(cursor.word)
            if reader is not None:
                reader(body, pointer)
            elif cursor.word == ";":
                empty = empty or (cursor.position() if is_group else None)
                cursor.advance()
            else:
                field = self._field(pointer)
                body.fields.append(field)
                body.all_fields.append(field)
        cursor.depth -= 1
        return ProtoMessage(
            name,
            tuple(body.fields),
            tuple(body.oneofs),
            tuple(body.messages),
            tuple(body.enums),
            tuple(body.extends),
            tuple(body.options),
            tuple(body.reserved),
            tuple(body.extensions),
            tuple(body.all_fields),
            position,
            pointer,
            doc,
            visibility,
            empty,
        )

    def _nested_message(self, body: Body, pointer: Pointer) -> None:
        body.messages.append(self.message(pointer))

    def _nested_enum(self, body: Body, pointer: Pointer) -> None:
        body.enums.append(self.enum(pointer))

    def _nested_extend(self, body: Body, pointer: Pointer) -> None:
        body.extends.append(self.extend(pointer))

    def _option(self, body: Body, pointer: Pointer) -> None:
        body.options.append(read_option_statement(self._cursor, pointer))

    def _reserved(self, body: Body, pointer: Pointer) -> None:
        body.reserved.append(self._read_reserved(pointer, maximum=MAX_TAG))

    def _visible(self, body: Body, pointer: Pointer) -> None:
        visibility = self._cursor.advance()
        if self._cursor.word == "message":
            body.messages.append(self.message(pointer, visibility=visibility))
        elif self._cursor.word == "enum":
            body.enums.append(self.enum(pointer, visibility=visibility))
        else:
            self._cursor.fail_unexpected("'message' or 'enum'")

    def _oneof(self, body: Body, parent: Pointer) -> None:
        cursor = self._cursor
        doc, position = cursor.doc(), cursor.position()
        cursor.advance()
        name = read_name(cursor, "the oneof's name")
        pointer = (*parent, name)
        fields: list[ProtoField] = []
        options: list[ProtoOption] = []
        cursor.expect("{")
        while True:
            fields += self._quick_fields(parent, needs_labels=False, takes_labels=False)
            if cursor.accept("}"):
                break
            if cursor.word == "option":
                options.append(read_option_statement(cursor, pointer))
            elif cursor.word in _LABELS:
                cursor.fail(f"'{cursor.word}' in a oneof", expected="a field without a label")
            else:
                fields.append(self._field(parent, needs_label=False))
        body.oneofs.append(ProtoOneOf(name, tuple(fields), tuple(options), position, pointer, doc))
        body.all_fields.extend(fields)

    def _quick_fields(self, pointer: Pointer, *, needs_labels: bool, takes_labels: bool = True) -> list[ProtoField]:
        """Read and return the next fields that one pattern can match: without options and comments, and no groups."""
        cursor = self._cursor
        text, start = cursor.text, cursor.before
        offset = start
        fields: list[ProtoField] = []
        while True:
            found = _FIELD.match(text, offset)
            if found is None:
                break
            label, type_name, key, value, name, number = found.groups()
            if type_name in _NOT_FIELDS or (label is not None and (key is not None or not takes_labels)):
                break
            if label is None and key is None and needs_labels:
                break
            position = cursor.position(found.start(2 if label is None else 1))
            map_type = None if key is None else ProtoMapType(key, value)
            kind = None if label is None else _LABELS[label]
            type_name = type_name if key is None else f"map<{key}, {value}>"
            fields.append(ProtoField(kind, type_name, name, int(number), (), position, (*pointer, name), map=map_type))
            offset = found.end()
        if offset != start:
            cursor.jump(offset)
        return fields

    def _field(self, parent: Pointer, *, needs_label: bool = True) -> ProtoField:
        """Read and return the field at the cursor, which may be a group or a map."""
        cursor = self._cursor
        doc, start = cursor.doc(), cursor.start
        label = _LABELS.get(cursor.word)
        if label is not None:
            cursor.advance()
        type_start = cursor.start
        type_name, map_type = self._type()
        if map_type is not None and label is not None:
            cursor.fail("a map with a label", expected="no label before 'map'", offset=start)
        if label is None and needs_label and self._needs_labels and map_type is None:
            cursor.fail(
                f"the field has no label: {type_name!r} stands where one is needed in proto2",
                expected="'optional', 'required' or 'repeated'",
                offset=type_start,
            )
        is_group = type_name == "group"
        name = read_name(cursor, "the field's name", is_field=True)
        cursor.expect("=")
        number = read_int(cursor, f"the field's number, {_NUMBER}")
        pointer = (*parent, name)
        options = _special_last(read_options(cursor, pointer))
        group = self._body(name, pointer, doc, start, is_group=True) if is_group else None
        if group is None:
            cursor.expect(";")
        position = cursor.position(start)
        trailing = cursor.trailing_doc()
        return ProtoField(label, type_name, name, number, options, position, pointer, doc, trailing, group, map_type)

    def _type(self) -> tuple[str, ProtoMapType | None]:
        cursor = self._cursor
        name = read_word(cursor, "a field's type or '}'")
        if name != "map" or cursor.word != "<":
            return name, None
        cursor.descend()
        cursor.advance()
        key, _ = self._type()
        cursor.expect(",")
        value, _ = self._type()
        cursor.expect(">")
        cursor.depth -= 1
        return f"map<{key}, {value}>", ProtoMapType(key, value)

    def _constant(self, parent: Pointer) -> EnumConstant:
        cursor = self._cursor
        quick = _CONSTANT.match(cursor.text, cursor.start)
        if quick is not None and "/" not in cursor.text[cursor.before : cursor.start]:
            position = cursor.position()
            cursor.jump(quick.end())
            return EnumConstant(quick[1], int(quick[2]), (), position, (*parent, quick[1]))
        doc, position = cursor.doc(), cursor.position()
        name = read_name(cursor, "a constant's name or '}'")
        cursor.expect("=")
        if cursor.word == "-":
            cursor.fail_unexpected(_NUMBER)
        number = read_int(cursor, f"the constant's number, {_NUMBER}")
        pointer = (*parent, name)
        options = read_options(cursor, pointer)
        cursor.expect(";")
        return EnumConstant(name, number, options, position, pointer, doc, cursor.trailing_doc())

    def _read_reserved(self, pointer: Pointer, *, maximum: int) -> Reserved:
        cursor = self._cursor
        position = cursor.position()
        cursor.advance()
        values: list[int | ProtoRange | str] = []
        while True:
            if self._has_bare_names and is_word(cursor.word) and cursor.word[0] not in _NUMBER_STARTS:
                values.append(read_name(cursor, "a reserved name"))
            elif not self._has_bare_names and cursor.word[:1] in {'"', "'"}:
                values.append(read_text(cursor, "a name in quotes"))
            else:
                values.append(read_range(cursor, maximum=maximum))
            if not cursor.accept(","):
                break
        cursor.expect(";")
        return Reserved(tuple(values), position, pointer, self._has_bare_names)

    def _extensions(self, body: Body, pointer: Pointer) -> None:
        cursor = self._cursor
        position = cursor.position()
        cursor.advance()
        values = [read_range(cursor, maximum=MAX_TAG)]
        while cursor.accept(","):
            values.append(read_range(cursor, maximum=MAX_TAG))
        options = read_options(cursor, pointer)
        cursor.expect(";")
        body.extensions.append(ExtensionRange(tuple(values), options, position, pointer))


def _special_last(options: tuple[ProtoOption, ...]) -> tuple[ProtoOption, ...]:
    """Return the options with the default and the JSON name last; of two with one such name, only the later one."""
    special = {option.name: option for option in options if option.name in SPECIAL_OPTIONS}
    if not special:
        return options
    plain = (option for option in options if option.name not in SPECIAL_OPTIONS)
    return (*plain, *(special[name] for name in SPECIAL_OPTIONS if name in special))


def read_option_statement(cursor: Cursor, pointer: Pointer) -> ProtoOption:
    """Read and return one ``option name = value;``."""
    cursor.advance()
    option = read_option(cursor, pointer)
    cursor.expect(";")
    return option


def read_range(cursor: Cursor, *, maximum: int) -> int | ProtoRange:
    """Read and return a number, or a range ``a to b``; ``max`` is ``maximum``."""
    start = read_int(cursor, _NUMBER)
    if not cursor.accept("to"):
        return start
    if cursor.accept("max"):
        return ProtoRange(start, maximum, is_max=True)
    return ProtoRange(start, read_int(cursor, f"'max' or {_NUMBER}"))


def read_name(cursor: Cursor, expected: str, *, is_field: bool = False) -> str:
    """Read and return the name at the cursor, with dots and hyphens, as the reference accepts them.

    Invalid names are warned about later. Only a field's name may not start with a digit.
    """
    token = cursor.word
    if _NAME.fullmatch(token) is None or (is_field and token[0].isdigit()):
        cursor.fail_unexpected(expected)
    return cursor.advance()


# Parsing of a whole file.
#
# Source: the Protocol Buffers language specifications, proto2, proto3 and editions 2023 and 2024.

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
