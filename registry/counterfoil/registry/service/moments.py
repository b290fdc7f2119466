"""Moments in a registry's past, as requests name them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from counterfoil.schema.errors import BadRequest

if TYPE_CHECKING:
    from counterfoil.registry.service.storage import Storage

_TIMES: Final = "2026-11-01T12:00:00Z or ts:1793534400000"
_FORMS: Final = f"expected the number of a change (42 or seq:42), or a time ({_TIMES})"
_MAX_DIGITS: Final = 18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


async def resolve_moment(storage: Storage, text: str) -> int:
    """Return the number of the last change up to the moment that ``text`` names; 0 is before the first.

    ``42`` and ``seq:42`` are the moment right after change 42. ``ts:`` and a number is a time in epoch milliseconds;
    anything else is a time of ISO 8601 with ``Z`` or an offset. Raises ``BadRequest`` for another text, and for a time
    in the future.
    """
    kind, mark, digits = text.strip().partition(":")
    if mark and kind == "ts":
        return await _seq_at(storage, _number(digits, text), text)
    if mark and kind == "seq":
        return await _known(storage, _number(digits, text))
    if text.strip().isdigit():
        return await _known(storage, _number(text.strip(), text))
    return await _seq_at(storage, _epoch_ms(text.strip()), text)


def iso_time(ts: int) -> str:
    """Return a time (epoch ms) as ISO 8601 writes it.

    >>> iso_time(1793534400000)
    '2026-11-01T12:00:00.000Z'
    """
    return (_EPOCH + ts * _MILLISECOND).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(digits: str, text: str) -> int:
    if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        return int(digits)
    raise _unreadable(text)


def _epoch_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(
            text.replace(" ", "+") if "T" in text else text
        )  # a plus that is not encoded arrives as a blank
        if moment.tzinfo is None:
            raise BadRequest(f"as_of is {text[:80]!r}, a time without Z or an offset; {_FORMS}")
        return (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        raise _unreadable(text) from None


def _unreadable(text: str) -> BadRequest:
    return BadRequest(f"as_of is {text[:80]!r}; {_FORMS}")


async def _known(storage: Storage, seq: int) -> int:
    last = await storage.last_change()
    if seq > last:
        raise BadRequest(f"as_of names change {seq}, but the last one so far is {last}; a time is written {_TIMES}")
    return seq


async def _seq_at(storage: Storage, ts: int, text: str) -> int:
    now = time.time_ns() // 1_000_000
    if ts > now:
        last = await storage.changes(max(await storage.last_change() - 1, 0), 1)
        if not last or ts > last[-1].ts:  # the clock of the changes' times may be ahead of this one
            raise BadRequest(f"as_of is {text[:80]!r}, which has not come yet; now it is {iso_time(now)}")
    return await storage.last_change(ts)
