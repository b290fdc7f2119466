"""The values of an Avro schema as rules see them: dicts, lists, and the values of logical types.

A field rule is applied by functions that are made once for each type that leads to one of its fields; other parts of a
message are not looked at. A changed message shares its unchanged parts with the one that the program gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from counterfoil.schema.datum import Datum
from counterfoil.schema.languages.avro.marks import AvroMarks, places, value_type_of
from counterfoil.schema.languages.avro.types import (
    NO_DEFAULT,
    AvroArray,
    AvroField,
    AvroMap,
    AvroRecord,
    AvroType,
    AvroUnion,
)
from counterfoil.schema.marks import FieldTags, Mark
from counterfoil.schema.tags import UnnamedPath, unnamed_paths
from counterfoil.sdk.errors import DecodeError, EncodeError
from counterfoil.sdk.serde.avro.coders import compile_decoder, compile_encoder
from counterfoil.sdk.serde.avro.encode_walk import EncodeWalk
from counterfoil.sdk.serde.avro.values import (
    InvalidDefault,
    branch_by_type,
    needs_names,
    value_of_default,
    without_names,
)
from counterfoil.sdk.serde.codec import Decode, Encode
from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, FieldType, SchemaField, Transform
from counterfoil.sdk.serde.rules.values import Aim, CheckedValue, Hiding, InlineRule, read_inline_rules

if TYPE_CHECKING:
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.sdk.serde.models.binding import AvroModel


_RULES: Final = "confluent:rules"


class AvroRuleValues:
    """The :class:`~counterfoil.sdk.serde.rules.values.RuleValues` of an Avro schema.

    ``model`` is the class of the program's values, if they are no dicts. With ``names_records`` the dicts of records
    that are read have their names; without it, rules see the names that :func:`needs_names` asks for. ``exact`` is that
    of the encoder that writes the values.
    """

    def __init__(
        self,
        parsed: AvroSchema,
        tags: FieldTags,
        *,
        model: AvroModel | None = None,
        names_records: bool = False,
        exact: bool = True,
    ) -> None:
        self._parsed = parsed
        self._walk = partial(EncodeWalk, strict=False, exact=exact)
        self._tags = tags
        self._names_records = names_records or needs_names(parsed.root)
        self.opened = _unchanged if model is None else model.taking(parsed.root)
        unnamed = without_names(parsed.root) if self._names_records and not names_records else _unchanged
        self.closed = unnamed if model is None else _after(unnamed, model.making(parsed.root))

    def fields(
        self, changes: FieldChanges, /, *, tags: frozenset[str] = frozenset(), aim: Aim = Aim.CHANGE
    ) -> Transform:
        """Return a function that applies a field rule to a message; to encrypt, also to defaults it will have."""
        del tags
        apply = _Fields(changes, self._marks(), self._walk, fills=aim is Aim.ENCRYPT).of_root(self._parsed.root)
        return (lambda message: message) if apply is None else (lambda message: apply(message, None))

    def places(self) -> Iterable[SchemaField]:
        """Return the fields of the whole schema."""
        found = places(self._parsed, self._tags)
        return (
            SchemaField.marked(each.mark, FieldType[each.type], each.where, logical_type=each.logical_type)
            for each in found
        )

    def unnamed_paths(self) -> list[UnnamedPath]:
        """Return the paths of the metadata that assign their tags to nothing."""
        return unnamed_paths(self._tags.by_path, lambda tags: places(self._parsed, tags))

    def redacted(self, message: object, hiding: Hiding, /) -> Datum:
        """Return a copy of a value without its hidden parts; a part that does not fit the schema is hidden, too."""
        if hiding.tags is None:
            return hiding.whole(self.opened(message))
        apply = _Fields(hiding.changes, self._marks(), self._walk, hiding=hiding).of_root(self._parsed.root)
        return message if apply is None else apply(self.opened(message), None)

    def _marks(self) -> AvroMarks:
        return AvroMarks(self._parsed.root, self._tags)

    def inline_rules(self) -> Callable[[Datum], Iterator[CheckedValue]] | None:
        """Return a function that finds the values to check; None without inline rules."""
        if _RULES not in self._parsed.canonical() and not self._parsed.supplied:
            return None
        root, walk = self._parsed.root, self._walk
        return lambda message: _checked(root, message, "", walk)

    def to_json(self, message: object, /) -> Datum:
        """Return the message itself: the values of logical types stay as they are."""
        return message

    def from_json(self, value: object, /) -> Datum:
        """Return the value as a message of the schema: with its defaults, and without keys that are no fields."""
        try:
            return self._codec[1](self.encoded(value), 0)
        except EncodeError as error:
            problem = f"What the migration returned is no value of the reader's schema: {error.problem}"
            raise DecodeError(problem, path=error.path) from error

    def encoded(self, message: object, /) -> bytes:
        """Return the body of a message that rules changed."""
        return self._codec[0](message, b"")

    @cached_property
    def _codec(self) -> tuple[Encode, Decode]:
        """Return the functions that write a value that was read and changed, and read it again.

        The reader's schema may have larger units than the writer's: such a message stays readable.
        """
        decode = compile_decoder(self._parsed, None, names_records=self._names_records)
        return compile_encoder(self._parsed, strict=False, exact=False), decode


def _unchanged(value: object, /) -> Datum:
    return value


def _after(first: Callable[[Datum], Datum], then: Callable[[Datum], Datum]) -> Callable[[Datum], Datum]:
    return then if first is _unchanged else lambda value: then(first(value))


class _Fields:
    """Makes the functions that apply a field rule to values of each type.

    With ``hiding`` the rule is a redaction: values that do not fit their type are hidden. With ``fills`` a field that
    a record does not have is changed as its default, which the encoder would write. ``walk`` makes the walk that
    chooses the branch of a union.
    """

    def __init__(
        self,
        changes: FieldChanges,
        marks: AvroMarks,
        walk: Callable[[], EncodeWalk],
        *,
        hiding: Hiding | None = None,
        fills: bool = False,
    ) -> None:
        self._walk = walk
        self._fills = fills
        self._changes = changes
        self._marks = marks
        self._hiding = hiding
        self._unfit: Callable[[Datum], Datum] = _unchanged if hiding is None else hiding.whole
        self._record_changes: dict[tuple[int, Mark], Change | None] = {}
        self._open: set[tuple[int, Mark]] = set()

    def of_root(self, root: AvroType) -> Change | None:
        """Return the function for whole messages; None if nothing changes."""
        return self._of(root, self._marks.around_root())

    def _of(self, avro_type: AvroType, around: Mark) -> Change | None:
        """Return the function ``(value, containing message)`` for values of a type; None if nothing changes."""
        mark = self._marks.of_type(avro_type, around)
        match avro_type:
            case AvroRecord():
                return self._of_record(avro_type, mark)
            case AvroArray(items=items):
                return _array(self._of(items, mark), self._unfit)
            case AvroMap(values=values):
                hiding = self._hiding if self._hiding is not None and self._hiding.hides(mark.tags) else None
                return _map(self._of(values, mark), self._unfit, hiding)
            case AvroUnion():
                return self._of_union(avro_type, mark)
        logical_type = value_type_of(avro_type)
        return self._changes(SchemaField.marked(mark, FieldType[avro_type.kind.name], logical_type=logical_type))

    def _of_record(self, record: AvroRecord, mark: Mark) -> Change | None:
        inside = self._marks.inside(record, mark)
        key = (id(record), inside)
        if key in self._open:  # a record inside itself
            return lambda value, message: _again(self._record_changes.get(key), value, message)
        if key not in self._record_changes:
            self._open.add(key)
            inner = [
                (field, self._of(field.type, self._marks.of_field(record, field, inside))) for field in record.fields
            ]
            found = [
                (field.name, change, _default_of(field) if self._fills else NO_DEFAULT)
                for field, change in inner
                if change is not None
            ]
            self._record_changes[key] = _record(found, self._unfit)
            self._open.discard(key)
        return self._record_changes[key]

    def _of_union(self, union: AvroUnion, mark: Mark) -> Change | None:
        branches = [self._of(branch, mark) for branch in union.branches]
        if not any(branches):
            return None
        by_type = branch_by_type(union)
        choice = _Choice(union, branches, self._walk, self._unfit)

        def change(value: object, message: object) -> Datum:
            index = by_type.get(type(value))
            if index is not None:
                inner = branches[index]
                return value if inner is None else inner(value, message)
            return choice.change(value, message)

        return change


def _again(change: Change | None, value: object, message: object) -> Datum:
    return value if change is None else change(value, message)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A union, and the change of each of its branches."""

    union: AvroUnion
    branches: Sequence[Change | None]
    walk: Callable[[], EncodeWalk]
    unfit: Callable[[Datum], Datum]

    def change(self, value: object, message: object) -> Datum:
        """Return a changed value whose branch is not known by its Python type alone."""
        try:
            index, plain = self.walk().choose(self.union, value)
        except EncodeError:
            return self.unfit(value)  # encoding it raises the error
        changed = _again(self.branches[index], plain, message)
        if changed is plain:
            return value
        if isinstance(value, tuple):
            return (value[0], changed)
        return {**changed, "-type": value["-type"]} if isinstance(value, Mapping) and "-type" in value else changed


