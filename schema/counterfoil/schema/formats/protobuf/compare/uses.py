"""Where a schema's own file leads to what the files that it imports declare."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING

from counterfoil.schema.formats.protobuf.compare.places import import_pointer
from counterfoil.schema.formats.protobuf.compare.type_index import MessageType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterfoil.schema.formats.protobuf.compare.type_index import EnumType, Held, TypeIndex
    from counterfoil.schema.formats.protobuf.read.ast import ProtoFile


class Uses:
    """The places in the own file of one schema through which it uses others."""

    def __init__(self, index: TypeIndex) -> None:
        self._index = index

    def is_own(self, file: ProtoFile) -> bool:
        """Whether it is the schema's own file."""
        return file is self._index.root.file

    def pointer_to(self, declared: MessageType | EnumType) -> str:
        """The pointer of a type that the own file declares, else of the first field there that leads to it.

        Where no field does, it is that of the type around it, and then of the import.
        """
        if self.is_own(declared.file):
            return declared.pointer
        found = self._pointer_by_type.get(id(declared))
        if found is not None:
            return found
        parent = declared.parent if isinstance(declared, MessageType) else None
        return self.pointer_to_file(declared.file) if parent is None else self.pointer_to(parent)

    def pointer_to_file(self, file: ProtoFile) -> str:
        """The pointer of the import through which a file came; empty for the own file."""
        return self._pointer_by_file.get(id(file), "")

    @cached_property
    def _pointer_by_type(self) -> Mapping[int, str]:
        found: dict[int, str] = {}
        waiting = deque(self._used_by_own())
        while waiting:
            declared, pointer = waiting.popleft()
            if id(declared) in found or self.is_own(declared.file):
                continue
            found[id(declared)] = pointer
            inner = declared.fields.values() if isinstance(declared, MessageType) else ()
            waiting.extend((each, pointer) for field in inner for each in _declared_in(field.holds))
        return found

    def _used_by_own(self) -> Iterator[tuple[MessageType | EnumType, str]]:
        """What the own file uses: fields first, then extensions, then methods."""
        root = self._index.root
        fields = [field for message in root.all_messages() for field in message.fields.values()]
        for field in (*fields, *(field for _, field in root.extensions())):
            yield from ((each, field.pointer) for each in _declared_in(field.holds))
        for rpc in (rpc for service in root.file.services for rpc in service.rpcs):
            for name in (rpc.request, rpc.response):
                declared = self._index.message(name, root.file.package)
                if declared is not None:
                    yield declared, rpc.pointer

    @cached_property
    def _pointer_by_file(self) -> Mapping[int, str]:
        found: dict[int, str] = {}
        waiting = deque((item.path, import_pointer(item.path)) for item in self._index.root.file.imports)
        while waiting:
            path, pointer = waiting.popleft()
            file = self._index.imports.get(path)
            if file is not None and id(file) not in found:
                found[id(file)] = pointer
                waiting.extend((item.path, pointer) for item in file.imports)
        return found


def _declared_in(held: Held) -> Iterator[MessageType | EnumType]:
    for each in (held, held.key, held.value):
        if each is not None and each.message is not None:
            yield each.message
        elif each is not None and each.enum is not None:
            yield each.enum
