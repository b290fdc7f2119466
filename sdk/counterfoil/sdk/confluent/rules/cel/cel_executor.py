"""The executor of rules of the type CEL."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules.installed import Installed

__all__ = ["CelExecutor"]


class CelExecutor(Installed):
    """Stands for this SDK's executor of CEL."""

    type_name = "CEL"
