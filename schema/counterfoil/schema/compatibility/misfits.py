"""Misfits: the places at which records of a writer do not give a reader what its own schema says.

A difference of two schemas is at a type; a misfit is at a place of a record, so that a type which several fields use
has one at each of them. Each language finds its own (``formats/<language>/misfits.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.paths.model import FieldPath
    from counterfoil.schema.pointer import Pointer

MISSING: Final = "missing"
"""The fact that nothing is written or promised."""
NULLABLE: Final = "nullable"
"""The fact that records may be without a value."""
OPTIONAL: Final = "optional"
"""The fact that records may be without the field."""


class Effect(Enum):
    """What happens to a reader at a misfit."""

    REFUSED = "refused"
    """The decoder or validator raises for the whole record, whatever is read of it."""
    MISREAD = "misread"
    """The value is lost, or read as another one, without an error."""
    KEPT = "kept"
    """The language keeps a symbol of an enum that the reader does not know, or reads the enum's default instead."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place at which a record does not give the reader what it expects.

    ``place`` is named as the reader names it. ``expected`` and ``written`` are facts: a type, ``missing``,
    ``nullable``, ``field 3``, a symbol. ``pointer`` is the place in the writer's own text. ``symbol`` is the name of a
    symbol of the writer that is none of the reader's; empty where the misfit is about something else. ``is_moved``:
    the field is written under another number. ``lost`` is the path that is read, where the place is on the way to it,
    so that nothing but it is lost; None where the place is at the path or inside it. It is spelled as places are.
    """

    place: FieldPath
    expected: str
    written: str
    text: str
    pointer: Pointer = ()
    effect: Effect = Effect.MISREAD
    symbol: str = ""
    is_moved: bool = False
    lost: FieldPath | None = None

    def below(self, around: FieldPath) -> Misfit:
        """Return the misfit with ``around`` before its place."""
        return replace(self, place=(*around, *self.place)) if around else self


class Misfits(Protocol):
    """The misfits of one reader and one writer."""

    @property
    def decodes_without_reader(self) -> bool:
        """Whether records are decoded without the reader's schema, so that only who declares one refuses them."""

    def at(self, path: FieldPath) -> Sequence[Misfit]:
        """Return the misfits that a reader of ``path`` meets: on the way to it, there, and inside; once for each place.

        The empty path is the whole record. What the reader's schema does not have at ``path`` has none.
        """

    def written_at(self, path: FieldPath) -> FieldPath | None:
        """Return the path by which the writer calls what the reader's schema has at ``path``.

        None where it is not written, or where the language reads by names alone.
        """
