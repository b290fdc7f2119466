"""Received JSON values with their places, read as typed values: by a server in a request, by a client in a response.

The two differ in what they accept. A server reads a request as leniently as other servers of this API, and refuses the
rest with the API's errors; a client accepts only the exact types in a response, but also unknown words, which a newer
registry may return.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from counterfoil.schema.errors import BadRequest, RegistryError
from counterfoil.schema.texts import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from enum import StrEnum


_T = TypeVar("_T")
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

    def __init__(self, value: Any, place: str = "", *, root: str = "") -> None:
        self.value = value
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
    def parsed(self, parse: Callable[[str], _T], expected: str) -> _T:
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

    def members(self) -> Mapping[str, Any]:
        """Return the members of the value, an object."""
        if isinstance(self.value, dict):
            return self.value
        raise self.misfit(self.object_name)

    def items(self) -> tuple[Self, ...]:
        """Return the elements of the value, a list."""
        if isinstance(self.value, list):
            return tuple(type(self)(item, f"{self.place}[{index}]") for index, item in enumerate(self.value))
        raise self.misfit(self.list_name)

    def by_key(self, read: Callable[[JsonValue], _T]) -> dict[str, _T]:
        """Return the members of the value, an object, each read by ``read``: keys sorted, nulls left out."""
        found = self.members()
        return {key: read(self.child(key, found[key])) for key in sorted(found) if found[key] is not None}

    def optional(self, key: str, read: Callable[[JsonValue], _T]) -> _T | None:
        """Return the member ``key`` of the value, an object, read by ``read``; None if it is absent or null."""
        value = self.members().get(key)
        return None if value is None else read(self.child(key, value))

    def child(self, key: str, value: Any) -> Self:
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

    def parsed(self, parse: Callable[[str], _T], expected: str) -> _T:
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

    def parsed(self, parse: Callable[[str], _T], expected: str) -> _T:
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

    def _typed(self, kind: type[_T], expected: str) -> _T:
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


def read_each(read: Callable[[JsonValue], _T]) -> Callable[[JsonValue], tuple[_T, ...]]:
    """Return a function that reads a list, with ``read`` for each element."""
    return lambda value: tuple(map(read, value.items()))
