"""The secrets that hashes of a plan are made with: variables of the environment of the driver."""

from __future__ import annotations

import os
from collections.abc import Mapping

from counterfoil.schema.plans.model import Op
from counterfoil.schema.plans.operands import secrets_in
from counterfoil.schema.plans.text_functions import SecretMissing


def secret_of(name: str) -> bytes:
    """Return the secret of a name as bytes; raise ``SecretMissing``."""
    found = os.environ.get(name, "")
    if not found:
        raise SecretMissing(name)
    return found.encode(errors="surrogateescape")


def secrets_of(root: Op) -> Mapping[str, bytes]:
    """Return the secrets of a plan's hashes by their names; raise ``SecretMissing``."""
    return {name: secret_of(name) for name in secrets_in(root)}
