"""Values of an Avro type (small ones, ones with a given part, random ones), and fastavro, which decodes them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import Final, TypeAlias

from counterfoil.schema.compatibility.findings import Sentence
from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.avro.attributes import is_usable_default
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.differences import describe
from counterfoil.schema.languages.avro.compare.meaning import logical_type_of, logical_value, spread_over_words
from counterfoil.schema.languages.avro.compare.places import AvroDifference, TypePair
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
    NamedType,
)
from counterfoil.schema.texts import excerpt

# Type trees in fastavro's form: plain dicts, every named type declared where it is first used.
#
# Logical types are left out: a decoder that cannot resolve the underlying types does not use them.
#
# - A name without a namespace gets the namespace ``_``, since fastavro would put it into the enclosing namespace.
# - A reader's type that has the name of a writer's type but another kind is renamed, since fastavro compares only names
#   there and would read, say, a fixed as an enum.
# - A reader's empty union gets a branch that no writer writes, since fastavro would treat it as no reader at all.
# - A reader's union with both bytes and string has bytes first, since fastavro would take bytes for the string that
#   comes first, and fail; other decoders take the branch of the writer's own kind.
# - An ``error`` is written as a record.
# - A default that no reader can use is left out, since fastavro would refuse the whole schema because of it.

_NEVER_WRITTEN = {"type": "fixed", "name": "_.empty_union", "size": 0}


def branch_name(branch: AvroType) -> str:
    """Return fastavro's name of a union's branch: the full name of a named type, else the kind."""
    return _qualified(branch.full_name) if isinstance(branch, AvroRecord | AvroEnum | AvroFixed) else branch.kind.value


def spell_writer(root: AvroType) -> Datum:
    """Return the whole writer's schema in fastavro's form."""
    return _Speller().spell(root)


def spell_reader(root: AvroType, writer_types: Iterable[NamedType]) -> Datum:
    """Return the whole reader's schema in fastavro's form, for a writer that declares ``writer_types``."""
    return _Speller(writer_types).spell(root)


def spell_reader_at(found: AvroDifference, writer_types: Iterable[NamedType]) -> Datum:
    """Return only the part of the reader's schema that leads to a difference, and there only what differs.

    A datum that this reader refuses is refused because of this difference, whatever other differences there are.
    Records on the way get the writer's names, since decoders that resolve by structure do not compare them.
    """
    spelt = _differing_part(found, _Speller(writer_types))
    for number, step in enumerate(reversed(found.place.from_root())):
        if step.parent is not None:
            spelt = _around(step.parent, step, spelt, number)
    return spelt


def _around(parent: TypePair, step: TypePair, inner: object, number: int) -> Datum:
    match parent.reader, parent.writer:
        case (AvroRecord(), AvroRecord()) if step.reader_field is not None:
            name = f"_{number}.{parent.writer.name}"
            return {"type": "record", "name": name, "fields": [_field(step.reader_field, inner)]}
        case (AvroArray(), AvroArray()):
            return {"type": "array", "items": inner}
        case (AvroMap(), AvroMap()):
            return {"type": "map", "values": inner}
    return inner  # a step into a branch: the reader's type stays the same


def _differing_part(found: AvroDifference, speller: _Speller) -> Datum:
    match found.place.reader, found.place.writer:
        case (AvroRecord(), AvroRecord() as writer):
            fields = [found.field] if found.kind is rules.MISSING_DEFAULT and found.field is not None else []
            return {"type": "record", "name": f"_.{writer.name}", "fields": [_field(field, "null") for field in fields]}
        case (AvroEnum() as reader, AvroEnum() as writer) if found.kind is rules.MISSING_ENUM_SYMBOLS:
            return {"type": "enum", "name": f"_.{writer.name}", "symbols": list(reader.symbols)}
        case (AvroFixed() as reader, AvroFixed() as writer) if found.kind is rules.FIXED_SIZE_MISMATCH:
            return {"type": "fixed", "name": f"_.{writer.name}", "size": reader.size}
        case (AvroEnum() as reader, AvroEnum() as writer):
            return {"type": "enum", "name": _qualified(reader.full_name), "symbols": list(writer.symbols)}
        case (AvroFixed() as reader, AvroFixed() as writer):
            return {"type": "fixed", "name": _qualified(reader.full_name), "size": writer.size}
    return speller.spell(found.place.reader)


def _bytes_first(branches: Sequence[AvroType]) -> Sequence[AvroType]:
    kinds = {branch.kind for branch in branches}
    if {AvroKind.BYTES, AvroKind.STRING} <= kinds:
        return sorted(branches, key=lambda branch: branch.kind is not AvroKind.BYTES)
    return branches


def _field(field: AvroField, spelt: object) -> dict[str, Datum]:
    """Return a field without its default, which is not used on the way to a difference."""
    return {"name": field.name, "type": spelt, "aliases": list(field.aliases)}


def _qualified(full_name: str) -> str:
    return full_name if "." in full_name else f"_.{full_name}"


class _Speller:
    """A writer of one tree in fastavro's form.

    ``writer_types`` are given for a reader: types with one of their names but another kind are renamed.
    """

    def __init__(self, writer_types: Iterable[NamedType] | None = None) -> None:
        self._is_reader = writer_types is not None
        self._declared: set[int] = set()
        self._kinds_by_name: dict[str, set[str]] = {}
        for node in writer_types or ():
            self._kinds_by_name.setdefault(node.name, set()).add(node.kind)

    def spell(self, node: AvroType) -> Datum:
        match node:
            case AvroPrimitive():
                return node.kind.value
            case AvroArray():
                return {"type": "array", "items": self.spell(node.items)}
            case AvroMap():
                return {"type": "map", "values": self.spell(node.values)}
            case AvroUnion():
                branches = _bytes_first(node.branches) if self._is_reader else node.branches
                return [self.spell(branch) for branch in branches] or [_NEVER_WRITTEN]
        name = self._name(node)
        if id(node) in self._declared:
            return name
        self._declared.add(id(node))
        return {"type": node.kind.value, "name": name, "aliases": self._aliases(node), **self._content(node)}

    def _content(self, node: NamedType) -> dict[str, Datum]:
        match node:
            case AvroRecord():
                return {"fields": [self._field(field) for field in node.fields]}
            case AvroEnum():
                default = {} if node.default is None else {"default": node.default}
                return {"symbols": list(node.symbols), **default}
        return {"size": node.size}

    def _field(self, field: AvroField) -> dict[str, Datum]:
        is_usable = field.has_default and is_usable_default(field.type, field.default)
        default = {"default": field.default} if is_usable else {}
        return _field(field, self.spell(field.type)) | default

    def _name(self, node: NamedType) -> str:
        suffix = f"_{node.kind}" if self._is_of_another_kind(node.name, node) else ""
        return _qualified(node.full_name) + suffix

    def _aliases(self, node: NamedType) -> list[str]:
        return [
            _qualified(alias) for alias in node.aliases if not self._is_of_another_kind(alias.rpartition(".")[2], node)
        ]

    def _is_of_another_kind(self, name: str, node: NamedType) -> bool:
        kinds = self._kinds_by_name.get(name)
        return kinds is not None and node.kind not in kinds


# The decoder of another project: fastavro, which writes a datum and reads it with the reader's schema.
#
# Source of the behaviour: fastavro's ``schemaless_writer`` and ``schemaless_reader``.

_LONGEST_MESSAGE: Final = 20_000
_INVENTED_NAMESPACE: Final = re.compile(r"\b_\d*\.")


class DecoderRefuses(CounterfoilError):
    """The error for a schema or a datum that fastavro cannot process; it proves nothing about the reader."""


def prepared(schema: object) -> Datum:
    """Return ``schema`` parsed for repeated use; raise ``DecoderRefuses`` if fastavro does not accept it."""
    import fastavro

    try:
        return fastavro.parse_schema(schema)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not take the schema: {quote(refused)}") from refused


def write(datum: object, schema: object) -> bytes:
    """Return the Avro binary encoding of ``datum`` under a schema.

    Raises ``DecoderRefuses`` if fastavro does not accept it.
    """
    import fastavro

    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, datum)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not write it: {quote(refused)}") from refused
    return out.getvalue()


def failure_to_read(body: bytes, writer: object, reader: object | None = None) -> str | None:
    """Return fastavro's message why a reader with the schema ``reader`` cannot read ``body``; None if it can.

    Only a failed schema resolution counts. For any other exception of fastavro, raises ``DecoderRefuses``.
    """
    return resolve(body, writer, reader)[1]


def resolve(body: bytes, writer: object, reader: object | None = None) -> tuple[Datum, str | None]:
    """Return the datum that a reader with the schema ``reader`` gets from ``body``, and None.

    If it cannot read ``body``, None and the reason.
    """
    import fastavro
    from fastavro.read import SchemaResolutionError

    try:
        return fastavro.schemaless_reader(io.BytesIO(body), writer, reader), None
    except SchemaResolutionError as failure:
        return None, quote(failure)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not read it: {quote(refused)}") from refused


def failure_to_decode(body: bytes, schema: object) -> str | None:
    """Return fastavro's message why ``body`` cannot be decoded with ``schema``; None if it can."""
    import fastavro

    try:
        fastavro.schemaless_reader(io.BytesIO(body), schema, None)
    except UnicodeDecodeError as failure:
        return quote(failure)
    return None


