"""Comparing the words of a query with names and sentences: folding, how well a name matches, and where."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

MAX_NAME_CHARS: Final = 500
"""The characters of a name that are compared; what comes after them is not found."""

MAX_DOC_CHARS: Final = 2000
"""The characters of a documentation text that are kept and compared."""

TRIGRAM: Final = 3

_SORTED_CHARS: Final = 40

_REMEMBERED: Final = 4096
"""The names whose folded form is remembered: rows of one search repeat the same ones."""

_IGNORED: Final = str.maketrans("", "", "_-.")
_REPLACEMENT: Final = "\ufffd"
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_WORDS: Final = re.compile(r"[^\W_]+")
_PARTS_OF_NAMES: Final = re.compile(r"[^\W_A-Z]+|[A-Z]+[^\W_A-Z]*")
_COMPOUNDS: Final = re.compile(r"[^\W_]+(?:[_.\-]+[^\W_]+)+")


class Closeness(IntEnum):
    """How well a name matches a word, the best first."""

    EXACT = 0
    BEGINNING = 1
    INSIDE = 2


def storable(text: str) -> str:
    """Return ``text`` as every database can store it: without U+0000 and lone surrogates."""
    if text.isascii() and "\x00" not in text:
        return text
    return _NOT_STORABLE.sub(_REPLACEMENT, text)


@lru_cache(maxsize=_REMEMBERED)
def fold(text: str) -> str:
    """Return ``text`` as it is compared: without case, and without ``_``, ``-`` and ``.``.

    A text of these characters alone stays as it is.

    >>> fold("customer_email") == fold("customerEmail") == fold("Customer.E-Mail")
    True
    """
    text = storable(text[: 2 * MAX_NAME_CHARS])
    if text.isascii():  # nearly always, and then this is the same in a quarter of the time
        folded = text.lower()
        return (bare(folded) or folded)[:MAX_NAME_CHARS]
    folded = unicodedata.normalize("NFC", text).casefold()
    return (folded.translate(_IGNORED) or folded)[:MAX_NAME_CHARS]


def bare(text: str) -> str:
    """Return a text without ``_``, ``-`` and ``.``."""
    return text.replace("_", "").replace("-", "").replace(".", "")


def folded_beginning(text: str) -> str:
    """Return what a documentation text is sorted by."""
    return fold(text)[:_SORTED_CHARS]


def closeness(folded: str, word: str) -> Closeness | None:
    """Return how well a folded name matches a folded word; None if it does not.

    A word of one or two characters matches beginnings only.
    """
    if folded == word:
        return Closeness.EXACT
    if folded.startswith(word):
        return Closeness.BEGINNING
    return Closeness.INSIDE if len(word) >= TRIGRAM and word in folded else None


def contains(folded: str, word: str) -> bool:
    """Return whether a folded name matches a folded word."""
    return folded.startswith(word) or (len(word) >= TRIGRAM and word in folded)


def words_of_doc(text: str) -> list[str]:
    """Return the different words of a documentation text, folded: those with ``_-.`` inside, and their parts.

    >>> words_of_doc("The order_id, as typed.")
    ['the', 'order', 'id', 'as', 'typed', 'orderid']
    """
    normal = unicodedata.normalize("NFC", storable(text[:MAX_DOC_CHARS])).casefold()
    found = [*_WORDS.findall(normal), *(fold(each) for each in _COMPOUNDS.findall(normal))]
    return [each[:MAX_NAME_CHARS] for each in dict.fromkeys(found)]


def parts_of_name(name: str) -> tuple[str, ...]:
    """Return the words that a name is made of, folded; none for a name of one word.

    >>> parts_of_name("customer_email"), parts_of_name("customerEMail"), parts_of_name("email")
    (('customer', 'email'), ('customer', 'email'), ())
    """
    found = [fold(each) for each in _PARTS_OF_NAMES.findall(storable(name[:MAX_NAME_CHARS]))]
    return tuple(found) if len(found) > 1 else ()


def words_begin(words: Iterable[str], word: str) -> bool:
    """Return whether a word of a documentation text begins with ``word``."""
    return any(each.startswith(word) for each in words)


def trigrams(word: str) -> list[str]:
    """Return the different parts of three characters of a folded word."""
    return list(dict.fromkeys(word[at : at + TRIGRAM] for at in range(len(word) - TRIGRAM + 1)))


def marks_in(text: str, words: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of ``text`` that match folded words, joined where they touch.

    >>> marks_in("customerEmail", ["email"])
    ((8, 13),)
    """
    folded, places = _with_places(text)
    ranges = sorted(
        (places[at], places[at + len(word) - 1] + 1) for word in words if word for at in _found_at(folded, word)
    )
    joined: list[tuple[int, int]] = []
    for first, end in ranges:
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return tuple(joined)


def _with_places(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and for each of its characters the place in ``text`` where it comes from."""
    parts: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text[:MAX_DOC_CHARS]):
        folded = character.casefold().translate(_IGNORED)
        parts.append(folded)
        places += [place] * len(folded)
    return "".join(parts), places


def _found_at(folded: str, word: str) -> Iterator[int]:
    at = folded.find(word)
    while at >= 0:
        yield at
        at = folded.find(word, at + len(word))
