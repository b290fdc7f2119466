"""The pair walk: the type trees of a reader and a writer, walked for findings or for a verdict alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.compare.places import AvroDifference, TrialDifference, TypePair
from counterfoil.schema.languages.avro.types import (
    PROMOTIONS,
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroType,
    AvroUnion,
    NamedType,
)

# The verdict of the pair walk alone, without its findings: whether a reader certainly reads everything of a writer.
#
# Of a union, the branch with the writer's name is compared first, and branches with other names are not compared, so
# that a large union costs one comparison for each branch. The walk itself compares each branch of the reader with each
# of the writer, since its findings have the paths of the first places, and is needed only where something is found.
#
# A pair that occurs again inside itself counts as readable, as in the walk. If it is not, after all, the result is that
# nothing is certain. What is certain here, the walk finds too: it counts at least as many pairs as readable.
#
# Method: greatest fixed points; Pierce, Types and Programming Languages, chapter 21.

_NAMED: Final = (AvroRecord, AvroEnum, AvroFixed)


class CertainVerdicts:
    """Certain verdicts about pairs of types; each pair is compared once. Raises ``OutOfSteps``."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._is_read: dict[tuple[int, int], bool] = {}
        self._active: set[tuple[int, int]] = set()
        self._assumed: set[tuple[int, int]] = set()
        self._is_certain = True
        self._branches_by_union: dict[int, Branches] = {}

    def certainly_reads(self, reader: AvroType, writer: AvroType) -> bool:
        """Return whether ``reader`` reads everything of ``writer``; False also if that is not certain."""
        return self._reads(reader, writer) and self._is_certain

    def verdict(self, reader: AvroType, writer: AvroType) -> bool | None:
        """Return whether ``reader`` reads everything of ``writer``, as the walk does; None if that is not certain.

        Many pairs may be asked about: what was compared for one is known for the next. A no is certain unless a pair
        was met inside itself, where the walk may count it as readable for good.
        """
        if self._is_certain and self._reads(reader, writer) and self._is_certain:
            return True
        return None if self._assumed else False

    def _reads(self, reader: AvroType, writer: AvroType) -> bool:
        if isinstance(reader, AvroPrimitive) and isinstance(writer, AvroPrimitive):
            return reader.kind is writer.kind or (writer.kind, reader.kind) in PROMOTIONS
        pair = (id(reader), id(writer))
        if pair in self._active:
            self._assumed.add(pair)
            return True
        known = self._is_read.get(pair)
        if known is not None:
            return known
        self._steps.spend()
        self._active.add(pair)
        found = self._is_read[pair] = self._judge(reader, writer)
        self._active.discard(pair)
        if not found and pair in self._assumed:
            self._is_certain = False
        return found

    def _judge(self, reader: AvroType, writer: AvroType) -> bool:
        match reader, writer:
            case (_, AvroUnion()):
                self._steps.spend(len(writer.branches))
                return all(self._reads(reader, branch) for branch in writer.branches)
            case (AvroUnion(), _):
                return any(self._reads(branch, writer) for branch in self._branches(reader).for_(writer))
            case (AvroRecord(), AvroRecord()):
                return have_matching_names(reader, writer) and self._fields(reader, writer)
            case (AvroArray(), AvroArray()):
                return self._reads(reader.items, writer.items)
            case (AvroMap(), AvroMap()):
                return self._reads(reader.values, writer.values)
            case (AvroEnum(), AvroEnum()):
                return have_matching_names(reader, writer) and not missing_symbols(reader, writer)
            case (AvroFixed(), AvroFixed()):
                return have_matching_names(reader, writer) and reader.size == writer.size
        return False

    def _fields(self, reader: AvroRecord, writer: AvroRecord) -> bool:
        self._steps.spend(len(reader.fields) + len(writer.fields))
        writer_fields = {field.name: field for field in writer.fields}
        for field in reader.fields:
            found = matching_fields(field, writer_fields)
            if len(found) > 1 or (not found and not field.has_default):
                return False
            if found and not self._reads(field.type, found[0].type):
                return False
        return True

    def _branches(self, union: AvroUnion) -> Branches:
        found = self._branches_by_union.get(id(union))
        if found is None:
            self._steps.spend(len(union.branches))
            found = self._branches_by_union[id(union)] = Branches(union)
        return found


