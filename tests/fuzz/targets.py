"""What is fuzzed: one function from bytes to nothing for each language and each kind of input.

``parse`` reads a text every way there is, ``check`` reads two and compares them under every policy, ``stretch`` grows
its input to 100 KB by repeating a part of it, where time and depth go wrong; ``show`` does what a page shows of a text,
be it a short or a stretched one: its elements, and its lines; ``decode``, of Avro alone, reads a message in every tier
of the codec; ``parts`` decodes bytes part by part, as the decode lab does. Nothing but an error of ours may come out,
within a second and a bounded amount of memory.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from decoding import compare_tiers, messages
from parts import bodies, check_parts

from counterfoil.schema.compatibility import CompatibilityPolicy
from counterfoil.schema.elements import declared_types, find_elements
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.table import find_changes, language_for
from counterfoil.schema.layout import lay_out, number_lines
from counterfoil.schema.model import SchemaType
from counterfoil.schema.parsed import Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from counterfoil.schema.parsed import ParsedSchema

TESTS: Final = Path(__file__).parents[1]
CRASHES: Final = Path(__file__).with_name("crashes")
MAX_BYTES: Final = 100_000
SEED_BYTES: Final = 4_000
LIMIT_S: Final = 1.0
PART: Final = b"\x00"  # between the parts of an input

LANGUAGES: Final[Mapping[str, SchemaType]] = {
    "avro": SchemaType.AVRO,
    "protobuf": SchemaType.PROTOBUF,
    "json": SchemaType.JSON,
}


class TooSlow(AssertionError):
    """An input took longer than it may."""


def parse(schema_type: SchemaType, data: bytes) -> None:
    """Read a text strictly and leniently, and print what was read."""
    text = _text(data)
    for validation in Validation:
        schema = _parsed(schema_type, text, validation)
        if schema is not None:
            _use(schema)


def check(schema_type: SchemaType, data: bytes) -> None:
    """Compare the two texts of ``data``, both ways, under every policy, and tell them apart."""
    texts = data.split(PART, 1)
    sides = [_parsed(schema_type, _text(text), Validation.LENIENT) for text in (texts[0], texts[-1])]
    if None in sides:
        return
    reader, writer = sides
    for policy in CompatibilityPolicy:
        _compare(schema_type, reader, writer, policy)
        _compare(schema_type, writer, reader, policy)
    _unless_ours(lambda: find_changes(reader, writer))


def stretch(schema_type: SchemaType, data: bytes) -> None:
    """``head NUL opening NUL core NUL closing NUL tail``: opening and closing are repeated up to 100 KB."""
    parse(schema_type, stretched(data))


def show(schema_type: SchemaType, data: bytes) -> None:
    """Find the elements of a text and lay it out: each line is its tokens, and each element has a line."""
    schema = _parsed(schema_type, _text(stretched(data) if PART in data else data), Validation.LENIENT)
    if schema is None:
        return
    layout = lay_out(schema)
    for row in number_lines((*find_elements(schema), *declared_types(schema)), layout):
        assert row.reference or row.line is not None
    lines = ("".join(token.text for token in line.tokens) for line in layout.window(1, layout.total).lines)
    assert "\n".join(lines) == layout.text


def stretched(data: bytes) -> bytes:
    """The text that an input of ``stretch`` stands for."""
    head, opening, core, closing, tail = (*data.split(PART, 4), b"", b"", b"", b"", b"")[:5]
    unit = len(opening) + len(closing)
    times = max(0, MAX_BYTES - len(head) - len(core) - len(tail)) // unit if unit else 0
    return head + opening * times + core + closing * times + tail


def decode(_schema_type: SchemaType, data: bytes) -> None:
    """Read a message in every tier of the codec."""
    compare_tiers(data)


KINDS: Final[Mapping[str, Callable[[SchemaType, bytes], None]]] = {
    "parse": parse,
    "check": check,
    "stretch": stretch,
    "show": show,
    "decode": decode,
    "parts": check_parts,
}
TARGETS: Final = (
    *((language, kind) for language in LANGUAGES for kind in KINDS if kind != "decode"),
    ("avro", "decode"),
)
"""Every language with its kinds."""


def run(language: str, kind: str, data: bytes, *, limit_s: float = LIMIT_S) -> None:
    """One input. Raises what should not have been raised, or ``TooSlow``; the time is that of the processor."""
    start = time.process_time()
    KINDS[kind](LANGUAGES[language], data)
    taken = time.process_time() - start
    if taken > limit_s:
        raise TooSlow(f"{taken:.2f} s for {len(data)} bytes")


def seeds(language: str, kind: str) -> Iterator[bytes]:
    """Inputs to begin with: recorded schemas, recorded pairs, the ways in which texts of the language nest."""
    if kind in ("parse", "show"):
        yield from (record["schema"].encode() for record in _recorded("canonical", language))
    elif kind == "check":
        for record in _recorded("verdicts", language):
            yield PART.join(record[side].encode() for side in ("reader_or_new", "writer_or_old"))
    elif kind == "decode":
        yield from messages()
    elif kind == "parts":
        yield from bodies(LANGUAGES[language])
    else:
        yield from STRETCHES[language]


def crash_files(language: str, kind: str) -> list[Path]:
    """What broke something once."""
    return sorted((CRASHES / language).glob(f"{kind}-*"))


def _recorded(what: str, language: str) -> Iterator[dict[str, str]]:
    path = TESTS / "data" / "recordings" / f"{what}.{language}.jsonl"
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(line) < SEED_BYTES:
                yield json.loads(line)


def _text(data: bytes) -> str:
    """Halves of surrogate pairs come through, as they may in a request's JSON."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _parsed(schema_type: SchemaType, text: str, validation: Validation) -> ParsedSchema | None:
    try:
        return language_for(schema_type).parse(text, (), validation=validation)
    except CounterfoilError as error:
        str(error)
        return None


