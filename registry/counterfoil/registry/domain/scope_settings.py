"""The config and mode that are stored for one scope, and their document in the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterfoil.schema.rest.config import config_document, read_config
from counterfoil.schema.rest.modes import Mode
from counterfoil.schema.rest.object_forms import JsonType, Member, ObjectForm

if TYPE_CHECKING:
    from counterfoil.schema.rest.config import Config


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """The stored settings of a subject or a context; None is not stored."""

    config: Config | None = None
    mode: Mode | None = None


SCOPE_SETTINGS: Final = ObjectForm(
    ScopeSettings,
    (
        Member("config", "config", JsonType(read_config, config_document)),
        Member("mode", "mode", JsonType(lambda value: value.one_of(Mode), str)),
    ),
    keeps_empty=True,
)
"""The document of all that is stored for a scope."""
