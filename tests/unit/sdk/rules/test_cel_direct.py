"""Simple expressions in CEL as Python functions: whatever they return, cel-python returns too."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.sdk.serde.rules.cel.direct import NotDirect, compile_direct
from counterfoil.sdk.serde.rules.cel.python_engine import interpreter, parse
from strategies.cases.depth import times_the_examples

INT_MAX = 2**63 - 1
EDGES = [0, 1, -1, INT_MAX, -INT_MAX - 1, INT_MAX + 1, 0.0, -0.0, 0.5, 1e308, math.inf, math.nan]
TEXTS = ["", "a", "ab", "1", "true", "é"]
LITERALS = ["0", "1", "7u", "-1", str(INT_MAX), "0x1F", "1.5", "1e3", "true", "false", "null", "b'a'", "[]", "{'a': 1}"]

scalars = st.one_of(st.sampled_from([*EDGES, *TEXTS, True, False, None, b"a"]), st.integers(-3, 3))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)
)
variables = st.fixed_dictionaries({"x": values, "m": st.dictionaries(st.sampled_from("abc"), values)})


def written(inner):
    """Expressions around other expressions."""
    binary = st.sampled_from(["&&", "||", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"])
    method = st.sampled_from(["contains", "startsWith", "endsWith"])
    return st.one_of(
        st.builds("({} {} {})".format, inner, binary, inner),
        st.builds("{}({})".format, st.sampled_from("!-"), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("({}).{}({})".format, inner, method, inner),
        st.builds("size({})".format, inner),
        st.builds("({}).size()".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("({}).{}".format, inner, st.sampled_from("abc")),
    )


atoms = st.one_of(
    st.sampled_from(["x", "m", "m.a", "m.b", "m['c']", "m.a.b", "nothing"]),
    st.sampled_from(LITERALS),
    st.sampled_from(TEXTS).map("'{}'".format),
)
expressions = st.recursive(atoms, written, max_leaves=6)


# Expressions whose operands mostly fit, so that most of them are evaluated here.
integers = st.recursive(
    st.sampled_from(["m.i", "m.j", "0", "1", "2", str(INT_MAX), "size(m.s)", "m.l.size()"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner) | inner.map("(-{})".format),
    max_leaves=3,
)
doubles = st.recursive(
    st.sampled_from(["m.f", "0.5", "1.0", "1e308"]),
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner) | inner.map("(-{})".format),
    max_leaves=3,
)
texts = st.recursive(
    st.sampled_from(["m.s", "m['t']", "''", "'a'", r"'\u00e9'", r"r'\d'"]),
    lambda inner: st.builds("({} + {})".format, inner, inner),
    max_leaves=3,
)
numbers = integers | doubles
any_scalars = st.one_of(numbers, texts, st.sampled_from(["m.none", "null", "true", "m.yes"]))
relations = st.one_of(
    st.builds("({} {} {})".format, numbers, st.sampled_from(["<", "<=", ">", ">="]), numbers),
    st.builds("({} {} {})".format, texts, st.sampled_from(["<", "<=", ">", ">="]), texts),
    st.builds("({} {} {})".format, any_scalars, st.sampled_from(["==", "!="]), any_scalars),
    st.builds("({} in {})".format, any_scalars, st.sampled_from(["m.l", "[]", "[m.i, 'a', null, 1.0]"])),
    st.builds("{}.{}({})".format, texts, st.sampled_from(["contains", "startsWith", "endsWith"]), texts),
)
conditions = st.recursive(
    relations,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner),
        inner.map("!{}".format),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
    ),
    max_leaves=4,
)
messages = st.fixed_dictionaries(
    {
        "i": st.integers(-INT_MAX - 1, INT_MAX) | st.integers(-3, 3),
        "j": st.integers(-3, 3),
        "f": st.floats(),
        "s": st.text(max_size=3),
        "t": st.sampled_from(TEXTS),
        "l": st.lists(st.integers(-3, 3) | st.sampled_from([*TEXTS, 1.0, None, True]), max_size=3),
        "none": st.none(),
        "yes": st.booleans(),
    }
)


def same(left, right):
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and left == right


def agree(text, given_values):
    tree = parse(text)
    try:
        found = compile_direct(tree)(given_values)
    except NotDirect:
        return
    expected = interpreter(tree, {})(given_values)
    assert same(found, expected), f"{text} with {given_values}: {found!r}, and cel-python returns {expected!r}"


@pytest.mark.slow
@times_the_examples(5)
@given(text=expressions, given_values=variables)
def test_cel_python_returns_the_same_for_any_expression(text, given_values):
    agree(text, given_values)


@pytest.mark.slow
@times_the_examples(5)
@given(text=conditions | any_scalars, message=messages)
def test_cel_python_returns_the_same_for_conditions(text, message):
    agree(text, {"m": message})


@pytest.mark.parametrize(
    "text",
    [
        "m.n > 0 && m.inner.k == 'v'",
        "m.s.startsWith('a') || m.s.contains('z') ? size(m.s) == 2 : false",
        "m.n in [1, 2, 3] && !(m.s in ['x', 'y'])",
        "m.n + 1 < 10 && m.f * 2.0 >= 1.5 && -m.n < 0",
        "m['s'] + 'c' == 'abc' && m.none == null && m.n == 1.0",
    ],
)
def test_what_is_direct(text):
    given_values = {"m": {"n": 1, "f": 0.75, "s": "ab", "none": None, "inner": {"k": "v"}}}
    assert compile_direct(parse(text))(given_values) is True
    assert interpreter(parse(text), {})(given_values) is True


@pytest.mark.parametrize(
    "text",
    ["m.list.all(i, i > 0)", "1u == 1", "m.s.matches('a')", "1 / 2 == 0", "{'a': 1}.a == 1", "now > 1", "m.big > 1"],
)
def test_what_is_left_to_cel_python(text):
    with pytest.raises(NotDirect):
        compile_direct(parse(text))({"m": {"list": [1], "s": "a", "big": 2**63}})