@cache
def decoder_name() -> str:
    """Return the decoder and its version, such as ``fastavro 1.10.0``."""
    import fastavro

    return f"fastavro {fastavro.__version__}"


def quote(exception: Exception) -> str:
    """Return the message of an exception on one line, shortened."""
    text = f"{type(exception).__name__}: {exception}"[:_LONGEST_MESSAGE]  # some quote both schemas
    return excerpt(_INVENTED_NAMESPACE.sub("", " ".join(text.split())), 200)


# The smallest data that a schema allows, and data with a value at a given place.
#
# A datum has fastavro's form; a union's value is a pair of its branch's name and the value, so that the branch is
# explicit.

MAX_NODES: Final = 10_000
"""The largest number of values in one datum, including nested ones."""

MAX_FIXED_BYTES: Final = 1 << 16
"""The largest size of a fixed in a datum, in bytes."""

MAP_KEY: Final = "key"

_ZEROS: Final[Mapping[AvroKind, Datum]] = {
    AvroKind.NULL: None,
    AvroKind.BOOLEAN: False,
    AvroKind.INT: 0,
    AvroKind.LONG: 0,
    AvroKind.FLOAT: 0.0,
    AvroKind.DOUBLE: 0.0,
    AvroKind.BYTES: b"",
    AvroKind.STRING: "",
}


