"""The executor of rules of the type CEL."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledRulePart

__all__ = ["CelExecutor"]


class CelExecutor(InstalledRulePart):
    """Stands for this SDK's executor of CEL."""

    type_name = "CEL"
