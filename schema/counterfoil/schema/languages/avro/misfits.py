"""Values that a reader misreads: the additions of the policy SOUND, and the misfits at every place of a record."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import Steps, steps_for
from counterfoil.schema.compatibility.misfits import Misfit, MisfitEffect, Misfits, PairMisfits, is_prefix, stated_by
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.attributes import is_usable_default, show
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.differences import (
    Branches,
    CertainVerdicts,
    DescribedType,
    ambiguous_alias,
    match_field,
    matching_fields,
    may_read,
    missing_branch,
    missing_field,
    name_mismatch,
    reads_primitive,
    size_mismatch,
    type_mismatch,
    unknown_symbols,
    walk,
)
from counterfoil.schema.languages.avro.compare.meaning import (
    describe_logical,
    have_other_logical_types,
    is_rounded,
    logical_type_of,
)
from counterfoil.schema.languages.avro.compare.places import AvroDifference, TypePair
from counterfoil.schema.languages.avro.paths import short_name
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
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, Step, StepKind, branch, member

# The additions of the policy SOUND: differences that the reference accepts although records are misread.
#
# A separate walk over the pairs that a decoder would enter. What the checker itself reports is not repeated.
#
# Source: Apache Avro 1.12 specification, "Schema Resolution" and "Logical Types" (decimals match only with equal scale;
# bytes become a string by decoding UTF-8), and the results of fastavro for such records.


def find_misreadings(reader: AvroType, writer: AvroType, steps: Steps) -> list[AvroDifference]:
    """Return the places at which a value of ``writer`` is misread or fails although the checker reports nothing."""
    walk = _Misreadings(steps)
    try:
        walk.visit(TypePair(None, None, reader, writer))
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None
    return walk.found


class _Misreadings:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._branches = ReadingBranches(steps)
        self.found: list[AvroDifference] = []
        self._seen: set[tuple[int, int]] = set()

    def visit(self, place: TypePair) -> None:
        """Compare a pair of nodes, and those below it."""
        reader, writer = place.reader, place.writer
        if (id(reader), id(writer)) in self._seen:
            return
        self._seen.add((id(reader), id(writer)))
        self._steps.spend()
        match reader, writer:
            case (_, AvroUnion()):
                for index, branch in enumerate(writer.branches):
                    self.visit(TypePair(place, str(index), reader, branch, index))
            case (AvroUnion(), _):
                chosen = self._branches.that_reads(reader, writer)
                if chosen is not None:
                    self.visit(TypePair(place, "", chosen, writer))
            case (AvroRecord(), AvroRecord()):
                self._fields(reader, writer, place)
            case (AvroArray(), AvroArray()):
                self.visit(TypePair(place, "items", reader.items, writer.items, "items"))
            case (AvroMap(), AvroMap()):
                self.visit(TypePair(place, "values", reader.values, writer.values, "values"))
            case _:
                self.found += scalar_misreadings(place, self._steps)

    def _fields(self, reader: AvroRecord, writer: AvroRecord, place: TypePair) -> None:
        writer_fields = {field.name: field for field in writer.fields}
        for index, field in enumerate(reader.fields):
            match = match_field(field, writer_fields)
            if match is not None:
                self.visit(TypePair(place, index, field.type, match.type, match.name, field, match))
            elif (unusable := unusable_default(field, place)) is not None:
                self.found.append(unusable)


def scalar_misreadings(place: TypePair, steps: Steps) -> Iterator[AvroDifference]:
    """Yield the misreadings of two types without parts, which the checker accepts."""
    reader, writer = place.reader, place.writer
    if reader.kind is AvroKind.STRING and writer.kind is AvroKind.BYTES:
        yield AvroDifference(rules.BYTES_AS_STRING, {}, "bytes as string", place)
    if is_rounded(reader, writer):
        kinds = {"reader": DescribedType(reader), "writer": DescribedType(writer)}
        yield AvroDifference(rules.INTEGER_AS_FLOAT, kinds, "{writer} as {reader}", place)
    was, now = logical_type_of(writer), logical_type_of(reader)
    if was is None or now is None or not have_other_logical_types(reader, writer) or walk(reader, writer, steps):
        return
    facts = {"reader": describe_logical(now), "writer": describe_logical(was)}
    if was.name != now.name:
        rule, attribute = rules.LOGICAL_TYPE_CHANGED, "logicalType"
    else:
        rule, attribute = rules.DECIMAL_CHANGED, "scale" if was.scale != now.scale else "precision"
    yield AvroDifference(rule, facts, "{writer} as {reader}", place, attribute)


def unusable_default(field: AvroField, place: TypePair) -> AvroDifference | None:
    """Return the misreading of a reader's field that the writer does not have, if its default cannot be used."""
    if not field.has_default or is_usable_default(field.type, field.default):
        return None
    facts = {"field": field.name, "default": show(field.default), "type": DescribedType(field.type)}
    return AvroDifference(rules.UNUSABLE_DEFAULT, facts, "{field}", place, field=field)


