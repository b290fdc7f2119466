"""The driver of AWS KMS."""

from __future__ import annotations

from counterfoil.sdk.confluent.rules import InstalledDriver

__all__ = ["AwsKmsDriver"]


class AwsKmsDriver(InstalledDriver):
    """Stands for this SDK's driver of AWS KMS."""

    prefix = "aws-kms://"
