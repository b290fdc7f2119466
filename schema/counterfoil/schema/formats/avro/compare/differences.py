"""The pair walk: a reader's and a writer's type tree, entered together, and everything that the reader cannot read.

The answers are those of the reference's checker, quirks included, since clients parse them: the same differences, in
the same order, with the same error types and paths.

- A pair of nodes is judged once, by identity; what is found with it is reported at every place where it is met, with
  the path of the first. A pair that is met again while it is being judged counts as compatible.
- Between two unions each branch of the writer is tried against the whole reader; what the trials find is not
  reported, only the branch that failed. A plain reader of a writer's union reports what each branch finds.
- A missing field of an enum type that has an enum default is a type mismatch between the enum and the writer's record.
- A reader field that matches several fields of the writer makes the whole pair undecidable: one difference, no type.

Source: Apache Avro 1.12, "Schema Resolution", and recorded answers of Confluent Schema Registry 8.5.
"""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.compatibility.report import Difference
from counterfoil.schema.compatibility.sentences import Sentence
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.places import Found, Place
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union
from counterfoil.schema.place import member

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.rules import CompatibilityRule
    from counterfoil.schema.formats.avro.types import AvroType, Field, NamedType

_Pair: TypeAlias = tuple[int, int]

PROMOTIONS: Final = frozenset(
    {
        (Kind.INT, Kind.LONG),
        (Kind.INT, Kind.FLOAT),
        (Kind.INT, Kind.DOUBLE),
        (Kind.LONG, Kind.FLOAT),
        (Kind.LONG, Kind.DOUBLE),
        (Kind.FLOAT, Kind.DOUBLE),
        (Kind.STRING, Kind.BYTES),
        (Kind.BYTES, Kind.STRING),
    }
)
"""Pairs of writer's and reader's kind that a decoder converts."""

MAX_DIFFERENCES: Final = 1000
"""How many differences are reported; types that use each other often would otherwise repeat one without bound."""

_DESCRIBED_DEPTH: Final = 3


def walk(reader: AvroType, writer: AvroType, *, trusts_cycles: bool = True) -> list[Found]:
    """What is wrong between two nodes, each difference with its rule and the place where it was first met.

    ``trusts_cycles`` takes, as the reference does, what was judged while a pair of types was still being judged for
    settled; without it the pairs are judged again, until no more of them turn out to be unreadable.
    """
    root = Place(None, None, reader, writer)
    try:
        found = _Walk().compare(reader, writer, root) if trusts_cycles else _settle(reader, writer, root)
        return list(found)
    except _Ambiguous as ambiguous:
        return [ambiguous.found]
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None


