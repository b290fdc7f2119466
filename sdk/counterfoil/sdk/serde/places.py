"""Where an error happened: its record and its schema, added to the error on its way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.sdk.serde.context import field_of, topic_of

if TYPE_CHECKING:
    from counterfoil.schema.errors import CounterfoilError
    from counterfoil.sdk.serde.context import MessageContext


def place(
    error: CounterfoilError,
    ctx: MessageContext | None,
    *,
    subject: str | None = None,
    schema_id: int | None = None,
    data: bytes | None = None,
) -> None:
    """Add to an error what it does not have yet of topic, field, subject, schema_id and data."""
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
