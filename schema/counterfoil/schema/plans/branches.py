"""The names of the branches of unions, as rules and explanations of plans write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

from counterfoil.schema.plans.formulas import BranchSegment
from counterfoil.schema.plans.model import ValueShape
from counterfoil.schema.plans.tree import Leaf, Node, NullType, RecordType, UnionType, full_name_of
from counterfoil.schema.plans.types import shape_of

_MOST_NAMES: Final = 20


def branches_of(node: Node) -> Sequence[Node]:
    """Return the branches of a union, or the type itself."""
    return node.branches if isinstance(node, UnionType) else (node,)


def shapes_of(branch: Node) -> tuple[ValueShape, ...]:
    """Return the classes of a branch's values: none for null, two for a number."""
    if branch.kind == "number":
        return ValueShape.REAL, ValueShape.INTEGER
    shape = shape_of(branch)
    return () if shape is None else (shape,)


def branch_names(node: Node) -> list[tuple[str, ...]]:
    """Return the names of each branch of a union, the one that is printed first; a type alone is one branch.

    A record, an enum or a fixed type has its name, with the namespace where another branch has the same. A type without
    a name has its word, such as ``string`` or ``array``. Branches of ``oneOf`` and ``anyOf`` have their numbers, too.
    """
    branches = branches_of(node)
    labels = node.labels if isinstance(node, UnionType) and node.labels else [""] * len(branches)
    shorts = Counter(_short(branch) for branch in branches)
    return [
        tuple(dict.fromkeys(filter(None, _names(branch, label, is_single=shorts[_short(branch)] == 1))))
        for branch, label in zip(branches, labels, strict=True)
    ]


def _names(branch: Node, label: str, *, is_single: bool) -> tuple[str, ...]:
    short, full = _short(branch), full_name_of(branch) or ""
    if not is_single:
        return (label or full or short, full, short)
    word = branch.scalar.word if isinstance(branch, Leaf) and not full else ""
    return short, label, full, word


def _short(branch: Node) -> str:
    if isinstance(branch, RecordType | Leaf) and branch.name:
        return branch.name
    return str(branch.kind)


class BranchTable:
    """The branches of a union by their names; a type alone is one branch."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.branches = branches_of(node)
        self.names = branch_names(node)
        counts = Counter(name for names in self.names for name in names)
        self._index_by_name = {
            name: index for index, names in enumerate(self.names) for name in names if counts[name] == 1
        }

    def label(self, index: int) -> str:
        """Return the name of a branch as it is printed."""
        return self.names[index][0]

    def index_of(self, name: str) -> int | None:
        """Return the index of the branch with a name; None if there is none, or several."""
        return self._index_by_name.get(str(name))

    def segment(self, index: int) -> BranchSegment:
        """Return the segment of a path into a branch."""
        is_tagged = isinstance(self.node, UnionType) and self.node.is_tagged
        shapes = () if is_tagged else [shape.value for shape in shapes_of(self.branches[index])]
        return BranchSegment.found(self.label(index), index, shapes)

    def values(self) -> list[int]:
        """Return the indexes of the branches other than null."""
        return [index for index, branch in enumerate(self.branches) if not isinstance(branch, NullType)]

    def unknown(self, name: str, whose: str) -> str:
        """Return the sentence about a name that no branch has, or several; ``whose`` is the source or the target."""
        labels, name = [self.label(index) for index in self.values()], str(name)
        alike = [self.label(index) for index in self.values() if name in self.names[index]]
        listed = ", ".join(f"<{each}>" for each in (alike or labels)[:_MOST_NAMES])
        if alike:
            return f"the {whose} has several branches <{name}> here; write one of {listed}"
        near = get_close_matches(name, labels, n=1)
        advice = f"did you mean <{near[0]}>?" if near else f"the branches are {listed}"
        return f"the {whose} has no branch <{name}> here; {advice}"


class BranchTables:
    """The tables of types, each of which is made once."""

    def __init__(self) -> None:
        self._known: dict[int, BranchTable] = {}

    def of(self, node: Node) -> BranchTable:
        """Return the table of a type."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = BranchTable(node)
        return known