class Branches:
    """The branches of a reader's union: those with names by their names, and the others."""

    def __init__(self, union: AvroUnion) -> None:
        self._plain: list[AvroType] = []
        self._named: dict[str, list[NamedType]] = {}
        self._index_by_branch: dict[int, int] = {}
        for index, branch in enumerate(union.branches):
            self._index_by_branch.setdefault(id(branch), index)
            if not isinstance(branch, _NAMED):
                self._plain.append(branch)
                continue
            for name in dict.fromkeys((f":{branch.name}", *branch.aliases)):
                self._named.setdefault(name, []).append(branch)

    def for_(self, writer: AvroType) -> Sequence[AvroType]:
        """Return the branches that may read ``writer``, which is no union."""
        if not isinstance(writer, _NAMED):
            return self._plain
        return self._for_named(writer)

    def first_named(self, writer: NamedType) -> NamedType | None:
        """Return the first branch, in the order of the union, of the writer's kind and with a name that reads it."""
        named = [each for each in self._for_named(writer) if type(each) is type(writer)]
        return min(named, key=lambda each: self._index_by_branch[id(each)], default=None)

    def _for_named(self, writer: NamedType) -> list[NamedType]:
        return [*self._named.get(f":{writer.name}", ()), *self._named.get(writer.full_name, ())]


def may_read(reader: AvroType, writer: AvroType) -> bool:
    """Return whether the kinds and the names of two types that are no unions allow one to read the other."""
    if isinstance(reader, _NAMED) and isinstance(writer, _NAMED):
        return reader.kind is writer.kind and have_matching_names(reader, writer)
    return reader.kind is writer.kind or (writer.kind, reader.kind) in PROMOTIONS


def have_matching_names(reader: NamedType, writer: NamedType) -> bool:
    """Return whether the names allow ``reader`` to read ``writer``.

    Namespaces of names do not count; aliases are compared as full names.
    """
    return reader.name == writer.name or writer.full_name in reader.aliases


def missing_symbols(reader: AvroEnum, writer: AvroEnum) -> list[str]:
    """Return the writer's symbols that the reader cannot read, sorted.

    Empty if the reader has a default, which it reads instead of them.
    """
    if reader.default is not None and reader.default in reader.symbols:
        return []
    return sorted(set(writer.symbols).difference(reader.symbols))


def matching_fields(field: AvroField, writer_fields: Mapping[str, AvroField]) -> list[AvroField]:
    """Return the writer's fields by name and by each alias.

    An alias that equals the name counts a second time, as in the reference.
    """
    names = (field.name, *dict.fromkeys(field.aliases))
    return [writer_fields[name] for name in names if name in writer_fields]


# The pair walk: the type trees of a reader and a writer, walked together, and everything that the reader cannot read.
#
# The results are those of the reference's checker, including its peculiarities, since clients parse them: the same
# differences, in the same order, with the same error types and paths.
#
# - A pair of nodes is compared once, by identity; its findings are reported at every place where the pair occurs, with
#   the path of the first. A pair that occurs again inside itself counts as compatible.
# - Between two unions, each branch of the writer is tried against the whole reader; the findings of the trials are not
#   reported, only the branch that failed. Between a reader without a union and a writer's union, the findings of each
#   branch are reported.
# - A missing field of an enum type that has an enum default is a type mismatch between the enum and the writer's
#   record.
# - A reader field that matches several fields of the writer makes the whole pair undecidable: one difference, without
#   an error type.
#
# Source: Apache Avro 1.12, "Schema Resolution", and recorded answers of Confluent Schema Registry 8.5.

_Pair: TypeAlias = tuple[int, int]

MAX_DIFFERENCES: Final = 1000
"""The largest number of reported differences; recursive types could repeat one without bound."""

_STEPS_A_PAIR: Final = 25
FEW_STEPS: Final = 25_000
"""The steps of a comparison that is made without a look at the verdict first; most need fewer."""

_DESCRIBED_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Walked:
    """The differences between two nodes; ``is_for_both``: they are the same whether cycles are trusted or not.

    So are the steps that were spent.
    """

    found: tuple[AvroDifference, ...]
    is_for_both: bool


