"""Values for every kind of field of Protobuf and JSON messages, special ones and broken ones among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

BROKEN_NUMBERS = [
    *(b"1e2", b"-0", b"0.1", b"1.0", b"12345678901234567890", b"1e400", b"-0.0", b"1E-7", b"123456789.123456789"),
    *(b"2147483648", b"9223372036854775808", b"01", b"1.", b"5.0", b"1e-5", b"1e16", b"0.30000000000000004", b"4.35"),
    *(b"1.7976931348623157e308", b"2e0", b"5e-324", b"-", b"1" * 4301, b"NaN"),
]
BROKEN_TEXTS = [
    *(b'"\\u00e9"', b'"\\ud83d\\ude00"', b'"\\ud800"', b'"\\ud800\\u0041"', b'"\\n\\"\\\\\\/\\b\\f\\r\\t"', b'"\\x"'),
    *(b'"\xc3\xa9"', b'"\xff"', b'"\x1f"', b'"\x7f"', b'"\\u0000\\u001f"', b"null", b"true", b'"abcdefgh"', b'""'),
    *('"😀😀😀"'.encode(), b'"\\u12"', b'"\\'),
]


def _chooser(rng: random.Random) -> Callable[[list[Any]], Any]:
    """Return a choice that mostly takes one of the first values, which every target has."""
    special = rng.random() < 0.3
    return lambda values: rng.choice(values if special else values[: max(1, len(values) // 2)])


def protobuf_ride(rng: random.Random, class_: Any) -> Any:
    """Return a message with a value for most fields."""
    c, m = _chooser(rng), class_()
    m.id, m.fare = c([0, 1, -5, 2**63 - 1]), c([0, 1.5, 1e300, -0.0, float("nan")])
    m.f, m.u, m.v = c([0, 0.5, 3e38, float("inf")]), c([0, 5, 2**64 - 1]), c([0, 7, 2**32 - 1])
    m.b, m.s, m.y = rng.choice([True, False]), c(["", "é", "abcd"]), c([b"", b"\xff\0", b"abc"])
    m.e = c([0, 1, -1, 0, 1, 5])
    m.es.extend(rng.sample([0, 1, -1, 1], rng.randrange(3)))
    for key in rng.sample(["a", "b", "aa", "", "é"], 3):
        m.m[key] = rng.randrange(4)
    for number in rng.sample([1, -1, 300, 0, 2**31 - 1], 3):
        m.mi[number] = "v"
        m.mf[abs(number) << 33] = 0.5
    m.mb[True].x, m.mb[False].t = 1, "q"
    if rng.random() < 0.5:
        m.sub.x = 3
        m.sub.more.add().x = 4
    for _ in range(rng.randrange(3)):
        m.subs.add().t = "zz"
    _set_oneof(rng, m)
    _set_well_known(rng, m, c)
    m.z, m.fx = c([0, 1, 2**31 - 1, -(2**31)]), c([0, 2**64 - 1])
    m.ds.extend([0.5] * rng.randrange(3))
    return m


def _set_oneof(rng: random.Random, m: Any) -> None:
    match rng.randrange(4):
        case 0:
            m.os = "x"
        case 1:
            m.oi = 0
        case 2:
            m.om.x = 1
    if rng.random() < 0.5:
        m.oo = 0


def _set_well_known(rng: random.Random, m: Any, c: Callable[[list[Any]], Any]) -> None:
    if rng.random() < 0.7:
        m.at.seconds = c([0, -1, 253402300799, -62135596800, 1700000000, 253402300800, 2**62, 10**10, -(10**10)])
        m.at.nanos = c([0, 120_000_000, 999_999_999, -1])
    if rng.random() < 0.5:
        m.w.value, m.wu.value = c(["", "x"]), c([0, 2**64 - 1])
    for _ in range(rng.randrange(3)):
        moment = m.ats.add()
        moment.seconds, moment.nanos = rng.randrange(10**9), c([0, 120_000_000, 5])
    if rng.random() < 0.5:
        m.du.seconds, m.du.nanos = c([0, -1, 5, -(2**63), 2**63 - 1]), c([0, -5, 999_999_999])
    if rng.random() < 0.7:
        m.da.year, m.da.month, m.da.day = c([2020, 1, 9999, 0, 2021]), c([2, 2, 13, 1]), c([29, 1, 31])
    m.mt["k"].seconds = c([1, 5, 253402300800])


def json_ride(rng: random.Random) -> dict[str, Any]:
    """Return an object with a value for most properties."""
    c = _chooser(rng)
    moments = ["2020-01-02T03:04:05Z", "2020-01-02T03:04:05.123456789+01:00"]
    wrong = [
        "2020-13-01T00:00:00Z",
        "2020-01-01T00:00:00.0123456789Z",
        "0001-01-01T00:00:00+01:00",
        "2020-01-02t03:04:60z",
    ]
    made = {
        "id": c([0, 1, -5, 1.0, 2**63 - 1, 2**63]),
        "fare": c([0, 1.5, 1e300, -0.0, 10**30, -2]),
        "f": c([0, 0.1, 5, 1e39]),
        "u": c([0, 2**64 - 1, -1]),
        "v": c([0, 5, 2**31]),
        "b": c([True, False, None]),
        "s": c(["", "abc", "é😀x", "abcd", 'q"\\\n\x01/']),
        "y": c(["", "/wA=", "YWJj", "abc", "YW Jj", "YWI=", "YWJ=", "=", "===="]),
        "e": c(["A", "B", "C", "D"]),
        "es": c([["A", "B"], [], ["A", "B", "C"], [1], {}]),
        "m": {"b": 1, "a": c([2, 4, 2**31]), "": c([1, 9])},
        "mi": {c(["1", "-1", "300", "5", "01", "x", "99999999999", "-0", "+1", " 1"]): "v"},
        "oo": c([1, None, "x"]),
        "at": c([*moments, *moments, *wrong]),
        "w": "q",
        "wu": c([1, 1.0, 2**64 - 1, 1.5, -1, 2**64]),
        "ats": ["2020-01-02T03:04:05.100Z"],
        "z": c([1, -1, 0.5]),
        "ds": c([[1, 2.25], [2.5], ["x"]]),
        "da": c(["2020-02-29", "0001-01-01", "2021-02-29", "0000-01-01"]),
        "os": "s",
        "mt": {"k": c(moments)},
        "either": c(["x", 1, None, 1.0, 1.5, 6, [1]]),
        "maybe": c([{"x": 1}, None, {}, {"x": "y"}, []]),
        "list": c([["a"], [], [1]]),
        "a b": True,
        "undeclared": [{"deep": [None, "é"]}, 1e3],
    }
    some = rng.choice([0.8, 1, 1])
    names = [name for name in made if rng.random() < some]
    rng.shuffle(names)
    return {name: made[name] for name in names}
