"""The decoder of another project, fastavro: type trees in its form, data written and read with it."""

from __future__ import annotations

import io
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.languages.avro.attributes import is_usable_default
from counterfoil.schema.languages.avro.compare import rules
from counterfoil.schema.languages.avro.types import (
    AvroArray,
    AvroEnum,
    AvroFixed,
    AvroKind,
    AvroMap,
    AvroPrimitive,
    AvroRecord,
    AvroUnion,
)
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.languages.avro.compare.places import AvroDifference, TypePair
    from counterfoil.schema.languages.avro.types import AvroField, AvroType, NamedType


# Type trees in fastavro's form: plain dicts, every named type declared where it is first used.
#
# Logical types are left out: a decoder that cannot resolve the underlying types does not use them.
#
# - A name without a namespace gets the namespace ``_``, since fastavro would put it into the enclosing namespace.
# - A reader's type that has the name of a writer's type but another kind is renamed, since fastavro compares only names
#   there and would read, say, a fixed as an enum.
# - A reader's empty union gets a branch that no writer writes, since fastavro would treat it as no reader at all.
# - A reader's union with both bytes and string has bytes first, since fastavro would take bytes for the string that
#   comes first, and fail; other decoders take the branch of the writer's own kind.
# - An ``error`` is written as a record.
# - A default that no reader can use is left out, since fastavro would refuse the whole schema because of it.

_NEVER_WRITTEN = {"type": "fixed", "name": "_.empty_union", "size": 0}


def branch_name(branch: AvroType) -> str:
    """Return fastavro's name of a union's branch: the full name of a named type, else the kind."""
    return _qualified(branch.full_name) if isinstance(branch, AvroRecord | AvroEnum | AvroFixed) else branch.kind.value


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
        case (AvroRecord(), AvroRecord()) if step.reader_field is not None:
            name = f"_{number}.{parent.writer.name}"
            return {"type": "record", "name": name, "fields": [_field(step.reader_field, inner)]}
        case (AvroArray(), AvroArray()):
            return {"type": "array", "items": inner}
        case (AvroMap(), AvroMap()):
            return {"type": "map", "values": inner}
    return inner  # a step into a branch: the reader's type stays the same


def _differing_part(found: AvroDifference, speller: _Speller) -> Any:
    match found.place.reader, found.place.writer:
        case (AvroRecord(), AvroRecord() as writer):
            fields = [found.field] if found.kind is rules.MISSING_DEFAULT and found.field is not None else []
            return {"type": "record", "name": f"_.{writer.name}", "fields": [_field(field, "null") for field in fields]}
        case (AvroEnum() as reader, AvroEnum() as writer) if found.kind is rules.MISSING_ENUM_SYMBOLS:
            return {"type": "enum", "name": f"_.{writer.name}", "symbols": list(reader.symbols)}
        case (AvroFixed() as reader, AvroFixed() as writer) if found.kind is rules.FIXED_SIZE_MISMATCH:
            return {"type": "fixed", "name": f"_.{writer.name}", "size": reader.size}
        case (AvroEnum() as reader, AvroEnum() as writer):
            return {"type": "enum", "name": _qualified(reader.full_name), "symbols": list(writer.symbols)}
        case (AvroFixed() as reader, AvroFixed() as writer):
            return {"type": "fixed", "name": _qualified(reader.full_name), "size": writer.size}
    return speller.spell(found.place.reader)


def _bytes_first(branches: Sequence[AvroType]) -> Sequence[AvroType]:
    kinds = {branch.kind for branch in branches}
    if {AvroKind.BYTES, AvroKind.STRING} <= kinds:
        return sorted(branches, key=lambda branch: branch.kind is not AvroKind.BYTES)
    return branches


def _field(field: AvroField, spelt: Any) -> dict[str, Any]:
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
            case AvroPrimitive():
                return node.kind.value
            case AvroArray():
                return {"type": "array", "items": self.spell(node.items)}
            case AvroMap():
                return {"type": "map", "values": self.spell(node.values)}
            case AvroUnion():
                branches = _bytes_first(node.branches) if self._is_reader else node.branches
                return [self.spell(branch) for branch in branches] or [_NEVER_WRITTEN]
        name = self._name(node)
        if id(node) in self._declared:
            return name
        self._declared.add(id(node))
        return {"type": node.kind.value, "name": name, "aliases": self._aliases(node), **self._content(node)}

    def _content(self, node: NamedType) -> dict[str, Any]:
        match node:
            case AvroRecord():
                return {"fields": [self._field(field) for field in node.fields]}
            case AvroEnum():
                default = {} if node.default is None else {"default": node.default}
                return {"symbols": list(node.symbols), **default}
        return {"size": node.size}

    def _field(self, field: AvroField) -> dict[str, Any]:
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


# The decoder of another project: fastavro, which writes a datum and reads it with the reader's schema.
#
# Source of the behaviour: fastavro's ``schemaless_writer`` and ``schemaless_reader``.

_LONGEST_MESSAGE: Final = 20_000
_INVENTED_NAMESPACE: Final = re.compile(r"\b_\d*\.")


class DecoderRefuses(CounterfoilError):
    """The error for a schema or a datum that fastavro cannot process; it proves nothing about the reader."""


def prepared(schema: Any) -> Any:
    """Return ``schema`` parsed for repeated use; raise ``DecoderRefuses`` if fastavro does not accept it."""
    import fastavro

    try:
        return fastavro.parse_schema(schema)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not take the schema: {quote(refused)}") from refused


def write(datum: Any, schema: Any) -> bytes:
    """Return the Avro binary encoding of ``datum`` under a schema.

    Raises ``DecoderRefuses`` if fastavro does not accept it.
    """
    import fastavro

    out = io.BytesIO()
    try:
        fastavro.schemaless_writer(out, schema, datum)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not write it: {quote(refused)}") from refused
    return out.getvalue()


def failure_to_read(body: bytes, writer: Any, reader: Any | None = None) -> str | None:
    """Return fastavro's message why a reader with the schema ``reader`` cannot read ``body``; None if it can.

    Only a failed schema resolution counts. For any other exception of fastavro, raises ``DecoderRefuses``.
    """
    return resolve(body, writer, reader)[1]


def resolve(body: bytes, writer: Any, reader: Any | None = None) -> tuple[Any, str | None]:
    """Return the datum that a reader with the schema ``reader`` gets from ``body``, and None.

    If it cannot read ``body``, None and the reason.
    """
    import fastavro
    from fastavro.read import SchemaResolutionError

    try:
        return fastavro.schemaless_reader(io.BytesIO(body), writer, reader), None
    except SchemaResolutionError as failure:
        return None, quote(failure)
    except Exception as refused:
        raise DecoderRefuses(f"fastavro does not read it: {quote(refused)}") from refused


def failure_to_decode(body: bytes, schema: Any) -> str | None:
    """Return fastavro's message why ``body`` cannot be decoded with ``schema``; None if it can."""
    import fastavro

    try:
        fastavro.schemaless_reader(io.BytesIO(body), schema, None)
    except UnicodeDecodeError as failure:
        return quote(failure)
    return None


@cache
def decoder_name() -> str:
    """Return the decoder and its version, such as ``fastavro 1.10.0``."""
    import fastavro

    return f"fastavro {fastavro.__version__}"


def quote(exception: Exception) -> str:
    """Return the message of an exception on one line, shortened."""
    text = f"{type(exception).__name__}: {exception}"[:_LONGEST_MESSAGE]  # some quote both schemas
    return excerpt(_INVENTED_NAMESPACE.sub("", " ".join(text.split())), 200)
