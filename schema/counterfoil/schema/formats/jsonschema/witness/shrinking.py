"""Smaller values than a given one: a property less, an item less, a part made plainer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_DEPTH: Final = 20


def smaller(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield values with one thing less, the largest cuts first.

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
