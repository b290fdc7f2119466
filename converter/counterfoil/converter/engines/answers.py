"""The result of a conversion as bytes: the value, or ``FF``, the number of a code, a field, ``00``, a sentence.

Neither a framed value nor plain JSON begins with ``FF``. An engine that returns such bytes needs one column for both,
and the two functions at the end make of it the columns of the engines' interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterfoil.converter.engines.protocol import FAILURE_TYPE
from counterfoil.schema.evolution import FailureCode

if TYPE_CHECKING:
    from pyspark.sql import Column

    from counterfoil.schema.evolution import ConversionError

NUMBER_BY_CODE: Final = {code: number for number, code in enumerate(FailureCode, 1)}
"""The number of each code in a result; 0 is none."""

_FAILED: Final = b"\xff"
_END: Final = b"\x00"


def answer_of(failure: ConversionError) -> bytes:
    """Return a failure as the bytes of a result."""
    field, text = (part.encode(errors="replace") for part in (failure.field, failure.text))
    return _FAILED + bytes((NUMBER_BY_CODE[failure.code],)) + field.replace(_END, b"?") + _END + text


def parse_answer(answer: bytes) -> tuple[bytes | None, tuple[str, str, str] | None]:
    """Return the value in the bytes of a result, or the failure as code, field and text.

    >>> parse_answer(bytes([255, 1]) + b"price" + bytes([0]) + b"'x' is no number")
    (None, ('cast-failed', 'price', "'x' is no number"))
    """
    if not answer.startswith(_FAILED):
        return answer, None
    field, _, text = answer[2:].partition(_END)
    return None, (str(tuple(NUMBER_BY_CODE)[answer[1] - 1]), field.decode(), text.decode())


def converted_of(answer: str) -> Column:
    """Return the converted value in a column of results, null where there is a failure."""
    from pyspark.sql.functions import expr

    return expr(f"CASE WHEN NOT startswith({answer}, X'{_FAILED.hex()}') THEN {answer} END")


def failure_of(answer: str) -> Column:
    """Return the failure in a column of results, null where there is none."""
    from pyspark.sql.functions import expr

    codes = ", ".join(f"'{code}'" for code in NUMBER_BY_CODE)
    number = f"cast(conv(hex(substring({answer}, 2, 1)), 16, 10) AS int)"
    end = f"cast(X'{_END.hex()}' AS string)"
    rest = f"cast(substring({answer}, 3) AS string)"
    field = f"substring_index({rest}, {end}, 1)"
    text = f"substring({rest}, length({field}) + 2)"
    made = f"named_struct('code', element_at(array({codes}), {number}), 'field', {field}, 'text', {text})"
    return expr(f"CASE WHEN startswith({answer}, X'{_FAILED.hex()}') THEN cast({made} AS {FAILURE_TYPE}) END")
