"""A JSON value that was received, with its place, read as one type: by a server in a request, by a client in a reply.

The two differ in what they accept. A server reads a request as lenient servers of this API do, and refuses the rest
with the API's errors; a client reads a reply exactly, and accepts what a registry that knows more may answer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from counterfoil.schema.errors import BadRequest, RegistryError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from enum import StrEnum

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound="StrEnum")

_SHOWN_CHARACTERS = 80
_INT_BITS = 31
_MAX_INT_DIGITS = 20


class UnexpectedShapeError(Exception):
    """A reply does not have the form that the API describes. The SDK turns it into ``RegistryUnavailable``."""


class JsonValue(ABC):
    """A JSON value and its place in the body, such as ``references[0].name``; the methods read it as one type.

    ``root`` is the name of the outermost value, which has no place, in messages.
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
        """Return the value, a text."""

    @abstractmethod
    def integer(self) -> int:
        """Return the value, a whole number."""

    @abstractmethod
    def flag(self) -> bool:
        """Return the value, true or false."""

    @abstractmethod
    def word(self, words: Collection[str]) -> str:
        """Return the value, one of ``words``; a reply may hold a word that is not known here."""

    @abstractmethod
    def known_word(self, words: type[StrEnum]) -> str | None:
        """Return the value, one of ``words`` in any letter case.

        Another word is None in a request, where the API ignores it, and itself in a reply.
        """

    @abstractmethod
    def parsed(self, parse: Callable[[str], _T], expected: str) -> _T:
        """Return what ``parse`` makes of the value, a text; ``expected`` says what is right."""

    @abstractmethod
    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object, which a reply must have."""

    @abstractmethod
    def absent(self, key: str, otherwise: object) -> object:
        """Return what stands for an absent ``key``: ``otherwise`` in a request, while a reply must have it."""

    @abstractmethod
    def misfit(self, expected: str) -> Exception:
        """Return the error that names the place, what is there, and what was expected."""

    @abstractmethod
    def _not_among(self, words: Collection[str]) -> Exception:
        """Return the error for a text that is not one of ``words``."""

    def one_of(self, words: type[_Word], *, any_case: bool = False) -> _Word:
        """Return the value, one of ``words``; with ``any_case`` in any letter case."""
        word = self.text()
        try:
            return words(word.upper() if any_case else word)
        except ValueError:
            raise self._not_among(tuple(words)) from None

    def object(self) -> Mapping[str, Any]:
        """Return the value, an object."""
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
        found = self.object()
        return {key: read(self.child(key, found[key])) for key in sorted(found) if found[key] is not None}

    def optional(self, key: str, read: Callable[[JsonValue], _T]) -> _T | None:
        """Return the member ``key`` of the value, an object, read by ``read``; None where it is absent or null."""
        value = self.object().get(key)
        return None if value is None else read(self.child(key, value))

    def child(self, key: str, value: Any) -> Self:
        """Return ``value``, which stands under ``key``, with its place."""
        return type(self)(value, f"{self.place}.{key}" if self.place else key)


class RequestJson(JsonValue):
    """A JSON value of a request, read as lenient servers of this API do.

    A number where a text is expected is its own spelling, a fraction where an integer is expected is cut, the words
    ``true`` and ``false`` are booleans. A list or an object in the place of a plain value, or a word where a number is
    expected, is a ``BadRequest`` that names the place.
    """

    __slots__ = ()

    object_name = "a JSON object"
    list_name = "a JSON array"
    root_name = "The request body"

    def text(self) -> str:
        """Return the value as a text: a text itself, or the spelling of a number or boolean."""
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
        """Return the value, one of ``words``."""
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
        """Return what ``parse`` makes of the value, a text; its own error says what is right."""
        del expected
        return parse(self.text())

    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object; null where it is absent."""
        return self.child(key, self.object().get(key))

    def absent(self, key: str, otherwise: object) -> object:
        """Return ``otherwise``: a request may leave out everything."""
        del key
        return otherwise

    def misfit(self, expected: str) -> BadRequest:
        """Return the error that names the place, the type of what is there, and what was expected."""
        names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
        return BadRequest(f"{self} must be {expected}, not {names.get(type(self.value), 'a number')}")

    def _not_among(self, words: Collection[str]) -> BadRequest:
        return BadRequest(f"{self} is {self.text()[:_SHOWN_CHARACTERS]!r}; expected one of {', '.join(words)}")


class ReplyJson(JsonValue):
    """A JSON value of a registry's reply: of exactly the expected type, or an ``UnexpectedShapeError``."""

    __slots__ = ()

    object_name = "an object"
    list_name = "a list"
    root_name = "the reply"

    def __str__(self) -> str:
        return f".{self.place}" if self.place and not self.place.startswith("[") else super().__str__()

    def text(self) -> str:
        """Return the value, a string."""
        return self._typed(str, "a string")

    def integer(self) -> int:
        """Return the value, a whole number."""
        if isinstance(self.value, bool):
            raise self.misfit("a whole number")
        return self._typed(int, "a whole number")

    def flag(self) -> bool:
        """Return the value, true or false."""
        return self._typed(bool, "true or false")

    def word(self, words: Collection[str]) -> str:
        """Return the value, a text: a registry may know more words than ``words``."""
        del words
        return self.text()

    def known_word(self, words: type[StrEnum]) -> str:
        """Return the value, a text: a registry may know more words than ``words``."""
        del words
        return self.text()

    def parsed(self, parse: Callable[[str], _T], expected: str) -> _T:
        """Return what ``parse`` makes of the value, a text."""
        try:
            return parse(self.text())
        except (ValueError, RegistryError):
            raise self.misfit(expected) from None

    def member(self, key: str) -> Self:
        """Return the member ``key`` of the value, an object."""
        found = self.object()
        if key not in found:
            raise self._without(key)
        return self.child(key, found[key])

    def absent(self, key: str, otherwise: object) -> object:
        """Raise: the reply must have ``key``."""
        del otherwise
        raise self._without(key)

    def misfit(self, expected: str) -> UnexpectedShapeError:
        """Return the error that names the place, what is there, and what was expected."""
        shown = repr(self.value)
        if len(shown) > _SHOWN_CHARACTERS:
            shown = f"{shown[:_SHOWN_CHARACTERS]}…"
        return UnexpectedShapeError(f"{self} is {shown} and not {expected}")

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
    """Return ``value``, a text."""
    return value.text()


def read_integer(value: JsonValue) -> int:
    """Return ``value``, a whole number."""
    return value.integer()


def read_flag(value: JsonValue) -> bool:
    """Return ``value``, true or false."""
    return value.flag()


def read_texts(value: JsonValue) -> tuple[str, ...]:
    """Return ``value``, a list of texts."""
    return tuple(item.text() for item in value.items())


def read_text_set(value: JsonValue) -> tuple[str, ...]:
    """Return ``value``, a list of texts whose order says nothing, sorted and each once."""
    return tuple(sorted(set(read_texts(value))))


def read_text_by_key(value: JsonValue) -> dict[str, str]:
    """Return ``value``, an object whose members are texts."""
    return value.by_key(read_text)


def read_each(read: Callable[[JsonValue], _T]) -> Callable[[JsonValue], tuple[_T, ...]]:
    """Return the reader of a list whose elements ``read`` reads."""
    return lambda value: tuple(map(read, value.items()))
