"""The forms of values as JSON objects, one table of members each; received JSON values, read with their places."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Final, Generic, Self, TypeAlias, TypeVar

from counterfoil.schema.contexts import parse_subject
from counterfoil.schema.datum import Json, JsonObject
from counterfoil.schema.errors import BadRequest, RegistryError
from counterfoil.schema.texts import excerpt

# Received JSON values with their places, read as typed values: by a server in a request, by a client in a response.
#
# The two differ in what they accept. A server reads a request as leniently as other servers of this API, and refuses
# the rest with the API's errors; a client accepts only the exact types in a response, but also unknown words, which a
# newer registry may return.

_Read = TypeVar("_Read")
_Word = TypeVar("_Word", bound="StrEnum")

_SHOWN_CHARACTERS = 80
_INT_BITS = 31
_MAX_INT_DIGITS = 20


class UnexpectedShapeError(Exception):
    """A response does not have the form that the API describes. The SDK raises ``RegistryUnavailable`` instead."""


class JsonValue(ABC):
    """A JSON value and its place in the body, such as ``references[0].name``; each method reads it as one type.

    ``root`` is the name in messages of the outermost value, which has no place.
    """

    __slots__ = ("_root", "place", "value")

    object_name: ClassVar[str]
    list_name: ClassVar[str]
    root_name: ClassVar[str]

    def __init__(self, value: object, place: str = "", *, root: str = "") -> None:
        self.value: Json = value
        self.place = place
        self._root = root

    def __str__(self) -> str:
        return self.place or self._root or self.root_name

    @abstractmethod
    def text(self) -> str:
        """Return the value, which must be a text."""

    @abstractmethod
    def integer(self) -> int:
        """Return the value, which must be a whole number."""

    @abstractmethod
    def flag(self) -> bool:
        """Return the value, which must be true or false."""

    @abstractmethod
    def word(self, words: Collection[str]) -> str:
        """Return the value, which must be one of ``words``; in a response it may be an unknown word."""

    @abstractmethod
    def known_word(self, words: type[StrEnum]) -> str | None:
        """Return the value, one of ``words`` in any letter case.

        For another word return None in a request, where the API ignores it, and the word itself in a response.
        """

    @abstractmethod
    def parsed(self, parse: Callable[[str], _Read], expected: str) -> _Read:
        """Return the result of ``parse`` for the value, a text; ``expected`` is the correct form, for the error."""

    @abstractmethod
    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object; a response must have it."""

    @abstractmethod
    def absent(self, key: str, otherwise: object) -> object:
        """Return the value for an absent ``key``: ``otherwise`` in a request; a response must have it."""

    @abstractmethod
    def misfit(self, expected: str) -> Exception:
        """Return an error with the place, the value, and what was expected."""

    @abstractmethod
    def _not_among(self, words: Collection[str]) -> Exception:
        """Return an error for a text that is not one of ``words``."""

    def one_of(self, words: type[_Word], *, any_case: bool = False) -> _Word:
        """Return the value, which must be one of ``words``; with ``any_case`` in any letter case."""
        word = self.text()
        try:
            return words(word.upper() if any_case else word)
        except ValueError:
            raise self._not_among(tuple(words)) from None

    def members(self) -> Mapping[str, Json]:
        """Return the members of the value, an object."""
        if isinstance(self.value, dict):
            return self.value
        raise self.misfit(self.object_name)

    def items(self) -> tuple[Self, ...]:
        """Return the elements of the value, a list."""
        if isinstance(self.value, list):
            return tuple(type(self)(item, f"{self.place}[{index}]") for index, item in enumerate(self.value))
        raise self.misfit(self.list_name)

    def by_key(self, read: Callable[[JsonValue], _Read]) -> dict[str, _Read]:
        """Return the members of the value, an object, each read by ``read``: keys sorted, nulls left out."""
        found = self.members()
        return {key: read(self.child(key, found[key])) for key in sorted(found) if found[key] is not None}

    def optional(self, key: str, read: Callable[[JsonValue], _Read]) -> _Read | None:
        """Return the member ``key`` of the value, an object, read by ``read``; None if it is absent or null."""
        value = self.members().get(key)
        return None if value is None else read(self.child(key, value))

    def child(self, key: str, value: object) -> Self:
        """Return ``value``, the member ``key`` of this value, with its place."""
        return type(self)(value, f"{self.place}.{key}" if self.place else key)


