"""Whether a converted record fits into the target; ``Envelope.java`` has the same rule for the records of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORD_OVERHEAD_BYTES: Final = 120
"""The size of a batch of one record without key, value and headers: 61 bytes, lengths, deltas, and a reserve."""
HEADER_OVERHEAD_BYTES: Final = 10
OWN_HEADERS_BYTES: Final = 1024
"""An upper bound of the headers that a bridge adds: a topic name of 249 characters, a hash, numbers, names."""


def too_large(
    key: bytes | None, value: bytes, kept: Sequence[tuple[str, bytes | None]], *, largest: int | None
) -> str | None:
    """Return why a record does not fit into a topic whose ``max.message.bytes`` is ``largest``; None if it does.

    ``kept`` are the headers of the original. Its size is an upper bound of what the broker counts, uncompressed.
    """
    own = RECORD_OVERHEAD_BYTES + OWN_HEADERS_BYTES + len(key or b"") + len(value)
    size = own + sum(len(name.encode()) + len(text or b"") + HEADER_OVERHEAD_BYTES for name, text in kept)
    if largest is None or size <= largest:
        return None
    return f"the converted record takes about {size} bytes, and the target takes {largest}"
