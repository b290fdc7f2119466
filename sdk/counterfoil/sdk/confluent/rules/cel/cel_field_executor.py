"""The executor of rules of the type CEL_FIELD."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledRulePart

__all__ = ["CelFieldExecutor"]


class CelFieldExecutor(InstalledRulePart):
    """Stands for this SDK's executor of CEL for fields."""

    type_name = "CEL_FIELD"
