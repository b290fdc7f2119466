"""The changes between two Protobuf files that a person would name, independent of compatibility."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias, TypeVar

from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.languages.protobuf.read.symbols import PACKAGE_POINTER, EnumType, option_pointer
from counterfoil.schema.languages.protobuf.read.syntax_tree import (
    Aggregate,
    EnumConstant,
    ExtensionRange,
    ListValue,
    OptionValue,
    ProtoField,
    ProtoFile,
    ProtoOption,
    ProtoRange,
    Reserved,
    Rpc,
    Service,
    ValueKind,
)
from counterfoil.schema.languages.protobuf.schema import ProtobufSchema
from counterfoil.schema.languages.protobuf.types import FieldValueType, MessageType, NumberedField
from counterfoil.schema.paths import FieldPath, item, member
from counterfoil.schema.texts import Pointer

# Matching of the messages, enums, fields and oneofs of an earlier and a later Protobuf file.

_ALIKE: Final = 0.5
"""The least share of common members with which a type counts as renamed."""

_MAX_COMPARED: Final = 40_000
"""The largest number of pairs of types that are compared by members; above it no type counts as renamed."""

T = TypeVar("T")


class Named(Protocol):
    """A declaration with a name inside the file."""

    @property
    def local_name(self) -> str:
        """The full name without the package."""


TypeT = TypeVar("TypeT", bound=Named)


def match_messages(
    earlier: Sequence[MessageType], later: Sequence[MessageType]
) -> list[tuple[MessageType, MessageType]]:
    """Return pairs of messages in the order of ``later``: by name, last part of the name (moved), or common fields."""
    return _match_types(
        earlier, later, lambda message: {(field.number, field.name) for field in message.fields.values()}
    )


def match_enums(earlier: Sequence[EnumType], later: Sequence[EnumType]) -> list[tuple[EnumType, EnumType]]:
    """Return pairs of enums in the order of ``later``: by name, last part of the name (moved), or common symbols."""
    return _match_types(earlier, later, lambda enum: {(each.number, each.name) for each in enum.node.constants})


def match_fields(
    earlier: Iterable[NumberedField], later: Iterable[NumberedField]
) -> list[tuple[NumberedField, NumberedField]]:
    """Return pairs of fields in the order of ``later``: those of one name, and of the others those of one number."""
    return match_in_turn(earlier, later, (lambda field: field.name, lambda field: field.number))


def match_in_turn(
    earlier: Iterable[T], later: Iterable[T], keys: Iterable[Callable[[T], Hashable]]
) -> list[tuple[T, T]]:
    """Return pairs of elements with an equal key: by the first key, then the next; each is in one pair at most."""
    before, now = list(earlier), list(later)
    match: dict[int, T] = {}
    left = before
    for key_of in keys:
        by_key: dict[Hashable, T] = {}
        for each in left:
            by_key.setdefault(key_of(each), each)
        for each in now:
            if id(each) not in match and key_of(each) in by_key:
                match[id(each)] = by_key.pop(key_of(each))
        taken = {id(each) for each in match.values()}
        left = [each for each in before if id(each) not in taken]
    return [(match[id(each)], each) for each in now if id(each) in match]


def match_oneofs(
    earlier: MessageType, later: MessageType, fields: Iterable[tuple[NumberedField, NumberedField]]
) -> Mapping[str, str]:
    """Return the later name of each matched oneof: the same, or that of the oneof that has one of its members."""
    match = {name: name for name in earlier.oneofs if name in later.oneofs}
    for was, now in fields:
        before, after = was.oneof_name, now.oneof_name
        if before and after and before not in match and after not in match.values():
            match[before] = after
    return match


def _match_types(
    earlier: Sequence[TypeT], later: Sequence[TypeT], members: Callable[[TypeT], set[tuple[int, str]]]
) -> list[tuple[TypeT, TypeT]]:
    keys = (lambda each: each.local_name, lambda each: each.local_name.rpartition(".")[2])
    pairs = match_in_turn(earlier, later, keys)
    before, now = {id(was) for was, _ in pairs}, {id(later_type) for _, later_type in pairs}
    left = {id(each): (each, members(each)) for each in earlier if id(each) not in before}
    new = [each for each in later if id(each) not in now]
    for each in new if len(left) * len(new) <= _MAX_COMPARED else ():
        wanted = members(each)
        best = max(left.values(), key=lambda was: _likeness(was[1], wanted), default=None)
        if best is not None and _likeness(best[1], wanted) >= _ALIKE:
            pairs.append((best[0], each))
            del left[id(best[0])]
    order = {id(each): index for index, each in enumerate(later)}
    return sorted(pairs, key=lambda pair: order[id(pair[1])])


def _likeness(one: set[tuple[int, str]], other: set[tuple[int, str]]) -> float:
    """Return the share of members that two types have in common; 0 for two without members."""
    return len(one & other) / max(len(one), len(other), 1)


# Texts of parts of a Protobuf file.

Documented: TypeAlias = ProtoField | EnumConstant
"""A node that may have a comment above and one behind it."""

_TOLD_OTHERWISE: Final = frozenset({"default"})


def type_words(field: NumberedField, new_name: Mapping[str, str] | None = None) -> str:
    """Return the type of a field: ``int32``, ``map<string, shop.Item>``; names in ``new_name`` are replaced."""
    return _held_words(field.holds, new_name or {})


def _held_words(held: FieldValueType, new_name: Mapping[str, str]) -> str:
    if held.key is not None and held.value is not None:
        return f"map<{_held_words(held.key, new_name)}, {_held_words(held.value, new_name)}>"
    named = held.message or held.enum
    if named is None:
        return held.scalar or held.name.removeprefix(".")
    return new_name.get(named.full_name, named.full_name)


def label_words(field: NumberedField) -> str | None:
    """Return the label as written, ``map`` for a map; None for a field without one."""
    if field.node.map is not None:
        return "map"
    return field.node.label.value if field.node.label else None


def syntax_words(file: ProtoFile) -> str:
    """Return ``proto3``, ``edition 2023``; ``proto2`` for a file without a syntax or edition."""
    return f"edition {file.edition}" if file.edition else file.syntax or "proto2"


def option_words(options: Iterable[ProtoOption]) -> dict[str, str]:
    """Return every option as ``name = value``, by its name; options of one name are joined. Defaults are left out."""
    found: dict[str, str] = {}
    for option in options:
        if option.name not in _TOLD_OTHERWISE:
            said = f"{option.name} = {_value_words(option.value)}"
            found[option.name] = f"{found[option.name]}, {said}" if option.name in found else said
    return found


def _value_words(value: OptionValue) -> str:
    if isinstance(value, Aggregate):
        return "{ " + " ".join(f"{entry.name}: {_value_words(entry.value)}" for entry in value.entries) + " }"
    if isinstance(value, ListValue):
        return "[" + ", ".join(map(_value_words, value.items)) + "]"
    return json.dumps(value.text, ensure_ascii=False) if value.kind is ValueKind.STRING else value.text


def range_words(statements: Iterable[Reserved | ExtensionRange]) -> str | None:
    """Return the numbers and names of ``reserved`` or ``extensions`` statements in one line; None for none."""
    said = [_range_words(value) for statement in statements for value in statement.values]
    return ", ".join(said) or None


def _range_words(value: int | ProtoRange | str) -> str:
    if isinstance(value, ProtoRange):
        return f"{value.start} to {'max' if value.is_max else value.end}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def rpc_words(rpc: Rpc) -> str:
    """Return the signature of a method, such as ``Place(stream Order) returns (Receipt)``."""
    request, response = (
        f"{'stream ' if is_streaming else ''}{name}"
        for name, is_streaming in ((rpc.request, rpc.request_streaming), (rpc.response, rpc.response_streaming))
    )
    return f"{rpc.name}({request}) returns ({response})"


def doc_words(node: Documented) -> str | None:
    """Return the comments above and behind the node, quoted; None if there are none."""
    return quoted("\n".join(filter(None, [node.doc, node.trailing_doc])))


def quoted(text: str) -> str | None:
    """Return the text as a JSON string; None for an empty one."""
    return json.dumps(text, ensure_ascii=False) if text else None


# The diff of two Protobuf files: the changes that a person would name, independent of compatibility.
#
# Messages and enums are matched by name; otherwise by the last part of the name (moved), or by about the same members
# (renamed). Fields are matched by name, then by number, and so are symbols. Imported types are not compared; a field
# that holds one is compared by the type's name.

_Type: TypeAlias = "MessageType | EnumType"


def find_changes(earlier: ProtobufSchema, later: ProtobufSchema) -> list[Change]:
    """Return the changes between two Protobuf schemas: the file's head, then types in the order of the later one."""
    diff = _Diff(earlier, later)
    diff.run()
    return diff.changes


