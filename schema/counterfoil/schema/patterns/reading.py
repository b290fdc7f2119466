r"""Regular expressions of ECMA 262 as values: the grammar with the flag ``u``, and what others add without conflict.

Where that grammar has only errors, these are read as well, since schemas that are in use have them: an escape of a
character that is neither a letter nor a digit; ``{``, ``}`` and ``]`` as themselves; Java's ``\A``, ``\z``, ``\Z``,
``\Q…\E``, ``\pL``, atomic groups and possessive repetitions.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from counterfoil.schema.patterns.syntax import (
    LAST_CODE_POINT,
    LINE_ENDS,
    SETS,
    Alternatives,
    Atomic,
    BackReference,
    BoundaryAssertion,
    Characters,
    Expression,
    Look,
    NumberedGroup,
    PatternSequence,
    Repeated,
    Span,
    UnicodeProperty,
    complement,
    is_property,
)

MAX_COUNT: Final = 1_000_000
"""The largest count of a repetition that is read."""

_DIGITS: Final = frozenset("0123456789")
_MOST_DIGITS: Final = 6
_HIGH_SURROGATES: Final = range(0xD800, 0xDC00)
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)
_CONTROLS: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_COUNTS: Final = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})(?:\\u([0-9A-Fa-f]{4}))?")
_NAME: Final = re.compile(r"(?:[\w$]|\\u(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]+\}))+(?=>)")
_OPENINGS: Final = {
    "?:": None,
    "?=": (False, False),
    "?!": (False, True),
    "?<=": (True, False),
    "?<!": (True, True),
}
_NEVER_ESCAPED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


class NotEcma(ValueError):
    """The error for a text that is no regular expression of ECMA 262; its message says why."""


def read_expression(text: str) -> Expression:
    r"""Return a regular expression as a value. Raises ``NotEcma``.

    >>> read_expression(r"a\d")
    PatternSequence(parts=(Characters(items=((97, 97),), ...), Characters(items=((48, 57),), ...)))
    """
    try:
        return _Reader(text).read()
    except RecursionError:
        raise NotEcma("its groups are nested too deep") from None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._groups = 0
        self._numbers_by_name: dict[str, list[int]] = {}
        self._largest_reference = 0
        self._has_empty_class = self._has_bracket = False

    def read(self) -> Expression:
        self._numbers_by_name = _numbers_by_name(self._text)
        found = self._choice()
        if self._at < len(self._text):
            self._refuse("a group ends that did not begin")
        if self._largest_reference > self._groups:
            self._refuse(f"no group has the number {self._largest_reference}")
        if self._has_empty_class and self._has_bracket:  # in other dialects, a bracket at the start of a class is of it
            self._refuse("a character class is empty, and another one ends that did not begin")
        return found

    def _refuse(self, problem: str) -> NoReturn:
        raise NotEcma(f"{problem}, at character {self._at}")

    def _takes(self, text: str) -> bool:
        """Return whether ``text`` is next, and go behind it if it is."""
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _choice(self) -> Expression:
        options = [self._sequence()]
        while self._takes("|"):
            options.append(self._sequence())
        return options[0] if len(options) == 1 else Alternatives(tuple(options))

    def _sequence(self) -> Expression:
        parts: list[Expression] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            if self._takes("\\Q"):
                end = self._text.find("\\E", self._at)
                quoted = self._text[self._at : end if end >= 0 else len(self._text)]
                self._at += len(quoted) + 2
                parts += map(_one, map(ord, quoted[:-1]))
                if quoted:
                    parts.append(self._repeated(_one(ord(quoted[-1]))))
            else:
                parts.append(self._repeated(self._atom()))
        return parts[0] if len(parts) == 1 else PatternSequence(tuple(parts))

    def _repeated(self, part: Expression) -> Expression:
        """Return a part with the repetition behind it."""
        counts = _COUNTS.match(self._text, self._at)
        sign = self._text[self._at : self._at + 1]
        if counts is None and sign not in {"*", "+", "?"}:
            return part
        if isinstance(part, BoundaryAssertion) or (isinstance(part, Look) and part.is_behind):
            self._refuse("a place is repeated")
        if isinstance(part, Look):
            self._refuse("a condition is repeated")
        least: int
        most: int | None
        if counts is None:
            self._at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            self._at = counts.end()
            least = self._count(counts[1])
            most = least if counts[2] is None else self._count(counts[3]) if counts[3] else None
            if most is not None and most < least:
                self._refuse("the counts of a repetition are in the wrong order")
        if self._takes("+"):
            return Atomic(Repeated(part, least, most))
        found = Repeated(part, least, most, self._takes("?"))
        if self._text[self._at : self._at + 1] in {"*", "+", "?"}:
            self._refuse("a repetition is repeated")
        return found

    def _count(self, digits: str) -> int:
        if len(digits.lstrip("0")) > len(str(MAX_COUNT)) or int(digits) > MAX_COUNT:
            self._refuse(f"a count is larger than {MAX_COUNT}")
        return int(digits)

    def _atom(self) -> Expression:
        character = self._text[self._at]
        if character in "*+?" or _COUNTS.match(self._text, self._at):
            self._refuse(f"nothing stands before {character}")
        self._at += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "\\":
                return self._escape()
            case "^" | "$":
                return BoundaryAssertion(character)
            case ".":
                return Characters(LINE_ENDS, is_negated=True)
            case _:
                self._has_bracket = self._has_bracket or character == "]"
                return _one(ord(character))

    def _group(self) -> Expression:
        for opening, look in _OPENINGS.items():
            if self._takes(opening):
                part = self._inner()
                return PatternSequence((part,)) if look is None else Look(part, *look)
        if self._takes("?>"):
            return Atomic(self._inner())
        if self._takes("?<"):
            self._name()
        elif self._takes("?"):
            self._refuse("a group begins as none of ECMA 262")
        self._groups += 1
        number = self._groups
        return NumberedGroup(number, self._inner())

    def _inner(self) -> Expression:
        found = self._choice()
        if not self._takes(")"):
            self._refuse("a group does not end")
        return found

    def _name(self) -> str:
        found = _NAME.match(self._text, self._at)
        if found is None or found.group()[0].isdecimal():
            self._refuse("a group has no name of ECMA 262")
        self._at = found.end() + 1
        return found.group()

    def _escape(self) -> Expression:
        """Read what is after a backslash, outside of a class."""
        at = self._at
        character = self._text[at : at + 1]
        if character in {"b", "B"}:
            self._at += 1
            return BoundaryAssertion(character)
        if character in {"A", "z", "Z"}:
            self._at += 1
            if character == "Z":
                last_line = PatternSequence((Repeated(Characters(LINE_ENDS), 0, 1), BoundaryAssertion("$")))
                return Look(last_line, is_behind=False, is_negated=False)
            return BoundaryAssertion("^" if character == "A" else "$")
        if character == "k" and self._text[at + 1 : at + 2] == "<":
            self._at += 2
            name = self._name()
            if name not in self._numbers_by_name:
                self._refuse(f"no group has the name {name}")
            return BackReference(tuple(self._numbers_by_name[name]))
        if character and character in "123456789":
            while self._text[self._at : self._at + 1] in _DIGITS and self._at - at < _MOST_DIGITS:
                self._at += 1
            number = int(self._text[at : self._at])
            self._largest_reference = max(self._largest_reference, number)
            return BackReference((number,))
        items = self._set_escape()
        return Characters(items) if items is not None else _one(self._code_point())

    def _set_escape(self) -> tuple[Span | UnicodeProperty, ...] | None:
        r"""Read ``d``, ``w``, ``s``, ``p`` and their negations; return None for anything else."""
        character = self._text[self._at : self._at + 1]
        if character and character in "dwsDWS":
            self._at += 1
            spans = SETS[character.lower()]
            return complement(spans) if character.isupper() else spans
        if character and character in "pP":
            found = re.compile(r"[pP](?:\{([A-Za-z0-9_=]+)\}|([LMNPSZC]))").match(self._text, self._at)
            if found is None or not is_property(found[1] or found[2]):
                self._refuse("a property of Unicode has no name of ECMA 262")
            self._at = found.end()
            return (UnicodeProperty(found[1] or found[2], is_negated=character == "P"),)
        return None

    def _code_point(self) -> int:
        """Read an escape that stands for one code point."""
        character = self._text[self._at : self._at + 1]
        if not character:
            self._refuse("it ends in a backslash")
        if character in _CONTROLS:
            self._at += 1
            return _CONTROLS[character]
        if character == "c" and re.compile("c[A-Za-z]").match(self._text, self._at):
            self._at += 2
            return ord(self._text[self._at - 1]) % 32
        if character == "0" and not self._text[self._at + 1 : self._at + 2].isdigit():
            self._at += 1
            return 0
        if character in "xu":
            return self._numbered()
        if character in _NEVER_ESCAPED:
            self._refuse(f"\\{character} has no meaning")
        self._at += 1
        return ord(character)

    def _numbered(self) -> int:
        found = _HEX.match(self._text, self._at)
        if found is None:
            self._refuse("a code point has no number")
        if found[3] is None:
            self._at = found.end()
            value = int(found[1] or found[2], 16)
            if value > LAST_CODE_POINT:
                self._refuse("a code point is larger than 10FFFF")
            return value
        high, low = int(found[3], 16), int(found[4] or "0", 16)
        if high in _HIGH_SURROGATES and low in _LOW_SURROGATES:
            self._at = found.end()
            return 0x10000 + _HIGH_SURROGATES.index(high) * len(_LOW_SURROGATES) + _LOW_SURROGATES.index(low)
        self._at = found.end(3)
        return high

    def _class(self) -> Characters:
        is_negated = self._takes("^")
        items: list[Span | UnicodeProperty] = []
        while not self._takes("]"):
            first = self._member()
            if not (self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] != "]"):
                items += first
                continue
            self._at += 1
            last = self._member()
            ends = (_only(first), _only(last))
            if ends[0] is None or ends[1] is None:
                self._refuse("a range has a set at its end")
            span = (ends[0], ends[1])
            if span[0] > span[1]:
                self._refuse("the ends of a range are in the wrong order")
            items.append(span)
        self._has_empty_class = self._has_empty_class or not items
        return Characters(tuple(items), is_negated)

    def _member(self) -> tuple[Span | UnicodeProperty, ...]:
        """Read a character of a class, or an escape of a set."""
        if self._at >= len(self._text):
            self._refuse("a character class does not end")
        character = self._text[self._at]
        self._at += 1
        if character != "\\":
            return ((ord(character), ord(character)),)
        if self._takes("b"):
            return ((8, 8),)
        found = self._set_escape()
        if found is not None:
            return found
        value = self._code_point()
        return ((value, value),)


def _one(code_point: int) -> Characters:
    return Characters(((code_point, code_point),))


def _only(items: tuple[Span | UnicodeProperty, ...]) -> int | None:
    """Return the code point that is the only one of a set; None for a set with others."""
    [item, *others] = items
    if others or isinstance(item, UnicodeProperty) or item[0] != item[1]:
        return None
    return item[0]


_GROUP_START: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[(?:[^\]\\]|\\.)*\]|(\((?:\?<([^=!>][^>]*)>|(?!\?)))", re.DOTALL
)


def _numbers_by_name(text: str) -> dict[str, list[int]]:
    """Return the numbers of the named groups, which references may stand before."""
    numbers: dict[str, list[int]] = {}
    count = 0
    for found in _GROUP_START.finditer(text):
        if found[1]:
            count += 1
            if found[2]:
                numbers.setdefault(found[2], []).append(count)
    return numbers
