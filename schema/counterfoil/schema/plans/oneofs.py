"""A union on one side, and the fields of a oneof on the other: the union's field has the name of the oneof.

From a oneof to a union, the field that is set becomes the branch of its type. From a union to a oneof, each field takes
the values of one branch: of the record of the same name, of an equal type, else of a type that can be made the field's.
"""

from __future__ import annotations

from collections.abc import Sequence

from counterfoil.schema.plans.branches import shapes_of
from counterfoil.schema.plans.model import Constant, MapBranches, MapTagged, Op, Read
from counterfoil.schema.plans.places import TargetPlace
from counterfoil.schema.plans.tree import Node, NullType, RecordField, RecordType, UnionType, belongs_by_name
from counterfoil.schema.plans.types import is_derived, same_values, scalar_of, split_null, widens
from counterfoil.schema.plans.unions import UnionWalk


def branch_of_union(
    member: RecordField,
    members: Sequence[RecordField],
    source: UnionType,
    read: Read,
    *,
    place: TargetPlace,
    unions: UnionWalk,
) -> Op | None:
    """Return the values of the branch that belongs to a field of a oneof, and null for other branches.

    ``members`` are all fields of the oneof. None after a problem.
    """
    index_by_name = _assigned(members, source)
    _, wanted = split_null(member.type)
    if member.name not in index_by_name or wanted is None:
        return Constant(None)
    chosen = index_by_name[member.name]
    own = unions.part_of_branch(read, source, chosen, wanted, place)
    if own is None:
        return None
    ops: list[tuple[int, Op]] = [
        (index, own if index == chosen else Constant(None))
        for index, each in enumerate(source.branches)
        if not isinstance(each, NullType)
    ]
    if source.is_tagged:
        return MapTagged(read, tuple(ops))
    return MapBranches(read, tuple((shape, op) for index, op in ops for shape in shapes_of(source.branches[index])))


def untaken_branches(members: Sequence[RecordField], source: UnionType) -> list[int]:
    """Return the branches of a union that no field of the oneof takes, by their indexes."""
    taken = set(_assigned(members, source).values())
    return [
        index for index, each in enumerate(source.branches) if index not in taken and not isinstance(each, NullType)
    ]


def _assigned(members: Sequence[RecordField], source: UnionType) -> dict[str, int]:
    """Return the index of the branch of each field of a oneof; each branch belongs to at most one."""
    found: dict[str, int] = {}
    for fits in (belongs_by_name, same_values, _becomes):
        for member in members:
            _, wanted = split_null(member.type)
            for index, branch in enumerate(source.branches):
                is_free = member.name not in found and index not in found.values()
                if is_free and wanted is not None and not isinstance(branch, NullType) and fits(branch, wanted):
                    found[member.name] = index
    return found


def _becomes(branch: Node, wanted: Node) -> bool:
    if isinstance(branch, RecordType) and isinstance(wanted, RecordType):
        return True
    source, target = scalar_of(branch), scalar_of(wanted)
    return source is not None and target is not None and (widens(source, target) or is_derived(source, target))
