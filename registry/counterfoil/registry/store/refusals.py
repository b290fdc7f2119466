"""The errors of writes that a storage did not carry out in time, or perhaps carried out."""

from __future__ import annotations

from counterfoil.schema.errors import StoreTimeout, StoreUnavailable


def uncertain(sentence: str) -> str:
    """Return the error for a write whose outcome is not known.

    Every other error of a write means that it was undone.
    """
    return f"{sentence}. The write may have been carried out; to register again is safe"


def queue_full(max_waiting: int) -> StoreUnavailable:
    """Return the error for a write when too many wait."""
    return StoreUnavailable(
        f"{max_waiting} writes wait for the store already (max_waiting_writes); this one was not carried out, try later"
    )


def waited_too_long(timeout_s: float, *, is_underway: bool) -> StoreTimeout:
    """Return the error for a write that was not carried out in time."""
    said = f"The store did not carry out the write within {timeout_s:g} s (write_timeout_s)"
    return StoreTimeout(uncertain(said) if is_underway else f"{said}; it was not begun, try again later")
