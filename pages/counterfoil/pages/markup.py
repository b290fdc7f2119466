"""Texts as HTML: the only module that makes markup, and that says how characters which mislead are written.

Every text that a template prints passes :func:`shown`, so that a template cannot forget it.

Sources: Unicode Standard Annex 44 (categories); "Trojan Source", Boucher and Anderson 2021, about bidirectional
controls; Unicode Technical Standard 39, section 5.2 (mixed scripts, "highly restrictive").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from counterfoil.schema.rest.inspection import SourceLine, SourceToken

# Characters that mislead: written as their numbers.

MOST_OF_A_NAME: Final = 120
"""The characters of a name that a list shows; its own page shows all."""
EMPTY: Final = "⟨empty⟩"
"""What is shown for an empty name."""
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that count as letters or marks, and have no visible form."""
_HIDDEN_SELECTORS: Final = (0xE0100, 0xE01EF)
_SIGNS: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\U000110bd\U000110cd")
"""Format characters that have a visible form: signs of numbers in Arabic, Syriac and Kaithi."""
_LINES: Final = "\n\t"


def visible(text: str) -> str:
    r"""Return a text with its invisible and misleading characters as their numbers; line ends and tabs stay.

    >>> visible("amount\u202e"), visible("a\r\nb\x00")
    ('amount⟨U+202E⟩', 'a\nb⟨U+0000⟩')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if _is_seen(each) else numbered(each) for each in text.replace("\r\n", "\n"))


def numbered(character: str) -> str:
    """Return a character as its number, such as ``⟨U+202E⟩``."""
    return f"⟨U+{ord(character):04X}⟩"


def _is_seen(character: str) -> bool:
    if character.isprintable():
        return character not in _BLANK and not _HIDDEN_SELECTORS[0] <= ord(character) <= _HIDDEN_SELECTORS[1]
    return character in _LINES or character in _SIGNS or unicodedata.category(character) == "Zs"


def shown(value: object) -> object:
    """Return what a template prints as it may be seen: markup as it is, any other text with visible characters.

    A template prints nothing for None by accident: it is refused.
    """
    if type(value) is str:
        return value if value.isascii() and value.isprintable() else visible(value)
    if isinstance(value, Markup):
        return value
    if value is None:
        raise ValueError("A template prints a value that is None: it has to say what is shown instead")
    return visible(str(value))


def true_text(text: str) -> Markup:
    """Return a text as it is, for the entries of forms and for copying; what HTML cannot have becomes U+FFFD.

    Source: the HTML Standard, 13.2.2 "Parse errors": null characters and surrogates.
    """
    if text.isascii() and text.isprintable():
        return escape(text)
    return escape(text.encode("utf-8", "replace").decode("utf-8") if _has_surrogates(text) else text).replace(
        "\0", "\ufffd"
    )


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in text)


# Names.


def name_text(text: str, most: int = MOST_OF_A_NAME) -> str:
    r"""Return a name in a list: shortened, on one line, with visible characters and a mark if it mixes scripts.

    >>> name_text("p\u0430y")[4:]
    '⟨mixed scripts: CYRILLIC, LATIN⟩'
    """
    if text.isascii() and text.isprintable() and 0 < len(text) <= most:
        return text
    if not text:
        return EMPTY
    short = text if len(text) <= most else text[: most - 1]
    spelt = "".join(each if _is_seen_in_name(each) else numbered(each) for each in short)
    scripts = scripts_of(short)
    ending = "" if short is text else "…"
    mark = f" ⟨mixed scripts: {', '.join(scripts)}⟩" if are_mixed(scripts) else ""
    return f"{spelt}{ending}{mark}"


def _is_seen_in_name(character: str) -> bool:
    return character == " " or (_is_seen(character) and not character.isspace())


def scripts_of(text: str) -> list[str]:
    """Return the scripts of a text's letters, sorted, as the first words of their Unicode names."""
    if text.isascii():
        return []
    found = {unicodedata.name(each, "UNNAMED").split(" ", 1)[0] for each in text if each.isalpha()}
    return sorted(found - _OF_ANY_SCRIPT)


