"""The types of a table's rows, and whether a table with the reader's columns can store the writer's rows (LOGICAL)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from counterfoil.schema.compatibility import Steps
from counterfoil.schema.compatibility.findings import CompatibilityRule, Difference, DifferenceOrigin
from counterfoil.schema.languages import logical_rules as rules
from counterfoil.schema.paths import ITEMS, VALUES, FieldPath, member
from counterfoil.schema.texts import Pointer

# The type of a table's rows, independent of the schema's language.
#
# Source: the type systems of Apache Iceberg (format version 2) and Apache Flink SQL, as far as they agree.

_ROOT = DifferenceOrigin("", (), is_own=True)


@dataclass(frozen=True, slots=True)
class TableScalar:
    """A type without parts, such as ``boolean``, ``int``, ``long``, ``double``, ``decimal`` or ``string``.

    ``precision`` and ``scale`` are set for ``decimal``, ``size_bytes`` for ``fixed``.
    """

    name: str
    precision: int = 0
    scale: int = 0
    size_bytes: int = 0

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision}, {self.scale})"
        return f"fixed({self.size_bytes})" if self.name == "fixed" else self.name


@dataclass(frozen=True, slots=True)
class Column:
    """A place of a value: a column, an array's element, a map's value.

    The pointers are into the schema's own text: ``pointer`` to the column, ``type_pointer`` to its type, and
    ``required_pointer`` to the declaration that it is required, empty if there is none. ``is_optional`` is whether it
    is nullable because it may be left out. ``origin`` is the declaration that contains it.
    """

    name: str
    type: TableType
    nullable: bool = False
    has_default: bool = False
    pointer: Pointer = ()
    type_pointer: Pointer = ()
    required_pointer: Pointer = ()
    is_optional: bool = False
    origin: DifferenceOrigin = field(default=_ROOT, compare=False)


@dataclass(frozen=True, slots=True)
class TableRow:
    """Columns, in order; ``pointer`` is that of their list, ``origin`` the declaration that contains them."""

    columns: tuple[Column, ...]
    pointer: Pointer = ()
    origin: DifferenceOrigin = field(default=_ROOT, compare=False)

    def __str__(self) -> str:
        return "row"


@dataclass(frozen=True, slots=True)
class TableList:
    """An array."""

    element: Column

    def __str__(self) -> str:
        return "array"


@dataclass(frozen=True, slots=True)
class TableMap:
    """A map."""

    key: TableScalar
    value: Column

    def __str__(self) -> str:
        return f"map of {self.key}"


TableType: TypeAlias = TableScalar | TableRow | TableList | TableMap


class NotATable(Exception):
    """A schema has no table type; ``reason`` is why, ``pointer`` the place."""

    def __init__(self, reason: str, pointer: Pointer) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pointer = pointer


MAX_COLUMNS: Final = 100_000
"""The most columns of a table, with those inside of others. A type that is used twice has its columns twice."""


STEPS_A_COLUMN: Final = 20
"""The steps of a comparison for which a column is made and compared."""


class ColumnCount:
    """Counts the columns of one schema while they are made: types that use one another have no end of them.

    ``steps`` are spent for them.
    """

    def __init__(self, most: int = MAX_COLUMNS, *, steps: Steps | None = None) -> None:
        self._most = most
        self._left = most
        self._steps = steps

    def take(self, pointer: Pointer) -> None:
        """Count one column; raise ``NotATable`` for one too many, ``OutOfSteps`` if the steps do not suffice."""
        if self._steps is not None:
            self._steps.spend(STEPS_A_COLUMN)
        self._left -= 1
        if self._left < 0:
            raise NotATable(f"more than {self._most} columns have no table type", pointer)


# The pair walk of two table types: whether a table with the reader's columns can store the writer's rows.

_WIDENED: Final = frozenset({("int", "long"), ("float", "double")})


def compare_columns(
    reader: Column, writer: Column, *, path_at: Callable[[Pointer], FieldPath] | None = None
) -> list[Difference]:
    """Return what breaks a table with the columns of ``reader`` and rows of ``writer``, in the order of the columns.

    ``path_at``, if given, returns the path at a pointer; it is used where a column's path starts with its type.
    """
    walk = _Walk(path_at)
    walk.columns(reader, writer, (), ())
    return walk.found


class _Walk:
    def __init__(self, path_at: Callable[[Pointer], FieldPath] | None) -> None:
        self.found: list[Difference] = []
        self._path_at = path_at
        self._uses: tuple[Pointer | None, Pointer | None] = (None, None)
        """Of each side the use of a type that is declared elsewhere, while the walk is inside such a pair of types."""

    def columns(self, reader: Column, writer: Column, path: tuple[str, ...], place: FieldPath) -> None:
        """Compare two matched columns; ``path`` (names) and ``place`` (steps) are those of both."""
        at = _At(path, place, reader.type_pointer, writer.type_pointer, reader.origin, writer.origin)
        column = {"column": _spelt(path)}
        if writer.nullable and not reader.nullable:
            is_by_name = writer.is_optional and reader.required_pointer
            decided = reader.required_pointer if is_by_name else reader.type_pointer
            self._add(rules.NULLABLE_TO_NON_NULLABLE, replace(at, reader_pointer=decided), column)
        elif writer.has_default and not reader.has_default and not reader.nullable:
            at_columns = replace(at, reader_pointer=reader.pointer, writer_pointer=writer.pointer)
            self._add(rules.DEFAULT_REMOVED, at_columns, column)
        match reader.type, writer.type:
            case TableRow() as mine, TableRow() as theirs:
                around = self._uses
                if mine.origin.holder != theirs.origin.holder:
                    self._uses = (around[0] or _use_of(mine, reader), around[1] or _use_of(theirs, writer))
                self._rows(mine, theirs, path, place)
                self._uses = around
            case TableList() as mine, TableList() as theirs:
                self.columns(mine.element, theirs.element, (*path, "element"), (*place, ITEMS))
            case TableMap() as mine, TableMap() as theirs:
                if mine.key != theirs.key:
                    self._add(rules.MAP_KEY_TYPE_MISMATCH, at, column | {"reader": mine.key, "writer": theirs.key})
                self.columns(mine.value, theirs.value, (*path, "value"), (*place, VALUES))
            case mine, theirs if not _takes(mine, theirs):
                self._add(rules.TYPE_MISMATCH, at, column | {"reader": mine, "writer": theirs})

    def _rows(self, mine: TableRow, theirs: TableRow, path: tuple[str, ...], place: FieldPath) -> None:
        written = {column.name: column for column in theirs.columns}
        read = {column.name for column in mine.columns}
        for column in mine.columns:
            inner, inside = (*path, column.name), (*place, member(column.name))
            match = written.get(column.name)
            if match is not None:
                self.columns(column, match, inner, inside)
            elif not column.nullable and not column.has_default:
                absent = theirs.origin.below(column.name)
                at = _At(inner, inside, column.pointer, theirs.pointer, column.origin, absent)
                self._add(rules.REQUIRED_FIELD_ADDED, at, {"column": _spelt(inner)})
        for column in theirs.columns:
            if column.name not in read:
                inner, inside = (*path, column.name), (*place, member(column.name))
                absent = mine.origin.below(column.name)
                at = _At(inner, inside, mine.pointer, column.pointer, absent, column.origin)
                self._add(rules.FIELD_DELETED, at, {"column": _spelt(inner)})
        now = [column.name for column in mine.columns if column.name in written]
        was = [column.name for column in theirs.columns if column.name in read]
        if now != was:
            facts = {"reader": ", ".join(now), "writer": ", ".join(was)}
            moved = _first_moved(was, now)
            here, there = (next(each for each in side.columns if each.name == moved) for side in (mine, theirs))
            at = _At(path, place, here.pointer, there.pointer, mine.origin, theirs.origin)
            self._add(rules.FIELD_REORDERED, at, facts)

    def _add(self, rule: CompatibilityRule, at: _At, facts: Mapping[str, object]) -> None:
        mine, theirs = self._uses
        if mine is not None or theirs is not None:
            at = replace(
                at,
                reader_pointer=at.reader_pointer if mine is None else mine,
                writer_pointer=at.writer_pointer if theirs is None else theirs,
            )
        if self._path_at is not None:
            at = replace(at, place=max(map(self._path_at, (at.reader_pointer, at.writer_pointer)), key=len))
        self.found.append(ColumnDifference(rule, facts, "", at))


def _use_of(row: TableRow, column: Column) -> Pointer | None:
    """Return the pointer to the type of a column if its columns are declared elsewhere in the text, else None."""
    use = column.type_pointer
    is_elsewhere = row.origin.is_own and not row.origin.is_document and row.pointer[: len(use)] != use
    return use if is_elsewhere and use else None


def _first_moved(was: list[str], now: list[str]) -> str:
    """Return the first name that is not in the longest part of two orders that is the same in both."""
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(a=was, b=now, autojunk=False).get_matching_blocks()
    kept = {index for block in blocks for index in range(block.b, block.b + block.size)}
    return next(name for index, name in enumerate(now) if index not in kept)


def not_a_table(reason: str, place: FieldPath, pointers: tuple[Pointer, Pointer]) -> Difference:
    """Return the finding that a schema has no table type."""
    return ColumnDifference(rules.NOT_A_TABLE, {"reason": reason}, "{reason}", _At((), place, *pointers))


@dataclass(frozen=True, slots=True)
class _At:
    """The location of a difference: its path and place, the pointers into both texts, and its declarations."""

    path: tuple[str, ...]
    place: FieldPath
    reader_pointer: Pointer
    writer_pointer: Pointer
    reader_origin: DifferenceOrigin | None = None
    writer_origin: DifferenceOrigin | None = None


@dataclass(eq=False, slots=True)
class ColumnDifference(Difference):
    """A difference between two columns, or that a schema has no table type."""

    at: _At

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of the path; None if the difference is about the whole schema."""
        return None if self.kind is rules.NOT_A_TABLE else self.at.path

    @property
    def path(self) -> str:
        """The path of the column in the reference's format."""
        return _spelt(self.at.path)

    @property
    def detail(self) -> str:
        """The path of the column, or the reason why there is no table type."""
        return str(self.facts["reason"]) if self.kind is rules.NOT_A_TABLE else self.path

    @property
    def reader_path(self) -> FieldPath:
        """The steps to the column."""
        return self.at.place

    @property
    def reader_pointer(self) -> Pointer:
        """The pointer of the column's declaration in the reader's own text."""
        return self.at.reader_pointer

    @property
    def writer_pointer(self) -> Pointer:
        """The pointer of the column's declaration in the writer's own text."""
        return self.at.writer_pointer

    @property
    def reader_origin(self) -> DifferenceOrigin | None:
        """The reader's declaration that contains the column."""
        return self.at.reader_origin

    @property
    def writer_origin(self) -> DifferenceOrigin | None:
        """The writer's declaration that contains the column."""
        return self.at.writer_origin


def _spelt(path: tuple[str, ...]) -> str:
    """Return the path in the reference's format."""
    return f"#/{'/'.join(path)}"


def _takes(reader: TableType, writer: TableType) -> bool:
    """Return whether a column of the reader's type can store the writer's values."""
    if not isinstance(reader, TableScalar) or not isinstance(writer, TableScalar):
        return False
    if reader == writer or (writer.name, reader.name) in _WIDENED:
        return True
    both_decimal = reader.name == writer.name == "decimal"
    return both_decimal and reader.scale == writer.scale and reader.precision >= writer.precision
