"""One operation, repeated until there is a response: base URLs in order, retries, pauses.

A script, without I/O of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterfoil.schema.rest.json_values import UnexpectedShapeError
from counterfoil.sdk.connection.credentials import credentials_of
from counterfoil.sdk.connection.pauses import RETRIED, Clock, pause_after
from counterfoil.sdk.connection.retry_limits import RetryLimits
from counterfoil.sdk.errors import RegistryUnavailable, UnexpectedReply
from counterfoil.sdk.operations import read_reply
from counterfoil.sdk.script import Pause, Send
from counterfoil.sdk.transport import NoReply, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.sdk.operations import Operation
    from counterfoil.sdk.script import Script
    from counterfoil.sdk.settings import RegistrySettings

T = TypeVar("T")

MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_ACCEPT: Final = f"{MEDIA_TYPE}, application/vnd.schemaregistry+json; q=0.9, application/json; q=0.5"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The outcome of one request: a reply or none."""

    url: str
    outcome: Reply | NoReply

    @property
    def is_answered(self) -> bool:
        """Whether a registry sent a response that would be the same for a repeated request."""
        return isinstance(self.outcome, Reply) and self.outcome.status not in RETRIED

    @property
    def had_no_effect(self) -> bool:
        """Whether the request certainly had no effect in the registry."""
        if isinstance(self.outcome, NoReply):
            return not self.outcome.was_sent
        return self.outcome.status == HTTPStatus.TOO_MANY_REQUESTS


class Exchange:
    """Runs operations against the URLs of the settings, beginning with the one that responded last."""

    def __init__(self, settings: RegistrySettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._urls = tuple(url.rstrip("/") for url in settings.urls)
        self._headers = _headers(settings)
        self._credentials = credentials_of(settings.auth, clock, settings.retry)
        self._limits = RetryLimits(settings.retry, clock.monotonic)
        self._preferred = 0

    def call(self, operation: Operation[T]) -> Script[T]:
        """Run the operation and return its result; raise the registry's error, or ``RegistryUnavailable``."""
        self._limits.begin(self._urls[self._preferred] + operation.target)
        try:
            attempt, attempts = yield from self._attempts(operation)
        except BaseException:
            self._limits.end(is_answered=None)
            raise
        self._limits.end(is_answered=attempt.is_answered)
        return self._read(operation, attempt, attempts)

    def _attempts(self, operation: Operation[T]) -> Script[tuple[_Attempt, int]]:
        """Send the request until there is a final outcome, and return it with the number of requests."""
        started = self._clock.monotonic()
        attempts = 0
        for round_number in range(self._settings.retry.retries + 1):
            for position in self._positions():
                attempt = yield from self._attempt(operation, self._urls[position])
                attempts += 1
                if attempt.is_answered:
                    self._preferred = position
                if attempt.is_answered or not (operation.is_repeatable or attempt.had_no_effect):
                    return attempt, attempts
            if round_number == self._settings.retry.retries:
                break
            pause_s = pause_after(attempt.outcome, round_number, self._settings.retry, self._clock)
            is_in_time = pause_s < self._settings.retry.total_s - (self._clock.monotonic() - started)
            if not is_in_time or not self._limits.takes_round():
                break
            yield Pause(pause_s)
        return attempt, attempts

    def _positions(self) -> list[int]:
        """Return the positions of the URLs in the order of attempts, beginning with the one that responded last."""
        first = self._preferred
        return [(first + step) % len(self._urls) for step in range(len(self._urls))]

    def _attempt(self, operation: Operation[T], base_url: str) -> Script[_Attempt]:
        url = base_url + operation.target
        headers = self._headers if operation.body is None else {**self._headers, "Content-Type": MEDIA_TYPE}
        own = yield from self._credentials.headers()
        try:
            reply = yield from _sent(operation, url, headers, own)
            if reply.status == HTTPStatus.UNAUTHORIZED and (yield from self._credentials.renewed(own)):
                reply = yield from _sent(operation, url, headers, (yield from self._credentials.headers()))
        except NoReply as error:
            return _Attempt(url, error)
        return _Attempt(url, reply)

    def _read(self, operation: Operation[T], attempt: _Attempt, attempts: int) -> T:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        if isinstance(attempt.outcome, NoReply):
            raise RegistryUnavailable(
                f"The registry at {attempt.url} did not answer: {attempt.outcome.problem} ({tries})",
                url=attempt.url,
                attempts=attempts,
            ) from attempt.outcome
        try:
            return read_reply(operation, attempt.outcome)
        except UnexpectedShapeError as error:
            raise UnexpectedReply(
                f"The server at {attempt.url} does not answer as a schema registry does: {error} ({tries})",
                url=attempt.url,
                attempts=attempts,
                status=attempt.outcome.status,
                problem=str(error),
            ) from None


def _sent(
    operation: Operation[Any], url: str, headers: Mapping[str, str], credentials: Mapping[str, str]
) -> Script[Reply]:
    if credentials:
        headers = {**credentials, **headers}  # the user's own header wins
    reply: Reply = yield Send(Request(operation.method, url, headers, operation.body))
    return reply


def _headers(settings: RegistrySettings) -> dict[str, str]:
    """Return the headers of every request; the user's come last and override others."""
    from importlib.metadata import version

    found = {
        "Accept": _ACCEPT,
        "User-Agent": f"counterfoil/{version('counterfoil')}",
        "Confluent-Accept-Unknown-Properties": "true",  # else Confluent's cloud leaves out newer fields
    }
    return {**found, **settings.headers}
