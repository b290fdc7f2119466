"""The changes between two Avro schemas: their type trees walked together, with the names of the later one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, assert_never

from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.avro.paths import short_name
from counterfoil.schema.languages.avro.types import (
    NO_DEFAULT,
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
    branch_name,
)
from counterfoil.schema.paths import ITEMS, VALUES, member
from counterfoil.schema.paths import branch as branch_step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterfoil.schema.datum import Json
    from counterfoil.schema.languages.avro.schema import AvroSchema
    from counterfoil.schema.languages.avro.types import AvroField, AvroType, NamedType
    from counterfoil.schema.paths import FieldPath


# The texts of types and values in descriptions of changes.


def type_words(avro_type: AvroType) -> str:
    """Return the type in one line: ``null | string``, ``array<Item>``, ``decimal(9, 2) as bytes``, ``enum Status``."""
    words = _bare_words(avro_type)
    logical = avro_type.logical_type
    if logical is None:
        return words
    digits = f"({logical.precision}, {logical.scale})" if logical.precision is not None else ""
    return f"{logical.name}{digits} as {words}"


def _bare_words(avro_type: AvroType) -> str:
    match avro_type:
        case AvroPrimitive():
            return avro_type.kind.value
        case AvroArray():
            return f"array<{type_words(avro_type.items)}>"
        case AvroMap():
            return f"map<{type_words(avro_type.values)}>"
        case AvroUnion():
            return " | ".join(type_words(branch) for branch in avro_type.branches) or "empty union"
        case AvroRecord() | AvroEnum() | AvroFixed():
            return f"{avro_type.kind.value} {avro_type.full_name}"
        case _:
            assert_never(avro_type)


def json_words(value: Json) -> str | None:
    """Return the value as JSON with sorted keys; None for no default."""
    return None if value is NO_DEFAULT else json.dumps(value, ensure_ascii=False, sort_keys=True)


# The pair walk that finds changes: two type trees walked together, with the names of the later one.
#
# Fields are matched by name, then by the later field's aliases; branches of unions by name or kind. A named type that
# is used in many places is compared once.

_OF_LOGICAL_TYPES = frozenset({"logicalType", "precision", "scale"})


def find_changes(earlier: AvroSchema, later: AvroSchema) -> list[Change]:
    """Return all changes between two schemas, in the order of the later one; empty if they are the same.

    Raises ``InvalidSchema`` for schemas that are nested too deep to be compared.
    """
    walk = _Walk()
    try:
        walk.types(earlier.root, later.root, ())
    except RecursionError:
        raise InvalidSchema("The schemas are nested too deep to be compared") from None
    return walk.changes


class _At(NamedTuple):
    """The two compared things, and their place."""

    earlier: AvroType | AvroField
    later: AvroType | AvroField
    place: FieldPath


class _Walk:
    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._seen: set[tuple[int, int]] = set()

    def types(self, earlier: AvroType, later: AvroType, place: FieldPath) -> None:
        """Compare two types at the same place."""
        if isinstance(later, AvroRecord | AvroEnum | AvroFixed):
            if (id(earlier), id(later)) in self._seen:
                return
            self._seen.add((id(earlier), id(later)))
        match earlier, later:
            case AvroUnion(), AvroUnion():
                self._unions(earlier, later, place)
            case AvroRecord(), AvroRecord():
                self._named(earlier, later, place)
                self._fields(earlier, later, place)
            case AvroEnum(), AvroEnum():
                self._named(earlier, later, place)
                self._enums(earlier, later, place)
            case AvroFixed(), AvroFixed():
                self._named(earlier, later, place)
                self._values(ChangeKind.SIZE_CHANGED, _At(earlier, later, place), str(earlier.size), str(later.size))
            case AvroArray(), AvroArray():
                self.types(earlier.items, later.items, (*place, ITEMS))
            case AvroMap(), AvroMap():
                self.types(earlier.values, later.values, (*place, VALUES))
            case _ if earlier.kind is not later.kind:
                self._retyped(earlier, later, place)
                return
        self._logical_types(earlier, later, place)
        self._properties(earlier, later, place)

    def _retyped(self, earlier: AvroType, later: AvroType, place: FieldPath) -> None:
        """Add the change of the kind; if one side is a union, compare its branch of the other's kind, too."""
        self._add(ChangeKind.TYPE_CHANGED, _At(earlier, later, place), type_words(earlier), type_words(later))
        if isinstance(earlier, AvroUnion) != isinstance(later, AvroUnion):
            earlier_branches = earlier.branches if isinstance(earlier, AvroUnion) else (earlier,)
            later_branches = later.branches if isinstance(later, AvroUnion) else (later,)
            for was, now in _matching_branches(earlier_branches, later_branches):
                self.types(was, now, place)

    def _unions(self, earlier: AvroUnion, later: AvroUnion, place: FieldPath) -> None:
        at = _At(earlier, later, place)
        pairs = _matching_branches(earlier.branches, later.branches)
        kept_before, kept_now = {id(was) for was, _ in pairs}, {id(now) for _, now in pairs}
        for branch in earlier.branches:
            if id(branch) not in kept_before:
                self._add(ChangeKind.BRANCH_REMOVED, _At(branch, later, place), type_words(branch), None)
        for branch in later.branches:
            if id(branch) not in kept_now:
                self._add(ChangeKind.BRANCH_ADDED, _At(earlier, branch, place), None, type_words(branch))
        before = [branch_name(was) for was, _ in sorted(pairs, key=lambda pair: _index(earlier.branches, pair[0]))]
        now = [branch_name(was) for was, _ in pairs]
        self._values(ChangeKind.BRANCHES_REORDERED, at, ", ".join(before), ", ".join(now))
        for was, branch in pairs:
            self.types(was, branch, (*place, branch_step(branch_name(branch))))

    def _named(self, earlier: NamedType, later: NamedType, place: FieldPath) -> None:
        at = _At(earlier, later, place)
        if earlier.name != later.name:
            self._add(ChangeKind.TYPE_RENAMED, at, earlier.full_name, later.full_name)
        elif earlier.namespace != later.namespace:
            was, now = earlier.namespace or "none", later.namespace or "none"
            self._add(ChangeKind.NAMESPACE_CHANGED, at, was, now)
        self._values(ChangeKind.ALIASES_CHANGED, at, _names(earlier.aliases), _names(later.aliases))
        self._values(ChangeKind.DOC_CHANGED, at, _quoted(earlier.doc), _quoted(later.doc))

    def _enums(self, earlier: AvroEnum, later: AvroEnum, place: FieldPath) -> None:
        at = _At(earlier, later, place)
        for symbol in earlier.symbols:
            if symbol not in later.symbols:
                self._add(ChangeKind.SYMBOL_REMOVED, at, symbol, None)
        for symbol in later.symbols:
            if symbol not in earlier.symbols:
                self._add(ChangeKind.SYMBOL_ADDED, at, None, symbol)
        before = [symbol for symbol in earlier.symbols if symbol in later.symbols]
        now = [symbol for symbol in later.symbols if symbol in earlier.symbols]
        self._values(ChangeKind.SYMBOLS_REORDERED, at, ", ".join(before), ", ".join(now))
        self._defaults(earlier.default, later.default, at)

    def _fields(self, earlier: AvroRecord, later: AvroRecord, place: FieldPath) -> None:
        at = _At(earlier, later, place)
        source = match_fields(earlier, later)
        kept = {field.name for field in source.values()}
        for field in earlier.fields:
            if field.name not in kept:
                self._add(
                    ChangeKind.FIELD_REMOVED,
                    _At(field, later, (*place, member(field.name))),
                    type_words(field.type),
                    None,
                )
        for field in later.fields:
            if field.name in source:
                self._field(source[field.name], field, (*place, member(field.name)))
            else:
                said = type_words(field.type)
                if field.has_default:
                    said += f" = {json_words(field.default)}"
                self._add(ChangeKind.FIELD_ADDED, _At(earlier, field, (*place, member(field.name))), None, said)
        before = [field.name for field in earlier.fields if field.name in kept]
        now = [source[field.name].name for field in later.fields if field.name in source]
        self._values(ChangeKind.FIELDS_REORDERED, at, ", ".join(before), ", ".join(now))

    def _field(self, earlier: AvroField, later: AvroField, place: FieldPath) -> None:
        at = _At(earlier, later, place)
        self._values(ChangeKind.FIELD_RENAMED, at, earlier.name, later.name)
        self._defaults(json_words(earlier.default), json_words(later.default), at)
        self._values(ChangeKind.ALIASES_CHANGED, at, _names(earlier.aliases), _names(later.aliases))
        self._values(ChangeKind.DOC_CHANGED, at, _quoted(earlier.doc), _quoted(later.doc))
        was, now = earlier.order or "ascending", later.order or "ascending"
        self._values(ChangeKind.SORT_ORDER_CHANGED, at, was, now)
        self._properties(earlier, later, place)
        self.types(earlier.type, later.type, place)

    def _defaults(self, was: str | None, now: str | None, at: _At) -> None:
        if was == now:
            return
        gone = ChangeKind.DEFAULT_REMOVED if now is None else ChangeKind.DEFAULT_CHANGED
        self._add(ChangeKind.DEFAULT_ADDED if was is None else gone, at, was, now)

    def _logical_types(self, earlier: AvroType, later: AvroType, place: FieldPath) -> None:
        if earlier.logical_type != later.logical_type:
            was, now = type_words(earlier), type_words(later)
            self._add(ChangeKind.LOGICAL_TYPE_CHANGED, _At(earlier, later, place), was, now)

    def _properties(self, earlier: AvroType | AvroField, later: AvroType | AvroField, place: FieldPath) -> None:
        was, now = _own_properties(earlier), _own_properties(later)
        for name in sorted(was.keys() | now.keys()):
            before = f"{name}={json_words(was[name])}" if name in was else None
            after = f"{name}={json_words(now[name])}" if name in now else None
            if before != after:
                self._add(ChangeKind.PROPERTY_CHANGED, _At(earlier, later, place), before, after)

    def _values(self, kind: ChangeKind, at: _At, was: str | None, now: str | None) -> None:
        if was != now:
            self._add(kind, at, was, now)

    def _add(self, kind: ChangeKind, at: _At, was: str | None, now: str | None) -> None:
        self.changes.append(Change(kind, at.place, was, now, at.earlier.pointer, at.later.pointer))


