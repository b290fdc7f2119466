"""The verdict of the pair walk alone, without its findings: whether a reader certainly reads everything of a writer.

Of a union, the branch with the writer's name is compared first, and branches with other names are not compared, so that
a large union costs one comparison for each branch. The walk itself compares each branch of the reader with each of the
writer, since its findings have the paths of the first places, and is needed only where something is found.

A pair that occurs again inside itself counts as readable, as in the walk. If it is not, after all, the result is that
nothing is certain. What is certain here, the walk finds too: it counts at least as many pairs as readable.

Method: greatest fixed points; Pierce, Types and Programming Languages, chapter 21.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.languages.avro.types import (
    PROMOTIONS,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.compatibility.policies import Steps
    from counterfoil.schema.languages.avro.types import AvroField, AvroType, NamedType


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
