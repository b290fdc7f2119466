"""The executor of rules of the type JSONATA."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules.installed import Installed

__all__ = ["JsonataExecutor"]


class JsonataExecutor(Installed):
    """Stands for this SDK's executor of JSONata."""

    type_name = "JSONATA"
