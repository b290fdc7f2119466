"""Merging of options that set fields of one extension, ``(o).s = "x"`` and ``(o).n = 1``, into one value in braces.

Source: the Protocol Buffers language guide, "Custom Options": both spellings mean the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from counterfoil.schema.formats.protobuf.read.ast import Aggregate, Entry, Option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from counterfoil.schema.formats.protobuf.read.ast import OptionValue

_PART: Final = re.compile(r"\([^)]*\)|[^.()]+")

_Assignment: TypeAlias = "tuple[Sequence[str], OptionValue]"
"""An assignment: the steps to a field, none for the message itself, and the value."""


def merge_options(options: Iterable[Option]) -> list[Option]:
    """Return the options, with those of one extension merged into one, at the place of the first.

    An extension that a single option sets stays as it is written, and so does one whose options cannot be merged: it is
    set as a whole more than once, or a field is set in a value that is not a message.
    """
    by_extension: dict[str, list[Option]] = {}
    for option in options:
        name = _steps(option)[0] if option.name.startswith("(") else option.name
        by_extension.setdefault(name, []).append(option)
    return [option for name, group in by_extension.items() for option in _merged(name, group)]


def _merged(name: str, options: list[Option]) -> list[Option]:
    assignments = [(_steps(option)[1:], option.value) for option in options]
    value = _message(assignments) if name.startswith("(") and len(options) > 1 else None
    return options if value is None else [Option(name, value, options[0].position, options[0].pointer)]


def _message(assignments: Sequence[_Assignment]) -> Aggregate | None:
    """Return one message with all assignments; None if they cannot be merged."""
    whole = [value for steps, value in assignments if not steps]
    if len(whole) > 1 or not all(isinstance(value, Aggregate) for value in whole):
        return None
    inner_by_name: dict[str, list[_Assignment]] = {}
    for value in whole:
        for entry in value.entries if isinstance(value, Aggregate) else ():
            inner_by_name.setdefault(entry.name, []).append(((), entry.value))
    for steps, value in assignments:
        if steps:
            inner_by_name.setdefault(_entry_name(steps[0]), []).append((steps[1:], value))
    entries: list[Entry] = []
    for name, inner in inner_by_name.items():
        if any(steps for steps, _ in inner):
            message = _message(inner)
            if message is None:
                return None
            entries.append(Entry(name, message))
        else:
            entries += (Entry(name, value) for _, value in inner)
    return Aggregate(tuple(entries))


def _steps(option: Option) -> list[str]:
    return _PART.findall(option.name)


def _entry_name(step: str) -> str:
    """Return a step as the name of an entry, in which an extension is in brackets."""
    return f"[{step[1:-1]}]" if step.startswith("(") else step
