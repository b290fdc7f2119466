"""The check that a default fits the type of its field.

Source: the Protocol Buffers language specification, proto2, "Fields" and "Default values".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.formats.protobuf.read.ast import Enum, Label, Scalar, ValueKind
from counterfoil.schema.formats.protobuf.read.literals import parse_int

if TYPE_CHECKING:
    from counterfoil.schema.formats.protobuf.read.ast import Field, OptionValue
    from counterfoil.schema.formats.protobuf.read.symbols import Symbol

_SIGNED: Final = frozenset(("int32", "sint32", "sfixed32", "int64", "sint64", "sfixed64"))
_UNSIGNED: Final = frozenset(("uint32", "fixed32", "uint64", "fixed64"))
_FLOATS: Final = frozenset(("float", "double"))


def default_problem(field: Field, value: OptionValue, named: Symbol | None) -> str:
    """Return what is wrong with a field's default, as the end of a sentence; ``""`` if it is valid.

    ``named`` is the message or enum that the field's type names.
    """
    if not isinstance(value, Scalar):
        return "is no single value"
    if field.label is Label.REPEATED or field.map is not None or field.group is not None:
        return "is on a field that holds several values or a message"
    if named is not None:
        return _enum_problem(value.text, named)
    return _scalar_problem(field.type, value)


def _enum_problem(text: str, named: Symbol) -> str:
    if not isinstance(named.node, Enum):
        return "is on a field that holds a message"
    if any(constant.name == text for constant in named.node.constants):
        return ""
    return f"is {text}, which is no constant of {named.full_name}"


def _scalar_problem(kind: str, value: Scalar) -> str:
    text = value.text
    if kind == "string":
        return "" if value.kind is ValueKind.STRING else f"is {text}, without quotes"
    if kind == "bytes":
        return ""
    if kind == "bool":
        return "" if value.kind is ValueKind.BOOLEAN else f"is {text}, not true or false"
    if kind in _FLOATS:
        return "" if _is_number(text) else f"is {text}, which is no number"
    number = parse_int(text)
    low, high = _bounds(kind)
    if number is None:
        return f"is {text}, which is no whole number"
    return "" if low <= number <= high else f"is {text}, which {kind} cannot hold"


def _bounds(kind: str) -> tuple[int, int]:
    bits = int(kind[-2:]) if kind in _SIGNED or kind in _UNSIGNED else 64
    return (0, 2**bits - 1) if kind in _UNSIGNED else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return parse_int(text) is not None
    return True