class RequestJson(JsonValue):
    """A JSON value of a request, read as leniently as other servers of this API do.

    If a text is expected, a number is converted to text; if an integer is expected, a fraction is cut; the words
    ``true`` and ``false`` are booleans. A list or an object instead of a plain value, or a word instead of a number, is
    a ``BadRequest`` that names the place.
    """

    __slots__ = ()

    object_name = "a JSON object"
    list_name = "a JSON array"
    root_name = "The request body"

    def text(self) -> str:
        """Return the value as a text: a text itself, or the text of a number or boolean."""
        value = self.value
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return str(value)
        raise self.misfit("a text")

    def integer(self) -> int:
        """Return the value as an integer of 32 bits; a fraction is cut towards zero."""
        number = self._number()
        if number is None:
            raise self.misfit("an integer")
        if not -(1 << _INT_BITS) <= number < 1 << _INT_BITS:
            raise BadRequest(f"{self} must be an integer of 32 bits")
        return number

    def _number(self) -> int | None:
        value = self.value
        if isinstance(value, bool):
            return None
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return int(value) if math.isfinite(value) else None
        if isinstance(value, str):
            word = value.strip()
            digits = word.removeprefix("-")
            if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_INT_DIGITS:
                return int(word)
        return None

    def flag(self) -> bool:
        """Return the value as a boolean: itself, the words true and false, a number that is not 0."""
        value = self.value
        if isinstance(value, (bool, int)):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        raise self.misfit("true or false")

    def word(self, words: Collection[str]) -> str:
        """Return the value, which must be one of ``words``."""
        word = self.text()
        if word not in words:
            raise self._not_among(words)
        return word

    def known_word(self, words: type[StrEnum]) -> str | None:
        """Return the value, one of ``words`` in any letter case; None for another word, which the API ignores."""
        try:
            return words(self.text().upper())
        except ValueError:
            return None

    def parsed(self, parse: Callable[[str], _Read], expected: str) -> _Read:
        """Return the result of ``parse`` for the value, a text; ``parse`` raises the error for an invalid one."""
        del expected
        return parse(self.text())

    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object; null if it is absent."""
        return self.child(key, self.members().get(key))

    def absent(self, key: str, otherwise: object) -> object:
        """Return ``otherwise``: a request may leave out everything."""
        del key
        return otherwise

    def misfit(self, expected: str) -> BadRequest:
        """Return an error with the place, the type of the value, and what was expected."""
        names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
        return BadRequest(f"{self} must be {expected}, not {names.get(type(self.value), 'a number')}")

    def _not_among(self, words: Collection[str]) -> BadRequest:
        return BadRequest(f"{self} is {self.text()[:_SHOWN_CHARACTERS]!r}; expected one of {', '.join(words)}")


class ReplyJson(JsonValue):
    """A JSON value of a registry's response: it has exactly the expected type, or is an ``UnexpectedShapeError``."""

    __slots__ = ()

    object_name = "an object"
    list_name = "a list"
    root_name = "the reply"

    def __str__(self) -> str:
        return f".{self.place}" if self.place and not self.place.startswith("[") else super().__str__()

    def text(self) -> str:
        """Return the value, which must be a string."""
        return self._typed(str, "a string")

    def integer(self) -> int:
        """Return the value, which must be a whole number."""
        if isinstance(self.value, bool):
            raise self.misfit("a whole number")
        return self._typed(int, "a whole number")

    def flag(self) -> bool:
        """Return the value, which must be true or false."""
        return self._typed(bool, "true or false")

    def word(self, words: Collection[str]) -> str:
        """Return the value, a text: a registry may return other words than ``words``."""
        del words
        return self.text()

    def known_word(self, words: type[StrEnum]) -> str:
        """Return the value, a text: a registry may return other words than ``words``."""
        del words
        return self.text()

    def parsed(self, parse: Callable[[str], _Read], expected: str) -> _Read:
        """Return the result of ``parse`` for the value, a text."""
        try:
            return parse(self.text())
        except (ValueError, RegistryError):
            raise self.misfit(expected) from None

    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object."""
        found = self.members()
        if key not in found:
            raise self._without(key)
        return self.child(key, found[key])

    def absent(self, key: str, otherwise: object) -> object:
        """Raise ``UnexpectedShapeError``, since the response must have ``key``."""
        del otherwise
        raise self._without(key)

    def misfit(self, expected: str) -> UnexpectedShapeError:
        """Return an error with the place, the value, and what was expected."""
        return UnexpectedShapeError(f"{self} is {excerpt(repr(self.value), _SHOWN_CHARACTERS)} and not {expected}")

    def _without(self, key: str) -> UnexpectedShapeError:
        return UnexpectedShapeError(f"{self} has no {key!r}")

    def _not_among(self, words: Collection[str]) -> UnexpectedShapeError:
        return self.misfit(f"one of {', '.join(words)}")

    def _typed(self, kind: type[_Read], expected: str) -> _Read:
        if not isinstance(self.value, kind):
            raise self.misfit(expected)
        return self.value


# --- as arguments of `optional`, and in the tables of :mod:`counterfoil.schema.rest.object_forms` ---------------------


def read_text(value: JsonValue) -> str:
    """Return ``value`` as a text."""
    return value.text()


def read_integer(value: JsonValue) -> int:
    """Return ``value`` as a whole number."""
    return value.integer()


def read_number(value: JsonValue) -> float:
    """Return ``value`` as a number, whole or not."""
    if isinstance(value.value, bool) or not isinstance(value.value, (int, float)):
        raise value.misfit("a number")
    return value.value


def read_flag(value: JsonValue) -> bool:
    """Return ``value`` as a boolean."""
    return value.flag()


def read_texts(value: JsonValue) -> tuple[str, ...]:
    """Return ``value`` as a tuple of texts."""
    return tuple(item.text() for item in value.items())


def read_text_set(value: JsonValue) -> tuple[str, ...]:
    """Return ``value`` as a sorted tuple of distinct texts; the order of the list has no meaning."""
    return tuple(sorted(set(read_texts(value))))


def read_text_by_key(value: JsonValue) -> dict[str, str]:
    """Return ``value`` as texts by key."""
    return value.by_key(read_text)


def read_each(read: Callable[[JsonValue], _Read]) -> Callable[[JsonValue], tuple[_Read, ...]]:
    """Return a function that reads a list, with ``read`` for each element."""
    return lambda value: tuple(map(read, value.items()))


# The forms of values as JSON objects: one table of members, to read requests and responses, to write, to describe.

Document = JsonObject
"""A JSON object."""

_T = TypeVar("_T")
OPTIONAL: Final = object()
"""The value of ``otherwise`` for a member that may be absent, although its field has no default."""

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

    read: Callable[[JsonValue], Json]
    write: Callable[[Json], Json] | None = None
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
    otherwise: object = OPTIONAL
    about: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether responses may be without it."""
        return self.otherwise is OPTIONAL


