"""The globs of project files: ``*`` and ``?`` inside one step of a path, ``**`` for any number of folders."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Iterable


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
    steps = [step for step in f"{glob}**".split("/") if step != "."] if glob.endswith("/") else glob.split("/")
    return re.compile("".join(_steps([step for step in steps if step != "."])), re.DOTALL)


def _steps(steps: list[str]) -> Iterable[str]:
    for index, step in enumerate(steps):
        is_last = index == len(steps) - 1
        if step == "**":
            yield ".+" if is_last else "(?:[^/]+/)*"
        else:
            yield _step(step) + ("" if is_last else "/")


def _step(step: str) -> str:
    found = re.split(r"(\*+|\?|\[!?\]?[^\]]*\])", step)
    return "".join(_piece(piece) for piece in found)


def _piece(piece: str) -> str:
    if piece.startswith("*"):
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) > 1 and piece.startswith("["):
        inner = piece[1:-1]
        negated, inner = ("^", inner[1:]) if inner.startswith("!") else ("", inner)
        return "[{}{}]".format(negated, inner.replace("\\", r"\\").replace("[", r"\[").replace("^", r"\^"))
    return re.escape(piece)
