"""Grouped reads of one kind: reads that are requested while one runs wait, and share the next statement."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from counterfoil.schema.errors import StoreTimeout

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

_K = TypeVar("_K")
_V = TypeVar("_V")

MAX_GATHERED: Final = 64


class GatheredReads(Generic[_K, _V]):
    """Reads of single keys, grouped into calls of ``read_many``, which returns one value for each key in their order.

    A value is always read after it was requested. A single caller does not wait for others. When the store does not
    respond in time, all waiting callers get its ``StoreTimeout``, since another attempt would take as long again.
    """

    def __init__(self, read_many: Callable[[Sequence[_K]], Awaitable[Sequence[_V]]]) -> None:
        self._read_many = read_many
        self._waiting: dict[_K, list[asyncio.Future[_V]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def read(self, key: _K) -> _V:
        """Return the value of one key; raise the error of the grouped read."""
        return await self.request(key)

    def request(self, key: _K) -> asyncio.Future[_V]:
        """Return a future of the value of one key, for callers that do not wait for it at once."""
        future: asyncio.Future[_V] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return future

    async def _run(self) -> None:
        while self._waiting:
            keys = list(self._waiting)[:MAX_GATHERED]
            callers = [self._waiting.pop(key) for key in keys]
            try:
                values = await self._read_many(keys)
            except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it, and the next are tried
                if isinstance(error, StoreTimeout):
                    callers += self._waiting.values()
                    self._waiting = {}
                for future in _still_there(callers):
                    future.set_exception(error)
            else:
                for of_key, value in zip(callers, values, strict=True):
                    for future in _still_there([of_key]):
                        future.set_result(value)


def _still_there(callers: Iterable[list[asyncio.Future[_V]]]) -> Iterator[asyncio.Future[_V]]:
    """Return the futures of the callers that still wait."""
    return (future for of_key in callers for future in of_key if not future.done())
