"""Requests and replies of a registry, when a request is repeated, and the steps of a call, which ask for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from random import Random
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar, cast

from counterfoil.schema.errors import CounterfoilError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from counterfoil.sdk.client.settings import RetrySettings


# The protocol between the client and the network: a request is sent, and a reply is returned or none arrives.
#
# A transport has no retries, no caches and no schemas. Tests and embedded registries have their own (see
# :mod:`counterfoil.sdk.testing`); the default one, in :mod:`counterfoil.sdk.client.connection`, is httpx.


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``url`` is absolute and percent-encoded, without credentials; ``body`` is JSON or None."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete HTTP response. The names in ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class NoReply(CounterfoilError):
    """A transport received no complete reply. The client retries, and finally raises ``RegistryUnavailable``.

    ``was_sent`` is false where the request certainly did not reach a server, so that even one that must not be
    repeated may be tried again.
    """

    def __init__(self, problem: str, *, was_sent: bool = True) -> None:
        super().__init__(problem)
        self.problem = problem
        self.was_sent = was_sent


class Transport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.Registry`. Used by several threads at once."""

    def send(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    def close(self) -> None:
        """Close the connections; a transport that was closed is not used again."""


class AsyncTransport(Protocol):
    """Sends requests, for :class:`counterfoil.sdk.AsyncRegistry`. Used by several tasks at once."""

    async def asend(self, request: Request) -> Reply:
        """Send the request and return the reply, with any status; raise :class:`NoReply` if there is none."""

    async def aclose(self) -> None:
        """Close the connections; a transport that was closed is not used again."""


# The steps of a call, written once as a generator that requests I/O, and the runner that does the I/O in a thread.
#
# A :data:`Script` yields steps (send a request, pause, wait for another call) and receives their outcomes. It contains
# the retries and the caching, and does no I/O. The async client runs the same scripts with a runner of its own, so that
# the two clients cannot differ.

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


# Which responses are requested again, and after which pause.
#
# Source of the pauses: "Exponential Backoff And Jitter" (AWS Architecture Blog), the variant with full jitter.

RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
"""The HTTP statuses after which a request is repeated."""
_MOST_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Clock:
    """The sources of monotonic time, calendar time (both in seconds), and random numbers for the pauses."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    random: Callable[[], float] = field(default_factory=lambda: Random().random)  # noqa: S311 - spreads load, no secret


def pause_after(outcome: Reply | NoReply, round_number: int, retry: RetrySettings, clock: Clock) -> float:
    """Return how long to wait after a round of requests, in seconds."""
    if isinstance(outcome, Reply):
        asked_s = _retry_after_s(outcome.headers, clock.wall())
        if asked_s is not None:
            return asked_s
    return clock.random() * min(retry.max_pause_s, retry.first_pause_s * 2.0 ** min(round_number, _MOST_DOUBLINGS))


def _retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Return the seconds of ``Retry-After``, a number or the time until a date; None when it cannot be read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None
