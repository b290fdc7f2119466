"""What a random sample says about all records.

Source: the rule of three (Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 1983), and
for samples with failures the upper limit of Wilson's score interval.
"""

from __future__ import annotations

import math
from typing import Final

_THREE: Final = 3.0
_Z_95: Final = 1.6448536269514722
"""The standard normal quantile of a one-sided limit at 95 %."""


def share_at_most(failing: int, records: int) -> float:
    """Return the share of all records that fail at most, at 95 % confidence, if ``failing`` of ``records`` did.

    The records must be a random sample.

    >>> share_at_most(0, 1000)
    0.003
    >>> round(share_at_most(10, 1000), 4)
    0.0167
    """
    if not records:
        return 1.0
    if not failing:
        return min(1.0, _THREE / records)
    share, square = failing / records, _Z_95**2
    middle = share + square / (2 * records)
    spread = _Z_95 * math.sqrt(share * (1 - share) / records + square / (4 * records**2))
    return min(1.0, (middle + spread) / (1 + square / records))
