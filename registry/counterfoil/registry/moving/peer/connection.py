"""Requests to another registry, with the SDK's client. A refusal is a value: many registries lack an endpoint."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from counterfoil.registry.moving.facts import PeerRefused, PeerUnreachable
from counterfoil.schema.contexts import DEFAULT_CONTEXT, TOP_LEVEL, parse_subject
from counterfoil.schema.errors import RegistryError
from counterfoil.sdk.client.asynchronous import AsyncRegistry
from counterfoil.sdk.client.connection import AsyncHttpTransport
from counterfoil.sdk.errors import RegistryUnavailable, UnexpectedReply
from counterfoil.sdk.operations import as_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.schema.contexts import QualifiedSubject
    from counterfoil.schema.rest.object_forms import Document
    from counterfoil.sdk.client.settings import RegistrySettings
    from counterfoil.sdk.operations import Operation
    from counterfoil.sdk.transport import AsyncTransport


_T = TypeVar("_T")

_NOT_AN_ANSWER: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class PeerRefusal:
    """A response that is not the result: the HTTP status, the registry's own code if it sent one, and its message.

    A status of success means that the registry did what was requested, and that its response could not be read.
    """

    status: int
    code: int | None
    message: str

    @property
    def is_done(self) -> bool:
        """Whether the registry did what was requested."""
        return self.status < HTTPStatus.MULTIPLE_CHOICES


class Peer:
    """A registry to which at most ``concurrency`` requests are sent at once. Use as an async context manager.

    Every operation is retried according to the settings, since each request of a move can be repeated safely.
    ``transport`` and ``pause`` (which waits so many seconds) are for tests.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        *,
        concurrency: int = 16,
        transport: AsyncTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.url = self.shown_url(settings)
        self._turns = asyncio.Semaphore(concurrency)
        self._registry = AsyncRegistry(
            settings, transport=transport or AsyncHttpTransport(settings, connections=concurrency), sleep=pause
        )

    @staticmethod
    def shown_url(settings: RegistrySettings) -> str:
        """Return the first URL; it has no password."""
        return settings.urls[0].rstrip("/")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._registry.close()

    async def outcome(self, operation: Operation[_T]) -> _T | PeerRefusal:
        """Return the result of the operation, or its refusal.

        Raises ``PeerUnreachable``, and ``PeerRefused`` for 401, 403, 429 and 5xx.
        """
        return await self._checked(operation, self._registry.call(replace(operation, is_repeatable=True)))

    async def get(self, operation: Operation[Any]) -> Any:
        """Return the unparsed JSON of a resource; None if it is refused."""
        found = await self.outcome(as_json(operation))
        return None if isinstance(found, PeerRefusal) else found

    async def found(self, operation: Operation[_T]) -> _T | None:
        """Return a resource; None if it is refused. Raise ``PeerRefused`` if the response cannot be read."""
        found = await self.outcome(operation)
        if not isinstance(found, PeerRefusal):
            return found
        if found.is_done:
            raise refused(found, f"{self.url} returned an unexpected response to {operation.method} {operation.path}")
        return None

    async def document(self, operation: Operation[Any]) -> Document | None:
        """Return the unparsed JSON object of a resource; None if it is refused, or no object."""
        found = await self.get(operation)
        return found if isinstance(found, dict) else None

    async def listed(self, operation: Operation[tuple[_T, ...]]) -> tuple[_T, ...] | None:
        """Return all entries of a listing; None if the registry has no such listing."""
        found = await self._checked(operation, self._registry.call_all(operation))
        return None if isinstance(found, PeerRefusal) else found

    async def carry_out(self, operation: Operation[_T], what: str) -> _T | None:
        """Return the result; None if it could not be read. Raise ``PeerRefused`` with ``what`` was refused, and why."""
        found = await self.outcome(operation)
        if not isinstance(found, PeerRefusal):
            return found
        if not found.is_done:
            raise refused(found, what)
        return None

    async def _checked(self, operation: Operation[Any], answer: Awaitable[_T]) -> _T | PeerRefusal:
        request = f"{operation.method} {operation.path}"
        try:
            async with self._turns:
                return await answer
        except RegistryError as error:
            refusal = PeerRefusal(error.status, error.code, error.message[:_SHOWN])
        except UnexpectedReply as error:
            refusal = PeerRefusal(error.status, None, error.problem)
        except RegistryUnavailable as error:
            problem = error.__cause__ or error
            raise PeerUnreachable(f"{self.url} cannot be reached ({request}): {problem}") from None
        if refusal.status in _NOT_AN_ANSWER or refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise PeerRefused(f"{self.url} answered {refusal.status} to {request}: {refusal.message}")
        return refusal


def refused(refusal: PeerRefusal, what: str) -> PeerRefused:
    """Return the error with ``what`` was refused, and the reason."""
    return PeerRefused(f"{what}: {refusal.status} {refusal.message}")


def context_name(text: str) -> str:
    """Return the name of a context from any form in which a registry prints it: ``.``, ``.ctx`` or ``:.ctx:``."""
    return parse_subject(text).context if text.startswith(":.") else text or DEFAULT_CONTEXT


def scope_text(scope: QualifiedSubject) -> str | None:
    """Return the scope as the parameter of the operations of config and mode: None for the top level."""
    return None if scope == TOP_LEVEL else str(scope)


def context_scope(context: str) -> str | None:
    """Return the qualified text of a context; None for the default one."""
    return None if context == DEFAULT_CONTEXT else f":{context}:"
