"""The registry itself: its schema types, contexts and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterfoil.schema.rest.json_values import read_texts
from counterfoil.sdk.operations.operation import Operation, ReplyForm
from counterfoil.sdk.operations.requests import read_nothing, read_object, read_sorted_texts, url_path, url_query

if TYPE_CHECKING:
    from typing import Any

    from counterfoil.schema.rest.json_values import JsonValue


def ping() -> Operation[None]:
    """``GET /schemas/types``: whether a registry is there; the root has no response under the URL of a context."""
    return Operation("ping", "GET", "/schemas/types", _any_texts)


def _any_texts(reply: JsonValue) -> None:
    """Check that the response is a list of texts, and ignore them."""
    read_texts(reply)


def schema_types() -> Operation[tuple[str, ...]]:
    """``GET /schemas/types``: the names of the schema types that it accepts."""
    return Operation("schema_types", "GET", "/schemas/types", read_sorted_texts)


def contexts() -> Operation[tuple[str, ...]]:
    """``GET /contexts``: the default one, ``.``, first."""
    return Operation("contexts", "GET", "/contexts", read_texts)


def delete_context(context: str) -> Operation[None]:
    """``DELETE /contexts/{context}``: delete an empty context."""
    path = url_path("contexts", context)
    return Operation("delete_context", "DELETE", path, read_nothing, form=ReplyForm.NOTHING)


def changes(*, after: str | None, limit: int | None) -> Operation[dict[str, Any]]:
    """``GET /changes``, of this project's registry: the changes after a position, such as ``"latest"``."""
    return Operation("changes", "GET", "/changes", read_object, url_query(after=after, limit=limit))
