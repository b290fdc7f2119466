"""A Hypothesis strategy for pairs of Protobuf files that differ in a few edits, as versions of one subject do."""

from __future__ import annotations

import re

from hypothesis import assume
from hypothesis import strategies as st

from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsing import parse_schema
from strategies.protobuf.schemas import SCALARS, protobuf_schemas

FIELD = re.compile(r"(?P<type>\b[\w.]+) (?P<name>(?:f_|camelCase|snake_case_)\d+) = (?P<number>\w+)(?P<rest>[^;]*;)")
MESSAGE = re.compile(r"\bmessage \w+ \{\n")
EMPTY_ONEOF = re.compile(r"\boneof \w+ \{\s*\}")
LABEL = re.compile(r"(?:optional|required|repeated) $")


@st.composite
def protobuf_pairs(draw: st.DrawFn, *, max_edits: int = 3) -> tuple[str, str]:
    """Return the texts of a reader and a writer, both valid: one is drawn, the other is made from it by edits."""
    writer = draw(protobuf_schemas())
    reader = draw(edited(writer, max_edits=max_edits))
    assume(is_protobuf(reader))  # an edit may use a number twice, or give a message field a default
    return (reader, writer) if draw(st.booleans()) else (writer, reader)


@st.composite
def protobuf_histories(draw: st.DrawFn) -> list[str]:
    """Return a few versions of one file, newest first."""
    first = draw(protobuf_schemas())
    versions = [first, *(draw(edited(first, max_edits=2)) for _ in range(draw(st.integers(1, 3))))]
    return [version for version in versions if is_protobuf(version)]


@st.composite
def edited(draw: st.DrawFn, text: str, *, max_edits: int) -> str:
    """Return ``text`` after some edits of its fields; not every result is valid."""
    for _ in range(draw(st.integers(0, max_edits))):
        fields = list(FIELD.finditer(text))
        if not fields:
            return text
        text = _edit(draw, text, draw(st.sampled_from(fields)))
    return text


def with_an_optional_field(text: str) -> str:
    """Return the text with one more field in the first message, which a record need not have."""
    first = MESSAGE.search(text)
    assert first is not None
    label = "" if '"proto3"' in text or "edition" in text else "optional "
    return f"{text[: first.end()]}{label}string added_later = 4000;\n{text[first.end() :]}"


def protobuf_records() -> st.SearchStrategy[str]:
    """Return a strategy for files with at least one message."""
    return protobuf_schemas().filter(lambda text: MESSAGE.search(text) is not None)


def is_protobuf(text: str) -> bool:
    """Return whether the text is valid; a oneof without fields is not, though the reference accepts it."""
    if EMPTY_ONEOF.search(text):
        return False
    try:
        parse_schema(text, SchemaType.PROTOBUF)
    except InvalidSchema:
        return False
    return True


def _edit(draw: st.DrawFn, text: str, field: re.Match[str]) -> str:
    before, after = text[: field.start()], text[field.end() :]
    parts = {name: field[name] for name in ("type", "name", "number", "rest")}
    match draw(st.sampled_from(["type", "rename", "renumber", "drop", "label"])):
        case "type":
            parts |= {"type": draw(st.sampled_from(SCALARS)), "rest": ";"}
        case "rename":
            parts["name"] += "x"
        case "renumber":
            parts["number"] = str(draw(st.integers(50, 59)))
        case "drop":
            return _without_label(before) + after
        case _:
            before = _without_label(before) + draw(st.sampled_from(["optional ", "repeated "]))
            parts["rest"] = ";"
    return f"{before}{parts['type']} {parts['name']} = {parts['number']}{parts['rest']}{after}"


def _without_label(before: str) -> str:
    return LABEL.sub("", before)
