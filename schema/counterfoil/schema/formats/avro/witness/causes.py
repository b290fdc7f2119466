"""The causes of a missing union branch: why each branch of the reader's union does not read the writer's type."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.compare.differences import walk
from counterfoil.schema.formats.avro.compare.places import TypePair
from counterfoil.schema.formats.avro.compare.readable import have_matching_names
from counterfoil.schema.formats.avro.types import Enum, Fixed, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterfoil.schema.formats.avro.compare.places import AvroDifference
    from counterfoil.schema.formats.avro.types import AvroType
    from counterfoil.schema.steps import Steps

_Pair: TypeAlias = tuple[int, int]


FoundByPair: TypeAlias = "dict[_Pair, list[AvroDifference]]"
"""The findings about pairs of nodes, each compared as if the pair were the whole schemas."""


class Causes:
    """The causes of findings. Each pair of nodes is walked once; recursive types are cut off. Raises ``OutOfSteps``.

    ``found_by_pair`` has what is known already, and is added to: the same pairs are met by all searches of a judgement.
    """

    def __init__(self, steps: Steps, found_by_pair: FoundByPair) -> None:
        self._steps = steps
        self._found_by_pair = found_by_pair
        self._are_names_by_pair: dict[_Pair, bool] = {}

    def leaves(self, found: AvroDifference, above: frozenset[_Pair] = frozenset()) -> Iterator[AvroDifference]:
        """Yield the innermost causes of a finding, the most promising first; itself if it has no other cause.

        Causes about names of records are left out. The place of each cause continues the place of ``found``.
        """
        pair = _pair(found)
        if pair in above:
            return
        below = [
            (*_rank(cause, found, branch), cause)
            for branch, causes in self._branches(found)
            for cause in causes
            if not self.is_about_record_names(cause)
        ]
        for *_, cause in sorted(below, key=itemgetter(0, 1, 2)):
            yield from self.leaves(cause, above | {pair})
        if not below:
            yield found

    def is_about_record_names(self, found: AvroDifference) -> bool:
        """Return whether only names of records prevent a decoder that resolves by structure from reading the datum.

        Such decoders take the branch that has the writer's name if there is one, else any that fits.
        """
        if found.kind is rules.NAME_MISMATCH:
            return isinstance(found.place.reader, Record)
        if found.kind is not rules.MISSING_UNION_BRANCH:
            return False
        pair = _pair(found)
        known = self._are_names_by_pair.get(pair)
        if known is None:
            self._are_names_by_pair[pair] = True  # inside itself: nothing else was found yet
            known = self._are_names_by_pair[pair] = any(
                all(self.is_about_record_names(cause) for cause in branch) for branch in self._chosen(found)
            )
        return known

    def _chosen(self, found: AvroDifference) -> list[list[AvroDifference]]:
        branches = self._branches(found)
        named = [causes for branch, causes in branches if _is_named_alike(branch, found.place.writer)]
        return named or [causes for _, causes in branches]

    def _branches(self, found: AvroDifference) -> list[tuple[AvroType, list[AvroDifference]]]:
        """Return each branch of the reader's union with its findings, placed below ``found``."""
        if found.kind is not rules.MISSING_UNION_BRANCH or not isinstance(found.place.reader, Union):
            return []
        return [(branch, self._branch(branch, found.place)) for branch in found.place.reader.branches]

    def _branch(self, branch: AvroType, place: TypePair) -> list[AvroDifference]:
        trial = TypePair(place, None, branch, place.writer)
        pair = (id(branch), id(place.writer))
        known = self._found_by_pair.get(pair)
        if known is None:
            known = self._found_by_pair[pair] = walk(branch, place.writer, self._steps)
        return [replace(cause, place=cause.place.below(trial)) for cause in known]


def _rank(cause: AvroDifference, above: AvroDifference, branch: AvroType) -> tuple[bool, bool, bool]:
    """Return the rank of a cause that was found with a branch; the smallest is tried first.

    A datum that fails deep inside the most similar branch fails in the others as well; the reverse is not true.
    """
    writer = above.place.writer
    is_mismatch = cause.kind is rules.TYPE_MISMATCH
    is_of_another_kind = is_mismatch and cause.place.writer is writer
    return is_of_another_kind, not _is_named_alike(branch, writer), is_mismatch


def _pair(found: AvroDifference) -> _Pair:
    return (id(found.place.reader), id(found.place.writer))


def _is_named_alike(reader: AvroType, writer: AvroType) -> bool:
    named = Record | Enum | Fixed
    return (
        isinstance(reader, named)
        and isinstance(writer, named)
        and reader.kind is writer.kind
        and have_matching_names(reader, writer)
    )
