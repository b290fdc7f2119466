"""Many cases as one test: every case is checked, and one failure names all cases that failed and why.

A test for each case would cost more for pytest's own work than most cases take.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Case = TypeVar("Case")


def by_id(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Return recorded cases with their ``id`` as the name, as ``check_each`` takes them."""
    return ((record["id"], record) for record in records)


def check_each(cases: Iterable[tuple[str, Case]], check: Callable[[Case], None]) -> None:
    """Call ``check`` with every case; fail once, with the name and the traceback of every case that failed.

    A case is a pair of its name and the argument of ``check``. No case at all is a failure, too.
    """
    failures, count = [], 0
    for name, case in cases:
        count += 1
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it was is reported below
            here, *inside = traceback.extract_tb(error.__traceback__)
            frames = "".join(traceback.format_list(inside or [here]))
            failures.append(f"--- {name}\n{frames}{''.join(traceback.format_exception_only(error))}")
    assert count, "there are no cases"
    if failures:
        pytest.fail(f"{len(failures)} of {count} cases failed:\n" + "\n".join(failures), pytrace=False)
