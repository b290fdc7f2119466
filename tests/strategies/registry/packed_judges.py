"""Judges in threads of this process, to which calls and results cross as bytes, as to judges in processes."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from counterfoil.registry.judges.portable import UnpackedSchemas, pack, unpack, unpack_call
from counterfoil.schema.errors import RegistryError, error_for_code

if TYPE_CHECKING:
    from collections.abc import Callable


class PackedJudges:
    """``works`` are the names of the functions that were called."""

    are_apart = True
    at_once = 2
    count = ended = 0

    def __init__(self) -> None:
        self.works: list[str] = []
        self._threads = ThreadPoolExecutor(2)

    def start(self, work: Callable[..., Any], *given: object) -> asyncio.Future[Any]:
        self.works.append(work.__name__)
        return asyncio.get_running_loop().create_task(self._called(pack((work, given))))

    async def _called(self, call: bytes) -> Any:
        is_value, packed = await asyncio.get_running_loop().run_in_executor(self._threads, _carried_out, call)
        if is_value:
            return unpack(packed)
        code, message, status, details = unpack(packed)
        raise error_for_code(code, message, status=status, details=details)

    def give_up(self, running: asyncio.Future[Any]) -> None:
        running.cancel()

    def close(self) -> None:
        self._threads.shutdown(wait=False)


def _carried_out(call: bytes) -> tuple[bool, bytes]:
    try:
        work, given = unpack_call(call, UnpackedSchemas())
        return True, pack(work(*given))
    except RegistryError as error:
        return False, pack((error.code, error.message, error.status, dict(error.details)))
