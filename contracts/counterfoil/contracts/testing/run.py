"""The records of a batch with one writer: tested on columns, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from counterfoil.contracts.testing import EVERYTHING, Check, HeaderCheck, KeyCheck, QualityCheck, names_in
from counterfoil.contracts.testing.plan import (
    UNDECODABLE,
    UNREADABLE,
    UNWRITABLE,
    CompiledRule,
    Key,
    Layout,
    RecordPlace,
    RecordTestPlan,
    RepeatedKeys,
    Writer,
    digest_of,
    key_value,
    texts_of,
)
from counterfoil.contracts.testing.sources import RecordBatch, reason_of, repeated_key
from counterfoil.contracts.values import one_line
from counterfoil.contracts.values.constraints import MISSING, is_key_of, values_at
from counterfoil.schema.datum import Datum
from counterfoil.schema.model import SchemaType
from counterfoil.schema.paths import FieldPath
from counterfoil.schema.texts import excerpt
from counterfoil.sdk.errors import RuleError, SerdeError

if TYPE_CHECKING:
    from counterfoil.contracts.testing.columns import RecordColumns


_Value = TypeVar("_Value")


class RecordGroup(NamedTuple):
    """Records of a batch with one writer and one layout; ``rows`` are their numbers in the batch.

    Values begin at ``offset`` of each message, after ``prefix``.
    """

    batch: RecordBatch
    rows: list[int]
    writer: Writer
    layout: Layout
    offset: int
    prefix: bytes


class _Read(NamedTuple):
    """The results of columns for a plan: rows that may fail, and the values of each rule, level and key."""

    suspects: set[int]
    keys: list[list[tuple[Datum, ...]]]
    equal: list[list[Datum]]
    moments: list[list[Datum]]
    records: list[Iterator[dict[str, Datum]]]


class RecordGroupTest:
    """The test of a group of records."""

    def __init__(self, plan: RecordTestPlan, group: RecordGroup) -> None:
        self._plan = plan
        self._batch, self._rows, self._writer, self._layout, self._offset, self._prefix = group
        self._messages = [group.batch.values[row] for row in group.rows]
        self._failed: set[int] = set()
        self._outcomes = plan.tally.outcomes(group.writer.label)
        self._undecodable: set[int] = set()

    def test(self) -> None:
        """Test the records, and count them."""
        columns = self._columns(is_proposed=False, decode=self._layout.decode)
        if columns is None or not self._test_columns(columns):
            self._test_values(range(len(self._rows)))
        if self._plan.has_proposed:
            self._read_proposed()
            self._write_proposed()
        for number, check in self._plan.headers:
            self._test_header(number, check)
        if self._writer.opened.codec.schema_type is SchemaType.JSON:
            self._count_repeated_keys()
        self._outcomes.records += len(self._rows)
        self._outcomes.failing += len(self._failed)

    def _columns(self, *, is_proposed: bool, decode: Any) -> RecordColumns | None:
        """Return the records as columns; None without a compiled package that makes them."""
        if not _has_columns():
            return None
        source = self._layout.row_source(is_proposed=is_proposed)
        if source is None:
            return None
        from counterfoil.contracts.testing.columns import RecordColumns

        return RecordColumns.read(source, decode, self._messages, self._prefix)

    # --- on columns ---------------------------------------------------------------------------------------------------

    def _test_columns(self, columns: RecordColumns) -> bool:
        """Test the records on columns; return False, with nothing counted, if a column is missing."""
        read = self._read(columns)
        if read is None:
            return False
        for number, error in columns.errors.items():
            self._note_undecodable(number, error)
        plan, kept = self._plan, columns.kept
        for row in sorted(read.suspects):
            number = kept[row]
            self._test_value(number, self._layout.decode(self._messages[number] or b"", self._offset))
        for (position, rule), records in zip(plan.rules, read.records, strict=True):
            for row, record in enumerate(records):
                self._test_rule(position, rule, kept[row], record)
        for (position, check, repeats), rows in zip(plan.repeats, read.keys, strict=True):
            self._note_repeats(position, check, repeats, kept, rows)
        for (position, equal), values in zip(plan.equal_keys, read.equal, strict=True):
            for row, value in enumerate(values):
                self._test_key(position, equal, kept[row], value)
        for (position, _), values in zip(plan.levels, read.moments, strict=True):
            plan.note_moments(position, values)
        self._test_values(columns.odd)
        return True

    def _read(self, columns: RecordColumns) -> _Read | None:
        """Return the results of columns; None if one is missing, so that every record is read as a value."""
        plan = self._plan
        suspects: set[int] = set()
        for _, path, constraint, _ in plan.values:
            found = columns.suspects(path, constraint)
            if found is None:
                return None
            suspects |= found
        keys = _all(self._key_columns(columns, check.paths) for _, check, _ in plan.repeats)
        equal = _all(columns.values(check.path) for _, check in plan.equal_keys)
        moments = _all(columns.values(path) for _, path in plan.levels)
        records = _all(rule.rows_of(columns) for _, rule in plan.rules)
        if keys is None or equal is None or moments is None or records is None:
            return None
        return _Read(suspects, keys, equal, moments, records)

    def _key_columns(self, columns: RecordColumns, paths: Sequence[FieldPath]) -> list[tuple[Datum, ...]] | None:
        found = [columns.values(path) for path in paths]
        return None if any(each is None for each in found) else list(zip(*filter(None, found), strict=True))

    # --- on values ----------------------------------------------------------------------------------------------------

    def _test_values(self, numbers: Iterable[int]) -> None:
        """Test the records with these numbers on their values."""
        plan = self._plan
        kept: list[int] = []
        records: list[Datum] = []
        for number in numbers:
            try:
                record = self._layout.decode(self._messages[number] or b"", self._offset)
            except SerdeError as error:
                self._note_undecodable(number, error)
                continue
            self._test_value(number, record)
            for position, rule in plan.rules:
                self._test_rule(position, rule, number, record)
            for position, equal in plan.equal_keys:
                self._test_key(position, equal, number, _first(record, equal.path))
            kept.append(number)
            records.append(record)
        for position, each, repeats in plan.repeats:
            rows = [tuple(_first(record, path) for path in each.paths) for record in records]
            self._note_repeats(position, each, repeats, kept, rows)
        for position, path in plan.levels:
            plan.note_moments(position, (_first(record, path) for record in records))

    def _test_value(self, number: int, record: object) -> None:
        """Test the constraints of a record's fields."""
        for position, path, constraint, is_count in self._plan.values:
            for value in values_at(record, path):
                if not constraint.fits(value):
                    if is_count:
                        self._plan.count(position, self._place(number))
                    else:
                        self._fail(position, number, self._shown(position, path, value))
                    break

    def _test_rule(self, position: int, rule: CompiledRule, number: int, record: object) -> None:
        given = {"message": record}
        if rule.reads_key:
            given["key"] = self._key_value(number)
        if rule.reads_headers:
            given["headers"] = texts_of(self._batch.headers[self._rows[number]])
        try:
            if rule.evaluate(given) is True:
                return
            reason = ""
        except RuleError as error:
            reason = str(error) if self._may_show_everything() else "it cannot be evaluated with the record"
        self._fail(position, number, reason)

    def _test_key(self, position: int, check: KeyCheck, number: int, value: object) -> None:
        if not is_key_of(self._key_value(number), check.path, value):
            self._fail(position, number, self._shown(position, check.path, value))

    def _test_header(self, number: int, check: HeaderCheck) -> None:
        for place, row in enumerate(self._rows):
            texts = texts_of(self._batch.headers[row])
            if not check.constraint.fits(texts.get(check.name, MISSING)):
                self._fail(number, place, "")

    def _note_repeats(
        self,
        position: int,
        check: QualityCheck,
        repeats: RepeatedKeys,
        numbers: Sequence[int],
        rows: Sequence[tuple[object, ...]],
    ) -> None:
        """Count the records whose values were there before; records without one of the values are left out."""
        there = [
            (number, row)
            for number, row in zip(numbers, rows, strict=True)
            if not any(_is_absent(each) for each in row)
        ]
        found = repeats.add(
            Key(digest_of(row), self._batch.timestamps[self._rows[number]], self._place(number))
            for number, row in there
        )
        for at, start in found:
            window = self._plan.window(check.window_ms, start)
            window.duplicates[position] = window.duplicates.get(position, 0) + 1
            self._plan.count(position, self._place(there[at][0]))
        if repeats.is_crowded:
            self._plan.tally.crowded.add(position)

    def _count_repeated_keys(self) -> None:
        """Count the records with a JSON object that has a key twice: its value depends on the reader."""
        for number, data in enumerate(self._messages):
            if number not in self._undecodable:
                key = repeated_key((data or b"")[self._offset :])
                if key is not None:
                    reason = f"the key {excerpt(key)!r} is there twice" if self._may_show_everything() else ""
                    self._plan.tally.repeated_keys.add(self._place(number)._replace(reason=reason))

    # --- the proposed schema ------------------------------------------------------------------------------------------

    def _read_proposed(self) -> None:
        decode = self._layout.decode_proposed
        refused = self._refused_by(decode)
        if refused is None:
            columns = self._columns(is_proposed=True, decode=decode)
            refused = columns.errors if columns is not None else self._refused(lambda data: decode(data, self._offset))
        for number, error in refused.items():
            if number not in self._undecodable:
                self._outcomes.unreadable += 1
                self._fail(UNREADABLE, number, self._reason(error))

    def _write_proposed(self) -> None:
        encode, decode = self._layout.encode_proposed, self._layout.decode
        refused = self._refused_by(encode)
        if refused is None:
            refused = self._refused(lambda data: encode(decode(data, self._offset), b""))
        for number, error in refused.items():
            if number not in self._undecodable:
                self._outcomes.unwritable += 1
                self._fail(UNWRITABLE, number, self._reason(error))

    def _refused_by(self, call: object) -> dict[int, SerdeError] | None:
        """Return every record with the error that all have; None if it is a function."""
        return dict.fromkeys(range(len(self._rows)), call) if isinstance(call, SerdeError) else None

    def _refused(self, call: Callable[[bytes], Datum]) -> dict[int, SerdeError]:
        refused = {}
        for number, data in enumerate(self._messages):
            if number not in self._undecodable:
                try:
                    call(data or b"")
                except SerdeError as error:
                    refused[number] = error
        return refused

    # --- results ------------------------------------------------------------------------------------------------------

    def _note_undecodable(self, number: int, error: SerdeError) -> None:
        self._undecodable.add(number)
        self._outcomes.undecodable += 1
        self._fail(UNDECODABLE, number, self._reason(error))

    def _fail(self, position: int, number: int, reason: str) -> None:
        self._failed.add(number)
        self._plan.fail(position, self._place(number)._replace(reason=reason))

    def _place(self, number: int) -> RecordPlace:
        row = self._rows[number]
        return RecordPlace(self._batch.partitions[row], self._batch.offsets[row], self._writer.label)

    def _key_value(self, number: int) -> Datum:
        row = self._rows[number]
        return key_value(self._batch.keys[row], self._batch.headers[row], self._plan.keys)

    def _reason(self, error: SerdeError) -> str:
        return reason_of(error, shows_values=self._may_show_everything())

    def _may_show_everything(self) -> bool:
        return self._plan.shows_values and not self._plan.test.hidden and not self._writer.hidden

    def _shown(self, position: int, path: FieldPath, value: object) -> str:
        """Return the value of a field as a reason, if it may be shown."""
        check: Check = self._plan.test.checks[position]
        hidden = self._writer.hidden
        if not self._plan.shows_values or check.is_hidden or EVERYTHING in hidden or names_in(path) & hidden:
            return ""
        return "" if _is_absent(value) or isinstance(value, dict | list) else f"it is {excerpt(_printed(value))}"


def _has_columns() -> bool:
    """Return whether messages of Avro become columns faster than values: with the accelerator, and pyarrow."""
    from counterfoil.sdk.serde.accelerator import find_accelerator

    return find_accelerator() is not None and _has_arrow()


@cache
def _has_arrow() -> bool:
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


def _all(found: Iterable[_Value | None]) -> list[_Value] | None:
    """Return the values; None if one of them is."""
    values = []
    for each in found:
        if each is None:
            return None
        values.append(each)
    return values


def _first(record: object, path: FieldPath) -> Datum:
    return next(values_at(record, path), None)


def _is_absent(value: object) -> bool:
    return value is None or value is MISSING


def _printed(value: object) -> str:
    try:
        return one_line(value)
    except (TypeError, ValueError):
        return str(value)
