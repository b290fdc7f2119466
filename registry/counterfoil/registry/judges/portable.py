"""Calls of functions of the schema room, and their results, as bytes: one process packs them, another unpacks them.

A parsed schema crosses as what it was parsed from. Only functions and values of the schema room, and plain values, are
unpacked.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import fields
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.caches import RecentValues
from counterfoil.schema.errors import InvalidSchema
from counterfoil.schema.languages.table import parse_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.agreements import Promise
    from counterfoil.schema.agreements.findings import Offer
    from counterfoil.schema.parsed import ParsedSchema, SchemaSource


_ROOM: Final = "counterfoil.schema."
_PLAIN: Final = frozenset(
    {
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("builtins", "range"),
        ("collections", "OrderedDict"),
        ("datetime", "datetime"),
        ("datetime", "timezone"),
        ("datetime", "timedelta"),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("types", "MappingProxyType"),
    }
)
_OWN: Final = frozenset({"make_offer", "make_mapping"})
_KEPT_CHARS: Final = 1024 * 1024


class NotPortable(Exception):
    """A value that cannot cross from one process to another, such as a schema that was not parsed."""


def make_offer(schema: ParsedSchema, promise: Promise | None, key: ParsedSchema | None) -> Offer:
    """Return an offer again."""
    from counterfoil.schema.agreements.findings import Offer  # most calls have none, and it costs half of the start

    return Offer(schema, promise, key=key)


def make_mapping(members: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return a mapping that cannot be changed again."""
    return MappingProxyType(members)


def parsed_from(source: SchemaSource) -> ParsedSchema:
    """Return the schema that is made of ``source``; raise ``InvalidSchema`` if it is not valid."""
    try:
        return parse_schema(source.text, source.schema_type, references=source.references, validation=source.validation)
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply to be read") from None


class _Packer(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        """Return the source of a parsed schema; None for other values, which are packed themselves."""
        source = getattr(obj, "source", None) if hasattr(obj, "referenced_chars") else None
        return (source, id(obj)) if source else None

    def reducer_override(self, obj: Any) -> Any:
        """Return how values are made again that pickle does not know."""
        if type(obj).__name__ == "Offer":
            return make_offer, (obj.schema, obj.promise, obj.key_schema)
        if type(obj) is MappingProxyType:
            return make_mapping, (dict(obj),)
        kind: Any = type(obj)
        members = _members_of(kind)
        if members is not None:
            return kind, tuple([getattr(obj, name) for name in members])
        return NotImplemented


@cache
def _members_of(kind: Any) -> tuple[str, ...] | None:
    """Return the members of a frozen data class with slots, None for other classes: they are made again by a call.

    What the standard library does instead for such classes takes ten times as long, and there may be thousands.
    """
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen or "__slots__" not in vars(kind) or hasattr(kind, "__post_init__"):
        return None
    members = fields(kind)
    return tuple(each.name for each in members) if all(each.init and not each.kw_only for each in members) else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, packed: bytes, schemas: UnpackedSchemas | None) -> None:
        super().__init__(io.BytesIO(packed))
        self._schemas = schemas
        self._made: dict[int, ParsedSchema] = {}

    def persistent_load(self, pid: Any) -> ParsedSchema:
        """Return the schema that is made of what crossed."""
        if self._schemas is None:
            raise NotPortable("A schema has no place in a result")
        source, identity = pid
        if identity not in self._made:
            found = self._schemas.parsed(source)
            is_another = any(each is found for each in self._made.values())
            self._made[identity] = parsed_from(source) if is_another else found  # equal ones are not the same one
        return self._made[identity]

    def find_class(self, module: str, name: str) -> Any:
        """Return a function or class of the schema room, or one of plain values; raise ``NotPortable`` for others."""
        if (module, name) in _PLAIN or (module == __name__ and name in _OWN):
            return super().find_class(module, name)
        if module.startswith(_ROOM) and "." not in name:
            found = getattr(import_module(module), name)
            if getattr(found, "__module__", "").startswith(_ROOM):
                return found
        raise NotPortable(f"{module}.{name} is no value of schemas")


class UnpackedSchemas:
    """Schemas that were unpacked: the most recent ones are kept, since a candidate is compared with the same again."""

    def __init__(self, kept_chars: int = _KEPT_CHARS) -> None:
        self._kept: RecentValues[SchemaSource, ParsedSchema] = RecentValues(kept_chars)

    def parsed(self, source: SchemaSource) -> ParsedSchema:
        """Return the schema that is made of ``source``."""
        found = self._kept.get(source)
        if found is None:
            found = parsed_from(source)
            self._kept.put(source, found, weight=len(source.text) + found.referenced_chars)
        return found


def pack(value: object) -> bytes:
    """Return ``value`` as bytes; raise ``NotPortable`` if it cannot cross."""
    packed = io.BytesIO()
    try:
        _Packer(packed, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as problem:
        raise NotPortable(str(problem)) from problem
    return packed.getvalue()


def unpack_call(packed: bytes, schemas: UnpackedSchemas) -> tuple[Callable[..., object], tuple[object, ...]]:
    """Return the function and its arguments; raise ``InvalidSchema`` for a schema that is not valid."""
    found: tuple[Callable[..., object], tuple[object, ...]] = _Unpacker(packed, schemas).load()
    return found


def unpack(packed: bytes) -> Any:
    """Return a result."""
    return _Unpacker(packed, None).load()
