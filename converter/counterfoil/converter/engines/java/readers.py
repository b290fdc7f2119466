"""Generating what reads a writer's bytes into slots: one method for each record, array and map of a plan of reading.

There are three ways to read a value. One that the plan needs goes into its slot. One that it does not need is checked
as strictly, since the reference evaluator reads it too. One that the source's schema does not have is skipped: only its
size matters. The meaning of all three is that of :mod:`counterfoil.sdk.serde.avro.decode_walk`.
"""

from __future__ import annotations

from typing import Final

from counterfoil.converter.engines.java.source import (
    ENGINE,
    REAL,
    JavaClass,
    Slot,
    block,
    indented,
    is_read_as_written,
    quoted,
    real,
)
from counterfoil.converter.engines.protocol import EngineCannot
from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import AvroArray, AvroEnum, AvroKind, AvroRecord, AvroType, AvroUnion
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.plan import (
    ArrayStep,
    BooleanStep,
    BytesStep,
    EnumStep,
    FieldStep,
    FixedStep,
    IntegerStep,
    MapStep,
    NullStep,
    RealStep,
    RecordStep,
    Step,
    TextStep,
    UnionStep,
    UnreadableStep,
    contains_itself,
    measure,
)
from counterfoil.sdk.serde.avro.resolve import SchemaResolver

_FIELDS_PER_METHOD: Final = 16
"""Java does not compile a method of more than 8,000 bytes; small ones are also compiled earlier."""


def note_defaults(step: Step, slot: Slot) -> None:
    """Mark the slots that a reader's default may fill."""
    if isinstance(slot.inner, AvroUnion):  # of several types: its branches have no slots
        return
    match step:
        case RecordStep(fields=fields, defaults=defaults):
            for name in defaults:
                _mark_all(slot.members[name])
            for one in fields:
                if one.target is not None:
                    note_defaults(one.step, slot.members[one.target])
        case UnionStep(branches=branches):
            for branch in branches:
                note_defaults(branch, slot)
        case ArrayStep(items=inner) | MapStep(values=inner) if slot.element is not None:
            note_defaults(inner, slot.element)


def _mark_all(slot: Slot) -> None:
    slot.has_defaults = True
    for part in (*slot.members.values(), *([slot.element] if slot.element else [])):
        _mark_all(part)


