"""The walk over the bytes of one value: its parts with their places, faults, and limits, for decoders of all languages.

A decoder of a language reads number by number from a :class:`ByteWalk`, tells it what each byte means, and builds the
value as JSON. The walk holds whatever must be bounded: the parts that are listed, the text of the value, the depth, and
the steps.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, TypeAlias, TypeVar

from counterfoil.schema.compatibility import OutOfSteps, Steps
from counterfoil.schema.paths import FieldPath, Step, item, print_path
from counterfoil.schema.rest.comparisons import DecodedNode, DecodingFault
from counterfoil.schema.texts import excerpt

ValueTree: TypeAlias = "str | dict[str, ValueTree] | list[ValueTree]"
"""A value as it is built: the JSON text of a scalar, and the parts of an object or array."""

MAX_DEPTH: Final = 100
"""The largest depth of records, arrays and maps inside one another, which is also that of Protobuf's decoders."""
MAX_VALUE_CHARS: Final = 256 * 1024
"""The largest size of the JSON text of a value, about; a larger value is listed by its parts alone."""
MASKED: Final[ValueTree] = '"(masked)"'
"""The JSON text in the place of a value that is withheld."""

_LONGEST_SHOWN: Final = 1_000
"""The largest number of characters, or bytes, of one part's value."""
_LONGEST_NAME: Final = 100
_LONGEST_PATH: Final = 1_000
_CHARS_A_PART: Final = 20
"""The characters that a part counts besides its text, so that empty parts are bounded as well."""
_LEFT_OUT: Final = ""
"""What stands for a value whose text is not built any more."""
_MAX_VARINT_BYTES: Final = 10
_MORE: Final = 0x80

_T = TypeVar("_T")


