"""The driver of a secret in the settings."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledDriver

__all__ = ["LocalKmsDriver"]


class LocalKmsDriver(InstalledDriver):
    """Stands for this SDK's driver of a secret in the settings."""

    prefix = "local-kms://"
