"""Smaller variants of a value: without a property, without an item, or with a simpler part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_DEPTH: Final = 20


def smaller(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield variants of a value with one thing removed, the largest removals first.

    >>> [*smaller({"a": [1]})]
    [{}, {'a': []}]
    """
    if depth > _MAX_DEPTH:
        return
    match value:
        case dict():
            yield from ({key: item for key, item in value.items() if key != cut} for cut in value)
            for key, item in value.items():
                yield from ({**value, key: less} for less in smaller(item, depth + 1))
        case list():
            yield from ([*value[:cut], *value[cut + 1 :]] for cut in range(len(value)))
            for index, item in enumerate(value):
                yield from ([*value[:index], less, *value[index + 1 :]] for less in smaller(item, depth + 1))
