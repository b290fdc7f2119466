"""The method ``format`` of texts in CEL: ``"%s has %d".format([name, count])``.

Source: the extension "strings" of cel-go, ``format``, as confluent-kafka 2.16 implements it.
"""

from __future__ import annotations

import re
from typing import Any, Final

_SPECIFIER: Final = re.compile(r"%(?:(?P<percent>%)|(?:\.(?P<precision>\d+))?(?P<kind>.)?)", re.DOTALL)
_QUOTED: Final = str.maketrans(
    {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v", "\\": r"\\", '"': r"\""}
)
_DEFAULT_PRECISION: Final = 6


def format_text(template: Any, arguments: Any) -> str:
    """Return the template with its specifiers replaced by the arguments, in order."""
    if not isinstance(template, str) or not isinstance(arguments, list):
        raise TypeError("format needs a text and a list")
    left = list(reversed(arguments))

    def replaced(match: re.Match[str]) -> str:
        if match["percent"]:
            return "%"
        if not left:
            raise ValueError("format has more specifiers than arguments")
        return _formatted(match["kind"], left.pop(), int(match["precision"] or _DEFAULT_PRECISION))

    text = _SPECIFIER.sub(replaced, template)
    if left:
        raise ValueError("format has more arguments than specifiers")
    return text


def _formatted(kind: str | None, value: Any, precision: int) -> str:
    match kind:
        case "s":
            return _shown(value)
        case "d":
            return str(_whole(value))
        case "f" | "e":
            return f"{value:.{precision}{kind}}" if isinstance(value, float) else str(_whole(value))
        case "x" | "X":
            return _hexadecimal(value) if kind == "x" else _hexadecimal(value).upper()
        case "o":
            return f"{_whole(value):o}"
        case "b":
            return f"{int(value) if isinstance(value, bool) else _whole(value):b}"
    raise ValueError(f"format has no specifier %{kind or ''}")


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"format needs a whole number; got {type(value).__name__}")
    return value


def _hexadecimal(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    return f"{_whole(value):x}"


def _shown(value: Any, *, is_inside: bool = False) -> str:
    match value:
        case str():
            return f'"{value.translate(_QUOTED)}"' if is_inside else value
        case bytes():
            return value.hex()
        case list():
            return f"[{', '.join(_shown(item, is_inside=True) for item in value)}]"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
    return str(value)