class _Diff:
    """One comparison, which collects changes. ``_new_name`` maps earlier full names of types to later ones."""

    def __init__(self, earlier: ProtobufSchema, later: ProtobufSchema) -> None:
        self.changes: list[Change] = []
        self._files = (earlier.file, later.file)
        self._earlier = earlier.types.root
        self._later = later.types.root
        messages = ([*self._earlier.all_messages()], [*self._later.all_messages()])
        enums = ([*self._earlier.all_enums()], [*self._later.all_enums()])
        self._messages = match_messages(*messages)
        self._enums = match_enums(*enums)
        self._types: tuple[list[_Type], list[_Type]] = ([*messages[0], *enums[0]], [*messages[1], *enums[1]])
        pairs: list[tuple[_Type, _Type]] = [*self._messages, *self._enums]
        self._pairs = pairs
        self._new_name = {was.full_name: now.full_name for was, now in pairs}

    def run(self) -> None:
        """Compare the files and collect the changes."""
        self._head(*self._files)
        self._type_names()
        for was, now in self._messages:
            self._message(was, now)
        for earlier, later in self._enums:
            self._enum(earlier, later)
        self._extensions()
        self._services(self._files[0].services, self._files[1].services)

    def _head(self, earlier: ProtoFile, later: ProtoFile) -> None:
        self._values(ChangeKind.SYNTAX_CHANGED, (), syntax_words(earlier), syntax_words(later))
        packages = (earlier.package or None, later.package or None)
        self._values(ChangeKind.NAMESPACE_CHANGED, (), *packages, (PACKAGE_POINTER, PACKAGE_POINTER))
        before, now = [each.path for each in earlier.imports], [each.path for each in later.imports]
        for path in before:
            if path not in now:
                self._add(ChangeKind.IMPORT_REMOVED, (), path, None)
        for path in now:
            if path not in before:
                self._add(ChangeKind.IMPORT_ADDED, (), None, path)
        self._options(earlier.options, later.options, (), ((), ()))
        self._values(ChangeKind.DOC_CHANGED, (), quoted(earlier.doc), quoted(later.doc))

    def _type_names(self) -> None:
        """Add the changes of types (added, removed, moved, renamed), and of the order of the top-level messages."""
        kept = {id(each) for pair in self._pairs for each in pair}
        for was in self._types[0]:
            if id(was) not in kept:
                self._add(ChangeKind.TYPE_REMOVED, (), was.local_name, None, (was.pointer, ()))
        for now in self._types[1]:
            if id(now) not in kept:
                self._add(ChangeKind.TYPE_ADDED, (), None, now.local_name, ((), now.pointer))
        for was, now in self._pairs:
            if was.local_name != now.local_name:
                is_moved = was.node.name == now.node.name
                kind = ChangeKind.TYPE_MOVED if is_moved else ChangeKind.TYPE_RENAMED
                self._add(kind, _place_of(now), was.local_name, now.local_name, (was.pointer, now.pointer))
        top = [(was, now) for was, now in self._messages if was.parent is None and now.parent is None]
        before = [now.local_name for was, now in sorted(top, key=lambda pair: pair[0].index)]
        after = [now.local_name for was, now in sorted(top, key=lambda pair: pair[1].index)]
        self._values(ChangeKind.TYPES_REORDERED, (), ", ".join(before), ", ".join(after))

    def _message(self, earlier: MessageType, later: MessageType) -> None:
        at = _place_of(later)
        pointers = (earlier.pointer, later.pointer)
        pairs = self._fields(earlier.fields.values(), later.fields.values(), at, pointers)
        self._oneofs(earlier, later, pairs)
        was, now = (range_words(message.node.reserved) for message in (earlier, later))
        self._values(ChangeKind.RESERVED_CHANGED, at, was, now, pointers)
        was, now = (range_words(message.node.extensions) for message in (earlier, later))
        self._values(ChangeKind.EXTENSIONS_CHANGED, at, was, now, pointers)
        self._options(earlier.node.options, later.node.options, at, pointers)
        self._values(ChangeKind.DOC_CHANGED, at, quoted(earlier.node.doc), quoted(later.node.doc), pointers)

    def _fields(
        self,
        earlier: Iterable[NumberedField],
        later: Iterable[NumberedField],
        place: FieldPath,
        around: tuple[Pointer, Pointer],
    ) -> list[tuple[NumberedField, NumberedField]]:
        before, now = list(earlier), list(later)
        pairs = match_fields(before, now)
        kept = {id(field) for pair in pairs for field in pair}
        for field in before:
            if id(field) not in kept:
                pointers = (field.pointer, around[1])
                self._add(ChangeKind.FIELD_REMOVED, (*place, member(field.name)), type_words(field), None, pointers)
        for field in now:
            if id(field) not in kept:
                said = f"{type_words(field)} = {field.number}"
                self._add(ChangeKind.FIELD_ADDED, (*place, member(field.name)), None, said, (around[0], field.pointer))
        for was, field in pairs:
            self._field(was, field, (*place, member(field.name)))
        return pairs

    def _field(self, earlier: NumberedField, later: NumberedField, at: FieldPath) -> None:
        pointers = (earlier.pointer, later.pointer)
        self._values(ChangeKind.FIELD_RENAMED, at, earlier.name, later.name, pointers)
        self._values(ChangeKind.NUMBER_CHANGED, at, str(earlier.number), str(later.number), pointers)
        if type_words(earlier, self._new_name) != type_words(later):
            self._add(ChangeKind.TYPE_CHANGED, at, type_words(earlier), type_words(later), pointers)
        self._values(ChangeKind.LABEL_CHANGED, at, label_words(earlier), label_words(later), pointers)
        was, now = earlier.option("default"), later.option("default")
        if was != now:
            gone = ChangeKind.DEFAULT_REMOVED if now is None else ChangeKind.DEFAULT_CHANGED
            self._add(ChangeKind.DEFAULT_ADDED if was is None else gone, at, was, now, pointers)
        self._options(earlier.node.options, later.node.options, at, pointers)
        self._values(ChangeKind.DOC_CHANGED, at, doc_words(earlier.node), doc_words(later.node), pointers)

    def _oneofs(
        self, earlier: MessageType, later: MessageType, fields: Sequence[tuple[NumberedField, NumberedField]]
    ) -> None:
        match = match_oneofs(earlier, later, fields)
        for name, oneof in earlier.oneofs.items():
            if name not in match:
                at = (*_place_of(later), member(name))
                self._add(ChangeKind.ONEOF_REMOVED, at, name, None, (oneof.pointer, later.pointer))
                continue
            new = later.oneofs[match[name]]
            at, pointers = (*_place_of(later), member(new.name)), (oneof.pointer, new.pointer)
            self._values(ChangeKind.ONEOF_RENAMED, at, name, new.name, pointers)
            self._options(oneof.options, new.options, at, pointers)
            self._values(ChangeKind.DOC_CHANGED, at, quoted(oneof.doc), quoted(new.doc), pointers)
        for name, oneof in later.oneofs.items():
            if name not in match.values():
                pointers = (earlier.pointer, oneof.pointer)
                self._add(ChangeKind.ONEOF_ADDED, (*_place_of(later), member(name)), None, name, pointers)
        for was, now in fields:
            before = match.get(was.oneof_name or "", was.oneof_name)
            pointers = (was.pointer, now.pointer)
            at = (*_place_of(later), member(now.name))
            self._values(ChangeKind.ONEOF_CHANGED, at, before, now.oneof_name, pointers)

    def _enum(self, earlier: EnumType, later: EnumType) -> None:
        at, around = _place_of(later), (earlier.pointer, later.pointer)
        before, now = earlier.node.constants, later.node.constants
        pairs = match_in_turn(before, now, (lambda each: each.name, lambda each: each.number))
        kept = {id(each) for pair in pairs for each in pair}
        for each in before:
            if id(each) not in kept:
                said = f"{each.name} = {each.number}"
                self._add(ChangeKind.SYMBOL_REMOVED, at, said, None, (each.pointer, later.pointer))
        for each in now:
            if id(each) not in kept:
                said = f"{each.name} = {each.number}"
                self._add(ChangeKind.SYMBOL_ADDED, at, None, said, (earlier.pointer, each.pointer))
        for was, each in pairs:
            name, pointers = (*at, member(each.name)), (was.pointer, each.pointer)
            self._values(ChangeKind.SYMBOL_RENAMED, name, was.name, each.name, pointers)
            self._values(ChangeKind.NUMBER_CHANGED, name, str(was.number), str(each.number), pointers)
            self._options(was.options, each.options, name, pointers)
            self._values(ChangeKind.DOC_CHANGED, name, doc_words(was), doc_words(each), pointers)
        gone, kept_now = (range_words(enum.node.reserved) for enum in (earlier, later))
        self._values(ChangeKind.RESERVED_CHANGED, at, gone, kept_now, around)
        self._options(earlier.node.options, later.node.options, at, around)
        self._values(ChangeKind.DOC_CHANGED, at, quoted(earlier.node.doc), quoted(later.node.doc), around)

    def _extensions(self) -> None:
        before, now = (_by_extendee(types.extensions()) for types in (self._earlier, self._later))
        for extendee in dict.fromkeys((*before, *now)):
            self._fields(before.get(extendee, ()), now.get(extendee, ()), (item(extendee),), ((), ()))

    def _services(self, earlier: Sequence[Service], later: Sequence[Service]) -> None:
        before, now = {each.name: each for each in earlier}, {each.name: each for each in later}
        for name, service in before.items():
            if name not in now:
                self._add(ChangeKind.SERVICE_REMOVED, (), name, None, (service.pointer, ()))
        for name, service in now.items():
            if name not in before:
                self._add(ChangeKind.SERVICE_ADDED, (), None, name, ((), service.pointer))
            else:
                self._service(before[name], service)

    def _service(self, earlier: Service, later: Service) -> None:
        before, now = {each.name: each for each in earlier.rpcs}, {each.name: each for each in later.rpcs}
        place = (member(later.name),)
        for name, rpc in before.items():
            if name not in now:
                self._add(ChangeKind.METHOD_REMOVED, place, rpc_words(rpc), None, (rpc.pointer, later.pointer))
        for name, rpc in now.items():
            if name not in before:
                self._add(ChangeKind.METHOD_ADDED, place, None, rpc_words(rpc), (earlier.pointer, rpc.pointer))
                continue
            was, at = before[name], (*place, member(name))
            pointers = (before[name].pointer, rpc.pointer)
            self._values(ChangeKind.METHOD_CHANGED, at, rpc_words(was), rpc_words(rpc), pointers)
            self._options(was.options, rpc.options, at, pointers)
            self._values(ChangeKind.DOC_CHANGED, at, quoted(was.doc), quoted(rpc.doc), pointers)

    def _options(
        self,
        earlier: Iterable[ProtoOption],
        later: Iterable[ProtoOption],
        place: FieldPath,
        pointers: tuple[Pointer, Pointer],
    ) -> None:
        before, now = option_words(earlier), option_words(later)
        for name in dict.fromkeys((*before, *now)):
            own = (option_pointer(pointers[0], name), option_pointer(pointers[1], name))
            self._values(ChangeKind.OPTION_CHANGED, place, before.get(name), now.get(name), own)

    def _values(
        self,
        kind: ChangeKind,
        place: FieldPath,
        was: str | None,
        now: str | None,
        pointers: tuple[Pointer, Pointer] = ((), ()),
    ) -> None:
        if was != now:
            self._add(kind, place, was, now, pointers)

    def _add(
        self,
        kind: ChangeKind,
        place: FieldPath,
        was: str | None,
        now: str | None,
        pointers: tuple[Pointer, Pointer] = ((), ()),
    ) -> None:
        self.changes.append(Change(kind, place, was, now, *pointers))


def _place_of(declared: _Type) -> FieldPath:
    """Return the place of a message or enum: the names of its outer messages, and its own."""
    return tuple(map(member, declared.names))


def _by_extendee(extensions: Iterable[tuple[str, NumberedField]]) -> dict[str, list[NumberedField]]:
    found: dict[str, list[NumberedField]] = {}
    for extendee, field in extensions:
        found.setdefault(extendee, []).append(field)
    return found
