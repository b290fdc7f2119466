"""The order in which Java's hash sets give back their strings.

The reference registry walks the properties of two objects, and the types of two files, in this order. Its clients see
it in the order of messages, so that equal messages need equal order.

Source: the documented ``String.hashCode``, and the order that ``java.util.HashSet`` is seen to have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEWEST_BUCKETS: Final = 16
_LOAD: Final = 0.75


def java_hash_order(texts: Iterable[str]) -> list[str]:
    """``texts``, each once, in the order of a hash set to which they were added in the order given.

    >>> java_hash_order(["sku", "id", "name"])
    ['name', 'id', 'sku']
    """
    distinct = list(dict.fromkeys(texts))
    buckets = _FEWEST_BUCKETS
    while len(distinct) > buckets * _LOAD:
        buckets *= 2
    return sorted(distinct, key=lambda text: _spread(java_hash(text)) & (buckets - 1))


@lru_cache(maxsize=65536)
def java_hash(text: str) -> int:
    """``String.hashCode``: a 32-bit polynomial over the UTF-16 code units, without its sign.

    >>> java_hash("id")
    3355
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    """Return what a hash map makes of a hash, so that its high bits count."""
    return code ^ code >> 16
