"""Avro's binary encoding byte by byte, and what another schema makes of it by fastavro.

Values are JSON as ``counterfoil decode`` writes them: bytes in base64, a union's value with the name of its branch
where two branches look alike. A value with a logical type is shown by its meaning: a time in ISO 8601, a decimal.

Source: Apache Avro 1.12 specification, "Binary Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import OutOfSteps, steps_for
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro import sample_values as decoder
from counterfoil.schema.languages.avro.compare.differences import walk as find_differences
from counterfoil.schema.languages.avro.compare.meaning import logical_type_of, meaning_of
from counterfoil.schema.languages.avro.compare.places import AvroDifference
from counterfoil.schema.languages.avro.diff import type_words
from counterfoil.schema.languages.avro.paths import short_name
from counterfoil.schema.languages.avro.sample_values import spell_reader, spell_reader_at, spell_writer
from counterfoil.schema.languages.avro.schema import AvroSchema
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    branch_name,
)
from counterfoil.schema.languages.byte_walk import (
    MASKED,
    ByteWalk,
    HiddenNames,
    ReadValue,
    ValueTree,
    WalkedBytes,
    named,
    path_text,
    shown_boolean,
    shown_bytes,
    shown_null,
    shown_real,
    shown_text,
    text_of,
)
from counterfoil.schema.paths import VALUES, Step, branch, member, value
from counterfoil.schema.texts import excerpt

_INT_RANGE: Final = range(-(2**31), 2**31)
_REAL: Final = {AvroKind.FLOAT: struct.Struct("<f"), AvroKind.DOUBLE: struct.Struct("<d")}
_LONGEST_WORDS: Final = 200
_LONGEST_LOGICAL: Final = 512
"""The largest number of bytes or characters whose meaning by a logical type is shown: digits take quadratic time."""
_MAX_TRIED: Final = 10
"""The number of differences among which the cause of a failure is searched for."""

_JSON_BY_KIND: Final[Mapping[AvroKind, frozenset[str]]] = {
    AvroKind.NULL: frozenset({"null"}),
    AvroKind.BOOLEAN: frozenset({"boolean"}),
    **dict.fromkeys((AvroKind.INT, AvroKind.LONG), frozenset({"number"})),
    **dict.fromkeys((AvroKind.FLOAT, AvroKind.DOUBLE), frozenset({"number", "string"})),
    **dict.fromkeys((AvroKind.BYTES, AvroKind.STRING, AvroKind.FIXED, AvroKind.ENUM), frozenset({"string"})),
    AvroKind.ARRAY: frozenset({"array"}),
    **dict.fromkeys((AvroKind.MAP, AvroKind.RECORD), frozenset({"object"})),
}


def decode_body(schema: AvroSchema, walk: ByteWalk, indexes: Sequence[int]) -> ValueTree:
    """Return the value that begins at the walk's offset; raise ``DecodingStopped`` where the bytes are none."""
    del indexes
    return _AvroDecoder(walk).value(schema.root)


_FieldPlan: TypeAlias = "tuple[Step, str, Callable[[Datum], ValueTree], AvroType]"
"""How a field is read: the step to it, its full name, the reader of its type, and its type."""