class _Ambiguous(Exception):
    """A reader field matches several of the writer's."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.difference.text)
        self.found = found


def _settle(reader: AvroType, writer: AvroType, root: Place) -> tuple[Found, ...]:
    unreadable: dict[_Pair, tuple[Found, ...]] = {}
    while True:
        walk = _Walk(unreadable)
        found = walk.compare(reader, writer, root)
        known = len(unreadable)
        unreadable = walk.unreadable() | unreadable
        if len(unreadable) == known:
            return found


class _Walk:
    """One comparison of two trees. Findings are tuples, so that a memoised one can be shared.

    ``unreadable`` are pairs of which it is known that the reader cannot read the writer, and why.
    """

    __slots__ = ("_found_by_pair", "_unreadable")

    def __init__(self, unreadable: Mapping[_Pair, tuple[Found, ...]] = MappingProxyType({})) -> None:
        self._found_by_pair: dict[_Pair, tuple[Found, ...]] = {}
        self._unreadable = unreadable

    def unreadable(self) -> dict[_Pair, tuple[Found, ...]]:
        """The pairs that were found to be unreadable."""
        return {pair: found for pair, found in self._found_by_pair.items() if found}

    def compare(self, reader: AvroType, writer: AvroType, place: Place) -> tuple[Found, ...]:
        """What is wrong between two nodes."""
        if type(reader) is Primitive and type(writer) is Primitive:  # most pairs of most schemas; only for speed
            return () if _reads(reader, writer) else _type_mismatch(place)
        pair = (id(reader), id(writer))
        known = self._found_by_pair.get(pair)
        if known is not None:
            return known
        # met again while in progress: compatible until proven otherwise
        self._found_by_pair[pair] = self._unreadable.get(pair, ())
        found = self._found_by_pair[pair] = self._judge(reader, writer, place)[:MAX_DIFFERENCES]
        return found

    def _judge(self, reader: AvroType, writer: AvroType, place: Place) -> tuple[Found, ...]:
        match reader, writer:
            case (Union(), Union()):
                return self._union_from_union(reader, writer, place)
            case (_, Union()):
                return self._plain_from_union(reader, writer, place)
            case (Record(), Record()):
                return (*_name_mismatch(reader, writer, place), *self._fields(reader, writer, place))
            case (Array(), Array()):
                items = Place(place, "items", reader.items, writer.items, "items")
                return self.compare(reader.items, writer.items, items)
            case (Map(), Map()):
                values = Place(place, "values", reader.values, writer.values, "values")
                return self.compare(reader.values, writer.values, values)
            case (Enum(), Enum()):
                return (*_name_mismatch(reader, writer, place), *_symbols_mismatch(reader, writer, place))
            case (Fixed(), Fixed()):
                return (*_name_mismatch(reader, writer, place), *_size_mismatch(reader, writer, place))
            case (Union(), _):
                return self._union_from_plain(reader, writer, place)
        return _type_mismatch(place)

    def _fields(self, reader: Record, writer: Record, place: Place) -> tuple[Found, ...]:
        writer_fields = {field.name: field for field in writer.fields}
        found: list[Found] = []
        for index, field in enumerate(reader.fields):
            match = writer_fields.get(field.name)
            if match is field and field.is_plain:
                continue  # only for speed
            if field.aliases:
                match = _match_by_alias(field, writer_fields, place)
            if match is None:
                if not field.has_default:
                    found += self._missing_field(index, field, place)
                continue
            if len(found) >= MAX_DIFFERENCES:
                break
            mine, theirs = field.type, match.type
            if _reads_plainly(mine, theirs):
                continue  # only for speed
            entered = Place(place, f"fields/{index}/type", mine, theirs, match.name, field, match)
            found += self.compare(mine, theirs, entered)
        return tuple(found)

    def _missing_field(self, index: int, field: Field, place: Place) -> tuple[Found, ...]:
        if isinstance(field.type, Enum) and field.type.default is not None:
            entered = Place(place, f"fields/{index}/type", field.type, place.writer, reader_field=field)
            return self.compare(field.type, place.writer, entered)
        return (_missing_default(index, field, place),)

    def _union_from_union(self, reader: Union, writer: Union, place: Place) -> tuple[Found, ...]:
        found: list[Found] = []
        primitives = {branch.kind for branch in reader.branches if type(branch) is Primitive}
        for index, branch in enumerate(writer.branches):
            if type(branch) is Primitive and branch.kind in primitives:
                continue  # only for speed
            trial = Place(place, None, reader, branch, index)
            for failure in self.compare(reader, branch, trial)[:1]:
                difference = replace(failure.difference, path=place.path(str(index)))
                found.append(Found(rules.MISSING_UNION_BRANCH, difference, trial))
        return tuple(found)

    def _plain_from_union(self, reader: AvroType, writer: Union, place: Place) -> tuple[Found, ...]:
        found: list[Found] = []
        for index, branch in enumerate(writer.branches):
            found += self.compare(reader, branch, Place(place, str(index), reader, branch, index))
        return tuple(found)

    def _union_from_plain(self, reader: Union, writer: AvroType, place: Place) -> tuple[Found, ...]:
        reasons: list[tuple[bool, Found]] = []
        for branch in reader.branches:
            if branch.kind is not writer.kind and (writer.kind, branch.kind) not in PROMOTIONS:
                continue  # it cannot read the writer, and is no reason worth naming; only for speed
            failures = self.compare(branch, writer, Place(place, None, branch, writer))
            if not failures:
                return ()
            if branch.kind is writer.kind:
                first = failures[0]
                reasons.append((first.rule is rules.NAME_MISMATCH and first.place.reader is branch, first))
        reasons.sort(key=itemgetter(0))  # a branch of the writer's own name first
        return (_missing_branch(place, reasons[0][1] if reasons else None),)


def _reads(reader: Primitive, writer: Primitive) -> bool:
    return reader.kind is writer.kind or (writer.kind, reader.kind) in PROMOTIONS


def _reads_plainly(reader: AvroType, writer: AvroType) -> bool:
    """Whether a type without records reads another, seen at a glance; False means that it takes a closer look.

    Most fields of two versions of one schema are the same, so this decides most of a comparison's time.
    """
    if type(reader) is Primitive:
        return reader is writer or (type(writer) is Primitive and _reads(reader, writer))
    if type(reader) is Union:
        return type(writer) is Union and _are_same_primitives(reader.branches, writer.branches)
    if type(reader) is Array:
        return type(writer) is Array and _reads_plainly(reader.items, writer.items)
    if type(reader) is Map:
        return type(writer) is Map and _reads_plainly(reader.values, writer.values)
    if type(reader) is Enum:
        return type(writer) is Enum and reader.name == writer.name and reader.symbols == writer.symbols
    return False


def _are_same_primitives(readers: Sequence[AvroType], writers: Sequence[AvroType]) -> bool:
    if len(readers) != len(writers):
        return False
    for reader, writer in zip(readers, writers, strict=True):
        if type(reader) is not Primitive or type(writer) is not Primitive or reader.kind is not writer.kind:
            return False
    return True


def _match_by_alias(field: Field, writer_fields: Mapping[str, Field], place: Place) -> Field | None:
    matches = _matches(field, writer_fields)
    if len(matches) > 1:
        raise _Ambiguous(_ambiguous_alias(field, matches, place))
    return matches[0] if matches else None


def match_field(field: Field, writer_fields: Mapping[str, Field]) -> Field | None:
    """The writer's field that fills the reader's ``field``, by name, else by alias; None where its default does."""
    return next(iter(_matches(field, writer_fields)), None)


def _matches(field: Field, writer_fields: Mapping[str, Field]) -> list[Field]:
    """By name and by each alias; an alias that repeats the name counts a second time, as in the reference."""
    names = (field.name, *dict.fromkeys(field.aliases))
    return [writer_fields[name] for name in names if name in writer_fields]


def have_matching_names(reader: NamedType, writer: NamedType) -> bool:
    """Whether the names alone let ``reader`` stand for ``writer``: namespaces do not count, aliases are full names."""
    return reader.name == writer.name or writer.full_name in reader.aliases


def describe(node: AvroType, depth: int = _DESCRIBED_DEPTH) -> str:
    """A type in a few words: ``string``, ``enum ns.Color``, ``array of long``, ``[null, string]``."""
    if isinstance(node, Array | Map):
        inner = node.items if isinstance(node, Array) else node.values
        return f"{node.kind} of {describe(inner, depth - 1) if depth else '…'}"
    if isinstance(node, Union):
        return f"[{', '.join(describe(branch, depth - 1) for branch in node.branches) if depth else '…'}]"
    return node.kind.value if isinstance(node, Primitive) else f"{node.kind} {node.full_name}"


def missing_symbols(reader: Enum, writer: Enum) -> list[str]:
    """The writer's symbols that the reader cannot read, sorted; none where the reader's default takes their place."""
    if reader.default is not None and reader.default in reader.symbols:
        return []
    return sorted(set(writer.symbols).difference(reader.symbols))


def _name_mismatch(reader: NamedType, writer: NamedType, place: Place) -> tuple[Found, ...]:
    if have_matching_names(reader, writer):
        return ()
    facts = {"kind": reader.kind, "reader": reader.full_name, "writer": writer.full_name}
    return (found_at(rules.NAME_MISMATCH, place, detail=writer.full_name, attribute="name", facts=facts),)


def _size_mismatch(reader: Fixed, writer: Fixed, place: Place) -> tuple[Found, ...]:
    if reader.size == writer.size:
        return ()
    facts = {"name": reader.full_name, "reader": reader.size, "writer": writer.size}
    detail = f"{writer.size} bytes, not {reader.size}"
    return (found_at(rules.FIXED_SIZE_MISMATCH, place, detail=detail, attribute="size", facts=facts),)


def _symbols_mismatch(reader: Enum, writer: Enum, place: Place) -> tuple[Found, ...]:
    missing = missing_symbols(reader, writer)
    if not missing:
        return ()
    facts = {"name": reader.full_name, "symbols": tuple(missing)}
    detail = f"[{', '.join(missing)}]"
    found = found_at(rules.MISSING_ENUM_SYMBOLS, place, detail=detail, attribute="symbols", facts=facts)
    first = place.writer_pointer(f"/symbols/{next(i for i, symbol in enumerate(writer.symbols) if symbol in missing)}")
    return (replace(found, difference=replace(found.difference, writer_pointer=first)),)


def _type_mismatch(place: Place) -> tuple[Found, ...]:
    reader, writer = describe(place.reader), describe(place.writer)
    facts = {"reader": reader, "writer": writer}
    return (found_at(rules.TYPE_MISMATCH, place, detail=f"{reader} cannot read {writer}", facts=facts),)


def _missing_default(index: int, field: Field, place: Place) -> Found:
    facts = {"field": field.name, "record": describe(place.writer)}
    found = found_at(rules.MISSING_DEFAULT, place, detail=field.name, facts=facts, path=place.path(f"fields/{index}"))
    return at_field(found, field)


def _missing_branch(place: Place, reason: Found | None) -> Found:
    """``reason`` is why the branch that is most like the writer's type does not read it, where there is such a one."""
    writer = describe(place.writer)
    facts = {"reader": describe(place.reader), "writer": writer}
    found = found_at(rules.MISSING_UNION_BRANCH, place, detail=writer, facts=facts)
    if reason is None:
        return found
    because = reason.difference.because or reason.difference
    sentence = Sentence.of("{what}: {why}", {"what": found.difference.sentence, "why": _with_path(because)})
    inner = reason.difference
    difference = replace(
        found.difference,
        sentence=sentence,
        because=because,
        place=inner.place,
        reader_pointer=inner.reader_pointer,
        writer_pointer=inner.writer_pointer,
    )
    return replace(found, difference=difference)


