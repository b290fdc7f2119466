"""The operations that the value of another one comes from, and whether an operation may fail for a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace

from counterfoil.schema.datum import Datum
from counterfoil.schema.plans.expressions import paths_of
from counterfoil.schema.plans.model import (
    Arithmetic,
    BranchByValue,
    Cast,
    Choose,
    Compare,
    Constant,
    FirstSet,
    IsNull,
    Join,
    LeaveOut,
    Logic,
    Lookup,
    MapBranches,
    MapTagged,
    Not,
    Op,
    Otherwise,
    Read,
    ReplaceNull,
    RequireValue,
    TextCall,
    Widen,
)
from counterfoil.schema.plans.types import WHOLE

_EXPRESSION = "expression"  # arithmetic, which has no operations in it
_SAFE_AS_TEXT = frozenset({*WHOLE, "boolean"})


def operands_of(op: Op) -> Sequence[Op]:
    """Return the operations that the value of a scalar operation comes from; none for a field and a constant."""
    match op:
        case Read() | Constant():
            return ()
        case Join() | FirstSet():
            return op.parts
        case Compare() | Logic():
            return op.left, op.right
        case Choose():
            return op.condition, op.then, op.otherwise
        case Lookup():
            results = [Constant(result) for _, result in op.table]
            return (op.of, *results, *([] if op.otherwise is None else [op.otherwise]))
        case Arithmetic():
            computed = dict(op.operands or ())
            return [computed.get(path) or Read(path) for path in paths_of(op.expression)]
    return (op.of,) if hasattr(op, "of") else ()


def secrets_in(op: object) -> Iterator[str]:
    """Yield the names of the secrets that the hashes of an operation are made with, at any depth."""
    if isinstance(op, TextCall) and op.function == "hash":
        yield str(op.arguments[0])
    if isinstance(op, tuple):
        for each in op:
            yield from secrets_in(each)
    elif is_dataclass(op):
        for member in fields(op):
            if member.name != _EXPRESSION:
                yield from secrets_in(getattr(op, member.name))


def with_keys(op: Datum, key_of: Callable[[str], bytes]) -> Datum:
    """Return an operation whose hashes have their keys, so that it can be carried out by another process."""
    if isinstance(op, tuple):
        return tuple(with_keys(each, key_of) for each in op)
    if not is_dataclass(op) or isinstance(op, type):
        return op
    parts = {member.name: getattr(op, member.name) for member in fields(op) if member.name != _EXPRESSION}
    made = replace(op, **{name: with_keys(part, key_of) for name, part in parts.items()})
    if isinstance(made, TextCall) and made.function == "hash":
        return replace(made, key=key_of(str(made.arguments[0])))
    return made


def may_fail(op: Op) -> bool:
    """Return whether there may be a value for which the operation fails; False only if there is certainly none."""
    match op:
        case Otherwise():
            return False
        case Cast() if op.target.word == "string" and op.source.base in _SAFE_AS_TEXT:
            return may_fail(op.of)
        case Read() | Constant() | Widen() | Not() | IsNull() | Join() | FirstSet() | Choose():
            return any(map(may_fail, operands_of(op)))
    return True


def leaves_out(op: Op) -> bool:
    """Return whether the operation of an item, or of a value of a map, may have no value, so that it is left out."""
    match op:
        case LeaveOut():
            return True
        case MapBranches() | MapTagged():
            return any(leaves_out(branch) for _, branch in op.branches)
        case BranchByValue():
            parts = [*(case for _, case in op.cases), op.otherwise]
            return any(part is not None and leaves_out(part) for part in parts)
    return isinstance(op, RequireValue | ReplaceNull) and leaves_out(op.of)