class ReaderWriter:
    """Writes the methods that read one writer's values.

    ``is_strict``: what the source's schema does not have is checked, too. ``is_default``: the values are not in the
    record but in a default of the source's schema.
    """

    def __init__(self, java: JavaClass, *, is_strict: bool = False, is_default: bool = False) -> None:
        self._java = java
        self._is_strict = is_strict
        self._is_default = is_default

    def method(self, step: Step, slot: Slot | None, *, skips: bool = False) -> str:
        """Add a method that reads a value, and return its name: it takes the data and a position."""
        if slot is not None and not slot.is_needed():
            slot = None
        match step:
            case RecordStep() if not skips:
                return self._record(step, slot)
            case ArrayStep(items=items, smallest=smallest):
                return self._array(items, smallest, slot, skips=skips)
            case MapStep(values=values):
                return self._map(values, slot, skips=skips)
        name = self._java.fresh("r")
        self._java.method(f"int {name}(byte[] b, int p)", [*self.value(step, slot, skips=skips), "return p;"])
        return name

    def value(self, step: Step, slot: Slot | None, *, skips: bool = False) -> list[str]:
        """Return the statements that read a value at ``p``: into the slot, or only to check or to skip it."""
        if slot is not None and not slot.is_needed():
            slot = None
        if isinstance(step, UnionStep):
            return self._union(step, slot, skips=skips)
        lines = self._present(step, slot) if slot is not None else []
        if isinstance(step, (RecordStep, ArrayStep, MapStep)):
            if contains_itself(step):
                where = slot.where if slot is not None else getattr(step, "name", "")
                raise EngineCannot(ENGINE, field=where, why="a record that contains itself")
            if skips and isinstance(step, RecordStep):
                return [line for one in step.fields for line in self.value(one.step, None, skips=True)]
            return [*lines, f"p = {self.method(step, slot, skips=skips)}(b, p);"]
        return lines + (self._skipped(step) if skips else self._scalar(step, slot))

    def _present(self, step: Step, slot: Slot) -> list[str]:
        if slot.is_nullable and slot.inner is not None and not isinstance(step, UnreadableStep):
            return [f"x{slot.name} = {'true' if isinstance(step, NullStep) else 'false'};"]
        return []

    def _union(self, step: UnionStep, slot: Slot | None, *, skips: bool) -> list[str]:
        made = [f'p = readChoice(b, p, {len(step.branches)}, "Branch");']
        cases = []
        for number, branch in enumerate(step.branches):
            cases += [f"case {number}:", *indented([*self.value(branch, slot, skips=skips), "break;"])]
        return [*made, *block("switch ((int) number)", cases)]

    def _skipped(self, step: Step) -> list[str]:
        match step:
            case NullStep():
                return []
            case BooleanStep():
                return ["p = skip(b, p, 1);"]
            case IntegerStep() | EnumStep():
                return ["p = skipNumber(b, p);"]
            case RealStep(size=size) | FixedStep(size=size):
                return [f"p = skip(b, p, {size});"]
            case BytesStep() | TextStep():
                return ["p = skipBytes(b, p);"]
        return self._scalar(step, None)

    def _scalar(self, step: Step, slot: Slot | None) -> list[str]:
        match step:
            case NullStep():
                return []
            case BooleanStep():
                return ["p = readBoolean(b, p);", *self._kept(slot, "number != 0")]
            case IntegerStep(bits=bits):
                read = "readInt" if bits == 32 else "readLong"  # noqa: PLR2004 - bits of an int
                return [f"p = {read}(b, p);", *self._whole(slot)]
            case RealStep(size=size):
                read = "readFloat" if size == 4 else "readDouble"  # noqa: PLR2004 - bytes of a float
                return [f"p = {read}(b, p);", *self._kept(slot, "real")]
            case BytesStep() | TextStep():
                return self._bytes(slot, is_text=isinstance(step, TextStep))
            case FixedStep(size=size):
                if slot is None:
                    return [f"p = skip(b, p, {size});"]
                return [f"a{slot.name} = p;", f"p = skip(b, p, {size});", *self._ends(slot)]
            case EnumStep():
                return self._enum(step, slot)
            case UnreadableStep(problem=problem):
                return [f"if (p >= 0) throw undecodable({quoted(problem)}, p);"]
        raise EngineCannot(ENGINE, field="", why=f"no reading of {type(step).__name__}")

    def _kept(self, slot: Slot | None, value: str) -> list[str]:
        return [] if slot is None else [f"v{slot.name} = {value};"]

    def _whole(self, slot: Slot | None) -> list[str]:
        is_float = slot is not None and slot.inner is not None and slot.inner.kind is AvroKind.FLOAT
        return self._kept(slot, "(float) number" if is_float else "number")

    def _bytes(self, slot: Slot | None, *, is_text: bool) -> list[str]:
        made = ["p = readSize(b, p);"]
        if slot is None:
            check = ["checkText(b, p - (int) number, p);"] if is_text else []
            return [*made, "p += (int) number;", *check]
        check = [f"checkText(b, a{slot.name}, p);"] if is_text else []
        return [*made, f"a{slot.name} = p;", "p += (int) number;", *check, *self._ends(slot)]

    def _ends(self, slot: Slot) -> list[str]:
        return [f"z{slot.name} = p;", *([f"d{slot.name} = b;"] if slot.has_defaults else [])]

    def _enum(self, step: EnumStep, slot: Slot | None) -> list[str]:
        made = [f'p = readChoice(b, p, {len(step.values)}, "Symbol");']
        missing = "The reader has neither this symbol nor a default"
        if slot is None or not isinstance(slot.inner, AvroEnum):
            if None not in step.values:
                return made
            known = self._java.integers([int(value is not None) for value in step.values])
            return [*made, f"if ({known}[(int) number] == 0) throw undecodable({quoted(missing)}, p);"]
        symbols = list(slot.inner.symbols)
        numbers = [-1 if value is None else symbols.index(value) for value in step.values]
        if numbers == list(range(len(numbers))):
            return [*made, f"v{slot.name} = number;"]
        made.append(f"v{slot.name} = {self._java.integers(numbers)}[(int) number];")
        if -1 in numbers:
            made.append(f"if (v{slot.name} < 0) throw undecodable({quoted(missing)}, p);")
        return made

    # -- parts

    def _record(self, step: RecordStep, slot: Slot | None) -> str:
        name = self._java.fresh("r")
        calls = []
        spans = {} if self._is_default else _spans(step, slot)
        for start in range(0, len(step.fields), _FIELDS_PER_METHOD):
            part = f"{name}_{start}"
            self._fields(part, step.fields[start : start + _FIELDS_PER_METHOD], slot, start, spans)
            calls.append(f"p = {part}(b, p);")
        if step.unpaid and not self._is_default:
            calls.insert(0, f"weigh({step.unpaid});")
        calls += [f"s{run.name} = -1;" for run in ([] if slot is None else slot.runs) if run.name not in spans]
        for target, default in step.defaults.items():
            if slot is not None:
                calls += self._filled(slot.members[target], default)
        self._java.method(f"int {name}(byte[] b, int p)", [*calls, "return p;"])
        return name

    def _fields(
        self, name: str, fields: list[FieldStep], slot: Slot | None, start: int, spans: dict[str, tuple[int, int]]
    ) -> None:
        names = self._java.words([one.name for one in fields])
        body = []
        for number, one in enumerate(fields):
            is_skipped = one.target is None and not self._is_strict
            member = None if slot is None or one.target is None else slot.members[one.target]
            body += [f"s{run} = p;" for run, (first, _) in spans.items() if first == start + number]
            body += [f"at = {number};", *self.value(one.step, member, skips=is_skipped)]
            body += [f"e{run} = p;" for run, (_, last) in spans.items() if last == start + number]
        lines = ["int at = 0;", *block("try", body)]
        lines += block("catch (Failure failure)", [f"throw failure.inField({names}[at]);"])
        self._java.method(f"int {name}(byte[] b, int p)", [*lines, "return p;"])

    def _filled(self, slot: Slot, value: Datum) -> list[str]:
        """Return the statements that put a default into a slot."""
        if not slot.is_needed() or slot.inner is None:
            return []
        if value is None:
            return [f"x{slot.name} = true;"]
        made = [f"x{slot.name} = false;"] if slot.is_nullable else []
        if isinstance(slot.inner, AvroRecord):
            made += [f"s{run.name} = -1;" for run in slot.runs]
            return made + [line for name, each in value.items() for line in self._filled(slot.members[name], each)]
        if slot.element is not None and value:
            return made + self._filled_items(slot, slot.inner, value)
        if slot.element is not None:
            return [*made, f"n{slot.name} = 0;" if isinstance(slot.inner, AvroArray) else f"m{slot.name}.begin();"]
        if isinstance(value, (str, bytes)) and not isinstance(slot.inner, AvroEnum):
            data = value.encode() if isinstance(value, str) else value
            name = self._java.data(data)
            return [*made, f"d{slot.name} = {name};", f"a{slot.name} = 0;", f"z{slot.name} = {len(data)};"]
        return [*made, f"v{slot.name} = {_default(slot.inner, value)};"]

    def _filled_items(self, slot: Slot, node: AvroType, value: object) -> list[str]:
        """Return the statements that read an array or a map from the bytes of a default."""
        step = SchemaResolver().resolve(node, node, ())
        measure(step)
        data = self._java.data(EncodeWalk(strict=False, exact=False).write(node, value))
        return [f"{ReaderWriter(self._java, is_default=True).method(step, slot)}({data}, 0);"]

    def _array(self, items: Step, smallest: int, slot: Slot | None, *, skips: bool) -> str:
        name = self._java.fresh("r")
        element = self.method(items, slot.element if slot is not None else None, skips=skips)
        if skips:
            self._skipping(name, element, smallest)
            return name
        if self._is_default and smallest == 0 and slot is not None:
            raise EngineCannot(ENGINE, field=slot.where, why="its default has items that take no bytes")
        keep = [] if slot is None else [f"a{slot.name} = p;", *self._begins(slot, element)]
        loop = [
            "at = -1;",
            f"p = readBlock(b, p, {smallest});",
            "long left = number;",
            "if (left == 0) break;",
            "if (total > 0) odd = true;",
            *block("for (long i = 0; i < left; i++)", ["at = total++;", f"p = {element}(b, p);"]),
        ]
        body = block("try", block("while (true)", loop))
        body += block("catch (Failure failure)", ["throw at < 0 ? failure : failure.inItem(at);"])
        count = [] if slot is None else [f"n{slot.name} = total;"]
        self._java.method(
            f"int {name}(byte[] b, int p)", ["int total = 0;", "int at = -1;", *keep, *body, *count, "return p;"]
        )
        return name

    def _begins(self, slot: Slot, element: str) -> list[str]:
        """Return the statements that keep where items are, and which method reads them again."""
        return [f"w{slot.name} = {_variant(slot, element)};", *([f"d{slot.name} = b;"] if slot.has_defaults else [])]

    def _skipping(self, name: str, element: str, smallest: int, key: str = "") -> None:
        loop = [
            f"p = skipBlock(b, p, {smallest});",
            "long left = number;",
            "if (left == 0) break;",
            *block("for (long i = 0; i < left; i++)", [*([key] if key else []), f"p = {element}(b, p);"]),
        ]
        self._java.method(f"int {name}(byte[] b, int p)", [*block("while (true)", loop), "return p;"])

    def _map(self, values: Step, slot: Slot | None, *, skips: bool) -> str:
        name = self._java.fresh("r")
        element = self.method(values, slot.element if slot is not None else None, skips=skips)
        if skips:
            self._skipping(name, element, 1, "p = skipBytes(b, p);")
            return name
        keep = [] if slot is None else [f"m{slot.name}.begin();", *self._begins(slot, element)]
        entry = ["from = -1;", "p = readSize(b, p);", "int start = p;", "p += (int) number;", "checkText(b, start, p);"]
        entry += ["from = start;", "to = p;"]
        if slot is not None:
            entry.append(f"if (!m{slot.name}.add(b, from, to, p)) odd = true;")
        entry.append(f"p = {element}(b, p);")
        loop = [
            "from = -1;",
            "p = readBlock(b, p, 1);",
            "long left = number;",
            "if (left == 0) break;",
            "if (blocks++ > 0) odd = true;",
            *block("for (long i = 0; i < left; i++)", entry),
        ]
        body = block("try", block("while (true)", loop))
        body += block("catch (Failure failure)", ["throw from < 0 ? failure : failure.inKey(b, from, to);"])
        start = ["int blocks = 0;", "int from = -1;", "int to = 0;", *keep]
        self._java.method(f"int {name}(byte[] b, int p)", [*start, *body, "return p;"])
        return name


