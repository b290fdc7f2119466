"""The forms of values as JSON objects: one table of members, for reading requests and responses, and for writing."""

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
"""The value of ``otherwise`` for a member that requests must have, too."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its ``key`` in JSON, the ``name`` of its field, and the functions that read and write it.

    An absent or null member has the field's default. With ``otherwise``, a response must have the member, and a request
    without it has that value; with :data:`REQUIRED`, a request must have it, too. A member that is read as None counts
    as absent. Without ``write``, the field's value is its JSON.
    """

    key: str
    name: str
    read: Callable[[JsonValue], Any]
    write: Callable[[Any], Any] | None = None
    otherwise: object = _OPTIONAL


@dataclass(frozen=True, slots=True)
class ObjectForm(Generic[_T]):
    """The JSON form of the dataclass ``kind``. None is not written, and empty values only if ``keeps_empty``."""

    kind: type[_T]
    members: tuple[Member, ...]
    keeps_empty: bool = False

    def read(self, value: JsonValue) -> _T:
        """Return the dataclass value of ``value``; unknown members are ignored."""
        found = value.members()
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
        """Return the changes in ``value``, by the name of the field; a null is the field's default."""
        found = value.members()
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
    """Return a function that writes a list of values of ``form``."""
    return lambda values: [form.write(value) for value in values]


def without_null(document: Document) -> Document:
    """Return ``document`` without nulls."""
    return {key: value for key, value in document.items() if value is not None}