def _default_of(field: AvroField) -> Datum:
    try:
        return value_of_default(field.type, field.default) if field.has_default else NO_DEFAULT
    except InvalidDefault:
        return NO_DEFAULT  # encoding it raises the error


def _record(changes: Sequence[tuple[str, Change, object]], unfit: Callable[[Datum], Datum]) -> Change | None:
    """Return the function for a record; each change has the name of its field, and what stands for a missing value."""
    if not changes:
        return None

    def change(value: object, message: object) -> Datum:
        del message
        if not isinstance(value, Mapping):
            return unfit(value)
        found: Datum = value
        for name, of_field, default in changes:
            old = found.get(name, default)
            if old is not NO_DEFAULT:
                new = of_field(old, found)
                if new is not old:
                    found = dict(value) if found is value else found
                    found[name] = new
        return found

    return change


def _array(items: Change | None, unfit: Callable[[Datum], Datum]) -> Change | None:
    if items is None:
        return None

    def change(value: object, message: object) -> Datum:
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray, memoryview)):
            return unfit(value)
        return [items(item, message) for item in value]

    return change


def _map(values: Change | None, unfit: Callable[[Datum], Datum], hiding: Hiding | None) -> Change | None:
    if values is None:
        return None

    def change(value: object, message: object) -> Datum:
        if not isinstance(value, Mapping):
            return unfit(value)
        if hiding is None:
            return {key: values(item, message) for key, item in value.items()}
        return {hiding.key(index, key): values(item, message) for index, (key, item) in enumerate(value.items())}

    return change


