"""The diff of two Protobuf files: the changes that a person would name, independent of compatibility.

Messages and enums are matched by name; otherwise by the last part of the name (moved), or by about the same members
(renamed). Fields are matched by name, then by number, and so are symbols. Imported types are not compared; a field that
holds one is compared by the type's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from counterfoil.schema.change import Change, ChangeKind
from counterfoil.schema.formats.protobuf.diff.matching import (
    match_enums,
    match_fields,
    match_in_turn,
    match_messages,
    match_oneofs,
)
from counterfoil.schema.formats.protobuf.diff.wording import (
    doc_words,
    label_words,
    option_words,
    quoted,
    range_words,
    rpc_words,
    syntax_words,
    type_words,
)
from counterfoil.schema.formats.protobuf.read.places import PACKAGE_POINTER, option_pointer
from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
from counterfoil.schema.paths.model import item, member

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import Option, ProtoFile, Service
    from counterfoil.schema.formats.protobuf.schema import ProtobufSchema
    from counterfoil.schema.formats.protobuf.types.enums import EnumType
    from counterfoil.schema.formats.protobuf.types.index import FieldType, MessageType
    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer


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
        earlier: Iterable[FieldType],
        later: Iterable[FieldType],
        place: FieldPath,
        around: tuple[Pointer, Pointer],
    ) -> list[tuple[FieldType, FieldType]]:
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

    def _field(self, earlier: FieldType, later: FieldType, at: FieldPath) -> None:
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

    def _oneofs(self, earlier: MessageType, later: MessageType, fields: Sequence[tuple[FieldType, FieldType]]) -> None:
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
        self, earlier: Iterable[Option], later: Iterable[Option], place: FieldPath, pointers: tuple[Pointer, Pointer]
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


def _by_extendee(extensions: Iterable[tuple[str, FieldType]]) -> dict[str, list[FieldType]]:
    found: dict[str, list[FieldType]] = {}
    for extendee, field in extensions:
        found.setdefault(extendee, []).append(field)
    return found
