"""The guard around searches and confirmations: a defect in them is logged, and never makes a request fail.

A verdict does not depend on the record that proves it. So an exception in a search only means that there is no record.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from counterfoil.schema.excerpt import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterfoil.schema.parsed import ParsedSchema

LOGGER: Final = logging.getLogger("counterfoil.schema.witness")
"""The logger of defects, each with its traceback and the two schemas."""

_LONGEST_TEXT: Final = 20_000

_Outcome = TypeVar("_Outcome")


def guarded(
    work: Callable[[], _Outcome],
    instead: Callable[[str], _Outcome],
    reader: ParsedSchema,
    writer: ParsedSchema,
) -> _Outcome:
    """Return the result of ``work``; if it raises, the result of ``instead``, called with the reason as a text.

    The exception is logged with both schemas as its notes, which is enough to report and reproduce the defect.
    """
    try:
        return work()
    except Exception as defect:  # no defect may make the request fail
        defect.add_note(f"The reader's schema ({reader.schema_type}):\n{excerpt(reader.text, _LONGEST_TEXT)}")
        defect.add_note(f"The writer's schema ({writer.schema_type}):\n{excerpt(writer.text, _LONGEST_TEXT)}")
        name = type(defect).__name__
        LOGGER.exception(
            "A search for a record failed with %s, which is a defect of counterfoil; please report it", name
        )
        return instead(f"the search failed with {name}, which is a defect of counterfoil and stands in its log")
