"""The longest that a request may take: after it, whoever asked gets an answer, if only that there is none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from counterfoil.registry.api.http.answers import error_answer
from counterfoil.schema.errors import AnswerTimeout

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Deadlines:
    """Answers 504 to a request whose answer has not begun after ``timeout_s``, and ends the work on it.

    A write that was handed to the store by then may be carried out all the same; registering again is safe. An answer
    that has begun, such as a feed of changes, may last.
    """

    def __init__(self, app: ASGIApp, *, timeout_s: float) -> None:
        self._app = app
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, for so long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