def _use(schema: ParsedSchema) -> None:
    for ask in (schema.canonical, schema.normalized, lambda: schema.name, lambda: schema.locate(("fields", 0, "type"))):
        _unless_ours(ask)
    _unless_ours(lambda: schema.is_equivalent(schema))


def _compare(schema_type: SchemaType, reader: ParsedSchema, writer: ParsedSchema, policy: CompatibilityPolicy) -> None:
    def compare() -> None:
        for difference in language_for(schema_type).find_differences(reader, writer, policy=policy):
            reader.locate(difference.reader_pointer)
            break  # locating reads the text again

    _unless_ours(compare)


def _unless_ours(ask: Callable[[], object]) -> None:
    try:
        ask()
    except CounterfoilError as error:
        str(error)


def _parts(*parts: str) -> bytes:
    return PART.join(part.encode() for part in parts)


STRETCHES: Final[Mapping[str, tuple[bytes, ...]]] = {
    "avro": (
        _parts("", "[", "", "]", ""),
        _parts("", '{"type":"array","items":', '"int"', "}", ""),
        _parts("", '{"type":"map","values":[', '"int"', "]}", ""),
        _parts("", '{"type":', '"int"', "}", ""),
        _parts("[", '"int",', '"int"', "", "]"),
        _parts('{"type":"record","name":"R","fields":[', '{"name":"a","type":"R"},', "", "", "]}"),
        _parts('{"type":"enum","name":"E","symbols":["A"', ',"A"', "", "", "]}"),
        _parts('{"type":"enum","name":"E","symbols":[],"x":', "[", "1", "]", "}"),
        _parts('{"type":"int","x":', "9", "", "", "}"),
        _parts('{"type":"int","x":1e', "9", "", "", "}"),
        _parts('{"type":"fixed","name":"F","size":', "1", "", "", "}"),
        _parts('{"type":"fixed","name":"', "a.", "F", "", '","size":1}'),
        _parts('{"type":"fixed","size":1,"name":"F","aliases":["A"', ',"A"', "", "", "]}"),
        _parts('{"type":"int"', ',"a":1', "", "", "}"),
        _parts('"', "\\ud83d", "", "", '"'),
        _parts("", "/* */", '"int"', "", ""),
        _parts("", " ", '"int"', "", ""),
    ),
    "json": (
        _parts("", '{"items":', "{}", "}", ""),
        _parts("", '{"not":', "{}", "}", ""),
        _parts("", '{"properties":{"a":', "{}", "}}", ""),
        _parts("", '{"allOf":[', "{}", "]}", ""),
        _parts("", '{"oneOf":[{},', "{}", "]}", ""),
        _parts("", '{"$defs":{"a":', "{}", "}}", ""),
        _parts('{"enum":[', "1,", "1", "", "]}"),
        _parts('{"enum":[', "[", "1", "]", "]}"),
        _parts('{"required":["a"', ',"a"', "", "", "]}"),
        _parts('{"anyOf":[{}', ',{"type":"object"}', "", "", "]}"),
        _parts('{"type":[', '"string",', '"null"', "", "]}"),
        _parts('{"pattern":"', "(a*)*", "b", "", '"}'),
        _parts('{"pattern":"', "(", "b", ")", '"}'),
        _parts('{"pattern":"', "a?", "", "a", '"}'),
        _parts('{"patternProperties":{"^(a+)+$":{}},"properties":{"', "a", "b", "", '":{}}}'),
        _parts('{"$ref":"#', "/a", "", "", '"}'),
        _parts('{"$id":"http://a', "/..", "", "", '"}'),
        _parts('{"minimum":', "9", "", "", "}"),
        _parts('{"multipleOf":1e-', "9", "", "", "}"),
        _parts('{"$defs":{"a":{"$ref":"#/$defs/a"}},"allOf":[', '{"$ref":"#/$defs/a"},', "{}", "", "]}"),
    ),
    "protobuf": (
        _parts('syntax = "proto3";', "message A {", "", "}", ""),
        _parts('syntax = "proto2";', "message A { optional group B = 1 {", "", "}}", ""),
        _parts('syntax = "proto3"; message A { map<string, ', "map<string, ", "int32", ">", "a = 1; }"),
        _parts('syntax = "proto3"; option (a) = ', "{ a: ", "1", "}", ";"),
        _parts('syntax = "proto3"; option (a) = ', "[", "1", "]", ";"),
        _parts('syntax = "proto3"; message A { reserved 1', ", 1", "", "", "; }"),
        _parts('syntax = "proto3"; message A { reserved 1', " to 2, 1", "", "", "; }"),
        _parts('syntax = "proto3"; message A { oneof a {', "int32 a = 1;", "", "", "} }"),
        _parts('syntax = "proto3"; enum A { A = 0;', "B = 1;", "", "", "}"),
        _parts('syntax = "proto3"; package a', ".a", "", "", ";"),
        _parts('syntax = "proto3"; message A {', "a.", "A", "", " a = 1; }"),
        _parts('syntax = "proto3";', "/* */", "", "", ""),
        _parts('syntax = "proto3";', "// a\n", "", "", "message A {}"),
        _parts('syntax = "proto3"; message A { int32 a = ', "1", "", "", "; }"),
        _parts("", 'import "a.proto";', "", "", ""),
        _parts('option a = "', "\\x41", "", "", '";'),
        _parts("option a = ", '"a" ', "", "", ";"),
    ),
}
"""How texts nest and repeat in each language, as inputs of ``stretch``."""