def walk(reader: AvroType, writer: AvroType, steps: Steps, *, trusts_cycles: bool = True) -> list[AvroDifference]:
    """Return the differences between two nodes.

    With ``trusts_cycles``, as in the reference, a result that was computed while a pair around it was still being
    compared is final. Without it, the pairs are compared again until no further pair is found to be unreadable. Raises
    ``OutOfSteps``.
    """
    return list(walked(reader, writer, steps, trusts_cycles=trusts_cycles).found)


def walked(reader: AvroType, writer: AvroType, steps: Steps, *, trusts_cycles: bool) -> Walked:
    """Return the result of :func:`walk`, and whether it is that of the other kind of walk as well."""
    root = TypePair(None, None, reader, writer)
    try:
        with suppress(OutOfSteps):
            return _compare(root, steps.some(FEW_STEPS), trusts_cycles=trusts_cycles)
        if CertainVerdicts(steps).certainly_reads(reader, writer):
            return Walked((), is_for_both=trusts_cycles)  # the other kind begins with the same round
        return _compare(root, steps, trusts_cycles=trusts_cycles)
    except _Ambiguous as ambiguous:
        return Walked((ambiguous.found,), is_for_both=False)
    except RecursionError:
        raise InvalidSchema("Invalid schema: its types are nested too deep to be compared; flatten them") from None


def _compare(root: TypePair, steps: Steps, *, trusts_cycles: bool) -> Walked:
    if not trusts_cycles:
        return _settle(steps, root)
    walk = _Walk(steps)
    found = walk.compare(root.reader, root.writer, root)
    return Walked(found, is_for_both=not walk.was_mistaken())


class _Ambiguous(Exception):
    """The error for a reader's field that matches several of the writer's."""

    def __init__(self, found: AvroDifference) -> None:
        super().__init__(found.text)
        self.found = found


def _settle(steps: Steps, root: TypePair) -> Walked:
    unreadable: dict[_Pair, tuple[AvroDifference, ...]] = {}
    while True:
        walk = _Walk(steps, unreadable)
        found = walk.compare(root.reader, root.writer, root)
        if not walk.was_mistaken():
            return Walked(found, is_for_both=not unreadable)
        unreadable = walk.unreadable() | unreadable


