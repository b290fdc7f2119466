"""The codes of dead letters that the job gives; all other codes come from the engine."""

from __future__ import annotations

from typing import Final

TOO_LARGE: Final = "too-large"
"""The code of a record whose converted form is too large for the target topic."""
