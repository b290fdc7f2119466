"""The steps of a judgement: they are counted, so that each judgement ends, and ends alike on every machine.

A walk over two schemas, a search or a solver is given its steps as a value, and spends them where it works. The number
of steps grows with the schemas: enough for each part of one to be compared with its counterpart in the other and with
some more, but not for each part with each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterfoil.schema.parsed import ParsedSchema

LEAST_STEPS: Final = 2_000_000
"""The steps of a comparison of two small schemas."""

STEPS_A_CHARACTER: Final = 4
"""The further steps for each character of the two schemas and their references."""


class OutOfSteps(Exception):
    """The error for a comparison or a search that needs more steps than it has."""


class Steps:
    """A number of steps that are spent; whatever spends them does so where it loops.

    >>> steps = Steps(2)
    >>> steps.spend(2)
    >>> steps.left
    0
    """

    __slots__ = ("__weakref__", "left")

    def __init__(self, limit: int) -> None:
        self.left = limit

    def some(self, limit: int) -> Steps:
        """Return steps that end after ``limit`` of these are spent, or with these."""
        return _Some(self, limit)

    def spend(self, steps: int = 1) -> None:
        """Count steps; raise ``OutOfSteps`` if none are left."""
        self.left -= steps
        if self.left < 0:
            raise OutOfSteps


class _Some(Steps):
    """Some of the steps of ``steps``; they are spent there, too."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Steps, limit: int) -> None:
        super().__init__(limit)
        self._steps = steps

    def spend(self, steps: int = 1) -> None:
        self._steps.spend(steps)
        super().spend(steps)


def steps_for(reader: ParsedSchema, writer: ParsedSchema) -> Steps:
    """Return the steps for a comparison of two schemas."""
    chars = sum(len(each.text) + each.referenced_chars for each in (reader, writer))
    return Steps(LEAST_STEPS + STEPS_A_CHARACTER * chars)