class _Walk:
    """One comparison of two trees. Findings are tuples, so that a cached one can be shared.

    ``unreadable`` are pairs that are known to be unreadable, with their findings.
    """

    __slots__ = ("_found_by_pair", "_is_flat", "_open", "_steps", "_trials_by_writer", "_trusted", "_unreadable")

    def __init__(
        self, steps: Steps, unreadable: Mapping[_Pair, tuple[AvroDifference, ...]] = MappingProxyType({})
    ) -> None:
        self._steps = steps
        self._found_by_pair: dict[_Pair, tuple[AvroDifference, ...]] = {}
        self._trials_by_writer: dict[int, list[_Trials]] = {}
        self._is_flat: dict[int, bool] = {}
        self._unreadable = unreadable
        self._open: set[_Pair] = set()
        self._trusted: set[_Pair] = set()

    def unreadable(self) -> dict[_Pair, tuple[AvroDifference, ...]]:
        """Return the pairs that were found to be unreadable, with their findings."""
        return {pair: found for pair, found in self._found_by_pair.items() if found}

    def was_mistaken(self) -> bool:
        """Return whether a pair that was met inside itself counted as compatible, and is not."""
        return any(self._found_by_pair[pair] for pair in self._trusted)

    def compare(self, reader: AvroType, writer: AvroType, place: TypePair) -> tuple[AvroDifference, ...]:
        """Return the differences between two nodes."""
        if (
            type(reader) is AvroPrimitive and type(writer) is AvroPrimitive
        ):  # most pairs of most schemas; a shortcut for speed
            return () if reads_primitive(reader, writer) else type_mismatch(place)
        pair = (id(reader), id(writer))
        known = self._found_by_pair.get(pair)
        if known is not None:
            if not known and pair in self._open:
                self._trusted.add(pair)
            return known
        self._steps.spend(_STEPS_A_PAIR)
        self._open.add(pair)
        place = self._first_place(reader, writer, place)
        # inside itself: compatible unless it is known to be unreadable
        self._found_by_pair[pair] = self._unreadable.get(pair, ())
        found = self._found_by_pair[pair] = self._judge(reader, writer, place)[:MAX_DIFFERENCES]
        self._open.discard(pair)
        return found

    def _judge(self, reader: AvroType, writer: AvroType, place: TypePair) -> tuple[AvroDifference, ...]:
        of_reader, of_writer = type(reader), type(writer)  # not by patterns, which take several times as long
        if of_writer is AvroUnion:
            way = self._union_from_union if of_reader is AvroUnion else self._plain_from_union
            return way(cast("Any", reader), cast("AvroUnion", writer), place)
        if of_reader is AvroUnion:
            return self._union_from_plain(cast("AvroUnion", reader), writer, place)
        return self._of_one_kind(reader, writer, place) if of_reader is of_writer else type_mismatch(place)

    def _of_one_kind(self, reader: AvroType, writer: AvroType, place: TypePair) -> tuple[AvroDifference, ...]:
        match reader, writer:
            case (AvroRecord(), AvroRecord()):
                return (*name_mismatch(reader, writer, place), *self._fields(reader, writer, place))
            case (AvroArray(), AvroArray()):
                items = TypePair(place, "items", reader.items, writer.items, "items")
                return self.compare(reader.items, writer.items, items)
            case (AvroMap(), AvroMap()):
                values = TypePair(place, "values", reader.values, writer.values, "values")
                return self.compare(reader.values, writer.values, values)
            case (AvroEnum(), AvroEnum()):
                return (*name_mismatch(reader, writer, place), *_symbols_mismatch(reader, writer, place))
            case (AvroFixed(), AvroFixed()):
                return (*name_mismatch(reader, writer, place), *size_mismatch(reader, writer, place))
        return type_mismatch(place)

    def _fields(self, reader: AvroRecord, writer: AvroRecord, place: TypePair) -> tuple[AvroDifference, ...]:
        self._steps.spend(len(reader.fields) + len(writer.fields))
        writer_fields = {field.name: field for field in writer.fields}
        found: list[AvroDifference] = []
        for index, field in enumerate(reader.fields):
            match = writer_fields.get(field.name)
            if match is field and field.is_plain:
                continue  # a shortcut for speed
            if field.aliases:
                match = _match_by_alias(field, writer_fields, place)
            if match is None:
                if not field.has_default:
                    found += self.missing_field(index, field, place)
                continue
            if len(found) >= MAX_DIFFERENCES:
                break
            mine, theirs = field.type, match.type
            if _reads_plainly(mine, theirs):
                continue  # a shortcut for speed
            entered = TypePair(place, index, mine, theirs, match.name, field, match)
            found += self.compare(mine, theirs, entered)
        return tuple(found)

    def missing_field(self, index: int, field: AvroField, place: TypePair) -> tuple[AvroDifference, ...]:
        if isinstance(field.type, AvroEnum) and field.type.default is not None:
            entered = TypePair(place, index, field.type, place.writer, reader_field=field)
            return self.compare(field.type, place.writer, entered)
        return (missing_field(field, place),)

    def _union_from_union(self, reader: AvroUnion, writer: AvroUnion, place: TypePair) -> tuple[AvroDifference, ...]:
        found: list[AvroDifference] = []
        primitives = {branch.kind for branch in reader.branches if type(branch) is AvroPrimitive}
        for index, branch in enumerate(writer.branches):
            if type(branch) is AvroPrimitive and branch.kind in primitives:
                continue  # a shortcut for speed
            trial = TypePair(place, None, reader, branch, index)
            found += [TrialDifference.of(failure, trial) for failure in self.compare(reader, branch, trial)[:1]]
        return tuple(found)

    def _plain_from_union(self, reader: AvroType, writer: AvroUnion, place: TypePair) -> tuple[AvroDifference, ...]:
        self._steps.spend(len(writer.branches))
        found: list[AvroDifference] = []
        for index, branch in enumerate(writer.branches):
            found += self.compare(reader, branch, TypePair(place, str(index), reader, branch, index))
        return tuple(found)

    def _union_from_plain(self, reader: AvroUnion, writer: AvroType, place: TypePair) -> tuple[AvroDifference, ...]:
        self._steps.spend(len(reader.branches))
        reasons: list[tuple[bool, AvroDifference | None]] = []
        trials = _Trials(reader, place)
        if type(writer) is AvroRecord:
            self._trials_by_writer.setdefault(id(writer), []).append(trials)
        is_record, kind = type(writer) is AvroRecord, writer.kind
        for branch in reader.branches:
            trials.count += 1
            if is_record:
                if type(branch) is not AvroRecord:
                    continue  # it cannot read the writer, and is not a useful reason; a shortcut for speed
            elif branch.kind is not kind and (kind, branch.kind) not in PROMOTIONS:
                continue  # as before
            if is_record and self._is_refused_by_name_alone(cast("AvroRecord", branch), cast("AvroRecord", writer)):
                reasons.append((True, None))
                continue
            failures = self.compare(branch, writer, TypePair(place, None, branch, writer))
            if not failures:
                return ()
            if branch.kind is kind:
                first = failures[0]
                reasons.append((first.kind is rules.NAME_MISMATCH and first.place.reader is branch, first))
        reasons.sort(key=itemgetter(0))  # branches with the writer's name first
        reason = reasons[0][1] if reasons else None
        if reasons and reason is None:
            branch = next(each for each in reader.branches if each.kind is writer.kind)
            reason = self.compare(branch, writer, TypePair(place, None, branch, writer))[0]
        return (missing_branch(place, reason),)

    def _is_refused_by_name_alone(self, reader: AvroRecord, writer: AvroRecord) -> bool:
        """Return whether the names of two records differ, and comparing their fields finds nothing for other places."""
        if reader.name == writer.name:
            return False
        is_flat = self._is_flat.get(id(reader))
        if is_flat is None:
            is_flat = self._is_flat[id(reader)] = all(type(field.type) is AvroPrimitive for field in reader.fields)
        return is_flat and not have_matching_names(reader, writer)

    def _first_place(self, reader: AvroType, writer: AvroType, place: TypePair) -> TypePair:
        """Return the place at which a pair was first met: a trial that did not compare it, or else ``place``."""
        if type(reader) is not AvroRecord or type(writer) is not AvroRecord:
            return place
        if not self._is_refused_by_name_alone(reader, writer):
            return place
        for trials in self._trials_by_writer.get(id(writer), ()):
            if any(branch is reader for branch in trials.reader.branches[: trials.count]):
                return TypePair(trials.place, None, reader, writer)
        return place


