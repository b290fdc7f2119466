"""Message indexes, counted as Confluent's serializers count and read either way; the places of faults."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from confluent_kafka.schema_registry.common.protobuf import _create_index_array
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.schema.languages.protobuf.runtime import PoolRefuses, pooled_file
from counterfoil.schema.languages.protobuf.schema import parse_protobuf
from counterfoil.schema.parsed import Validation
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.protobuf.decode import compile_choice, compile_decoder
from counterfoil.sdk.serde.protobuf.message_types import (
    MessageTypes,
    MisreadField,
    class_of,
    find_fault,
    find_misreading,
    path_of,
)
from strategies.cases.depth import times_the_examples
from strategies.protobuf.messages import messages
from strategies.protobuf.schemas import protobuf_schemas

TWO_AFTER_A_MAP = """syntax = "proto3"; package p;
message O { map<string, int32> m = 1; message I { int32 a = 1; } message J { string b = 2; } }"""


def types_of(text: str) -> MessageTypes:
    return MessageTypes(pooled_file(parse_protobuf(text), text))


def descriptor_of(text: str) -> str:
    """Return the descriptor that protoc makes of a text, in base64."""
    with TemporaryDirectory() as folder:
        Path(folder, "main.proto").write_text(text)
        assert protoc.main(["protoc", f"-I{folder}", f"-o{folder}/out", "main.proto"]) == 0
        (file,) = FileDescriptorSet.FromString(Path(folder, "out").read_bytes()).file
        return b64encode(file.SerializeToString()).decode()


def names(found: list[Any]) -> list[str]:
    return [each.full_name for each in found]


def test_the_path_counts_messages_of_the_file_and_those_nested_in_them():
    types = types_of("message A {} message B { message C {} message D { message E {} } } message F {}")
    expected = {"A": (0,), "B": (1,), "B.C": (1, 0), "B.D": (1, 1), "B.D.E": (1, 1, 0), "F": (2,)}
    assert {name: path_of(each) for name, each in types.declared.items()} == expected
    assert all(names(types.at(path)) == [name] for name, path in expected.items())
    assert types.at([3]) == types.at([0, 0]) == types.at([1, 1, 0, 0]) == []


def test_entries_of_maps_are_counted_and_are_no_messages():
    types = types_of(TWO_AFTER_A_MAP)
    assert path_of(types.find("p.O.I")) == (0, 1)
    assert path_of(types.find("p.O.J")) == (0, 2)
    assert types.find("p.O.MEntry") is None
    assert names(types.at([0, 0])) == ["p.O.I"]  # a writer that does not count the type of entries
    assert names(types.at([0, 1])) == ["p.O.I", "p.O.J"]
    assert names(types.at([0, 2])) == ["p.O.J"]


def test_a_descriptor_keeps_its_order_of_nested_messages():
    text = 'syntax = "proto3"; message O { message I {} map<string, int32> m = 1; message J {} }'
    for each in (descriptor_of(text), text):
        types = types_of(each)
        assert [path_of(types.find(name)) for name in ("O", "O.I", "O.J")] == [(0,), (0, 0), (0, 2)]


@times_the_examples(2)
@given(protobuf_schemas())
def test_paths_are_those_of_confluents_serializer(text: str):
    types = types_of(text)
    for name, each in types.declared.items():
        assert list(path_of(each)) == _create_index_array(each)
        assert names(types.at(path_of(each)))[0] == name


@pytest.mark.slow
@given(st.data())
def test_messages_of_protocs_descriptor_and_of_the_text_have_the_same_bytes(data: st.DataObject):
    text = data.draw(protobuf_schemas(is_alone=True))
    ours, theirs = types_of(text), types_of(descriptor_of(text))
    assert list(ours.declared) == list(theirs.declared)
    for name, each in theirs.declared.items():
        body = data.draw(messages(each)).SerializeToString(deterministic=True)
        message = class_of(ours.find(name)).FromString(body)
        assert message.SerializeToString(deterministic=True) == body
        assert find_misreading(each, ours.find(name)) is None


def test_an_import_that_nobody_provides_is_named():
    text = 'syntax = "proto3"; import "b.proto"; message A { b.B b = 1; }'
    schema = parse_protobuf(text, validation=Validation.LENIENT)
    with pytest.raises(PoolRefuses, match=r"no reference provides 'b.proto'"):
        pooled_file(schema)


def test_of_two_meanings_the_one_is_read_that_declares_all_fields():
    types = types_of(TWO_AFTER_A_MAP)
    decode = compile_choice(types.at([0, 1]), lambda each: compile_decoder(class_of(each)))
    inner, other = types.declared["p.O.I"], types.declared["p.O.J"]
    assert decode(class_of(inner)(a=1).SerializeToString(), 0).DESCRIPTOR.full_name == "p.O.I"
    assert decode(class_of(other)(b="x").SerializeToString(), 0).DESCRIPTOR.full_name == "p.O.J"
    for body in (b"", b"\x20\x01"):
        with pytest.raises(DecodeError, match=r"mean p.O.I or p.O.J.*name the message"):
            decode(body, 0)


INNER = 'syntax = "proto3"; message A { string text = 1; A more = 2; repeated int32 numbers = 3; }'


@pytest.mark.parametrize(
    ("body", "path", "offset", "problem"),
    [
        (b"\x0a\x02a", "text", 5, "A value of 2 bytes, and the message has 1 more"),
        (b"\x0a\x01\xff", "text", 5, "A string that is not UTF-8"),
        (b"\x12\x03\x0a\x01\xff", "more.text", 7, "A string that is not UTF-8"),
        (b"\x12\x02\x1a", "more", 5, "A value of 2 bytes, and the message has 1 more"),
        (b"\x18\x80", "numbers", 5, "The data ends inside a number"),
        (b"\x18" + b"\x80" * 10 + b"\x01", "numbers", 4, "A number of more than 10 bytes"),
        (b"\x1a\x03\x01\x02\x80", "numbers", 8, "The data ends inside a number"),  # packed
        (b"\x00", "", 3, "0 is no field number"),
        (b"\x0c", "", 3, "The end of group 1, which is not open"),
        (b"\x0b\x08\x01", "text", 6, "The data ends inside group 1"),
        (b"\x0f", "text", 3, "7 is no wire type"),
        (b"\x31\x00", "6", 4, "A value of 8 bytes, and the message has 1 more"),
    ],
)
def test_a_fault_is_reported_with_its_place(body: bytes, path: str, offset: int, problem: str):
    decode = compile_decoder(class_of(types_of(INNER).find("A")))
    with pytest.raises(DecodeError) as caught:
        decode(b"abc" + body, 3)
    assert (caught.value.path, caught.value.offset) == (path, offset)
    assert str(caught.value) == (
        f"The bytes are no A: {problem} (at offset {offset}, in {f'A.{path}' if path else 'A'})"
    )


def test_messages_nested_too_deep_are_refused():
    body = b""
    for _ in range(150):
        body = (
            b"\x12"
            + (len(body).to_bytes(1) if len(body) < 128 else bytes([len(body) & 127 | 128, len(body) >> 7]))
            + body
        )
    decode = compile_decoder(class_of(types_of(INNER).find("A")))
    with pytest.raises(DecodeError, match="nested more than 100 deep"):
        decode(body, 0)


@pytest.mark.slow
@times_the_examples(10)
@given(st.data())
def test_damaged_bytes_give_a_message_or_our_error_with_a_place(data: st.DataObject):
    descriptor = types_of(INNER).find("A")
    body = bytearray(data.draw(messages(descriptor)).SerializeToString())
    for _ in range(data.draw(st.integers(0, 4))):
        if body:
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = bytes(body[: data.draw(st.integers(0, len(body)))]) + data.draw(st.binary(max_size=6))
    fault = find_fault(descriptor, body, 0)
    decode = compile_decoder(class_of(descriptor), as_dict=True)
    if fault is None:
        assert decode(body, 0)["numbers"] is not None
    else:
        with pytest.raises(DecodeError) as caught:
            decode(body, 0)
        assert (caught.value.offset, caught.value.path) == (fault.offset, fault.path)


@pytest.mark.parametrize(
    ("reader", "writer", "found"),
    [
        ("int32 a = 1;", "int64 b = 1;", None),
        ("string a = 1;", "bytes b = 1;", None),
        ("int32 a = 1;", "string a = 1;", None),  # an unknown field
        ("int32 a = 1;", "sint32 a = 1;", MisreadField("a", "sint32", "int32")),
        ("float a = 1;", "fixed32 a = 1;", MisreadField("a", "fixed32", "float")),
        ("string a = 1;", "A a = 1;", MisreadField("a", "A", "string")),
        ("A a = 1; int32 b = 2;", "A a = 1; sint64 b = 2;", MisreadField("b", "sint64", "int32")),
        (
            "B a = 1; message B { double x = 1; }",
            "C a = 1; message C { fixed64 y = 1; }",
            MisreadField("a.y", "fixed64", "double"),
        ),
    ],
)
def test_fields_that_would_be_read_as_other_values_are_found(reader: str, writer: str, found: MisreadField | None):
    mine, theirs = (types_of(f'syntax = "proto3"; message A {{ {each} }}').find("A") for each in (reader, writer))
    assert find_misreading(mine, theirs) == found
