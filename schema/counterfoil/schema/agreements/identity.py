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
    from dataclasses import Field

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

    Release 0.2.0 did not count a zero, such as a minimum of 0, and took an empty list of reads for none. Such a file
    has another hash in a store of that release.
    """
    content = {"kind": type(agreement).__name__, **_plain(agreement), "schemas": dict(fingerprints or {})}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def part_hash(part: Expectation | Promise) -> str:
    """Return SHA-256, in hex, of what a port expects or a topic promises, without versions and texts for people."""
    text = json.dumps(_plain(part), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        kind = type(value).__name__
        kept = (each for each in fields(value) if each.name not in _PROSE or (each.name == "name" and kind in _NAMED))
        parts = ((each, _named(each.name, getattr(value, each.name))) for each in kept)
        return {each.name: _plain(found) for each, found in parts if not _is_unset(each, found)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return _listed(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str | int | float | bool | list | None) else str(value)


def _named(name: str, value: Any) -> Any:
    return _UNSET[name].get(value, value) if name in _UNSET else value


def _is_unset(member: Field[Any], value: Any) -> bool:
    """Return whether a file does not state a member; an empty list is a statement where None is possible, too."""
    return value is None or value is False or (value == () and member.default is not None)


def _listed(value: tuple[Any, ...]) -> list[Any]:
    """Return a tuple as a list; the order of fields, reads, rules and the like has no meaning, that of steps has."""
    listed = [_plain(each) for each in value]
    is_ordered = any(isinstance(each, list) for each in listed)
    return listed if is_ordered else sorted(listed, key=lambda each: json.dumps(each, sort_keys=True))