def match_fields(earlier: AvroRecord, later: AvroRecord) -> dict[str, AvroField]:
    """Return the earlier field for each field of ``later``, by the later field's name.

    Fields of the same name match; a later field without one matches the field of its first alias that no later field
    has as its name.
    """
    earlier_by_name = {field.name: field for field in earlier.fields}
    later_names = {field.name for field in later.fields}
    found: dict[str, AvroField] = {}
    taken: set[str] = set()
    for field in later.fields:
        aliased = (alias for alias in field.aliases if alias in earlier_by_name and alias not in later_names | taken)
        name = field.name if field.name in earlier_by_name else next(aliased, None)
        if name is not None:
            found[field.name] = earlier_by_name[name]
            taken.add(name)
    return found


def _matching_branches(earlier: Sequence[AvroType], later: Sequence[AvroType]) -> list[tuple[AvroType, AvroType]]:
    """Return the matching branches in the order of ``later``: by full name or kind, then by name without namespace."""
    pairs: dict[int, AvroType] = {}
    left = list(earlier)
    for name_of in (branch_name, short_name):
        for branch in later:
            match = next((one for one in left if id(branch) not in pairs and name_of(one) == name_of(branch)), None)
            if match is not None:
                pairs[id(branch)] = match
                left.remove(match)
    return [(pairs[id(branch)], branch) for branch in later if id(branch) in pairs]


def _index(branches: Sequence[AvroType], wanted: AvroType) -> int:
    return next(index for index, branch in enumerate(branches) if branch is wanted)


def _own_properties(node: AvroType | AvroField) -> Mapping[str, Json]:
    """Return the properties without those of a valid logical type, which is reported separately."""
    if getattr(node, "logical_type", None) is None:
        return node.properties
    return {name: value for name, value in node.properties.items() if name not in _OF_LOGICAL_TYPES}


def _names(names: Sequence[str]) -> str | None:
    return ", ".join(names) or None


def _quoted(text: str | None) -> str | None:
    return None if text is None else json_words(text)