_OF_ANY_SCRIPT: Final = frozenset({"MICRO", "FEMININE", "MASCULINE", "MODIFIER", "KATAKANA-HIRAGANA"})
"""The first words of letters that are written among those of any script, or of several."""


_TOGETHER: Final = (
    frozenset({"CJK", "HIRAGANA", "KATAKANA", "LATIN", "IDEOGRAPHIC"}),
    frozenset({"CJK", "HANGUL", "LATIN"}),
    frozenset({"CJK", "BOPOMOFO", "LATIN"}),
)


def are_mixed(scripts: Sequence[str]) -> bool:
    """Return whether scripts are not written together in any language."""
    return len(scripts) > 1 and not any(set(scripts) <= each for each in _TOGETHER)


def cut_text(text: str, most: int) -> str:
    """Return a text, or its beginning with the number of characters that are left out."""
    if len(text) <= most:
        return text
    return f"{text[:most]}… ({len(text) - most:,} more characters)"


WHOLE_SCHEMA: Final = Markup("the whole schema")
"""What is shown for the path of the schema itself, which is empty."""
_IS_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9_.\[\]{}-]+").fullmatch


def path_markup(path: str, most: int = MOST_OF_A_NAME) -> Markup:
    """Return a field path: what is before its last name is written more quietly.

    >>> str(path_markup("customer.email"))
    '<span class="before">customer.</span>email'
    """
    if not path:
        return WHOLE_SCHEMA
    before, dot, last = path.rpartition(".")
    if dot and last and len(path) <= most and _IS_PLAIN_PATH(path):
        return Markup(f'<span class="before">{before}.</span>{last}')  # noqa: S704 (no character of it has a meaning)
    if not dot or not last or len(path) > most:
        return escape(name_text(path, most))
    quiet, loud = escape(name_text(before, most)), escape(name_text(last, most))
    return Markup(f'<span class="before">{quiet}.</span>{loud}')  # noqa: S704 (both are escaped)


# Numbers and times.

_FIRST_MS: Final = -62135596800000
_LAST_MS: Final = 253402300799999


def number(value: float) -> Markup:
    """Return a number with a narrow space between its thousands.

    >>> str(number(1234567))
    '1\u202f234\u202f567'
    """
    return escape(f"{value:,}".replace(",", "\u202f"))


