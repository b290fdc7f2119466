"""Whether the fields of a oneof can be set together: a message has one of them, so that such a record has no result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.evolution.expr import paths_of
from counterfoil.schema.evolution.model import (
    Arithmetic,
    BuildRecord,
    Constant,
    FirstSet,
    Join,
    Lookup,
    MapBranches,
    MapTagged,
    Read,
    ReplaceNull,
    RequireValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from counterfoil.schema.evolution.model import Op
    from counterfoil.schema.evolution.tree import Record

Path = tuple[str, ...]


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
    target: Record,
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
