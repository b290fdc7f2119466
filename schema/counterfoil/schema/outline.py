"""Outlines: which names a schema text declares and which it uses, found without parsing the schema.

This is what finding the files that a schema refers to takes, in trees where most files are never parsed.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterfoil.schema.jsontext.document import locate
from counterfoil.schema.position import Position


@dataclass(frozen=True, slots=True)
class Use:
    """A name that a text uses and does not declare.

    ``names`` are the full names that it may stand for, best first; for JSON Schema the URI that is meant, then the text
    of the reference. ``place`` is where it is used: a position, or a JSON pointer into the text.
    """

    names: tuple[str, ...]
    place: Position | str

    def position(self, text: str) -> Position | None:
        """Return where in ``text``, which the outline was made of, the name is used."""
        return self.place if isinstance(self.place, Position) else locate(text, self.place)


@dataclass(frozen=True, slots=True)
class Outline:
    """The names in a schema text.

    ``name`` is what the schema is known by, None where it has no name: the full name of an Avro type or of the first
    Protobuf message, the ``$id`` or title of a JSON schema. ``declared`` are all names by which other texts may refer
    to it; Protobuf files are referred to by their paths and have none. ``used`` are the names used and not declared.
    """

    name: str | None
    declared: frozenset[str]
    used: tuple[Use, ...]
