"""The longest time that a request may take: after it, the client receives an error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from counterfoil.registry.api.http.answers import error_answer
from counterfoil.registry.api.senders import REQUEST
from counterfoil.schema.errors import AnswerTimeout

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Deadlines:
    """Answers 504 to a request whose response has not begun after ``timeout_s``, and cancels the work on it.

    A write that was passed to the store by then may be carried out nevertheless; registering again is safe. A response
    that has begun, such as a feed of changes, is not limited.
    """

    def __init__(self, app: ASGIApp, *, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application, with the time limit."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        token = REQUEST.set(scope)
        deadline = asyncio.timeout(self._timeout_s)

        async def send_in_time(message: Message) -> None:
            if message["type"] == "http.response.start":
                deadline.reschedule(None)
            await send(message)

        try:
            async with deadline:
                await self._app(scope, receive, send_in_time)
        except TimeoutError:
            if not deadline.expired():
                raise
            error = AnswerTimeout(f"There is no answer after {self._timeout_s:g} s, which is the limit here")
            await error_answer(error)(scope, receive, send)
        finally:
            REQUEST.reset(token)
