"""``AsyncRegistry``: the client for programs with an event loop.

Its methods are those of ``Registry``, as coroutines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from inspect import isawaitable
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar

from counterfoil.sdk.client import Calls, RegistryClient
from counterfoil.sdk.client.connection import AsyncHttpTransport
from counterfoil.sdk.client.settings import Auth, RegistrySettings
from counterfoil.sdk.script import Aside, CallFunction, JoinFlight, Pause, Script, Send, Step, Work, with_result
from counterfoil.sdk.transport import AsyncTransport, Clock

_ASIDE: Final[set[asyncio.Task[None]]] = set()
"""The tasks that run beside the calls: an event loop has only weak references to its tasks."""

P = ParamSpec("P")
T = TypeVar("T")


def method_of(
    script: Callable[Concatenate[Calls, P], Script[T]],
) -> Callable[Concatenate[AsyncRegistry, P], Coroutine[Any, Any, T]]:
    """Return a coroutine function that runs the script in its task, with the script's parameters and docstring."""

    @wraps(script)
    async def method(self: AsyncRegistry, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(script(self.calls, *args, **kwargs))

    method.__wrapped__ = with_result(script)  # what inspect and help() read
    return method


async def _run(script: Script[T], transport: AsyncTransport, sleep: Callable[[float], Awaitable[None]]) -> T:
    """Run the steps of the script in this task and return its result."""
    try:
        step = next(script)
        while True:
            try:
                outcome = await _perform(step, transport, sleep)
            except Exception as error:  # noqa: BLE001 - the script decides which failures it answers
                step = script.throw(error)
            else:
                step = script.send(outcome)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        script.close()  # other tasks must not wait for a call that was cancelled


async def _perform(step: Step, transport: AsyncTransport, sleep: Callable[[float], Awaitable[None]]) -> object:
    match step:
        case Send(request):
            return await transport.asend(request)
        case Pause(seconds):
            await sleep(seconds)
            return None
        case JoinFlight(flight):
            # shielded: a task that stops waiting must not cancel the call for the others
            return await asyncio.shield(asyncio.wrap_future(flight))
        case CallFunction(function):
            outcome = function()
            return await outcome if isawaitable(outcome) else outcome
        case Work(function):
            return await asyncio.to_thread(function)
        case Aside(beside):
            task = asyncio.get_running_loop().create_task(_run(beside, transport, sleep))
            _ASIDE.add(task)
            task.add_done_callback(_ASIDE.discard)
            return None


class AsyncRegistry(RegistryClient):
    """A client of a schema registry for the tasks of one event loop; an async context manager.

    Arguments, calls and caches are those of :class:`counterfoil.sdk.Registry`.
    """

    def __init__(
        self,
        url: str | Sequence[str] | RegistrySettings,
        *,
        auth: Auth | tuple[str, str] | str | None = None,
        timeout_s: float | None = None,
        retries: int | None = None,
        transport: AsyncTransport | None = None,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.settings = RegistrySettings.of(url, auth=auth, timeout_s=timeout_s, retries=retries)
        self.calls = Calls(self.settings, clock)
        self._transport = AsyncHttpTransport(self.settings) if transport is None else transport
        self._sleep = sleep

    call = method_of(Calls.call)
    call_all = method_of(Calls.call_all)
    schema_by_id = method_of(Calls.schema_by_id)
    schema_by_guid = method_of(Calls.schema_by_guid)
    schema_text_by_id = method_of(Calls.schema_text_by_id)
    subjects_of_id = method_of(Calls.subjects_of_id)
    versions_of_id = method_of(Calls.versions_of_id)
    ids_of_guid = method_of(Calls.ids_of_guid)
    register = method_of(Calls.register)
    lookup = method_of(Calls.lookup)
    version = method_of(Calls.version)
    version_with_metadata = method_of(Calls.version_with_metadata)
    associated_subjects = method_of(Calls.associated_subjects)
    schema_text = method_of(Calls.schema_text)
    subjects = method_of(Calls.subjects)
    versions = method_of(Calls.versions)
    referenced_by = method_of(Calls.referenced_by)
    delete_subject = method_of(Calls.delete_subject)
    delete_version = method_of(Calls.delete_version)
    check_compatibility = method_of(Calls.check_compatibility)
    config = method_of(Calls.config)
    set_config = method_of(Calls.set_config)
    delete_config = method_of(Calls.delete_config)
    mode = method_of(Calls.mode)
    set_mode = method_of(Calls.set_mode)
    delete_mode = method_of(Calls.delete_mode)
    ping = method_of(Calls.ping)
    schema_types = method_of(Calls.schema_types)
    contexts = method_of(Calls.contexts)
    delete_context = method_of(Calls.delete_context)

    async def run(self, script: Script[T]) -> T:
        """Return the result of a script of :attr:`calls`, or of one that is made of them."""
        return await _run(script, self._transport, self._sleep)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
