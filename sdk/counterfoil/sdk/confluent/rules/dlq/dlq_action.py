"""The action DLQ."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledRulePart

__all__ = ["DlqAction"]


class DlqAction(InstalledRulePart):
    """Stands for this SDK's action, which sends dead letters; ``conf`` has its settings."""

    type_name = "DLQ"
