"""The mode of a registry, a context or a subject."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.schema.rest.json_values import JsonValue


class Mode(StrEnum):
    """The operations that a registry, a context or a subject permits."""

    READWRITE = "READWRITE"
    READONLY = "READONLY"
    READONLY_OVERRIDE = "READONLY_OVERRIDE"
    IMPORT = "IMPORT"
    FORWARD = "FORWARD"

    @property
    def is_read_only(self) -> bool:
        """Whether only modes can be written."""
        return self in {Mode.READONLY, Mode.READONLY_OVERRIDE}

    @property
    def takes_ids(self) -> bool:
        """Whether registrations contain their ids; their schemas are stored unchanged, without compatibility checks."""
        return self in {Mode.IMPORT, Mode.FORWARD}


def _mode(value: JsonValue) -> Mode:
    return value.one_of(Mode, any_case=True)


def read_mode(value: JsonValue) -> Mode | None:
    """Return the mode in ``value``; None if there is none, as after a recursive deletion of one that was not set."""
    return value.optional("mode", _mode)