class DecodingStopped(Exception):
    """The bytes are not what the schema expects: ``fault`` says where and what."""

    def __init__(self, fault: DecodingFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class HiddenNames:
    """The elements whose values are withheld: full names of fields and types, in JSON Schema names of properties.

    With ``is_all``, everything is.
    """

    names: frozenset[str] = frozenset()
    is_all: bool = False

    def joined(self, other: HiddenNames) -> HiddenNames:
        """Return what either of the two withholds."""
        return HiddenNames(self.names | other.names, is_all=self.is_all or other.is_all)


@dataclass(frozen=True, slots=True)
class WalkedBytes:
    """A body that was decoded without a fault, and what of it is withheld.

    ``indexes`` lead to the message type of Protobuf; ``steps`` are those that are left.
    """

    body: bytes
    hidden: HiddenNames
    indexes: Sequence[int]
    steps: Steps


@dataclass(frozen=True, slots=True)
class ReadValue:
    """What another schema makes of bytes: the value as JSON; ``fault`` says why there is none, or what is lost in it.

    ``path`` is the element that the fault is about, empty if it is not known.
    """

    value: str | None = None
    fault: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class DecodedBody:
    """The result of a walk: the parts until the end or the fault, the value, and the offset behind the last byte read.

    ``unknown`` is the number of fields that the schema does not have.
    """

    nodes: tuple[DecodedNode, ...] = ()
    nodes_left: int = 0
    value: str | None = None
    fault: DecodingFault | None = None
    end: int = 0
    unknown: int = 0


_NOT_LISTED: Final = -1
"""The index of a part that is not among the listed ones."""


@dataclass(slots=True)
class ByteWalk:
    """A walk over ``data`` from ``offset`` to ``end``; ``path`` leads to the current element, an item by its number.

    ``most_nodes`` is the number of parts that are listed. Once neither parts are listed nor the text of the value is
    built any more (``is_quiet``), parts are only counted: most of a large value is read so.
    """

    data: bytes
    offset: int
    end: int
    steps: Steps
    most_nodes: int
    hidden: HiddenNames = HiddenNames()
    path: list[Step | int] = field(default_factory=list)
    nodes: list[DecodedNode] = field(default_factory=list)
    nodes_left: int = 0
    unknown: int = 0
    late_fault: DecodingFault | None = None
    is_quiet: bool = False
    _opened: list[int] = field(default_factory=list)
    _masks: int = 0
    _value_left: int = MAX_VALUE_CHARS

    def run(self, read: Callable[[ByteWalk], ValueTree]) -> DecodedBody:
        """Return what ``read`` makes of the bytes; a fault is a part of the result."""
        fault: DecodingFault | None = None
        tree: ValueTree = _LEFT_OUT
        self._masks = int(self.hidden.is_all)
        try:
            tree = read(self)
            fault = self.late_fault
        except DecodingStopped as stopped:
            fault = stopped.fault
        except RecursionError:
            fault = self._fault("The value is nested too deep", f"at most {MAX_DEPTH} levels", self.offset)
        while self._opened:
            self.finish()
        value = None if fault is not None or self._value_left < 0 else text_of(MASKED if self.hidden.is_all else tree)
        return DecodedBody(tuple(self.nodes), self.nodes_left, value, fault, self.offset, self.unknown)

    @property
    def left(self) -> int:
        """The number of bytes until the end."""
        return self.end - self.offset

    @property
    def is_masked(self) -> bool:
        """Whether values are withheld at the current place."""
        return self._masks > 0

    # Reading.

    def stop(self, message: str, expected: str, *, offset: int | None = None) -> NoReturn:
        """Raise ``DecodingStopped`` at an offset, by default the current one."""
        at = self.offset if offset is None else offset
        self.offset = at
        raise DecodingStopped(self._fault(message, expected, at))

    def spend(self, steps: int = 1) -> None:
        """Count steps; stop where none are left."""
        try:
            self.steps.spend(steps)
        except OutOfSteps:
            self.stop("Decoding ended at its limits: the value has too many parts", "a value with fewer parts")

    def take(self, size: int, expected: str) -> bytes:
        """Return the next bytes; stop if there are fewer."""
        if size > self.left:
            self.stop(f"The data ends early: {size} bytes are needed and {self.left} are left", expected)
        start = self.offset
        self.offset += size
        return self.data[start : self.offset]

    def varint(self, expected: str, *, bits: int = 64, wraps: bool = False) -> int:
        """Return the next number in groups of seven bits, the lowest first; stop if it does not end in time.

        With ``wraps``, bits beyond the highest one are ignored instead of refused.
        """
        start = self.offset
        if start < self.end and self.data[start] < _MORE:  # most numbers are small
            self.offset = start + 1
            return self.data[start]
        number = 0
        for index, byte in enumerate(self.data[start : min(self.end, start + _MAX_VARINT_BYTES)]):
            number |= (byte & 0x7F) << 7 * index
            if byte < _MORE:
                if number >> bits and not wraps:
                    self.stop(f"A number of more than {bits} bits", expected)
                self.offset = start + index + 1
                return number & ((1 << bits) - 1)
        is_cut = self.left < _MAX_VARINT_BYTES
        return self.stop("The data ends inside a number" if is_cut else "A number of more than 10 bytes", expected)

    def text(self, size: int, expected: str) -> str:
        """Return the next bytes as text; stop where they are not UTF-8."""
        start = self.offset
        raw = self.take(size, expected)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.stop(f"The bytes are no UTF-8 there ({error.reason})", "text in UTF-8", offset=start + error.start)

    # Parts.

    def leaf(self, first: int, words: str, value: _T, show: Callable[[_T], str]) -> ValueTree:
        """Note that the bytes from ``first`` to the current offset are a scalar; return its JSON text.

        ``show`` makes that text, and is called only where it is needed.
        """
        self.spend()
        if self.is_quiet:
            self.nodes_left += 1
            return _LEFT_OUT
        is_listed = len(self.nodes) < self.most_nodes
        if not is_listed:
            self.nodes_left += 1
        is_long = isinstance(value, str | bytes) and len(value) > self._value_left
        text = _shortened(value, show) if is_long else show(value)
        if is_listed:
            shown = None if self._masks else text if len(text) <= _LONGEST_SHOWN else _shortened(value, show)
            self.nodes.append(
                DecodedNode(
                    first, self.offset, self._path_text(), words, shown, len(self._opened), is_masked=self.is_masked
                )
            )
        return self._kept(_LEFT_OUT if is_long else text, is_long=is_long)

    def begin(self, words: str) -> None:
        """Note that a value with parts begins here; stop if it is nested too deep."""
        self.spend()
        if len(self._opened) >= MAX_DEPTH:
            self.stop(f"The value is nested deeper than {MAX_DEPTH} levels", f"at most {MAX_DEPTH} levels")
        index = _NOT_LISTED
        if len(self.nodes) < self.most_nodes:
            index = len(self.nodes)
            at = self.offset
            self.nodes.append(DecodedNode(at, at, self._path_text(), words, depth=len(self._opened)))
        else:
            self.nodes_left += 1
        self._opened.append(index)

    def finish(self) -> None:
        """Note that the value that began last ends here."""
        index = self._opened.pop()
        if index != _NOT_LISTED:
            self.nodes[index] = replace(self.nodes[index], end=self.offset)

    def enter(self, step: Step | None, name: str) -> bool:
        """Go to an element by its full name; return whether its values are withheld from here on."""
        if step is not None:
            self.path.append(step)
        if name not in self.hidden.names:
            return False
        self._masks += 1
        return self._masks == 1

    def leave(self, step: Step | None, name: str, tree: ValueTree, *, masks: bool) -> ValueTree:
        """Leave the element; return its value, or the text in its place. ``masks`` is what :meth:`enter` returned."""
        if step is not None:
            self.path.pop()
        if name in self.hidden.names:
            self._masks -= 1
        return MASKED if masks else tree

    def built(self, tree: dict[str, ValueTree] | list[ValueTree]) -> ValueTree:
        """Return a value with parts, or nothing if the text of the whole value is not built any more."""
        if self._value_left >= 0:
            self._value_left -= (sum(map(len, tree)) if isinstance(tree, dict) else 0) + _CHARS_A_PART
        return tree if self._value_left >= 0 else _LEFT_OUT

    def note(self, message: str, expected: str, *, offset: int | None = None) -> None:
        """Note a fault after which decoding goes on, such as a required field that is not there."""
        at = self.offset if offset is None else offset
        self.late_fault = self.late_fault or self._fault(message, expected, at)

    def _kept(self, text: str, *, is_long: bool) -> str:
        if is_long:
            self._value_left = -1
        elif self._value_left >= 0:
            self._value_left -= len(text) + _CHARS_A_PART
        self.is_quiet = self._value_left < 0 and len(self.nodes) >= self.most_nodes
        return text if self._value_left >= 0 else _LEFT_OUT

    def _path_text(self) -> str:
        return path_text(tuple(item(each) if isinstance(each, int) else each for each in self.path))

    def _fault(self, message: str, expected: str, offset: int) -> DecodingFault:
        return DecodingFault(offset, self._path_text(), expected, message)


def named(step: Callable[[str], Step], name: str) -> Step:
    """Return the step to an element whose name comes from the bytes, shortened, and without halves of surrogates."""
    return step(excerpt(name.encode("utf-8", "backslashreplace").decode(), _LONGEST_NAME))


def path_text(path: FieldPath) -> str:
    """Return the text of a path, shortened."""
    return excerpt(print_path(path), _LONGEST_PATH)


# The JSON texts of values.


def text_of(tree: ValueTree) -> str:
    """Return the JSON text of a value."""
    match tree:
        case dict():
            return f"{{{', '.join(f'{shown_text(name)}: {text_of(each)}' for name, each in tree.items())}}}"
        case list():
            return f"[{', '.join(map(text_of, tree))}]"
    return tree


def shown_text(value: str) -> str:
    """Return a text as JSON; halves of surrogate pairs are escapes in it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() or _is_utf8(text) else json.dumps(value)


def shown_bytes(value: bytes) -> str:
    """Return bytes as a JSON text in base64."""
    return f'"{b64encode(value).decode("ascii")}"'


def shown_real(value: float) -> str:
    """Return a floating-point number as JSON; those that JSON does not have are texts."""
    if math.isfinite(value):
        return repr(value)
    return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


def shown_boolean(value: bool) -> str:  # noqa: FBT001 - the value itself
    """Return a boolean as JSON."""
    return "true" if value else "false"


def shown_null(value: None) -> str:
    """Return null as JSON."""
    del value
    return "null"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shortened(value: _T, show: Callable[[_T], str]) -> str:
    """Return the JSON text of the beginning of a long text, of long bytes, or of another long text."""
    if isinstance(value, str | bytes):
        text = show(value[:_LONGEST_SHOWN])  # type: ignore[arg-type] # a part of a text is a text
        return f'{text[:-1]}…"' if text.endswith('"') else shown_text(excerpt(text, _LONGEST_SHOWN))
    return shown_text(excerpt(show(value), _LONGEST_SHOWN))
