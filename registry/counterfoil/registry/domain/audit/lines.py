"""The lines of an audit file: canonical JSON, each with the hash of the line before in its chain.

Source: RFC 8785 (canonical JSON). A line has texts, integers, null and objects with names in ASCII alone, for which
sorted names and no blanks are the canonical form.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from counterfoil.registry.domain.audit.events import EventKind, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterfoil.registry.domain.audit.events import AuditEvent

HASH: Final = "hash"
SIGNATURE: Final = "signature"

_NO_HASH: Final = "0" * 64
_MEMBER: Final = b'"hash":"%b",' % _NO_HASH.encode()
"""The member of a line before its hash is known; others follow it, since names are sorted."""
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


class LineHead(NamedTuple):
    """The last line of a chain: its number, and its hash."""

    chain: str
    line: int
    head: str


def canonical(facts: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of ``facts``."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half of a surrogate pair, which Python's own library writes as a question mark
        return _ENCODER.encode(facts).encode("utf-8", "replace")


def hash_of(facts: Mapping[str, Any]) -> str:
    """Return the hash of a line, of which ``facts`` are all members but the hash itself."""
    return hashlib.sha256(canonical(facts)).hexdigest()


def unsigned(facts: dict[str, Any]) -> dict[str, Any]:
    """Return ``facts`` as they are."""
    return facts


def signed_part(facts: Mapping[str, Any]) -> bytes:
    """Return what the signature in ``facts`` is over."""
    return canonical({name: value for name, value in facts.items() if name not in {HASH, SIGNATURE}})


class Chain:
    """The chain of one process: it makes a line of each event; ``signed`` signs those that are heads."""

    def __init__(self, node: str, signed: Callable[[dict[str, Any]], dict[str, Any]] = unsigned) -> None:
        self._node = node
        self._signed = signed
        self._seq = 0
        self._prev: str | None = None

    def lines(self, events: list[AuditEvent]) -> tuple[bytes, Chain]:
        """Return the lines of ``events``, and the chain after them; this one stays, should they not be written."""
        after = Chain(self._node, self._signed)
        after._seq, after._prev = self._seq, self._prev
        return b"".join([after._line(event) for event in events]), after

    @property
    def head(self) -> LineHead | None:
        """The last line; None if there is none."""
        return None if self._prev is None else LineHead(self._node, self._seq, self._prev)

    def _line(self, event: AuditEvent) -> bytes:
        self._seq += 1
        facts = {
            **event.facts,
            "seq": self._seq,
            "time": time_text(event.at),
            "node": self._node,
            "event": event.kind.text,
            "prev": self._prev,
        }
        if event.kind is EventKind.AUDIT_HEAD:
            facts = self._signed(facts)
        facts[HASH] = _NO_HASH
        before, member, after = canonical(facts).partition(_MEMBER)  # no text has it, since quotation marks are escaped
        self._prev = hashlib.sha256(before + after).hexdigest()
        return b"%b%b%b\n" % (before, member.replace(_NO_HASH.encode(), self._prev.encode()), after)