class _AvroDecoder:
    """Reads values of the types of one schema from one walk."""

    def __init__(self, walk: ByteWalk) -> None:
        self._walk = walk
        self._words: dict[int, str] = {}
        self._is_named: dict[int, bool] = {}
        self._fields: dict[int, Sequence[_FieldPlan]] = {}
        self._readers: Mapping[AvroKind, Callable[..., ValueTree]] = {
            AvroKind.NULL: self._null,
            AvroKind.BOOLEAN: self._boolean,
            AvroKind.INT: self._integer,
            AvroKind.LONG: self._integer,
            AvroKind.FLOAT: self._real,
            AvroKind.DOUBLE: self._real,
            AvroKind.BYTES: self._bytes,
            AvroKind.STRING: self._string,
            AvroKind.FIXED: self._fixed,
            AvroKind.ENUM: self._enum,
            AvroKind.UNION: self._union,
            AvroKind.ARRAY: self._array,
            AvroKind.MAP: self._map,
            AvroKind.RECORD: self._record,
        }

    def value(self, node: AvroType) -> ValueTree:
        """Return the next value of a type."""
        return self._readers[node.kind](node)

    def _words_of(self, node: AvroType) -> str:
        words = self._words.get(id(node))
        if words is None:
            words = self._words[id(node)] = excerpt(type_words(node), _LONGEST_WORDS)
        return words

    def _leaf(self, first: int, node: AvroType, read: Datum, show: Callable[[Datum], str]) -> ValueTree:
        if not self._walk.is_quiet and logical_type_of(node) is not None:
            show = partial(_shown_logical, node, show)
        return self._walk.leaf(first, self._words_of(node), read, show)

    # Scalars.

    def _null(self, node: AvroPrimitive) -> ValueTree:
        return self._leaf(self._walk.offset, node, None, shown_null)

    def _boolean(self, node: AvroPrimitive) -> ValueTree:
        first = self._walk.offset
        byte = self._walk.take(1, "a boolean, 0x00 or 0x01")[0]
        if byte > 1:
            self._walk.stop(f"A boolean of {byte:#04x}", "0x00 or 0x01", offset=first)
        return self._leaf(first, node, byte == 1, shown_boolean)

    def _integer(self, node: AvroPrimitive) -> ValueTree:
        first = self._walk.offset
        number = self._long(f"a number ({node.kind})")
        if node.kind is AvroKind.INT and number not in _INT_RANGE:
            self._walk.stop("The number has more than 32 bits", "an int of 32 bits", offset=first)
        return self._leaf(first, node, number, str)

    def _real(self, node: AvroPrimitive) -> ValueTree:
        first, form = self._walk.offset, _REAL[node.kind]
        raw = self._walk.take(form.size, f"the {form.size} bytes of a {node.kind}")
        return self._leaf(first, node, form.unpack(raw)[0], shown_real)

    def _bytes(self, node: AvroPrimitive) -> ValueTree:
        first = self._walk.offset
        return self._leaf(first, node, self._walk.take(self._size("bytes"), "the bytes announced"), shown_bytes)

    def _string(self, node: AvroPrimitive) -> ValueTree:
        first = self._walk.offset
        return self._leaf(first, node, self._walk.text(self._size("a string"), "the string announced"), shown_text)

    def _fixed(self, node: AvroFixed) -> ValueTree:
        first = self._walk.offset
        raw = self._walk.take(node.size, f"the {node.size} bytes of fixed {node.full_name}")
        return self._leaf(first, node, raw, shown_bytes)

    def _enum(self, node: AvroEnum) -> ValueTree:
        first = self._walk.offset
        index = self._long(f"the number of a symbol of {node.full_name}")
        if not 0 <= index < len(node.symbols):
            problem = f"No symbol of enum {node.full_name} has the number {index}"
            self._walk.stop(problem, _numbers(node.symbols), offset=first)
        return self._leaf(first, node, node.symbols[index], shown_text)

    def _long(self, expected: str) -> int:
        raw = self._walk.varint(expected)
        return (raw >> 1) ^ -(raw & 1)

    def _size(self, of: str) -> int:
        first = self._walk.offset
        size = self._long(f"the size of {of}")
        if size < 0:
            self._walk.stop(f"A negative size, {size}", f"the size of {of}, 0 or more", offset=first)
        return size

    # Values with parts.

    def _union(self, node: AvroUnion) -> ValueTree:
        walk, first = self._walk, self._walk.offset
        index = self._long("the number of a branch")
        if not 0 <= index < len(node.branches):
            expected = (
                f"a number from 0 to {len(node.branches) - 1}" if node.branches else "nothing: it has no branches"
            )
            walk.stop(f"The union has no branch with the number {index}", expected, offset=first)
        chosen = node.branches[index]
        if chosen.kind is AvroKind.NULL:
            return walk.leaf(first, self._words_of(node), None, shown_null)
        name = branch_name(chosen)
        walk.leaf(first, "branch of a union", name, shown_text)
        walk.path.append(branch(short_name(chosen)))
        tree = self.value(chosen)
        walk.path.pop()
        return walk.built({name: tree}) if self._names_branches(node) else tree

    def _names_branches(self, node: AvroUnion) -> bool:
        known = self._is_named.get(id(node))
        if known is None:
            known = self._is_named[id(node)] = _looks_alike(node)
        return known

    def _record(self, node: AvroRecord) -> ValueTree:
        walk, full_name = self._walk, node.full_name
        masks = walk.enter(None, full_name)
        walk.begin(self._words_of(node))
        tree: dict[str, ValueTree] = {}
        for step, name, read, inner in self._fields_of(node):
            hides = walk.enter(step, name)
            tree[step.name] = walk.leave(step, name, read(inner), masks=hides)
        walk.finish()
        return walk.leave(None, full_name, walk.built(tree), masks=masks)

    def _fields_of(self, node: AvroRecord) -> Sequence[_FieldPlan]:
        known = self._fields.get(id(node))
        if known is None:
            known = self._fields[id(node)] = [
                (member(each.name), f"{node.full_name}.{each.name}", self._readers[each.type.kind], each.type)
                for each in node.fields
            ]
        return known

    def _array(self, node: AvroArray) -> ValueTree:
        walk, path, inner = self._walk, self._walk.path, node.items
        read = self._readers[inner.kind]
        items: list[ValueTree] = []
        walk.begin(self._words_of(node))
        number = 0
        for count in self._blocks():
            path.append(number)
            for _ in range(count):
                path[-1] = number
                items.append(read(inner))
                number += 1
            path.pop()
        walk.finish()
        return walk.built(items)

    def _map(self, node: AvroMap) -> ValueTree:
        walk = self._walk
        entries: dict[str, ValueTree] = {}
        walk.begin(self._words_of(node))
        for count in self._blocks():
            for _ in range(count):
                first = walk.offset
                key = walk.text(self._size("a key"), "the key announced")
                walk.path.append(VALUES if walk.is_masked else named(value, key))
                walk.leaf(first, "key of a map", key, shown_text)
                entries[key] = self.value(node.values)
                walk.path.pop()
        walk.finish()
        return walk.built(entries)

    def _blocks(self) -> Iterator[int]:
        """Yield the number of items of each block; a block with a negative number also has its size in bytes."""
        walk = self._walk
        while True:
            first = walk.offset
            count = self._long("the number of items of a block, or 0 at the end")
            if abs(count) > walk.steps.left:
                message = f"A block of {abs(count)} items, which are more than can be decoded here"
                walk.stop(message, f"at most {max(0, walk.steps.left)} items", offset=first)
            walk.leaf(first, "number of items" if count else "end of the items", count, str)
            if count < 0:
                first, count = walk.offset, -count
                size = self._size("a block in bytes")
                walk.leaf(first, "size of the items in bytes", size, str)
            if count == 0:
                return
            yield count


