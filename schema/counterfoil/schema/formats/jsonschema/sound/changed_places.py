"""The place inside a condition or a combination where two schemas differ: the branch that changed, not the whole.

A value is refused by a condition or a combination as a whole. The person who changed it looks for what was changed, so
the two texts are compared there, keyword by keyword.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from counterfoil.schema.formats.jsonschema.read.resolve import step_into

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.formats.jsonschema.schema import JsonSchema
    from counterfoil.schema.pointer import Pointer

_CONDITION: Final = ("if", "then", "else")
_COMPOUND: Final = frozenset(("anyOf", "oneOf", "not", "contains", "propertyNames"))


def changed_place(
    reader: JsonSchema, writer: JsonSchema, pointer: Pointer, keyword: str
) -> tuple[Pointer, Pointer] | None:
    """Return the pointers in both texts to what differs below ``keyword`` of the schema at ``pointer``.

    A part that one side does not have is at the schema or list around it. None if the keyword has no parts, or if the
    writer has no schema at this pointer.
    """
    keywords = _CONDITION if keyword == "if" else (keyword,) if keyword in _COMPOUND else ()
    mine, theirs = (step_into(side.document, pointer) for side in (reader, writer))
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return None
    changed = [each for each in keywords if mine.get(each) != theirs.get(each)]
    if not changed:
        return None
    steps = _in_objects(mine, theirs, changed)
    return (*pointer, *steps[0]), (*pointer, *steps[1])


def _in_objects(mine: dict[str, Any], theirs: dict[str, Any], changed: Sequence[str]) -> tuple[Pointer, Pointer]:
    """Return the steps on both sides to the first of the changed members, or to what differs inside it."""
    key = next((each for each in changed if each in mine and each in theirs), changed[0])
    if key not in mine or key not in theirs:
        return ((key,) if key in mine else ()), ((key,) if key in theirs else ())
    inner = _below(mine[key], theirs[key])
    return (key, *inner[0]), (key, *inner[1])


def _below(mine: Any, theirs: Any) -> tuple[Pointer, Pointer]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        changed = [key for key in dict.fromkeys((*mine, *theirs)) if mine.get(key) != theirs.get(key)]
        return _in_objects(mine, theirs, changed) if changed else ((), ())
    if isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            return _only_in(mine, theirs), _only_in(theirs, mine)
        index = next((index for index, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1]), None)
        if index is not None:
            inner = _below(mine[index], theirs[index])
            return (index, *inner[0]), (index, *inner[1])
    return (), ()


def _only_in(items: list[Any], others: list[Any]) -> Pointer:
    """Return the step to the first item that the other list does not have; none if it has all of them."""
    return next(((index,) for index, item in enumerate(items) if item not in others), ())
