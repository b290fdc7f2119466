"""The one guard around searches and confirmations: a defect of theirs is logged, and never ends an answer.

A verdict stands by itself; a record that proves it is an addition. So whatever a search raises costs the record alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.parsed import ParsedSchema

LOGGER: Final = logging.getLogger("counterfoil.schema.witness")
"""Where defects are logged, each with its traceback and the two schemas."""

_LONGEST_TEXT: Final = 20_000

_Outcome = TypeVar("_Outcome")


def guarded(
    work: Callable[[], _Outcome],
    instead: Callable[[str], _Outcome],
    reader: ParsedSchema,
    writer: ParsedSchema,
) -> _Outcome:
    """Return what ``work`` returns; where it raises anything, what ``instead`` makes of the reason, in words.

    The exception is logged with both schemas as its notes, which is enough to report the defect and to repeat it.
    """
    try:
        return work()
    except Exception as defect:  # whatever goes wrong must not end the answer
        defect.add_note(f"The reader's schema ({reader.schema_type}):\n{_cut(reader.text)}")
        defect.add_note(f"The writer's schema ({writer.schema_type}):\n{_cut(writer.text)}")
        name = type(defect).__name__
        LOGGER.exception(
            "A search for a record failed with %s, which is a defect of counterfoil; please report it", name
        )
        return instead(f"the search failed with {name}, which is a defect of counterfoil and stands in its log")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
