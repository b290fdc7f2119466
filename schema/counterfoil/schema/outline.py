"""Outlines: the names that a schema text declares and those that it uses, found without parsing the schema.

They are used to find the files that a schema refers to, in folders in which most files are never parsed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.schema.jsontext.reading import locate
from counterfoil.schema.texts import Position

if TYPE_CHECKING:
    from counterfoil.schema.texts import Pointer


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a text uses and does not declare.

    ``names`` are the full names that it may resolve to, best first; for JSON Schema the resolved URI, then the text of
    the reference. ``place`` is the place of its use: a position, or a pointer into the text.
    """

    names: tuple[str, ...]
    place: Position | Pointer

    def position(self, text: str) -> Position | None:
        """Return the position of the use in ``text``, the text of the outline."""
        return self.place if isinstance(self.place, Position) else locate(text, self.place)


@dataclass(frozen=True, slots=True)
class Outline:
    """The names in a schema text.

    ``name`` is the name of the schema, None if it has none: the full name of an Avro type or of the first Protobuf
    message, the ``$id`` or title of a JSON schema. ``declared`` are all names by which other texts may refer to it;
    Protobuf files are referred to by their paths and have none. ``used`` are the names used and not declared.
    """

    name: str | None
    declared: frozenset[str]
    used: tuple[Use, ...]
