"""The driver of HashiCorp Vault."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledDriver

__all__ = ["HcVaultKmsDriver"]


class HcVaultKmsDriver(InstalledDriver):
    """Stands for this SDK's driver of HashiCorp Vault."""

    prefix = "hcvault://"
