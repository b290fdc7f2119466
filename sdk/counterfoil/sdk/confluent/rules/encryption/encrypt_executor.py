"""The executors of encryption."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules.installed import Installed

__all__ = ["EncryptionExecutor", "FieldEncryptionExecutor"]


class FieldEncryptionExecutor(Installed):
    """Stands for this SDK's executor of the type ENCRYPT."""

    type_name = "ENCRYPT"


class EncryptionExecutor(Installed):
    """Stands for this SDK's executor of the type ENCRYPT_PAYLOAD."""

    type_name = "ENCRYPT_PAYLOAD"