_AS_IN_JSON: Final = frozenset({str, int, float, bool, type(None)})


class NoDatum(Exception):
    """The error for a type without a datum of limited size: every branch is recursive, or it is very large."""


class DataBuilder:
    """A builder of data of one writer, within a budget of values."""

    def __init__(self) -> None:
        self._left = MAX_NODES

    def minimal(self, node: AvroType, inside: frozenset[int] = frozenset()) -> Datum:
        """Return the smallest datum of ``node``: zeros, empty collections, the first symbol, ``null`` if allowed.

        ``inside`` has the ids of the records around it. Raises ``NoDatum`` if there is none.
        """
        self.spend()
        match node:
            case AvroPrimitive():
                return _ZEROS[node.kind]
            case AvroArray():
                return []
            case AvroMap():
                return {}
            case AvroEnum():
                return _first_symbol(node)
            case AvroFixed():
                return _zeros(node)
            case AvroUnion():
                return self._minimal_branch(node, inside)
            case AvroRecord():
                return self._minimal_record(node, inside)

    def spend(self) -> None:
        """Count one value; raise ``NoDatum`` if a datum has too many."""
        self._left -= 1
        if self._left < 0:
            raise NoDatum(f"a datum would hold more than {MAX_NODES} values")

    def _minimal_record(self, record: AvroRecord, inside: frozenset[int]) -> dict[str, Datum]:
        if id(record) in inside:
            raise NoDatum(f"record {record.full_name} holds itself without end")
        within = inside | {id(record)}
        return {field.name: self.minimal(field.type, within) for field in record.fields}

    def _minimal_branch(self, union: AvroUnion, inside: frozenset[int]) -> tuple[str, Datum]:
        plain_first = sorted(union.branches, key=lambda branch: branch.kind is not AvroKind.NULL)
        for branch in plain_first:
            try:
                return branch_name(branch), self.minimal(branch, inside)
            except NoDatum:
                continue
        raise NoDatum("no branch of a union has a finite datum")

    def reaching(self, place: TypePair, value: object) -> Datum:
        """Return a datum of the whole writer with ``value`` at ``place`` and the smallest values elsewhere."""
        for step in reversed(place.from_root()[1:]):
            if step.via is not None and step.parent is not None:
                value = self._around(step.parent.writer, step.via, value)
        return value

    def _around(self, outer: AvroType, via: str | int, value: object) -> Datum:
        match outer:
            case AvroUnion():
                return branch_name(outer.branches[int(via)]), value
            case AvroArray():
                return [value]
            case AvroMap():
                return {MAP_KEY: value}
            case AvroRecord():
                return {field.name: value if field.name == via else self.minimal(field.type) for field in outer.fields}
        raise NoDatum(f"nothing can be inside {outer.kind}")


