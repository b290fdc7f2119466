"""Strings that match a regular expression: short ones first, built from the expression and checked with it.

The usual parts of patterns in schemas are supported: literals, classes, groups, alternatives, repetitions, anchors. For
anything else no string is returned; then a candidate is missing, but no result is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Final

from counterfoil.schema.caches import cached_by_size
from counterfoil.schema.patterns.matching import holds_match, is_too_large

MAX_SAMPLES: Final = 16
"""The largest number of matching strings of one pattern."""

MAX_LENGTH: Final = 300
"""The largest length of a string, in characters."""

MAX_PATTERN: Final = 2_000
"""The largest length of a supported expression, in characters."""

MAX_BUILT: Final = 20_000
"""The largest length of a text that is built to be tried, in characters."""

_CACHE_BYTES: Final = 4 * 1024 * 1024
_BYTES_A_RESULT: Final = 500
_MAX_TRIED: Final = 60
_MAX_COPIES: Final = 3
_MAX_PARTS: Final = 40
_CLASS_SAMPLES: Final = {"d": "05", "w": "aZ0_", "s": " \t", "D": "a-", "W": "-!", "S": "a0", "h": " ", "R": "\n"}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "e": "\x1b", "a": "\x07", "0": "\0"}
_FURTHER: Final = ("a", "0", "!", "A ")
_ANY: Final = "a0-"
_WANTED: Final = "a0A-b1B_ .!~é中"
_REPEAT: Final = re.compile(r"(?:([*+?])|\{([0-9]{1,4})(?:(,)([0-9]{0,4}))?\})[?+]?")
_PROPERTY: Final = re.compile(r"[pP]\{(\^?)([A-Za-z_=]+)\}")
_GROUP: Final = re.compile(r"\(\?(?:[a-z]*:|<[A-Za-z][A-Za-z0-9_]*>|P<\w+>|>)")
_BOUNDARIES: Final = frozenset("bBAzZG")


class _Unreadable(Exception):
    """The error for an expression with something that is not supported here."""


def _bytes_of_all(texts: tuple[str, ...], pattern: str) -> int:
    return _BYTES_A_RESULT + len(pattern) + sum(map(len, texts))


def _bytes_of_one(text: str | None, pattern: str, _: int) -> int:
    return _BYTES_A_RESULT + len(pattern) + len(text or "")


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of_all)
def matching_strings(pattern: str) -> tuple[str, ...]:
    """Return strings that contain a match of ``pattern``, the shortest first; none if it is not supported.

    >>> matching_strings("^[a-c]{2}$")[0]
    'aa'
    """
    if is_too_large(pattern):
        return ()
    try:
        built = _Reader(pattern).read()
    except (_Unreadable, RecursionError):
        built = list(_WANTED)
    longer = [part for text in built[:_MAX_COPIES] for more in _FURTHER for part in (text + more, more + text)]
    tried = [*dict.fromkeys(["", *built[: _MAX_TRIED - len(longer)], *longer])]
    return tuple(islice((text for text in sorted(tried, key=len) if holds_match(pattern, text)), MAX_SAMPLES))


@cached_by_size(_CACHE_BYTES, size_of=_bytes_of_one)
def stretched(pattern: str, length: int) -> str | None:
    """Return a string of exactly this length that contains a match; None if none is found."""
    if length > MAX_LENGTH or is_too_large(pattern):
        return None
    for text in _stretchings(pattern, length):
        if len(text) == length and holds_match(pattern, text):
            return text
    return None


def _stretchings(pattern: str, length: int) -> Iterator[str]:
    for text in matching_strings(pattern):
        missing = length - len(text)
        if missing < 0:
            continue
        for filler in (text[-1:], text[:1], "a", "0", "-"):
            yield text + filler * missing
            yield filler * missing + text
        for at in range(1, min(len(text), _MAX_COPIES * _MAX_COPIES)):
            yield text[:at] + text[at] * missing + text[at:]
    try:
        yield from _Reader(pattern, copies=length).read()
    except (_Unreadable, RecursionError):
        return


class _Reader:
    """A reader of an expression from left to right; each part becomes a list of texts that it matches."""

    def __init__(self, pattern: str, *, copies: int = 1) -> None:
        if len(pattern) > MAX_PATTERN:
            raise _Unreadable
        self._pattern = pattern
        self._at = 0
        self._copies = copies

    def read(self) -> list[str]:
        texts = self._alternatives()
        if self._at < len(self._pattern):
            raise _Unreadable
        return texts

    def _alternatives(self) -> list[str]:
        texts = self._sequence()
        while self._take("|"):
            texts = texts + self._sequence()
        return texts[:_MAX_PARTS]

    def _sequence(self) -> list[str]:
        texts = [""]
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            part = self._repeated(self._part())
            texts = _joined(texts, part)
        return texts

    def _part(self) -> list[str]:
        character = self._pattern[self._at]
        if character == "[":
            return self._class()
        if character == "(":
            return self._group()
        self._at += 1
        if character == "\\":
            return self._escape()
        if character in "^$":
            return [""]
        return list(_ANY) if character == "." else [character]

    def _group(self) -> list[str]:
        opening = _GROUP.match(self._pattern, self._at)
        if opening is None and self._pattern.startswith("(?", self._at):
            raise _Unreadable  # a look-around, or flags
        self._at = opening.end() if opening else self._at + 1
        texts = self._alternatives()
        if not self._take(")"):
            raise _Unreadable
        return texts

    def _class(self) -> list[str]:
        end = self._at + 1 + self._pattern.startswith("^", self._at + 1)
        end += self._pattern.startswith("]", end)
        while end < len(self._pattern) and self._pattern[end] != "]":
            end += 1 + (self._pattern[end] == "\\")
        text = self._pattern[self._at : end + 1]
        body = text[1:-1].lstrip("^").replace("\\", "")
        self._at = end + 1
        texts = [character for character in dict.fromkeys(_WANTED + body[:1] + body) if holds_match(text, character)]
        if not texts:
            raise _Unreadable
        return texts[:_MAX_COPIES]

    def _escape(self) -> list[str]:
        found = _PROPERTY.match(self._pattern, self._at)
        if found:
            self._at = found.end()
            return [c for c in _WANTED + "+" if holds_match(f"\\{found.group()}", c)][:_MAX_COPIES] or ["a"]
        name = self._pattern[self._at : self._at + 1]
        self._at += 1
        if name in _CLASS_SAMPLES:
            return list(_CLASS_SAMPLES[name])
        if name in _BOUNDARIES:
            return [""]
        if name in ("x", "u"):
            digits = self._pattern[self._at : self._at + (2 if name == "x" else 4)]
            self._at += len(digits)
            return [chr(int(digits, 16))] if digits and all(c in "0123456789abcdefABCDEF" for c in digits) else ["a"]
        if name.isalnum() and name not in _CONTROLS:
            raise _Unreadable  # a back reference, or a letter of another dialect
        return [_CONTROLS.get(name, name)]

    def _repeated(self, texts: list[str]) -> list[str]:
        found = _REPEAT.match(self._pattern, self._at)
        if found is None:
            return texts
        self._at = found.end()
        least, most = _counts(found)
        wished = [least] if self._copies == 1 else []
        wished += [least + 1, self._copies, self._copies - 1]
        counts = [count for count in wished if least <= count and (most is None or count <= most)]
        distinct = [count for count in dict.fromkeys(counts or [least]) if count <= MAX_LENGTH]
        return _short([text * count for count in distinct for text in texts if len(text) * count <= MAX_BUILT])

    def _take(self, character: str) -> bool:
        if not self._pattern.startswith(character, self._at):
            return False
        self._at += 1
        return True


def _counts(found: re.Match[str]) -> tuple[int, int | None]:
    if found[1]:
        return int(found[1] == "+"), 1 if found[1] == "?" else None
    least = int(found[2])
    if not found[3]:
        return least, least
    return least, int(found[4]) if found[4] else None


def _joined(texts: list[str], part: list[str]) -> list[str]:
    """Return every text with every ending, if these are few; otherwise each text with one ending."""
    if len(texts) * len(part) <= _MAX_PARTS:
        return _short([text + ending for text, ending in product(texts, part)])
    return _short([text + part[index % len(part)] for index, text in enumerate(texts)])


def _short(texts: list[str]) -> list[str]:
    """Return the texts without those that are too long, which only become longer."""
    return [text for text in texts if len(text) <= MAX_BUILT]