class ReadingBranches:
    """The branches of unions that read types of a writer. Each pair is compared once. Raises ``OutOfSteps``."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._reading = CertainVerdicts(steps)
        self._is_read: dict[tuple[int, int], bool] = {}

    def that_reads(self, reader: AvroUnion, writer: AvroType) -> AvroType | None:
        """Return the branch that reads ``writer``: one of its own kind before one to which it is promoted."""
        self._steps.spend(len(reader.branches))
        readable = [branch for branch in reader.branches if may_read(branch, writer) and self._reads(branch, writer)]
        same = [branch for branch in readable if branch.kind is writer.kind]
        alike = [branch for branch in same if branch.logical_type == writer.logical_type]
        return next(iter(alike or same or readable), None)

    def _reads(self, branch: AvroType, writer: AvroType) -> bool:
        pair = (id(branch), id(writer))
        if pair not in self._is_read:
            is_read = self._reading.verdict(branch, writer)
            self._is_read[pair] = not walk(branch, writer, self._steps) if is_read is None else is_read
        return self._is_read[pair]


# The misfits of two Avro schemas: the pairs of types that a decoder enters, at every place of a record.
#
# A union of null and one other type is entered without a step. Of a reader's union, a value is read by the branch of
# its name or kind, else by the first one to which it is promoted.
#
# Source: Apache Avro 1.12 specification, "Schema Resolution".

_Found: TypeAlias = "list[tuple[FieldPath, AvroDifference]]"
_Key: TypeAlias = tuple[int, int]

_MISREAD: Final = frozenset({rules.LOGICAL_TYPE_CHANGED, rules.DECIMAL_CHANGED, rules.INTEGER_AS_FLOAT})
"""The rules of values that are read as others without an error; at all other differences a decoder raises."""

_STEPS_A_PAIR: Final = 15

_OTHER_KINDS: Final = frozenset({rules.TYPE_MISMATCH, rules.MISSING_UNION_BRANCH})
"""The rules of values of a kind that the reader does not have."""


def find_misfits(reader: AvroSchema, writer: AvroSchema) -> Misfits:
    """Return the misfits of a reader and a writer; they raise ``OutOfSteps`` where the steps do not suffice."""
    steps = steps_for(reader, writer)
    return _AvroMisfits(_AvroPairs(reader.root, writer.root, steps), steps)


class _AvroMisfits(PairMisfits[TypePair]):
    """The misfits of two schemas, of which the reader's may have aliases for the writer's names."""

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return the writer's names for a path of the reader, by the aliases of its fields and types."""
        waiting: list[tuple[TypePair, FieldPath, FieldPath]] = [(self.pairs.root(), (), self.pairs.spelled(path))]
        met: set[tuple[Hashable, int]] = set()
        while waiting:
            pair, there, rest = waiting.pop()
            self.steps.spend(1 + len(rest))
            if not rest:
                return there
            if (reached := (self.pairs.key(pair), len(rest))) in met:
                continue  # nothing was found from here before
            met.add(reached)
            for steps, inner in self.pairs.inside(pair):
                self.steps.spend()
                if is_prefix(steps, rest):
                    waiting.append((inner, (*there, *_written_steps(pair, inner)), rest[len(steps) :]))
        return None


def _written_steps(around: TypePair, inner: TypePair) -> FieldPath:
    """Return the steps of the writer from one pair to one inside it."""
    if inner.writer_field is not None:
        return (member(inner.writer_field.name),)
    match around.writer:
        case AvroArray() if inner.writer is not around.writer:
            return (ITEMS,)
        case AvroMap() if inner.writer is not around.writer:
            return (VALUES,)
        case AvroUnion() if _has_several(around.writer):
            return (branch(short_name(inner.writer)),)
    return ()