def _first_symbol(enum: AvroEnum) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[0]


def _zeros(fixed: AvroFixed) -> bytes:
    if fixed.size > MAX_FIXED_BYTES:
        raise NoDatum(f"fixed {fixed.full_name} is longer than {MAX_FIXED_BYTES} bytes")
    return bytes(fixed.size)


def plain_json(datum: object) -> str:
    """Return a datum as readable JSON: union values without branch names, each byte as one character."""
    return json.dumps(_plain(datum), ensure_ascii=False)


def _plain(datum: object) -> Datum:
    if type(datum) in _AS_IN_JSON:  # most values of most data; a shortcut for speed
        return datum
    match datum:
        case tuple():
            return _plain(datum[1])
        case bytes():
            return datum.decode("latin-1")
        case dict():
            return {name: _plain(value) for name, value in datum.items()}
        case list():
            return [_plain(item) for item in datum]
    return datum


def words_to(places: Sequence[TypePair]) -> str:
    """Return the path to the last of ``places`` as text: ``field lines, item, field price``; empty for the root."""
    return ", ".join(
        _one_step(step.parent.writer, step) for step in places if step.parent is not None and step.via is not None
    )


def step_in_words(found: AvroDifference) -> Sentence:
    """Return the place at which the reader stops, and why: the path to a finding, and the finding."""
    way = words_to(found.place.from_root())
    sentence = found.sentence
    return Sentence.of("{way}: {what}", {"way": way, "what": sentence}) if way else sentence


def _one_step(outer: AvroType, step: TypePair) -> str:
    match outer:
        case AvroRecord():
            return f"field {step.via}"
        case AvroUnion():
            return f"branch {describe(step.writer)}"
        case AvroMap():
            return "map value"
    return "item"


# Values of an Avro type in a fixed order: the most revealing first, every branch of a union, every symbol of an enum.
#
# A type with a logical type has values that are valid by it: the first is a usual one, such as 12.34 or half past
# twelve on a day in 2024, which has another meaning with another unit, scale or kind.
#
# Values have fastavro's form, as the smallest data above. There is no randomness: the same type gives the same values
# on every run.

MAX_DEPTH: Final = 8
"""The depth up to which values are varied; below it they are the smallest."""

_LONGEST: Final = 3  # items of an array
_KEYS: Final = ("key", "", "ключ")

_BOUNDARIES: Final[Mapping[AvroKind, Sequence[Datum]]] = {
    AvroKind.NULL: (None,),
    AvroKind.BOOLEAN: (False, True),
    AvroKind.INT: (0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31)),
    AvroKind.LONG: (0, 1, -1, 2**24 + 1, 2**53 + 1, 2**63 - 1, -(2**63)),
    AvroKind.FLOAT: (0.0, 1.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45),
    AvroKind.DOUBLE: (0.0, 1.5, -1.5, 1.7976931348623157e308, 5e-324, 0.1),
    AvroKind.BYTES: (b"", b"\x00", b"A", b"\xff", b"\x7f" * 65),
    AvroKind.STRING: ("", "A", "\x00", "é", "\U0001f600", "A" * 65),
}


_Maker: TypeAlias = Callable[[int, frozenset[int]], Datum]
"""Makes the next value of a type at a depth, inside the records with these ids."""


