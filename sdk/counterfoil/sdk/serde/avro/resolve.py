"""Schema resolution: making one decode plan of a writer's and a reader's schema.

Source: Apache Avro 1.12 specification, "Schema Resolution". Beyond it, where a writer's type fits several branches of
the reader's union, a branch of the same kind (and full name) is preferred to one that needs a promotion, as in the
Java implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroField,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
    NamedType,
    branch_name,
)
from counterfoil.sdk.errors import IncompatibleReader
from counterfoil.sdk.serde.avro.logical_types import (
    PROMOTE_TO_FLOAT,
    LogicalConversion,
    conversion_between,
    with_numbers,
)
from counterfoil.sdk.serde.avro.plan import (
    ArrayStep,
    BooleanStep,
    BranchStep,
    BytesStep,
    EnumStep,
    FieldStep,
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
    measure,
)
from counterfoil.sdk.serde.avro.values import InvalidDefault, is_optional, value_of_default

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema


_READABLE_AS: Final = {
    AvroKind.INT: {AvroKind.INT, AvroKind.LONG, AvroKind.FLOAT, AvroKind.DOUBLE},
    AvroKind.LONG: {AvroKind.LONG, AvroKind.FLOAT, AvroKind.DOUBLE},
    AvroKind.FLOAT: {AvroKind.FLOAT, AvroKind.DOUBLE},
    AvroKind.STRING: {AvroKind.STRING, AvroKind.BYTES},
    AvroKind.BYTES: {AvroKind.BYTES, AvroKind.STRING},
}
"""The primitive kinds that a reader may have for a writer's; every other kind is read as itself only."""


def resolve(writer: AvroSchema, reader: AvroSchema | None = None, *, resolver: SchemaResolver | None = None) -> Step:
    """Return the plan that reads data of ``writer`` as values of ``reader``, or of ``writer`` without a reader.

    ``resolver`` is one that has resolved nothing yet.

    Raises ``IncompatibleReader``, which has the path, when no value of the writer could be read. When only some values
    cannot be read (a branch of a union, a symbol of an enum), the plan contains their error, which reading such a value
    raises.
    """
    root = writer.root if reader is None else reader.root
    try:
        step = (resolver or SchemaResolver()).resolve(writer.root, root, ())
    except RecursionError:
        raise IncompatibleReader("The schemas are nested too deeply to be read") from None
    measure(step)
    if writer.root.kind is AvroKind.BYTES and isinstance(step, (BytesStep, TextStep)):
        return RawStep(isinstance(step, TextStep), step.conversion)
    return step


