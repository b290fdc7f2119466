"""The iteration order of strings in Java's hash sets.

The reference registry compares the properties of two objects, and the types of two files, in this order. Its messages
are in this order, so that equal messages require the same order here.

Source: the documented ``String.hashCode``, and the observed order of ``java.util.HashSet``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.caches import cached_if_short

if TYPE_CHECKING:
    from collections.abc import Iterable

_FEWEST_BUCKETS: Final = 16
_LOAD: Final = 0.75


def java_hash_order(texts: Iterable[str]) -> list[str]:
    """Return ``texts``, each once, in the order of a hash set to which they were added in the given order.

    >>> java_hash_order(["sku", "id", "name"])
    ['name', 'id', 'sku']
    """
    distinct = list(dict.fromkeys(texts))
    buckets = _FEWEST_BUCKETS
    while len(distinct) > buckets * _LOAD:
        buckets *= 2
    return sorted(distinct, key=lambda text: _spread(java_hash(text)) & (buckets - 1))


@cached_if_short(65536, longest=100)
def java_hash(text: str) -> int:
    """Return ``String.hashCode`` as an unsigned number: a 32-bit polynomial over the UTF-16 code units.

    >>> java_hash("id")
    3355
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    """Return a hash with its high bits mixed into the low ones, as in ``java.util.HashMap``."""
    return code ^ code >> 16
