"""CEL in rules: both engines have one meaning, and an expression gets only what it reads."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from counterfoil.sdk.serde.rules.cel import Unsupported, convert, is_present, read_expression, split_guard
from counterfoil.sdk.serde.rules.cel.executors import CelError, compile_program, compile_python
from counterfoil.sdk.serde.rules.cel.functions import FUNCTIONS
from counterfoil.sdk.serde.rules.cel.python_engine import has_comprehensions, parse

MESSAGE = {
    "n": 1,
    "f": 2.5,
    "s": "a@b.de",
    "b": b"\x01",
    "none": None,
    "yes": True,
    "list": [1, 2, 3],
    "inner": {"k": "v"},
    "at": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    "took": timedelta(minutes=90),
}
HOLDS = [
    "message.n == 1 && message.n == 1.0 && message.n != 2",
    "message.n < 1.5 && message.f >= 2",
    "message.n != '1' && message.none == null && message.n != null",
    "message.s.contains('@') && message.s.startsWith('a') && message.s.endsWith('de') && message.s.matches('^a@')",
    "size(message.list) == 3 && message.s.size() == 6",
    "message.list.exists(x, x > 2) && message.list.all(x, x > 0) && message.list.exists_one(x, x == 2)",
    "message.list.map(x, x * 2) == [2, 4, 6] && message.list.filter(x, x > 1) == [2, 3]",
    "2 in message.list && 'k' in message.inner && !(9 in message.list)",
    "message.inner.k == 'v' && message['inner']['k'] == 'v'",
    "has(message.inner.k) && !has(message.inner.z) && !has(message.z)",
    "(message.yes ? 'y' : 'n') == 'y'",
    "message.inner.k + 'w' == 'vw' && (message.s + 'x').contains('ex')",
    "[message.inner.k + 'w'] == ['vw'] && b'a' + b'b' == b'ab'",
    "message.nothing > 1 || true",
    "string(1.0) == '1' && string(message.n) == '1' && int('12') == 12 && double('1.5') == 1.5",
    "message.at > timestamp('2024-01-01T00:00:00Z') && message.at.getFullYear() == 2024",
    "message.took == duration('90m') && message.at + duration('1h') > message.at",
    "timestamp(0) == timestamp('1970-01-01T00:00:00Z') && timestamp(1500, 3) > timestamp(1)",
    "now > timestamp('2024-01-01T00:00:00Z')",
    "message.s.isEmail() && isEmail('x@y.org') && !isEmail('x') && !'a@-b.de'.isEmail()",
    "isHostname('a.b-c.de') && !isHostname('a_b') && !isHostname('1.2') && isIpv4('1.2.3.4') && !isIpv4('::1')",
    "isIpv6('::1') && !isIpv6('x') && isUuid('89791762-2336-4186-9674-299b90a802e2') && !isUuid('8')",
    "isUri('http://a/b') && !isUri('b') && isUriRef('b')",
    "'%s is %d: %.2f %x %s'.format(['n', 7, 1.5, 255, [1, 'a']]) == 'n is 7: 1.50 ff [1, \"a\"]'",
    "decimals.gt(decimal('1.50'), decimal('1.4')) && decimals.eq(decimal('1.5'), 1.5)",
    "string(decimals.add(decimal('0.1'), decimal('0.2'))) == '0.3'",
    "string(decimals.div(decimal('1'), decimal('3'))) == '0.33333333333333333333333333333333333333'",
    "string(decimals.round(decimal('2.345'), 2)) == '2.35' && decimals.sign(decimal('-1')) == -1",
    "b'abc' == b'abc' && message.b == b'\\x01'",
    "{'a': message.n}.a == 1 && [1] == [1.0] && {'a': 1} == {'a': 1}",
    r"'a;b' == 'a;b' && r'\d' == '\\d' // a comment with message.",
]
FAILS = ["message.nothing > 1", "1 / 0 == 1", "message.s + 1 == 2", "isEmail(1)", "message.list[9] == 1", "unknown(1)"]
ENGINES = ["rust", "python", None]


def evaluate(source, engine, message=MESSAGE):
    expression = read_expression(source, ("message", "now"), FUNCTIONS)
    variables = {
        name: datetime.now(UTC) if name == "now" else convert(message, parts)
        for name, parts in expression.reads.items()
    }
    variables |= {name: is_present(message, path[1:]) for name, path in expression.presences.items()}
    return compile_program(expression, engine)(variables)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", HOLDS)
def test_the_engines_agree(source, engine):
    if engine == "rust" and "decimal" in source:
        engine = None  # exact numbers are evaluated in Python
    assert evaluate(source, engine) is True


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", FAILS)
def test_the_engines_agree_on_what_fails(source, engine):
    with pytest.raises(CelError):
        evaluate(source, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("{'n': message.n + 1, 'l': message.list, 's': message.s}", {"n": 2, "l": [1, 2, 3], "s": "a@b.de"}),
        ("message.b", b"\x01"),
        ("message.at", MESSAGE["at"]),
        ("message.took", MESSAGE["took"]),
        ("message.none", None),
        ("message.f", 2.5),
    ],
)
def test_results_are_plain_values(source, result, engine):
    found = evaluate(source, engine)
    assert found == result
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("message.a.b > 1 && message.c == message.a.d", {"message": {"a": {"b": None, "d": None}, "c": None}}),
        ("message.a.b > 1 && message.a == null", {"message": {"a": None}}),
        ("message.items.exists(x, x.message > 1)", {"message": {"items": None}}),
        ("message['a'].size() > 1", {"message": {"a": None}}),
        ("'a' in message", {"message": None}),
        ("has(message.a.b)", {}),
        ("'message.a' == \"message.b\"", {}),
        ("other.message.a", {}),
    ],
)
def test_what_an_expression_reads(source, reads):
    assert read_expression(source, ("message",), FUNCTIONS).reads == reads


def test_only_what_is_read_is_converted():
    class Never(dict):
        def items(self):
            raise AssertionError

    message = {"n": 1, "big": Never(), "inner": {"k": 2, "rest": object()}}
    assert evaluate("message.n + message.inner.k == 3", None, message) is True
    with pytest.raises(Unsupported, match="object"):
        evaluate("message.inner != null", None, message)


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("a ; b", ("a ", " b")),
        (" ; b", (None, " b")),
        ("b", (None, "b")),
        ("x == ';' ; b", ("x == ';' ", " b")),
        ("x == ';'", (None, "x == ';'")),
    ],
)
def test_a_guard_ends_at_a_semicolon_outside_of_texts(source, parts):
    assert split_guard(source) == parts


def test_numbers_that_the_rust_engine_cannot_hold_are_exact_nevertheless():
    assert evaluate("decimals.eq(message.d, decimal('0.1'))", None, {"d": Decimal("0.1")}) is True
    assert evaluate("message.d == message.e", None, {"d": Decimal("0.1"), "e": Decimal("0.10")}) is True


def test_values_of_logical_types():
    value = {"day": date(1970, 1, 3), "id": UUID(int=1), "local": datetime(2024, 1, 1)}  # noqa: DTZ001 - a local time
    assert convert(value) == {"day": 2, "id": str(UUID(int=1)), "local": datetime(2024, 1, 1, tzinfo=UTC)}


NESTED = "message.list.all(a, message.list.all(b, message.list.all(c, message.list.exists(d, a + b + c + d > 0))))"


def compiled_with(source, most_steps):
    return compile_python(read_expression(source, ("message",), FUNCTIONS), most_steps)


@pytest.mark.slow
def test_comprehensions_inside_each_other_have_a_limit():
    assert evaluate(NESTED, "python") is True
    with pytest.raises(CelError, match=r"it takes more than [\d,]+ steps, the limit of an evaluation"):
        compiled_with(NESTED, 5_000)({"message": {"list": [*range(1, 40)]}})


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "message.list.all(a, a in message.list)",
        "message.list.map(a, message.list == message.list).size() > 0",
        "message.list.reduce(r, i, 'a', r + r) == 'b'",
        "message.list.filter(a, message.list.exists_one(b, b == a)).size() > 0",
    ],
)
def test_long_operands_in_comprehensions_are_counted(source):
    with pytest.raises(CelError, match="the limit of an evaluation"):
        compiled_with(source, 10)({"message": {"list": [*range(300)]}})


@pytest.mark.parametrize("source", ["message.list.all(a, a >= 0)", "message.list.exists_one(a, a == 7)"])
def test_a_comprehension_about_a_long_list_ends(source):
    assert compiled_with(source, 10)({"message": {"list": [*range(500)]}}) is True


def test_an_expression_without_comprehensions_is_not_counted():
    message = {"list": [*range(500)]}
    assert compiled_with("7 in message.list && message.list.size() + message.list[3] == 503", 0)({"message": message})
    tree = parse("message.list.size() > 1")
    assert not has_comprehensions(tree)
