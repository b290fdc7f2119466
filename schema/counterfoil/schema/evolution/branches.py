"""Which branches of two unions belong together: those of one name, else those that only one branch can be.

The bytes of Avro say which branch a value is of, and two branches may have equal values. So branches are compared by
what identifies them: the name of a record, an enum or a fixed type, and the kind of any other type.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.tree import Array, Leaf, Map, Null, Opaque, Record, Union

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from counterfoil.schema.evolution.tree import Node


def branch_pairs(source: Union, target: Union, *, by_names: bool = False) -> dict[int, int]:
    """Return the branch of the target for each branch of the source that belongs to one, both by their indexes.

    Branches belong together by their full names, then by their names without namespaces, then by their kinds and
    fields, where that leaves one choice on both sides; at last by their places, if one of them has no name of its own,
    as most branches of JSON schemas. Null belongs to none. With ``by_names``, fields and places do not count.
    """
    pairs: dict[int, int] = {}
    for key_of in (full_name_of, _short_name_of, _unnamed_outline if by_names else _outline):
        pairs |= _unique_pairs(key_of, _free(source, pairs), _free(target, pairs.values()))
    if not by_names:
        pairs |= _pairs_by_place(source, target, pairs)
    return pairs


def full_name_of(branch: Node) -> str | None:
    """Return the full name of a record, an enum or a fixed type; None for a type without a name."""
    return (branch.full_name or None) if isinstance(branch, Record | Leaf) else None


def belongs_by_name(source: Node, target: Node) -> bool:
    """Return whether two branches have the same name, with or without the namespace."""
    return _short_name_of(source) == _short_name_of(target) is not None


def renamed_branches(source: Node, target: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the branches of unions, at any depth of two equal types, that have another name on the other side."""
    waiting, seen = [(source, target)], set[tuple[int, int]]()
    while waiting:
        left, right = waiting.pop()
        if (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        match left, right:
            case Record(), Record():
                types = {member.name: member.type for member in right.fields}
                waiting += [(member.type, types[member.name]) for member in left.fields if member.name in types]
            case Array(), Array():
                waiting.append((left.items, right.items))
            case Map(), Map():
                waiting.append((left.values, right.values))
            case Union(), Union():
                pairs = branch_pairs(left, right) if left.is_tagged else {}
                places = pairs or dict(zip(_free(left, ()), _free(right, ()), strict=False))
                found = [(left.branches[index], right.branches[place]) for index, place in places.items()]
                has_others = sum(not isinstance(branch, Null) for branch in left.branches) > 1
                yield from (pair for pair in found if has_others and is_renamed(*pair))
                waiting += found


def is_renamed(source: Node, target: Node) -> bool:
    """Return whether a branch with a name has another name on the other side."""
    return None not in (full_name_of(source), full_name_of(target)) and not belongs_by_name(source, target)


def _short_name_of(branch: Node) -> Hashable:
    return (branch.kind, branch.name) if isinstance(branch, Record | Leaf) and branch.name else None


def _outline(branch: Node) -> Hashable:
    """Return what a branch is, without what its parts are."""
    if isinstance(branch, Record):
        return branch.kind, frozenset(member.name for member in branch.fields)
    if isinstance(branch, Leaf):
        return branch.kind, branch.scalar
    return branch.kind, branch.text if isinstance(branch, Opaque) else ""


def _unnamed_outline(branch: Node) -> Hashable:
    return None if full_name_of(branch) else _outline(branch)


def _free(union: Union, taken: Iterable[int]) -> dict[int, Node]:
    known = frozenset(taken)
    return {
        index: branch
        for index, branch in enumerate(union.branches)
        if index not in known and not isinstance(branch, Null)
    }


def _unique_pairs(
    key_of: Callable[[Node], Hashable], source: dict[int, Node], target: dict[int, Node]
) -> dict[int, int]:
    """Return the pairs of branches whose key no other branch of their sides has."""
    found = []
    for side in (source, target):
        keys = {index: key_of(branch) for index, branch in side.items()}
        counts = Counter(keys.values())
        found.append({key: index for index, key in keys.items() if key is not None and counts[key] == 1})
    return {
        index: found[1][key]
        for key, index in found[0].items()
        if key in found[1] and source[index].kind == target[found[1][key]].kind
    }


def _pairs_by_place(source: Union, target: Union, pairs: dict[int, int]) -> dict[int, int]:
    """Return the pairs of further branches that have the same place besides null, and the same outline."""
    own, other = _free(source, pairs), _free(target, pairs.values())
    own_named, other_named = (_with_own_names(union) for union in (source, target))
    places = zip(_free(source, ()), _free(target, ()), strict=False)
    return {
        index: place
        for index, place in places
        if index in own
        and place in other
        and not (index in own_named and place in other_named)
        and _outline(own[index]) == _outline(other[place])
    }


def _with_own_names(union: Union) -> frozenset[int]:
    """Return the branches, by their indexes, that have a name which no other branch has."""
    names = [full_name_of(branch) for branch in union.branches]
    counts = Counter(names)
    return frozenset(index for index, name in enumerate(names) if name is not None and counts[name] == 1)
