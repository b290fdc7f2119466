"""Removing what fields hold before a record goes to a topic that others read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.rules.protocol import FieldType

if TYPE_CHECKING:
    from counterfoil.sdk.serde.rules.protocol import Change, FieldChanges, SchemaField

_TEXT: Final = "<REDACTED>"
_PLACEHOLDER: Final[dict[FieldType, str | bytes]] = {FieldType.STRING: _TEXT, FieldType.BYTES: _TEXT.encode()}


def redacting(tags: frozenset[str]) -> FieldChanges:
    """Return the rule that replaces texts and bytes of fields with any of these tags."""

    def changes(field: SchemaField) -> Change | None:
        placeholder = _PLACEHOLDER.get(field.type)
        if placeholder is None or not tags & field.tags:
            return None

        def redact(value: Any, message: Any) -> Any:
            del message
            return None if value is None else placeholder

        return redact

    return changes