class SampleValues:
    """A sequence of values. Each type counts its uses, and each use gets the next value."""

    def __init__(self) -> None:
        self._makers: dict[int, _Maker] = {}
        self._smallest = DataBuilder()

    def next_of(self, node: AvroType) -> Datum:
        """Return the next value of ``node``; raise ``NoDatum`` if it has none of limited size."""
        self._smallest = DataBuilder()
        return self._maker(node)(MAX_DEPTH, frozenset())

    def _maker(self, node: AvroType) -> _Maker:
        """Return the maker of a type's values: what does not change from value to value is looked up once."""
        known = self._makers.get(id(node))
        if known is None:
            known = self._makers[id(node)] = self._new_maker(node)
        return known

    def _new_maker(self, node: AvroType) -> _Maker:
        numbers = count()
        vary = _leaf(node) or self._with_parts(node)

        def make(depth: int, inside: frozenset[int]) -> Datum:
            if depth == 0:
                return self._smallest.minimal(node, inside)
            self._smallest.spend()
            return vary(next(numbers), depth, inside)

        return make

    def _with_parts(self, node: AvroType) -> Callable[[int, int, frozenset[int]], Datum]:
        """Return a function from a number, a depth and the records around it to a value of a type with parts."""
        match node:
            case AvroArray(items=items):
                return lambda number, depth, _: self._several(items, number % (_LONGEST + 1), depth)
            case AvroMap(values=values):
                size = len(_KEYS) + 1
                return lambda number, depth, _: dict(
                    zip(_KEYS, self._several(values, number % size, depth), strict=False)
                )
            case AvroUnion():
                return partial(self._next_branch, node)
            case AvroRecord():
                return self._record_maker(node)
        raise AssertionError("a type without parts is a leaf")

    def _several(self, node: AvroType, count: int, depth: int) -> list[Datum]:
        try:
            return [self._maker(node)(depth - 1, frozenset()) for _ in range(count)]
        except NoDatum:
            return []  # every value of this type is infinite, but an empty collection of it is not

    def _record_maker(self, record: AvroRecord) -> Callable[[int, int, frozenset[int]], Datum]:
        fields: list[tuple[str, _Maker]] = []

        def make(_: int, depth: int, inside: frozenset[int]) -> Datum:
            if not fields:  # now the makers of all records are known, also of this one inside itself
                fields.extend((field.name, self._maker(field.type)) for field in record.fields)
            within = inside | {id(record)}
            return {name: maker(depth - 1, within) for name, maker in fields}

        return make

    def _next_branch(self, union: AvroUnion, number: int, depth: int, inside: frozenset[int]) -> tuple[str, Datum]:
        for index in range(len(union.branches)):
            branch = union.branches[(number + index) % len(union.branches)]
            try:
                return branch_name(branch), self._maker(branch)(depth - 1, inside)
            except NoDatum:
                continue
        raise NoDatum("no branch of a union has a finite datum")


def _leaf(node: AvroType) -> Callable[[int, int, frozenset[int]], Datum] | None:
    """Return the function from a number to a value of a type without parts; None for a type with parts.

    Its further arguments are those of types with parts, and have no effect.
    """
    logical = logical_type_of(node)
    if logical is not None:
        return lambda number, *_: logical_value(logical, node, number)
    match node:
        case AvroPrimitive():
            return _primitive(node.kind)
        case AvroEnum():
            return lambda number, *_: _symbol(node, number)
        case AvroFixed():
            return lambda number, *_: _fixed(node, number)
    return None


def _primitive(kind: AvroKind) -> Callable[[int, int, frozenset[int]], Datum]:
    boundaries, vary = _BOUNDARIES[kind], _VARIED.get(kind)

    def value(number: int, _: int, __: frozenset[int]) -> Datum:
        if number < len(boundaries):
            return boundaries[number]
        return vary(number) if vary is not None else boundaries[number % len(boundaries)]

    return value


def _varied_float(number: int) -> float:
    return float((spread_over_words(number) >> 44) - 2**19) / 2**9  # exact in 32 bits


_VARIED: Final[Mapping[AvroKind, Callable[[int], Datum]]] = {
    AvroKind.INT: lambda number: (spread_over_words(number) >> 32) - 2**31,
    AvroKind.LONG: lambda number: spread_over_words(number) - 2**63,
    AvroKind.FLOAT: _varied_float,
    AvroKind.DOUBLE: _varied_float,
    AvroKind.STRING: lambda number: f"text {number}",
    AvroKind.BYTES: lambda number: spread_over_words(number).to_bytes(8, "big"),
}
"""The values after the boundaries; a kind without an entry repeats its boundaries."""


def _symbol(enum: AvroEnum, number: int) -> str:
    if not enum.symbols:
        raise NoDatum(f"enum {enum.full_name} has no symbols")
    return enum.symbols[number % len(enum.symbols)]


def _fixed(fixed: AvroFixed, number: int) -> bytes:
    if fixed.size > MAX_FIXED_BYTES:
        raise NoDatum(f"fixed {fixed.full_name} is longer than {MAX_FIXED_BYTES} bytes")
    return bytes((number * 127 + index * number) % 256 for index in range(fixed.size))
