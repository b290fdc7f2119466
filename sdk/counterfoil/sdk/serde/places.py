"""What errors have in common: the record and the schema, added to the error on its way out; values in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import Forbidden
from counterfoil.schema.excerpt import excerpt
from counterfoil.sdk.serde.context import field_of, topic_of

if TYPE_CHECKING:
    from counterfoil.schema.errors import CounterfoilError
    from counterfoil.sdk.serde.context import MessageContext


_OF_A_RECORD: Final = ("topic", "partition", "offset", "field", "subject", "schema_id")


def place(
    error: CounterfoilError,
    ctx: MessageContext | None,
    *,
    subject: str | None = None,
    schema_id: int | None = None,
    data: bytes | None = None,
) -> None:
    """Add to an error what it does not have yet of topic, field, subject, schema_id and data.

    A denial by the registry gets a text of them, and of the ``partition`` and ``offset`` that it may have.
    """
    facts = {
        "topic": topic_of(ctx),
        "field": field_of(ctx),
        "subject": subject,
        "schema_id": schema_id,
        "data": data,
    }
    for name, value in facts.items():
        if getattr(error, name, None) is None:
            setattr(error, name, value)
    if isinstance(error, Forbidden):
        own = {name: getattr(error, name, None) for name in _OF_A_RECORD}
        error.record = ", ".join(f"{name}={value!r}" for name, value in own.items() if value is not None)


def shown(value: object) -> str:
    """Return a value and its type in a few words on one line, for an error message."""
    try:
        text = " ".join(map(str.strip, repr(value).splitlines()))
    except Exception:  # noqa: BLE001 - a repr of the program's own may raise anything
        text = "a value without repr"
    return f"{excerpt(text)} ({type(value).__name__})"