def _numbers(choices: Sequence[object]) -> str:
    return f"a number from 0 to {len(choices) - 1}" if choices else "nothing: there is nothing to choose from"


def _looks_alike(node: AvroUnion) -> bool:
    """Return whether two branches have the same JSON, so that a value needs the name of its branch."""
    words = [word for each in node.branches for word in _json_of(each)]
    others = [each for each in node.branches if each.kind is not AvroKind.NULL]
    return len(others) > 1 and len(words) != len(set(words))


def _json_of(node: AvroType) -> frozenset[str]:
    """Return the types of JSON that values of a type have; those with a logical type may be a text, too."""
    known = _JSON_BY_KIND.get(node.kind, frozenset())
    return known if logical_type_of(node) is None else known | {"string"}


def _shown_logical(node: AvroType, show: Callable[[Datum], str], read: Datum) -> str:
    """Return the meaning of a value as a JSON text; the plain value if it has none, or is very long."""
    logical = logical_type_of(node)
    if logical is None or (isinstance(read, str | bytes) and len(read) > _LONGEST_LOGICAL):
        return show(read)
    meaning = meaning_of(logical, read)
    return show(read) if meaning.kind.startswith("no ") else shown_text(meaning.text)


# What a reader with another schema makes of the same bytes: fastavro resolves the two schemas.


