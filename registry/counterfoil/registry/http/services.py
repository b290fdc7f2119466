"""The services that the endpoints of one application use, and reads while the store cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from fastapi import Depends, Request

from counterfoil.registry.store.protocol import StoreSlow
from counterfoil.registry.use_cases import UseCases, use_cases
from counterfoil.schema.errors import Forbidden, RegistryError, StoreTimeout, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Scope

    from counterfoil.registry.access.administration import AccessAdministration
    from counterfoil.registry.access.counting import AccessState
    from counterfoil.registry.http.dialects import Dialects
    from counterfoil.registry.http.replies import Replies
    from counterfoil.registry.telemetry import Counting, Telemetry


# Reads while the store cannot be reached: cached content is sent, marked as possibly stale.
#
# Read-after-write holds while the store responds. When it does not, known ids and versions are sent as they were last
# read, for a limited time. Nothing is refused because of the cache alone: content that is not cached may have been
# written since.

WARNING: Final = (b"warning", b'110 - "Response is Stale"')
"""The header of a response from memory (RFC 7234, section 5.5.1)."""

_T = TypeVar("_T")


class StaleReads:
    """Whether reads are answered from memory, and their responses.

    ``limit_s`` is how long they are, counted from when the store was found lost; with 0 they never are. ``count`` is
    called for each such response.
    """

    def __init__(self, cases: UseCases, *, limit_s: float, count: Callable[[], None]) -> None:
        self._storage = cases.storage
        self._limit_s = limit_s
        self._count = count
        known = cases.storage.last_known() if limit_s else None
        self._cases = None if known is None else use_cases(known, reader=cases.reader.over(known), associations=False)
        self.catch_up: Callable[[], Awaitable[None]] = cases.storage.catch_up if known is None else self._caught_up
        """The storage's function for reads: raises at once while they are answered from memory, soon with a slow store.
        """

    @property
    def reason(self) -> RegistryError | None:
        """The reason why reads are answered from memory; None while they are not."""
        contact = self._storage.contact
        if self._cases is None or (contact.lost_for_s or 0.0) >= self._limit_s:
            return None
        return contact.error

    @property
    def left_s(self) -> float:
        """The seconds for which reads will still be answered from memory."""
        return self._limit_s - (self._storage.contact.lost_for_s or 0.0)

    async def _caught_up(self) -> None:
        """Raise the reason of the loss, or ``StoreSlow``, if reads are better answered from memory."""
        if self._storage.contact.error is not None:
            reason = self.reason
            if reason is not None:
                raise type(reason)(reason.message)
        await self._storage.catch_up_soon()

    async def value(self, operation: Callable[[UseCases], Awaitable[_T]], *, failure: RegistryError) -> _T | None:
        """Return the result of ``operation`` over the memory, after ``failure``; None if it is not there."""
        if self._cases is None or not (self.applies_to(failure) or await self._is_away()):
            return None
        try:
            value = await operation(self._cases)
        except Forbidden:
            raise
        except RegistryError:
            return None
        self._count()
        return value

    def applies_to(self, failure: RegistryError) -> bool:
        """Return whether reads are answered from memory after ``failure``: the store cannot be reached, or is slow."""
        return isinstance(failure, StoreSlow) or self.reason is not None

    async def _is_away(self) -> bool:
        """Return whether the store does not respond at all, rather than one statement having failed."""
        try:
            await self.catch_up()
        except (StoreUnavailable, StoreTimeout) as error:
            return self.applies_to(error)
        return False

    def note(self) -> None:
        """Count a response that another part has sent from memory."""
        self._count()


class ServerLifecycle:
    """Whether the server accepts requests; ``stopping`` is set when it begins to stop.

    ``is_open_to_everyone``: other machines reach it, and it demands no credentials. ``access_state`` returns the state
    of its access control, if it demands some.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.is_open_to_everyone = False
        self.access_state: Callable[[], AccessState] | None = None
        self._endings: list[Callable[[], None]] = []

    def at_stop(self, ending: Callable[[], None]) -> None:
        """Register ``ending``, which is called when the server begins to stop.

        It ends the responses that do not end by themselves.
        """
        self._endings.append(ending)

    def stop(self) -> None:
        """Begin to stop."""
        self.stopping = True
        for ending in self._endings:
            ending()


# The services that endpoints of one application use.
#
# The routes are declared once, for all applications of a process.


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases of one application, and what else its endpoints need; they find it as ``app.state.services``.

    Responses are in one of ``dialects``; those of ``stale`` are sent while the store cannot be reached. With
    ``nothing``, the use cases over an empty store, what a caller may not read is answered as if it were absent.
    """

    cases: UseCases
    replies: Replies
    stale: StaleReads
    dialects: Dialects
    max_body_bytes: int
    telemetry: Telemetry
    lifecycle: ServerLifecycle
    counting: Counting
    access: AccessAdministration
    nothing: UseCases | None = None


def services_of(scope: Scope) -> Services:
    """Return the services of the application that handles a request."""
    services: Services = scope["app"].state.services
    return services


def _services(request: Request) -> Services:
    return services_of(request.scope)


def _cases(request: Request) -> UseCases:
    cases: UseCases = request.state.cases
    return cases


ServicesOfApp = Annotated[Services, Depends(_services)]
"""The services of the application, as an endpoint's parameter."""

CasesOfRequest = Annotated[UseCases, Depends(_cases)]
"""The use cases that a validated route's endpoint reads and writes with, as its parameter."""