def _checked(avro_type: AvroType, value: object, path: str, walk: Callable[[], EncodeWalk]) -> Iterator[CheckedValue]:
    """Yield the values in ``value`` that have inline rules."""
    if not isinstance(avro_type, (AvroRecord, AvroUnion)):
        yield from _checks(read_inline_rules(avro_type.properties.get(_RULES)), path, value)
    match avro_type:
        case AvroUnion():
            yield from _checked_branch(avro_type, value, path, walk)
        case AvroArray(items=items) if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _checked(items, item, f"{path}[{index}]", walk)
        case AvroMap(values=values) if isinstance(value, Mapping):
            for key, item in value.items():
                yield from _checked(values, item, f"{path}[{key!r}]", walk)
        case AvroRecord() if isinstance(value, Mapping):
            yield from _checked_record(avro_type, value, path, walk)


def _checked_branch(
    union: AvroUnion, value: object, path: str, walk: Callable[[], EncodeWalk]
) -> Iterator[CheckedValue]:
    if value is None:
        return
    try:
        index, plain = walk().choose(union, value)
    except EncodeError:
        return  # encoding it raises the error
    yield from _checked(union.branches[index], plain, path, walk)


def _checked_record(
    record: AvroRecord, value: Mapping[str, object], path: str, walk: Callable[[], EncodeWalk]
) -> Iterator[CheckedValue]:
    yield from _checks(read_inline_rules(record.properties.get(_RULES)), path, value)
    for field in record.fields:
        inner = value.get(field.name)
        where = f"{path}.{field.name}" if path else field.name
        if inner is not None:
            yield from _checks(read_inline_rules(field.properties.get(_RULES)), where, inner)
            yield from _checked(field.type, inner, where, walk)


def _checks(rules: Sequence[InlineRule], path: str, value: object) -> Iterator[CheckedValue]:
    return (CheckedValue(rule, path, value) for rule in rules)
