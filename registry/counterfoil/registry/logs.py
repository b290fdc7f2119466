"""The registry's log: one JSON object in each line on stderr, times in UTC, without secrets."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_plus

from pythonjsonlogger.json import JsonFormatter

from counterfoil.registry.settings import masked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from counterfoil.registry.settings import ServerSettings


LOGGER: Final = logging.getLogger("counterfoil.registry")

_SECRET_NAME: Final = re.compile(
    r"passw|secret|token|credential|authorization|signature|api[-_.]?key|access[-_.]?key|^auth$", re.IGNORECASE
)


async def tried(step: Callable[[], Awaitable[None]], what: str, *, expected: tuple[type[Exception], ...]) -> None:
    """Take a step of a task that must go on: an error ends the step alone, and is logged unless it is ``expected``."""
    try:
        with suppress(*expected):
            await step()
    except Exception:
        LOGGER.exception("%s has failed; the next ones are taken", what)


class _JsonLines(JsonFormatter):
    """Lines whose time is in UTC, in the form of RFC 3339: ``2026-11-22T12:50:32.123Z``."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        """Return the time of the record."""
        del datefmt
        made = datetime.fromtimestamp(record.created, UTC)
        return made.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure_logging() -> None:
    """Write the registry's log to stderr, one JSON object in each line.

    It includes warnings of the HTTP server and defects of searches for witnesses.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines("{asctime}{levelname}{name}{message}", style="{"))
    levels = {"counterfoil.registry": logging.INFO, "counterfoil.schema": logging.WARNING, "uvicorn": logging.WARNING}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False


def log_start(settings: ServerSettings, address: str) -> None:
    """Log the version, the store and the address of a server that starts."""
    facts = {"version": metadata.version("counterfoil"), "store": masked(settings.store), "address": address}
    LOGGER.info("the registry serves", extra={**facts, "workers": settings.workers})


def masked_query(query: str) -> str:
    """Return a query without passwords and without the values of parameters whose names are names of secrets.

    >>> masked_query("permanent=true&access_token=abc")
    'permanent=true&access_token=***'
    """
    return masked("&".join(map(_masked_parameter, query.split("&")))) if query else query


def _masked_parameter(parameter: str) -> str:
    name, equals, _ = parameter.partition("=")
    return f"{name}=***" if equals and _SECRET_NAME.search(unquote_plus(name)) else parameter
