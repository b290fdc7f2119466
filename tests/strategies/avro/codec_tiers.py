"""The tiers of the Avro codec: generated Python code, and the accelerator where it is installed or required."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING, Final

from counterfoil.sdk.serde.accelerator import REQUIRED, USED

if TYPE_CHECKING:
    from collections.abc import Callable

GENERATED: Final = "generated"
ACCELERATED: Final = "accelerated"
HAS_ACCELERATOR: Final = bool(os.environ.get(REQUIRED) or importlib.util.find_spec("counterfoil_accelerator"))
"""Whether the accelerator is tested; where it is required and missing, its tests fail."""

TIERS: Final = (GENERATED, ACCELERATED) if HAS_ACCELERATOR else (GENERATED,)
_SETTINGS_BY_TIER: Final = {GENERATED: {USED: "off"}, ACCELERATED: {USED: "on", REQUIRED: "1"}}


def use_tier(set_variable: Callable[[str, str], object], tier: str) -> None:
    """Set the environment variables with which encoders and decoders are made of a tier."""
    for name, value in _SETTINGS_BY_TIER[tier].items():
        set_variable(name, value)
