"""The misfits of two Avro schemas: the pairs of types that a decoder enters, at every place of a record.

A union of null and one other type is entered without a step. Of a reader's union, a value is read by the branch of its
name or kind, else by the first one to which it is promoted.

Source: Apache Avro 1.12 specification, "Schema Resolution".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.compatibility.misfits import Effect, Misfit
from counterfoil.schema.compatibility.pairs import PairMisfits, is_prefix
from counterfoil.schema.compatibility.stated import stated_by
from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.differences import (
    ambiguous_alias,
    missing_branch,
    missing_field,
    name_mismatch,
    reads_primitive,
    size_mismatch,
    type_mismatch,
    unknown_symbols,
)
from counterfoil.schema.formats.avro.compare.places import TypePair
from counterfoil.schema.formats.avro.compare.readable import Branches, matching_fields
from counterfoil.schema.formats.avro.compare.sound import scalar_misreadings, unusable_default
from counterfoil.schema.formats.avro.paths import short_name
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union, branch_name
from counterfoil.schema.paths.model import ITEMS, VALUES, StepKind, branch, member
from counterfoil.schema.steps import steps_for

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from counterfoil.schema.compatibility.misfits import Misfits
    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.schema import AvroSchema
    from counterfoil.schema.formats.avro.types import AvroType, Field
    from counterfoil.schema.paths.model import FieldPath, Step
    from counterfoil.schema.steps import Steps

_Found: TypeAlias = "list[tuple[FieldPath, AvroDifference]]"
_Key: TypeAlias = tuple[int, int]

_MISREAD: Final = frozenset({rules.LOGICAL_TYPE_CHANGED, rules.DECIMAL_CHANGED, rules.INTEGER_AS_FLOAT})
"""The rules of values that are read as others without an error; at all other differences a decoder raises."""

_STEPS_A_PAIR: Final = 5

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
        case Array() if inner.writer is not around.writer:
            return (ITEMS,)
        case Map() if inner.writer is not around.writer:
            return (VALUES,)
        case Union() if _has_several(around.writer):
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
            if step.kind is StepKind.BRANCH and isinstance(node, Union):
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
            case _, Union():
                self._steps.spend(len(writer.branches))
                branches = enumerate(writer.branches)
                return [], [((), TypePair(place, str(index), reader, each, index)) for index, each in branches]
            case Union(), _:
                chosen = self._branch_for(reader, writer)
                if chosen is None:
                    return [((), missing_branch(place, None))], []
                steps = (branch(short_name(chosen)),) if _has_several(reader) else ()
                return [], [(steps if chosen.kind is not Kind.NULL else (), TypePair(place, "", chosen, writer))]
            case Record(), Record():
                self._steps.spend(len(reader.fields) + len(writer.fields))
                named: _Found = [((), each) for each in name_mismatch(reader, writer, place)]
                found, inside = _fields(reader, writer, place)
                return [*named, *found], inside
            case Array(), Array():
                return [], [((ITEMS,), TypePair(place, "items", reader.items, writer.items, "items"))]
            case Map(), Map():
                return [], [((VALUES,), TypePair(place, "values", reader.values, writer.values, "values"))]
        return [((), each) for each in _of_leaves(place, self._steps)], []

    def _branch_for(self, reader: Union, writer: AvroType) -> AvroType | None:
        """Return the branch of a reader's union by which a value is read; None if none reads it."""
        choices = self._choices.get(id(reader))
        if choices is None:
            self._steps.spend(len(reader.branches))
            choices = self._choices[id(reader)] = Branches(reader)
        if isinstance(writer, Record | Enum | Fixed):
            return choices.first_named(writer)
        plain = choices.for_(writer)
        same = [each for each in plain if each.kind is writer.kind]
        alike = [each for each in same if each.logical_type == writer.logical_type]
        if alike or same or not isinstance(writer, Primitive):
            return next(iter(alike or same), None)
        promoted = (each for each in plain if isinstance(each, Primitive) and reads_primitive(each, writer))
        return next(promoted, None)


def _beside_null(union: Union) -> list[AvroType]:
    return [each for each in union.branches if each.kind is not Kind.NULL]


def _has_several(union: Union) -> bool:
    """Return whether a union has several branches beside null."""
    return len(union.branches) > 2 or len(_beside_null(union)) > 1  # noqa: PLR2004 - null is at most one of them


def _below(node: AvroType | None, step: Step) -> AvroType | None:
    """Return the type at one step inside a type; None if there is none."""
    if isinstance(node, Union):
        others = _beside_null(node)
        node = others[0] if len(others) == 1 else None
    match step.kind, node:
        case StepKind.MEMBER, Record():
            return next((each.type for each in node.fields if each.name == step.name), None)
        case StepKind.ITEM, Array():
            return node.items
        case StepKind.VALUE, Map():
            return node.values
    return None


def _fields(reader: Record, writer: Record, place: TypePair) -> tuple[_Found, list[tuple[FieldPath, TypePair]]]:
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


def _not_written(field: Field, place: TypePair) -> AvroDifference | None:
    return unusable_default(field, place) if field.has_default else missing_field(field, place)


def _of_leaves(place: TypePair, steps: Steps) -> Iterator[AvroDifference]:
    """Yield the differences of two types of which at least one has no parts."""
    reader, writer = place.reader, place.writer
    match reader, writer:
        case Enum(), Enum():
            steps.spend(len(reader.symbols) + len(writer.symbols))
            yield from name_mismatch(reader, writer, place)
            unknown = _unknown(reader, writer)
            if unknown and reader.default not in reader.symbols:
                yield unknown_symbols(reader, unknown, place)
        case Fixed(), Fixed():
            yield from name_mismatch(reader, writer, place)
            yield from size_mismatch(reader, writer, place)
        case Primitive(), Primitive() if reads_primitive(reader, writer):
            pass
        case _:
            yield from type_mismatch(place)
            return
    yield from scalar_misreadings(place, steps)


def _unknown(reader: Enum, writer: Enum) -> list[str]:
    return sorted(set(writer.symbols).difference(reader.symbols))


def _kept_symbols(place: TypePair) -> Iterator[Misfit]:
    """Yield the symbols that a reader's enum does not have, and for which it reads its default."""
    reader, writer = place.reader, place.writer
    if isinstance(reader, Enum) and isinstance(writer, Enum) and reader.default in reader.symbols:
        for symbol in _unknown(reader, writer):
            text = (
                f"The reader's enum {reader.full_name} lacks {symbol}, and its default {reader.default} is read instead"
            )
            pointer = place.writer_pointer("symbols", writer.symbols.index(symbol))
            yield Misfit((), reader.full_name, symbol, text, pointer, Effect.KEPT, symbol=symbol)


def _misfits(place: FieldPath, difference: AvroDifference) -> Iterator[Misfit]:
    """Yield the misfits of one difference: one for each symbol, where it is about symbols."""
    effect = Effect.MISREAD if difference.kind in _MISREAD else Effect.REFUSED
    is_symbol = difference.kind is rules.MISSING_ENUM_SYMBOLS
    there = difference.place.writer
    is_container = isinstance(there, Array | Map) and difference.kind in _OTHER_KINDS
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
