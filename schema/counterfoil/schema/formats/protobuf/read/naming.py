"""Names that a descriptor derives from the names of a file.

Source: the Protocol Buffers language guide, "JSON Mapping" and "Maps"; the names that ``protoc`` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container


def json_name_of(name: str) -> str:
    """Return the JSON name of a field without the option ``json_name``: camel case.

    >>> json_name_of("foo_bar_2")
    'fooBar2'
    """
    first, *others = name.split("_")
    return first + "".join(_capitalize(part) for part in others)


def map_entry_name(name: str) -> str:
    """Return the name of the message of a map field's entries.

    >>> map_entry_name("by_name")
    'ByNameEntry'
    """
    return "".join(_capitalize(part) for part in name.split("_")) + "Entry"


def synthetic_oneof_name(name: str, taken: Container[str]) -> str:
    """Return the name of the synthetic oneof of a field that is optional in proto3."""
    found = name if name.startswith("_") else f"_{name}"
    while found in taken:
        found = f"X{found}"
    return found


def _capitalize(part: str) -> str:
    return part[:1].upper() + part[1:]
