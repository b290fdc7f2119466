"""How deep a run goes: a part of the cases and of the examples in `make test`, all of them in `make test-long`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

Case = TypeVar("Case")

IS_DEEP: Final = bool(os.environ.get("COUNTERFOIL_EXAMPLES"))


def some_of(cases: Sequence[Case], stride: int) -> Sequence[Case]:
    """Return every case of number ``stride``, a prime, so that each kind of case has its turn; all cases in depth."""
    return cases if IS_DEEP else cases[::stride]


def times_the_examples(factor: int) -> settings:
    """Return settings for a property whose examples are cheap: ``factor`` times as many as others have."""
    return settings(max_examples=factor * settings().max_examples)
