"""The text of a generated Java class: its members, its constants, and names that are used once."""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_SMALLEST_LITERAL: Final = 1e-300
"""Janino refuses the smallest numbers as literals."""
_LONGEST_LITERAL: Final = 60_000
"""A Java string literal has at most 65,535 bytes."""
_VALUES_PER_METHOD: Final = 100


def quoted(text: str) -> str:
    """Return a Java string literal."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in {'"', "\\"}:
        return f"\\{letter}"
    return letter if " " <= letter <= "~" else "".join(f"\\u{unit:04x}" for unit in _utf16(letter))


def _utf16(letter: str) -> Iterator[int]:
    data = letter.encode("utf-16-be", "surrogatepass")
    return (int.from_bytes(data[place : place + 2], "big") for place in range(0, len(data), 2))


def joined(text: str) -> str:
    """Return an ASCII text of any length as a Java expression."""
    pieces = [quoted(text[place : place + _LONGEST_LITERAL]) for place in range(0, len(text), _LONGEST_LITERAL)]
    if len(pieces) <= 1:
        return quoted(text)
    return f"new StringBuilder(){''.join(f'.append({piece})' for piece in pieces)}.toString()"


def real(value: float) -> str:
    """Return a double as a Java expression."""
    if not math.isfinite(value):
        word = "NaN" if math.isnan(value) else f"{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"
        return f"Double.{word}"
    spelt = repr(float(value))
    return f"Double.parseDouble({quoted(spelt)})" if 0 < abs(value) < _SMALLEST_LITERAL else spelt


def signed(schema_id: int) -> int:
    """Return a schema id as Java reads its four bytes."""
    return schema_id - (1 << 32) if schema_id >= 1 << 31 else schema_id


def indented(lines: Iterable[str]) -> list[str]:
    """Return the lines, one level deeper."""
    return [f"  {line}" for line in lines]


def block(head: str, lines: Iterable[str]) -> list[str]:
    """Return a statement with a block."""
    return [f"{head} {{", *indented(lines), "}"]


class JavaClass:
    """The members and methods of one class, as lines."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._constants: dict[tuple[str, str], str] = {}
        self.members: list[str] = []
        self.methods: list[str] = []
        self.statics: list[str] = []

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Take back what was added inside the block if it ends with an exception."""
        lists = [(each, len(each)) for each in (self.members, self.methods, self.statics)]
        constants = len(self._constants)
        try:
            yield
        except BaseException:
            for each, size in lists:
                del each[size:]
            while len(self._constants) > constants:
                self._constants.popitem()
            raise

    def fresh(self, stem: str) -> str:
        """Return a name that was not used before."""
        return f"{stem}{next(self._numbers)}"

    def constant(self, java_type: str, value: str) -> str:
        """Return the name of a constant; equal ones are one."""
        key = (java_type, value)
        if key not in self._constants:
            self._constants[key] = name = self.fresh("C")
            self.members.append(f"private static final {java_type} {name} = {value};")
        return self._constants[key]

    def data(self, value: bytes) -> str:
        """Return the name of a constant with these bytes."""
        return self.constant("byte[]", f"Texts.ofHex({joined(value.hex())})")

    def several(self, values: Iterable[bytes]) -> str:
        """Return the name of a constant with an array of bytes.

        It is one text: Java limits the code that fills an array element by element to 64 KB.
        """
        return self.constant("byte[][]", f"Texts.ofHexes({joined(','.join(value.hex() for value in values))})")

    def words(self, values: Sequence[str]) -> str:
        """Return the name of a constant with an array of strings."""
        return self.constant("String[]", f"Texts.words({joined(','.join(value.encode().hex() for value in values))})")

    def integers(self, values: Iterable[int]) -> str:
        """Return the name of a constant with an array of whole numbers of 32 bits."""
        return self.constant("int[]", f"Numbers.ints({joined(','.join(map(str, values)))})")

    def longs(self, values: Iterable[int]) -> str:
        """Return the name of a constant with an array of whole numbers of 64 bits."""
        return self.constant("long[]", f"Numbers.longs({joined(','.join(map(str, values)))})")

    def member(self, declaration: str) -> None:
        """Add a member."""
        self.members.append(f"private {declaration};")

    def static(self, statement: str) -> None:
        """Add a statement that runs when the class is loaded."""
        self.statics.append(statement)

    def fill(self, name: str, java_type: str, values: Sequence[str]) -> None:
        """Call a constant's method ``fill`` with an array when the class is loaded, in methods of moderate size."""
        method = self.fresh("fill")
        body = [f"{java_type}[] all = new {java_type}[{len(values)}];"]
        for start in range(0, len(values), _VALUES_PER_METHOD):
            part = list(enumerate(values))[start : start + _VALUES_PER_METHOD]
            lines = [f"all[{number}] = {value};" for number, value in part]
            self.method(f"static void {method}_{start}({java_type}[] all)", lines)
            body.append(f"{method}_{start}(all);")
        self.method(f"static void {method}()", [*body, f"{name}.fill(all);"])
        self.static(f"{method}();")

    def method(self, head: str, lines: Iterable[str]) -> None:
        """Add a method."""
        self.methods += block(f"private {head}", lines)
