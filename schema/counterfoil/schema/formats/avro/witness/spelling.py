"""Type trees in fastavro's form: plain dicts, every named type declared where it is first used.

Logical types are left out: a decoder that cannot resolve the underlying types does not use them.

- A name without a namespace gets the namespace ``_``, since fastavro would put it into the enclosing namespace.
- A reader's type that has the name of a writer's type but another kind is renamed, since fastavro compares only names
  there and would read, say, a fixed as an enum.
- A reader's empty union gets a branch that no writer writes, since fastavro would treat it as no reader at all.
- A reader's union with both bytes and string has bytes first, since fastavro would take bytes for the string that comes
  first, and fail; other decoders take the branch of the writer's own kind.
- An ``error`` is written as a record.
- A default that no reader can use is left out, since fastavro would refuse the whole schema because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterfoil.schema.formats.avro.compare import rules
from counterfoil.schema.formats.avro.read.defaults import is_usable_default
from counterfoil.schema.formats.avro.types import Array, Enum, Fixed, Kind, Map, Primitive, Record, Union

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.avro.compare.places import AvroDifference, TypePair
    from counterfoil.schema.formats.avro.types import AvroType, Field, NamedType

_NEVER_WRITTEN = {"type": "fixed", "name": "_.empty_union", "size": 0}


def branch_name(branch: AvroType) -> str:
    """Return fastavro's name of a union's branch: the full name of a named type, else the kind."""
    return _qualified(branch.full_name) if isinstance(branch, Record | Enum | Fixed) else branch.kind.value


def spell_writer(root: AvroType) -> Any:
    """Return the whole writer's schema in fastavro's form."""
    return _Speller().spell(root)


def spell_reader(root: AvroType, writer_types: Iterable[NamedType]) -> Any:
    """Return the whole reader's schema in fastavro's form, for a writer that declares ``writer_types``."""
    return _Speller(writer_types).spell(root)


def spell_reader_at(found: AvroDifference, writer_types: Iterable[NamedType]) -> Any:
    """Return only the part of the reader's schema that leads to a difference, and there only what differs.

    A datum that this reader refuses is refused because of this difference, whatever other differences there are.
    Records on the way get the writer's names, since decoders that resolve by structure do not compare them.
    """
    spelt = _differing_part(found, _Speller(writer_types))
    for number, step in enumerate(reversed(found.place.from_root())):
        if step.parent is not None:
            spelt = _around(step.parent, step, spelt, number)
    return spelt


def _around(parent: TypePair, step: TypePair, inner: Any, number: int) -> Any:
    match parent.reader, parent.writer:
        case (Record(), Record()) if step.reader_field is not None:
            name = f"_{number}.{parent.writer.name}"
            return {"type": "record", "name": name, "fields": [_field(step.reader_field, inner)]}
        case (Array(), Array()):
            return {"type": "array", "items": inner}
        case (Map(), Map()):
            return {"type": "map", "values": inner}
    return inner  # a step into a branch: the reader's type stays the same


def _differing_part(found: AvroDifference, speller: _Speller) -> Any:
    match found.place.reader, found.place.writer:
        case (Record(), Record() as writer):
            fields = [found.field] if found.kind is rules.MISSING_DEFAULT and found.field is not None else []
            return {"type": "record", "name": f"_.{writer.name}", "fields": [_field(field, "null") for field in fields]}
        case (Enum() as reader, Enum() as writer) if found.kind is rules.MISSING_ENUM_SYMBOLS:
            return {"type": "enum", "name": f"_.{writer.name}", "symbols": list(reader.symbols)}
        case (Fixed() as reader, Fixed() as writer) if found.kind is rules.FIXED_SIZE_MISMATCH:
            return {"type": "fixed", "name": f"_.{writer.name}", "size": reader.size}
        case (Enum() as reader, Enum() as writer):
            return {"type": "enum", "name": _qualified(reader.full_name), "symbols": list(writer.symbols)}
        case (Fixed() as reader, Fixed() as writer):
            return {"type": "fixed", "name": _qualified(reader.full_name), "size": writer.size}
    return speller.spell(found.place.reader)


def _bytes_first(branches: Sequence[AvroType]) -> Sequence[AvroType]:
    kinds = {branch.kind for branch in branches}
    if {Kind.BYTES, Kind.STRING} <= kinds:
        return sorted(branches, key=lambda branch: branch.kind is not Kind.BYTES)
    return branches


def _field(field: Field, spelt: Any) -> dict[str, Any]:
    """Return a field without its default, which is not used on the way to a difference."""
    return {"name": field.name, "type": spelt, "aliases": list(field.aliases)}


def _qualified(full_name: str) -> str:
    return full_name if "." in full_name else f"_.{full_name}"


class _Speller:
    """A writer of one tree in fastavro's form.

    ``writer_types`` are given for a reader: types with one of their names but another kind are renamed.
    """

    def __init__(self, writer_types: Iterable[NamedType] | None = None) -> None:
        self._is_reader = writer_types is not None
        self._declared: set[int] = set()
        self._kinds_by_name: dict[str, set[str]] = {}
        for node in writer_types or ():
            self._kinds_by_name.setdefault(node.name, set()).add(node.kind)

    def spell(self, node: AvroType) -> Any:
        match node:
            case Primitive():
                return node.kind.value
            case Array():
                return {"type": "array", "items": self.spell(node.items)}
            case Map():
                return {"type": "map", "values": self.spell(node.values)}
            case Union():
                branches = _bytes_first(node.branches) if self._is_reader else node.branches
                return [self.spell(branch) for branch in branches] or [_NEVER_WRITTEN]
        name = self._name(node)
        if id(node) in self._declared:
            return name
        self._declared.add(id(node))
        return {"type": node.kind.value, "name": name, "aliases": self._aliases(node), **self._content(node)}

    def _content(self, node: NamedType) -> dict[str, Any]:
        match node:
            case Record():
                return {"fields": [self._field(field) for field in node.fields]}
            case Enum():
                default = {} if node.default is None else {"default": node.default}
                return {"symbols": list(node.symbols), **default}
        return {"size": node.size}

    def _field(self, field: Field) -> dict[str, Any]:
        is_usable = field.has_default and is_usable_default(field.type, field.default)
        default = {"default": field.default} if is_usable else {}
        return _field(field, self.spell(field.type)) | default

    def _name(self, node: NamedType) -> str:
        suffix = f"_{node.kind}" if self._is_of_another_kind(node.name, node) else ""
        return _qualified(node.full_name) + suffix

    def _aliases(self, node: NamedType) -> list[str]:
        return [
            _qualified(alias) for alias in node.aliases if not self._is_of_another_kind(alias.rpartition(".")[2], node)
        ]

    def _is_of_another_kind(self, name: str, node: NamedType) -> bool:
        kinds = self._kinds_by_name.get(name)
        return kinds is not None and node.kind not in kinds
