"""Plans as nodes for the accelerator: tuples that begin with the kind of a step, and refer to others by number.

Names are interned, as Python interns the names in programs, so that most keys of dicts are found by identity.

The accelerator is installed by itself and may be older or newer than this package, so that the nodes have a version:
``INTERFACE`` in :mod:`counterfoil.sdk.serde.tier` and there. Whoever changes the nodes changes both, and
``sdk/accelerator/src``.
"""

from __future__ import annotations

from functools import partial
from sys import intern
from typing import TYPE_CHECKING, Any, TypeAlias

from counterfoil.sdk.serde.avro_codec.plan import (
    ArrayStep,
    BooleanStep,
    BytesStep,
    EncodeRecordStep,
    EncodeUnionStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    RecordStep,
    TextStep,
    UnionStep,
    UnreadableStep,
    steps_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterfoil.sdk.serde.avro_codec.encode_code import Choose
    from counterfoil.sdk.serde.avro_codec.logical import Conversion
    from counterfoil.sdk.serde.avro_codec.plan import Step

Node: TypeAlias = tuple[Any, ...]


def decode_nodes(plan: Step) -> list[Node]:
    """Return the nodes of a plan for reading; the first is the plan itself."""
    return _nodes_of(plan, _decode_node)


def encode_nodes(plan: Step, choose: Choose) -> list[Node]:
    """Return the nodes of a plan for writing; the first is the plan itself.

    ``choose`` returns number and value of the branch where the Python type alone does not decide.
    """
    return _nodes_of(plan, partial(_encode_node, choose))


def _nodes_of(plan: Step, node_of: Callable[[Step, Mapping[int, int]], Node]) -> list[Node]:
    steps = steps_of(plan)
    number_by_id = {id(step): number for number, step in enumerate(steps)}
    return [node_of(step, number_by_id) for step in steps]


def _decode_node(step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case ArrayStep(items=items, smallest=smallest):
            return "array", number_by_id[id(items)], smallest
        case UnionStep(branches=branches):
            return "union", _numbers(branches, number_by_id)
        case UnreadableStep():
            return ("unreadable",)
        case RecordStep():
            fields = [(one.target and intern(one.target), number_by_id[id(one.step)]) for one in step.fields]
            template = dict.fromkeys(map(intern, step.targets)) | step.defaults
            copied = [(intern(name), step.defaults[name]) for name in step.mutable_defaults]
            return "record", fields, template, copied, step.unpaid
        case RawStep(is_text=True, conversion=conversion):
            return "raw text", _conversion(conversion)
    return _shared_node(step, number_by_id)


def _encode_node(choose: Choose, step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case ArrayStep(items=items):
            return "array", number_by_id[id(items)]
        case EncodeUnionStep():
            return _encode_union(partial(choose, step.union), step, number_by_id)
        case EncodeRecordStep(fields=fields):
            rows = [(intern(one.name), number_by_id[id(one.step)], one.has_default, one.default) for one in fields]
            return "record", rows, step.is_strict
    return _shared_node(step, number_by_id)


def _encode_union(
    choose: Callable[[object], tuple[int, Any]], step: EncodeUnionStep, number_by_id: Mapping[int, int]
) -> Node:
    null = step.null_of_optional
    if null is None:
        return "union", _numbers(step.branches, number_by_id), [*step.branch_by_type.items()], choose
    other = step.branches[1 - null]
    may_be_named = isinstance(other, (EncodeRecordStep, ArrayStep))  # by a tuple
    return "optional", null, number_by_id[id(other)], choose if may_be_named else None


def _shared_node(step: Step, number_by_id: Mapping[int, int]) -> Node:
    match step:
        case NullStep():
            return ("null",)
        case BooleanStep():
            return ("boolean",)
        case IntegerStep(bits=bits, conversion=conversion):
            return "int" if bits == 32 else "long", _conversion(conversion)  # noqa: PLR2004 - bits of an int
        case RealStep(size=size):
            return ("float" if size == 4 else "double",)  # noqa: PLR2004 - bytes of a float
        case EnumStep(values=values):
            return "enum", [value and intern(value) for value in values]
        case MapStep(values=values):
            return "map", number_by_id[id(values)]
    return _sized_node(step)


def _sized_node(step: Step) -> Node:
    match step:
        case BytesStep(conversion=conversion):
            return "bytes", _conversion(conversion)
        case TextStep(conversion=conversion):
            return "text", _conversion(conversion)
        case FixedStep(size=size, conversion=conversion):
            return "fixed", size, _conversion(conversion)
        case RawStep(conversion=conversion):
            return "raw bytes", _conversion(conversion)
        case _:
            raise AssertionError(step)


def _numbers(steps: Sequence[Step], number_by_id: Mapping[int, int]) -> list[int]:
    return [number_by_id[id(one)] for one in steps]


def _conversion(conversion: Conversion | None) -> Node | None:
    if conversion is None:
        return None
    return conversion.form, conversion.decode, conversion.encode, conversion.size_limit_bytes