@dataclass(frozen=True, slots=True)
class ObjectForm(HasJsonSchema, Generic[_T]):
    """The JSON form of the dataclass ``kind``.

    None is not written; an empty value is, if requests must have the member, and with ``keeps_empty`` any other, too.
    """

    kind: type[_T]
    members: tuple[Member, ...]
    keeps_empty: bool = False
    _written: tuple[tuple[str, str, Callable[[Json], Json] | None, bool], ...] = field(
        init=False, repr=False, compare=False
    )
    """Of each member the key, the name, the function that writes it, and whether it is written if it is empty.

    A verdict has thousands of objects.
    """

    def __post_init__(self) -> None:
        written = tuple(
            (each.key, each.name, each.type.write, self.keeps_empty or each.otherwise is REQUIRED)
            for each in self.members
        )
        object.__setattr__(self, "_written", written)

    def read(self, value: JsonValue) -> _T:
        """Return the dataclass value of ``value``; unknown members are ignored."""
        return self.kind(**self.read_fields(value))

    def read_fields(self, value: JsonValue) -> JsonObject:
        """Return the fields in ``value``, by name; those that are absent and have a default are left out."""
        found = value.members()
        read: JsonObject = {}
        for member in self.members:
            item = found.get(member.key)
            if item is not None:
                if (part := member.type.read(value.child(member.key, item))) is not None:
                    read[member.name] = part
            elif member.otherwise is REQUIRED:
                read[member.name] = member.type.read(value.member(member.key))
            elif member.otherwise is not OPTIONAL:
                read[member.name] = value.absent(member.key, member.otherwise)
        return read

    def read_changes(self, value: JsonValue) -> JsonObject:
        """Return the changes in ``value``, by the name of the field; a null is the field's default."""
        found = value.members()
        defaults = self.defaults()
        changes: JsonObject = {}
        for member in self.members:
            if member.key in found:
                item = found[member.key]
                read = defaults[member.name] if item is None else member.type.read(value.child(member.key, item))
                changes[member.name] = read
        return changes

    def defaults(self) -> JsonObject:
        """Return the defaults of the dataclass, by the name of the field; None for a field without a default."""
        found: JsonObject = {}
        for each in fields(self.kind):  # type: ignore[arg-type] # it is a dataclass
            default = None if each.default is MISSING else each.default
            found[each.name] = default if each.default_factory is MISSING else each.default_factory()
        return found

    def write(self, value: object) -> Document:
        """Return the JSON of ``value``, which has the fields of ``kind``, in the order of the members."""
        document: Document = {}
        for key, name, write, keeps_empty in self._written:
            part = getattr(value, name)
            if part is not None and write is not None:
                part = write(part)
            if part or (part is not None and (keeps_empty or part not in ("", [], {}))):
                document[key] = part
        return document