@dataclass(slots=True)
class _Trials:
    """The trials of the branches of a reader's union for one type of the writer's; ``count`` branches were tried."""

    reader: AvroUnion
    place: TypePair
    count: int = 0


def reads_primitive(reader: AvroPrimitive, writer: AvroPrimitive) -> bool:
    """Return whether a primitive type is equal to another one, or the other one is promoted to it."""
    return reader.kind is writer.kind or (writer.kind, reader.kind) in PROMOTIONS


def _reads_plainly(reader: AvroType, writer: AvroType) -> bool:
    """Return whether a type without records certainly reads another; False means that a full comparison is needed.

    Most fields of two versions of one schema are equal, so this shortcut saves most of the time of a comparison.
    """
    if type(reader) is AvroPrimitive:
        return reader is writer or (type(writer) is AvroPrimitive and reads_primitive(reader, writer))
    if type(reader) is AvroUnion:
        return type(writer) is AvroUnion and _are_same_primitives(reader.branches, writer.branches)
    if type(reader) is AvroArray:
        return type(writer) is AvroArray and _reads_plainly(reader.items, writer.items)
    if type(reader) is AvroMap:
        return type(writer) is AvroMap and _reads_plainly(reader.values, writer.values)
    if type(reader) is AvroEnum:
        return type(writer) is AvroEnum and reader.name == writer.name and reader.symbols == writer.symbols
    return False


def _are_same_primitives(readers: Sequence[AvroType], writers: Sequence[AvroType]) -> bool:
    if len(readers) != len(writers):
        return False
    for reader, writer in zip(readers, writers, strict=True):
        if type(reader) is not AvroPrimitive or type(writer) is not AvroPrimitive or reader.kind is not writer.kind:
            return False
    return True


def _match_by_alias(field: AvroField, writer_fields: Mapping[str, AvroField], place: TypePair) -> AvroField | None:
    matches = matching_fields(field, writer_fields)
    if len(matches) > 1:
        raise _Ambiguous(ambiguous_alias(field, matches, place))
    return matches[0] if matches else None


