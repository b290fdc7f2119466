"""Functions of texts in formulas: letters in upper and lower case, pieces, replacements, hashes and masks.

======================  ==============================================================================================
characters              are code points of Unicode, so that an accent that stands for itself is one
``lower``, ``upper``    the mappings of Unicode without a language, also those to several characters; a Greek sigma at
                        the end of a word becomes the final one. The version of Unicode is that of the Python in which
                        a plan is made ready
``trim``                without blanks, tabs, carriage returns and line feeds at both ends
``replace``             each occurrence from left to right, as it is written: no pattern
``substring``           from a place that is counted from 0, or from the end with a minus; shorter where the text ends
``pad_left``, ``…right``  filled up to a width; a longer text is left as it is
``mask``                ``*`` instead of each character but the last few; of a text without more, instead of each
``hash``                HMAC-SHA-256 of the UTF-8 bytes in 64 hexadecimal digits, with a secret of the environment
======================  ==============================================================================================

A text that a function makes longer has at most 16 MiB, or the result is ``out-of-range``.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from counterfoil.schema.datum import Datum
from counterfoil.schema.errors import CounterfoilError
from counterfoil.schema.plans import FailureCode
from counterfoil.schema.plans.casts import CastRefused
from counterfoil.schema.plans.model import TextCall
from counterfoil.schema.plans.notation import BLANKS

MOST_TEXT_BYTES: Final = 16 * 1024 * 1024
"""The largest text that a function makes of a smaller one: more than any record of a broker has."""

TextTurn: TypeAlias = Callable[[str], Datum]


class SecretMissing(CounterfoilError):
    """A hash of a plan has no secret: the environment has no variable of its name, or an empty one."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A rule hashes with the secret {name}, and the environment variable {name} is not set; set it to the text "
            "that other programs hash with"
        )
        self.name = name


def text_function(op: TextCall) -> TextTurn:
    """Return the function of a call; it raises ``CastRefused``."""
    return _MAKERS[op.function](op)


def _lower(_: TextCall) -> TextTurn:
    return str.lower


def _upper(_: TextCall) -> TextTurn:
    return lambda text: _sized(text.upper())


def _trim(_: TextCall) -> TextTurn:
    return lambda text: text.strip(BLANKS)


def _length(_: TextCall) -> TextTurn:
    return len


def _replace(op: TextCall) -> TextTurn:
    old, new = str(op.arguments[0]), str(op.arguments[1])
    growth = len(new.encode()) - len(old.encode())

    def turn(text: str) -> str:
        if growth > 0:
            _check_size(len(text.encode()) + growth * text.count(old))
        return text.replace(old, new)

    return turn


def _substring(op: TextCall) -> TextTurn:
    start, *lengths = map(int, op.arguments)

    def turn(text: str) -> str:
        begin = max(0, len(text) + start) if start < 0 else start
        return text[begin : begin + lengths[0]] if lengths else text[begin:]

    return turn


def _pad(op: TextCall) -> TextTurn:
    width, fill = int(op.arguments[0]), str(op.arguments[1])
    return (lambda text: text.rjust(width, fill)) if op.function == "pad_left" else lambda text: text.ljust(width, fill)


def _mask(op: TextCall) -> TextTurn:
    shown = int(op.arguments[0])

    def turn(text: str) -> str:
        hidden = len(text) - shown
        return "*" * hidden + text[hidden:] if hidden > 0 else "*" * len(text)

    return turn


def _hash(op: TextCall) -> TextTurn:
    key = op.key
    if key is None:
        raise SecretMissing(str(op.arguments[0]))
    return lambda text: hmac.digest(key, text.encode(), hashlib.sha256).hex()


def _sized(text: str) -> str:
    if len(text) * 4 > MOST_TEXT_BYTES:
        _check_size(len(text.encode()))
    return text


def _check_size(size: int) -> None:
    if size > MOST_TEXT_BYTES:
        raise CastRefused(FailureCode.OUT_OF_RANGE, f"the text would have {size} bytes; at most {MOST_TEXT_BYTES}")


def joined_text(texts: list[str], separator: str) -> str:
    """Return texts with a separator between them. Raises ``CastRefused``."""
    made = separator.join(texts)
    return _sized(made)


_MAKERS: Final[Mapping[str, Callable[[TextCall], TextTurn]]] = {
    "lower": _lower,
    "upper": _upper,
    "trim": _trim,
    "length": _length,
    "replace": _replace,
    "substring": _substring,
    "pad_left": _pad,
    "pad_right": _pad,
    "mask": _mask,
    "hash": _hash,
}