def read_as(reader: AvroSchema, writer: AvroSchema, walked: WalkedBytes) -> ReadValue:
    """Return what fastavro makes of a body of ``writer`` for ``reader``; the body was decoded without a fault."""
    body, hidden = walked.body, walked.hidden
    types = (*writer.named.values(),)
    try:
        written = decoder.prepared(spell_writer(writer.root))
        got, failure = decoder.resolve(body, written, decoder.prepared(spell_reader(reader.root, types)))
    except (decoder.DecoderRefuses, RecursionError) as refused:
        return ReadValue(fault=str(refused))
    if failure is None:
        shown = _Shown(hidden).value(reader.root, got)
        return ReadValue(text_of(MASKED if hidden.is_all else shown))
    for found in _differences(reader, writer):
        try:
            alone = decoder.failure_to_read(body, written, spell_reader_at(found, types))
        except decoder.DecoderRefuses:
            continue
        if alone is not None:
            text = f"{found.sentence.render(is_start=False)} ({decoder.decoder_name()} says: {failure})"
            return ReadValue(fault=text, path=path_text(found.element))
    return ReadValue(fault=f"{decoder.decoder_name()} says: {failure}")


def _differences(reader: AvroSchema, writer: AvroSchema) -> list[AvroDifference]:
    """Return the first differences of two schemas; none if the comparison does not end within its steps."""
    try:
        return find_differences(reader.root, writer.root, steps_for(reader, writer))[:_MAX_TRIED]
    except (OutOfSteps, InvalidSchema):
        return []


class _Shown:
    """Values as fastavro has them, as trees; the branch of a union is found by the value's type in Python."""

    def __init__(self, hidden: HiddenNames) -> None:
        self._hidden = hidden.names

    def value(self, node: AvroType, got: Datum) -> ValueTree:
        """Return a value of a type."""
        match node:
            case AvroUnion():
                chosen = next((each for each in node.branches if _fits(each, got)), None)
                return "null" if chosen is None else self.value(chosen, got)
            case AvroRecord():
                if node.full_name in self._hidden:
                    return MASKED
                return {field.name: self._field(node, field, got[field.name]) for field in node.fields}
            case AvroArray():
                return [self.value(node.items, each) for each in got]
            case AvroMap():
                return {key: self.value(node.values, each) for key, each in got.items()}
        return _shown_logical(node, _plain_text, got)

    def _field(self, record: AvroRecord, field: AvroField, got: Datum) -> ValueTree:
        names = {f"{record.full_name}.{name}" for name in (field.name, *field.aliases)}
        return MASKED if names & self._hidden else self.value(field.type, got)


def _plain_text(got: Datum) -> str:
    match got:
        case None:
            return "null"
        case bool():
            return shown_boolean(got)
        case bytes():
            return shown_bytes(got)
        case float():
            return shown_real(got)
        case int():
            return str(got)
    return shown_text(got)


_TYPES_BY_KIND: Final[Mapping[AvroKind, tuple[type, ...]]] = {
    AvroKind.NULL: (type(None),),
    AvroKind.BOOLEAN: (bool,),
    AvroKind.INT: (int,),
    AvroKind.LONG: (int,),
    AvroKind.FLOAT: (float, int),
    AvroKind.DOUBLE: (float, int),
    AvroKind.BYTES: (bytes,),
    AvroKind.STRING: (str,),
    AvroKind.ARRAY: (list,),
    AvroKind.MAP: (dict,),
    AvroKind.UNION: (),
}


def _fits(node: AvroType, got: object) -> bool:
    """Return whether a value may be one of a branch."""
    match node:
        case AvroEnum():
            return isinstance(got, str) and got in node.symbols
        case AvroFixed():
            return isinstance(got, bytes) and len(got) == node.size
        case AvroRecord():
            return isinstance(got, dict) and got.keys() == {field.name for field in node.fields}
    return isinstance(got, _TYPES_BY_KIND[node.kind]) and (node.kind is AvroKind.BOOLEAN or not isinstance(got, bool))
