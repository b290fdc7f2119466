"""Fields that depend on each other: oneofs and unions, fields never set together, demands of objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.plans.assign import AssignedValue, shapes_of
from counterfoil.schema.plans.formulas import Path, paths_of
from counterfoil.schema.plans.model import (
    Arithmetic,
    BuildRecord,
    Constant,
    FirstSet,
    Join,
    Lookup,
    MapBranches,
    MapTagged,
    Op,
    ProblemKind,
    Read,
    ReplaceNull,
    RequireValue,
)
from counterfoil.schema.plans.tree import NullType, RecordType, UnionType, belongs_by_name
from counterfoil.schema.plans.types import describe, is_derived, same_values, scalar_of, split_null, widens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.plans.assign import Assigner
    from counterfoil.schema.plans.tree import Demands, Node, RecordField


# A union on one side, and the fields of a oneof on the other: the union's field has the name of the oneof.
#
# From a oneof to a union, the field that is set becomes the branch of its type. From a union to a oneof, each field
# takes the values of one branch: of the record of the same name, of an equal type, else of a type that can be made the
# field's.


def oneof_as_union(
    parts: Sequence[tuple[RecordField, Path]], target: UnionType, where: str, *, assigner: Assigner
) -> FirstSet | None:
    """Return the field of a oneof that is set as a value of the union; None after a problem."""
    made: list[Op] = []
    for part, path in parts:
        _, inner = split_null(part.type)
        op = None if inner is None else assigner.as_branch(AssignedValue(Read(path), inner), target, where)
        if op is None:
            return None
        made.append(op)
    return FirstSet(tuple(made))


def branch_of_union(
    member: RecordField,
    members: Sequence[RecordField],
    source: UnionType,
    read: Read,
    where: str,
    *,
    assigner: Assigner,
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
        if not isinstance(each, NullType)
    ]
    if source.is_tagged:
        return MapTagged(read, tuple(ops))
    return MapBranches(read, tuple((shape, op) for index, op in ops for shape in shapes_of(source.branches[index])))


def check_branches(
    oneof: str, members: Sequence[RecordField], source: UnionType, problem: Callable[[ProblemKind, str, str], None]
) -> None:
    """Report the branches of a union that no field of the oneof takes."""
    taken = set(_assigned(members, source).values())
    for index, branch in enumerate(source.branches):
        if index not in taken and not isinstance(branch, NullType):
            problem(ProblemKind.LOSSY, oneof, f"no field of the oneof takes the branch {describe(branch)}")


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


# Whether the fields of a oneof can be set together: a message has one of them, so that such a record has no result.


@dataclass(frozen=True, slots=True)
class Together:
    """Fields of one oneof that can be set in one record; ``always`` are those of them that are set in each record."""

    oneof: str
    names: tuple[str, ...]
    always: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentence about records with several of the fields, or about all of them."""
        names = ", ".join(self.names)
        if not self.always:
            return f"{names} are fields of the oneof {self.oneof}: a record that has several of them is a dead letter"
        always = " and ".join(self.always)
        are = "are" if len(self.always) > 1 else "is"
        others = [name for name in self.names if name not in self.always]
        also = f", and so may be {', '.join(others)}" if others else ""
        return (
            f"{always} {are} set in every record{also}, and a message has one field of the oneof {self.oneof}; leave "
            "all but one of them out by the rule {const: null}, or use fields in the source that may be null"
        )


def fields_together(
    target: RecordType,
    built: Mapping[str, Op],
    is_nullable: Callable[[Path], bool],
    oneof_at: Callable[[Path], object],
) -> Iterator[Together]:
    """Yield, for each oneof of a target record, the fields that can be set together.

    ``built`` are the operations of the fields. ``is_nullable`` returns whether the source value at a path may be null,
    ``oneof_at`` what identifies the oneof of which a source field is one; None for other fields.
    """
    for oneof in dict.fromkeys(each.oneof for each in target.fields if each.oneof):
        members = [each for each in target.fields if each.oneof == oneof and each.name in built]
        ops = {each.name: built[each.name] for each in members if built[each.name] != Constant(None)}
        if len(ops) < 2 or _exclude_each_other(ops.values(), oneof_at):  # noqa: PLR2004 - one field is never too many
            continue
        always = tuple(name for name, op in ops.items() if not may_be_null(op, is_nullable))
        yield Together(str(oneof), tuple(ops), always)


def may_be_null(op: Op, is_nullable: Callable[[Path], bool]) -> bool:
    """Return whether an operation may return null; only if it certainly does not, False."""
    match op:
        case Constant():
            return op.value is None
        case Read():
            return is_nullable(op.path)
        case RequireValue():
            return False
        case ReplaceNull():
            return op.value is None
        case BuildRecord():
            return op.guard is not None and may_be_null(op.guard, is_nullable)
        case Join():
            return any(may_be_null(each, is_nullable) for each in op.parts)
        case Lookup():
            results: list[Op] = [op.of, *(Constant(result) for _, result in op.table)]
            results += [] if op.otherwise is None else [op.otherwise]
            return any(may_be_null(each, is_nullable) for each in results)
        case Arithmetic():
            return any(map(is_nullable, paths_of(op.expression)))
        case FirstSet() | MapBranches() | MapTagged():
            return True
    return may_be_null(op.of, is_nullable)


def _exclude_each_other(ops: Iterable[Op], oneof_at: Callable[[Path], object]) -> bool:
    """Return whether of the operations at most one returns a value: they read fields of one oneof, or of one union."""
    sources = {_source(op, oneof_at) for op in ops}
    return len(sources) == 1 and None not in sources


def _source(op: Op, oneof_at: Callable[[Path], object]) -> object:
    match op:
        case MapTagged() | MapBranches():
            return (type(op), op.of) if isinstance(op.of, Read) and _is_partial(op.branches) else None
        case Read():
            return oneof_at(op.path)
        case BuildRecord():
            return None if op.guard is None else _source(op.guard, oneof_at)
        case Constant() | FirstSet() | Arithmetic() | Join() | Lookup() | ReplaceNull() | RequireValue():
            return None
    return _source(op.of, oneof_at)


def _is_partial(branches: Sequence[tuple[object, Op]]) -> bool:
    """Return whether some branches give null, so that another field may take them."""
    return any(op == Constant(None) for _, op in branches)


# What the schema of a target demands of an object, whatever its values are: what no record of a plan can give.


def unmet_demands(
    demands: Demands, built: Mapping[str, Op], is_nullable: Callable[[Path], bool]
) -> Iterator[tuple[str, str]]:
    """Yield the demands that no record meets: the name of the property, empty for the object, and a sentence.

    ``built`` are the operations of the fields; ``is_nullable`` returns whether the source value at a path may be null.
    """
    possible = {name for name, op in built.items() if op != Constant(None)}
    certain = {name for name in possible if not may_be_null(built[name], is_nullable)}
    for name in demands.undeclared:
        yield name, "the target requires this property and does not declare it; declare it, so that it can be filled"
    for name in sorted(certain & demands.refused):
        yield name, "propertyNames of the target refuses this name"
    for name in sorted(certain & demands.needed.keys()):
        missing = sorted(demands.needed[name] - possible - {*demands.undeclared})
        if missing:
            yield name, f"where this property is, the target requires {', '.join(missing)} as well"
    if len(possible) < demands.least:
        yield "", f"the target requires at least {demands.least} properties; the plan fills {len(possible)}"
    if demands.most is not None and len(certain) > demands.most:
        yield "", f"the target permits at most {demands.most} properties; the plan fills {len(certain)}"
