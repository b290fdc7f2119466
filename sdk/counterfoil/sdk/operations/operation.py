"""One call of the REST API as a value: how the request is made, and how its response is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from counterfoil.schema.rest.json_values import JsonValue

T = TypeVar("T")


class ReplyForm(Enum):
    """The form of the body of a successful response."""

    JSON = "JSON"
    TEXT = "text"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """One call of the REST API. ``path`` is percent-encoded and begins with a slash; ``body`` is JSON or None.

    ``is_repeatable``: sending it twice has the same effect as sending it once, so it may be retried after a lost
    response.
    """

    name: str
    method: str
    path: str
    read: Callable[[JsonValue], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_repeatable: bool = True
    form: ReplyForm = ReplyForm.JSON

    @property
    def target(self) -> str:
        """The path and query, as in the request."""
        return f"{self.path}?{urlencode(self.query, quote_via=quote)}" if self.query else self.path


def page_of(operation: Operation[T], *, offset: int, limit: int) -> Operation[T]:
    """Return a listing's operation that requests ``limit`` entries at most, after the first ``offset``."""
    return replace(operation, query=(*operation.query, ("offset", str(offset)), ("limit", str(limit))))


def as_json(operation: Operation[Any]) -> Operation[Any]:
    """Return the operation with its unparsed JSON as the result: for responses of other registries."""
    return replace(operation, read=_value)


def _value(reply: JsonValue) -> Any:
    return reply.value
