"""The executors of encryption."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledRulePart

__all__ = ["EncryptionExecutor", "FieldEncryptionExecutor"]


class FieldEncryptionExecutor(InstalledRulePart):
    """Stands for this SDK's executor of the type ENCRYPT."""

    type_name = "ENCRYPT"


class EncryptionExecutor(InstalledRulePart):
    """Stands for this SDK's executor of the type ENCRYPT_PAYLOAD."""

    type_name = "ENCRYPT_PAYLOAD"
