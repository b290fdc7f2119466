"""The executor of rules of the type JSONATA."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledRulePart

__all__ = ["JsonataExecutor"]


class JsonataExecutor(InstalledRulePart):
    """Stands for this SDK's executor of JSONata."""

    type_name = "JSONATA"
