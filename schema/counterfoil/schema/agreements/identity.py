"""The identity of an agreement by content: equal where no verdict can differ."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.agreements.model import OnUnknownEnum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterfoil.schema.agreements.model import Agreement, Expectation, Promise

_PROSE: Final = frozenset({"position", "places", "description", "status", "owner", "name", "version", "servers"})
"""What changes no verdict: places, texts for people, and where a contract is deployed."""
_NAMED: Final = frozenset({"HeaderPromise", "Expectation"})
"""The values whose name says what they are about."""
_UNSET: Final[Mapping[str, Mapping[Enum | None, str]]] = {
    "on_unknown_enum": {None: "fail", OnUnknownEnum.FAIL: "fail, written"}
}
"""Other texts of some values: in hashes that are stored, a port that does not say what it does counts as ``fail``."""


def content_hash(agreement: Agreement, *, fingerprints: Mapping[str, str] | None = None) -> str:
    """Return SHA-256, in hex, of the canonical JSON of the parts that affect a verdict.

    These are promises, expectations, rules, service levels and migrations, in any order of fields and reads, but not
    descriptions. ``fingerprints`` are those of the schemas, by the text with which a file refers to each.
    """
    content = {"kind": type(agreement).__name__, **_plain(agreement), "schemas": dict(fingerprints or {})}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def part_hash(part: Expectation | Promise) -> str:
    """Return SHA-256, in hex, of what a port expects or a topic promises, without versions and texts for people.

    A zero counts here, such as a minimum of 0; in :func:`content_hash`, which is stored, it counts as nothing.
    """
    text = json.dumps(_plain(part, has_zeros=True), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any, *, has_zeros: bool = False) -> Any:
    if is_dataclass(value):
        kind = type(value).__name__
        kept = (
            each.name for each in fields(value) if each.name not in _PROSE or (each.name == "name" and kind in _NAMED)
        )
        parts = ((name, _named(name, getattr(value, name))) for name in kept)
        return {
            name: _plain(found, has_zeros=has_zeros)
            for name, found in parts
            if not _is_unset(found, has_zeros=has_zeros)
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _listed(value, has_zeros=has_zeros)
    if isinstance(value, dict):
        return {str(key): _plain(each, has_zeros=has_zeros) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)


def _named(name: str, value: Any) -> Any:
    return _UNSET[name].get(value, value) if name in _UNSET else value


def _is_unset(value: Any, *, has_zeros: bool) -> bool:
    return value is None or value is False or value == () or (value == 0 and not has_zeros)


def _listed(value: tuple[Any, ...], *, has_zeros: bool) -> list[Any]:
    """Return a tuple as a list; the order of fields, reads, rules and the like has no meaning, that of steps has."""
    listed = [_plain(each, has_zeros=has_zeros) for each in value]
    is_ordered = any(isinstance(each, list) for each in listed)
    return listed if is_ordered else sorted(listed, key=lambda each: json.dumps(each, sort_keys=True))
