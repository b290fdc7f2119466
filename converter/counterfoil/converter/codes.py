"""The reasons for dead letters that are the job's own; all others are the engine's."""

from __future__ import annotations

from typing import Final

TOO_LARGE: Final = "too-large"
"""The code of a record whose converted form the target topic would not take."""