def match_field(field: AvroField, writer_fields: Mapping[str, AvroField]) -> AvroField | None:
    """Return the writer's field for the reader's ``field``, by name, else by alias.

    None if there is none, so that the reader's default is used.
    """
    return next(iter(matching_fields(field, writer_fields)), None)


@dataclass(frozen=True, slots=True)
class DescribedType:
    """A type as a fact of a sentence; it is described when the sentence is rendered."""

    node: AvroType

    def __str__(self) -> str:
        return describe(self.node)


def describe(node: AvroType, depth: int = _DESCRIBED_DEPTH) -> str:
    """Return a short description of a type: ``string``, ``enum ns.Color``, ``array of long``, ``[null, string]``."""
    if isinstance(node, AvroArray | AvroMap):
        inner = node.items if isinstance(node, AvroArray) else node.values
        return f"{node.kind} of {describe(inner, depth - 1) if depth else '…'}"
    if isinstance(node, AvroUnion):
        return f"[{', '.join(describe(branch, depth - 1) for branch in node.branches) if depth else '…'}]"
    return node.kind.value if isinstance(node, AvroPrimitive) else f"{node.kind} {node.full_name}"


def name_mismatch(reader: NamedType, writer: NamedType, place: TypePair) -> tuple[AvroDifference, ...]:
    """Return the difference of the names of two types; empty if the reader's reads the writer's."""
    if have_matching_names(reader, writer):
        return ()
    facts = {"kind": reader.kind, "reader": reader.full_name, "writer": writer.full_name}
    return (AvroDifference(rules.NAME_MISMATCH, facts, "{writer}", place, "name"),)


def size_mismatch(reader: AvroFixed, writer: AvroFixed, place: TypePair) -> tuple[AvroDifference, ...]:
    """Return the difference of the sizes of two fixed types; empty if they are equal."""
    if reader.size == writer.size:
        return ()
    facts = {"name": reader.full_name, "reader": reader.size, "writer": writer.size}
    return (AvroDifference(rules.FIXED_SIZE_MISMATCH, facts, "{writer} bytes, not {reader}", place, "size"),)


def _symbols_mismatch(reader: AvroEnum, writer: AvroEnum, place: TypePair) -> tuple[AvroDifference, ...]:
    missing = missing_symbols(reader, writer)
    return (unknown_symbols(reader, missing, place),) if missing else ()


def unknown_symbols(reader: AvroEnum, missing: list[str], place: TypePair) -> AvroDifference:
    """Return the difference of an enum that lacks symbols of the writer."""
    facts = {"name": reader.full_name, "symbols": tuple(missing)}
    return AvroDifference(rules.MISSING_ENUM_SYMBOLS, facts, "[{symbols}]", place, "symbols")


def missing_field(field: AvroField, place: TypePair) -> AvroDifference:
    """Return the difference of a reader's field without a default that the writer's record does not have."""
    facts = {"field": field.name, "record": DescribedType(place.writer)}
    return AvroDifference(rules.MISSING_DEFAULT, facts, "{field}", place, field=field)


def type_mismatch(place: TypePair) -> tuple[AvroDifference, ...]:
    """Return the difference of two types of which the one cannot be read as the other."""
    facts = {"reader": DescribedType(place.reader), "writer": DescribedType(place.writer)}
    return (AvroDifference(rules.TYPE_MISMATCH, facts, "{reader} cannot read {writer}", place),)


def missing_branch(place: TypePair, reason: AvroDifference | None) -> AvroDifference:
    """Return the difference of a writer's type that no branch of the reader's union reads.

    ``reason`` is the finding about the most similar branch, if there is one.
    """
    facts = {"reader": DescribedType(place.reader), "writer": DescribedType(place.writer)}
    because = reason and (reason.because or reason)
    return AvroDifference(rules.MISSING_UNION_BRANCH, facts, "{writer}", place, because=because, branch=reason)


def ambiguous_alias(field: AvroField, matches: list[AvroField], place: TypePair) -> AvroDifference:
    """Return the difference of a reader's field that matches several fields of the writer."""
    names = tuple(match.name for match in matches)
    facts = {"field": field.name, "record": DescribedType(place.writer), "matches": names}
    return AvroDifference(rules.AMBIGUOUS_ALIAS, facts, "{field}", place, field=field, has_path=False)