class SchemaResolver:
    """One walk over a pair of trees. Each pair of records is visited once: a pair that is already open is a recursion.

    A failure of a pair is final, since it was found on the assumption that every open pair succeeds. A success is valid
    only while the pairs around it succeed.
    """

    def __init__(self) -> None:
        self._records: dict[tuple[int, int, bool], RecordStep] = {}
        self._failures: dict[tuple[int, int, bool], IncompatibleReader] = {}
        self.is_skipping = False
        """Whether the steps pass over values, so that these are not read."""

    def resolve(self, writer: AvroType, reader: AvroType, path: tuple[str, ...]) -> Step:
        """Return the step of a pair of types at ``path``. Raises ``IncompatibleReader``."""
        if isinstance(writer, AvroUnion):
            return self._writer_union(writer, reader, path)
        if isinstance(reader, AvroUnion):
            return self._reader_union(writer, reader, path)
        if isinstance(writer, AvroRecord) and isinstance(reader, AvroRecord):
            return self._record(writer, reader, path)
        if isinstance(writer, AvroArray) and isinstance(reader, AvroArray):
            return ArrayStep(self.resolve(writer.items, reader.items, (*path, "[]")))
        if isinstance(writer, AvroMap) and isinstance(reader, AvroMap):
            return MapStep(self.resolve(writer.values, reader.values, (*path, "{}")))
        if isinstance(writer, AvroEnum) and isinstance(reader, AvroEnum):
            return _enum(writer, reader, path)
        if isinstance(writer, AvroFixed) and isinstance(reader, AvroFixed):
            return _fixed(writer, reader, path, self._conversion(writer, reader))
        return _primitive(writer, reader, path, self._conversion(writer, reader))

    def _writer_union(self, writer: AvroUnion, reader: AvroType, path: tuple[str, ...]) -> Step:
        if writer is reader:
            branches = [self.resolve(branch, branch, path) for branch in writer.branches]
            return UnionStep([self.branch(reader, number, step) for number, step in enumerate(branches)])
        found: list[Step] = []
        for branch in writer.branches:
            try:
                found.append(self._guarded(branch, reader, path))
            except IncompatibleReader as error:
                found.append(UnreadableStep(error.problem))
        if found and all(isinstance(branch, UnreadableStep) for branch in found):
            raise _mismatch(writer, reader, path)
        return UnionStep(found)

    def _reader_union(self, writer: AvroType, reader: AvroUnion, path: tuple[str, ...]) -> Step:
        by_closeness = sorted(enumerate(reader.branches), key=lambda branch: _distance(writer, branch[1]))
        for number, branch in by_closeness:
            try:
                return self.branch(reader, number, self._guarded(writer, branch, path))
            except IncompatibleReader:
                continue
        raise _mismatch(writer, reader, path)

    def branch(self, union: AvroUnion, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union: ``step`` itself."""
        del union, number
        return step

    def default(self, field: AvroField) -> Datum:
        """Return the value of a field's default. Raises ``InvalidDefault``."""
        return value_of_default(field.type, field.default)

    def _guarded(self, writer: AvroType, reader: AvroType, path: tuple[str, ...]) -> Step:
        """Return the pair's step; when the pair fails, remove the results that were found inside it."""
        known = len(self._records)
        try:
            return self.resolve(writer, reader, path)
        except IncompatibleReader:
            for pair in list(self._records)[known:]:
                del self._records[pair]
            raise

    def _record(self, writer: AvroRecord, reader: AvroRecord, path: tuple[str, ...]) -> Step:
        pair = (id(writer), id(reader), self.is_skipping)
        if pair in self._records:
            return self._records[pair]
        if pair in self._failures:
            raise self._failures[pair]
        try:
            _require_name(writer, reader, path)
            step = self._records[pair] = RecordStep(reader.full_name)
            self._fill(step, writer, reader, path)
        except IncompatibleReader as error:
            self._failures[pair] = error
            raise
        return step

    def _fill(self, step: RecordStep, writer: AvroRecord, reader: AvroRecord, path: tuple[str, ...]) -> None:
        target_by_name = _match_fields(writer, reader)
        for field in writer.fields:
            target = target_by_name.get(field.name)
            inner = (*path, field.name)
            if target is None:
                step.fields.append(FieldStep(field.name, None, self._skip(field.type, inner)))
            else:
                step.fields.append(FieldStep(field.name, target.name, self.resolve(field.type, target.type, inner)))
        filled = {target.name for target in target_by_name.values()}
        for field in reader.fields:
            step.targets.append(field.name)
            if field.name not in filled:
                step.defaults[field.name] = self._default(field, reader, path)

    def _default(self, field: AvroField, reader: AvroRecord, path: tuple[str, ...]) -> object:
        if not field.has_default:
            problem = f"The writer has no field {field.name!r} and the reader's {reader.full_name} gives it no default"
            raise _incompatible(problem, (*path, field.name))
        try:
            return self.default(field)
        except InvalidDefault as error:
            problem = f"The writer has no field {field.name!r} and {error} in the reader's {reader.full_name}"
            raise _incompatible(problem, (*path, field.name)) from None

    def _conversion(self, writer: AvroType, reader: AvroType) -> LogicalConversion | None:
        if self.is_skipping:
            return None
        return conversion_between(writer, reader)

    def _skip(self, writer: AvroType, path: tuple[str, ...]) -> Step:
        """Return the step that skips a value, without making Python values of logical types."""
        outside, self.is_skipping = self.is_skipping, True
        try:
            return self.resolve(writer, writer, path)
        finally:
            self.is_skipping = outside


class FarResolver(SchemaResolver):
    """Makes plans that read a date or time which Python does not have as its number."""

    def _conversion(self, writer: AvroType, reader: AvroType) -> LogicalConversion | None:
        found = super()._conversion(writer, reader)
        return None if found is None else with_numbers(found)


class NamingResolver(SchemaResolver):
    """Makes plans that read a value of a union of several types as a pair (:class:`.plan.BranchStep`).

    ``has_named`` is whether there is such a union.
    """

    def __init__(self) -> None:
        super().__init__()
        self.has_named = False

    def branch(self, union: AvroUnion, number: int, step: Step) -> Step:
        """Return the step that reads a branch of the reader's union."""
        branch = union.branches[number]
        if self.is_skipping or branch.kind is AvroKind.NULL or is_optional(union):
            return step
        self.has_named = True
        return BranchStep(branch_name(branch), step)


class BaseResolver(NamingResolver):
    """Makes such plans without logical types: values are those of the base types."""

    def _conversion(self, writer: AvroType, reader: AvroType) -> LogicalConversion | None:
        del writer, reader
        return None


def _match_fields(writer: AvroRecord, reader: AvroRecord) -> dict[str, AvroField]:
    """Return the reader's field for each of the writer's names: by name first, then by alias."""
    written = {field.name for field in writer.fields}
    target_by_name = {field.name: field for field in reader.fields if field.name in written}
    for field in reader.fields:
        if field.name not in written:
            source = next((alias for alias in field.aliases if alias in written and alias not in target_by_name), None)
            if source is not None:
                target_by_name[source] = field
    return target_by_name


def _enum(writer: AvroEnum, reader: AvroEnum, path: tuple[str, ...]) -> Step:
    _require_name(writer, reader, path)
    known = set(reader.symbols)
    default = reader.default if reader.default in known else None
    values = [symbol if symbol in known else default for symbol in writer.symbols]
    if values and not any(values):
        raise _incompatible(f"The reader's {reader.full_name} has none of the writer's symbols and no default", path)
    return EnumStep(reader.full_name, tuple(writer.symbols), tuple(values))


def _fixed(writer: AvroFixed, reader: AvroFixed, path: tuple[str, ...], conversion: LogicalConversion | None) -> Step:
    _require_name(writer, reader, path)
    if writer.size != reader.size:
        problem = f"The writer's {writer.full_name} has {writer.size} bytes, the reader's {reader.size}"
        raise _incompatible(problem, path)
    return FixedStep(writer.size, conversion)


def _primitive(writer: AvroType, reader: AvroType, path: tuple[str, ...], conversion: LogicalConversion | None) -> Step:
    kind = writer.kind
    if reader.kind not in _READABLE_AS.get(kind, {kind}):
        raise _mismatch(writer, reader, path)
    match kind:
        case AvroKind.NULL:
            return NullStep()
        case AvroKind.BOOLEAN:
            return BooleanStep()
        case AvroKind.INT | AvroKind.LONG:
            promoted = PROMOTE_TO_FLOAT if reader.kind in (AvroKind.FLOAT, AvroKind.DOUBLE) else conversion
            return IntegerStep(32 if kind is AvroKind.INT else 64, promoted)
        case AvroKind.FLOAT | AvroKind.DOUBLE:
            return RealStep(4 if kind is AvroKind.FLOAT else 8)
    if reader.kind is AvroKind.STRING:
        return TextStep(conversion)
    if reader.kind is AvroKind.BYTES:
        return BytesStep(conversion)
    raise _mismatch(writer, reader, path)


def _distance(writer: AvroType, branch: AvroType) -> int:
    """Return 0 for the same type, 1 for the same kind, 2 for a promotion; a stable sort keeps the written order."""
    if writer.kind is not branch.kind:
        return 2
    return int(branch_name(writer) != branch_name(branch))


def _require_name(writer: NamedType, reader: NamedType, path: tuple[str, ...]) -> None:
    names = {reader.name, *(alias.rpartition(".")[2] for alias in reader.aliases)}
    if writer.name not in names:
        raise _mismatch(writer, reader, path)


def _mismatch(writer: AvroType, reader: AvroType, path: tuple[str, ...]) -> IncompatibleReader:
    problem = f"The writer's {_describe(writer)} cannot be read as the reader's {_describe(reader)}"
    return _incompatible(problem, path)


def _incompatible(problem: str, path: Sequence[str]) -> IncompatibleReader:
    where = ".".join(path).replace(".[]", "[]").replace(".{}", "{}")
    return IncompatibleReader(problem, path=where)


def _describe(avro_type: AvroType) -> str:
    if isinstance(avro_type, AvroUnion):
        return f"union of {', '.join(_describe(branch) for branch in avro_type.branches)}"
    named = f" {avro_type.full_name}" if isinstance(avro_type, (AvroRecord, AvroEnum, AvroFixed)) else ""
    return f"{avro_type.kind.value}{named}"
