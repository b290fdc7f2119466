"""The driver of Azure Key Vault."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledDriver

__all__ = ["AzureKmsDriver"]


class AzureKmsDriver(InstalledDriver):
    """Stands for this SDK's driver of Azure Key Vault."""

    prefix = "azure-kms://"
