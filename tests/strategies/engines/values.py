"""Special values of Avro schemas that engines are tested with, and framed messages that are broken."""

from __future__ import annotations

import math
import random
from typing import Any

TEXTS = [
    "",
    "a",
    "a b",
    "a  b",
    " ",
    "9.30",
    " 9.30\n",
    "+1",
    "-0",
    "1e3",
    "1e39",
    "1e-60",
    "1E+2",
    ".5",
    "5.",
    "NaN",
    "Infinity",
    "0x1p3",
    "5f",
    "5d",
    "٣",
    "9.3\x0b",
    "true",
    "True",
    "false",
    "RED",
    "GREEN",
    "é\u2028",
    "\U0001f600",
    "2147483647",
    "2147483648",
    "-9223372036854775808",
    "9223372036854775808",
    "00000000000000000000007",
    "16777217",
    "16777216.999999999999999999",
    "340282356779733661637539395458142568448",
    "2020-02-29 23:59:58.123",
    "2021-02-29 00:00:00.000",
    "0000-01-01 00:00:00.000",
    "2020-03-29 02:30:00.000",
    "2020-10-25 02:30:00.000",
    "2020-13-01 00:00:00.000",
    "2020-01-01 24:00:00.000",
    "2020-02-29",
    "20x0-02-29",
    "1/2/3",
    "|",
    "a|b",
    "a|b|c",
    "0001-01-01",
    "9f3c1d2e-0000-4000-8000-00000000000A",
    "9999-12-31",
]
WHOLES = [0, 1, -1, 2, 63, 64, -64, -65, 300, 2**24 + 1, 2**31 - 1, -(2**31), 86_400_000]
LONGS = [
    *WHOLES,
    -62_135_596_800_000,
    2**31,
    2**53 + 1,
    2**62,
    -(2**62) - 1,
    2**63 - 1,
    -(2**63),
    253_402_300_800_000,
    1_593_561_600_123_456,
    2**40 + 2**16 + 1,
]
REALS = [
    0.0,
    -0.0,
    1.5,
    -2.5,
    0.1,
    9.3,
    2.675,
    1.005,
    0.005,
    0.045,
    1e-7,
    123456.785,
    1e15,
    1e22,
    3.4e38,
    3.5e38,
    1e308,
    5e-324,
    1e-46,
    7.0e-46,
    16777217.0,
    2147483648.0,
    -9.223372036854775808e18,
    0.5,
    -0.5,
    -0.004,
    99.995,
    float("inf"),
    float("-inf"),
    float("nan"),
]


class Draw:
    """Values of a schema, from lists of special ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._waiting: dict[str, list[Any]] = {}

    def choice(self, values: list[Any]) -> Any:
        """Return one of the values; each is returned once before one is returned twice."""
        waiting = self._waiting.setdefault(repr(values), [])
        if not waiting:
            waiting += self._random.sample(values, len(values))
        return waiting.pop()

    def value(self, node: Any, named: dict[str, Any]) -> Any:
        if isinstance(node, str):
            return self.value(named[node], named) if node in named else self.primitive(node)
        if isinstance(node, list):
            return self.value(self.choice(node), named)
        if "name" in node:
            named[node["name"]] = node
        kind = node["type"]
        if kind == "record":
            return {member["name"]: self.value(member["type"], named) for member in node["fields"]}
        if kind == "array":
            return [self.value(node["items"], named) for _ in range(self._random.randrange(4))]
        if kind == "map":
            keys = self._random.sample(["a", "b", "é", "zz"], self._random.choice([0, 1, 1, 2]))
            return {key: self.value(node["values"], named) for key in keys}
        if kind == "enum":
            return self.choice(node["symbols"])
        return self._random.randbytes(node["size"]) if kind == "fixed" else self.primitive(kind)

    def primitive(self, kind: str) -> Any:
        if kind == "null":
            return None
        if kind == "boolean":
            return self.choice([True, False])
        if kind == "bytes":
            return self.choice(
                [b"", b"a", b"ab", b"\xff", "é".encode(), b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"]
            )
        if kind in {"float", "double"}:
            value = self.choice([*REALS, None])
            value = round(self._random.uniform(-1000, 1000), self._random.choice([2, 9])) if value is None else value
            return 1e30 if kind == "float" and math.isfinite(value) and abs(value) > 3.4e38 else value
        if kind == "string":
            return self.choice(TEXTS)
        return self.choice(LONGS if kind == "long" else WHOLES)

    def broken(self, data: bytes) -> bytes:
        """Return the bytes with some of them changed, cut off or added; the frame mostly stays unchanged."""
        made = bytearray(data)
        first = 0 if self._random.random() < 0.1 else 5
        for _ in range(self._random.choice([1, 1, 2])):
            if len(made) > first:
                made[self._random.randrange(first, len(made))] = self._random.choice(
                    [self._random.randrange(256), 0xFF, 0x80, 0, 2]
                )
        cut = self._random.choice([0, 0, 1, 2, -1, -9])
        return bytes(made[: len(made) - cut]) if cut >= 0 else bytes(made) + self._random.randbytes(-cut)
