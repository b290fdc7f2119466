"""The forms of values as JSON objects: one table of members, to read, to write, to describe, to find others."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.rest.json_values import (
    read_each,
    read_flag,
    read_integer,
    read_text,
    read_text_by_key,
    read_text_set,
    read_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from enum import StrEnum

    from counterfoil.schema.rest.json_values import JsonValue


# The forms of values as JSON objects: one table of members, to read requests and responses, to write, to describe.

Document = dict[str, Any]
"""A JSON object."""

_T = TypeVar("_T")
_OPTIONAL: Final = object()

REQUIRED: Final = object()
"""The value of ``otherwise`` for a member that requests must have, too."""


class HasJsonSchema:
    """What has a JSON schema."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, eq=False)
class ListOf(HasJsonSchema):
    """As a JSON schema: lists whose elements have the JSON schema ``items``."""

    items: JsonSchema


@dataclass(frozen=True, slots=True, eq=False)
class JsonType(HasJsonSchema):
    """A type of JSON values: the functions that read and write them, and the JSON schema that describes them.

    Without ``write``, the field's value is its JSON.
    """

    read: Callable[[JsonValue], Any]
    write: Callable[[Any], Any] | None = None
    schema: JsonSchema = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its ``key`` in JSON, the ``name`` of its field, and its type; ``about`` describes it for users.

    An absent or null member has the field's default. With ``otherwise``, a response must have the member, and a request
    without it has that value; with :data:`REQUIRED`, a request must have it, too. A member that is read as None counts
    as absent.
    """

    key: str
    name: str
    type: JsonType
    otherwise: object = _OPTIONAL
    about: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether responses may be without it."""
        return self.otherwise is _OPTIONAL


@dataclass(frozen=True, slots=True)
class ObjectForm(HasJsonSchema, Generic[_T]):
    """The JSON form of the dataclass ``kind``. None is not written, and empty values only if ``keeps_empty``."""

    kind: type[_T]
    members: tuple[Member, ...]
    keeps_empty: bool = False
    _written: tuple[tuple[str, str, Callable[[Any], Any] | None], ...] = field(init=False, repr=False, compare=False)
    """Of each member the key, the name, and the function that writes it: a verdict has thousands of objects."""

    def __post_init__(self) -> None:
        written = tuple((each.key, each.name, each.type.write) for each in self.members)
        object.__setattr__(self, "_written", written)

    def read(self, value: JsonValue) -> _T:
        """Return the dataclass value of ``value``; unknown members are ignored."""
        return self.kind(**self.read_fields(value))

    def read_fields(self, value: JsonValue) -> dict[str, Any]:
        """Return the fields in ``value``, by name; those that are absent and have a default are left out."""
        found = value.members()
        read: dict[str, Any] = {}
        for member in self.members:
            item = found.get(member.key)
            if item is not None:
                if (part := member.type.read(value.child(member.key, item))) is not None:
                    read[member.name] = part
            elif member.otherwise is REQUIRED:
                read[member.name] = member.type.read(value.member(member.key))
            elif member.otherwise is not _OPTIONAL:
                read[member.name] = value.absent(member.key, member.otherwise)
        return read

    def read_changes(self, value: JsonValue) -> dict[str, Any]:
        """Return the changes in ``value``, by the name of the field; a null is the field's default."""
        found = value.members()
        defaults = self.defaults()
        changes: dict[str, Any] = {}
        for member in self.members:
            if member.key in found:
                item = found[member.key]
                read = defaults[member.name] if item is None else member.type.read(value.child(member.key, item))
                changes[member.name] = read
        return changes

    def defaults(self) -> dict[str, Any]:
        """Return the defaults of the dataclass, by the name of the field; None for a field without a default."""
        found: dict[str, Any] = {}
        for each in fields(self.kind):  # type: ignore[arg-type] # it is a dataclass
            default = None if each.default is MISSING else each.default
            found[each.name] = default if each.default_factory is MISSING else each.default_factory()
        return found

    def write(self, value: object) -> Document:
        """Return the JSON of ``value``, which has the fields of ``kind``, in the order of the members."""
        document: Document = {}
        for key, name, write in self._written:
            part = getattr(value, name)
            if part is not None and write is not None:
                part = write(part)
            if part or (part is not None and (self.keeps_empty or part not in ("", [], {}))):
                document[key] = part
        return document


JsonSchema: TypeAlias = Document | HasJsonSchema
"""A JSON schema, or what has one; a form has the schema of its objects."""


def object_of(form: ObjectForm[Any]) -> JsonType:
    """Return the type of objects of ``form``."""
    return JsonType(form.read, form.write, form)


def list_of(form: ObjectForm[Any]) -> JsonType:
    """Return the type of lists of objects of ``form``."""
    return JsonType(read_each(form.read), lambda values: [form.write(value) for value in values], ListOf(form))


def word_of(words: type[StrEnum]) -> JsonType:
    """Return the type of texts that are one of ``words``."""
    return JsonType(lambda value: value.one_of(words), str, {"type": "string"})


# --- the types of plain values ----------------------------------------------------------------------------------------

TEXT: Final = JsonType(read_text, schema={"type": "string"})
SUBJECT: Final = JsonType(lambda value: value.parsed(parse_subject, "a subject"), str, {"type": "string"})
"""The qualified name of a subject."""

INTEGER: Final = JsonType(read_integer, schema={"type": "integer"})
FLAG: Final = JsonType(read_flag, schema={"type": "boolean"})
TEXTS: Final = JsonType(read_texts, list, ListOf({"type": "string"}))
TEXT_SET: Final = replace(TEXTS, read=read_text_set)
INTEGERS: Final = JsonType(read_each(read_integer), list, ListOf({"type": "integer"}))
TEXT_BY_KEY: Final = JsonType(
    read_text_by_key,
    lambda texts: dict(sorted(texts.items())),
    {"type": "object", "additionalProperties": {"type": "string"}},
)


def without_null(document: Document) -> Document:
    """Return ``document`` without nulls."""
    return {key: value for key, value in document.items() if value is not None}


# The members of a JSON body that its form does not have, such as a misspelt one: they would have no effect.


def unknown_members(value: Any, form: JsonSchema, place: str = "") -> Iterator[str]:
    """Yield the members of ``value`` that ``form`` does not have, at any depth, each by its path (``metadata.tag``).

    A form is what has the JSON schema of the value: a form of objects or of lists, or a shape with ``member_types``. Of
    a value without one, such as a text or texts by any key, nothing is unknown.
    """
    if isinstance(form, JsonType):
        form = form.schema
    if isinstance(form, ListOf):
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from unknown_members(item, form.items, f"{place}[{index}]")
        return
    types = _types_of(form)
    if types is None or not isinstance(value, dict):
        return
    for key, inner in value.items():
        path = f"{place}.{key}" if place else key
        if key not in types:
            yield path
        elif isinstance(inner, dict | list):
            yield from unknown_members(inner, types[key], path)


def _types_of(form: JsonSchema) -> dict[str, JsonSchema] | None:
    """Return the types of the members of a form's objects, by key; None for what is no form of objects."""
    if isinstance(form, ObjectForm):
        return {member.key: member.type.schema for member in form.members}
    types: dict[str, JsonSchema] | None = getattr(form, "member_types", None)
    return types
