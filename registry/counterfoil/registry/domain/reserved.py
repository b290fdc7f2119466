"""Reserved field names: a metadata property with names that fields may not have, checked if ``validateFields`` is on.

Source: Confluent Schema Registry's public API (``confluent:reserved``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterfoil.schema.model import Metadata

RESERVED_PROPERTY: Final = "confluent:reserved"
"""The metadata property that lists names with commas between them."""


def reserved_names(metadata: Metadata | None) -> tuple[str, ...]:
    """Return the names that ``metadata`` reserves, in order."""
    listed = "" if metadata is None else metadata.properties.get(RESERVED_PROPERTY, "")
    return tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))


def reservation_messages(
    metadata: Metadata | None, field_names: Collection[str], *, latest: Metadata | None
) -> tuple[str, ...]:
    """Return a message for each name that a new schema no longer reserves, and for each field with a reserved name.

    ``field_names`` are those of its top level, ``latest`` is the metadata of the version before it.
    """
    names = reserved_names(metadata)
    lost = [name for name in reserved_names(latest) if name not in names]
    taken = [name for name in names if name in field_names]
    return (
        *(
            f"{{errorType:'RESERVED_FIELD_REMOVED', description:'The new schema no longer reserves the name {name}, "
            f"which the latest version does', additionalInfo:'{name}'}}"
            for name in lost
        ),
        *(
            f"{{errorType:'FIELD_CONFLICTS_WITH_RESERVED_FIELD', description:'The new schema has a field {name}, "
            f"a name that it reserves', additionalInfo:'{name}'}}"
            for name in taken
        ),
    )
