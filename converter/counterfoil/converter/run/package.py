"""The package of a bridge, as a run uses it: its schemas, its plan and its compiled classes, in one folder.

``counterfoil bridge package`` writes it (:mod:`counterfoil.converter.commands.package`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterfoil.converter.bridge import ResolvedBridge, resolve
from counterfoil.converter.errors import BridgeError, why_unreadable
from counterfoil.schema.errors import CounterfoilError
from counterfoil.sdk import Registry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from counterfoil.schema.plans.bridge import BridgeFile

SCHEMAS: Final = "schemas.json"
PLAN: Final = "plan.json"
CLASSES: Final = "classes.jar"
BRIDGE: Final = "bridge.yaml"
SETTINGS: Final = "settings.json"
MAIN: Final = "main.py"


@dataclass(frozen=True, slots=True)
class JobPackage:
    """A folder that ``counterfoil bridge package`` has written."""

    folder: Path

    def resolve(self, declared: BridgeFile) -> ResolvedBridge:
        """Return the bridge with the schemas of the package, as it was when the package was made.

        Raises ``BridgeError`` if the bridge file, or this version of the converter, makes another plan of them.
        """
        try:
            with Registry.from_bundle(self.folder / SCHEMAS) as schemas:
                found = resolve(declared, schemas)
        except (CounterfoilError, OSError) as mistake:
            raise BridgeError(f"The package {self.folder} cannot be used: {mistake}") from None
        wanted = self._plan_hash()
        for each in (found, found.earlier):
            if each is not None and each.hash == wanted:
                return each
        raise BridgeError(
            f"The package {self.folder} was made for plan {wanted[:16]}, and {BRIDGE} has plan {found.hash[:16]} with "
            "the schemas of the package; make the package anew with 'counterfoil bridge package'"
        )

    def _plan_hash(self) -> str:
        path = self.folder / PLAN
        try:
            return str(json.loads(path.read_text(encoding="utf-8"))["hash"])
        except OSError as refusal:
            raise BridgeError(f"{path} cannot be read: {why_unreadable(refusal)}") from None
        except (ValueError, KeyError, TypeError) as mistake:
            raise BridgeError(f"{path} is not what 'counterfoil bridge package' writes: {mistake!r}") from None

    def add_classes(self, session: SparkSession) -> None:
        """Give a session the compiled classes, so that it compiles none of them."""
        jar = self.folder / CLASSES
        if not jar.is_file():
            raise BridgeError(
                f"The package {self.folder} has no {CLASSES}; make it anew with 'counterfoil bridge package'"
            )
        session.sql(f"ADD JAR '{jar.absolute()}'")
