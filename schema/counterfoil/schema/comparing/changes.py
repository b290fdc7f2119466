"""The changes between two schemas, with their lines, the versions that made them, and what they break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.comparing.grid import Grid, name_of
from counterfoil.schema.comparing.parts import Parts
from counterfoil.schema.comparing.question import ComparisonQuestion
from counterfoil.schema.comparing.sides import LaidOutSides
from counterfoil.schema.compatibility import Direction, Steps
from counterfoil.schema.compatibility.findings import Difference, without_message
from counterfoil.schema.errors import InvalidSchema, JudgementUndecided
from counterfoil.schema.languages.table import find_changes
from counterfoil.schema.parsed import ParsedSchema
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.rest.comparisons import PlacedChange
from counterfoil.schema.texts import Pointer, print_pointer

_ADDED: Final = "-added"
_REMOVED: Final = "-removed"
_CHARS_A_STEP: Final = 4
"""The characters of two schemas whose changes take as long to find as a comparison takes for one step."""
_BREAK_NOTHING: Final = frozenset(
    {ChangeKind.DOC_CHANGED, ChangeKind.TITLE_CHANGED, ChangeKind.SORT_ORDER_CHANGED, ChangeKind.ID_CHANGED}
)
"""The kinds of changes that no rule is about."""

_ChangeKey: TypeAlias = tuple[ChangeKind, FieldPath]
"""What identifies a change between other versions: its kind and its place."""


def place_changes(
    question: ComparisonQuestion, grid: Grid, lines: LaidOutSides, steps: Steps, *, is_whole: bool
) -> Parts[list[PlacedChange]]:
    """Return all changes in the order of the later schema; none for schemas that cannot be compared.

    ``steps`` are spent for the versions between the two. With ``is_whole``, raises ``JudgementUndecided`` if they do
    not suffice.
    """
    if not question.are_of_one_language or question.have_one_text:
        return []
    earlier, later = question.earlier.schema, question.later.schema
    try:
        changes = find_changes(earlier, later)
    except InvalidSchema:
        return []
    yield
    came_in = yield from versions_of_changes(question, changes, steps, is_whole=is_whole)
    breaks = _BrokenPlaces(grid)
    return [
        PlacedChange(
            sign=_sign(each),
            kind=each.kind.value,
            path=each.element,
            text=each.text,
            earlier=each.earlier,
            later=each.later,
            earlier_line=None if _sign(each) == "+" else _line(each.earlier_pointer, each, earlier, lines),
            later_line=None if _sign(each) == "-" else _line(each.later_pointer, each, later, lines),
            earlier_pointer=print_pointer(each.earlier_pointer),
            later_pointer=print_pointer(each.later_pointer),
            came_in=came_in.get(_key(each)),
            breaks=breaks.directions(each),
        )
        for each in changes
    ]


def _sign(change: Change) -> str:
    return "+" if change.kind.endswith(_ADDED) else "-" if change.kind.endswith(_REMOVED) else "~"


def _line(pointer: Pointer, change: Change, schema: ParsedSchema, lines: LaidOutSides) -> int | None:
    """Return the line of a place; None for a place in a reference, whose pointer is empty."""
    return None if change.place and not pointer else lines.line_in(schema, pointer)


def _key(change: Change) -> _ChangeKey:
    return change.kind, change.place


# The version that made a change.
#
# A change between v3 and v7 came in with the first version from which on it is done for good: compared with v7, the
# version before has the change still before it, and this one and every later one have not. So a type that became long
# in v5 and double in v6 came in with v6, which made it what it is; a field that came in v4, went in v5 and is back in
# v6 came in with v6; what came and went between the two is no change between them.


def versions_of_changes(
    question: ComparisonQuestion, changes: Sequence[Change], steps: Steps, *, is_whole: bool = False
) -> Parts[Mapping[_ChangeKey, int]]:
    """Return the version that each change came in with; those that a draft makes, or that are unknown, are left out.

    ``steps`` are spent for each version between the two; without any left, the rest is unknown, or, with ``is_whole``,
    ``JudgementUndecided`` is raised.
    """
    between = question.between
    if between is None:
        return {}
    found: dict[_ChangeKey, int] = {}
    waiting = {_key(each) for each in changes}
    done_in = question.later.operand.version
    for version in between:
        if not waiting:
            break
        left = _left_to_do(version.schema, question.later.schema, steps, is_whole=is_whole)
        yield
        if left is None:
            return found
        if done_in is not None:
            found.update((key, done_in) for key in waiting & left)
        waiting -= left
        done_in = version.version
    if done_in is not None:
        found.update((key, done_in) for key in waiting)
    return found


def _left_to_do(version: ParsedSchema, later: ParsedSchema, steps: Steps, *, is_whole: bool) -> set[_ChangeKey] | None:
    """Return the changes from a version to the later schema; None if that is unknown."""
    cost = sum(len(each.text) + each.referenced_chars for each in (version, later)) // _CHARS_A_STEP
    if steps.left < cost:
        if is_whole:
            raise JudgementUndecided("The versions that made the changes need more steps to be found")
        return None
    steps.spend(cost)
    try:
        return {_key(each) for each in find_changes(version, later)}
    except InvalidSchema:  # of another language, or nested too deep
        return None


# What the policy in force finds at the place of a change.


class _BrokenPlaces:
    """The places of the findings of the policy in force."""

    def __init__(self, grid: Grid) -> None:
        self._pointers: dict[Direction, set[tuple[bool, Pointer]]] = {}
        self._paths: dict[Direction, set[FieldPath]] = {}
        for cell in grid.in_force():
            reader, _ = grid.sides(cell.direction)
            is_backward = cell.direction is Direction.BACKWARD
            for each in cell.differences:
                self._pointers.setdefault(cell.direction, set()).update(_pointers(each, is_backward=is_backward))
                paths = (each.element, each.reader_path, each.writer_path)
                self._paths.setdefault(cell.direction, set()).update(without_message(path, reader) for path in paths)

    def directions(self, change: Change) -> tuple[str, ...]:
        """Return the directions in which a finding has the change's place."""
        if change.kind in _BREAK_NOTHING:
            return ()
        places = {(True, change.later_pointer), (False, change.earlier_pointer)} - {(True, ()), (False, ())}
        return tuple(
            name_of(direction)
            for direction in Direction
            if change.place in self._paths.get(direction, ()) or places & self._pointers.get(direction, set())
        )


def _pointers(difference: Difference, *, is_backward: bool) -> Iterator[tuple[bool, Pointer]]:
    """Yield the pointers of a finding, each with whether it leads into the later schema."""
    yield is_backward, difference.reader_pointer
    yield not is_backward, difference.writer_pointer
