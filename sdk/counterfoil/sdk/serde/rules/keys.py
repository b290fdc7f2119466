"""The key of a record, kept for the rules of its value: an action may send both to a dead letter topic.

Serializers see keys and values in separate calls, the key first, in one thread or task. Keeping a key takes time for
every record, so that it is done only once an action that needs keys was made.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakSet

from counterfoil.sdk.serde.context import field_of, topic_of

if TYPE_CHECKING:
    from counterfoil.sdk.serde.context import MessageContext
    from counterfoil.sdk.serde.rules.protocol import RedactKey

_KEPT: ContextVar[tuple[str | None, Any, RedactKey | None] | None] = ContextVar("counterfoil_record_key", default=None)


class KeepsKeys(Protocol):
    """A serializer or deserializer whose shortest way keeps no keys."""

    def forget_short_ways(self) -> None:
        """Use the way that keeps keys for every record, from now on."""


class _Need:
    """Whether any action of this process needs keys, and who must know."""

    def __init__(self) -> None:
        self.is_there = False
        self._serdes: WeakSet[Any] = WeakSet()

    def join(self, serde: KeepsKeys) -> None:
        """Let a serializer or deserializer know when keys are needed."""
        self._serdes.add(serde)

    def begin(self) -> None:
        """Keep the keys of all records from now on."""
        self.is_there = True
        for serde in list(self._serdes):
            serde.forget_short_ways()


NEED: Final = _Need()


def keep(ctx: MessageContext | None, key: Any, redact: RedactKey | None = None) -> None:
    """Keep a key for the value of the same record; after a value, forget its key.

    ``redact`` removes from the key what the rules of its schema encrypt.
    """
    _KEPT.set((topic_of(ctx), key, redact) if field_of(ctx) == "key" else None)


def kept_key(ctx: MessageContext | None) -> tuple[Any, RedactKey | None]:
    """Return the key of the record of ``ctx`` and what redacts it; None if it was not serialized before its value."""
    kept = _KEPT.get()
    return kept[1:] if kept is not None and kept[0] == topic_of(ctx) else (None, None)
