"""The layout of Protobuf files: the judge is protoc, with the places that it writes into descriptors."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.table import parse_schema
from counterfoil.schema.layout import SchemaLayout, lay_out
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import ParsedSchema, Validation
from strategies.cases.each_case import check_each
from strategies.languages.rule_files import rule_schemas
from strategies.protobuf.classes import compiled
from strategies.protobuf.schemas import protobuf_schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

    from counterfoil.schema.texts import Pointer

_MESSAGES, _ENUMS, _NESTED, _INNER_ENUMS, _FIELDS, _CONSTANTS = 4, 5, 3, 4, 2, 2
"""The numbers of fields in descriptors, of which the paths of places are made."""


def _schema(text: str) -> ParsedSchema:
    return parse_schema(text, SchemaType.PROTOBUF, validation=Validation.LENIENT)


def _judged(text: str, *, with_places: bool = False) -> FileDescriptorProto:
    return compiled({"judged.proto": text}, with_places=with_places).file[-1]


def _places(file: FileDescriptorProto) -> Iterator[tuple[Pointer, tuple[int, ...]]]:
    """Yield the pointer of each message, enum, field and constant with the path of its place."""
    for index, message in enumerate(file.message_type):
        yield from _places_in(message, (), (_MESSAGES, index))
    for index, enum in enumerate(file.enum_type):
        yield (enum.name,), (_ENUMS, index)


def _places_in(
    message: DescriptorProto, around: Pointer, path: tuple[int, ...]
) -> Iterator[tuple[Pointer, tuple[int, ...]]]:
    pointer = (*around, message.name)
    yield pointer, path
    for index, field in enumerate(message.field):
        if field.type != field.TYPE_GROUP:
            yield (*pointer, field.name), (*path, _FIELDS, index)
    for index, enum in enumerate(message.enum_type):
        yield (*pointer, enum.name), (*path, _INNER_ENUMS, index)
        for number, constant in enumerate(enum.value):
            yield (*pointer, enum.name, constant.name), (*path, _INNER_ENUMS, index, _CONSTANTS, number)
    for index, inner in enumerate(message.nested_type):
        if not inner.options.map_entry:
            yield from _places_in(inner, pointer, (*path, _NESTED, index))


def _check_tokens(layout: SchemaLayout) -> None:
    joined = ["".join(token.text for token in line.tokens) for line in layout.lines]
    assert joined == layout.text.split("\n")


@given(protobuf_schemas(is_alone=True))
def test_the_lines_of_declarations_are_those_of_protoc(text: str):
    layout = lay_out(_schema(text))
    _check_tokens(layout)
    file = _judged(layout.text, with_places=True)
    line_by_path = {tuple(place.path): place.span[0] + 1 for place in file.source_code_info.location}
    for pointer, path in _places(file):
        assert layout.line_of(pointer) == line_by_path[path], pointer


@given(protobuf_schemas(), st.sampled_from(["// c", "/* c */", "/* c\n * d */", '// "', "/* ' */"]), st.integers(1, 9))
def test_a_text_without_the_tokens_of_its_comments_means_the_same(text: str, comment: str, stride: int):
    lines = text.split("\n")
    ends = [line.endswith((";", "{", "}")) and at % stride == 0 for at, line in enumerate(lines)]
    commented = "\n".join(f"{line}\n{comment}" if is_end else line for line, is_end in zip(lines, ends, strict=True))
    layout = lay_out(_schema(commented))
    _check_tokens(layout)
    without = "\n".join(
        "".join(token.text for token in line.tokens if token.kind != "comment") for line in layout.lines
    )
    assert _judged(without) == _judged(text)


def _types_of(file: FileDescriptorProto) -> Counter[str]:
    """Return how often each declared type is named: by fields, values of maps, extensions, methods."""
    found: Counter[str] = Counter()
    waiting = [*file.message_type]
    fields = [*file.extension]
    while waiting:
        message = waiting.pop()
        entries = {each.name: each for each in message.nested_type if each.options.map_entry}
        for field in message.field:
            entry = entries.get(field.type_name.rpartition(".")[2])
            if field.type != field.TYPE_GROUP:
                fields.append(field if entry is None else entry.field[1])
        fields += message.extension
        waiting += [each for each in message.nested_type if not each.options.map_entry]
    found.update(field.type_name for field in fields if field.type_name)
    for service in file.service:
        found.update(name for method in service.method for name in (method.input_type, method.output_type))
    return found


@given(protobuf_schemas(is_alone=True))
def test_names_of_types_refer_to_what_protoc_resolves(text: str):
    layout = lay_out(_schema(text))
    named = Counter(f".{token.type}" for line in layout.lines for token in line.tokens if token.type)
    assert named == _types_of(_judged(text))


def test_the_examples_of_rules_are_laid_out():
    def check(schema: ParsedSchema) -> None:
        layout = lay_out(schema)
        _check_tokens(layout)
        for line in layout.lines:
            if line.pointer:
                steps = tuple(line.pointer.replace("~1", "/").split("/")[1:]) if "#" not in line.pointer else ()
                assert not steps or layout.line_of(steps) == line.number

    check_each(rule_schemas(SchemaType.PROTOBUF), check)


def test_a_text_of_several_lines_stays_as_it_is():
    text = 'syntax = "proto3";\r\n\r\n// A.\r\nmessage A {\r\n    int32   b = 1; /* b\r\n is */\r\n}\r\n'
    layout = lay_out(_schema(text))
    assert layout.text == text.replace("\r\n", "\n").rstrip()
    assert [(line.number, line.pointer) for line in layout.lines if line.pointer] == [(4, "/A"), (5, "/A/b")]
    assert [token.kind for line in layout.lines[4:6] for token in line.tokens if token.kind] == [
        *("word", "name", "number", "comment", "comment")
    ]


def test_a_text_of_one_line_is_printed():
    layout = lay_out(_schema('syntax = "proto3"; message A { int32 b = 1; message C { } C c = 2; }'))
    assert layout.line_of(("A", "c")) == 1 + layout.text.split("\n").index("  .A.C c = 2;".replace(".A.C", "C"))


def test_a_descriptor_is_printed():
    serialized = parse_schema('syntax = "proto3"; message A { int32 b = 1; }', SchemaType.PROTOBUF).formatted(
        "serialized"
    )
    assert serialized is not None
    layout = lay_out(_schema(serialized))
    assert "message A {" in layout.text
    assert layout.line_of(("A", "b")) == layout.text[: layout.text.index("int32 b")].count("\n") + 1
    assert layout.line_of(("A", "b", "#default")) == layout.line_of(("A", "b"))
    assert layout.line_of(("no",)) == 1


def test_classes_of_tokens():
    line = 'repeated .A a_1 = 0x1F [json_name = "x\\"", packed = true, (o) = 1.5e+3];'
    text = f'syntax = "proto3";\nmessage A {{\n  {line}\n}}'
    tokens = [(token.text, token.kind) for token in lay_out(_schema(text)).lines[2].tokens if token.kind]
    assert tokens == [
        *(("repeated", "word"), (".A", "name"), ("a_1", "name"), ("0x1F", "number")),
        *(("json_name", "name"), ('"x\\""', "text"), ("packed", "name"), ("true", "word")),
        *(("o", "name"), ("1.5e+3", "number")),
    ]


def test_a_comment_of_many_lines_is_one_in_each_of_them():
    text = 'syntax = "proto3";\n/* a\n\nmessage B {}\n * c */ message A { A a = 1; }\noption (o) = "x\ny\nz";'
    layout = lay_out(_schema(text))
    _check_tokens(layout)
    kinds = [[token.kind for token in line.tokens if token.kind] for line in layout.lines[1:5]]
    assert kinds == [["comment"], [], ["comment"], ["comment", "word", "name", "name", "name", "number"]]
    assert [line.tokens[0].kind for line in layout.lines[6:]] == ["text", "text"]


def test_the_type_of_a_field_is_not_the_name_of_its_message():
    layout = lay_out(_schema('syntax = "proto3";\nmessage A { A a = 1; }\nmessage B { A A = 1; }'))
    found = [(line.number, [token.type for token in line.tokens if token.text == "A"]) for line in layout.lines]
    assert found == [(1, []), (2, ["", "A"]), (3, ["A", ""])]
