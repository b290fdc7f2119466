"""The globs of project files: ``*`` and ``?`` inside one step of a path, ``**`` for any number of folders."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAR: Final = "\0"
"""Stands for a star in a class of characters, which is none of any number of characters."""


def is_match(path: str, globs: Iterable[str]) -> bool:
    """Return whether ``path`` matches one of ``globs``; a glob that ends in ``/`` matches everything below the folder.

    >>> is_match("a/b/order.avsc", ["a/**/*.avsc"]), is_match("a/order.avsc", ["a/**/*.avsc"]), is_match("a/b", ["*"])
    (True, True, False)
    """
    return any(_pattern(glob).fullmatch(path) for glob in globs)


def says_suffix(path: str, globs: Iterable[str]) -> bool:
    """Return whether one of ``globs`` that match ``path`` names the file, or the end of its name.

    >>> says_suffix("a/order.json", ["a/"]), says_suffix("a/order.json", ["a/*.json"]), says_suffix("x.txt", ["x.*"])
    (False, True, False)
    """
    suffix = posixpath.splitext(path)[1]
    return any(_ends_in(glob.rpartition("/")[2], suffix) and is_match(path, [glob]) for glob in globs)


def _ends_in(last_step: str, suffix: str) -> bool:
    if not last_step:
        return False
    return not set(last_step).intersection("*?[") or (bool(suffix) and last_step.endswith(suffix))


@cached_if_short(1024, longest=500)
def _pattern(glob: str) -> re.Pattern[str]:
    steps = f"{glob}**".split("/") if glob.endswith("/") else glob.split("/")
    return re.compile(_path([step for step in steps if step != "."]), re.DOTALL)


def _path(steps: list[str]) -> str:
    """Return the expression of all steps.

    What is between two ``**`` is matched at the first folders where it fits and not tried at others (a group with
    ``?>``): each later place leaves fewer folders for the rest. So a search takes no more than the product of the
    lengths of the glob and the path. :func:`_step` does the same inside a step.
    """
    if not steps:
        return ""
    parts: list[list[str]] = [[]]
    for step in steps[:-1]:
        if step == "**":
            parts.append([])
        else:
            parts[-1].append(_step(step) + "/")
    last = ".+" if steps[-1] == "**" else _step(steps[-1])
    first, *between = ["".join(part) for part in parts]
    if not between:
        return first + last
    tried_once = "".join(f"(?>(?:[^/]+/)*?{part})" for part in between[:-1] if part)
    if steps[-1] == "**":
        return f"{first}{tried_once}(?>(?:[^/]+/)*?{between[-1]}){last}"
    return f"{first}{tried_once}(?:[^/]+/)*{between[-1]}{last}"


def _step(step: str) -> str:
    stars = re.split(r"\*+", re.sub(r"\[!?\]?[^\]]*\]", lambda found: found[0].replace("*", _STAR), step))
    texts = [_text(text.replace(_STAR, "*")) for text in stars]
    if len(texts) == 1:
        return texts[0]
    first, *between, last = texts
    return first + "".join(f"(?>[^/]*?{text})" for text in between) + f"[^/]*{last}"


def _text(text: str) -> str:
    return "".join(map(_piece, re.split(r"(\?|\[!?\]?[^\]]*\])", text)))


def _piece(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if len(piece) > 1 and piece.startswith("["):
        inner = piece[1:-1]
        negated, inner = ("^", inner[1:]) if inner.startswith("!") else ("", inner)
        negated, inner = (f"{negated}/", inner) if negated else ("", inner)
        return "[{}{}]".format(negated, inner.replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^"))
    return re.escape(piece)
