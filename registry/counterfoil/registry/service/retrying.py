"""Planning again when another write came first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.registry.domain.errors import StaleWrite
from counterfoil.schema.errors import StoreTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_T = TypeVar("_T")
_MAX_ATTEMPTS: Final = 1000


async def until_current(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """What ``attempt`` gives, made again as long as its plan is overtaken; ``StoreTimeout`` in the end."""
    for _ in range(_MAX_ATTEMPTS):
        try:
            return await attempt()
        except StaleWrite:
            continue
    raise StoreTimeout(f"Other writes came first {_MAX_ATTEMPTS} times; try again later")
