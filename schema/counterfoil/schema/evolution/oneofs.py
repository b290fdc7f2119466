"""A union on one side, and the fields of a oneof on the other: the union's field has the name of the oneof.

From a oneof to a union, the field that is set becomes the branch of its type. From a union to a oneof, each field takes
the values of one branch: of the record of the same name, of an equal type, else of a type that can be made the field's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.evolution.assign import Value, shapes_of
from counterfoil.schema.evolution.branches import belongs_by_name
from counterfoil.schema.evolution.model import Constant, FirstSet, MapBranches, MapTagged, Op, ProblemKind, Read
from counterfoil.schema.evolution.tree import Null, Record, Union
from counterfoil.schema.evolution.types import describe, is_derived, same_values, scalar_of, split_null, widens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterfoil.schema.evolution.assign import Assigner
    from counterfoil.schema.evolution.tree import Field, Node

Path = tuple[str, ...]


def oneof_as_union(
    parts: Sequence[tuple[Field, Path]], target: Union, where: str, *, assigner: Assigner
) -> FirstSet | None:
    """Return the field of a oneof that is set as a value of the union; None after a problem."""
    made: list[Op] = []
    for part, path in parts:
        _, inner = split_null(part.type)
        op = None if inner is None else assigner.as_branch(Value(Read(path), inner), target, where)
        if op is None:
            return None
        made.append(op)
    return FirstSet(tuple(made))


def branch_of_union(
    member: Field, members: Sequence[Field], source: Union, read: Read, where: str, *, assigner: Assigner
) -> Op | None:
    """Return the values of the branch that belongs to a field of a oneof, and null for other branches.

    ``members`` are all fields of the oneof. None after a problem.
    """
    index_by_name = _assigned(members, source)
    if member.name not in index_by_name:
        return Constant(None)
    _, wanted = split_null(member.type)
    chosen = index_by_name[member.name]
    branch = source.branches[chosen]
    if wanted is None:
        return Constant(None)
    own = assigner.part_of_branch(branch, wanted, where)
    if own is None:
        return None
    ops: list[tuple[int, Op]] = [
        (index, own if index == chosen else Constant(None))
        for index, each in enumerate(source.branches)
        if not isinstance(each, Null)
    ]
    if source.is_tagged:
        return MapTagged(read, tuple(ops))
    return MapBranches(read, tuple((shape, op) for index, op in ops for shape in shapes_of(source.branches[index])))


def check_branches(
    oneof: str, members: Sequence[Field], source: Union, problem: Callable[[ProblemKind, str, str], None]
) -> None:
    """Report the branches of a union that no field of the oneof takes."""
    taken = set(_assigned(members, source).values())
    for index, branch in enumerate(source.branches):
        if index not in taken and not isinstance(branch, Null):
            problem(ProblemKind.LOSSY, oneof, f"no field of the oneof takes the branch {describe(branch)}")


def _assigned(members: Sequence[Field], source: Union) -> dict[str, int]:
    """Return the index of the branch of each field of a oneof; each branch belongs to at most one."""
    found: dict[str, int] = {}
    for fits in (belongs_by_name, same_values, _becomes):
        for member in members:
            _, wanted = split_null(member.type)
            for index, branch in enumerate(source.branches):
                is_free = member.name not in found and index not in found.values()
                if is_free and wanted is not None and not isinstance(branch, Null) and fits(branch, wanted):
                    found[member.name] = index
    return found


def _becomes(branch: Node, wanted: Node) -> bool:
    if isinstance(branch, Record) and isinstance(wanted, Record):
        return True
    source, target = scalar_of(branch), scalar_of(wanted)
    return source is not None and target is not None and (widens(source, target) or is_derived(source, target))
