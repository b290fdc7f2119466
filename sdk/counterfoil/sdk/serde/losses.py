"""The settings of serializers for values that only a part of can be written, or that Python does not have."""

from __future__ import annotations

from typing import Literal, TypeAlias

from counterfoil.sdk.errors import InvalidSettings

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
