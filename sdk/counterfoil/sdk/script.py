"""The steps of a call, written once as a generator that requests I/O, and the runner that does the I/O in a thread.

A :data:`Script` yields steps (send a request, pause, wait for another call) and receives their outcomes. It contains
the retries and the caching, and does no I/O. The async client runs the same scripts with a runner of its own, so that
the two clients cannot differ.

Serializers import this module, and not the one of requests and pauses, which loads more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from concurrent.futures import Future

    from counterfoil.sdk.transport import Request, Transport


T = TypeVar("T")


class Send(NamedTuple):
    """Send the request; the outcome is its :class:`Reply`."""

    request: Request


class Pause(NamedTuple):
    """Wait this long before the next step; no outcome."""

    seconds: float


class JoinFlight(NamedTuple):
    """Wait for the call that another thread or task is making; the outcome is its result."""

    flight: Future[Any]


class CallFunction(NamedTuple):
    """Call the function; the outcome is its result. An async client awaits a result that can be awaited."""

    function: Callable[[], Any]


class Work(NamedTuple):
    """Call the function, which may block; the outcome is its result. An async client calls it in a thread."""

    function: Callable[[], Any]


class Aside(NamedTuple):
    """Begin to run the script beside this one, in a thread or task of its own; no outcome."""

    script: Generator[Any, Any, None]


Step: TypeAlias = Send | Pause | JoinFlight | CallFunction | Work | Aside
Script: TypeAlias = Generator[Step, Any, T]


def run(script: Script[T], transport: Transport, sleep: Callable[[float], None]) -> T:
    """Run the steps of the script in this thread and return its result."""
    try:
        step = next(script)
        while True:
            try:
                outcome = _perform(step, transport, sleep)
            except Exception as error:  # noqa: BLE001 - the script decides which failures it answers
                step = script.throw(error)
            else:
                step = script.send(outcome)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        script.close()  # other threads must not wait for a call that was interrupted


def _perform(step: Step, transport: Transport, sleep: Callable[[float], None]) -> object:
    match step:
        case Send(request):
            return transport.send(request)
        case Pause(seconds):
            sleep(seconds)
            return None
        case JoinFlight(flight):
            return flight.result()
        case CallFunction(function) | Work(function):
            return function()
        case Aside(beside):
            threading.Thread(target=run, args=(beside, transport, sleep), daemon=True).start()
            return None


class StepNeeded(Exception):
    """A script cannot end without a step, and there is no runner that performs one."""


def run_in_memory(script: Script[T]) -> T:
    """Return the script's result if it needs no step, since all that it requests is cached; raise ``StepNeeded``."""
    try:
        next(script)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        script.close()
    raise StepNeeded


def with_result(script: Callable[..., Script[Any]]) -> FunctionType:
    """Return a copy of the script's function, to be looked at alone: its annotated result is the script's own.

    As ``__wrapped__`` of a method that runs the script, it is what ``inspect.signature`` and ``help()`` show.
    """
    source = cast("FunctionType", script)
    shown = FunctionType(source.__code__, source.__globals__, source.__name__, source.__defaults__, source.__closure__)
    shown.__kwdefaults__ = source.__kwdefaults__
    result = str(source.__annotations__["return"]).removeprefix("Script[").removesuffix("]")
    shown.__annotations__ = {**source.__annotations__, "return": result}
    return shown
