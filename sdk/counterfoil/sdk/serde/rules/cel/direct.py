"""Simple expressions of CEL as Python functions, which take a small part of the time of cel-python's evaluation.

Members, literals, comparisons, ``&&``, ``||``, ``!``, ``?:``, ``in``, sums and products of numbers of one type, and the
functions of texts that need no pattern. A function that is made here returns what cel-python returns, or raises
:class:`NotDirect`: for every operand of a type that is not listed here, for what is missing, and for what overflows.
cel-python then evaluates the expression, and has the last word about errors.

Sources: the language definition of CEL, and the grammar of cel-python 0.5, whose trees are read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from celpy import celtypes
from celpy.evaluation import celstr

from counterfoil.schema.datum import Datum

if TYPE_CHECKING:
    import lark


Direct: TypeAlias = "Callable[[dict[str, Datum]], Datum]"
"""Returns the value of an expression with variables; raises ``NotDirect``."""

_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1
_NUMBERS: Final = frozenset({int, float})
_SCALARS: Final = frozenset({*_NUMBERS, str, bool, type(None)})
_RESULTS: Final = frozenset({*_NUMBERS, str, bool})


class NotDirect(Exception):
    """An expression, or values, that only cel-python evaluates."""


def compile_direct(tree: lark.Tree[object]) -> Direct:
    """Return the function that evaluates a parsed expression. Raises ``NotDirect`` for one that is not simple."""
    evaluate = _compiled(tree)

    def run(variables: dict[str, Datum]) -> Datum:
        _check(variables)
        result = evaluate(variables)
        if type(result) not in _RESULTS:
            raise NotDirect
        return result

    return run


def _check(value: Datum) -> None:
    """Refuse values that cel-python converts, or refuses, even if the evaluation does not reach them."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise NotDirect
            _check(item)
    elif kind is list:
        for item in value:
            _check(item)
    elif kind not in _SCALARS or (kind is int and not _INT_MIN <= value <= _INT_MAX):
        raise NotDirect


def _compiled(tree: Any) -> Direct:
    compiler = _COMPILER_BY_RULE.get(tree.data)
    if compiler is not None:
        return compiler(tree.children)
    if len(tree.children) != 1 or tree.data not in _PASSING:
        raise NotDirect
    return _compiled(tree.children[0])


# --- literals, variables, members ------------------------------------------------------------------------------------


def _literal(children: list[Datum]) -> Direct:
    read = _READ_BY_LITERAL.get(children[0].type)
    if read is None:
        raise NotDirect
    try:
        value = read(children[0])
    except ValueError:
        raise NotDirect from None
    return lambda _: value


_READ_BY_LITERAL: Final[dict[str, Callable[[Datum], Datum]]] = {
    "INT_LIT": lambda token: int(celtypes.IntType(token.value)),
    "FLOAT_LIT": lambda token: float(token.value),
    "STRING_LIT": lambda token: str(celstr(token)),
    "MLSTRING_LIT": lambda token: str(celstr(token)),
    "BOOL_LIT": lambda token: bool(token.value == "true"),
    "NULL_LIT": lambda _: None,
}


def _variable(children: list[Datum]) -> Direct:
    name = str(children[0].value)

    def read(variables: dict[str, Datum]) -> Datum:
        if name not in variables:
            raise NotDirect
        return variables[name]

    return read


def _member(children: list[Datum]) -> Direct:
    name = str(children[1].value)
    return _item(_compiled(children[0]), lambda _: name)


def _index(children: list[Datum]) -> Direct:
    return _item(*map(_compiled, children))


def _item(of: Direct, key: Direct) -> Direct:
    def read(variables: dict[str, Datum]) -> Datum:
        value, name = of(variables), key(variables)
        if type(value) is not dict or type(name) is not str or name not in value:
            raise NotDirect
        return value[name]

    return read


def _list(children: list[Datum]) -> Direct:
    if not children or children[0] is None:
        return lambda _: []
    items = list(map(_compiled, children[0].children))
    return lambda variables: [item(variables) for item in items]


# --- conditions -----------------------------------------------------------------------------------------------------


def _truth(value: object) -> bool:
    if type(value) is not bool:
        raise NotDirect
    return value


def _conditional(children: list[Datum]) -> Direct:
    if len(children) == 1:
        return _compiled(children[0])
    condition, then, otherwise = map(_compiled, children)
    return lambda variables: (then if _truth(condition(variables)) else otherwise)(variables)


def _and(children: list[Datum]) -> Direct:
    if len(children) == 1:
        return _compiled(children[0])
    left, right = map(_compiled, children)
    return lambda variables: _truth(left(variables)) and _truth(right(variables))


def _or(children: list[Datum]) -> Direct:
    if len(children) == 1:
        return _compiled(children[0])
    left, right = map(_compiled, children)
    return lambda variables: _truth(left(variables)) or _truth(right(variables))


# --- operators ------------------------------------------------------------------------------------------------------