def _with_path(difference: Difference) -> Sentence:
    """A sentence to stand after a colon, with the path inside the branch where that is not the branch itself."""
    if difference.path.count("/") <= 1:
        return difference.sentence
    return Sentence.of("{why}, at {path} of it", {"why": difference.sentence, "path": difference.path})


def _ambiguous_alias(field: Field, matches: list[Field], place: Place) -> Found:
    names = ", ".join(match.name for match in matches)
    facts = {"field": field.name, "record": describe(place.writer), "matches": names}
    return at_field(found_at(rules.AMBIGUOUS_ALIAS, place, detail=field.name, facts=facts, path=""), field)


def at_field(found: Found, field: Field) -> Found:
    """The same finding at the field, where that stands in the reader's text, and at the fields of the writer."""
    steps = (*found.place.reader_steps(), member(field.name))
    pointers = (field.pointer or found.difference.reader_pointer, found.place.writer_pointer("/fields"))
    return replace(
        found,
        difference=replace(found.difference, reader_pointer=pointers[0], writer_pointer=pointers[1], place=steps),
    )


def found_at(
    rule: CompatibilityRule,
    place: Place,
    *,
    detail: str,
    facts: Mapping[str, object],
    attribute: str = "",
    path: str | None = None,
) -> Found:
    """A difference at ``place``, or at an ``attribute`` of its nodes; ``facts`` fill the rule's sentence."""
    attributes = (attribute,) if attribute else ()
    pointed = f"/{attribute}" if attribute else ""
    difference = Difference(
        rule=rule.id,
        error_type=rule.error_type,
        path=place.path(*attributes) if path is None else path,
        detail=detail,
        sentence=rule.about(facts),
        reader_pointer=place.reader_pointer(pointed),
        writer_pointer=place.writer_pointer(pointed),
        origins=lambda: (place.reader_origin(*attributes), place.writer_origin(*attributes)),
        place=place.reader_steps(),
    )
    return Found(rule, difference, place)