JsonSchema: TypeAlias = Document | HasJsonSchema
"""A JSON schema, or what has one; a form has the schema of its objects."""


def object_of(form: ObjectForm[Json]) -> JsonType:
    """Return the type of objects of ``form``."""
    return JsonType(form.read, form.write, form)


def list_of(form: ObjectForm[Json]) -> JsonType:
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


NUMBER: Final = JsonType(read_number, schema={"type": "number"})

_TYPE_BY_ANNOTATION: Final = {
    "str": TEXT,
    "int": INTEGER,
    "float": NUMBER,
    "bool": FLAG,
    "QualifiedSubject": SUBJECT,
    "tuple[str, ...]": TEXTS,
    "tuple[int, ...]": INTEGERS,
    "Mapping[str, str]": TEXT_BY_KEY,
}
_FORM_BY_CLASS: Final[dict[str, ObjectForm[Json]]] = {}
"""The form of each class that has one, by its name, the type of fields of that class; the first of several."""


def form_of(
    kind: type[_T],
    *fields_in_order: str,
    about: Mapping[str, str] = MappingProxyType({}),
    keys: Mapping[str, str] = MappingProxyType({}),
    types: Mapping[str, JsonType] = MappingProxyType({}),
    otherwise: Mapping[str, object] = MappingProxyType({}),
    keeps_empty: bool = False,
) -> ObjectForm[_T]:
    """Return the form of a dataclass, with what follows from its fields: their keys, types, and which are required.

    The members are those of the fields in the order of the dataclass, or of ``fields_in_order``. A key is the name of
    its field in camel case, or that of ``keys``; a field without a default is :data:`REQUIRED`, unless ``otherwise``
    has a value for it. ``types`` has the types that do not follow from annotations, such as lists without an order.

    >>> @dataclass(frozen=True)
    ... class Lag:
    ...     topic: str
    ...     max_lag: int | None = None
    >>> [(each.key, each.is_optional) for each in form_of(Lag).members]
    [('topic', False), ('maxLag', True)]
    """
    found = {each.name: each for each in fields(kind)}  # type: ignore[arg-type] # it is a dataclass
    members = tuple(
        Member(
            keys.get(name) or camel_case(name),
            name,
            types[name] if name in types else _type_of(kind, str(found[name].type)),
            otherwise.get(name, REQUIRED if _has_no_default(found[name]) else OPTIONAL),
            about.get(name, ""),
        )
        for name in fields_in_order or found
    )
    form = ObjectForm(kind, members, keeps_empty)
    _FORM_BY_CLASS.setdefault(kind.__name__, form)
    return form


def camel_case(name: str) -> str:
    """Return a name with words in camel case, as members of JSON have it."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _has_no_default(found: Field[Json]) -> bool:
    return found.default is MISSING and found.default_factory is MISSING


def _type_of(kind: type, annotation: str) -> JsonType:
    """Return the type of a field by its annotation, which is a text: annotations are not evaluated."""
    name = annotation.removesuffix(" | None")
    if name in _TYPE_BY_ANNOTATION:
        return _TYPE_BY_ANNOTATION[name]
    if name in _FORM_BY_CLASS:
        return object_of(_FORM_BY_CLASS[name])
    element = name.removeprefix("tuple[").removesuffix(", ...]")
    if element in _FORM_BY_CLASS:
        return list_of(_FORM_BY_CLASS[element])
    words = vars(sys.modules[kind.__module__]).get(name)
    if not (isinstance(words, type) and issubclass(words, StrEnum)):
        raise TypeError(f"the type of {annotation} in {kind.__name__} must be given, since none follows from it")
    return word_of(words)


def without_null(document: Document) -> Document:
    """Return ``document`` without nulls."""
    return {key: value for key, value in document.items() if value is not None}


# The members of a JSON body that its form does not have, such as a misspelt one: they would have no effect.


def unknown_members(value: object, form: JsonSchema, place: str = "") -> Iterator[str]:
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
