"""Removing what tags mark before a record goes to a topic that others read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from counterfoil.sdk.serde.rules.protocol import FieldType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from counterfoil.schema.model import RuleSet
    from counterfoil.sdk.serde.rules.protocol import Change, SchemaField

REDACTED: Final = "<REDACTED>"
_BYTES: Final = REDACTED.encode()
_SHORT: Final = 4
"""Texts of fewer characters, and numbers, are only found in a sentence where they are words of it."""


class Hiding:
    """Hides what ``tags`` mark; None hides everything. ``found`` are the values that were hidden.

    It fails closed: a value that does not fit its schema is hidden as a whole.
    """

    def __init__(self, tags: frozenset[str] | None, found: list[Any] | None = None) -> None:
        self.tags = tags
        self.found = [] if found is None else found

    def hides(self, tags: frozenset[str]) -> bool:
        """Return whether values with these tags are hidden."""
        return self.tags is None or bool(self.tags & tags)

    def changes(self, field: SchemaField) -> Change | None:
        """Return what hides the values of a field, whatever their type is; None if they are not hidden."""
        if not self.hides(field.tags):
            return None
        placeholder = _BYTES if field.type is FieldType.BYTES else REDACTED

        def hide(value: Any, message: Any) -> Any:
            del message
            if value is None:
                return None
            self.found.append(value)
            return placeholder

        return hide

    def whole(self, value: Any) -> Any:
        """Return what stands for a value of which nothing may be seen."""
        if value is None:
            return None
        self.found.append(value)
        return REDACTED

    def key(self, index: int, name: Any) -> str:
        """Return what stands for a key of a map of which nothing may be seen; keys stay different."""
        self.found.append(name)
        return REDACTED if index == 0 else f"{REDACTED} {index + 1}"


def tags_to_hide(rule_set: RuleSet | None, types: Iterable[str]) -> frozenset[str] | None:
    """Return the tags of the rules of these types; None if one of them is about everything, since it has no tags."""
    rules = [] if rule_set is None else [rule for rule in rule_set.rules if (rule.type or "").upper() in types]
    if any(not rule.tags for rule in rules):
        return None
    return frozenset(tag for rule in rules for tag in rule.tags)


def mentions(text: str, values: Iterable[Any]) -> bool:
    """Return whether a sentence contains one of the values, or a text or a number inside one of them."""
    return any(_is_in(text, leaf) for value in values for leaf in _leaves(value))


def _is_in(text: str, leaf: str) -> bool:
    if len(leaf) >= _SHORT and not leaf.isdigit():
        return leaf in text or repr(leaf)[1:-1] in text
    return bool(leaf) and re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", text) is not None


def _leaves(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        match each:
            case None | bool():
                continue
            case dict():
                waiting += [*each.keys(), *each.values()]
            case list() | tuple() | set() | frozenset():
                waiting += each
            case bytes() | bytearray() | memoryview():
                yield bytes(each).decode("latin-1")
            case _ if hasattr(each, "ListFields"):
                waiting += [inner for _, inner in each.ListFields()]
            case _:
                yield str(each)
