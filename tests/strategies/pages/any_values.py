"""Values of pages with any content, made from the types of their members; and the same value with other texts."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from counterfoil.pages.documents import FileDocument
from counterfoil.pages.frame import PageFrame
from counterfoil.pages.links import ServerLinks
from counterfoil.pages.static import assets
from counterfoil.schema.rest.inspection import SourceLine, SourceWindow

LINKS: Final = ServerLinks(assets=assets().hash)
WORDS: Final = st.text("abc", max_size=4)
NOT_FROM_OUTSIDE: Final = frozenset(
    {"here", "canonical", "json_url", "print_url", "now_url", "url", "share_url", "page"}
)
"""The members that are addresses of this server, which its own code makes."""
_NAMED: Final[dict[str, st.SearchStrategy[Any]]] = {
    **dict.fromkeys(NOT_FROM_OUTSIDE, st.sampled_from(["", "/ui/here"])),
    **dict.fromkeys(("here", "now_url"), st.just("/ui/here")),
    **dict.fromkeys(("title", "sentence", "text", "caption", "message"), st.text("abc", min_size=1, max_size=4)),
    "links": st.just(LINKS),
    "marks": st.sampled_from([(), ((0, 1),)]),
    "registered": st.none() | st.integers(0, 4_102_444_800_000),
    "value": st.floats(0, 1e12),
}
_NUMBERS: Final = st.integers(0, 3) | st.integers(4, 2**31)


@cache
def values_of(kind: type) -> st.SearchStrategy[Any]:
    """Return a strategy for the instances of a dataclass, whose texts are of the letters a, b and c."""
    if kind is SourceWindow:
        return _windows()
    hints = typing.get_type_hints(kind)
    members = {each.name: _member(each.name, hints[each.name], kind) for each in fields(kind)}
    return st.builds(kind, **members)


def frames() -> st.SearchStrategy[PageFrame]:
    """Return frames with any texts."""
    return values_of(PageFrame)


def _windows() -> st.SearchStrategy[SourceWindow]:
    lines = st.lists(values_of(SourceLine), max_size=3)
    numbered = lines.map(lambda found: tuple(replace(each, number=at) for at, each in enumerate(found, start=1)))
    return st.builds(SourceWindow, WORDS, numbered, _NUMBERS)


def _member(name: str, hint: Any, owner: type) -> st.SearchStrategy[Any]:
    if name == "value" and hint is not float:
        return _of(hint)
    if name == "name" and owner.__module__ == FileDocument.__module__:
        return st.uuids().map(lambda each: f"place-{each}")
    if name == "points":
        return _of(hint).map(lambda found: found or ()).filter(bool)
    return _NAMED[name] if name in _NAMED else _of(hint)


def _of(hint: Any) -> st.SearchStrategy[Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {types.UnionType, typing.Union}:
        return st.one_of(*map(_of, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(_of(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(_of, arguments))
    if origin is Sequence:
        return st.lists(_of(arguments[0]), max_size=2)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return values_of(hint)
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: WORDS,
        int: _NUMBERS,
        bool: st.booleans(),
        float: st.floats(0, 1e12),
        type(None): st.none(),
    }
    return plain[hint]


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value in which every text that may come from outside, and is not empty, is changed."""
    if isinstance(value, Enum | ServerLinks):
        return value
    if isinstance(value, str):
        return change(value) if value else value
    if isinstance(value, Mapping):
        return {with_texts(key, change): with_texts(each, change) for key, each in value.items()}
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return type(value)(with_texts(each, change) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        kept = {
            each.name: getattr(value, each.name)
            if each.name in NOT_FROM_OUTSIDE or _is_place(value, each.name)
            else with_texts(getattr(value, each.name), change)
            for each in fields(value)
        }
        return type(value)(**kept)
    return value


def _is_place(value: object, name: str) -> bool:
    """Return whether a member is the name of a place in a document, which the code that makes it chooses."""
    return name == "name" and type(value).__module__ == FileDocument.__module__
