"""How a value stands in JSON as an object: one table of members, for reading requests and replies, and for writing."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.rest.json_values import JsonValue

Document = dict[str, Any]
"""A JSON object."""

_T = TypeVar("_T")
_OPTIONAL: Final = object()

REQUIRED: Final = object()
"""Stands for an absent member that there must be."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its ``key`` in JSON, the field of the value that it is, how it is read and written.

    Absent and null are the field's default. With ``otherwise``, a reply must have the member, and that value stands for
    it in a request without it; with :data:`REQUIRED`, a request must have it too. What is read as None counts as
    absent. Without ``write``, the field's value is its JSON.
    """

    key: str
    name: str
    read: Callable[[JsonValue], Any]
    write: Callable[[Any], Any] | None = None
    otherwise: object = _OPTIONAL


@dataclass(frozen=True, slots=True)
class ObjectForm(Generic[_T]):
    """The JSON form of the dataclass ``kind``. None is not written, and nothing empty unless ``keeps_empty``."""

    kind: type[_T]
    members: tuple[Member, ...]
    keeps_empty: bool = False

    def read(self, value: JsonValue) -> _T:
        """Return what ``value`` describes; unknown members are ignored."""
        found = value.object()
        read: dict[str, Any] = {}
        for member in self.members:
            item = found.get(member.key)
            if item is not None:
                if (part := member.read(value.child(member.key, item))) is not None:
                    read[member.name] = part
            elif member.otherwise is REQUIRED:
                read[member.name] = member.read(value.member(member.key))
            elif member.otherwise is not _OPTIONAL:
                read[member.name] = value.absent(member.key, member.otherwise)
        return self.kind(**read)

    def read_changes(self, value: JsonValue) -> dict[str, Any]:
        """Return what ``value`` changes, by the name of the field; a null is the field's default."""
        found = value.object()
        defaults = {field.name: field for field in fields(self.kind)}  # type: ignore[arg-type] # it is a dataclass
        changes: dict[str, Any] = {}
        for member in self.members:
            if member.key in found:
                item = found[member.key]
                default = defaults[member.name]
                if item is not None:
                    changes[member.name] = member.read(value.child(member.key, item))
                elif default.default_factory is not MISSING:
                    changes[member.name] = default.default_factory()
                else:
                    changes[member.name] = default.default
        return changes

    def write(self, value: object) -> Document:
        """Return the JSON of ``value``, which has the fields of ``kind``, in the order of the members."""
        document: Document = {}
        for member in self.members:
            part = getattr(value, member.name)
            if part is not None and member.write is not None:
                part = member.write(part)
            if part is not None and (self.keeps_empty or part not in ("", [], {})):
                document[member.key] = part
        return document


def each_written(form: ObjectForm[_T]) -> Callable[[tuple[_T, ...]], list[Document]]:
    """Return the writer of a list of values of ``form``."""
    return lambda values: [form.write(value) for value in values]


def without_null(document: Document) -> Document:
    """Return ``document`` without nulls."""
    return {key: value for key, value in document.items() if value is not None}
