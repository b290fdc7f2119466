"""Null where a framework needs bytes: several measure the length of each value, or have no null of their own."""

from __future__ import annotations

from typing import Final


class Null(bytes):
    """No bytes, which stand for null until the Kafka client is called."""

    __slots__ = ()


NULL: Final = Null()
