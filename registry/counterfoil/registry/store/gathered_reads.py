"""Reads of one kind for many who ask at once: while one is under way, the next gather and share a statement."""

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
    """What ``read_many`` gives for keys, one value for each in their order, for callers who ask for one each.

    What a caller gets was read after it asked. Alone it waits for nobody. When the store does not answer in time, all
    who wait by then get its ``StoreTimeout``: to try for them one after another would take as long again each time.
    """

    def __init__(self, read_many: Callable[[Sequence[_K]], Awaitable[Sequence[_V]]]) -> None:
        self._read_many = read_many
        self._waiting: dict[_K, list[asyncio.Future[_V]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def read(self, key: _K) -> _V:
        """Return the value of one key; raises what the reading of all of them raises."""
        return await self.request(key)

    def request(self, key: _K) -> asyncio.Future[_V]:
        """Return what will have the value of one key, for a caller who may do something else with it than wait."""
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
    """Return the futures of the callers who have not gone away."""
    return (future for of_key in callers for future in of_key if not future.done())