def moment(ts: int) -> Markup:
    """Return a time (epoch ms) to the second as a ``time`` element, in UTC.

    >>> str(moment(1793534400000))
    '<time datetime="2026-11-01T12:00:00.000Z">2026-11-01 12:00:00</time>'
    """
    if not _FIRST_MS <= ts <= _LAST_MS:
        return escape(f"{ts} ms")
    found = datetime.fromtimestamp(ts // 1000, UTC)
    day, clock = found.date().isoformat(), found.time().isoformat()
    return Markup(f'<time datetime="{day}T{clock}.{ts % 1000:03}Z">{day} {clock}</time>')  # noqa: S704 (numbers alone)


def day_of(ts: int) -> str:
    """Return the day of a time (epoch ms) in UTC, such as ``2026-11-01``."""
    if not _FIRST_MS <= ts <= _LAST_MS:
        return "at no time of the calendar"
    return datetime.fromtimestamp(ts // 1000, UTC).date().isoformat()


def hexadecimal(digits: str, first: int, end: int, most: int = 8) -> str:
    """Return the bytes ``first`` to ``end`` of hexadecimal digits in pairs, at most ``most`` of them.

    >>> hexadecimal("0000001267", 1, 5)
    '00 00 12 67'
    """
    last = min(end, first + most)
    pairs = " ".join(digits[2 * at : 2 * at + 2] for at in range(first, last))
    return f"{pairs} …" if end > last else pairs


# Marks in a text.


def marked(text: str, ranges: Iterable[Sequence[int]]) -> Markup:
    """Return a text with ranges of its characters marked; what is outside of the text, or overlaps, is left out.

    >>> str(marked("customer_email", [(0, 8)]))
    '<mark>customer</mark>_email'
    """
    parts: list[Markup] = []
    at = 0
    for first, end in sorted((one[0], one[1]) for one in ranges):
        if at <= first < end <= len(text):
            parts += [escape(visible(text[at:first])), Markup("<mark>{}</mark>").format(visible(text[first:end]))]
            at = end
    return Markup("").join([*parts, escape(visible(text[at:]))])


def split_by(text: str, found: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return a text in parts, each with what ``found`` has for it: the longest names first, empty for other parts.

    A name counts where it is a whole word: no letter, digit, ``_`` or ``.`` is beside it.
    """
    parts: list[tuple[str, str]] = [(text, "")]
    for name in sorted(found, key=lambda each: (-len(each), each)):
        if name and name in text:
            parts = [
                piece for part in parts for piece in ([part] if part[1] else _split_by_one(part[0], name, found[name]))
            ]
    return parts


def _split_by_one(text: str, name: str, value: str) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    at = begin = 0
    while (first := text.find(name, begin)) >= 0:
        end = first + len(name)
        begin = end
        if _is_word(text[first - 1 : first]) or _is_word(text[end : end + 1]):
            continue
        parts += [(text[at:first], ""), (name, value)]
        at = end
    parts.append((text[at:], ""))
    return [part for part in parts if part[0]]


def _is_word(character: str) -> bool:
    return character.isalnum() or character in {"_", "."}


def type_markup(text: str, urls: Mapping[str, str]) -> Markup:
    """Return a type in words, in which the declared names that have an address are links."""
    if not any(name and name in text for name in urls):
        return escape(visible(text))
    return Markup("").join(_type_part(part, url) for part, url in split_by(text, urls))


def _type_part(text: str, url: str) -> Markup:
    if not url:
        return escape(visible(text))
    return Markup('<a href="{}">{}</a>').format(url, visible(text))


# Source lines.

_TOKEN_CLASSES: Final = frozenset({"name", "text", "number", "word", "comment"})
_MOST_OF_A_LINE: Final = 2_000
"""The characters of a line that are shown: a line of a megabyte is in the raw text."""


def source_line(line: SourceLine, urls: Mapping[str, str]) -> Markup:
    """Return the parts of a line with their classes; names of types are links to their declarations."""
    parts: list[str] = []
    left = _MOST_OF_A_LINE
    for token in line.tokens:
        if left <= 0:
            parts.append("…")
            break
        parts.append(_token(token, urls, left))
        left -= len(token.text)
    return Markup("".join(parts))  # noqa: S704 (each part is escaped)


def _token(token: SourceToken, urls: Mapping[str, str], most: int) -> str:
    text = escape(visible(token.text[:most]))
    url = urls.get(token.type, "")
    if url:
        text = Markup('<a href="{}">{}</a>').format(url, text)
    return f'<span class="c-{token.kind}">{text}</span>' if token.kind in _TOKEN_CLASSES else text


# The style of pages that are one file.


def style_text(css: str) -> Markup:
    """Return a style sheet of this project as the content of a ``style`` element."""
    if "<" in css:
        raise ValueError("A style sheet with '<' could end its element")
    return Markup(css)  # noqa: S704 (a file of this package, without any end of an element)


FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "visible": visible,
    "true_text": true_text,
    "name": name_text,
    "path": path_markup,
    "cut": cut_text,
    "number": number,
    "moment": moment,
    "day": day_of,
    "marked": marked,
    "type": type_markup,
    "line": source_line,
}
"""The filters of the templates, by name."""