def is_always_readable(step: Step, written: Step) -> bool:
    """Return whether every value that ``written`` reads is one that ``step`` reads, and costs nothing beside its bytes.

    ``written`` reads the same writer's values as they were written.
    """
    match step, written:
        case UnionStep(branches=branches), UnionStep(branches=others):
            return all(map(is_always_readable, branches, others))
        case (ArrayStep(items=inner), ArrayStep(items=other)) | (MapStep(values=inner), MapStep(values=other)):
            return is_always_readable(inner, other)
        case RecordStep(fields=fields, unpaid=unpaid), RecordStep(fields=others):
            parts = zip(fields, others, strict=True)
            return not (unpaid or contains_itself(step)) and all(
                is_always_readable(one.step, other.step) for one, other in parts
            )
        case EnumStep(values=values), _:
            return None not in values
    return type(step) is type(written) or isinstance(written, IntegerStep)


def _default(node: AvroType, value: Datum) -> str:
    """Return a number, boolean or enum as a Java expression."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(node, AvroEnum):
        return str(list(node.symbols).index(value))
    return real(value) if node.kind in REAL else f"{value}L"


def _variant(slot: Slot, element: str) -> int:
    """Return the number by which a written array or map finds the method that reads its elements again."""
    slot.element_readers.append(element)
    return len(slot.element_readers) - 1


def _spans(step: RecordStep, slot: Slot | None) -> dict[str, tuple[int, int]]:
    """Return the runs of a record that are one behind the other in this writer's bytes: first and last field."""
    if slot is None or not isinstance(slot.inner, AvroRecord):
        return {}
    targets = [one.target for one in step.fields]
    types = {member.name: member.type for member in slot.inner.fields}
    found: dict[str, tuple[int, int]] = {}
    for run in slot.runs:
        first = targets.index(run.fields[0]) if run.fields[0] in targets else 0
        fields = step.fields[first : first + len(run.fields)]
        if tuple(one.target for one in fields) == run.fields and all(
            is_read_as_written(one.step, types[name]) for one, name in zip(fields, run.fields, strict=True)
        ):
            found[run.name] = (first, first + len(fields) - 1)
    return found