def _are_equal(left: object, right: object) -> bool:
    """Return whether two scalars are equal: numbers by value, and else values of one type alone."""
    kind, other = type(left), type(right)
    if kind not in _SCALARS or other not in _SCALARS:
        raise NotDirect
    return bool((kind is other or (kind in _NUMBERS and other in _NUMBERS)) and left == right)


def _ordered(compare: Callable[[Datum, Datum], bool]) -> Callable[[Datum, Datum], bool]:
    def ordered(left: object, right: object) -> bool:
        kind, other = type(left), type(right)
        if (kind in _NUMBERS and other in _NUMBERS) or (kind is str and other is str):
            return compare(left, right)
        raise NotDirect

    return ordered


def _is_in(item: object, container: object) -> bool:
    if type(container) is not list:
        raise NotDirect
    return any(_are_equal(item, each) for each in container)


def _calculated(calculate: Callable[[Datum, Datum], Datum], *kinds: type) -> Callable[[Datum, Datum], Datum]:
    def calculated(left: object, right: object) -> Datum:
        kind = type(left)
        if kind is not type(right) or kind not in kinds:
            raise NotDirect
        return _in_range(calculate(left, right))

    return calculated


def _in_range(value: object) -> Datum:
    if type(value) is int and not _INT_MIN <= value <= _INT_MAX:
        raise NotDirect
    return value


def _negative(value: Datum) -> Datum:
    if type(value) not in _NUMBERS:
        raise NotDirect
    return _in_range(-value)


_OPERATOR_BY_RULE: Final[dict[str, Callable[[Datum, Datum], Datum]]] = {
    "relation_eq": _are_equal,
    "relation_ne": lambda left, right: not _are_equal(left, right),
    "relation_lt": _ordered(operator.lt),
    "relation_le": _ordered(operator.le),
    "relation_gt": _ordered(operator.gt),
    "relation_ge": _ordered(operator.ge),
    "relation_in": _is_in,
    "addition_add": _calculated(operator.add, int, float, str),
    "addition_sub": _calculated(operator.sub, int, float),
    "multiplication_mul": _calculated(operator.mul, int, float),
}


def _operation(children: list[Datum]) -> Direct:
    """Return the function of ``[left operator] right``, whose left operand is the operator's child."""
    if len(children) == 1:
        return _compiled(children[0])
    operate = _OPERATOR_BY_RULE.get(children[0].data)
    if operate is None:
        raise NotDirect
    left, right = _compiled(children[0].children[0]), _compiled(children[1])
    return lambda variables: operate(left(variables), right(variables))


def _unary(children: list[Datum]) -> Direct:
    if len(children) == 1:
        return _compiled(children[0])
    operand = _compiled(children[1])
    if children[0].data == "unary_not":
        return lambda variables: not _truth(operand(variables))
    return lambda variables: _negative(operand(variables))


# --- functions ------------------------------------------------------------------------------------------------------


def _size(value: Datum) -> int:
    if type(value) not in (str, list, dict):
        raise NotDirect
    return len(value)


def _of_texts(call: Callable[[str, str], bool]) -> Callable[[Datum, Datum], bool]:
    def called(text: object, part: object) -> bool:
        if type(text) is not str or type(part) is not str:
            raise NotDirect
        return call(text, part)

    return called


_FUNCTION_BY_NAME: Final[dict[tuple[str, int], Callable[..., Datum]]] = {
    ("size", 1): _size,
    ("contains", 2): _of_texts(operator.contains),
    ("startsWith", 2): _of_texts(str.startswith),
    ("endsWith", 2): _of_texts(str.endswith),
}
"""The functions by name and number of arguments, with what a method is called on as the first."""


def _function_call(children: list[Datum]) -> Direct:
    return _call(str(children[0].value), [], children[1:])


def _method_call(children: list[Datum]) -> Direct:
    return _call(str(children[1].value), [children[0]], children[2:])


def _call(name: str, receiver: list[Datum], more: list[Datum]) -> Direct:
    given = receiver + [argument for each in more if each is not None for argument in each.children]
    function = _FUNCTION_BY_NAME.get((name, len(given)))
    if function is None:
        raise NotDirect
    arguments = list(map(_compiled, given))
    return lambda variables: function(*[argument(variables) for argument in arguments])


_PASSING: Final = frozenset({"member", "primary", "paren_expr"})
"""The rules whose value is that of their one child."""

_COMPILER_BY_RULE: Final[dict[str, Callable[[list[Datum]], Direct]]] = {
    "expr": _conditional,
    "conditionalor": _or,
    "conditionaland": _and,
    **dict.fromkeys(("relation", "addition", "multiplication"), _operation),
    "unary": _unary,
    "literal": _literal,
    "ident": _variable,
    "list_lit": _list,
    "member_dot": _member,
    "member_index": _index,
    "ident_arg": _function_call,
    "member_dot_arg": _method_call,
}
