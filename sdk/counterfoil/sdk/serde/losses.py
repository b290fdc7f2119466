"""Values of which only a part can be written, or that Python does not have: settings of serializers, and numbers."""

from __future__ import annotations

import numbers
import struct
from typing import Final, Literal, TypeAlias

from counterfoil.sdk.errors import InvalidSettings

_SINGLE: Final = struct.Struct("<f")

OutOfRange: TypeAlias = Literal["error", "number"]
"""What a date or time is read as that Python does not have: an error, or the number in the message."""


def checked_flag(allow_rounding: object) -> bool:
    """Return the setting ``allow_rounding``. Raises ``InvalidSettings``."""
    if not isinstance(allow_rounding, bool):
        problem = f"allow_rounding is {allow_rounding!r}; expected True or False"
        raise InvalidSettings(problem, setting="allow_rounding")
    return allow_rounding


def reads_numbers(out_of_range: object) -> bool:
    """Return whether the setting ``out_of_range`` is ``"number"``. Raises ``InvalidSettings``."""
    if out_of_range not in ("error", "number"):
        problem = f"out_of_range is {out_of_range!r}; expected 'error' or 'number'"
        raise InvalidSettings(problem, setting="out_of_range")
    return out_of_range == "number"


def is_rounded(number: object, size: int) -> bool:
    """Return whether a float of ``size`` bytes has a real number of Python only rounded.

    A float of Python is written as the nearest one of 4 bytes, so that it never is.
    """
    if isinstance(number, float) or number != number:  # noqa: PLR0124 - not a number
        return False
    number = int(number) if isinstance(number, numbers.Integral) else number  # those of numpy equal a rounded float
    try:
        wide = float(number)  # type: ignore[arg-type]  # the caller has a number
        nearest = _SINGLE.unpack(_SINGLE.pack(wide))[0] if size == _SINGLE.size else wide
    except OverflowError:
        return True
    return bool(wide != number) or (isinstance(number, numbers.Rational) and bool(nearest != number))