class _AvroPairs:
    """The pairs of types of two schemas, each with the first place at which it was entered."""

    def __init__(self, reader: AvroType, writer: AvroType, steps: Steps) -> None:
        self._steps = steps
        self._choices: dict[int, Branches] = {}
        self._root = TypePair(None, None, reader, writer)
        self._entered: dict[_Key, tuple[tuple[Misfit, ...], list[tuple[FieldPath, TypePair]]]] = {}

    def root(self) -> TypePair:
        """Return the pair of the two schemas."""
        return self._root

    def key(self, pair: TypePair) -> _Key:
        """Return the identities of the two types."""
        return id(pair.reader), id(pair.writer)

    def own(self, pair: TypePair) -> Sequence[Misfit]:
        """Return the misfits of the two types themselves."""
        return self._enter(pair)[0]

    def inside(self, pair: TypePair) -> Sequence[tuple[FieldPath, TypePair]]:
        """Return the pairs inside the two types."""
        return self._enter(pair)[1]

    def spelled(self, path: FieldPath) -> FieldPath:
        """Return a path without the steps into the one branch of a union beside null."""
        steps: list[Step] = []
        node: AvroType | None = self._root.reader
        for step in path:
            if step.kind is StepKind.BRANCH and isinstance(node, AvroUnion):
                chosen = next(
                    (each for each in node.branches if step.name in (short_name(each), branch_name(each))), None
                )
                if chosen is None or _has_several(node):
                    steps.append(step if chosen is None else branch(short_name(chosen)))
                node = chosen
                continue
            steps.append(step)
            node = _below(node, step)
        return tuple(steps)

    def _enter(self, pair: TypePair) -> tuple[tuple[Misfit, ...], list[tuple[FieldPath, TypePair]]]:
        known = self._entered.get(self.key(pair))
        if known is not None:
            return known
        found, inside = self._compare(pair)
        own = tuple(misfit for place, each in found for misfit in _misfits(place, each))
        entered = ((*own, *_kept_symbols(pair)), inside)
        if (
            inside or not own
        ):  # types without parts may be one object at several places, which have pointers of their own
            self._entered[self.key(pair)] = entered
        return entered

    def _compare(self, place: TypePair) -> tuple[_Found, list[tuple[FieldPath, TypePair]]]:
        """Return the differences of two types themselves, and the pairs inside, each with the steps to it."""
        reader, writer = place.reader, place.writer
        self._steps.spend(_STEPS_A_PAIR)
        match reader, writer:
            case _, AvroUnion():
                self._steps.spend(len(writer.branches))
                branches = enumerate(writer.branches)
                return [], [((), TypePair(place, str(index), reader, each, index)) for index, each in branches]
            case AvroUnion(), _:
                chosen = self._branch_for(reader, writer)
                if chosen is None:
                    return [((), missing_branch(place, None))], []
                steps = (branch(short_name(chosen)),) if _has_several(reader) else ()
                return [], [(steps if chosen.kind is not AvroKind.NULL else (), TypePair(place, "", chosen, writer))]
            case AvroRecord(), AvroRecord():
                self._steps.spend(len(reader.fields) + len(writer.fields))
                named: _Found = [((), each) for each in name_mismatch(reader, writer, place)]
                found, inside = _fields(reader, writer, place)
                return [*named, *found], inside
            case AvroArray(), AvroArray():
                return [], [((ITEMS,), TypePair(place, "items", reader.items, writer.items, "items"))]
            case AvroMap(), AvroMap():
                return [], [((VALUES,), TypePair(place, "values", reader.values, writer.values, "values"))]
        return [((), each) for each in _of_leaves(place, self._steps)], []

    def _branch_for(self, reader: AvroUnion, writer: AvroType) -> AvroType | None:
        """Return the branch of a reader's union by which a value is read; None if none reads it."""
        choices = self._choices.get(id(reader))
        if choices is None:
            self._steps.spend(len(reader.branches))
            choices = self._choices[id(reader)] = Branches(reader)
        if isinstance(writer, AvroRecord | AvroEnum | AvroFixed):
            return choices.first_named(writer)
        plain = choices.for_(writer)
        same = [each for each in plain if each.kind is writer.kind]
        alike = [each for each in same if each.logical_type == writer.logical_type]
        if alike or same or not isinstance(writer, AvroPrimitive):
            return next(iter(alike or same), None)
        promoted = (each for each in plain if isinstance(each, AvroPrimitive) and reads_primitive(each, writer))
        return next(promoted, None)


