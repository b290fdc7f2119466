"""What identifies a difference between two schemas, so that it is known again after a change elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterfoil.schema.compatibility.report import Difference
    from counterfoil.schema.parsed import ParsedSchema
    from counterfoil.schema.paths import FieldPath

Identity: TypeAlias = "str | Sequence[Identity] | None"
"""Facts that identify a finding: texts, and lists of them."""


def identity_of(difference: Difference) -> Identity:
    """Return what identifies a difference: the names on the path to its place, and its facts.

    The place inside a type that another file declares begins with the type's name. The difference further inside that
    causes this one is a part of it.
    """
    origin = difference.reader_origin
    inside = origin.names if origin is not None and not origin.is_own else ()
    inner = difference.because
    because = (inner.rule, identity_of(inner)) if inner is not None else ()
    return names_of(difference.element), difference.steps or (), inside, difference.own_facts, because


def names_of(path: FieldPath) -> Identity:
    """Return what identifies a place in a schema: the names of its steps."""
    return [(kind.value, name) for kind, name in path]


def without_message(path: FieldPath, schema: ParsedSchema) -> FieldPath:
    """Return the path without the name of the message with which the paths of differences in Protobuf begin."""
    name = (schema.name or "").rpartition(".")[2]
    return path[1:] if path and path[0].name == name and not schema.has_field_of_its_name else path
