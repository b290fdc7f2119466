"""The part of a registry client that plans need; ``counterfoil.sdk.Registry`` is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from counterfoil.contracts.registration import SchemaRegistry
from counterfoil.schema.rest.versions import Deletion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.compatibility.levels import CompatibilityLevel
    from counterfoil.schema.rest.config import Config
    from counterfoil.schema.rest.modes import Mode
    from counterfoil.schema.rest.versions import VersionNumber
    from counterfoil.sdk.operations import Operation

_T = TypeVar("_T")


class StateRegistry(SchemaRegistry, Protocol):
    """A registry whose subjects, configs and modes can be read and changed."""

    def subjects(self) -> Sequence[str]:
        """Return the names of all subjects with active versions."""

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return the settings of a subject; with ``default_to_global``, those in effect. Raises ``ConfigNotFound``."""

    def set_config(
        self, subject: str | None, change: Config | CompatibilityLevel | str, *, clear: Iterable[str] = ()
    ) -> Config:
        """Change settings and return the new ones; ``clear`` names those to unset."""

    def delete_config(self, subject: str | None = None) -> Config:
        """Delete the settings of a subject."""

    def set_mode(self, subject: str | None, new: Mode | str | None, *, force: bool = False) -> Mode | None:
        """Set the mode of a subject."""

    def call(self, operation: Operation[_T]) -> _T:
        """Return the result of any operation."""

    def call_all(self, listing: Operation[tuple[_T, ...]], *, page_size: int = 1000) -> tuple[_T, ...]:
        """Return all entries of a listing."""

    def delete_mode(self, subject: str | None = None, *, recursive: bool = False) -> Mode | None:
        """Unset the mode of a subject."""

    def delete_subject(self, subject: str, *, deletion: Deletion = Deletion.SOFT) -> Sequence[int]:
        """Delete a subject."""

    def delete_version(self, subject: str, number: VersionNumber, *, deletion: Deletion = Deletion.SOFT) -> int:
        """Delete a version."""