def _beside_null(union: AvroUnion) -> list[AvroType]:
    return [each for each in union.branches if each.kind is not AvroKind.NULL]


def _has_several(union: AvroUnion) -> bool:
    """Return whether a union has several branches beside null."""
    return len(union.branches) > 2 or len(_beside_null(union)) > 1  # noqa: PLR2004 - null is at most one of them


def _below(node: AvroType | None, step: Step) -> AvroType | None:
    """Return the type at one step inside a type; None if there is none."""
    if isinstance(node, AvroUnion):
        others = _beside_null(node)
        node = others[0] if len(others) == 1 else None
    match step.kind, node:
        case StepKind.MEMBER, AvroRecord():
            return next((each.type for each in node.fields if each.name == step.name), None)
        case StepKind.ITEM, AvroArray():
            return node.items
        case StepKind.VALUE, AvroMap():
            return node.values
    return None


def _fields(reader: AvroRecord, writer: AvroRecord, place: TypePair) -> tuple[_Found, list[tuple[FieldPath, TypePair]]]:
    writer_fields = {field.name: field for field in writer.fields}
    found: _Found = []
    inside: list[tuple[FieldPath, TypePair]] = []
    for index, field in enumerate(reader.fields):
        steps = (member(field.name),)
        matches = matching_fields(field, writer_fields)
        if len(matches) > 1:
            found.append((steps, ambiguous_alias(field, matches, place)))
        elif matches:
            [match] = matches
            inside.append((steps, TypePair(place, index, field.type, match.type, match.name, field, match)))
        elif (missing := _not_written(field, place)) is not None:
            found.append((steps, missing))
    return found, inside


def _not_written(field: AvroField, place: TypePair) -> AvroDifference | None:
    return unusable_default(field, place) if field.has_default else missing_field(field, place)


def _of_leaves(place: TypePair, steps: Steps) -> Iterator[AvroDifference]:
    """Yield the differences of two types of which at least one has no parts."""
    reader, writer = place.reader, place.writer
    match reader, writer:
        case AvroEnum(), AvroEnum():
            steps.spend(len(reader.symbols) + len(writer.symbols))
            yield from name_mismatch(reader, writer, place)
            unknown = _unknown(reader, writer)
            if unknown and reader.default not in reader.symbols:
                yield unknown_symbols(reader, unknown, place)
        case AvroFixed(), AvroFixed():
            yield from name_mismatch(reader, writer, place)
            yield from size_mismatch(reader, writer, place)
        case AvroPrimitive(), AvroPrimitive() if reads_primitive(reader, writer):
            pass
        case _:
            yield from type_mismatch(place)
            return
    yield from scalar_misreadings(place, steps)


def _unknown(reader: AvroEnum, writer: AvroEnum) -> list[str]:
    return sorted(set(writer.symbols).difference(reader.symbols))


def _kept_symbols(place: TypePair) -> Iterator[Misfit]:
    """Yield the symbols that a reader's enum does not have, and for which it reads its default."""
    reader, writer = place.reader, place.writer
    if isinstance(reader, AvroEnum) and isinstance(writer, AvroEnum) and reader.default in reader.symbols:
        for symbol in _unknown(reader, writer):
            text = (
                f"The reader's enum {reader.full_name} lacks {symbol}, and its default {reader.default} is read instead"
            )
            pointer = place.writer_pointer("symbols", writer.symbols.index(symbol))
            yield Misfit((), reader.full_name, symbol, text, pointer, MisfitEffect.KEPT, symbol=symbol)


def _misfits(place: FieldPath, difference: AvroDifference) -> Iterator[Misfit]:
    """Yield the misfits of one difference: one for each symbol, where it is about symbols."""
    effect = MisfitEffect.MISREAD if difference.kind in _MISREAD else MisfitEffect.REFUSED
    is_symbol = difference.kind is rules.MISSING_ENUM_SYMBOLS
    there = difference.place.writer
    is_container = isinstance(there, AvroArray | AvroMap) and difference.kind in _OTHER_KINDS
    for expected, said in stated_by(difference):
        written = there.kind.value if is_container else said  # whatever it contains, nothing of it is read
        yield Misfit(
            place,
            expected,
            written,
            difference.text,
            difference.writer_pointer,
            effect,
            symbol=said if is_symbol else "",
        )
