"""The driver of Google Cloud KMS."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledDriver

__all__ = ["GcpKmsDriver"]


class GcpKmsDriver(InstalledDriver):
    """Stands for this SDK's driver of Google Cloud KMS."""

    prefix = "gcp-kms://"
