"""The meaning of a decode plan: every check is explicit, and every step has a path.

Generated code does the same faster, but without the place of an error; when it raises, the datum is read again here. So
this module decides what is an error, and its message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NoReturn

from counterfoil.schema.datum import Datum
from counterfoil.sdk.errors import DecodeError
from counterfoil.sdk.serde.avro.numbers import INT_MAX, INT_MIN, MAX_VARINT_BYTES, read_long
from counterfoil.sdk.serde.avro.plan import (
    MAX_EMPTY_ITEMS,
    WEIGHT_OF_ITEM,
    ArrayStep,
    BooleanStep,
    BranchStep,
    BytesStep,
    EnumStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RawStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
    UnreadableStep,
)

if TYPE_CHECKING:
    from counterfoil.sdk.serde.avro.logical_types import LogicalConversion


_REAL: Final = {4: struct.Struct("<f"), 8: struct.Struct("<d")}


class DecodeWalk:
    """One datum of ``data``, read step by step from ``offset``; ``path`` and ``offset`` are the current place.

    A part of ``path`` is the name of a field behind a dot, the index of an item, or the key of an entry in a tuple.
    """

    def __init__(self, data: bytes, offset: int, *, max_empty_items: int = MAX_EMPTY_ITEMS) -> None:
        self.data = data
        self.offset = offset
        self.path: list[str | int | tuple[str]] = []
        self._max_empty_items = max_empty_items
        self._empty_items_left = max_empty_items
        self._weight_left = max_empty_items * WEIGHT_OF_ITEM + len(data)

    def read(self, step: Step) -> Datum:
        """Return the value of ``step``. Raises ``DecodeError`` with offset and path."""
        if self.offset > len(self.data):
            self.fail("The data ends before the body")
        try:
            return self._read(step)
        except RecursionError:
            self.fail("The value is nested too deeply")

    def fail(self, problem: str, *, offset: int | None = None) -> NoReturn:
        """Raise a ``DecodeError`` for the current place."""
        where = self.offset if offset is None else offset
        path = "".join(map(_written, self.path)).removeprefix(".")
        inside = f" in {path}" if path else ""
        raise DecodeError(f"{problem} (offset {where}{inside})", offset=where, path=path, data=self.data)

    def _read(self, step: Step) -> Datum:
        return self._readers[type(step)](self, step)

    def _under(self, part: str | int | tuple[str], step: Step) -> Datum:
        self.path.append(part)
        value = self._read(step)
        self.path.pop()
        return value

    def _take(self, size: int) -> bytes:
        if size > len(self.data) - self.offset:
            self.fail(f"The data ends early: {size} bytes are announced and {self._left} are left")
        start = self.offset
        self.offset += size
        return self.data[start : self.offset]

    @property
    def _left(self) -> int:
        return max(0, len(self.data) - self.offset)

    def _long(self) -> int:
        try:
            value, self.offset = read_long(self.data, self.offset)
        except IndexError:
            self.fail(f"The data ends inside a number ({self._left} bytes are left)")
        except ValueError:
            self.fail(f"A number of more than {MAX_VARINT_BYTES} bytes or 64 bits")
        return value

    def _size(self) -> int:
        start = self.offset
        size = self._long()
        if size < 0:
            self.fail(f"A negative length, {size}", offset=start)
        return size

    def _converted(self, value: object, conversion: LogicalConversion | None, start: int) -> Datum:
        if conversion is None:
            return value
        try:
            return conversion.decode(value)
        except (ValueError, ArithmeticError):
            shown = f"{value!r:.60}"
            self.fail(f"{shown} cannot be read as {conversion.native.__name__}", offset=start)

    def _null(self, _step: NullStep) -> None:
        return None

    def _boolean(self, _step: BooleanStep) -> bool:
        byte = self._take(1)[0]
        if byte > 1:
            self.fail(f"A boolean of {byte:#04x}; expected 0x00 or 0x01", offset=self.offset - 1)
        return byte == 1

    def _integer(self, step: IntegerStep) -> Datum:
        start = self.offset
        value = self._long()
        if step.bits == 32 and not INT_MIN <= value <= INT_MAX:  # noqa: PLR2004 - bits of an int
            self.fail(f"{value} is no int of 32 bits", offset=start)
        return self._converted(value, step.conversion, start)

    def _real(self, step: RealStep) -> float:
        value: float = _REAL[step.size].unpack(self._take(step.size))[0]
        return value

    def _bytes(self, step: BytesStep) -> Datum:
        start = self.offset
        size = self._size()
        limit = step.conversion.size_limit_bytes if step.conversion else None
        if limit is not None and size > limit:
            self.fail(f"A decimal of {size} bytes; its precision needs no more than {limit}", offset=start)
        return self._converted(self._take(size), step.conversion, start)

    def _text(self, step: TextStep) -> Datum:
        start = self.offset
        return self._converted(self._decoded(self._take(self._size())), step.conversion, start)

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.fail(f"Text that is not UTF-8 ({error.reason})", offset=self.offset - len(raw) + error.start)

    def _fixed(self, step: FixedStep) -> Datum:
        start = self.offset
        return self._converted(self._take(step.size), step.conversion, start)

    def _enum(self, step: EnumStep) -> str:
        start = self.offset
        index = self._long()
        if not 0 <= index < len(step.values):
            self.fail(f"Symbol number {index} of an enum of {len(step.values)}", offset=start)
        value = step.values[index]
        if value is None:
            problem = f"The reader's {step.name} has neither the symbol {step.symbols[index]!r} nor a default"
            self.fail(problem, offset=start)
        return value

    def _union(self, step: UnionStep) -> Datum:
        return self._read(self._branch(step))

    def _branch(self, step: UnionStep) -> Step:
        start = self.offset
        index = self._long()
        if not 0 <= index < len(step.branches):
            self.fail(f"Branch number {index} of a union of {len(step.branches)}", offset=start)
        return step.branches[index]

    def _named(self, step: BranchStep) -> tuple[str | int, Datum]:
        return step.name, self._read(step.step)

    def _unreadable(self, step: UnreadableStep) -> NoReturn:
        self.fail(step.problem)

    def _blocks(self, smallest: int, *, is_skipping: bool = False) -> Iterator[int]:
        """Yield the number of items of each block; ``smallest`` is the size in bytes that every item has at least."""
        while count := self._long():
            if count < 0:
                size = self._size()
                count = -count
                if is_skipping:
                    self._take(size)
                    continue
            if count * smallest > self._left:
                self.fail(f"A block of {count} items is announced and {self._left} bytes are left")
            if not smallest:
                self._empty_items_left -= count
                if self._empty_items_left < 0:
                    self.fail(f"More than {self._max_empty_items} items that take no bytes")
            yield count

    def _array(self, step: ArrayStep) -> list[Datum]:
        items: list[Datum] = []
        for count in self._blocks(step.smallest):
            if isinstance(step.items, NullStep):
                items += [None] * count
                continue
            for _ in range(count):
                items.append(self._under(len(items), step.items))
        return items

    def _map(self, step: MapStep) -> dict[str, Datum]:
        entries: dict[str, Datum] = {}
        for count in self._blocks(1):
            for _ in range(count):
                key = self._decoded(self._take(self._size()))
                entries[key] = self._under((key,), step.values)
        return entries

    def _record(self, step: RecordStep) -> dict[str, Datum]:
        self._weight_left -= step.unpaid
        if self._weight_left < 0:
            self.fail("Too many defaults and nulls, which take no bytes, for the size of the message")
        value: dict[str, Datum] = dict.fromkeys(step.targets)
        value.update(step.defaults)
        for target in step.mutable_defaults:
            value[target] = _copied(value[target])
        for one in step.fields:
            if isinstance(one.step, NullStep):
                continue
            if one.target is None:
                self.path.append(f".{one.name}")
                self._skip(one.step)
                self.path.pop()
            else:
                value[one.target] = self._under(f".{one.name}", one.step)
        return value

    def _skip(self, step: Step) -> None:
        """Skip a value: only its size is read, and blocks that state their size in bytes are skipped as a whole."""
        match step:
            case ArrayStep(items=items, smallest=smallest):
                self._skip_blocks((items,), smallest)
            case MapStep(values=values):
                self._skip_blocks((TextStep(), values), 1)
            case RecordStep(fields=fields):
                for one in fields:
                    self._skip(one.step)
            case UnionStep():
                self._skip(self._branch(step))
            case _:
                self._skip_scalar(step)

    def _skip_scalar(self, step: Step) -> None:
        match step:
            case NullStep():
                pass
            case BooleanStep():
                self._take(1)
            case IntegerStep() | EnumStep():
                self._skip_number()
            case RealStep(size=size) | FixedStep(size=size):
                self._take(size)
            case BytesStep() | TextStep():
                self._take(self._size())
            case _:
                self._read(step)

    def _skip_number(self) -> None:
        while self.data[self.offset : self.offset + 1] > b"\x7f":
            self.offset += 1
        if not self._left:
            self.fail("The data ends inside a number (0 bytes are left)")
        self.offset += 1

    def _skip_blocks(self, steps: Sequence[Step], smallest: int) -> None:
        for count in self._blocks(smallest, is_skipping=True):
            for _ in range(count):
                for step in steps:
                    self._skip(step)

    def _raw(self, step: RawStep) -> Datum:
        start = self.offset
        body = self._take(self._left)
        if step.is_text:
            return self._converted(self._decoded(body), step.conversion, start)
        limit = step.conversion.size_limit_bytes if step.conversion else None
        if limit is not None and len(body) > limit:
            self.fail(f"A decimal of {len(body)} bytes; its precision needs no more than {limit}", offset=start)
        return self._converted(body, step.conversion, start)

    _readers: ClassVar[dict[type, Callable[..., Datum]]] = {
        NullStep: _null,
        BooleanStep: _boolean,
        IntegerStep: _integer,
        RealStep: _real,
        BytesStep: _bytes,
        TextStep: _text,
        FixedStep: _fixed,
        EnumStep: _enum,
        UnionStep: _union,
        BranchStep: _named,
        ArrayStep: _array,
        MapStep: _map,
        RecordStep: _record,
        RawStep: _raw,
        UnreadableStep: _unreadable,
    }


def _written(part: str | int | tuple[str]) -> str:
    """Return a part of a path as it is printed."""
    if isinstance(part, str):
        return part
    return f"[{part}]" if isinstance(part, int) else f"[{part[0]!r}]"


def _copied(default: object) -> Datum:
    """Return a copy of a default, since the caller may change it."""
    if isinstance(default, dict):
        return {key: _copied(value) for key, value in default.items()}
    return [_copied(item) for item in default] if isinstance(default, list) else default
